//! Groups: ordered sets of ranks, and their algebra.
//!
//! Pure: no communicator is needed and nothing is sent. The order rules are those of MPI 4.1, section 7.3.2.
//! Invariant: the world ranks of a group are distinct. Neighbours: `split` makes communicators of groups
//! (`Communicator::create`) and groups of communicators (`Communicator::group`).

use std::borrow::Borrow;
use std::sync::Arc;

use crate::{Error, Result};

/// How two groups, or two communicators, relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Groups: the same ranks in the same order. Communicators: one and the same.
    Identical,
    /// Communicators only: the same ranks in the same order, but each with messages of its own.
    Congruent,
    /// The same ranks in another order.
    Similar,
    /// Not the same ranks.
    Different,
}

/// An ordered set of ranks of the world, from which a communicator can be made by
/// [`Communicator::create`](crate::Communicator::create).
///
/// A member's place in the order, from 0, is its rank in the group. Cheap to clone; making one costs
/// `O(n log n)`, looking a member up `O(log n)`. Nothing here is collective: a group is a value.
///
/// ```
/// use ringworld::{Comparison, Group};
///
/// let even = Group::new((0..8).step_by(2))?;
/// let low = Group::new(0..4)?;
/// assert_eq!(even.union(&low).ranks(), [0, 2, 4, 6, 1, 3]);
/// assert_eq!(even.intersection(&low).ranks(), [0, 2]);
/// assert_eq!(even.difference(&low).ranks(), [4, 6]);
/// assert_eq!(even.compare(&even.include([3, 2, 1, 0])?), Comparison::Similar);
/// # Ok::<(), ringworld::Error>(())
/// ```
#[derive(Clone)]
pub struct Group {
    inner: Arc<Inner>,
}

struct Inner {
    /// World ranks by rank in the group.
    ranks: Box<[usize]>,
    /// World rank and rank in the group, ascending by world rank.
    sorted: Box<[(usize, usize)]>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Group({:?})", self.ranks())
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.ranks() == other.ranks()
    }
}

impl Eq for Group {}

impl Group {
    /// The group of these ranks of the world, in this order.
    ///
    /// Whether the world has such ranks is seen when a communicator is made.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGroup`] when a rank is given twice.
    ///
    /// ```
    /// # use ringworld::Group;
    /// let group = Group::new([3, 1])?;
    /// assert_eq!((group.len(), group.rank_of(1)), (2, Some(1)));
    /// assert!(Group::new([3, 1, 3]).is_err());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn new(ranks: impl IntoIterator<Item = usize>) -> Result<Self> {
        let group = Self::unchecked(ranks.into_iter().collect());
        match group.inner.sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(group),
            Some(pair) => Err(invalid(
                "Group::new",
                format!("rank {} is given at places {} and {}", pair[0].0, pair[0].1, pair[1].1)
                    + "; the ranks of a group must be distinct",
            )),
        }
    }

    /// A group of ranks that are known to be distinct.
    pub(crate) fn unchecked(ranks: Box<[usize]>) -> Self {
        let mut sorted: Box<[(usize, usize)]> = ranks.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        Self { inner: Arc::new(Inner { ranks, sorted }) }
    }

    /// How many ranks it has.
    #[must_use]
    #[doc(alias = "MPI_Group_size")]
    pub fn len(&self) -> usize {
        self.inner.ranks.len()
    }

    /// Whether it has no ranks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.ranks.is_empty()
    }

    /// The members' ranks in the world, in the order of the group.
    #[must_use]
    #[doc(alias("get_process_group_ranks", "get_global_rank"))]
    pub fn ranks(&self) -> &[usize] {
        &self.inner.ranks
    }

    /// The rank here of the member that has rank `world` in the world.
    #[must_use]
    #[doc(alias("MPI_Group_rank", "get_group_rank"))]
    pub fn rank_of(&self, world: usize) -> Option<usize> {
        let sorted = &self.inner.sorted;
        let place = sorted.binary_search_by_key(&world, |(member, _)| *member).ok()?;
        Some(sorted[place].1)
    }

    /// All members of this group in its order, then those of `other` that are not here in theirs.
    ///
    /// ```
    /// # use ringworld::Group;
    /// let union = Group::new([2, 0])?.union(&Group::new([1, 0, 5])?);
    /// assert_eq!(union.ranks(), [2, 0, 1, 5]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "MPI_Group_union")]
    pub fn union(&self, other: &Self) -> Self {
        let new = other.ranks().iter().filter(|rank| self.rank_of(**rank).is_none());
        Self::unchecked(self.ranks().iter().chain(new).copied().collect())
    }

    /// The members of this group that are in `other` too, in the order of this group.
    ///
    /// ```
    /// # use ringworld::Group;
    /// let both = Group::new([5, 3, 1])?.intersection(&Group::new([1, 2, 5])?);
    /// assert_eq!(both.ranks(), [5, 1]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "MPI_Group_intersection")]
    pub fn intersection(&self, other: &Self) -> Self {
        self.retain(|rank| other.rank_of(rank).is_some())
    }

    /// The members of this group that are not in `other`, in the order of this group.
    ///
    /// ```
    /// # use ringworld::Group;
    /// let rest = Group::new([5, 3, 1])?.difference(&Group::new([1, 2])?);
    /// assert_eq!(rest.ranks(), [5, 3]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "MPI_Group_difference")]
    pub fn difference(&self, other: &Self) -> Self {
        self.retain(|rank| other.rank_of(rank).is_none())
    }

    fn retain(&self, keep: impl Fn(usize) -> bool) -> Self {
        Self::unchecked(self.ranks().iter().copied().filter(|rank| keep(*rank)).collect())
    }

    /// The members with these ranks *in this group*, in the order given. A list, or any iterator: what MPI
    /// calls a range is `(first..=last).step_by(stride)` or its `.rev()`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGroup`] when a rank is not below [`Group::len`], or is given twice.
    ///
    /// ```
    /// # use ringworld::Group;
    /// let group = Group::new(10..20)?;
    /// assert_eq!(group.include(&[4, 0])?.ranks(), [14, 10]);
    /// assert_eq!(group.include((0..=9).rev().step_by(3))?.ranks(), [19, 16, 13, 10]);
    /// assert!(group.include([10]).is_err());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Group_incl", "MPI_Group_range_incl", "incl"))]
    pub fn include(&self, ranks: impl IntoIterator<Item = impl Borrow<usize>>) -> Result<Self> {
        let chosen = self.chosen("Group::include", ranks)?;
        Ok(Self::unchecked(chosen.into_iter().map(|rank| self.ranks()[rank]).collect()))
    }

    /// All members but those with these ranks *in this group*, in the order of this group. Takes what
    /// [`Group::include`] takes.
    ///
    /// # Errors
    ///
    /// As for [`Group::include`].
    ///
    /// ```
    /// # use ringworld::Group;
    /// let group = Group::new([7, 5, 3])?;
    /// assert_eq!(group.exclude([1])?.ranks(), [7, 3]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Group_excl", "MPI_Group_range_excl", "excl"))]
    pub fn exclude(&self, ranks: impl IntoIterator<Item = impl Borrow<usize>>) -> Result<Self> {
        let mut left = vec![true; self.len()];
        for rank in self.chosen("Group::exclude", ranks)? {
            left[rank] = false;
        }
        Ok(Self::unchecked(
            self.ranks().iter().zip(left).filter(|(_, left)| *left).map(|(rank, _)| *rank).collect(),
        ))
    }

    /// Ranks in this group, checked: below its length, each once.
    fn chosen(&self, call: &str, ranks: impl IntoIterator<Item = impl Borrow<usize>>) -> Result<Vec<usize>> {
        let mut taken = vec![false; self.len()];
        let mut chosen = Vec::new();
        for rank in ranks {
            let rank = *rank.borrow();
            match taken.get_mut(rank) {
                None => {
                    let detail = format!("rank {rank} is not below {}, the size of the group", self.len());
                    return Err(invalid(call, detail));
                }
                Some(true) => return Err(invalid(call, format!("rank {rank} is given twice"))),
                Some(taken) => *taken = true,
            }
            chosen.push(rank);
        }
        Ok(chosen)
    }

    /// For each of these ranks in this group the rank of the same member in `other`; `None` where it is
    /// not a member there.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGroup`] when a rank is not below [`Group::len`].
    ///
    /// ```
    /// # use ringworld::Group;
    /// let (here, there) = (Group::new([4, 5, 6])?, Group::new([6, 4])?);
    /// assert_eq!(here.translate(&[0, 1, 2], &there)?, [Some(1), None, Some(0)]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Group_translate_ranks")]
    pub fn translate(&self, ranks: &[usize], other: &Self) -> Result<Vec<Option<usize>>> {
        let translated = ranks.iter().map(|rank| match self.ranks().get(*rank) {
            Some(world) => Ok(other.rank_of(*world)),
            None => {
                let detail = format!("rank {rank} is not below {}, the size of the group", self.len());
                Err(invalid("Group::translate", detail))
            }
        });
        translated.collect()
    }

    /// How this group relates to `other`; never [`Comparison::Congruent`].
    ///
    /// ```
    /// # use ringworld::{Comparison, Group};
    /// let group = Group::new([1, 2])?;
    /// assert_eq!(group.compare(&Group::new(1..=2)?), Comparison::Identical);
    /// assert_eq!(group.compare(&Group::new([2, 1])?), Comparison::Similar);
    /// assert_eq!(group.compare(&Group::new([2, 1, 0])?), Comparison::Different);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "MPI_Group_compare")]
    pub fn compare(&self, other: &Self) -> Comparison {
        let members = |group: &Self| group.inner.sorted.iter().map(|(member, _)| *member).collect::<Vec<_>>();
        if self == other {
            Comparison::Identical
        } else if self.len() == other.len() && members(self) == members(other) {
            Comparison::Similar
        } else {
            Comparison::Different
        }
    }
}

pub(crate) fn invalid(operation: &str, detail: String) -> Error {
    Error::InvalidGroup { operation: operation.into(), detail }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn group() -> impl Strategy<Value = Group> {
        // From a small world, so that groups overlap; shuffled, so that orders differ.
        proptest::sample::subsequence((0..12usize).collect::<Vec<_>>(), 0..=12)
            .prop_shuffle()
            .prop_map(|ranks| Group::new(ranks).unwrap())
    }

    fn is_valid(group: &Group) -> bool {
        Group::new(group.ranks().iter().copied()).is_ok_and(|again| again == *group)
            && (0..12).all(|world| group.rank_of(world) == group.ranks().iter().position(|r| *r == world))
    }

    #[test]
    fn an_empty_group_is_a_group() {
        let empty = Group::new([]).unwrap();
        assert!(empty.is_empty());
        assert_eq!(empty.compare(&empty.include(&[] as &[usize]).unwrap()), Comparison::Identical);
        assert_eq!(empty.translate(&[], &empty).unwrap(), []);
    }

    #[test]
    fn errors_say_what_was_given_and_expected() {
        let group = Group::new([5, 6]).unwrap();
        let text = |error: Result<Group>| error.unwrap_err().to_string();
        assert_eq!(
            text(Group::new([5, 6, 5])),
            "Group::new: rank 5 is given at places 0 and 2; the ranks of a group must be distinct"
        );
        assert_eq!(
            text(group.include([0, 2])),
            "Group::include: rank 2 is not below 2, the size of the group"
        );
        assert_eq!(text(group.exclude([1, 1])), "Group::exclude: rank 1 is given twice");
        let error = group.translate(&[usize::MAX], &group).unwrap_err().to_string();
        assert!(error.contains("is not below 2"), "{error}");
    }

    proptest! {
        #[test]
        fn the_set_laws_hold(a in group(), b in group(), c in group()) {
            let (union, both, only_a, only_b) =
                (a.union(&b), a.intersection(&b), a.difference(&b), b.difference(&a));
            for made in [&union, &both, &only_a, &only_b] {
                prop_assert!(is_valid(made), "{made:?}");
            }
            for world in 0..12 {
                let (in_a, in_b) = (a.rank_of(world).is_some(), b.rank_of(world).is_some());
                prop_assert_eq!(union.rank_of(world).is_some(), in_a || in_b);
                prop_assert_eq!(both.rank_of(world).is_some(), in_a && in_b);
                prop_assert_eq!(only_a.rank_of(world).is_some(), in_a && !in_b);
            }
            // Order: the first group's decides, the second's only for what the first does not have.
            prop_assert_eq!(&union.ranks()[..a.len()], a.ranks());
            prop_assert_eq!(&union.ranks()[a.len()..], only_b.ranks());
            let by_place = |group: &Group| group.ranks().iter().map(|r| a.rank_of(*r)).collect::<Vec<_>>();
            prop_assert!(by_place(&both).is_sorted() && by_place(&only_a).is_sorted());
            // Associative in order too; commutative as sets.
            prop_assert_eq!(union.union(&c), a.union(&b.union(&c)));
            prop_assert_eq!(both.intersection(&c), a.intersection(&b.intersection(&c)));
            prop_assert!(matches!(
                union.compare(&b.union(&a)),
                Comparison::Identical | Comparison::Similar
            ));
            prop_assert_eq!(a.union(&a), a.clone());
            prop_assert!(a.difference(&a).is_empty());
        }

        #[test]
        fn included_and_excluded_members_make_up_the_group(a in group(), keep in any::<u16>()) {
            let chosen: Vec<usize> = (0..a.len()).filter(|rank| keep >> rank & 1 == 1).collect();
            let (inside, outside) = (a.include(&chosen).unwrap(), a.exclude(&chosen).unwrap());
            prop_assert_eq!(a.difference(&inside), outside.clone());
            prop_assert_eq!(a.difference(&outside), inside.clone());
            let places = inside.translate(&(0..inside.len()).collect::<Vec<_>>(), &a).unwrap();
            prop_assert_eq!(places, chosen.into_iter().map(Some).collect::<Vec<_>>());
        }

        #[test]
        fn groups_compare_by_members_and_order(a in group(), b in group(), turn in 0usize..12) {
            let sorted = |group: &Group| { let mut r = group.ranks().to_vec(); r.sort_unstable(); r };
            let expected = if a.ranks() == b.ranks() {
                Comparison::Identical
            } else if sorted(&a) == sorted(&b) {
                Comparison::Similar
            } else {
                Comparison::Different
            };
            prop_assert_eq!(a.compare(&b), expected);
            let mut turned = a.ranks().to_vec();
            turned.rotate_left(if a.is_empty() { 0 } else { turn % a.len() });
            let turned = Group::new(turned).unwrap();
            let same = if turned == a { Comparison::Identical } else { Comparison::Similar };
            prop_assert_eq!(a.compare(&turned), same);
        }
    }
}
