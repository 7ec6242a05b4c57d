//! Slots: what callers wait for. One per call under way, whatever it is made of below.
//!
//! Invariant: a slot keeps the names of the memory lent to its operation, and gives them back in the
//! moment the operation ends; so a finished slot holds no memory of anybody.

use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

use ringworld_protocol::{BufferId, Done, Failure};

use super::wait::Bell;
use crate::buffer::Buffers;

/// The name of a slot; used again only after [`Slots::remove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotId(pub(crate) usize);

/// How an operation ended. `None` inside: a collective, which has nothing to say.
pub(crate) type Ending = Result<Option<Done>, Failure>;

enum Waiter {
    Thread(Arc<Bell>),
    Task(Waker),
}

/// A task that waits for nothing here any more.
pub(super) enum Task {
    Wake(Waker),
    Forget(Waker),
}

impl Task {
    /// To be called without the engine's lock.
    pub(super) fn leave(self) {
        match self {
            Self::Wake(waker) => waker.wake(),
            Self::Forget(waker) => drop(waker),
        }
    }
}

#[derive(Default)]
struct Slot {
    ending: Option<Ending>,
    lent: [Option<BufferId>; 2],
    waiter: Option<Waiter>,
    /// Nobody waits any more: the slot ends itself, and drops what it keeps.
    detached: Option<Box<dyn Any + Send>>,
    request: Option<ringworld_protocol::RequestId>,
}

#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// How many operations have not ended.
    under_way: usize,
    /// Until the lock is given back.
    tasks: Vec<Task>,
}

impl Slots {
    pub(super) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// The tasks to wake or forget now that the lock is given back.
    pub(super) fn tasks(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.tasks)
    }

    /// Takes away who waits for a slot.
    #[inline]
    fn dismiss(&mut self, id: SlotId) {
        if let Some(Waiter::Task(waker)) = self.slots[id.0].waiter.take() {
            self.tasks.push(Task::Forget(waker));
        }
    }

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
    pub(crate) fn name(&mut self, id: SlotId, request: ringworld_protocol::RequestId) {
        self.slots[id.0].request = Some(request);
    }

    pub(crate) fn request(&self, id: SlotId) -> Option<ringworld_protocol::RequestId> {
        self.slots[id.0].request
    }

    /// Ends a slot: its memory is free from here on, and whoever waits is woken.
    pub(crate) fn end(&mut self, id: SlotId, ending: Ending, buffers: &mut Buffers) {
        self.under_way -= 1;
        let slot = &mut self.slots[id.0];
        if let Some(lent) = slot.lent[0].take() {
            buffers.reclaim(lent);
        }
        if let Some(lent) = slot.lent[1].take() {
            buffers.reclaim(lent);
        }
        slot.request = None;
        if slot.detached.take().is_some() {
            *slot = Slot::default();
            self.free.push(id.0);
            return;
        }
        slot.ending = Some(ending);
        match slot.waiter.take() {
            None => {}
            Some(Waiter::Thread(bell)) => bell.ring(),
            Some(Waiter::Task(waker)) => self.tasks.push(Task::Wake(waker)),
        }
    }

    /// The ending, once there is one; the slot is free for others then.
    pub(crate) fn take(&mut self, id: SlotId) -> Option<Ending> {
        let slot = &mut self.slots[id.0];
        // A look costs less than to take what is not there, and most find nothing.
        slot.ending.as_ref()?;
        let ending = slot.ending.take();
        self.dismiss(id);
        self.free.push(id.0);
        ending
    }

    pub(crate) fn is_done(&self, id: SlotId) -> bool {
        self.slots[id.0].ending.is_some()
    }

    pub(crate) fn wake_thread(&mut self, id: SlotId, bell: &Arc<Bell>) {
        self.dismiss(id);
        self.slots[id.0].waiter = Some(Waiter::Thread(Arc::clone(bell)));
    }

    pub(crate) fn wake_task(&mut self, id: SlotId, waker: Waker) {
        self.dismiss(id);
        self.slots[id.0].waiter = Some(Waiter::Task(waker));
    }

    /// Leaves a slot to itself. `keep` holds the memory that the operation uses, until it ends.
    pub(crate) fn detach(&mut self, id: SlotId, keep: Box<dyn Any + Send>) {
        if self.take(id).is_none() {
            self.dismiss(id);
            self.slots[id.0].detached = Some(keep);
        }
    }

    /// How many operations have not ended.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }
}
