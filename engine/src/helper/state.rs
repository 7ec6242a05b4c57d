//! What the helper does, as other threads see it, and how they call it.

use std::sync::{Arc, OnceLock};

use super::super::notifier::Notifier;
use super::super::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// What the helper does: drives, or watches and will look again soon, or sleeps until it is called.
pub(crate) const DRIVES: u8 = 0;
pub(crate) const WATCHES: u8 = 1;
pub(crate) const SLEEPS: u8 = 2;

#[derive(Default)]
pub(crate) struct Helper {
    pub(crate) started: OnceLock<Option<Arc<Shared>>>,
}

pub(crate) struct Shared {
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) state: AtomicU8,
    /// It was called since it last looked: it may be called again soon.
    pub(crate) called: AtomicBool,
}

impl Helper {
    #[inline]
    fn shared(&self) -> Option<&Shared> {
        self.started.get()?.as_deref()
    }

    #[inline]
    fn notify_if(&self, meant: impl Fn(u8) -> bool) {
        if let Some(shared) = self.shared()
            && meant(shared.state.load(Ordering::SeqCst))
        {
            shared.notifier.notify();
        }
    }

    /// A blocking call begins: stop driving.
    #[inline]
    pub(crate) fn stand_back(&self) {
        self.notify_if(|state| state == DRIVES);
    }

    /// There is work, and nobody who waits for it.
    #[inline]
    pub(crate) fn called(&self) {
        let Some(shared) = self.shared() else { return };
        // Read first: mostly it is so already, and written memory goes from core to core.
        if !shared.called.load(Ordering::Relaxed) {
            shared.called.store(true, Ordering::Relaxed);
        }
        self.notify_if(|state| state == SLEEPS);
    }

    /// A task waits, and its thread will do other things. To be called under the lock, or after it was.
    pub(crate) fn hurry(&self) {
        self.notify_if(|state| state != DRIVES);
    }

    /// There is nothing to drive any more.
    pub(crate) fn dismiss(&self) {
        self.notify_if(|_| true);
    }
}
