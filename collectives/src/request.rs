//! What is asked for: a collective as one rank sees it, and the memory that goes with it.
//!
//! Invariant: [`Request::validate`] is the only gate; whatever passes it can be built without arithmetic
//! overflow or a rank out of range. Neighbours: [`crate::select`] chooses an algorithm for a request,
//! [`crate::build`] turns both into a schedule.

use std::fmt;

use crate::{Algorithm, Error};

/// Which collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Nobody leaves before everybody has come.
    Barrier,
    /// The root's elements reach everybody.
    Broadcast {
        /// Whose elements.
        root: usize,
    },
    /// The root gets the reduction over all ranks.
    Reduce {
        /// Who gets it.
        root: usize,
    },
    /// Everybody gets the reduction over all ranks, the same bits on every rank.
    AllReduce,
    /// Everybody gets everybody's block, in rank order.
    AllGather,
    /// Rank `r` gets block `r` of the reduction over all ranks.
    ReduceScatter,
}

impl Collective {
    /// The root, for collectives that have one.
    #[must_use]
    pub fn root(&self) -> Option<usize> {
        match *self {
            Self::Broadcast { root } | Self::Reduce { root } => Some(root),
            _ => None,
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Barrier => f.write_str("barrier"),
            Self::Broadcast { root } => write!(f, "broadcast from rank {root}"),
            Self::Reduce { root } => write!(f, "reduce to rank {root}"),
            Self::AllReduce => f.write_str("all-reduce"),
            Self::AllGather => f.write_str("all-gather"),
            Self::ReduceScatter => f.write_str("reduce-scatter"),
        }
    }
}

/// A collective as one rank asks for it. All ranks must agree on everything but `rank` (and `in_place`,
/// which each may choose for itself).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Which one.
    pub collective: Collective,
    /// Who asks.
    pub rank: usize,
    /// How many ranks take part.
    pub size: usize,
    /// Elements: of the whole vector, or of one rank's block for all-gather and reduce-scatter.
    pub count: usize,
    /// Bytes of one element; only the selection looks at it.
    pub element: usize,
    /// The operation commutes. When it does not, operands are combined in rank order.
    pub commutative: bool,
    /// Input and output are the same memory; [`Request::layout`] says how.
    pub in_place: bool,
}

/// How long the caller's buffers are, in elements, and how they overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Length of the input.
    pub input: usize,
    /// Length of the output.
    pub output: usize,
    /// With `Some(at)`, input element `i` is output element `at + i`.
    pub alias: Option<usize>,
}

impl Request {
    /// Checks that the request can be met.
    ///
    /// # Errors
    ///
    /// When the size is 0, the rank or the root is not below the size, or `size * count` (with `element`)
    /// does not fit into an address space.
    pub fn validate(&self) -> Result<(), Error> {
        let Self { collective, rank, size, count, element, .. } = *self;
        if rank >= size {
            return Err(Error::Rank { rank, size });
        }
        if let Some(root) = collective.root().filter(|root| *root >= size) {
            return Err(Error::Root { root, size });
        }
        // Twice, because schedules may need as much scratch again.
        let bytes = count.checked_mul(size).and_then(|n| n.checked_mul(element.max(1)));
        if bytes.and_then(|n| n.checked_mul(2)).is_none_or(|n| isize::try_from(n).is_err()) {
            return Err(Error::TooLarge { size, count, element });
        }
        Ok(())
    }

    /// The buffers of this rank. Where an input is absent (everybody but the root of a broadcast) or an
    /// output is (everybody but the root of a reduce), its length is 0.
    ///
    /// In place: all-reduce and the root of reduce and broadcast use one buffer for both; all-gather finds
    /// its own block at its place in the output; reduce-scatter has one buffer of `size * count` elements
    /// and leaves its result in the first `count` of them, the others as they were.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let Self { collective, rank, size, count, in_place, .. } = *self;
        let all = size.saturating_mul(count);
        let (input, output, alias) = match collective {
            Collective::Barrier => (0, 0, None),
            Collective::Broadcast { root } if rank == root => (count, count, Some(0)),
            Collective::Broadcast { .. } => (0, count, None),
            Collective::Reduce { root } if rank == root => (count, count, Some(0)),
            Collective::Reduce { .. } => (count, 0, None),
            Collective::AllReduce => (count, count, Some(0)),
            Collective::AllGather => (count, all, Some(rank.saturating_mul(count))),
            Collective::ReduceScatter => (all, if in_place { all } else { count }, Some(0)),
        };
        Layout { input, output, alias: alias.filter(|_| in_place) }
    }

    /// Bytes of the whole vector, or of one block for all-gather and reduce-scatter.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.count.saturating_mul(self.element.max(1))
    }

    /// The algorithms that can serve this request, any of which [`crate::Choice::forced`] accepts.
    pub fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        let request = *self;
        Algorithm::ALL.iter().copied().filter(move |algorithm| algorithm.supports(&request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(collective: Collective) -> Request {
        let (rank, size, count, element) = (1, 4, 10, 4);
        Request { collective, rank, size, count, element, commutative: true, in_place: true }
    }

    #[test]
    fn impossible_requests_are_refused_with_what_was_given() {
        let good = request(Collective::AllReduce);
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(Request { rank: 4, ..good }.validate(), Err(Error::Rank { rank: 4, size: 4 }));
        assert!(Request { rank: 0, size: 0, ..good }.validate().is_err());
        assert!(Request { count: usize::MAX / 8, ..good }.validate().is_err());
        let bad = request(Collective::Reduce { root: 9 }).validate();
        assert_eq!(
            bad.unwrap_err().to_string(),
            "root 9 does not exist: ranks of this communicator are 0..4"
        );
    }

    #[test]
    fn in_place_input_lies_where_the_layout_says() {
        assert_eq!(
            request(Collective::AllGather).layout(),
            Layout { input: 10, output: 40, alias: Some(10) }
        );
        assert_eq!(
            request(Collective::ReduceScatter).layout(),
            Layout { input: 40, output: 40, alias: Some(0) }
        );
        assert_eq!(
            request(Collective::Reduce { root: 0 }).layout(),
            Layout { input: 10, output: 0, alias: None }
        );
    }
}
