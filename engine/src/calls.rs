//! Calls: what callers wait for, one for each operation under way, whatever it is made of below.
//!
//! Invariant: a call keeps the names of the memory lent to its operation, and gives them back in the
//! moment the operation ends; so one that has ended holds no memory of anybody. It does not end while a transport holds
//! any of that memory, whatever has been said of the operation: its ending is *held* until then.

use std::sync::Arc;
use std::task::Waker;

use ringworld_protocol::{BufferId, Done, Failure};

use super::buffer::{Buffers, Kept};
use super::notifier::Notifier;
use super::observe::{Told, Verb};
use super::waiters::{Tasks, Waiter};

/// The name of a call, which may outlive it. Its place is used again after its ending was taken, or the end of one that
/// was left; the call that is there then has another name, until four billion have been there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallId {
    index: u32,
    turn: u32,
}

impl CallId {
    #[inline]
    fn place(self) -> usize {
        self.index as usize
    }
}

/// How an operation ended. `None` inside: a collective, which has nothing to say.
pub type Ending = Result<Option<Done>, Failure>;

#[derive(Default)]
struct Call {
    /// How many calls have been here.
    turn: u32,
    ending: Option<Ending>,
    lent: [Option<BufferId>; 2],
    waiter: Option<Waiter>,
    /// Nobody waits any more: the call ends itself, and drops what it keeps.
    detached: Option<Box<dyn Kept>>,
    /// The name under which the message of an abandoned receive is known to the protocol meanwhile.
    returns_to: Option<u64>,
    request: Option<ringworld_protocol::RequestId>,
    /// What was called, and where.
    told: Option<Told>,
}

/// A message that a receive has got which nobody waits for any more.
pub(super) struct Returned {
    pub(super) done: Done,
    pub(super) kept: Box<dyn Kept>,
    /// Its name, if it was given back while it was on its way.
    pub(super) to: Option<u64>,
}

#[derive(Default)]
pub struct Calls {
    calls: Vec<Call>,
    free: Vec<u32>,
    /// How many operations have not ended.
    under_way: usize,
    /// How many calls a task waits for.
    awaited: usize,
    /// Endings that wait for a transport to let go of memory.
    held: Vec<(CallId, Ending)>,
    /// Messages that receives have got which nobody waits for any more.
    returned: Vec<Returned>,
    /// Until the lock is given back.
    pub(super) leaving: Tasks,
}

impl Calls {
    /// How many calls tasks wait for.
    #[inline]
    pub(super) fn awaited(&self) -> usize {
        self.awaited
    }

    /// Takes away who waits for a call.
    #[inline]
    fn dismiss(&mut self, id: CallId) {
        if let Some(Waiter::Task(waker)) = self.calls[id.place()].waiter.take() {
            self.awaited -= 1;
            self.leaving.forget(waker);
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, lent: [Option<BufferId>; 2]) -> CallId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.calls.push(Call::default());
            // Memory is exhausted long before four billion calls of a hundred bytes are under way.
            (self.calls.len() - 1) as u32
        });
        let call = &mut self.calls[index as usize];
        call.lent = lent;
        call.turn = call.turn.wrapping_add(1);
        self.under_way += 1;
        CallId { index, turn: call.turn }
    }

    /// Notes the protocol's name of a point-to-point operation, for cancelling and for messages.
    #[inline]
    pub(crate) fn name(&mut self, id: CallId, request: ringworld_protocol::RequestId) {
        self.calls[id.place()].request = Some(request);
    }

    /// Notes what was called, and where.
    #[inline]
    pub(crate) fn tell(&mut self, id: CallId, told: Told) {
        self.calls[id.place()].told = Some(told);
    }

    pub(crate) fn told(&self, id: CallId) -> Option<Told> {
        self.calls[id.place()].told
    }

    /// The protocol's name, if the call is a point-to-point operation that it knows, and has not ended. Any name may be
    /// asked for.
    #[inline]
    pub(crate) fn request(&self, id: CallId) -> Option<ringworld_protocol::RequestId> {
        self.calls.get(id.place()).filter(|call| call.turn == id.turn)?.request
    }

    /// Ends a call as soon as no transport holds its memory, most often at once: that memory is free from then on, and
    /// whoever waits is woken.
    #[inline]
    pub(crate) fn end(&mut self, id: CallId, ending: Ending, buffers: &mut Buffers) {
        let call = &mut self.calls[id.place()];
        call.request = None;
        if call.lent.iter().flatten().any(|lent| buffers.is_out(*lent)) {
            self.held.push((id, ending));
            return;
        }
        self.under_way -= 1;
        call.lent.iter_mut().filter_map(Option::take).for_each(|lent| buffers.reclaim(lent));
        if let Some(kept) = call.detached.take() {
            let to = call.returns_to;
            *call = Call { turn: call.turn, ..Call::default() };
            self.free.push(id.index);
            self.put_back(&ending, kept, to);
            return;
        }
        call.ending = Some(ending);
        self.wake(id.place());
    }

    /// Wakes whoever waits for the call at this place, if anybody does.
    #[inline]
    fn wake(&mut self, place: usize) {
        match self.calls[place].waiter.take() {
            None => {}
            Some(Waiter::Thread(notifier)) => notifier.notify(),
            Some(Waiter::Task(waker)) => {
                self.awaited -= 1;
                self.leaving.wake(waker);
            }
        }
    }

    /// Wakes all who wait for calls: they are to look once more.
    #[cold]
    pub(super) fn wake_all(&mut self) {
        (0..self.calls.len()).for_each(|place| self.wake(place));
    }

    /// Whether endings wait for a transport to let go of memory.
    #[inline]
    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a call is over but for a transport that has its memory.
    pub(super) fn is_held(&self, id: CallId) -> bool {
        self.held.iter().any(|(held, _)| *held == id)
    }

    /// Ends those whose memory is free by now.
    pub(super) fn end_held(&mut self, buffers: &mut Buffers) {
        for (id, ending) in std::mem::take(&mut self.held) {
            self.end(id, ending, buffers);
        }
    }

    /// The ending, once there is one; the call is free for others then.
    #[inline]
    pub(crate) fn take_ending(&mut self, id: CallId) -> Option<Ending> {
        let call = &mut self.calls[id.place()];
        // A look costs less than to take what is not there, and most find nothing.
        call.ending.as_ref()?;
        let ending = call.ending.take();
        self.dismiss(id);
        self.free.push(id.index);
        ending
    }

    /// Has a receive that has ended because whoever could have sent for it has left end as one that was withdrawn;
    /// whether it is such a one. Nothing has matched it, and its ending has not been taken.
    pub(crate) fn withdraw(&mut self, id: CallId) -> bool {
        let Some(call) = self.calls.get_mut(id.place()).filter(|call| call.turn == id.turn) else {
            return false;
        };
        let receives = call.told.is_some_and(|told| told.verb == Verb::RECEIVE);
        let has_lost = receives && matches!(call.ending, Some(Err(Failure::PeerFinished { .. })));
        if has_lost {
            call.ending = Some(Err(Failure::Cancelled));
        }
        has_lost
    }

    #[inline]
    pub(crate) fn is_done(&self, id: CallId) -> bool {
        self.calls[id.place()].ending.is_some()
    }

    /// The thread of `notifier` is about to sleep until the call ends, which it has not.
    pub(super) fn wake_thread(&mut self, id: CallId, notifier: &Arc<Notifier>) {
        self.dismiss(id);
        self.calls[id.place()].waiter = Some(Waiter::Thread(Arc::clone(notifier)));
    }

    /// A task waits for the end of the call, which has not come.
    pub(crate) fn wake_task(&mut self, id: CallId, waker: Waker) {
        self.dismiss(id);
        self.awaited += 1;
        self.calls[id.place()].waiter = Some(Waiter::Task(waker));
    }

    /// Leaves a call to itself. `kept` holds the memory that the operation uses, until it ends.
    pub(crate) fn detach(&mut self, id: CallId, kept: Box<dyn Kept>) {
        match self.take_ending(id) {
            Some(ending) => self.put_back(&ending, kept, None),
            None => {
                self.dismiss(id);
                self.calls[id.place()].detached = Some(kept);
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

    /// The message of a call that was left to itself is known by this name until it has come.
    pub(super) fn returns_to(&mut self, id: CallId, name: u64) {
        self.calls[id.place()].returns_to = Some(name);
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
