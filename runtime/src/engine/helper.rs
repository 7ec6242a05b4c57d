//! The helper thread: drives the engine while non-blocking work is outstanding and the program is busy with
//! something else.
//!
//! Started by the first non-blocking call. A program that drives the engine itself, by blocking calls or by asking time
//! and again whether an operation has ended, needs no second driver, who would only take turns with it at the lock, at the
//! price of a wake-up per call: measured, a stream of 8-byte messages between two ranks took 12 us a message instead of
//! 7. So the helper *watches* first: it takes over when nobody has polled between two looks, steps back as soon as somebody
//! else does, and *sleeps* when there is nothing to do and nothing was begun since it looked last: a program that begins and
//! waits in turns would else wake it at each beginning (an exchange with two neighbours took twice the time). To start
//! operations is not to drive them: only polls count. Tasks, which never block, have the helper at once.
//!
//! Invariant: work is outstanding and nobody waits in a call, so the helper drives, or watches and will look
//! again within [`PATIENCE`]. It holds because the helper looks under the lock under which work comes to be, after it has
//! said that it is about to sleep: whoever comes later sees that, and rings.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::bell::{Bell, Wires};
use super::shell::{Drive, Shell};
use super::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use super::sync::thread;
use super::wait::For;
use super::waiters::Topic;

/// A program that has not polled for so long is busy with something else.
const GRACE: Duration = Duration::from_micros(100);

/// A program that keeps polling is looked after less and less often, but at least this often.
const PATIENCE: Duration = Duration::from_micros(400);

/// What the helper does: drives, or watches and will look again soon, or sleeps until it is called.
const DRIVES: u8 = 0;
const WATCHES: u8 = 1;
const SLEEPS: u8 = 2;

#[derive(Default)]
pub(super) struct Helper {
    started: OnceLock<Option<Arc<Shared>>>,
}

struct Shared {
    bell: Arc<Bell>,
    state: AtomicU8,
    /// It was called since it last looked: it may be called again soon.
    called: AtomicBool,
}

impl Helper {
    fn shared(&self) -> Option<&Shared> {
        self.started.get()?.as_deref()
    }

    fn ring_if(&self, meant: impl Fn(u8) -> bool) {
        if let Some(shared) = self.shared()
            && meant(shared.state.load(Ordering::SeqCst))
        {
            shared.bell.ring();
        }
    }

    /// A blocking call begins: stop driving.
    pub(super) fn stand_back(&self) {
        self.ring_if(|state| state == DRIVES);
    }

    /// There is work, and nobody who waits for it.
    pub(super) fn called(&self) {
        let Some(shared) = self.shared() else { return };
        // Read first: mostly it is so already, and written memory goes from core to core.
        if !shared.called.load(Ordering::Relaxed) {
            shared.called.store(true, Ordering::Relaxed);
        }
        self.ring_if(|state| state == SLEEPS);
    }

    /// A task waits, and its thread will do other things. To be called under the lock, or after it was.
    pub(super) fn hurry(&self) {
        self.ring_if(|state| state != DRIVES);
    }

    /// There is nothing to drive any more.
    pub(super) fn dismiss(&self) {
        self.ring_if(|_| true);
    }
}

impl<C: Drive> Shell<C> {
    /// Sees to it that outstanding work advances although nobody waits for it.
    pub(crate) fn help(self: &Arc<Self>) {
        if self.helper.started.get().is_none() {
            self.start_helper();
        }
        self.helper.called();
    }

    #[cold]
    fn start_helper(self: &Arc<Self>) {
        self.helper.started.get_or_init(|| {
            let (state, called) = (AtomicU8::new(WATCHES), AtomicBool::new(false));
            let shared = Arc::new(Shared { bell: Bell::new().ok()?, state, called });
            let (shell, mine) = (Arc::downgrade(self), Arc::clone(&shared));
            // Without the thread, work advances inside blocking calls only, which is what MPI promises.
            let thread = thread::Builder::new().name("ringworld-helper".into());
            thread.spawn(move || serve(&shell, &mine)).ok()?;
            Some(shared)
        });
    }

    /// Sees to it that the work of a task advances although no thread will ever wait for it.
    pub(crate) fn hurry(self: &Arc<Self>) {
        if self.helper.started.get().is_none() {
            self.start_helper();
        }
        self.helper.hurry();
    }
}

/// What a look found.
enum Look {
    /// Nothing to do, or somebody waits and drives.
    Idle,
    /// Work, and nobody who polls.
    Abandoned,
    /// Work, and somebody who polls.
    InHand,
}

fn look<C: Drive>(shell: &Shell<C>, seen: &mut u64) -> Look {
    let core = shell.lock();
    if !shell.waits.nobody_waits() || !core.has_work() {
        return Look::Idle;
    }
    let before = std::mem::replace(seen, core.polls());
    if core.awaited() > 0 || before == *seen { Look::Abandoned } else { Look::InHand }
}

fn serve<C: Drive>(shell: &Weak<Shell<C>>, shared: &Shared) {
    // Nobody has polled so often: the first look only watches.
    let mut seen = u64::MAX;
    let mut grace = GRACE;
    loop {
        let Some(shell) = shell.upgrade() else { return };
        // Said before the look: see the invariant.
        shared.state.store(SLEEPS, Ordering::SeqCst);
        let called = shared.called.swap(false, Ordering::Relaxed);
        match look(&shell, &mut seen) {
            Look::Idle if !called => {
                drop(shell);
                shared.bell.sleep(&Wires::new(), None);
                (seen, grace) = (u64::MAX, GRACE);
            }
            Look::Abandoned => {
                shared.state.store(DRIVES, Ordering::SeqCst);
                drive(&shell, shared);
                (seen, grace) = (u64::MAX, GRACE);
            }
            Look::InHand | Look::Idle => {
                shared.state.store(WATCHES, Ordering::SeqCst);
                drop(shell);
                shared.bell.nap(grace);
                grace = (2 * grace).min(PATIENCE);
            }
        }
    }
}

/// Drives while there is work, nobody waits, and nobody else polls (or a task waits).
fn drive<C: Drive>(shell: &Shell<C>, shared: &Shared) {
    let mut mine = None;
    let mut idle_since: Option<Instant> = None;
    let mut remind_after = shell.waits.remind();
    loop {
        let mut core = shell.lock();
        if !shell.waits.nobody_waits() || !core.has_work() {
            return;
        }
        if mine.is_some_and(|mine| mine != core.polls()) && core.awaited() == 0 {
            return;
        }
        let moved = core.progress();
        mine = Some(core.polls());
        if moved {
            // What it has to do when it comes back, a caller may do before: it is no driver to rely on.
            drop(core);
            (idle_since, remind_after) = (None, shell.waits.remind());
            if shell.is_wanted() {
                thread::yield_now();
            }
            continue;
        }
        core.comes_back(true);
        // The next step of a schedule, or an answer to a task, is often there within microseconds, and to be woken for
        // it takes fifty: where cores are to be had, it is worth a short wait.
        let idle = idle_since.get_or_insert_with(Instant::now).elapsed();
        if idle < shell.waits.brief() {
            drop(core);
            thread::yield_now();
            continue;
        }
        // As a thread that waits would: see `Shell::drive_until`.
        if idle >= remind_after {
            core.remind(For::Topic(Topic::End));
            remind_after *= 2;
            continue;
        }
        let inbox = shell.waits.inbox();
        inbox.park(&shared.bell);
        if let Some(alarm) = core.arm() {
            drop(core);
            shell.waits.sleep(&shared.bell, Some(remind_after - idle), alarm);
        }
        inbox.unpark(&shared.bell);
    }
}
