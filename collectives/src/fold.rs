//! Reduces any number of ranks to a power of two, for algorithms that need one.
//!
//! ```text
//! n = 6, p = 4      ranks   0>1  2>3  4  5       before: even ranks of the first pairs hand over
//!                   places   0    1   2  3
//!                   ranks   0<1  2<3  4  5       after: and get the result back
//! ```
//!
//! The first `2 (n - p)` ranks pair up; places stay in rank order, and each stands for a run of neighbours,
//! so rank order is kept. Costs two messages of the whole vector on each pair. Where only one rank gets the
//! result, that one acts for its pair, and nothing need come back. Neighbours: [`crate::all_reduce`]
//! (recursive doubling, Rabenseifner), and the halving algorithms of reduce and reduce-scatter.

use crate::{Builder, Request, Span};

/// How ranks map to places.
#[derive(Clone, Copy)]
pub(crate) struct Fold {
    /// Number of places, a power of two.
    pub(crate) places: usize,
    /// How many pairs share a place.
    pairs: usize,
    /// The place for which the lower rank of its pair acts.
    swapped: Option<usize>,
}

impl Fold {
    pub(crate) fn new(size: usize) -> Self {
        let places = if size.is_power_of_two() { size } else { size.next_power_of_two() / 2 };
        Self { places, pairs: size - places, swapped: None }
    }

    /// As [`Fold::new`], but `root` acts for its place.
    pub(crate) fn rooted(size: usize, root: usize) -> Self {
        let fold = Self::new(size);
        let swapped = fold.place(root).is_none().then_some(root / 2);
        Self { swapped, ..fold }
    }

    /// The place of a rank; `None` for those that only hand over.
    pub(crate) fn place(self, rank: usize) -> Option<usize> {
        match rank {
            _ if rank >= 2 * self.pairs => Some(rank - self.pairs),
            _ => self.acts(rank).then_some(rank / 2),
        }
    }

    /// Whether a rank that shares a place acts for it.
    fn acts(self, rank: usize) -> bool {
        (rank % 2 == 1) != (self.swapped == Some(rank / 2))
    }

    /// Whether two ranks share a place.
    pub(crate) fn shared(self, place: usize) -> bool {
        place < self.pairs
    }

    /// The first rank that a place stands for; places stand for runs of ranks.
    pub(crate) fn first_rank(self, place: usize) -> usize {
        place + place.min(self.pairs)
    }

    /// The rank that acts at a place.
    pub(crate) fn rank(self, place: usize) -> usize {
        match place {
            _ if place >= self.pairs => place + self.pairs,
            _ if self.swapped == Some(place) => 2 * place,
            _ => 2 * place + 1,
        }
    }

    /// Hands over or takes in elements `offset..offset + len`; returns where the contribution of this
    /// place lies then. `slot` is as long as the elements.
    pub(crate) fn reduce_pair_segment(
        self,
        request: &Request,
        offset: usize,
        slot: Span,
        b: &mut Builder,
    ) -> Span {
        let (own, output) = (Span::input(offset, slot.len), Span::output(offset, slot.len));
        self.reduce_pair(request.rank, own, slot, output, b)
    }

    /// Hands over `own`, or receives into `slot` what the other rank of the pair has and puts the sum into
    /// `sum`; returns where the contribution of the place lies then.
    pub(crate) fn reduce_pair(self, rank: usize, own: Span, slot: Span, sum: Span, b: &mut Builder) -> Span {
        if rank >= 2 * self.pairs {
            return own;
        }
        let other = rank ^ 1;
        if !self.acts(rank) {
            b.send(other, own);
            return own;
        }
        b.recv(other, slot);
        if other < rank {
            b.reduce(slot, own, sum, false);
        } else {
            b.reduce(own, slot, sum, false);
        }
        sum
    }

    /// Hands the result back to those that only handed over.
    pub(crate) fn return_result(self, request: &Request, offset: usize, len: usize, b: &mut Builder) {
        let rank = request.rank;
        if rank < 2 * self.pairs {
            if rank % 2 == 1 {
                b.send(rank - 1, Span::output(offset, len));
            } else {
                b.recv(rank + 1, Span::output(offset, len));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_exactly_one_rank() {
        for size in 1..200 {
            let fold = Fold::new(size);
            let places: Vec<_> = (0..size).filter_map(|rank| fold.place(rank)).collect();
            assert_eq!(places, (0..fold.places).collect::<Vec<_>>(), "size {size}");
            assert!((0..fold.places).all(|place| fold.place(fold.rank(place)) == Some(place)));
        }
    }

    #[test]
    fn a_root_always_acts_for_its_place() {
        for size in 1..70 {
            for root in 0..size {
                let fold = Fold::rooted(size, root);
                assert!(fold.place(root).is_some(), "root {root} of {size}");
                let places: Vec<_> = (0..size).filter_map(|rank| fold.place(rank)).collect();
                assert_eq!(places, (0..fold.places).collect::<Vec<_>>(), "root {root} of {size}");
                assert!((0..fold.places).all(|place| fold.place(fold.rank(place)) == Some(place)));
            }
        }
    }

    #[test]
    fn places_stand_for_runs_of_ranks() {
        for size in 1..70 {
            let fold = Fold::new(size);
            for place in 0..fold.places {
                let run = fold.first_rank(place)..fold.first_rank(place + 1);
                assert_eq!(run.len(), 1 + usize::from(fold.shared(place)));
                assert!(run.contains(&fold.rank(place)));
            }
            assert_eq!(fold.first_rank(fold.places), size);
        }
    }
}
