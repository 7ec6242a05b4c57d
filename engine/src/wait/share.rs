//! What all waiting threads of a process share: how long they spin, what they sleep on, who waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::utils::CachePadded;
use ringworld_protocol::Selector;

use super::super::affinity::PreferredCore;
use super::super::backoff::{YieldBackoff, YieldHistory};
use super::super::calls::CallId;
use super::super::inbox::Inbox;
use super::super::notifier::{Notifier, Wires};
use super::super::observe::Told;
use super::super::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use super::super::waiters::Topic;

/// Transports without a descriptor (the simulator) are polled this often.
pub(super) const BLIND: Duration = Duration::from_micros(50);

/// How long a waiting thread polls before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    /// So long it keeps its core.
    pub(super) busy_poll: Duration,
    /// So long, altogether, it polls; after `busy_poll` it offers the core to others now and then: see
    /// [`YieldBackoff`].
    pub(super) yield_poll: Duration,
}

impl Spin {
    /// Sleep at once.
    pub const NONE: Self = Self { busy_poll: Duration::ZERO, yield_poll: Duration::ZERO };

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
    pub fn for_ranks(ranks: usize, cores: usize) -> Self {
        let (busy_poll, yield_poll) = if ranks <= cores { (2, 100) } else { (0, 50) };
        Self { busy_poll: Duration::from_micros(busy_poll), yield_poll: Duration::from_micros(yield_poll) }
    }

    /// The same, but sleeping after `limit`.
    pub fn lasting(self, limit: Duration) -> Self {
        Self { yield_poll: limit, ..self }
    }
}

/// A call that has waited in vain for this long tells its peers what it waits for, then again after twice
/// as long, and so on: see `Drive::remind`. Ranks that merely compute for long lose nothing by it.
pub const REMIND: Duration = Duration::from_secs(1);

/// What a thread waits for: whoever brings it about wakes it.
#[derive(Clone, Copy)]
pub enum For<'a> {
    /// The end of any of these operations.
    Calls(&'a [CallId]),
    /// A message that nobody has asked for, by this call.
    Message(Selector, Told),
    /// Anything else.
    Topic(Topic),
}

impl For<'_> {
    /// What is told of by the engine, if it is no operation's end.
    pub(super) fn topic(self) -> Option<Topic> {
        match self {
            Self::Calls(_) => None,
            Self::Message(selector, _) => Some(Topic::Message(selector.context)),
            Self::Topic(topic) => Some(topic),
        }
    }

    /// Whether there may be peers who could be reminded of it.
    #[inline]
    pub(super) fn has_peers(self) -> bool {
        !matches!(self, Self::Message(..) | Self::Topic(Topic::Message(_)))
    }
}

/// What all waiting threads share.
pub(crate) struct Waits {
    pub(super) wires: Wires,
    /// A transport has no descriptor, and must be polled.
    pub(super) blind: bool,
    pub(super) spin: Spin,
    pub(super) history: YieldHistory,
    pub(super) preferred: PreferredCore,
    pub(super) op_timeout: Option<Duration>,
    pub(super) stall_warning: Option<Duration>,
    pub(super) remind: Duration,
    pub(super) inbox: Arc<Inbox>,
    /// Threads inside a blocking call; the helper thread stays away while there are any.
    pub(super) waiting: CachePadded<AtomicUsize>,
    pub(super) habit: Habit,
}

/// What the last answer to a task that was left to wait says about the next: whether it came soon after.
///
/// A task that is left is woken through two threads, and its own answer is late by that: then its peer, if it is such a
/// task, too has been left. Two tasks that poll for a moment only would stay in that state for ever, at 110 us for a
/// round trip of 14.
pub(super) struct Habit {
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

    pub(super) fn leaves(&self) {
        self.left.store(self.now(), Ordering::Relaxed);
    }

    /// The answer was there when its task asked again.
    pub(super) fn answered(&self) {
        let left = self.left.swap(0, Ordering::Relaxed);
        if left > 0 {
            let soon = self.now().saturating_sub(left) < Self::SOON.as_nanos() as u64;
            self.soon.store(soon, Ordering::Relaxed);
        }
    }
}

/// How threads wait, but for what they share by accident of their rank.
pub(crate) struct Manners {
    pub(crate) spin: Spin,
    pub(crate) op_timeout: Option<Duration>,
    pub(crate) stall_warning: Option<Duration>,
    /// See [`REMIND`].
    pub(crate) remind: Duration,
    /// This rank's number among the ranks of this host, and how many they are.
    pub(crate) local: (usize, usize),
}

impl Waits {
    /// `wires`: the descriptors to sleep on; `blind`: there are transports without.
    pub(crate) fn new(wires: Wires, blind: bool, inbox: Arc<Inbox>, manners: &Manners) -> Self {
        let Manners { spin, op_timeout, stall_warning, remind, local } = *manners;
        let preferred = PreferredCore::new(local.0, local.1);
        let (history, waiting, habit) = (YieldHistory::default(), CachePadded::default(), Habit::new());
        Self {
            wires,
            blind,
            spin,
            history,
            preferred,
            op_timeout,
            stall_warning,
            remind,
            inbox,
            waiting,
            habit,
        }
    }

    #[inline]
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    #[inline]
    pub(super) fn offers(&self) -> YieldBackoff<'_> {
        YieldBackoff::new(self.spin.busy_poll, &self.history)
    }

    /// Whether no thread is inside a blocking call.
    #[inline]
    pub(crate) fn nobody_waits(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) == 0
    }

    /// For how long a thread that is not the program's may keep a core while it waits: for as long as would be kept
    /// without offering it, several times over, since nobody is kept waiting by a core that is this rank's own.
    #[inline]
    pub(crate) fn brief(&self) -> Duration {
        8 * self.spin.busy_poll.min(self.spin.yield_poll)
    }

    /// See [`REMIND`].
    #[inline]
    pub(crate) fn remind(&self) -> Duration {
        self.remind
    }

    /// For how long a task polls before it is left: longer where that has been worth it of late, but never so long that
    /// other tasks of its thread would notice.
    pub(super) fn for_task(&self) -> Duration {
        let brief = self.brief();
        let longer = self.spin.yield_poll.min(Habit::LONGEST);
        if !brief.is_zero() && self.habit.soon.load(Ordering::Relaxed) { longer } else { brief }
    }

    /// Sleeps until a transport has something or `notifier` is notified, at most until `limit` or `alarm`.
    pub(crate) fn sleep(&self, notifier: &Notifier, limit: Option<Duration>, alarm: Option<Duration>) {
        let blind = self.blind.then_some(BLIND);
        notifier.sleep(&self.wires, [limit, alarm, blind].into_iter().flatten().min());
    }
}
