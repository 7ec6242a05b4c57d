//! Slots: what callers wait for. One per call under way, whatever it is made of below.
//!
//! Invariant: a slot keeps the names of the memory lent to its operation, and gives them back in the
//! moment the operation ends; so a finished slot holds no memory of anybody. It does not end while a transport holds
//! any of that memory, whatever has been said of the operation: its ending is *held* until then.

use std::sync::Arc;
use std::task::Waker;

use ringworld_protocol::{BufferId, Done, Failure};

use super::buffer::{Buffers, Kept};
use super::notifier::Notifier;
use super::waiters::{Tasks, Waiter};

/// The name of a slot; used again only after its ending was taken, or the end of one that was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotId(pub(crate) usize);

/// How an operation ended. `None` inside: a collective, which has nothing to say.
pub type Ending = Result<Option<Done>, Failure>;

#[derive(Default)]
struct Slot {
    ending: Option<Ending>,
    lent: [Option<BufferId>; 2],
    waiter: Option<Waiter>,
    /// Nobody waits any more: the slot ends itself, and drops what it keeps.
    detached: Option<Box<dyn Kept>>,
    /// The name under which the message of an abandoned receive is known to the protocol meanwhile.
    returns_to: Option<u64>,
    request: Option<ringworld_protocol::RequestId>,
}

/// A message that a receive has got which nobody waits for any more.
pub(super) struct Returned {
    pub(super) done: Done,
    pub(super) kept: Box<dyn Kept>,
    /// Its name, if it was given back while it was on its way.
    pub(super) to: Option<u64>,
}

#[derive(Default)]
pub struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// How many operations have not ended.
    under_way: usize,
    /// How many slots a task waits for.
    awaited: usize,
    /// Endings that wait for a transport to let go of memory.
    held: Vec<(SlotId, Ending)>,
    /// Messages that receives have got which nobody waits for any more.
    returned: Vec<Returned>,
    /// Until the lock is given back.
    pub(super) leaving: Tasks,
}

impl Slots {
    /// How many slots tasks wait for.
    #[inline]
    pub(super) fn awaited(&self) -> usize {
        self.awaited
    }

    /// Takes away who waits for a slot.
    #[inline]
    fn dismiss(&mut self, id: SlotId) {
        if let Some(Waiter::Task(waker)) = self.slots[id.0].waiter.take() {
            self.awaited -= 1;
            self.leaving.forget(waker);
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, lent: [Option<BufferId>; 2]) -> SlotId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[index].lent = lent;
        self.under_way += 1;
        SlotId(index)
    }

    /// Notes the protocol's name of a point-to-point operation, for cancelling and for messages.
    #[inline]
    pub(crate) fn name(&mut self, id: SlotId, request: ringworld_protocol::RequestId) {
        self.slots[id.0].request = Some(request);
    }

    #[inline]
    pub(crate) fn request(&self, id: SlotId) -> Option<ringworld_protocol::RequestId> {
        self.slots[id.0].request
    }

    /// Ends a slot as soon as no transport holds its memory, most often at once: that memory is free from then on, and
    /// whoever waits is woken.
    #[inline]
    pub(crate) fn end(&mut self, id: SlotId, ending: Ending, buffers: &mut Buffers) {
        let slot = &mut self.slots[id.0];
        slot.request = None;
        if slot.lent.iter().flatten().any(|lent| buffers.is_out(*lent)) {
            self.held.push((id, ending));
            return;
        }
        self.under_way -= 1;
        slot.lent.iter_mut().filter_map(Option::take).for_each(|lent| buffers.reclaim(lent));
        if let Some(kept) = slot.detached.take() {
            let to = slot.returns_to;
            *slot = Slot::default();
            self.free.push(id.0);
            self.put_back(&ending, kept, to);
            return;
        }
        slot.ending = Some(ending);
        match slot.waiter.take() {
            None => {}
            Some(Waiter::Thread(notifier)) => notifier.notify(),
            Some(Waiter::Task(waker)) => {
                self.awaited -= 1;
                self.leaving.wake(waker);
            }
        }
    }

    /// Whether endings wait for a transport to let go of memory.
    #[inline]
    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Ends those whose memory is free by now.
    pub(super) fn end_held(&mut self, buffers: &mut Buffers) {
        for (id, ending) in std::mem::take(&mut self.held) {
            self.end(id, ending, buffers);
        }
    }

    /// The ending, once there is one; the slot is free for others then.
    #[inline]
    pub(crate) fn take(&mut self, id: SlotId) -> Option<Ending> {
        let slot = &mut self.slots[id.0];
        // A look costs less than to take what is not there, and most find nothing.
        slot.ending.as_ref()?;
        let ending = slot.ending.take();
        self.dismiss(id);
        self.free.push(id.0);
        ending
    }

    #[inline]
    pub(crate) fn is_done(&self, id: SlotId) -> bool {
        self.slots[id.0].ending.is_some()
    }

    /// The thread of `notifier` is about to sleep until the slot ends, which it has not.
    pub(super) fn wake_thread(&mut self, id: SlotId, notifier: &Arc<Notifier>) {
        self.dismiss(id);
        self.slots[id.0].waiter = Some(Waiter::Thread(Arc::clone(notifier)));
    }

    /// A task waits for the end of the slot, which has not come.
    pub(crate) fn wake_task(&mut self, id: SlotId, waker: Waker) {
        self.dismiss(id);
        self.awaited += 1;
        self.slots[id.0].waiter = Some(Waiter::Task(waker));
    }

    /// Leaves a slot to itself. `kept` holds the memory that the operation uses, until it ends.
    pub(crate) fn detach(&mut self, id: SlotId, kept: Box<dyn Kept>) {
        match self.take(id) {
            Some(ending) => self.put_back(&ending, kept, None),
            None => {
                self.dismiss(id);
                self.slots[id.0].detached = Some(kept);
            }
        }
    }

    /// Sets the message of a receive aside that nobody waits for.
    fn put_back(&mut self, ending: &Ending, kept: Box<dyn Kept>, to: Option<u64>) {
        if let Ok(Some(done)) = ending
            && kept.received().is_some()
        {
            self.returned.push(Returned { done: *done, kept, to });
        }
    }

    /// The message of a slot that was left to itself is known by this name until it has come.
    pub(super) fn returns_to(&mut self, id: SlotId, name: u64) {
        self.slots[id.0].returns_to = Some(name);
    }

    /// Whether messages have been set aside.
    #[inline]
    pub(super) fn has_returned(&self) -> bool {
        !self.returned.is_empty()
    }

    /// Those messages, in the order in which their receives ended.
    pub(super) fn returned(&mut self) -> Vec<Returned> {
        std::mem::take(&mut self.returned)
    }

    /// How many operations have not ended.
    #[inline]
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }
}
