//! The world: rendezvous, the communicator of all ranks, and the end.
//!
//! Neighbours: `bootstrap` finds the others and watches them, `transports` opens the wires, the engine
//! moves the bytes. This file only introduces them to one another.

mod descriptors;
pub mod logging;
mod lookout;
pub mod pair;
mod route;
mod statistics;
mod transports;

pub use route::Route;
pub use statistics::{CallStatistics, PeerStatistics, Statistics};
pub use transports::{TransportReport, available_transports, compiled_in};

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use ringworld_bootstrap::{ControlEvent, Joining, Report, Session, Settings};
use ringworld_collectives::Placement;
use ringworld_transport::log;

use self::lookout::Lookout;
use self::transports::Place;
use crate::communicator::context_id::ContextIds;
use crate::communicator::{Communicator, Effective, Options, Plane, Shared};
use crate::error::fault_error;
use crate::{Error, Result};
use ringworld_engine::{
    Control, Engine, Fault, Inbox, LastCalls, Limits, NoControl, Notice, Parts, REMIND, Spin, panics,
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
    ended: bool,
}

impl Deref for World {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.communicator
    }
}

impl World {
    /// Brings the world together as the environment says: `MASTER_NODE`, `MASTER_PORT`, `NUM_NODES` and
    /// the rest of `docs/settings.md`. With nothing set, a world of this one process.
    ///
    /// # Errors
    ///
    /// [`Error::Bootstrap`] when a setting is wrong or contradicts another, no interface is left, or the
    /// others do not come in time. The message says what to change.
    ///
    /// ```no_run
    /// let world = ringworld::World::from_env()?;
    /// println!("rank {} of {}", world.rank(), world.size());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias(
        "MPI_Init",
        "MPI_Init_thread",
        "init_process_group",
        "initialize",
        "Universe",
        "mpiexec",
        "torchrun",
    ))]
    pub fn from_env() -> Result<Self> {
        Self::builder().build()
    }

    /// Settings in code, which win over the environment.
    ///
    /// ```
    /// let world = ringworld::World::builder().set("world_size", "1").build()?;
    /// assert_eq!(world.size(), 1);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn join(settings: &Settings) -> Result<Self> {
        let bootstrap = |error: &dyn std::fmt::Display| Error::Bootstrap(error.to_string());
        let joining = Joining::begin(settings).map_err(|error| bootstrap(&error))?;
        let prepared = transports::prepare(settings, &Place::of(&joining))?;
        let inbox = Arc::new(Inbox::default());
        let events = Arc::clone(&inbox);
        let on_event = Box::new(move |event| {
            if let Some(notice) = notice(event) {
                events.put(notice);
            }
        });
        let session = joining.join(prepared.addresses(), on_event).map_err(|error| bootstrap(&error))?;
        descriptors::provide(settings, session.size, session.local_rank == 0);
        let opened = prepared.open(session.rank, &session.members)?;

        let hosts: Arc<[String]> = session.members.iter().map(|member| member.host.clone()).collect();
        let (rank, size) = (session.rank, session.size);
        let (local_rank, local_size) = (session.local_rank, session.local_size);
        let host_ids = session.members.iter().map(|member| member.host_id).collect();
        let link = Arc::new(Link { session });
        let parts = Parts {
            rank,
            local: (local_rank, local_size),
            hosts,
            transports: opened.transports,
            routes: opened.routes,
            limits: limits(size, settings)?,
            control: Arc::clone(&link) as Arc<dyn Control>,
            inbox,
            spin: spin(settings, local_size),
            op_timeout: settings.op_timeout,
            stall_warning: settings.stall_warning,
            remind: REMIND,
        };
        logging::this_is(rank);
        Self::assemble(parts, opened.reasons, Some(link), settings, host_ids)
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
    /// every rank has made the same collectives on every rank. A drop can only log what it finds, as an error.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] when others have called collectives that this rank has not, or others; and whatever else has
    /// ended the world before, even if a call has returned it already.
    ///
    /// ```
    /// let world = ringworld::World::builder().world_size(1).build()?;
    /// world.barrier()?;
    /// world.finish()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Finalize", "Finalize", "destroy_process_group"))]
    pub fn finish(mut self) -> Result<()> {
        let engine = Arc::clone(self.communicator.engine());
        self.end().map_or(Ok(()), |fault| Err(fault_error(&engine, fault, "finish".into())))
    }

    /// Ends this rank's part, once; what has ended the world before, or is found only now.
    fn end(&mut self) -> Option<Fault> {
        self.ended = true;
        log::heard(|| self.leave())
    }

    fn leave(&mut self) -> Option<Fault> {
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
            limits: limits(1, settings)?,
            control: Arc::new(NoControl),
            inbox: Arc::default(),
            spin: Spin::NONE,
            op_timeout: settings.op_timeout,
            stall_warning: settings.stall_warning,
            remind: REMIND,
        };
        logging::this_is(0);
        Self::assemble(parts, vec![Route::to_self()], None, settings, [0].into())
    }

    fn assemble(
        parts: Parts,
        routes: Vec<Route>,
        link: Option<Arc<Link>>,
        settings: &Settings,
        host_ids: Box<[u64]>,
    ) -> Result<Self> {
        let (rank, size) = (parts.rank, parts.routes.len());
        let (local_rank, local_size) = parts.local;
        // All ranks know the same members, and so choose alike.
        let placement = Placement::new(&host_ids);
        let options = Effective::of_world(Options::from_settings(settings)?, placement, parts.limits.eager);
        let engine = Engine::new(parts).map_err(|error| Error::System {
            operation: "starting the engine".into(),
            cause: error.to_string(),
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
        Ok(Self { communicator, link, routes, ended: false })
    }
}

fn limits(size: usize, settings: &Settings) -> Result<Limits> {
    Limits::for_world(size, settings.eager_limit, settings.window).map_err(Error::Bootstrap)
}

fn spin(settings: &Settings, local_size: usize) -> Spin {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let spin = Spin::for_ranks(local_size, cores);
    settings.spin.map_or(spin, |limit| spin.lasting(limit))
}

impl Drop for World {
    fn drop(&mut self) {
        if self.ended {
            return;
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
            Fault::Peer { .. } | Fault::Aborted { .. } | Fault::Master { .. } | Fault::Finalized => return,
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

fn notice(event: ControlEvent) -> Option<Notice> {
    Some(match event {
        ControlEvent::PeerDown { rank, cause, .. } => Notice::Fault(Fault::Peer { rank, cause }),
        ControlEvent::PeerFinished { rank } => Notice::Finished { rank },
        ControlEvent::Abort { rank, code, reason } => Notice::Fault(Fault::Aborted { rank, code, reason }),
        ControlEvent::Left { rank, left } => Notice::LastCalls { rank, calls: LastCalls::from_bytes(&left) },
        ControlEvent::Fault { fault, .. } => Notice::Fault(heard(fault)),
        ControlEvent::Story { text } => Notice::Story(text),
        ControlEvent::MasterLost { cause } => Notice::Fault(Fault::Master { cause }),
        // Ranks of a world have their messages.
        ControlEvent::Told { .. } => return None,
    })
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

/// Settings in code. Whatever is not set here comes from the environment and the file that `RINGWORLD_CONFIG` names.
///
/// ```no_run
/// // As the environment would say it: MASTER_NODE=n0 MASTER_PORT=29500 WORLD_SIZE=4 RANK=2
/// let world = ringworld::World::builder().master_node("n0").master_port(29500).world_size(4).rank(2).build()?;
/// assert_eq!((world.rank(), world.size()), (2, 4));
/// # Ok::<(), ringworld::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    overrides: Vec<(String, String)>,
    ignores_environment: bool,
}

impl Builder {
    /// Nothing but what is set here counts: no variable of the environment, of schedulers or of launchers, and no file
    /// but one that is set as `config`. For programs that bring their ranks together by means of their own, and for
    /// tests ([`testing::ranks`](crate::testing::ranks)).
    ///
    /// ```
    /// // Whatever a scheduler says around it.
    /// let world = ringworld::World::builder().ignore_environment().build()?;
    /// assert_eq!(world.size(), 1);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn ignore_environment(mut self) -> Self {
        self.ignores_environment = true;
        self
    }

    /// Sets one key of `docs/settings.md`, such as `master_node` or `if_exclude`.
    #[must_use]
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.overrides.push((key.into(), value.into()));
        self
    }

    /// The address of the rendezvous: a host name or an IP address.
    #[must_use]
    #[doc(alias = "MASTER_ADDR")]
    pub fn master_node(self, node: impl Into<String>) -> Self {
        self.set("master_node", node)
    }

    /// The port of the rendezvous.
    #[must_use]
    pub fn master_port(self, port: u16) -> Self {
        self.set("master_port", port.to_string())
    }

    /// How many ranks the world has.
    #[must_use]
    pub fn world_size(self, size: usize) -> Self {
        self.set("world_size", size.to_string())
    }

    /// This process's rank; without, the master gives it one.
    #[must_use]
    pub fn rank(self, rank: usize) -> Self {
        self.set("rank", rank.to_string())
    }

    pub(crate) fn overrides(&self) -> &[(String, String)] {
        &self.overrides
    }

    /// Brings the world together.
    ///
    /// # Errors
    ///
    /// As for [`World::from_env`].
    pub fn build(self) -> Result<World> {
        let settings = if self.ignores_environment {
            Settings::load(&self.overrides, &BTreeMap::new())
        } else {
            Settings::from_env_with(&self.overrides)
        };
        let settings = settings.map_err(|error| Error::Bootstrap(error.to_string()))?;
        logging::choose(settings.log.as_deref()).map_err(Error::Bootstrap)?;
        panics::remember();
        // Under a launcher even a single rank joins: the launcher waits for it, and it watches the launcher.
        let launched = settings.launcher || settings.parent_pid.is_some();
        // The launcher has said so for all.
        for warning in settings.warnings().iter().filter(|_| !launched) {
            tracing::warn!("{warning}");
        }
        let alone = settings.size().unwrap_or(1) == 1 && !launched;
        log::heard(|| if alone { World::alone(&settings) } else { World::join(&settings) })
    }
}
