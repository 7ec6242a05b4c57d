//! Reduces any number of ranks to a power of two, for algorithms that need one.
//!
//! ```text
//! n = 6, p = 4      ranks   0>1  2>3  4  5       before: even ranks of the first pairs hand over
//!                   places   0    1   2  3
//!                   ranks   0<1  2<3  4  5       after: and get the result back
//! ```
//!
//! The first `2 (n - p)` ranks pair up; places stay in rank order, and each stands for a run of neighbours,
//! so rank order is kept. Costs two messages of the whole vector on each pair. Neighbours:
//! [`super::recursive_doubling`], [`super::rabenseifner`].

use crate::{Builder, Request, Span};

/// How ranks map to places.
#[derive(Clone, Copy)]
pub(crate) struct Fold {
    /// Number of places, a power of two.
    pub(crate) places: usize,
    /// How many pairs share a place.
    pairs: usize,
}

impl Fold {
    pub(crate) fn new(size: usize) -> Self {
        let places = if size.is_power_of_two() { size } else { size.next_power_of_two() / 2 };
        Self { places, pairs: size - places }
    }

    /// The place of a rank; `None` for those that only hand over.
    pub(crate) fn place(self, rank: usize) -> Option<usize> {
        match rank {
            _ if rank >= 2 * self.pairs => Some(rank - self.pairs),
            _ if rank % 2 == 1 => Some(rank / 2),
            _ => None,
        }
    }

    /// The rank that acts at a place.
    pub(crate) fn rank(self, place: usize) -> usize {
        if place < self.pairs { 2 * place + 1 } else { place + self.pairs }
    }

    /// Hands over or takes in elements `offset..offset + len`; returns where the contribution of this
    /// place lies then. `slot` is as long as the elements.
    pub(crate) fn before(self, request: &Request, offset: usize, slot: Span, b: &mut Builder) -> Span {
        let (own, output) = (Span::input(offset, slot.len), Span::output(offset, slot.len));
        let rank = request.rank;
        if rank >= 2 * self.pairs {
            own
        } else if rank % 2 == 1 {
            b.recv(rank - 1, slot);
            b.reduce(slot, own, output);
            output
        } else {
            b.send(rank + 1, own);
            own
        }
    }

    /// Hands the result back to those that only handed over.
    pub(crate) fn after(self, request: &Request, offset: usize, len: usize, b: &mut Builder) {
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
}
