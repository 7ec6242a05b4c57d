//! The engine: where protocol, schedules and transports meet.
//!
//! One [`Core`] per process, behind one lock. Whoever waits drives it: take the lock, make progress,
//! look at the result, let go. There is no thread of the engine's own on the path of a blocking call; a
//! helper thread takes over only while non-blocking work is outstanding and nobody waits (`helper`).
//!
//! ```text
//!   calls ──▶ core ──▶ machine (protocol) ──▶ actions ──▶ router ──▶ transports
//!               ▲          │  ▲                               │
//!      runs ◀───┘          ▼  └────────── events ◀────────────┘
//!   (schedules)       completions ──▶ slots (who asked)
//! ```
//!
//! Files: `core` joins the pieces, `runs` executes schedules, `router` knows the transports, `slots` are
//! what callers wait for, `wait` spins and parks, `home` keeps waiting ranks on cores of their own, `inbox` is how other
//! threads reach the engine, `leaving` how destructors do.

mod core;
mod early;
mod helper;
mod home;
mod inbox;
mod last_calls;
mod leaving;
mod limits;
mod offers;
mod router;
mod runs;
mod slots;
mod under_way;
mod wait;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) use self::core::{Begun, Core};
pub(crate) use self::inbox::{Inbox, Left, Notice};
pub(crate) use self::last_calls::LastCalls;
pub(crate) use self::limits::Limits;
pub(crate) use self::router::Registrations;
pub(crate) use self::runs::Start;
pub(crate) use self::slots::{Ending, SlotId};
use self::wait::Waits;
pub(crate) use self::wait::{REMIND, Spin};
use crate::error::Fault;
use ringworld_transport::Transport;

/// How the engine tells the rest of the world; served by the bootstrap session.
pub(crate) trait Control: Send + Sync {
    /// The data plane has lost a peer.
    fn peer_lost(&self, rank: usize, cause: &str);
    /// This rank has found a fault that every rank must hear of.
    fn fault(&self, fault: &Fault);
    /// This rank is about to leave in good order, and had called these last.
    fn leave_behind(&self, calls: LastCalls);
    /// Asks what a rank that has left in good order had called last. The answer, if there is one, is a notice.
    fn ask_last_calls(&self, rank: usize);
}

/// No world beyond this process, or one that needs no telling (simulation).
pub(crate) struct NoControl;

impl Control for NoControl {
    fn peer_lost(&self, _: usize, _: &str) {}
    fn fault(&self, _: &Fault) {}
    fn leave_behind(&self, _: LastCalls) {}
    fn ask_last_calls(&self, _: usize) {}
}

/// What an engine is made of.
pub(crate) struct Parts {
    pub(crate) rank: usize,
    /// This rank's number among the ranks of this host, and how many they are.
    pub(crate) local: (usize, usize),
    pub(crate) hosts: Arc<[String]>,
    /// The transports, and for each rank which one reaches it (`None` for this rank itself).
    pub(crate) transports: Vec<Box<dyn Transport>>,
    pub(crate) routes: Vec<Option<usize>>,
    pub(crate) limits: Limits,
    pub(crate) control: Arc<dyn Control>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) spin: Spin,
    pub(crate) op_timeout: Option<Duration>,
    /// A call that has waited in vain for so long tells those it waits for what it is.
    pub(crate) remind: Duration,
}

/// One process's part of the world.
pub(crate) struct Engine {
    core: Mutex<Core>,
    waits: Waits,
    helper: helper::Helper,
    hosts: Arc<[String]>,
}

impl Engine {
    /// # Errors
    ///
    /// When the system gives no event descriptor, or the limits contradict one another.
    pub(crate) fn new(parts: Parts) -> std::io::Result<Arc<Self>> {
        let waits = Waits::new(&parts)?;
        let hosts = Arc::clone(&parts.hosts);
        let core = Core::new(parts).map_err(std::io::Error::other)?;
        Ok(Arc::new(Self { core: Mutex::new(core), waits, helper: helper::Helper::default(), hosts }))
    }

    /// The core, for a short time. A panic inside the engine would be a bug, and leaves nothing to
    /// recover: the lock's poison is ignored because the panic has already been reported.
    pub(crate) fn lock(&self) -> Locked<'_> {
        let core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        Locked { core: Some(core), comes_back: false }
    }

    /// The host that a rank runs on, for messages.
    pub(crate) fn host(&self, rank: usize) -> String {
        self.hosts.get(rank).cloned().unwrap_or_else(|| "an unknown host".into())
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The error of a call that the world's failure has ended.
    pub(crate) fn fault_error(&self, fault: Fault, operation: String) -> crate::Error {
        fault.into_error(operation, |rank| self.host(rank))
    }
}

/// The core under its lock. Tasks that have something to do are woken after it is given back: what a waker
/// does, and what goes when the last one is dropped, is the user's, and may call the engine again.
///
/// Threads that sleep have armed the transports, and rely on it: so whoever gives the lock back for good sees to
/// it that they are still armed, or wakes the sleepers. Otherwise what it has left for the next poll, such as a
/// message that was put off, would lie until one of them wakes by itself.
pub(crate) struct Locked<'a> {
    core: Option<MutexGuard<'a, Core>>,
    /// This thread will poll or arm before it does anything else.
    comes_back: bool,
}

impl Locked<'_> {
    /// Says whether this thread, after it has given the lock back, polls or arms before anything else.
    fn comes_back(&mut self, comes_back: bool) {
        self.comes_back = comes_back;
    }
}

impl std::ops::Deref for Locked<'_> {
    type Target = Core;

    #[expect(clippy::expect_used, reason = "it is there until the drop")]
    fn deref(&self) -> &Core {
        self.core.as_ref().expect("locked")
    }
}

impl std::ops::DerefMut for Locked<'_> {
    #[expect(clippy::expect_used, reason = "it is there until the drop")]
    fn deref_mut(&mut self) -> &mut Core {
        self.core.as_mut().expect("locked")
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Asked first: programs without tasks, and with one thread, come here several times per message.
        let Some(core) = self.core.as_mut() else { return };
        if !self.comes_back && core.has_sleepers() {
            core.wake_sleepers();
        }
        if core.slots.has_tasks() {
            leave_tasks(&mut self.core);
        }
    }
}

#[cold]
fn leave_tasks(locked: &mut Option<MutexGuard<'_, Core>>) {
    let tasks = locked.as_mut().map(|core| core.slots.tasks()).unwrap_or_default();
    drop(locked.take());
    for task in tasks {
        task.leave();
    }
}

impl Engine {
    /// Ends this rank's part in good order: waits until what was sent is on its way, then until every
    /// connected peer has taken everything. Returns the fault if the world fails first.
    pub(crate) fn finish(&self) -> Option<Fault> {
        // Collectives that nobody waits for any more still owe the others this rank's part.
        let flushed = |core: &mut Core| {
            (core.fault().is_some() || (!core.is_running() && core.has_sent_all())).then_some(())
        };
        let running = self.lock().running();
        self.wait_until(&running, flushed, |_| {
            "the ranks that have not received what was sent to them, or not called a collective that this \
             rank has begun"
                .into()
        });
        // Once before the others hear that this rank leaves, so that they can be told while they are here.
        self.lock().look_before_leaving();
        self.lock().close();
        let closed = |core: &mut Core| core.is_closed().then_some(());
        self.wait_until(&[], closed, |_| "the ranks that are still connected to take what was sent".into());
        let mut core = self.lock();
        core.look_once_more();
        let fault = core.fault().cloned();
        core.fail(Fault::Finalized);
        fault
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.lock().fail(Fault::Finalized);
    }
}
