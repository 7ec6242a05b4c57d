//! The schedules of many ranks, packed: 32 bytes per step, and each end of a message knows the other.
//!
//! Invariant: steps of one actor lie together, in program order, so that the number of a step also orders the
//! actors. An *actor* is a rank that is simulated; when one rank stands for all ([`crate::symmetry`]), it is
//! the only actor and its messages go to itself. Neighbours: [`crate::engine`] runs a net.

use ringworld_collectives::{Action, Schedule};

use crate::{Error, Relabel};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Send,
    Recv,
    Reduce,
    Copy,
}

/// One step, and how far it has come.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Bytes sent, received, or written.
    pub(crate) bytes: u64,
    pub(crate) actor: u32,
    /// The peer's rank until the ends are linked; then the number of the step at the other end.
    pub(crate) partner: u32,
    tag: u32,
    /// How many steps it still waits for.
    pub(crate) waits: u32,
    /// Where the steps that wait for it begin in `targets`.
    pub(crate) first: u32,
    pub(crate) kind: Kind,
    /// What the engine knows of a receive, as bits.
    pub(crate) state: u8,
}

/// Everything that is simulated together.
#[derive(Debug, Default)]
pub(crate) struct Net {
    pub(crate) steps: Vec<Step>,
    pub(crate) targets: Vec<u32>,
    /// The first step of each actor, and one past the last step of all.
    pub(crate) bases: Vec<u32>,
    /// Of each receive: actor, source, tag, step.
    recvs: Vec<[u32; 4]>,
}

/// Numbers of ranks and steps are 32 bits wide here; whoever has more of them has no memory for them either.
fn narrow(number: usize) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| Error::TooManySteps)
}

impl Net {
    /// All ranks, each of them an actor, from their schedules in rank order.
    pub(crate) fn all(
        schedules: impl IntoIterator<Item = Result<Schedule, Error>>,
        element: usize,
    ) -> Result<Self, Error> {
        let mut net = Self { bases: vec![0], ..Self::default() };
        for schedule in schedules {
            net.push(&schedule?, element)?;
        }
        net.link(|from, to| (to, from))?;
        Ok(net)
    }

    /// One rank that stands for all: what it sends to the images of itself, it receives from images.
    pub(crate) fn image(schedule: &Schedule, element: usize, relabel: Relabel) -> Result<Self, Error> {
        let mut net = Self { bases: vec![0], ..Self::default() };
        net.push(schedule, element)?;
        let (rank, size) = (narrow(schedule.rank())?, narrow(schedule.size())?);
        net.link(|_, to| (0, relabel.source(rank, to, size)))?;
        Ok(net)
    }

    /// The number of actors.
    pub(crate) fn actors(&self) -> usize {
        self.bases.len().saturating_sub(1)
    }

    /// The steps that wait for `step`.
    pub(crate) fn dependents(&self, step: u32) -> std::ops::Range<usize> {
        let next = self.steps.get(step as usize + 1).map_or(self.targets.len(), |next| next.first as usize);
        self.steps[step as usize].first as usize..next
    }

    fn push(&mut self, schedule: &Schedule, element: usize) -> Result<(), Error> {
        let actor = narrow(self.actors())?;
        let base = narrow(self.steps.len())?;
        let end = narrow(self.steps.len() + schedule.len())?;
        for (index, action) in schedule.actions().iter().enumerate() {
            let (kind, len, peer, tag) = match *action {
                Action::Send { to, from, tag } => (Kind::Send, from.len, to, tag),
                Action::Recv { from, into, tag } => (Kind::Recv, into.len, from, tag),
                Action::Reduce { into, .. } => (Kind::Reduce, into.len, 0, 0),
                Action::Copy { into, .. } => (Kind::Copy, into.len, 0, 0),
            };
            let partner = narrow(peer)?;
            if kind == Kind::Recv {
                self.recvs.push([actor, partner, tag, narrow(self.steps.len())?]);
            }
            self.steps.push(Step {
                bytes: len as u64 * element as u64,
                tag,
                actor,
                partner,
                waits: narrow(schedule.dependencies(index))?,
                first: narrow(self.targets.len())?,
                kind,
                state: 0,
            });
            self.targets.extend(schedule.dependents(index).iter().map(|later| base + later));
        }
        self.bases.push(end);
        Ok(())
    }

    /// Finds both ends of every message; `key` says, for sender and receiver, which actor receives and whom it
    /// names as the source.
    fn link(&mut self, key: impl Fn(u32, u32) -> (u32, u32)) -> Result<(), Error> {
        let mut recvs = std::mem::take(&mut self.recvs);
        recvs.sort_unstable();
        let mut linked = 0;
        for index in 0..self.steps.len() {
            let Step { kind: Kind::Send, actor, partner, tag, bytes, .. } = self.steps[index] else {
                continue;
            };
            let (receiver, source) = key(actor, partner);
            let wanted = [receiver, source, tag];
            let unmatched = || Error::Unmatched { from: actor as usize, to: partner as usize };
            let found = recvs.binary_search_by(|recv| recv[..3].cmp(&wanted)).map_err(|_| unmatched())?;
            let other = recvs[found][3];
            if self.steps[other as usize].bytes != bytes {
                return Err(unmatched());
            }
            self.steps[index].partner = other;
            self.steps[other as usize].partner = narrow(index)?;
            linked += 1;
        }
        match recvs.first() {
            Some(&[to, from, ..]) if linked != recvs.len() => {
                Err(Error::Unmatched { from: from as usize, to: to as usize })
            }
            _ => Ok(()),
        }
    }
}
