//! Leaving: how registered memory is let go by a destructor, wherever that runs.
//!
//! What a user's operation has captured is dropped by whoever drops the operation last, which may be the engine, under its
//! own lock. So the destructor of memory at rest never waits for the lock (that of an operation under way does, and must
//! not be captured so). If it cannot have it, it leaves the memory in the inbox: whoever drives the engine next deregisters
//! it, and only then is it freed. Neighbours: `buffer/lending`, `inbox`.

use std::any::Any;
use std::sync::TryLockError;

use super::inbox::Notice;
use super::router::Registrations;
use super::{Engine, Locked};

impl Engine {
    /// Has the transports deregister memory, and frees it after that: at once, or when the engine is driven next.
    pub(crate) fn let_go(&self, registrations: Registrations, memory: Box<dyn Any + Send>) {
        if let Some(mut core) = self.try_lock() {
            core.deregister(registrations);
            drop(core);
            drop(memory);
            return;
        }
        self.waits.inbox().put(Notice::Left { registrations, memory });
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
