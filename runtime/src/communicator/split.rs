//! New communicators out of old ones: split, duplicate, create from a group, and how they compare.
//!
//! All of them are one exchange, in which every rank learns every rank's arguments: nobody is left waiting
//! for a rank that gave other ones, and all see the same error. Neighbours: `context_id` says how the new
//! communicators get numbers that no two of them share, `group` is the algebra, `cartesian` builds grids.

use std::hash::Hasher as _;
use std::panic::Location;
use std::sync::Arc;

use ringworld_collectives::Placement;

use super::Communicator;
use super::context_id::{Allocation, number, twin_of};
use super::group::{Comparison, Group, invalid};
use crate::{Error, Result};
use ringworld_engine::signature::{Call, describe_told_site, site};

/// The calls that make communicators, by their numbers in the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Making {
    Split = 1,
    SplitByHost = 2,
    Duplicate = 3,
    Create = 4,
    Grid = 5,
    SubGrid = 6,
}

impl Making {
    const ALL: [Self; 6] =
        [Self::Split, Self::SplitByHost, Self::Duplicate, Self::Create, Self::Grid, Self::SubGrid];

    /// As the signature of its messages names it.
    fn in_signature(self) -> Call {
        match self {
            Self::Split => Call::Split,
            Self::SplitByHost => Call::SplitByHost,
            Self::Duplicate => Call::Duplicate,
            Self::Create => Call::Create,
            Self::Grid => Call::Grid,
            Self::SubGrid => Call::SubGrid,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.in_signature().name()
    }

    /// What all ranks must give alike.
    fn alike(self) -> &'static str {
        match self {
            Self::Split | Self::SplitByHost | Self::Duplicate => "arguments",
            Self::Create => "group",
            Self::Grid => "dimensions and periods",
            Self::SubGrid => "dimensions to keep",
        }
    }
}

/// A rank's place in what it joins.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) color: usize,
    pub(crate) key: usize,
}

/// What each rank tells the others.
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C)]
struct Offer {
    /// The call in the highest byte, below it a digest of what all must give alike.
    call: u64,
    color: u64,
    key: u64,
    /// See `context_id`. [`NONE`] on a rank that joins nothing.
    local_id: u64,
    /// Where the call stands; see the engine's `signature`.
    site: [u8; 8],
}

const NONE: u64 = u64::MAX;

/// How errors call what makes communicators of groups.
const AMONG: &str = "create_among";

/// A communicator that is being made by [`Communicator::offer_among`]: it has this rank's word, and wants everybody's.
/// Dropped before the others make theirs, it makes nothing, and nothing is lost; once they have all words, this rank
/// must make it, too.
#[derive(Debug)]
#[must_use]
pub struct Offered {
    of: Communicator,
    group: Group,
    /// This one's in the group.
    rank: usize,
    local_id: u64,
    /// Whether a communicator has been named by the local id.
    named: bool,
}

impl Offered {
    /// This rank's, for all the others.
    #[must_use]
    pub fn word(&self) -> [u8; 8] {
        self.local_id.to_le_bytes()
    }

    /// The communicator, by the words of all in the order of the group.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`] when they are of another number; [`Error::System`] as for [`Communicator::split`].
    pub fn made(mut self, words: &[[u8; 8]]) -> Result<Communicator> {
        let (shared, group) = (&self.of.inner.shared, &self.group);
        if words.len() != group.len() {
            let detail = format!("the exchange gave {} words for a group of {}", words.len(), group.len());
            return Err(Error::InvalidCount { operation: AMONG.into(), detail });
        }
        let me = group.ranks()[self.rank];
        let offers = words.iter().map(|word| u64::from_le_bytes(*word)).zip(group.ranks().iter().copied());
        let (local_id, owner) = offers.min().unwrap_or((self.local_id, me));
        self.named = owner == me;
        let number = self.of.numbered(AMONG, local_id, owner)?;
        let hosts = group.ranks().iter().map(|rank| shared.host_ids[*rank]);
        let options = self.of.inner.options.placed(Placement::new(hosts));
        let same = group.ranks() == self.of.group().ranks();
        let ranks = if same { self.of.inner.group.clone() } else { Some(Arc::from(group.ranks())) };
        Ok(Communicator::new(Arc::clone(shared), number, self.rank, ranks, group.len(), options))
    }
}

impl Drop for Offered {
    fn drop(&mut self) {
        if !self.named {
            self.of.inner.shared.context_ids.give_back(self.local_id);
        }
    }
}

/// # Making communicators
impl Communicator {
    /// Splits this communicator: ranks that give the same `color` form a new one together, ordered by
    /// `key` and then by rank here. `None` joins nothing, and gets `None`. Every rank must call it.
    ///
    /// Threads may split *different* communicators at the same time, in any order. On one communicator
    /// this is a collective like any other: all ranks call its collectives in the same order.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::all_gather`]; [`Error::Mismatch`] when a rank makes its communicator by
    /// another call; [`Error::System`] when the numbers of communicators are used up, of which a rank has 70
    /// million million, divided by the size of the world.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let row = world.split(Some(world.rank() / 4), world.rank())?;
    /// assert_eq!(row.map(|row| row.size()), Some(1));
    /// assert!(world.split(None, 0)?.is_none());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Comm_split", "Comm_split", "new_group", "split_by_color"))]
    pub fn split(&self, color: Option<usize>, key: usize) -> Result<Option<Communicator>> {
        self.make(Making::Split, color.map(|color| Part { color, key }), 0)
    }

    /// The ranks of this communicator that run on this rank's host, in the order they have here. Every
    /// rank must call it.
    ///
    /// The rank in the result is this process's number among those of its host *in this communicator*,
    /// where [`Communicator::local_rank`] is always that in the world.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::split`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let local = world.split_by_host()?;
    /// assert_eq!((local.rank(), local.size()), (world.local_rank(), world.local_size()));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Comm_split_type", "Split_type", "new_subgroups"))]
    pub fn split_by_host(&self) -> Result<Communicator> {
        let host = |rank: usize| self.inner.shared.host_ids.get(self.world_rank(rank));
        // Named by its first rank, which all ranks find alike.
        let here = host(self.rank());
        let color = (0..self.size()).find(|rank| host(*rank) == here).unwrap_or(self.rank());
        self.make_with_all(Making::SplitByHost, Part { color, key: self.rank() }, 0)
    }

    /// A communicator with the same ranks and a space of messages of its own. Every rank must call it.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::split`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mine = world.duplicate()?;
    /// assert_eq!((mine.rank(), mine.size()), (world.rank(), world.size()));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Comm_dup", "Comm_dup", "dup"))]
    pub fn duplicate(&self) -> Result<Communicator> {
        self.make_with_all(Making::Duplicate, Part { color: 0, key: self.rank() }, 0)
    }

    /// A communicator of the ranks of `group`, in its order, made by these ranks alone: nobody else of this
    /// communicator need call it, nor know. How they exchange a word each is the caller's business: `exchange` is
    /// given this rank's, and returns everybody's in the order of the group, for example by messages with tags that
    /// nothing else uses. All members must give the same group.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGroup`] when the group has ranks that the world has not, or is without this one; what `exchange`
    /// fails with; [`Error::InvalidCount`] when it returns another number of words; and [`Error::System`] as for
    /// [`Communicator::split`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let group = world.group().include([0])?;
    /// let made = world.create_among(&group, |word| Ok::<_, ringworld::Error>(vec![word]))?;
    /// assert_eq!(made.size(), 1);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Comm_create_group", "Create_group", "MPI_Intercomm_create"))]
    pub fn create_among<E: From<Error>>(
        &self,
        group: &Group,
        exchange: impl FnOnce([u8; 8]) -> Result<Vec<[u8; 8]>, E>,
    ) -> Result<Communicator, E> {
        let offered = self.offer_among(group)?;
        let words = exchange(offered.word())?;
        Ok(offered.made(&words)?)
    }

    /// The first half of [`Communicator::create_among`], for callers whose exchange takes its time: this rank's word is
    /// there at once, and the communicator can be made when everybody's has come.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGroup`] when the group has ranks that the world has not, or is without this one.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let offered = world.offer_among(&world.group())?;
    /// let pending = world.start_all_gather(vec![offered.word()], vec![[0u8; 8]; world.size()])?;
    /// let (_, words) = pending.wait()?;
    /// assert_eq!(offered.made(&words)?.size(), world.size());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Comm_idup")]
    pub fn offer_among(&self, group: &Group) -> Result<Offered> {
        let (me, world) = (self.world_rank(self.rank()), self.engine().hosts().len());
        if let Some(rank) = group.ranks().iter().find(|rank| **rank >= world) {
            let detail = format!("the group has rank {rank} of the world, which has {world} ranks");
            return Err(invalid(AMONG, detail));
        }
        let Some(rank) = group.rank_of(me) else {
            let detail = format!("rank {me} of the world calls it and is not in the group; only members may");
            return Err(invalid(AMONG, detail));
        };
        self.forget_dropped();
        let allocated = self.inner.shared.context_ids.allocate();
        let local_id = allocated.local_id();
        allocated.keep();
        Ok(Offered { of: self.clone(), group: group.clone(), rank, local_id, named: false })
    }

    /// The same ranks with a space of messages and collectives of its own, without any exchange: for a library that has
    /// something to say beside what its user says on this communicator. Every call gives the same twin, and the twin's
    /// twin is this communicator.
    ///
    /// # Errors
    ///
    /// [`Error::System`] when more communicators have been made than have twins, of which there are 35 million million.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u8; 1], 0, 7)?;
    /// let twin = world.twin()?;
    /// twin.start_send(vec![1u8], 0, 7)?.wait()?;
    /// assert!(!pending.is_done(), "it is not a message of this communicator");
    /// # drop(pending);
    /// # twin.recv(&mut [0u8], 0, 7)?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn twin(&self) -> Result<Communicator> {
        let inner = &self.inner;
        let number = twin_of(inner.number).ok_or_else(|| Error::System {
            operation: "twin".into(),
            cause: format!(
                "there is none of communicator {}, for so many have been made; keep communicators instead of making \
                 them again and again",
                inner.number
            ),
        })?;
        let (group, options) = (inner.group.clone(), Arc::clone(&inner.options));
        Ok(Communicator::new(Arc::clone(&inner.shared), number, inner.rank, group, inner.size, options))
    }

    /// The ranks of this communicator as a group, in the same order. Local.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// assert_eq!(world.group().ranks(), [0]);
    /// ```
    #[must_use]
    #[doc(alias("MPI_Comm_group", "Get_group"))]
    pub fn group(&self) -> Group {
        Group::unchecked((0..self.size()).map(|rank| self.world_rank(rank)).collect())
    }

    /// A communicator of the ranks of `group`, in its order. Every rank *of this communicator* must call
    /// it, with the same group; those that are not in the group get `None`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGroup`] when the group has ranks that this communicator has not;
    /// [`Error::Mismatch`], on every rank, when ranks give different groups; and those of
    /// [`Communicator::split`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let everybody = world.group();
    /// let first = world.create(&everybody.include([0])?)?;
    /// assert_eq!(first.map(|first| first.size()), Some(1));
    /// assert!(world.create(&everybody.exclude([0])?)?.is_none());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias(
        "MPI_Comm_create",
        "MPI_Comm_create_group",
        "Create_group",
        "new_group",
        "split_by_subgroup_collective",
    ))]
    pub fn create(&self, group: &Group) -> Result<Option<Communicator>> {
        let me = group.rank_of(self.world_rank(self.rank()));
        let part = me.map(|key| Part { color: 0, key });
        let digest = digest(group.ranks().iter().map(|rank| *rank as u64));
        // A rank whose group cannot be takes part nevertheless: the others must not wait for it.
        let made = self.make(Making::Create, part, digest);
        match group.ranks().iter().find(|rank| self.rank_here(**rank).is_none()) {
            None => made,
            Some(rank) => Err(invalid(
                Making::Create.name(),
                format!(
                    "the group has rank {rank} of the world, which is not among the {} ranks of this \
                     communicator; make the group from its group()",
                    self.size()
                ),
            )),
        }
    }

    /// How this communicator relates to `other`. Local.
    ///
    /// ```
    /// use ringworld::Comparison;
    /// # let world = ringworld::testing::alone();
    /// assert_eq!(world.compare(&world.clone()), Comparison::Identical);
    /// assert_eq!(world.compare(&world.duplicate()?), Comparison::Congruent);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "MPI_Comm_compare")]
    pub fn compare(&self, other: &Communicator) -> Comparison {
        if !Arc::ptr_eq(&self.inner.shared, &other.inner.shared) {
            // Ranks of two worlds are never the same.
            return Comparison::Different;
        }
        match self.group().compare(&other.group()) {
            Comparison::Identical if self.inner.number != other.inner.number => Comparison::Congruent,
            comparison => comparison,
        }
    }

    /// This communicator's rank of the process with rank `world` in the world.
    fn rank_here(&self, world: usize) -> Option<usize> {
        match &self.inner.group {
            None => (world < self.size()).then_some(world),
            Some(_) => self.inner.by_world.get(&world).copied(),
        }
    }

    /// Like [`Communicator::make`], for calls in which every rank has a part.
    #[track_caller]
    pub(crate) fn make_with_all(&self, making: Making, part: Part, digest: u64) -> Result<Communicator> {
        // A rank that gives a part gets one.
        Ok(self.make(making, Some(part), digest)?.unwrap_or_else(|| self.clone()))
    }

    /// Makes communicators of the ranks that give the same color. `digest` stands for what all ranks must
    /// give alike.
    #[track_caller]
    pub(crate) fn make(
        &self,
        making: Making,
        part: Option<Part>,
        digest: u64,
    ) -> Result<Option<Communicator>> {
        let shared = &self.inner.shared;
        self.forget_dropped();
        let allocated = part.map(|_| shared.context_ids.allocate());
        let mine = Offer {
            call: u64::from(making as u8) << 56 | digest >> 8,
            color: part.map_or(0, |part| part.color as u64),
            key: part.map_or(0, |part| part.key as u64),
            local_id: allocated.as_ref().map_or(NONE, Allocation::local_id),
            site: site(Location::caller()),
        };
        let mut offers = vec![mine; self.size()];
        self.within(making.in_signature(), 0).all_gather(&[mine], &mut offers)?;
        self.agree(making, &offers)?;
        let Some(allocated) = allocated else { return Ok(None) };

        let joins = |offer: &Offer| offer.local_id != NONE && offer.color == mine.color;
        let mut members: Vec<(u64, usize)> =
            offers.iter().zip(0..).filter(|(offer, _)| joins(offer)).map(|(o, rank)| (o.key, rank)).collect();
        members.sort_unstable();
        // See `context_id` for why this is nobody else's. This rank's own offer is among them.
        let named_by = members.iter().map(|(_, rank)| (offers[*rank].local_id, self.world_rank(*rank))).min();
        let (local_id, owner) = named_by.unwrap_or((mine.local_id, self.world_rank(self.rank())));
        if owner == self.world_rank(self.rank()) {
            allocated.keep();
        }
        let number = self.numbered(making.name(), local_id, owner)?;
        let rank = members.iter().position(|(_, rank)| *rank == self.rank()).unwrap_or(0);
        let size = members.len();
        let hosts = members.iter().map(|(_, rank)| shared.host_ids[self.world_rank(*rank)]);
        let options = self.inner.options.placed(Placement::new(hosts));
        let group = self.subgroup(&members);
        Ok(Some(Communicator::new(Arc::clone(shared), number, rank, group, size, options)))
    }

    fn numbered(&self, name: &str, local_id: u64, owner: usize) -> Result<u64> {
        let size = self.engine().hosts().len();
        number(local_id, owner, size).ok_or_else(|| Error::System {
            operation: name.into(),
            cause: format!(
                "the numbers of communicators that this rank can name in a world of {size} are used up, after \
                 {local_id}; keep communicators instead of making them again and again"
            ),
        })
    }

    /// Lets the engine forget the communicators that were dropped since the last one was made: so what it
    /// remembers is bounded by those alive, however many there were. Others may still be in one of them, and this may
    /// come before or after the exchange: what they do there from now on is not shown to this rank but sent, and so is
    /// found although it is forgotten.
    fn forget_dropped(&self) {
        let context_ids = &self.inner.shared.context_ids;
        let mut dropped = context_ids.take_dropped();
        if !dropped.is_empty() {
            let mut core = self.engine().lock();
            dropped.retain(|number| !core.forget(number * 2 + 1));
            drop(core);
            context_ids.dropped(dropped);
        }
    }

    /// The world ranks of `members`, shared with this communicator when they are the same.
    fn subgroup(&self, members: &[(u64, usize)]) -> Option<Arc<[usize]>> {
        if members.len() == self.size() && members.iter().zip(0..).all(|((_, rank), place)| *rank == place) {
            return self.inner.group.clone();
        }
        Some(members.iter().map(|(_, rank)| self.world_rank(*rank)).collect())
    }

    /// All ranks must have made the same call, and given alike what must be alike. Every rank compares the
    /// same offers, so all come to the same end.
    #[track_caller]
    fn agree(&self, making: Making, offers: &[Offer]) -> Result<()> {
        let Some(other) = offers.iter().position(|offer| offer.call != offers[0].call) else {
            return Ok(());
        };
        let name = |call: u64| {
            let number = (call >> 56) as u8;
            Making::ALL.into_iter().find(|m| *m as u8 == number).map_or("an unknown call", Making::name)
        };
        let (first, second) = (name(offers[0].call), name(offers[other].call));
        let caller = Location::caller();
        let described = |rank: usize, call: &str| {
            let at = describe_told_site(offers[rank].site, caller);
            format!("rank {rank} on {} called {call} at {at}", self.host(rank))
        };
        let remedy = if first == second {
            let what = making.alike();
            format!("what they gave as {what} differs, and every rank of the communicator must give the same")
        } else {
            "every rank of the communicator must make the same call".into()
        };
        let detail = format!("{}, but {}; {remedy}", described(0, first), described(other, second));
        Err(Error::Mismatch {
            operation: format!("{} at {}:{}", making.name(), caller.file(), caller.line()),
            detail,
        })
    }
}

/// A digest of a list that tells lists apart unless someone tries to fool it (FNV-1a).
pub(crate) fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    for word in words {
        hasher.write(&word.to_le_bytes());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn communicators_that_were_dropped_leave_nothing_behind() {
        let world = crate::testing::alone();
        for _ in 0..100 {
            let made = world.duplicate().unwrap();
            made.barrier().unwrap();
            assert!(world.engine().lock().remembered() <= 3, "the world, this one and the one before");
        }
    }

    #[test]
    fn what_was_offered_and_not_made_is_offered_again() {
        let world = crate::testing::alone();
        let first = world.offer_among(&world.group()).unwrap();
        let word = first.word();
        assert!(first.made(&[]).is_err(), "words are missing");
        let again = world.offer_among(&world.group()).unwrap();
        assert_eq!(again.word(), word);
        let made = again.made(&[word]).unwrap();
        assert_ne!(world.offer_among(&world.group()).unwrap().word(), word);
        made.barrier().unwrap();
    }
}
