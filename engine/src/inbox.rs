//! The inbox: how the control plane, which has a thread of its own, reaches the engine; and destructors, which may run
//! under the engine's lock.
//!
//! A notice is put in and everybody who is parked is woken; whoever drives the engine next takes it out.
//! Looking for notices costs two atomic loads. A story is no notice: nothing goes on by it, and it lies here until an
//! error is made of it. As long as it were a notice, a rank that has been told would look like one that is about to
//! move, to the next who asks.

use std::sync::{Arc, PoisonError};

use crossbeam::queue::SegQueue;
use crossbeam::utils::CachePadded;
use ringworld_protocol::MatchedId;

use super::buffer::Kept;
use super::calls::CallId;
use super::fault::Fault;
use super::last_calls::LastCalls;
use super::notifier::Notifier;
use super::router::Registrations;
use super::sync::Mutex;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::waiters::WatchId;

/// Something the engine has to know.
#[derive(Debug)]
pub enum Notice {
    /// The world has failed.
    Fault(Fault),
    /// A rank has left in good order.
    Finished {
        /// Which.
        rank: usize,
    },
    /// What a rank that has left had called last.
    LastCalls {
        /// Which rank.
        rank: usize,
        /// Its last collectives on each communicator.
        calls: LastCalls,
    },
    /// Memory that nobody has any more.
    Left(Left),
    /// A message that was set aside, and that nobody wants any more.
    Released(MatchedId),
    /// A task that waits no more.
    Unwatched(WatchId),
}

/// Memory that its owner has dropped: to be deregistered first, and freed when the operation on it has ended, if there
/// is one. A receive that nothing has matched is withdrawn; the message of one that has got it is given back.
#[derive(Debug)]
pub struct Left {
    pub(crate) call: Option<CallId>,
    pub(crate) registrations: Registrations,
    pub(crate) memory: Box<dyn Kept>,
}

/// Notices that whoever drives the engine next takes out, and who sleeps meanwhile.
#[derive(Default)]
pub struct Inbox {
    notices: SegQueue<Notice>,
    story: Mutex<Option<String>>,
    parked: Mutex<Vec<Arc<Notifier>>>,
    /// How many are parked. Read at each turn by whoever drives, and written by those who sleep.
    sleepers: CachePadded<AtomicUsize>,
}

impl Inbox {
    /// Leaves a notice, and wakes everybody who sleeps.
    pub fn put(&self, notice: Notice) {
        self.notices.push(notice);
        self.wake();
    }

    /// Leaves a notice in each of these before anybody is woken: whoever hears of it first may end, and the others must
    /// not see that end before they can know why.
    pub fn put_all<'a>(inboxes: impl Iterator<Item = &'a Self> + Clone, notice: impl Fn() -> Notice) {
        inboxes.clone().for_each(|inbox| inbox.notices.push(notice()));
        inboxes.for_each(Self::wake);
    }

    /// What everybody does, for the error of a call that waits for too long; in place of what was told before.
    pub fn tell(&self, story: String) {
        *self.story.lock().unwrap_or_else(PoisonError::into_inner) = Some(story);
    }

    /// What was told last, once.
    pub(crate) fn take_story(&self) -> Option<String> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Wakes everybody who is parked.
    pub(super) fn wake(&self) {
        for notifier in self.parked.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            notifier.notify();
        }
    }

    /// Whether somebody is parked. Certain only under the engine's lock, with which every sleeper parks.
    #[inline]
    pub(super) fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::SeqCst) > 0
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        !self.notices.is_empty()
    }

    /// The oldest notice.
    pub(crate) fn pop(&self) -> Option<Notice> {
        self.notices.pop()
    }

    /// From here on `notifier` is notified of every notice. A notice may have come just before: look again.
    pub(crate) fn park(&self, notifier: &Arc<Notifier>) {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(notifier));
        self.sleepers.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn unpark(&self, notifier: &Arc<Notifier>) {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = parked.iter().position(|other| Arc::ptr_eq(other, notifier)) {
            parked.swap_remove(at);
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_no_news_that_anything_goes_on_by_and_the_latest_counts() {
        let inbox = Inbox::default();
        inbox.tell("all wait".into());
        inbox.tell("rank 3 is late".into());
        assert!(!inbox.is_full() && inbox.pop().is_none());
        assert_eq!(inbox.take_story().as_deref(), Some("rank 3 is late"));
        assert_eq!(inbox.take_story(), None);
    }
}
