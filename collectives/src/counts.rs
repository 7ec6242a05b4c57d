//! How many elements each rank has, and where its block lies.
//!
//! Invariant: blocks are packed in rank order, without gaps; a rank is never asked for counts that it cannot
//! know. Neighbours: [`crate::Request`] checks that counts have the form that their collective needs, the
//! algorithms look up blocks in a [`Blocks`].

use std::fmt;
use std::sync::Arc;

/// How many elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Counts {
    /// The same for all ranks: the whole vector (broadcast, reduce, all-reduce, scans) or one rank's block
    /// (all-gather, reduce-scatter, gather, scatter, all-to-all).
    Same(usize),
    /// Block `r` has `counts[r]` elements: known on every rank (all-gather, reduce-scatter) or at the root
    /// (gather, scatter).
    Each(Arc<[usize]>),
    /// Gather and scatter with per-rank counts, on a rank other than the root: it knows its own block only.
    Own(usize),
    /// All-to-all with per-pair counts.
    Pairs {
        /// Elements to each rank.
        send: Arc<[usize]>,
        /// Elements from each rank.
        recv: Arc<[usize]>,
    },
}

impl Counts {
    /// The largest number in it.
    #[must_use]
    pub fn largest(&self) -> usize {
        let most = |list: &[usize]| list.iter().copied().max().unwrap_or(0);
        match self {
            Self::Same(count) | Self::Own(count) => *count,
            Self::Each(counts) => most(counts),
            Self::Pairs { send, recv } => most(send).max(most(recv)),
        }
    }

    /// Elements of all blocks together, of `size` ranks; for [`Counts::Pairs`] of what is sent.
    #[must_use]
    pub fn total(&self, size: usize) -> usize {
        match self {
            Self::Same(count) | Self::Own(count) => count.saturating_mul(size),
            Self::Each(counts) | Self::Pairs { send: counts, .. } => {
                counts.iter().fold(0, |sum, count| count.saturating_add(sum))
            }
        }
    }

    /// Elements of the block of `rank`; for [`Counts::Own`] the own one, for [`Counts::Pairs`] what is sent
    /// to `rank`. 0 for a rank that does not exist.
    #[must_use]
    pub fn of(&self, rank: usize) -> usize {
        match self {
            Self::Same(count) | Self::Own(count) => *count,
            Self::Each(counts) | Self::Pairs { send: counts, .. } => counts.get(rank).copied().unwrap_or(0),
        }
    }
}

/// Short enough for an error: long lists are cut.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(count) => write!(f, "{count} elements on every rank"),
            Self::Each(counts) => write!(f, "blocks of {} elements", List(counts)),
            Self::Own(count) => write!(f, "{count} elements on this rank"),
            Self::Pairs { send, recv } => {
                write!(f, "{} elements to and {} elements from each rank", List(send), List(recv))
            }
        }
    }
}

struct List<'a>(&'a [usize]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        for (at, count) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{count}", if at == 0 { "" } else { ", " })?;
        }
        if self.0.len() > SHOWN {
            write!(f, ", … ({} numbers)", self.0.len())?;
        } else if self.0.is_empty() {
            f.write_str("no")?;
        }
        Ok(())
    }
}

/// Where the blocks of all ranks lie in a buffer that holds them all. Equal blocks cost no memory, others one
/// number per rank.
#[derive(Debug)]
pub(crate) enum Blocks {
    Equal {
        count: usize,
        size: usize,
    },
    /// Where each block begins, and where the last one ends.
    Uneven(Vec<usize>),
}

impl Blocks {
    pub(crate) fn equal(count: usize, size: usize) -> Self {
        Self::Equal { count, size }
    }

    pub(crate) fn uneven(counts: &[usize]) -> Self {
        let mut starts = Vec::with_capacity(counts.len() + 1);
        let mut at = 0usize;
        starts.push(at);
        for count in counts {
            at = at.saturating_add(*count);
            starts.push(at);
        }
        Self::Uneven(starts)
    }

    /// Offset and length of the blocks `from..to`.
    pub(crate) fn extent(&self, from: usize, to: usize) -> (usize, usize) {
        let (start, end) = (self.start(from), self.start(to));
        (start, end - start)
    }

    /// Offset and length of block `index`.
    pub(crate) fn block(&self, index: usize) -> (usize, usize) {
        self.extent(index, index + 1)
    }

    /// Length of all blocks together.
    pub(crate) fn total(&self) -> usize {
        match self {
            Self::Equal { count, size } => count.saturating_mul(*size),
            Self::Uneven(starts) => starts.last().copied().unwrap_or(0),
        }
    }

    /// Length of the longest block.
    pub(crate) fn longest(&self) -> usize {
        match self {
            Self::Equal { count, .. } => *count,
            Self::Uneven(starts) => starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0),
        }
    }

    fn start(&self, index: usize) -> usize {
        match self {
            Self::Equal { count, .. } => count.saturating_mul(index),
            Self::Uneven(starts) => starts.get(index).copied().unwrap_or_else(|| self.total()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_packed_in_rank_order() {
        let blocks = Blocks::uneven(&[3, 0, 5]);
        assert_eq!([0, 1, 2].map(|r| blocks.block(r)), [(0, 3), (3, 0), (3, 5)]);
        assert_eq!((blocks.total(), blocks.longest(), blocks.extent(1, 3)), (8, 5, (3, 5)));
        let blocks = Blocks::equal(4, 3);
        assert_eq!((blocks.block(2), blocks.total(), blocks.extent(0, 2)), ((8, 4), 12, (0, 8)));
    }

    #[test]
    fn long_lists_are_cut_when_they_are_shown() {
        let counts = Counts::Each((0..100).collect());
        assert_eq!(counts.to_string(), "blocks of 0, 1, 2, 3, 4, 5, 6, 7, … (100 numbers) elements");
        assert_eq!(counts.largest(), 99);
        assert_eq!((counts.of(7), counts.of(100)), (7, 0));
    }
}
