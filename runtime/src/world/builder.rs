//! How a program comes to its world: by the environment, or by settings in code.

use std::collections::BTreeMap;

use ringworld_bootstrap::{Joining, Settings};
use ringworld_transport::log;

use super::seat::Seat;
use super::{Unformed, World, bootstrap, elastic, logging, trace};
use crate::{Error, Result};
use ringworld_engine::panics;

impl World {
    /// Brings the world together as the environment says: `MASTER_NODE`, `MASTER_PORT`, `NUM_NODES` and
    /// the rest of `docs/settings.md`. With nothing set, a world of this one process.
    ///
    /// When it has been left, the process can form another. Under `ringworld run` it cannot, neither then nor while the
    /// first one lives: the launcher serves one world, in which the process is one rank.
    ///
    /// # Errors
    ///
    /// [`Error::Bootstrap`] when a setting is wrong or contradicts another, no interface is left, the
    /// others do not come in time, or this process has joined the world of `ringworld run` before. The message says
    /// what to change.
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
        if settings.elastic {
            return elastic::join(settings);
        }
        let mut seat = Seat::take(settings)?;
        // First: nobody is to wait for a rank that cannot write what it is to write.
        let room = trace::room(settings)?;
        let world = Self::form(settings, Joining::begin(settings).map_err(bootstrap)?, None, room);
        let mut world = world.map_err(Unformed::error)?;
        if let Some(seat) = &mut seat {
            seat.joined(world.rank());
        }
        world.seat = seat;
        Ok(world)
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
        // One that others may join later meets somewhere, however small it begins.
        let meets = launched || (settings.elastic && settings.master_node.is_some());
        // The launcher has said so for all.
        for warning in settings.warnings().iter().filter(|_| !launched) {
            tracing::warn!("{warning}");
        }
        let alone = settings.size().unwrap_or(1) == 1 && !meets;
        log::heard(|| if alone { World::alone(&settings) } else { World::join(&settings) })
    }
}
