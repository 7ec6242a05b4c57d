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
//! Two halves. What decides and moves, one thread at a time: `core` joins the pieces, `runs` executes schedules, `router`
//! knows the transports. And how threads meet around it: `shell` is the lock and what is asked of whatever it guards,
//! `wait` spins and parks, `helper` drives while nobody waits, `slots` and `waiters` know who is to be woken for what,
//! `inbox` is how other threads reach the engine, `leaving` how destructors do, `home` keeps waiting ranks on cores of
//! their own. The second half knows the first by the trait `shell::Drive` only, and is played through by a model checker with
//! a stand-in for it (`model`).

#[cfg(not(ringworld_model))]
mod bell;
#[cfg(ringworld_model)]
#[path = "model/bell.rs"]
mod bell;
mod core;
mod early;
mod helper;
mod home;
mod inbox;
mod last_calls;
mod leaving;
mod limits;
#[cfg(all(test, ringworld_model))]
mod model;
mod offers;
mod router;
mod runs;
mod shell;
mod slots;
mod sync;
mod under_way;
mod wait;
mod waiters;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::core::{Begun, Core};
pub(crate) use self::inbox::{Inbox, Kept, Left, Notice};
pub(crate) use self::last_calls::LastCalls;
pub(crate) use self::limits::Limits;
pub(crate) use self::router::Registrations;
pub(crate) use self::runs::Start;
use self::shell::Shell;
pub(crate) use self::slots::{Ending, SlotId};
use self::wait::Waits;
pub(crate) use self::wait::{For, REMIND, Spin};
pub(crate) use self::waiters::{Topic, WatchId};
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
pub(crate) type Engine = Shell<Core>;

/// The core of an engine under its lock.
pub(crate) type Locked<'a> = shell::Locked<'a, Core>;

impl Engine {
    /// # Errors
    ///
    /// When the system gives no descriptor, or the limits contradict one another.
    pub(crate) fn new(parts: Parts) -> std::io::Result<Arc<Self>> {
        let wires = parts.transports.iter().filter_map(|transport| transport.wait_fd());
        let wires = wires.map(|wire| wire.try_clone_to_owned()).collect::<std::io::Result<Vec<_>>>()?;
        let blind = wires.len() < parts.transports.len();
        let Parts { spin, op_timeout, remind, local, .. } = parts;
        let manners = wait::Manners { spin, op_timeout, remind, local };
        let waits = Waits::new(bell::wires(wires), blind, Arc::clone(&parts.inbox), &manners);
        let hosts = Arc::clone(&parts.hosts);
        let core = Core::new(parts).map_err(std::io::Error::other)?;
        Ok(Self::around(core, hosts, waits))
    }

    /// The host that a rank runs on, for messages.
    pub(crate) fn host(&self, rank: usize) -> String {
        self.hosts().get(rank).cloned().unwrap_or_else(|| "an unknown host".into())
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.known
    }

    /// The error of a call that the world's failure has ended.
    pub(crate) fn fault_error(&self, fault: Fault, operation: String) -> crate::Error {
        fault.into_error(operation, |rank| self.host(rank))
    }

    /// Waits until the operation of `slot` has ended, and takes its ending.
    pub(crate) fn wait(self: &Arc<Self>, slot: SlotId) -> Ending {
        self.go_on_to_wait(self.lock(), slot)
    }

    /// Like [`Engine::wait`], from a call that has just begun the operation.
    pub(crate) fn go_on_to_wait(self: &Arc<Self>, core: Locked<'_>, slot: SlotId) -> Ending {
        self.end_of(core, slot, |core| core.waiting_for(slot))
    }

    /// Waits until one of the operations has ended, and says which; its ending is not taken. `None` among
    /// them stands for one that has ended already. `None` when there are none.
    pub(crate) fn wait_any(self: &Arc<Self>, slots: &[Option<SlotId>]) -> Option<usize> {
        if slots.is_empty() {
            return None;
        }
        let ended =
            |core: &mut Core| slots.iter().position(|slot| slot.is_none_or(|slot| core.slots.is_done(slot)));
        let under_way: Vec<SlotId> = slots.iter().copied().flatten().collect();
        let describe = |core: &mut Core| {
            let each: Vec<_> = under_way.iter().map(|slot| core.waiting_for(*slot)).collect();
            each.join(", or ")
        };
        Some(self.wait_until(For::Slots(&under_way), ended, describe))
    }

    /// Ends this rank's part in good order: waits until what was sent is on its way, then until every
    /// connected peer has taken everything. Returns the fault if the world fails first.
    pub(crate) fn finish(self: &Arc<Self>) -> Option<Fault> {
        let wait = |done: fn(&mut Core) -> bool, whom: &str| {
            let over = |core: &mut Core| (core.fault().is_some() || done(core)).then_some(());
            self.wait_until(For::Topic(Topic::End), over, |_| whom.into());
        };
        self.lock().leave();
        // Collectives that nobody waits for any more still owe the others this rank's part.
        wait(
            |core| core.owes_nothing(),
            "the ranks that have not received what was sent to them, or not called a collective that this \
             rank has begun",
        );
        // Once before the others hear that this rank leaves, so that they can be told while they are here.
        self.lock().look_before_leaving();
        self.lock().close();
        wait(|core| core.is_closed(), "the ranks that are still connected to take what was sent");
        let mut core = self.lock();
        core.look_once_more();
        let fault = core.fault().cloned();
        core.fail(Fault::Finalized);
        fault
    }
}
