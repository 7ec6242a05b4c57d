//! The notifier's double in the model: what `poll(2)`, event descriptors and the descriptors of transports do, played
//! through by the checker. Nobody ever wakes because time has passed: whoever relies on that sleeps for ever, and is
//! found.

use std::sync::Arc;
use std::time::Duration;

use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

shuttle::lazy_static! {
    /// What sleeps in the kernel looks again, under one lock, whenever anything becomes readable.
    static ref KERNEL: Kernel = Kernel { lock: Mutex::new(()), changed: Condvar::new() };
}

struct Kernel {
    lock: Mutex<()>,
    changed: Condvar,
}

/// Something readable or not.
#[derive(Default)]
pub(crate) struct Readable(AtomicBool);

impl Readable {
    pub(super) fn set(&self, readable: bool) {
        let held = KERNEL.lock.lock().unwrap();
        self.0.store(readable, Ordering::SeqCst);
        if readable {
            KERNEL.changed.notify_all();
        }
        drop(held);
    }

    fn is(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// What transports wake sleepers by.
pub(super) type Wires = Vec<Arc<Readable>>;

/// The model has no transports but its own.
pub(super) fn wires(_: Vec<std::os::fd::OwnedFd>) -> Wires {
    Wires::new()
}

/// Wakes one sleeping thread.
pub(crate) struct Notifier(Readable);

impl Notifier {
    #[expect(clippy::unnecessary_wraps, reason = "as the notifier whose double this is")]
    pub(super) fn new() -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self(Readable::default())))
    }

    pub(super) fn notify(&self) {
        self.0.set(true);
    }

    pub(super) fn sleep(&self, wires: &Wires, _limit: Option<Duration>) {
        let mut held = KERNEL.lock.lock().unwrap();
        while !self.0.is() && !wires.iter().any(|wire| wire.is()) {
            held = KERNEL.changed.wait(held).unwrap();
        }
        drop(held);
        self.0.set(false);
    }

    /// Time passes when the checker says so.
    pub(super) fn nap(&self, _limit: Duration) -> bool {
        thread::yield_now();
        let notified = self.0.is();
        self.0.set(false);
        notified
    }
}

shuttle::thread_local! {
    static NOTIFIER: Arc<Notifier> = Notifier::new().unwrap();
}

pub(super) fn own_notifier() -> Option<Arc<Notifier>> {
    Some(NOTIFIER.with(Arc::clone))
}
