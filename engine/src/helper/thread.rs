//! The thread itself: looks, watches, drives, sleeps.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::super::notifier::{Notifier, Wires};
use super::super::shell::{Drive, Shell};
use super::super::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use super::super::sync::thread;
use super::super::wait::For;
use super::super::waiters::Topic;
use super::state::{DRIVES, SLEEPS, Shared, WATCHES};

/// A program that has not polled for so long is busy with something else.
const GRACE: Duration = Duration::from_micros(100);

/// A program that keeps polling is looked after less and less often, but at least this often.
const PATIENCE: Duration = Duration::from_micros(400);

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
            let shared = Arc::new(Shared { notifier: Notifier::new().ok()?, state, called });
            let (shell, mine) = (Arc::downgrade(self), Arc::clone(&shared));
            // Without the thread, work advances inside calls only, which is what MPI promises, and tasks poll.
            let thread = thread::Builder::new().name("ringworld-helper".into());
            thread.spawn(ringworld_transport::log::as_here(move || serve(&shell, &mine))).ok()?;
            Some(shared)
        });
    }

    /// Sees to it that the work of a task advances although no thread will ever wait for it. `false` when the system
    /// gives no thread for that: the task has to look by itself.
    #[must_use]
    pub(crate) fn hurry(self: &Arc<Self>) -> bool {
        if self.helper.started.get().is_none() {
            self.start_helper();
        }
        self.helper.hurry();
        self.helper.started.get().is_some_and(Option::is_some)
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

/// Disturbs nobody who has no need of it: a thread that waits drives, which is known without the lock, and so, mostly,
/// does whoever has the lock, unless the helper `is_called`. To get in the way of an exchange of 64 KiB each 400 us
/// made it a tenth slower.
fn look<C: Drive>(shell: &Shell<C>, seen: &mut u64, is_called: bool) -> Look {
    if !shell.waits.nobody_waits() {
        return Look::Idle;
    }
    let core = match shell.try_lock() {
        Some(core) => core,
        None if is_called => shell.lock(),
        None => return Look::InHand,
    };
    if !shell.waits.nobody_waits() || !core.has_work() {
        return Look::Idle;
    }
    let before = std::mem::replace(seen, core.polls());
    if core.awaited() > 0 || before == *seen { Look::Abandoned } else { Look::InHand }
}

/// Helper threads that run, of all engines.
static HELPERS: AtomicUsize = AtomicUsize::new(0);

/// How many threads of this process are engines' own. One that begins or ends may be missing.
#[must_use]
pub fn helpers() -> usize {
    HELPERS.load(Ordering::SeqCst)
}

/// A helper, from within.
struct Counted;

impl Counted {
    fn enter() -> Self {
        HELPERS.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        HELPERS.fetch_sub(1, Ordering::SeqCst);
    }
}

fn serve<C: Drive>(shell: &Weak<Shell<C>>, shared: &Shared) {
    let _counted = Counted::enter();
    // Nobody has polled so often: the first look only watches.
    let mut seen = u64::MAX;
    let mut grace = GRACE;
    let mut is_called = true;
    loop {
        let Some(shell) = shell.upgrade() else { return };
        // Said before the look: see the invariant.
        shared.state.store(SLEEPS, Ordering::SeqCst);
        let called = shared.called.swap(false, Ordering::Relaxed);
        match look(&shell, &mut seen, is_called) {
            Look::Idle if !called => {
                drop(shell);
                shared.notifier.sleep(&Wires::new(), None);
                (seen, grace, is_called) = (u64::MAX, GRACE, true);
            }
            Look::Abandoned => {
                shared.state.store(DRIVES, Ordering::SeqCst);
                drive(&shell, shared);
                (seen, grace, is_called) = (u64::MAX, GRACE, true);
            }
            Look::InHand | Look::Idle => {
                shared.state.store(WATCHES, Ordering::SeqCst);
                drop(shell);
                is_called = shared.notifier.nap(grace);
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
        inbox.park(&shared.notifier);
        if let Some(alarm) = core.arm() {
            drop(core);
            shell.waits.sleep(&shared.notifier, Some(remind_after - idle), alarm);
        }
        inbox.unpark(&shared.notifier);
    }
}
