//! The helper thread: drives the engine while non-blocking work is outstanding and nobody waits.
//!
//! Started by the first non-blocking call, parked otherwise. A blocking call sends it away, because two
//! drivers would only take turns at the lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use super::Engine;
use super::wait::Bell;

/// The helper looks this often whether its engine still exists.
const ROUND: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(super) struct Helper {
    started: OnceLock<Option<Arc<Shared>>>,
}

struct Shared {
    bell: Arc<Bell>,
    called: Mutex<bool>,
    condvar: Condvar,
    driving: AtomicBool,
}

impl Shared {
    fn sleep_until_called(&self) {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut called, _) = self
            .condvar
            .wait_timeout_while(called, ROUND, |called| !*called)
            .unwrap_or_else(PoisonError::into_inner);
        *called = false;
    }
}

impl Helper {
    /// A blocking call begins: stop driving.
    pub(super) fn stand_back(&self) {
        if let Some(Some(shared)) = self.started.get()
            && shared.driving.load(Ordering::SeqCst)
        {
            shared.bell.ring();
        }
    }

    /// The last blocking call has ended, or non-blocking work has begun.
    pub(super) fn call(&self) {
        if let Some(Some(shared)) = self.started.get() {
            *shared.called.lock().unwrap_or_else(PoisonError::into_inner) = true;
            shared.condvar.notify_one();
        }
    }
}

impl Engine {
    /// Sees to it that outstanding work advances although nobody waits for it.
    pub(crate) fn help(self: &Arc<Self>) {
        let engine = Arc::downgrade(self);
        self.helper.started.get_or_init(|| {
            let shared = Arc::new(Shared {
                bell: Bell::new().ok()?,
                called: Mutex::new(true),
                condvar: Condvar::new(),
                driving: AtomicBool::new(false),
            });
            let mine = Arc::clone(&shared);
            // Without the thread, work advances inside blocking calls only, which is what MPI promises.
            std::thread::Builder::new()
                .name("ringworld-helper".into())
                .spawn(move || serve(&engine, &mine))
                .ok()?;
            Some(shared)
        });
        self.helper.call();
    }
}

fn serve(engine: &Weak<Engine>, shared: &Shared) {
    loop {
        shared.sleep_until_called();
        let Some(engine) = engine.upgrade() else { return };
        shared.driving.store(true, Ordering::SeqCst);
        while engine.waits.waiting.load(Ordering::SeqCst) == 0 && engine.lock().slots.outstanding() > 0 {
            engine.drive(&shared.bell);
        }
        shared.driving.store(false, Ordering::SeqCst);
    }
}
