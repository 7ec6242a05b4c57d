//! Leaving: how lent and registered memory is let go by a destructor, wherever that runs.
//!
//! What a user's operation has captured is dropped by whoever drops the operation last, which may be the engine, under its
//! own lock. So a destructor of memory never waits for the lock. If it cannot have it, it leaves the memory in the inbox:
//! whoever drives the engine next lets it go, and until then nobody frees it. Neighbours: `buffer/lending`, `inbox`.

use std::sync::TryLockError;

use super::inbox::{Left, Notice};
use super::{Engine, Locked};

impl Engine {
    /// Lets go of memory, at once or when the engine is driven next.
    pub(crate) fn let_go(&self, left: Left) {
        if let Some(mut core) = self.try_lock() {
            return core.let_go(left);
        }
        self.waits.inbox().put(Notice::Left(left));
        // Whoever had the lock may have looked into the inbox before, and be gone by now.
        if let Some(mut core) = self.try_lock() {
            core.read_inbox();
        }
    }

    fn try_lock(&self) -> Option<Locked<'_>> {
        let core = match self.core.try_lock() {
            Ok(core) => core,
            // As in `lock`.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Locked { core: Some(core), comes_back: false })
    }
}
