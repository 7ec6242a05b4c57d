//! What is asked for: a collective as one rank sees it, and the memory that goes with it.
//!
//! Neighbours: `validate.rs` checks a request, [`crate::Counts`] says how many elements, [`crate::select`] chooses an
//! algorithm for a request, [`crate::build`] turns both into a schedule.

use std::fmt;

use crate::counts::Blocks;
use crate::{Counts, Span};

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
    /// The root gets everybody's block, in rank order.
    Gather {
        /// Who gets them.
        root: usize,
    },
    /// Rank `r` gets block `r` of the root's elements.
    Scatter {
        /// Whose elements.
        root: usize,
    },
    /// Rank `r` gets block `r` of everybody's elements, in rank order.
    AllToAll,
    /// Rank `r` gets the reduction over ranks `0..=r`.
    Scan,
    /// Rank `r` gets the reduction over ranks `0..r`; rank 0 gets nothing.
    ExclusiveScan,
}

impl Collective {
    /// Every collective, in the order in which they are declared; those with a root have this one.
    ///
    /// ```
    /// use ringworld_collectives::Collective;
    /// let names: Vec<_> = Collective::family(0).iter().map(Collective::name).collect();
    /// assert_eq!((names[0], names[10]), ("barrier", "exclusive-scan"));
    /// ```
    #[must_use]
    pub const fn family(root: usize) -> [Self; 11] {
        [
            Self::Barrier,
            Self::Broadcast { root },
            Self::Reduce { root },
            Self::AllReduce,
            Self::AllGather,
            Self::ReduceScatter,
            Self::Gather { root },
            Self::Scatter { root },
            Self::AllToAll,
            Self::Scan,
            Self::ExclusiveScan,
        ]
    }

    /// The root, for collectives that have one.
    #[must_use]
    pub fn root(&self) -> Option<usize> {
        match *self {
            Self::Broadcast { root }
            | Self::Reduce { root }
            | Self::Gather { root }
            | Self::Scatter { root } => Some(root),
            _ => None,
        }
    }

    /// The name, which is also the first half of the paths of its algorithms.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast { .. } => "broadcast",
            Self::Reduce { .. } => "reduce",
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Gather { .. } => "gather",
            Self::Scatter { .. } => "scatter",
            Self::AllToAll => "all-to-all",
            Self::Scan => "scan",
            Self::ExclusiveScan => "exclusive-scan",
        }
    }

    /// Whether elements are combined.
    #[must_use]
    pub fn reduces(&self) -> bool {
        matches!(
            self,
            Self::Reduce { .. } | Self::AllReduce | Self::ReduceScatter | Self::Scan | Self::ExclusiveScan
        )
    }

    /// Whether each element has one last reduction, after which all ranks have contributed: schedules of two ranks
    /// and more then mark it, once for every element of a result. The prefixes of a scan have none: what is a
    /// result for one rank goes on to the next.
    #[must_use]
    pub fn has_last(&self) -> bool {
        matches!(self, Self::Reduce { .. } | Self::AllReduce | Self::ReduceScatter)
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Self::Broadcast { root } | Self::Scatter { root } => write!(f, "{name} from rank {root}"),
            Self::Reduce { root } | Self::Gather { root } => write!(f, "{name} to rank {root}"),
            _ => f.write_str(name),
        }
    }
}

/// What a reduction may do with the order of the operands; each keeps what the one before promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// Any order: the operation commutes.
    Free,
    /// Operands in rank order, parentheses anywhere: the operation is associative and does not commute.
    Rank,
    /// Exactly `((x0 op x1) op x2) op …` for every element: the result depends neither on the length of the
    /// vector nor on the algorithm, even where rounding makes the operation not quite associative.
    Left,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Free => "any order",
            Self::Rank => "rank order",
            Self::Left => "rank order from the left",
        })
    }
}

/// A collective as one rank asks for it. All ranks must agree on everything but `rank`, the parts of
/// `counts` that only one rank can know, and `in_place`, which each may choose for itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Which one.
    pub collective: Collective,
    /// Who asks.
    pub rank: usize,
    /// How many ranks take part.
    pub size: usize,
    /// How many elements.
    pub counts: Counts,
    /// Bytes of one element; only the selection looks at it.
    pub element: usize,
    /// How operands may be combined; collectives that do not reduce ignore it.
    pub order: Order,
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
    /// The part of the output that holds the result at the end. When input and output are the same memory,
    /// the rest of it is left as it was.
    pub result: Span,
}

impl Request {
    /// The buffers of this rank. Where an input is absent (everybody but the root of a broadcast or scatter)
    /// or an output is (everybody but the root of a reduce or gather), its length is 0.
    ///
    /// In place:
    ///
    /// - all-reduce, both scans, and the root of reduce and broadcast use one buffer for both;
    /// - all-gather and the root of gather find their own block at its place in the output;
    /// - reduce-scatter has one buffer of all blocks and leaves its result at the beginning of it, the rest as
    ///   it was;
    /// - the root of scatter has one buffer of all blocks, and its own block stays where it is;
    /// - all-to-all has one buffer, as long as the longer of what is sent and what is received; the result
    ///   begins where the input began.
    ///
    /// An exclusive scan leaves the output of rank 0 as it was: the reduction over no ranks has no value. In
    /// place that is its own input; apart, whatever the memory held.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let Self { collective, rank, in_place, .. } = *self;
        let count = self.counts.of(rank);
        let whole = || self.counts.total(self.size);
        let start = || self.start_of(rank);
        let here = |root: usize| rank == root;
        let plain =
            |input: usize, output: usize, alias: usize| (input, output, alias, Span::output(0, output));
        let (input, output, alias, result) = match collective {
            Collective::Barrier => plain(0, 0, 0),
            Collective::Broadcast { root } => plain(if here(root) { count } else { 0 }, count, 0),
            Collective::Reduce { root } => plain(count, if here(root) { count } else { 0 }, 0),
            Collective::AllReduce | Collective::Scan => plain(count, count, 0),
            Collective::ExclusiveScan => {
                (count, count, 0, Span::output(0, if rank == 0 { 0 } else { count }))
            }
            Collective::AllGather => plain(count, whole(), start()),
            Collective::ReduceScatter => {
                (whole(), if in_place { whole() } else { count }, 0, Span::output(0, count))
            }
            Collective::Gather { root } if here(root) => plain(count, whole(), start()),
            Collective::Gather { .. } => plain(count, 0, 0),
            Collective::Scatter { root } if here(root) && in_place => {
                (whole(), whole(), 0, Span::output(start(), count))
            }
            Collective::Scatter { root } => plain(if here(root) { whole() } else { 0 }, count, 0),
            Collective::AllToAll => {
                let (sent, received) = self.exchanged_counts();
                let output = if in_place { sent.max(received) } else { received };
                (sent, output, 0, Span::output(0, received))
            }
        };
        // A rank without input or without output has nothing that could overlap.
        let has_both = match collective {
            Collective::Barrier => false,
            Collective::AllGather
            | Collective::AllReduce
            | Collective::ReduceScatter
            | Collective::AllToAll
            | Collective::Scan
            | Collective::ExclusiveScan => true,
            _ => collective.root() == Some(rank),
        };
        Layout { input, output, alias: (in_place && has_both).then_some(alias), result }
    }

    /// Elements of the whole vector, or of one block; of blocks that differ, the longest that this rank knows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.counts.largest()
    }

    /// Bytes of the whole vector, or of one block; of blocks that differ, the mean of those that this rank
    /// knows.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let mean = match &self.counts {
            Counts::Same(count) | Counts::Own(count) => *count,
            Counts::Each(counts) | Counts::Pairs { send: counts, .. } => {
                self.counts.total(counts.len()).div_ceil(counts.len().max(1))
            }
        };
        mean.saturating_mul(self.element.max(1))
    }

    /// Whether operands may be combined in any order.
    #[must_use]
    pub fn commutes(&self) -> bool {
        self.order == Order::Free
    }

    /// Where the blocks of all ranks lie in the buffer that holds them all; off the root of gather and
    /// scatter with per-rank counts, and for per-pair counts, nobody may ask.
    pub(crate) fn blocks(&self) -> Blocks {
        match &self.counts {
            Counts::Same(count) | Counts::Own(count) => Blocks::equal(*count, self.size),
            Counts::Each(counts) | Counts::Pairs { send: counts, .. } => Blocks::uneven(counts),
        }
    }

    /// Where the blocks lie that an all-to-all sends, and those that it receives.
    pub(crate) fn exchanged_blocks(&self) -> (Blocks, Blocks) {
        match &self.counts {
            Counts::Pairs { send, recv } => (Blocks::uneven(send), Blocks::uneven(recv)),
            _ => (self.blocks(), self.blocks()),
        }
    }

    fn exchanged_counts(&self) -> (usize, usize) {
        let sent = self.counts.total(self.size);
        match &self.counts {
            Counts::Pairs { recv, .. } => (sent, recv.iter().fold(0, |sum, count| count.saturating_add(sum))),
            _ => (sent, sent),
        }
    }

    fn start_of(&self, rank: usize) -> usize {
        match &self.counts {
            Counts::Same(count) | Counts::Own(count) => rank.saturating_mul(*count),
            Counts::Each(counts) | Counts::Pairs { send: counts, .. } => {
                counts.iter().take(rank).fold(0usize, |sum, count| sum.saturating_add(*count))
            }
        }
    }
}

/// Requests for tests: of rank 1 of 4 ranks, 10 elements of 4 bytes each.
#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub(crate) fn request(collective: Collective) -> Request {
        let (rank, size, counts, element) = (1, 4, Counts::Same(10), 4);
        Request { collective, rank, size, counts, element, order: Order::Free, in_place: true }
    }

    pub(crate) fn counted(collective: Collective, counts: Counts) -> Request {
        Request { counts, ..request(collective) }
    }

    pub(crate) fn each(counts: &[usize]) -> Counts {
        Counts::Each(counts.into())
    }

    pub(crate) fn pairs(send: &[usize], recv: &[usize]) -> Counts {
        Counts::Pairs { send: send.into(), recv: recv.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{counted, each, pairs, request};
    use super::*;

    fn layout(input: usize, output: usize, alias: Option<usize>, result: (usize, usize)) -> Layout {
        Layout { input, output, alias, result: Span::output(result.0, result.1) }
    }

    #[test]
    fn in_place_input_lies_where_the_layout_says() {
        assert_eq!(request(Collective::AllGather).layout(), layout(10, 40, Some(10), (0, 40)));
        assert_eq!(request(Collective::ReduceScatter).layout(), layout(40, 40, Some(0), (0, 10)));
        assert_eq!(request(Collective::Reduce { root: 0 }).layout(), layout(10, 0, None, (0, 0)));
        assert_eq!(request(Collective::Gather { root: 1 }).layout(), layout(10, 40, Some(10), (0, 40)));
        assert_eq!(request(Collective::Gather { root: 0 }).layout(), layout(10, 0, None, (0, 0)));
        assert_eq!(request(Collective::Scatter { root: 1 }).layout(), layout(40, 40, Some(0), (10, 10)));
        assert_eq!(request(Collective::Scatter { root: 0 }).layout(), layout(0, 10, None, (0, 10)));
        assert_eq!(request(Collective::AllToAll).layout(), layout(40, 40, Some(0), (0, 40)));
        let first = Request { rank: 0, ..request(Collective::ExclusiveScan) };
        assert_eq!(first.layout(), layout(10, 10, Some(0), (0, 0)));
    }

    #[test]
    fn blocks_of_different_lengths_are_packed() {
        let counts = each(&[3, 4, 0, 5]);
        assert_eq!(counted(Collective::AllGather, counts.clone()).layout(), layout(4, 12, Some(3), (0, 12)));
        assert_eq!(
            counted(Collective::ReduceScatter, counts.clone()).layout(),
            layout(12, 12, Some(0), (0, 4))
        );
        assert_eq!(
            counted(Collective::Scatter { root: 1 }, counts).layout(),
            layout(12, 12, Some(0), (3, 4))
        );
        let exchange = counted(Collective::AllToAll, pairs(&[1, 2, 3, 4], &[9, 2, 0, 0]));
        assert_eq!(exchange.layout(), layout(10, 11, Some(0), (0, 11)));
        let apart = Request { in_place: false, ..exchange };
        assert_eq!(apart.layout(), layout(10, 11, None, (0, 11)));
    }
}
