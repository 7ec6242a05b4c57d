//! The helper thread: drives the engine while non-blocking work is outstanding and the program is busy with
//! something else.
//!
//! Started by the first non-blocking call. A program that calls ringworld again and again drives the engine
//! itself, and a second driver would only take turns with it at the lock, at the price of a wake-up per call:
//! measured, a stream of 8-byte messages between two ranks took 12 us a message instead of 7. So the helper
//! *watches* first: it takes over only when no call has been made for a moment, steps back as soon as a
//! blocking call begins, and *sleeps* when there is nothing to do. Tasks, which never block, have it at once.
//!
//! Invariant: work is outstanding and nobody waits in a call, so the helper drives, or watches and will look
//! again within [`PATIENCE`]; nothing that begins work relies on another call being made.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use super::Engine;
use super::wait::Bell;

/// A sleeping helper looks this often whether its engine still exists.
const ROUND: Duration = Duration::from_millis(500);

/// Without a call for so long the program is busy with something else.
const GRACE: Duration = Duration::from_micros(100);

/// A program that keeps calling is looked after less and less often, but at least this often.
const PATIENCE: Duration = Duration::from_micros(400);

#[derive(Default)]
pub(super) struct Helper {
    started: OnceLock<Option<Arc<Shared>>>,
}

struct Shared {
    bell: Arc<Bell>,
    /// Counts the calls of the program.
    calls: AtomicU64,
    /// Sleeps until the bell rings.
    asleep: AtomicBool,
    driving: AtomicBool,
    /// A task waits: there is nobody else to drive.
    urgent: AtomicBool,
}

impl Helper {
    fn shared(&self) -> Option<&Shared> {
        self.started.get()?.as_deref()
    }

    /// A blocking call begins: stop driving.
    pub(super) fn stand_back(&self) {
        if let Some(shared) = self.shared()
            && shared.driving.load(Ordering::SeqCst)
        {
            shared.bell.ring();
        }
    }

    /// A call has been made; `work` says whether it leaves any behind.
    pub(super) fn called(&self, work: bool) {
        if let Some(shared) = self.shared() {
            // Counted first: a helper that is about to fall asleep looks at the count once more.
            shared.calls.fetch_add(1, Ordering::SeqCst);
            if work && shared.asleep.load(Ordering::SeqCst) {
                shared.bell.ring();
            }
        }
    }

    /// A task waits for its operation, and its thread will do other things.
    pub(super) fn hurry(&self) {
        if let Some(shared) = self.shared()
            && !shared.urgent.swap(true, Ordering::SeqCst)
        {
            shared.bell.ring();
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
                calls: AtomicU64::new(0),
                asleep: AtomicBool::new(false),
                driving: AtomicBool::new(false),
                urgent: AtomicBool::new(false),
            });
            let mine = Arc::clone(&shared);
            // Without the thread, work advances inside blocking calls only, which is what MPI promises.
            std::thread::Builder::new()
                .name("ringworld-helper".into())
                .spawn(move || serve(&engine, &mine))
                .ok()?;
            Some(shared)
        });
        self.helper.called(true);
    }

    /// Sees to it that the work of a task advances although no thread will ever wait for it.
    pub(crate) fn hurry(&self) {
        self.helper.hurry();
    }

    fn nobody_waits(&self) -> bool {
        self.waits.waiting.load(Ordering::SeqCst) == 0
    }

    fn has_work(&self) -> bool {
        self.lock().has_work()
    }
}

fn serve(engine: &Weak<Engine>, shared: &Shared) {
    // No program calls so often: the first look only watches.
    let mut seen = u64::MAX;
    let mut grace = GRACE;
    loop {
        let Some(engine) = engine.upgrade() else { return };
        let calls = shared.calls.load(Ordering::SeqCst);
        let urgent = shared.urgent.load(Ordering::SeqCst);
        if engine.nobody_waits() && (urgent || calls == seen) && engine.has_work() {
            drive(&engine, shared, calls);
            (seen, grace) = (u64::MAX, GRACE);
        } else if calls != seen {
            seen = calls;
            drop(engine);
            shared.bell.sleep(grace);
            grace = (2 * grace).min(PATIENCE);
        } else {
            // Nothing to do, or somebody waits and drives.
            shared.asleep.store(true, Ordering::SeqCst);
            if shared.calls.load(Ordering::SeqCst) == seen && !shared.urgent.load(Ordering::SeqCst) {
                drop(engine);
                shared.bell.sleep(ROUND);
            }
            shared.asleep.store(false, Ordering::SeqCst);
            grace = GRACE;
        }
    }
}

/// Drives while there is work, nobody waits, and the program does not call (or a task waits).
fn drive(engine: &Engine, shared: &Shared, calls: u64) {
    shared.driving.store(true, Ordering::SeqCst);
    while engine.nobody_waits() {
        if !engine.has_work() {
            shared.urgent.store(false, Ordering::SeqCst);
            break;
        }
        if !shared.urgent.load(Ordering::SeqCst) && shared.calls.load(Ordering::SeqCst) != calls {
            break;
        }
        engine.drive(&shared.bell);
    }
    shared.driving.store(false, Ordering::SeqCst);
}
