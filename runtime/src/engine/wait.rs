//! Waiting: the thread that waits drives the engine, spinning briefly and then sleeping in the kernel.
//!
//! Sleeping is dear: a wake-up costs about 50 us, a half round trip between spinning ranks 4 to 6 us. But a
//! rank without a core of its own must not take the time from the one it waits for; see [`Spin`]. To sleep, a thread says
//! what it waits for, arms the transports and polls their descriptors together with a bell of its
//! own, which rings when another thread brings that about or the control plane has news.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use crossbeam::utils::CachePadded;

use super::bell::{Bell, Wires, own_bell};
use super::home::Home;
use super::inbox::Inbox;
use super::offers::{Custom, Offers};
use super::shell::{Drive, Locked, Shell};
use super::slots::{Ending, SlotId};
use super::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use super::sync::thread;
use super::waiters::Topic;

/// Transports without a descriptor (the simulator) are polled this often.
const BLIND: Duration = Duration::from_micros(50);

/// How long a waiting thread polls before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spin {
    /// So long it keeps its core.
    keen: Duration,
    /// So long, altogether, it polls; after `keen` it offers the core to others now and then: see [`Offers`].
    polite: Duration,
}

impl Spin {
    /// Sleep at once.
    pub(crate) const NONE: Self = Self { keen: Duration::ZERO, polite: Duration::ZERO };

    /// What serves `ranks` ranks on `cores` cores.
    ///
    /// With a core for each: long enough for most answers. Even then the peer may be waiting for this very
    /// core, which it gets after 2 us, once it has taken an offer (measured with both ranks of a ping-pong on one core:
    /// a hop costs so long and 7 us; on two cores it makes no difference).
    ///
    /// With more ranks than cores, keeping the core would take it from the very rank that is waited for.
    /// Offering it at once and polling again is still cheaper than sleeping and being woken. Measured on two
    /// cores, an all-reduce of 8 bytes, sleeping at once against offering for 50 us: four ranks 52 and 30 us,
    /// eight 150 and 95, sixteen 740 and 390. Where hundreds share a core, one turn lasts longer than that.
    pub(crate) fn for_ranks(ranks: usize, cores: usize) -> Self {
        let (keen, polite) = if ranks <= cores { (2, 100) } else { (0, 50) };
        Self { keen: Duration::from_micros(keen), polite: Duration::from_micros(polite) }
    }

    /// The same, but sleeping after `limit`.
    pub(crate) fn lasting(self, limit: Duration) -> Self {
        Self { polite: limit, ..self }
    }
}

/// A call that has waited in vain for this long tells its peers what it waits for, then again after twice
/// as long, and so on: see [`Drive::remind`]. Ranks that merely compute for long lose nothing by it.
pub(crate) const REMIND: Duration = Duration::from_secs(1);

/// What a thread waits for: whoever brings it about wakes it.
#[derive(Clone, Copy)]
pub(crate) enum For<'a> {
    /// The end of any of these operations.
    Slots(&'a [SlotId]),
    /// Anything else.
    Topic(Topic),
}

impl For<'_> {
    /// Whether there may be peers who could be reminded of it.
    fn has_peers(self) -> bool {
        !matches!(self, Self::Topic(Topic::Message(_)))
    }
}

/// What all waiting threads share.
pub(super) struct Waits {
    wires: Wires,
    /// A transport has no descriptor, and must be polled.
    blind: bool,
    spin: Spin,
    custom: Custom,
    home: Home,
    op_timeout: Option<Duration>,
    remind: Duration,
    inbox: Arc<Inbox>,
    /// Threads inside a blocking call; the helper thread stays away while there are any.
    waiting: CachePadded<AtomicUsize>,
    habit: Habit,
}

/// What the last answer to a task that was left to wait says about the next: whether it came soon after.
///
/// A task that is left is woken through two threads, and its own answer is late by that: then its peer, if it is such a task,
/// too has been left. Two tasks that poll for a moment only would stay in that state for ever, at 110 us for a
/// round trip of 14.
struct Habit {
    began: Instant,
    /// When a task was left, in nanoseconds from the beginning; 0: none was since.
    left: AtomicU64,
    soon: AtomicBool,
}

impl Habit {
    /// An answer that comes so soon after its task was left would have been worth polling for.
    const SOON: Duration = Duration::from_micros(200);
    /// No task polls for longer.
    const LONGEST: Duration = Duration::from_micros(100);

    fn new() -> Self {
        Self { began: Instant::now(), left: AtomicU64::new(0), soon: AtomicBool::new(false) }
    }

    fn now(&self) -> u64 {
        (self.began.elapsed().as_nanos() as u64).max(1)
    }

    fn leaves(&self) {
        self.left.store(self.now(), Ordering::Relaxed);
    }

    /// The answer was there when its task asked again.
    fn answered(&self) {
        let left = self.left.swap(0, Ordering::Relaxed);
        if left > 0 {
            let soon = self.now().saturating_sub(left) < Self::SOON.as_nanos() as u64;
            self.soon.store(soon, Ordering::Relaxed);
        }
    }
}

/// How threads wait, but for what they share by accident of their rank.
pub(super) struct Manners {
    pub(super) spin: Spin,
    pub(super) op_timeout: Option<Duration>,
    /// See [`REMIND`].
    pub(super) remind: Duration,
    /// This rank's number among the ranks of this host, and how many they are.
    pub(super) local: (usize, usize),
}

impl Waits {
    /// `wires`: the descriptors to sleep on; `blind`: there are transports without.
    pub(super) fn new(wires: Wires, blind: bool, inbox: Arc<Inbox>, manners: &Manners) -> Self {
        let Manners { spin, op_timeout, remind, local } = *manners;
        let home = Home::new(local.0, local.1);
        let (custom, waiting, habit) = (Custom::default(), CachePadded::default(), Habit::new());
        Self { wires, blind, spin, custom, home, op_timeout, remind, inbox, waiting, habit }
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    fn offers(&self) -> Offers<'_> {
        Offers::new(self.spin.keen, &self.custom)
    }

    /// Whether no thread is inside a blocking call.
    pub(super) fn nobody_waits(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) == 0
    }

    /// For how long a thread that is not the program's may keep a core while it waits: for as long as would be kept
    /// without offering it, several times over, since nobody is kept waiting by a core that is this rank's own.
    pub(super) fn brief(&self) -> Duration {
        8 * self.spin.keen.min(self.spin.polite)
    }

    /// See [`REMIND`].
    pub(super) fn remind(&self) -> Duration {
        self.remind
    }

    /// For how long a task polls before it is left: longer where that has been worth it of late, but never so long that
    /// other tasks of its thread would notice.
    fn for_task(&self) -> Duration {
        let brief = self.brief();
        let longer = self.spin.polite.min(Habit::LONGEST);
        if !brief.is_zero() && self.habit.soon.load(Ordering::Relaxed) { longer } else { brief }
    }

    /// Sleeps until a transport has something or `bell` rings, at most until `limit` or `alarm`.
    pub(super) fn sleep(&self, bell: &Bell, limit: Option<Duration>, alarm: Option<Duration>) {
        let blind = self.blind.then_some(BLIND);
        bell.sleep(&self.wires, [limit, alarm, blind].into_iter().flatten().min());
    }
}

impl<C: Drive> Shell<C> {
    /// Waits until the operation of `slot` has ended, and takes its ending.
    pub(super) fn end_of(
        self: &Arc<Self>,
        mut core: Locked<'_, C>,
        slot: SlotId,
        waiting_for: impl Fn(&mut C) -> String,
    ) -> Ending {
        // Receives of what has come already end without any waiting.
        if let Some(ending) = core.slots().take(slot) {
            self.go(core);
            return ending;
        }
        self.drive_until(core, For::Slots(&[slot]), |core| core.slots().take(slot), waiting_for)
    }

    /// Drives the engine until `done` gives something, which whoever brings about what `what` says may change.
    /// `waiting_for` says in words whom this waits for, if it takes too long.
    pub(crate) fn wait_until<R>(
        self: &Arc<Self>,
        what: For<'_>,
        mut done: impl FnMut(&mut C) -> Option<R>,
        waiting_for: impl Fn(&mut C) -> String,
    ) -> R {
        let mut core = self.lock();
        if let Some(result) = done(&mut core) {
            self.go(core);
            return result;
        }
        self.drive_until(core, what, done, waiting_for)
    }

    /// Ends a call that had nothing to wait for.
    pub(crate) fn go(self: &Arc<Self>, mut core: Locked<'_, C>) {
        core.catch_up();
        let leaves = core.owes();
        drop(core);
        if leaves {
            // This thread goes on to something else, and what it has sent is still here.
            self.help();
        }
    }

    /// Like [`Shell::wait_until`], when `done` has just said no.
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
        let mut slept = false;
        let mut offers = self.waits.offers();
        let mut remind_after = self.waits.remind;
        loop {
            let mut core = held.take().unwrap_or_else(|| self.lock());
            let moved = core.progress();
            if let Some(result) = done(&mut core) {
                if slept && let (For::Topic(_), Some(bell)) = (what, own_bell()) {
                    core.watchers().remove_thread(&bell);
                }
                presence.leave(&*core);
                return result;
            }
            core.comes_back(true);
            if moved {
                (idle_since, known_idle) = (None, None);
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
            if idle < self.waits.spin.polite {
                drop(core);
                // Otherwise at once: a turn is long enough that a pause instruction would ease nobody's way,
                // and hypervisors and emulators take one for leave to run somebody else.
                if offers.is_due(idle) {
                    thread::yield_now();
                    let after = since.elapsed();
                    known_idle = Some(after);
                    if offers.made(idle, after) && self.waits.waiting.load(Ordering::Relaxed) == 1 {
                        self.waits.home.seek();
                    }
                }
                continue;
            }
            if let Some(limit) = self.waits.op_timeout
                && idle >= limit
            {
                let waiting_for = waiting_for(&mut core);
                core.time_out(what, idle, waiting_for);
                continue;
            }
            let mut limit = self.waits.op_timeout;
            if what.has_peers() {
                if idle >= remind_after {
                    core.remind(what);
                    remind_after *= 2;
                    // That may have ended what this waits for.
                    continue;
                }
                limit = Some(limit.map_or(remind_after, |limit| limit.min(remind_after)));
            }
            slept = true;
            self.sleep(core, what, limit.map(|limit| limit.saturating_sub(idle)));
        }
    }

    /// Asks for a task whether `done` gives something; if not, `register` notes the task's waker, under the same hold of the
    /// lock, with those who bring it about.
    ///
    /// An answer is often there within microseconds, and to be woken for it takes a hundred: so the first task that waits
    /// polls for a moment, where its rank has a core of its own. Those that come while it waits do not, or an executor with
    /// many tasks would be kept from them.
    pub(crate) fn poll<R>(
        self: &Arc<Self>,
        waker: &Waker,
        mut done: impl FnMut(&mut C) -> Option<R>,
        register: impl FnOnce(&mut C, Waker),
    ) -> Option<R> {
        // Not under the lock: it is the user's code.
        let waker = waker.clone();
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
            register(&mut core, waker);
            drop(core);
            self.hurry();
            return None;
        }
    }

    /// Sleeps until a transport has something, the bell rings, or `limit` passes.
    fn sleep(&self, mut core: Locked<'_, C>, what: For<'_>, limit: Option<Duration>) {
        let Some(bell) = own_bell() else {
            // Out of descriptors: polling slowly is the best that is left.
            drop(core);
            thread::sleep(BLIND);
            return;
        };
        self.waits.inbox.park(&bell);
        let Some(alarm) = core.arm() else {
            self.waits.inbox.unpark(&bell);
            return;
        };
        match what {
            For::Slots(slots) => slots.iter().for_each(|slot| core.slots().wake_thread(*slot, &bell)),
            For::Topic(topic) => core.watchers().add_thread(topic, &bell),
        }
        drop(core);
        self.waits.sleep(&bell, limit, alarm);
        self.waits.inbox.unpark(&bell);
    }
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
    fn leave(&mut self, core: &C) {
        self.present = false;
        self.leaves_work = self.shell.waits.waiting.fetch_sub(1, Ordering::SeqCst) == 1 && core.has_work();
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
