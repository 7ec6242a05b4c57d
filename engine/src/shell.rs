//! The shell: one lock around what is driven, and the threads that take turns at driving it.
//!
//! What is driven is the [`Core`](super::Core), or in the model of this folder's threads a small stand-in: the shell
//! asks no more of it than [`Drive`] says. Who waits and how is in `wait`, who drives while nobody waits in
//! `helper`, who is woken for what in `waiters.rs` and `calls.rs`.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crossbeam::utils::CachePadded;

use super::calls::{CallId, Calls, Ending};
use super::helper::Helper;
use super::inbox::Notice;
use super::inside;
use super::reduce::ADVICE;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::{Mutex, MutexGuard, TryLockError, thread};
use super::wait::{For, Waits};
use super::waiters::{Tasks, Watchers};

/// What a shell drives. Every method is called under the lock.
pub trait Drive: Send + 'static {
    /// What never changes, and can be read without the lock.
    type Known: Send + Sync;

    /// Moves whatever can be moved without waiting; whether anything did.
    fn progress(&mut self) -> bool;

    /// The same for a thread that waits for calls: what comes behind the last message that anybody waits for may be
    /// left to the next poll.
    fn progress_of_calls(&mut self) -> bool {
        self.progress()
    }

    /// How often [`Drive::progress`] has been called, so that drivers see whether others drive as well.
    fn polls(&self) -> u64;

    /// Whether anything has to be driven although nobody waits for it.
    fn has_work(&self) -> bool;

    /// A thread's call is over, in which it has driven; whether anything has to be driven now.
    fn leaves(&mut self) -> bool {
        self.has_work()
    }

    /// Whether something that has been sent, and may have been reported as sent, needs polls of this side to leave.
    fn owes(&self) -> bool;

    /// Moves on what a call has left for the next poll, if anything.
    fn catch_up(&mut self);

    /// Whether it is safe to sleep until a transport or the inbox has news, and for how long at most.
    fn arm(&mut self) -> Option<Option<Duration>>;

    /// Whether a thread sleeps that has armed the transports.
    fn has_sleepers(&self) -> bool;

    /// Arms the transports on behalf of those that sleep, or wakes them.
    fn wake_sleepers(&mut self);

    /// Hears what lies in the inbox.
    fn read_inbox(&mut self);

    /// Hears one thing that would have lain in the inbox.
    fn notice(&mut self, notice: Notice);

    /// Tells peers what this rank waits for.
    fn remind(&mut self, what: For<'_>);

    /// A call has heard nothing for too long: ends the world.
    fn time_out(&mut self, what: For<'_>, after: Duration, waiting_for: String);

    /// A thread is about to sleep for the first time in a call that waits since then; a number for what follows.
    fn sleeps(&mut self, what: For<'_>, since: Instant) -> u64;

    /// The call of such a thread is over.
    fn wakes(&mut self, number: u64);

    /// A call has waited for as long as somebody should be told of it.
    fn stalls(&mut self);

    /// A call will soon have heard nothing for too long: what everybody does is to be found out for its error.
    fn ask_story(&mut self);

    /// The ending of a call that is waited for, once there is one; the call is free for others then.
    fn take_ending(&mut self, call: CallId) -> Option<Ending> {
        self.calls().take_ending(call)
    }

    fn calls(&mut self) -> &mut Calls;
    fn watchers(&mut self) -> &mut Watchers;

    /// How many tasks wait for anything: nobody else drives for them.
    fn awaited(&self) -> usize;

    /// Whether tasks are to be woken when the lock is given back.
    fn has_leaving(&self) -> bool;
}

/// Pauses between the tries of a look: whoever drives gives the lock back every few microseconds, but for reductions of
/// long messages.
const LOOKS: [Duration; 6] = [
    Duration::from_micros(5),
    Duration::from_micros(50),
    Duration::from_micros(500),
    Duration::from_millis(2),
    Duration::from_millis(10),
    Duration::from_millis(30),
];

/// So many turns a thread offers to others before it sleeps for the lock. Whoever has it gives it back in less time
/// than it takes to sleep and to be woken, which costs that one a call of the system, too: of two ranks with two
/// threads each on two cores, that was a quarter of their time.
const TURNS: usize = 64;

/// What is driven, its lock, and those who wait.
pub struct Shell<C: Drive> {
    core: Mutex<C>,
    pub(super) known: C::Known,
    pub(super) waits: Waits,
    pub(super) helper: Helper,
    /// Threads that wait for the lock.
    wanted: CachePadded<AtomicUsize>,
}

impl<C: Drive> Shell<C> {
    pub(super) fn around(core: C, known: C::Known, waits: Waits) -> Arc<Self> {
        let (helper, wanted) = (Helper::default(), CachePadded::default());
        Arc::new(Self { core: Mutex::new(core), known, waits, helper, wanted })
    }

    /// The core, for a short time. A panic inside the engine would be a bug, and leaves nothing to
    /// recover: the lock's poison is ignored because the panic has already been reported.
    ///
    /// # Panics
    ///
    /// In an operation of the user's that this engine runs: to wait would be to wait for itself. Calls that can return
    /// an error ask by [`Shell::enter`].
    pub fn lock(&self) -> Locked<'_, C> {
        Locked::new(match self.guard() {
            Some(core) => core,
            None => self.wait_for_guard(),
        })
    }

    /// The same; `None` in an operation of the user's that this engine runs.
    #[inline]
    pub fn enter(&self) -> Option<Locked<'_, C>> {
        Some(Locked::new(match self.guard() {
            Some(core) => core,
            None if inside::refuses(self) => return None,
            None => self.wait_for_guard(),
        }))
    }

    #[cold]
    #[expect(clippy::panic, reason = "the operation unwinds to whoever runs it, who makes an error of it")]
    fn wait_for_guard(&self) -> MutexGuard<'_, C> {
        if inside::refuses(self) {
            panic!("ringworld was called from inside an operation; {}", ADVICE);
        }
        self.wanted.fetch_add(1, Ordering::Relaxed);
        let core = self.guard_by_turns();
        let core = core.unwrap_or_else(|| self.core.lock().unwrap_or_else(PoisonError::into_inner));
        self.wanted.fetch_sub(1, Ordering::Relaxed);
        core
    }

    /// Tries for the core between turns of other threads.
    fn guard_by_turns(&self) -> Option<MutexGuard<'_, C>> {
        for _ in 0..TURNS {
            if let Some(core) = self.guard() {
                return Some(core);
            }
            thread::yield_now();
        }
        None
    }

    /// Looks at what is driven, which does not go on by that, and does not wait for the lock for long; `None`: whoever
    /// has it goes on with something that takes time.
    pub fn look<R>(&self, look: impl FnOnce(&mut C) -> R) -> Option<R> {
        for pause in LOOKS {
            if let Some(mut core) = self.try_lock() {
                // Nothing has changed: those who sleep sleep as they did.
                core.comes_back(true);
                return Some(look(&mut core));
            }
            thread::sleep(pause);
        }
        None
    }

    /// Whether another thread wants the lock: whoever drives on and on lets it pass.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }

    pub(super) fn try_lock(&self) -> Option<Locked<'_, C>> {
        self.guard().map(Locked::new)
    }

    /// What a [`Locked`] is made of, which is made last: it does not fit into two registers, and to move one whose
    /// parts have just been written takes as long as to lock.
    #[inline]
    fn guard(&self) -> Option<MutexGuard<'_, C>> {
        match self.core.try_lock() {
            Ok(core) => Some(core),
            // As in `wait_for_guard`.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<C: Drive> Drop for Shell<C> {
    fn drop(&mut self) {
        self.helper.dismiss();
    }
}

/// The core under its lock. Tasks that have something to do are woken after it is given back: what a waker
/// does, and what goes when the last one is dropped, is the user's, and may call the engine again.
///
/// Threads that sleep have armed the transports, and rely on it: so whoever gives the lock back for good sees to
/// it that they are still armed, or wakes the sleepers. Otherwise what it has left for the next poll, such as a
/// message that was deferred, would lie until one of them wakes by itself.
pub struct Locked<'a, C: Drive> {
    core: Option<MutexGuard<'a, C>>,
    /// This thread will poll or arm before it does anything else.
    comes_back: bool,
}

impl<'a, C: Drive> Locked<'a, C> {
    #[inline]
    fn new(core: MutexGuard<'a, C>) -> Self {
        Self { core: Some(core), comes_back: false }
    }

    /// Says whether this thread, after it has given the lock back, polls or arms before anything else.
    pub(super) fn comes_back(&mut self, comes_back: bool) {
        self.comes_back = comes_back;
    }
}

impl<C: Drive> std::ops::Deref for Locked<'_, C> {
    type Target = C;

    #[expect(clippy::expect_used, reason = "it is there until the drop")]
    fn deref(&self) -> &C {
        self.core.as_ref().expect("locked")
    }
}

impl<C: Drive> std::ops::DerefMut for Locked<'_, C> {
    #[expect(clippy::expect_used, reason = "it is there until the drop")]
    fn deref_mut(&mut self) -> &mut C {
        self.core.as_mut().expect("locked")
    }
}

impl<C: Drive> Drop for Locked<'_, C> {
    fn drop(&mut self) {
        // Asked first: programs without tasks, and with one thread, come here several times per message.
        let Some(core) = self.core.as_mut() else { return };
        if !self.comes_back && core.has_sleepers() {
            core.wake_sleepers();
        }
        if core.has_leaving() {
            leave_tasks(&mut self.core);
        }
    }
}

#[cold]
fn leave_tasks<C: Drive>(locked: &mut Option<MutexGuard<'_, C>>) {
    let leaving: Option<[Tasks; 2]> = locked.as_mut().map(|core| {
        [std::mem::take(&mut core.calls().leaving), std::mem::take(&mut core.watchers().leaving)]
    });
    drop(locked.take());
    leaving.into_iter().flatten().for_each(Tasks::leave);
}
