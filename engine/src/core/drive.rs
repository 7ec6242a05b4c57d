//! The core as its shell sees it: what is driven, under the lock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::calls::{CallId, Calls, Ending};
use super::super::inbox::Notice;
use super::super::shell::Drive;
use super::super::wait::For;
use super::super::waiters::{Topic, Watchers};
use super::Core;
use super::placing::Expecting;

impl Drive for Core {
    /// The hosts, by rank.
    type Known = Arc<[String]>;

    #[inline]
    fn progress(&mut self) -> bool {
        Self::progress(self)
    }

    #[inline]
    fn progress_of_calls(&mut self) -> bool {
        self.poll(Some(&mut Expecting::Calls))
    }

    #[inline]
    fn polls(&self) -> u64 {
        self.polls
    }

    #[inline]
    fn has_work(&self) -> bool {
        Self::has_work(self)
    }

    #[inline]
    fn leaves(&mut self) -> bool {
        if self.apart {
            self.closes_apart();
        }
        Self::has_work(self)
    }

    #[inline]
    fn owes(&self) -> bool {
        self.router.owes()
    }

    #[inline]
    fn take_ending(&mut self, call: CallId) -> Option<Ending> {
        Self::take_ending(self, call)
    }

    #[inline]
    fn catch_up(&mut self) {
        Self::catch_up(self);
    }

    fn arm(&mut self) -> Option<Option<Duration>> {
        Self::arm(self)
    }

    #[inline]
    fn has_sleepers(&self) -> bool {
        self.inbox.has_sleepers()
    }

    #[cold]
    fn wake_sleepers(&mut self) {
        // A time until which to sleep is one that they do not know.
        if self.fault.is_some() || self.arm() != Some(None) {
            self.inbox.wake();
        }
    }

    fn read_inbox(&mut self) {
        while let Some(notice) = self.inbox.pop() {
            self.notice(notice);
        }
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Fault(fault) => self.fail(fault),
            Notice::Finished { rank } => self.has_left(rank),
            Notice::LastCalls { rank, calls } => self.heard_last_calls(rank, &calls),
            Notice::Left(left) => self.let_go(left),
            Notice::Released(matched) => self.machine.release(matched),
            Notice::Unwatched(watch) => self.watchers.remove(watch),
        }
        self.settle();
        if !self.watchers.is_empty() {
            self.watchers.notify(Topic::End);
        }
    }

    fn remind(&mut self, what: For<'_>) {
        match what {
            For::Calls(calls) => Self::remind(self, calls),
            For::Message(..) | For::Topic(_) => {
                let running: Vec<CallId> = self.runs.calls().collect();
                Self::remind(self, &running);
            }
        }
    }

    fn time_out(&mut self, what: For<'_>, after: Duration, waiting_for: String) {
        let calls = if let For::Calls(calls) = what { calls } else { &[] };
        Self::time_out(self, calls, after, waiting_for);
    }

    fn sleeps(&mut self, what: For<'_>, since: Instant) -> u64 {
        Self::sleeps(self, what, since)
    }

    fn wakes(&mut self, number: u64) {
        Self::wakes(self, number);
    }

    fn stalls(&mut self) {
        self.control.stalled();
    }

    fn ask_story(&mut self) {
        // What was told of an earlier wait is none of this one.
        drop(self.inbox.take_story());
        self.control.ask_story();
    }

    #[inline]
    fn calls(&mut self) -> &mut Calls {
        &mut self.calls
    }

    #[inline]
    fn watchers(&mut self) -> &mut Watchers {
        &mut self.watchers
    }

    #[inline]
    fn awaited(&self) -> usize {
        self.calls.awaited() + self.watchers.tasks()
    }

    #[inline]
    fn has_leaving(&self) -> bool {
        !(self.calls.leaving.is_empty() && self.watchers.leaving.is_empty())
    }
}
