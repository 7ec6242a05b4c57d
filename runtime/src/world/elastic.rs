//! Generations: how a world goes on after a failure, and how others come and go.
//!
//! Which processes make the next generation is agreed in `bootstrap` (and decided in `membership`). Here the old world
//! ends and the new one is put together, by the same code as any world: with connections, memory and a job number of
//! its own, so nothing of an older generation can reach it.

use std::sync::Arc;

use ringworld_bootstrap::{Elastic, Error as Trouble, Joining, Lost, Onward, Settings, Table};
use ringworld_engine::Fault;

use super::part::Part;
use super::trace;
use super::{Link, Unformed, World, bootstrap};
use crate::{Error, Result};

/// The first generation at the rendezvous, or, where the world runs already, the next one that admits this process.
pub(super) fn join(settings: &Settings) -> Result<World> {
    let part = |node, generation| Part {
        node: Arc::new(node),
        settings: Arc::new(settings.clone()),
        generation,
        previous: None,
    };
    let room = trace::room(settings)?;
    let running = match Joining::begin(settings) {
        Ok(joining) => {
            let node =
                Elastic::open(settings, joining.local_addresses(), joining.job()).map_err(bootstrap)?;
            match World::form(settings, joining, Some(part(node, 0)), room) {
                Err(Unformed::Runs(running)) => running,
                formed => return formed.map_err(Unformed::error),
            }
        }
        Err(Trouble::Running { running }) => running,
        Err(other) => return Err(bootstrap(other)),
    };
    let addresses = Joining::own_addresses(settings).map_err(bootstrap)?;
    let (node, table) = Elastic::knock(settings, &addresses, &running).map_err(bootstrap)?;
    part(node, 0).enter("joining the world", table)
}

impl Part {
    /// The next generation, or `None` for a process that leaves.
    fn go_on(self, operation: &str, leaving: bool, lost: Option<Lost>) -> Result<Option<World>> {
        match self.node.go_on(leaving, lost) {
            Ok(Onward::Into(table)) => self.enter(operation, table).map(Some),
            Ok(Onward::Left) => Ok(None),
            Err(failure) => Err(no_generation(operation, &failure)),
        }
    }

    /// Into a generation that has been decided, or the first after it that forms.
    fn enter(self, operation: &str, mut table: Table) -> Result<World> {
        loop {
            let part = Self { generation: table.generation, ..self.clone() };
            let formed = Joining::enter(&self.settings, &self.node, &table).map_err(bootstrap);
            let formed = formed.and_then(|joining| {
                World::form(&self.settings, joining, Some(part), trace::room_if_any(&self.settings))
                    .map_err(Unformed::error)
            });
            match formed {
                Ok(world) => return Ok(world),
                // Somebody whom it needs has died since.
                Err(error) => {
                    tracing::info!("generation {} did not form: {error}", table.generation);
                    self.node.call_off();
                }
            }
            table = match self.node.go_on(false, Some(Lost::Forming)) {
                Ok(Onward::Into(table)) => table,
                Ok(Onward::Left) => return Err(no_generation(operation, &"this rank has left the world")),
                Err(failure) => return Err(no_generation(operation, &failure)),
            };
        }
    }
}

fn no_generation(operation: &str, cause: &dyn std::fmt::Display) -> Error {
    Error::NoGeneration { operation: operation.into(), cause: cause.to_string() }
}

impl World {
    /// The next generation of an elastic world, without those that have failed and with those that wait at the door.
    ///
    /// For an error that [is recoverable](Error::is_recoverable). All survivors call it, each as soon as it has such an
    /// error; it returns when they have agreed on who goes on and the new world stands. Survivors keep their order,
    /// without gaps, and newcomers have the ranks after them. All that was under way in the old generation ends, and
    /// its communicators return [`Error::Superseded`] for ever; nothing that was sent there can reach the new one.
    ///
    /// Who has not called it when half of `recover_timeout` is over is left behind.
    ///
    /// # Errors
    ///
    /// [`Error::NoGeneration`] when this world is not elastic (`RINGWORLD_ELASTIC`); when this rank can reach too few
    /// of the others to know that they do not go on without it (it takes more than half of the generation, or half with
    /// its rank 0); when fewer than `min_ranks` are there after `recover_timeout`; and when the others have gone on
    /// without this rank, as after its link to another has failed in two generations, one after the other.
    ///
    /// ```no_run
    /// use ringworld::{Op, World};
    ///
    /// let mut world = World::from_env()?;
    /// let mut step = 0;
    /// while step < 1000 {
    ///     let mut sum = [1.0f32];
    ///     match world.all_reduce(&mut sum, Op::Sum) {
    ///         Ok(()) => step += 1,
    ///         Err(error) if error.is_recoverable() => {
    ///             world = world.recover()?;
    ///             // Newcomers begin where the others are.
    ///             world.broadcast(std::slice::from_mut(&mut step), 0)?;
    ///         }
    ///         Err(error) => return Err(error),
    ///     }
    /// }
    /// world.finish()
    /// # ; Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPIX_Comm_shrink", "MPIX_Comm_revoke", "ncclCommShrink", "elastic"))]
    pub fn recover(mut self) -> Result<Self> {
        self.succeed("recover", false, true)?.ok_or_else(|| no_generation("recover", &"this rank has left"))
    }

    /// The next generation of an elastic world by agreement: with those that wait at the door, without those that call
    /// [`leave`](Self::leave). Every rank calls one of the two.
    ///
    /// As for the end of a world, everything that was sent is delivered first. Where a rank fails meanwhile it does
    /// what [`recover`](Self::recover) does.
    ///
    /// # Errors
    ///
    /// As for [`recover`](Self::recover).
    ///
    /// ```no_run
    /// # let mut world = ringworld::World::from_env()?;
    /// // Only the rank that leads knows at once who has come; all must decide alike.
    /// let mut waiting = [world.waiting()];
    /// world.broadcast(&mut waiting, 0)?;
    /// if waiting[0] > 0 {
    ///     world = world.regroup()?;
    /// }
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn regroup(mut self) -> Result<Self> {
        self.succeed("regroup", false, false)?.ok_or_else(|| no_generation("regroup", &"this rank has left"))
    }

    /// Leaves an elastic world that goes on without this rank, while the others call [`regroup`](Self::regroup); when
    /// all leave, it ends. Everything that was sent is delivered first.
    ///
    /// # Errors
    ///
    /// As for [`recover`](Self::recover).
    ///
    /// ```no_run
    /// let world = ringworld::World::from_env()?;
    /// match world.rank() == world.size() - 1 {
    ///     true => world.leave()?,
    ///     false => world.regroup()?.barrier()?,
    /// }
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn leave(mut self) -> Result<()> {
        self.succeed("leave", true, false).map(drop)
    }

    /// The number of this world's generation; 0 is the first, and the only one of a world that is not elastic.
    ///
    /// ```
    /// let world = ringworld::World::builder().world_size(1).build()?;
    /// assert_eq!(world.generation(), 0);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.part.as_ref().map_or(0, |part| part.generation)
    }

    /// The rank that this process had in the generation before; `None` in the first one, and for a newcomer.
    ///
    /// ```
    /// let world = ringworld::World::builder().world_size(1).build()?;
    /// assert_eq!(world.previous_rank(), None);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn previous_rank(&self) -> Option<usize> {
        self.part.as_ref().and_then(|part| part.previous)
    }

    /// How many processes wait to be let in, as far as this rank has heard; the next [`regroup`](Self::regroup) or
    /// [`recover`](Self::recover) admits them. Who waits because the world has `max_ranks` already does not count.
    /// Ranks may hear of one at different times.
    ///
    /// ```
    /// let world = ringworld::World::builder().world_size(1).build()?;
    /// assert_eq!(world.waiting(), 0);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.part.as_ref().map_or(0, |part| part.node.waiting())
    }

    /// Ends this generation and goes on to the next; `failed`: nothing more can be delivered.
    fn succeed(&mut self, operation: &str, leaving: bool, failed: bool) -> Result<Option<Self>> {
        let Some(part) = self.part.take() else {
            return Err(no_generation(
                operation,
                &"this world is not elastic; set RINGWORLD_ELASTIC=1 for all its processes",
            ));
        };
        let rank = self.communicator.rank();
        let generation = part.generation;
        let engine = Arc::clone(self.communicator.engine());
        let fault = if failed { engine.lock().fault().cloned() } else { engine.finish() };
        let lost = fault.as_ref().and_then(lost);
        engine.lock().supersede(generation);
        self.ended = true;
        self.tell_account();
        let link = self.link.take();
        let in_order = !failed && fault.is_none();
        let part = Part { previous: Some(rank), ..part };
        let next = part.go_on(operation, leaving, lost);
        // What the old generation still has to say nobody waits for; to leave it before all had agreed would have
        // made others believe that this rank is gone.
        if let Some(link) = link {
            end(link, in_order);
        }
        next
    }
}

/// To whom this process has lost its link, which ended the generation for it. That one may live, and be in the next.
fn lost(fault: &Fault) -> Option<Lost> {
    match fault {
        Fault::Peer { rank, link, .. } => link.then_some(Lost::Rank(*rank)),
        Fault::Master { .. } => Some(Lost::Server),
        _ => None,
    }
}

/// Leaves an old generation, in a thread of its own: whoever serves it may stay for a while.
fn end(link: Arc<Link>, in_order: bool) {
    let leave = move || match in_order {
        true => link.session.finish(),
        false => link.session.leave(),
    };
    let thread = std::thread::Builder::new().name("ringworld-leaving".into());
    if let Err(error) = thread.spawn(leave) {
        // Its sessions end with the process, at the latest.
        tracing::warn!("an old generation is not left in good order: {error}");
    }
}
