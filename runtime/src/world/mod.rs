//! The world: rendezvous, the communicator of all ranks, and the end.
//!
//! Neighbours: `bootstrap` finds the others and watches them, `transports` opens the wires, the engine
//! moves the bytes. This file only introduces them to one another.

mod account;
mod builder;
mod cores;
mod departures;
mod descriptors;
mod elastic;
pub mod logging;
mod lookout;
pub mod pair;
mod part;
mod route;
mod seat;
mod state;
mod statistics;
mod told;
mod trace;
mod transports;

pub use builder::Builder;
pub use route::Route;
pub use state::{SharedState, StateVector};
pub use statistics::{CallStatistics, PeerStatistics, Statistics};
pub use transports::{TransportReport, available_transports, compiled_in};

use std::ops::Deref;
use std::sync::Arc;

use ringworld_bootstrap::{ControlEvent, Joining, Report, Session, Settings};
use ringworld_collectives::Placement;
use ringworld_transport::{log, shortage};

use self::departures::Departures;
use self::lookout::Lookout;
use self::part::Part;
use self::seat::Seat;
use self::told::Told;
use self::transports::Place;
use crate::communicator::context_id::ContextIds;
use crate::communicator::{Communicator, Effective, Memory, Options, Plane, Shared};
use crate::error::fault_error;
use crate::{Error, Result};
use ringworld_engine::{
    Control, Engine, Fault, Inbox, LastCalls, Limits, NoControl, Notice, Parts, REMIND, Spin, panics,
    trace::Room,
};

/// All ranks, brought together.
///
/// Derefs to the [`Communicator`] of all ranks. A program has one, for as long as it communicates:
/// [`World::finish`] ends this rank's part in good order, and so does dropping it. Collectives that have been begun
/// end, everything sent is still delivered, and the end waits until those it was sent to have taken it; on the process
/// that serves the rendezvous it waits until every rank has left. If this rank panics or fails, the others are told
/// instead.
///
/// ```no_run
/// use ringworld::{Op, World};
///
/// let world = World::from_env()?; // alone, where nothing says that there are others
/// let mut data = [world.rank() as f32, 1.0];
/// world.all_reduce(&mut data, Op::Sum)?;
/// assert_eq!(data[1], world.size() as f32);
/// world.finish()?;
/// # Ok::<(), ringworld::Error>(())
/// ```
#[derive(Debug)]
pub struct World {
    communicator: Communicator,
    link: Option<Arc<Link>>,
    routes: Vec<Route>,
    /// Its part in the generations of an elastic world.
    part: Option<Part>,
    /// Who is told at the end what this rank has counted.
    told: Told,
    ended: bool,
    /// Left when all else is done.
    seat: Option<Seat>,
    /// The process that has joined.
    maker: u32,
}

impl Deref for World {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.communicator
    }
}

impl World {
    /// Opens the wires, joins, and puts everything together.
    fn form(
        settings: &Settings,
        joining: Joining,
        part: Option<Part>,
        room: Option<Room>,
    ) -> Result<Self, Unformed> {
        let prepared = transports::prepare(settings, &Place::of(&joining))?;
        let inbox = Arc::new(Inbox::default());
        let departures = Arc::new(Departures::default());
        let (events, departed) = (Arc::clone(&inbox), Arc::clone(&departures));
        let listener = part.as_ref().map(Part::listener);
        let on_event = Box::new(move |event| {
            if let Some(listener) = &listener {
                listener(&event);
            }
            departed.hear(&event);
            hear(&events, event);
        });
        let mut addresses = prepared.addresses();
        addresses.extend(part.as_ref().map(Part::address));
        addresses.extend(cores::address());
        let session = joining.join(addresses, on_event).map_err(|error| match error {
            ringworld_bootstrap::Error::Running { running } => Unformed::Runs(running),
            error => bootstrap(error).into(),
        })?;
        if let Some(part) = &part {
            part.formed(&session)?;
        }
        descriptors::provide(settings, session.size, session.local_rank == 0);
        let trace = trace::begin(room, settings, &session)?;
        let opened = prepared.open(session.rank, &session.members, |rank| departures.include(rank))?;

        let hosts: Arc<[String]> = session.members.iter().map(|member| member.host.clone()).collect();
        let rank = session.rank;
        let (local_rank, local_size) = (session.local_rank, session.local_size);
        let host_ids: Box<[u64]> = session.members.iter().map(|member| member.host_id).collect();
        let memory = transports::memory_of(&session.members);
        let sharers = cores::sharers(rank, &session.members);
        let link = Arc::new(Link { session });
        let parts = Parts {
            rank,
            local: (local_rank, local_size),
            hosts,
            transports: opened.transports,
            routes: opened.routes,
            limits: limits(&host_ids, settings)?,
            control: Arc::clone(&link) as Arc<dyn Control>,
            inbox,
            spin: spin(settings, sharers),
            op_timeout: settings.op_timeout,
            stall_warning: settings.stall_warning,
            remind: REMIND,
            trace,
        };
        logging::this_is(rank);
        let mut world = Self::assemble(parts, opened.reasons, Some(link), settings, host_ids, memory)?;
        world.part = part;
        Ok(world)
    }

    /// Which transport carries what goes to `rank` of the world, and why that one.
    ///
    /// # Panics
    ///
    /// When `rank` is not below the size of the world.
    ///
    /// ```
    /// let world = ringworld::World::builder().world_size(1).build()?;
    /// assert_eq!(world.route(0).transport, "self");
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "get_backend")]
    pub fn route(&self, rank: usize) -> &Route {
        &self.routes[rank]
    }

    /// Ends this rank's part, as dropping the `World` does, and says whether all has gone well.
    ///
    /// The end looks once more at what the others have called: a program whose calls and whose `finish` return `Ok` on
    /// every rank has made the same collectives on every rank; but for those of no elements, which send nothing. A drop
    /// can only log what it finds, as an error.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] when others have called collectives that this rank has not, or others, or have left without
    /// reading what a collective of this rank has sent to them; and whatever else has ended the world before, even if a
    /// call has returned it already. [`Error::System`] in a process that was forked by the one which has joined: the
    /// world goes on, as it does when such a process drops it.
    ///
    /// ```
    /// let world = ringworld::World::builder().world_size(1).build()?;
    /// world.barrier()?;
    /// world.finish()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Finalize", "Finalize", "destroy_process_group"))]
    pub fn finish(mut self) -> Result<()> {
        if self.is_forked() {
            self.forget();
            return Err(Error::System {
                operation: "finish".into(),
                cause: format!(
                    "this process was forked by that of rank {} after its world had formed, and has no part in it; \
                     the world goes on, and whoever has made it ends it",
                    self.rank()
                ),
            });
        }
        let engine = Arc::clone(self.communicator.engine());
        self.end().map_or(Ok(()), |fault| Err(fault_error(&engine, fault, "finish".into())))
    }

    /// Whether this process is a child that the one which has joined has forked. It has copies of all connections and
    /// memory, but not the place in the world that they belong to, nor the threads that look after them.
    #[doc(hidden)]
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.maker != std::process::id()
    }

    /// Takes leave of a world without a word to anybody, and without asking for a lock, which a thread may have had
    /// that is not in this process. What belongs to it goes when this process ends.
    fn forget(&mut self) {
        self.ended = true;
        std::mem::forget((
            self.communicator.clone(),
            self.link.take(),
            self.part.take(),
            self.seat.take(),
            std::mem::take(&mut self.told),
        ));
    }

    /// Ends this rank's part, once; what has ended the world before, or is found only now.
    fn end(&mut self) -> Option<Fault> {
        self.ended = true;
        let fault = log::heard(|| self.part_ways());
        self.tell_account();
        fault
    }

    fn part_ways(&mut self) -> Option<Fault> {
        let engine = self.communicator.engine();
        let Some(link) = self.link.take() else { return engine.finish() };
        let fault = engine.finish();
        match fault {
            None => link.session.finish(),
            // Everybody knows already, or learns it from the control plane: only leave.
            Some(_) => link.session.leave(),
        }
        fault
    }

    fn alone(settings: &Settings) -> Result<Self> {
        // None is opened; but a name that is wrong is wrong here too, and not only with two ranks.
        transports::allowed(settings)?;
        if settings.size().is_none() {
            tracing::info!(
                "a world of one, since nothing says that there are other processes; for more, set MASTER_NODE and \
                 NUM_NODES alike on all hosts, or start the program with `ringworld run -n N`"
            );
        }
        let parts = Parts {
            rank: 0,
            local: (0, 1),
            hosts: [ringworld_bootstrap::host_name()].into(),
            transports: Vec::new(),
            routes: vec![None],
            limits: limits(&[0], settings)?,
            control: Arc::new(NoControl),
            inbox: Arc::default(),
            spin: Spin::NONE,
            op_timeout: settings.op_timeout,
            stall_warning: settings.stall_warning,
            remind: REMIND,
            trace: trace::begin_alone(trace::room(settings)?, settings)?,
        };
        logging::this_is(0);
        Self::assemble(parts, vec![Route::to_self()], None, settings, [0].into(), Memory::Nobody)
    }

    fn assemble(
        parts: Parts,
        routes: Vec<Route>,
        link: Option<Arc<Link>>,
        settings: &Settings,
        host_ids: Box<[u64]>,
        memory: Memory,
    ) -> Result<Self> {
        let (rank, size) = (parts.rank, parts.routes.len());
        let (local_rank, local_size) = parts.local;
        // All ranks know the same members, and so choose alike.
        let placement = Placement::new(&host_ids);
        let wishes = Options::from_settings(settings)?;
        let options = Effective::of_world(wishes, placement, parts.limits.eager, memory);
        let engine = Engine::new(parts).map_err(|error| Error::System {
            operation: "starting the engine".into(),
            cause: format!("{error}{}", shortage::advice(&error)),
        })?;
        let plane: Box<dyn Plane> = match &link {
            Some(link) => {
                let lookout = Lookout::new(Arc::downgrade(&engine), settings.stall_warning, &routes);
                link.session.observe(Arc::new(lookout));
                Box::new(Arc::clone(link))
            }
            None => Box::new(Nobody),
        };
        let context_ids = ContextIds::default();
        let shared = Arc::new(Shared { engine, plane, local_rank, local_size, host_ids, context_ids });
        let communicator = Communicator::new(shared, 0, rank, None, size, Arc::new(options));
        let told = Told::from_settings(settings);
        let maker = std::process::id();
        Ok(Self { communicator, link, routes, part: None, told, ended: false, seat: None, maker })
    }
}

/// Why a world did not form.
enum Unformed {
    /// It runs already, and may let this process in.
    Runs(Vec<u8>),
    Failed(Error),
}

impl Unformed {
    fn error(self) -> Error {
        match self {
            Self::Runs(running) => bootstrap(ringworld_bootstrap::Error::Running { running }),
            Self::Failed(error) => error,
        }
    }
}

impl From<Error> for Unformed {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

fn bootstrap(error: ringworld_bootstrap::Error) -> Error {
    Error::Bootstrap(error.to_string())
}

/// Of a world with these ranks' hosts.
fn limits(host_ids: &[u64], settings: &Settings) -> Result<Limits> {
    let placement = Placement::new(host_ids);
    let together = (0..placement.hosts()).map(|host| placement.ranks(host).len()).max();
    let (eager, window) = (settings.eager_limit, settings.window);
    Limits::for_world(host_ids.len(), together.unwrap_or(1), eager, window).map_err(Error::Bootstrap)
}

/// Of a rank that shares its cores with so many, itself among them.
fn spin(settings: &Settings, sharers: usize) -> Spin {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tracing::debug!(
        "calls that wait {} their core: {sharers} ranks may use {cores} cores of this one",
        if sharers > cores { "share" } else { "have" }
    );
    let spin = Spin::for_ranks(sharers, cores);
    settings.spin.map_or(spin, |limit| spin.lasting(limit))
}

impl Drop for World {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if self.is_forked() {
            return self.forget();
        }
        let engine = Arc::clone(self.communicator.engine());
        if std::thread::panicking()
            && let Some(link) = self.link.take()
        {
            let said = panics::last();
            link.session.panicked(said.as_deref().unwrap_or("its program panicked"));
            engine.lock().fail(Fault::Finalized);
            // Not left to the session's own end: operations that were leaked keep it, and its thread with it.
            link.session.leave();
            return;
        }
        // Calls have returned what was known before.
        let is_news = engine.lock().fault().is_none();
        if let Some(fault) = self.end()
            && is_news
        {
            let error = fault_error(&engine, fault, "the end".into());
            ringworld_transport::error!("{error}; World::finish returns this error");
        }
    }
}

/// The control plane as the engine and the communicators see it.
struct Link {
    session: Session,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Link")
    }
}

impl Control for Link {
    fn peer_lost(&self, rank: usize, cause: &str) {
        self.session.report(Report::PeerLost { rank, cause: cause.into() });
    }

    fn fault(&self, fault: &Fault) {
        use ringworld_bootstrap::Fault as Told;
        let told = match fault.clone() {
            Fault::Mismatch { detail } => Told::Mismatch { detail },
            Fault::Panicked { detail } => Told::Panicked { detail },
            Fault::System { detail } => Told::System { detail },
            Fault::TimedOut { waiter, after, waiting_for } => Told::TimedOut { waiter, after, waiting_for },
            // Those come from the control plane, which has told everybody, or concern this rank alone.
            Fault::Peer { .. } | Fault::Aborted { .. } | Fault::Master { .. } => return,
            Fault::Finalized | Fault::Superseded { .. } => return,
        };
        self.session.report(Report::Fault(told));
    }

    fn leave_behind(&self, calls: LastCalls) {
        self.session.leave_behind(calls.to_bytes());
    }

    fn ask_last_calls(&self, rank: usize) {
        self.session.ask_left(rank);
    }

    fn stalled(&self) {
        self.session.stalled();
    }

    fn ask_story(&self) {
        self.session.ask_story();
    }
}

impl Plane for Arc<Link> {
    fn abort(&self, code: i32, reason: &str) {
        self.session.abort(code, reason.into());
    }
}

/// A world of one has nobody to tell.
struct Nobody;

impl Plane for Nobody {
    fn abort(&self, _: i32, _: &str) {}
}

/// What the control plane says, for whoever drives the engine next.
fn hear(inbox: &Inbox, event: ControlEvent) {
    inbox.put(match event {
        ControlEvent::PeerDown { rank, cause, link, .. } => Notice::Fault(Fault::Peer { rank, cause, link }),
        ControlEvent::PeerFinished { rank } => Notice::Finished { rank },
        ControlEvent::Abort { rank, code, reason } => Notice::Fault(Fault::Aborted { rank, code, reason }),
        ControlEvent::Left { rank, left } => Notice::LastCalls { rank, calls: LastCalls::from_bytes(&left) },
        ControlEvent::Fault { fault, .. } => Notice::Fault(heard(fault)),
        ControlEvent::MasterLost { cause } => Notice::Fault(Fault::Master { cause }),
        ControlEvent::Story { text } => return inbox.tell(text),
        // Ranks of a world have their messages.
        ControlEvent::Told { .. } => return,
    });
}

/// What another rank has found.
fn heard(fault: ringworld_bootstrap::Fault) -> Fault {
    use ringworld_bootstrap::Fault as Told;
    match fault {
        Told::Mismatch { detail } => Fault::Mismatch { detail },
        Told::Panicked { detail } => Fault::Panicked { detail },
        Told::System { detail } => Fault::System { detail },
        Told::TimedOut { waiter, after, waiting_for } => Fault::TimedOut { waiter, after, waiting_for },
    }
}
