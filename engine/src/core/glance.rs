//! Polls for what one peer sends. Most callers wait for one message of one peer; to look after everything else at each
//! of their polls would be a sixth of all that a small message costs in shared memory.
//!
//! Invariant: everything else waits for a few polls at most, and a poll that is known to have more to do than to take
//! in messages is an ordinary one.

use super::Core;
use super::placing::Expecting;

/// Of so many polls for one peer one is an ordinary one.
const ALL_AT: u64 = 8;

impl Core {
    /// Polls on behalf of a caller who waits for something that `peer` sends, if it is known whom; whether anything
    /// moved.
    #[inline]
    pub(super) fn poll_peer(&mut self, peer: Option<usize>, expecting: &mut Expecting<'_>) -> bool {
        let peer = peer.filter(|_| !(self.polls + 1).is_multiple_of(ALL_AT) && self.has_nothing_else_to_do());
        let Some(peer) = peer else { return self.poll(Some(expecting)) };
        self.polls += 1;
        let (brought, moved) = self.take_in(Some(peer), Some(expecting));
        if !brought.is_plain() || !self.completed.is_empty() || !self.events.is_empty() {
            return self.go_on_with(brought, moved);
        }
        self.settle();
        moved
    }

    /// What an ordinary poll would see at once.
    #[inline]
    fn has_nothing_else_to_do(&self) -> bool {
        self.fault.is_none()
            && !self.is_deferred()
            && !self.inbox.is_full()
            && self.router.is_flowing()
            && self.watchers.is_empty()
            && !self.runs.is_looking()
    }
}
