//! A thread or a task that waits: drives the engine, spins, sleeps.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::super::calls::{CallId, Ending};
use super::super::notifier::own_notifier;
use super::super::shell::{Drive, Locked, Shell};
use super::super::sync::atomic::Ordering;
use super::super::sync::thread;
use super::super::waiters::Topic;
use super::share::{BLIND, For};

/// How long before the end of a call that waits for too long it is asked what everybody does, at most; a quarter of
/// `op_timeout` where that is short.
const ANSWER: Duration = Duration::from_secs(2);

impl<C: Drive> Shell<C> {
    /// Waits until the operation of `call` has ended, and takes its ending.
    pub(crate) fn end_of(
        self: &Arc<Self>,
        mut core: Locked<'_, C>,
        call: CallId,
        waiting_for: impl Fn(&mut C) -> String,
    ) -> Ending {
        // Receives of what has come already end without any waiting.
        if let Some(ending) = core.take_ending(call) {
            self.go(core);
            return ending;
        }
        self.drive_until(core, For::Calls(&[call]), |core| core.take_ending(call), waiting_for)
    }

    /// Drives the engine until `done` gives something, which whoever brings about what `what` says may change.
    /// `waiting_for` says in words whom this waits for, if it takes too long.
    pub fn wait_until<R>(
        self: &Arc<Self>,
        what: For<'_>,
        done: impl FnMut(&mut C) -> Option<R>,
        waiting_for: impl Fn(&mut C) -> String,
    ) -> R {
        self.wait_from_until(self.lock(), what, done, waiting_for)
    }

    /// The same for whoever has the core already.
    pub fn wait_from_until<R>(
        self: &Arc<Self>,
        mut core: Locked<'_, C>,
        what: For<'_>,
        mut done: impl FnMut(&mut C) -> Option<R>,
        waiting_for: impl Fn(&mut C) -> String,
    ) -> R {
        if let Some(result) = done(&mut core) {
            self.go(core);
            return result;
        }
        self.drive_until(core, what, done, waiting_for)
    }

    /// Polls by `poll` for as long as a waiting thread keeps its core, without giving the lock back, until it breaks
    /// off or somebody else wants the lock. What comes within that time costs no taking of turns.
    #[inline]
    pub(crate) fn poll_briefly<R>(
        &self,
        core: &mut C,
        mut poll: impl FnMut(&mut C) -> ControlFlow<Option<R>>,
    ) -> Option<R> {
        // Reading the clock takes as long as a poll that finds nothing.
        const POLLS: usize = 4;
        let mut since = None;
        loop {
            for _ in 0..POLLS {
                if let ControlFlow::Break(result) = poll(core) {
                    return result;
                }
                if self.waits.spin.busy_poll.is_zero() || self.is_wanted() || core.has_leaving() {
                    return None;
                }
            }
            if Instant::elapsed(since.get_or_insert_with(Instant::now)) >= self.waits.spin.busy_poll {
                return None;
            }
        }
    }

    /// How often a waiting thread may look for something in memory that it shares before it polls: for a microsecond
    /// or so each, but once where others may want its core.
    #[inline]
    pub(crate) fn looks(&self) -> usize {
        if self.waits.spin.busy_poll.is_zero() { 1 } else { 32 }
    }

    /// Whether no other thread waits for anything, or for the lock: nobody is kept waiting if it is not given back for
    /// a while.
    #[inline]
    pub(crate) fn nobody_else_waits(&self) -> bool {
        self.waits.nobody_waits() && !self.is_wanted()
    }

    /// Ends a call that had nothing to wait for.
    pub(crate) fn go(self: &Arc<Self>, mut core: Locked<'_, C>) {
        core.catch_up();
        self.go_without_polling(core);
    }

    /// Ends a call that does not wait, and has left nothing under way. What calls before it have left for the next poll
    /// stays: polled for each, it would not leave together.
    #[inline]
    pub(crate) fn go_without_polling(self: &Arc<Self>, core: Locked<'_, C>) {
        let leaves = core.owes();
        drop(core);
        if leaves {
            // This thread goes on to something else, and what it has sent is still here.
            self.help();
        }
    }

    /// Like [`Shell::wait_until`], when `done` has just said no. On its own, or those who need not wait would make room
    /// for all of it.
    #[inline(never)]
    fn drive_until<R>(
        self: &Arc<Self>,
        core: Locked<'_, C>,
        what: For<'_>,
        mut done: impl FnMut(&mut C) -> Option<R>,
        waiting_for: impl Fn(&mut C) -> String,
    ) -> R {
        let mut presence = Presence::enter(self);
        // Declared after `presence`, so that the lock is given back before the helper is told.
        let mut held = Some(core);
        let mut idle_since = None;
        let mut known_idle = None;
        // How long the call has waited, whatever has moved meanwhile, and what it is known by once it sleeps.
        let mut began = None;
        let mut asleep = None;
        let mut warn_after = self.waits.stall_warning;
        let first_ask = self.waits.op_timeout.map(|limit| limit - (limit / 4).min(ANSWER));
        let mut ask_after = first_ask;
        let mut offers = self.waits.offers();
        let mut remind_after = self.waits.remind;
        loop {
            let mut core = held.take().unwrap_or_else(|| self.lock());
            let moved = match what {
                For::Calls(_) => core.progress_of_calls(),
                For::Message(..) | For::Topic(_) => core.progress(),
            };
            if let Some(result) = done(&mut core) {
                if let Some(number) = asleep {
                    core.wakes(number);
                    if let (Some(_), Some(notifier)) = (what.topic(), own_notifier()) {
                        core.watchers().remove_thread(&notifier);
                    }
                }
                presence.leave(&mut *core);
                return result;
            }
            core.comes_back(true);
            if moved {
                (idle_since, known_idle, ask_after) = (None, None, first_ask);
                offers = self.waits.offers();
                drop(core);
                if self.is_wanted() {
                    // The lock knows no order: without this, others would get it by luck only.
                    thread::yield_now();
                }
                continue;
            }
            // Reading the clock takes as long as a hundred instructions: once per turn is enough.
            let (since, idle) = match idle_since {
                Some(since) => (since, known_idle.take().unwrap_or_else(|| Instant::elapsed(&since))),
                None => (*idle_since.insert(Instant::now()), Duration::ZERO),
            };
            let began = *began.get_or_insert(since);
            if idle < self.waits.spin.yield_poll {
                drop(core);
                // Otherwise at once: a turn is long enough that a pause instruction would ease nobody's way,
                // and hypervisors and emulators take one for leave to run somebody else.
                if offers.is_due(idle) {
                    thread::yield_now();
                    let after = since.elapsed();
                    known_idle = Some(after);
                    if offers.made(idle, after) && self.waits.waiting.load(Ordering::Relaxed) == 1 {
                        self.waits.preferred.migrate();
                    }
                }
                continue;
            }
            if asleep.is_none() {
                asleep = Some(core.sleeps(what, began));
                // That has told the protocol of all receives, so it is polled once more.
                continue;
            }
            if let Some(limit) = self.waits.op_timeout
                && idle >= limit
            {
                let waiting_for = waiting_for(&mut core);
                core.time_out(what, idle, waiting_for);
                continue;
            }
            let mut alarm = self.waits.op_timeout.map(|limit| limit.saturating_sub(idle));
            if let Some(after) = ask_after {
                if idle >= after {
                    ask_after = None;
                    core.ask_story();
                    continue;
                }
                alarm = sooner(alarm, after - idle);
            }
            if let Some(after) = warn_after {
                let waited = since.duration_since(began) + idle;
                if waited >= after {
                    core.stalls();
                    warn_after = self.waits.stall_warning.map(|warning| waited + warning);
                    continue;
                }
                alarm = sooner(alarm, after - waited);
            }
            if what.has_peers() {
                if idle >= remind_after {
                    core.remind(what);
                    remind_after *= 2;
                    // That may have ended what this waits for.
                    continue;
                }
                alarm = sooner(alarm, remind_after - idle);
            }
            self.sleep(core, what, alarm);
        }
    }

    /// Asks for a task whether `done` gives something; if not, `register` notes the task's waker, under the same hold
    /// of the lock, with those who bring it about.
    ///
    /// An answer is often there within microseconds, and to be woken for it takes a hundred: so the first task that
    /// waits polls for a moment, where its rank has a core of its own. Those that come while it waits do not, or an
    /// executor with many tasks would be kept from them.
    pub fn poll<R>(
        self: &Arc<Self>,
        waker: &Waker,
        mut done: impl FnMut(&mut C) -> Option<R>,
        register: impl FnOnce(&mut C, Waker),
    ) -> Option<R> {
        // Not under the lock: it is the user's code.
        let kept = waker.clone();
        let mut since = None;
        loop {
            let mut core = self.lock();
            let moved = core.progress();
            if let Some(result) = done(&mut core) {
                if since.is_none() {
                    self.waits.habit.answered();
                }
                return Some(result);
            }
            let limit = if core.awaited() == 0 { self.waits.for_task() } else { Duration::ZERO };
            let idle = Instant::elapsed(since.get_or_insert_with(Instant::now));
            if moved || idle < limit {
                core.comes_back(true);
                drop(core);
                if idle > self.waits.brief() {
                    thread::yield_now();
                }
                continue;
            }
            self.waits.habit.leaves();
            register(&mut core, kept);
            drop(core);
            if !self.hurry() {
                // Nobody else would ever drive.
                waker.wake_by_ref();
            }
            return None;
        }
    }

    /// Sleeps until a transport has something, it is notified, or `limit` passes.
    fn sleep(&self, mut core: Locked<'_, C>, what: For<'_>, limit: Option<Duration>) {
        let Some(notifier) = own_notifier() else {
            // Out of descriptors: polling slowly is the best that is left.
            drop(core);
            thread::sleep(BLIND);
            return;
        };
        self.waits.inbox.park(&notifier);
        let Some(alarm) = core.arm() else {
            self.waits.inbox.unpark(&notifier);
            return;
        };
        match what {
            For::Calls(calls) => calls.iter().for_each(|call| core.calls().wake_thread(*call, &notifier)),
            For::Message(selector, _) => {
                core.watchers().add_thread(Topic::Message(selector.context), &notifier)
            }
            For::Topic(topic) => core.watchers().add_thread(topic, &notifier),
        }
        drop(core);
        self.waits.sleep(&notifier, limit, alarm);
        self.waits.inbox.unpark(&notifier);
    }
}

/// The sooner of an alarm, if there is one, and another.
fn sooner(alarm: Option<Duration>, other: Duration) -> Option<Duration> {
    Some(alarm.map_or(other, |alarm| alarm.min(other)))
}

/// Counts this thread among those that wait, and tells the helper when the last one leaves.
struct Presence<'a, C: Drive> {
    shell: &'a Arc<Shell<C>>,
    /// Still counted.
    present: bool,
    leaves_work: bool,
}

impl<'a, C: Drive> Presence<'a, C> {
    fn enter(shell: &'a Arc<Shell<C>>) -> Self {
        shell.waits.waiting.fetch_add(1, Ordering::SeqCst);
        shell.helper.stand_back();
        Self { shell, present: true, leaves_work: false }
    }

    /// Under the lock, as the helper looks: so it sees either this thread, or what this thread has left, of which it is
    /// told then. (Not counted out under the lock, this thread could leave nothing, and the helper be called for what
    /// comes to be just afterwards, see this thread, and sleep.)
    fn leave(&mut self, core: &mut C) {
        self.present = false;
        let has_work = core.leaves();
        self.leaves_work = self.shell.waits.waiting.fetch_sub(1, Ordering::SeqCst) == 1 && has_work;
    }
}

impl<C: Drive> Drop for Presence<'_, C> {
    fn drop(&mut self) {
        if self.present {
            // A panic must not leave work without a driver.
            self.shell.waits.waiting.fetch_sub(1, Ordering::SeqCst);
            self.leaves_work = true;
        }
        if self.leaves_work {
            self.shell.help();
        }
    }
}
