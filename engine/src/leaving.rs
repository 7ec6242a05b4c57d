//! Leaving: how the engine hears of what a destructor lets go, wherever that runs.
//!
//! A user's operation may drop what it has captured while the engine runs it, under its own lock. So a destructor never
//! waits for the lock. If it cannot have it, it leaves a note in the inbox: whoever drives the engine next reads it,
//! and until then nobody frees anything. Neighbours: `lend`, `inbox`; `waiters` has operations that nobody has any
//! more.

use ringworld_protocol::MatchedId;

use super::Engine;
use super::inbox::{Left, Notice};
use super::shell::{Drive, Shell};
use super::waiters::WatchId;

impl Engine {
    /// Lets go of memory, at once or when the engine is driven next.
    pub(crate) fn let_go(&self, left: Left) {
        self.hand_over(Notice::Left(left));
    }

    /// Drops a message that a matched probe has set aside, at once or when the engine is driven next.
    pub fn release(&self, matched: MatchedId) {
        self.hand_over(Notice::Released(matched));
    }

    /// Takes back that a task waits, at once or when the engine is driven next.
    pub fn unwatch(&self, watch: WatchId) {
        self.hand_over(Notice::Unwatched(watch));
    }

    /// Tells the engine what the control plane has to say.
    pub fn hear(&self, notice: Notice) {
        self.waits.inbox().put(notice);
    }
}

impl<C: Drive> Shell<C> {
    pub(super) fn hand_over(&self, notice: Notice) {
        if let Some(mut core) = self.try_lock() {
            return core.notice(notice);
        }
        self.waits.inbox().put(notice);
        // Whoever had the lock may have looked into the inbox before, and be gone by now.
        if let Some(mut core) = self.try_lock() {
            core.read_inbox();
        }
    }
}
