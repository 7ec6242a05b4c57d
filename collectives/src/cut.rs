//! A vector that is cut into blocks and chunks, each folded strictly from the left by the rank it is for.
//!
//! What the algorithms named `left_exchange` and the transposed scan have in common: every rank sends everybody its
//! chunk of a block, and folds the own chunk of all ranks in rank order. Neighbour: `left.rs`, which folds.

use crate::builder::{Builder, Step, part, parts};
use crate::{Choice, Request, Span, left};

/// How a vector is cut into blocks that go one after the other, each of one chunk for every rank.
pub(crate) struct Cut {
    count: usize,
    size: usize,
    /// How many blocks there are.
    pub(crate) blocks: usize,
    /// How many are under way at once.
    pub(crate) sets: usize,
}

impl Cut {
    pub(crate) fn new(request: &Request, choice: &Choice) -> Self {
        let (count, size) = (request.count(), request.size);
        let blocks = parts(count.div_ceil(size), choice.segment);
        Self { count, size, blocks, sets: choice.in_flight.clamp(1, blocks) }
    }

    /// A slot for each rank and block under way; the last of each set is nobody's.
    pub(crate) fn slots(&self, b: &mut Builder) -> Vec<Span> {
        b.slots(self.sets * self.size, self.count.div_ceil(self.blocks).div_ceil(self.size))
    }

    /// Where the chunk of a rank lies, and its length.
    pub(crate) fn chunk(&self, block: usize, rank: usize) -> (usize, usize) {
        let (start, length) = part(self.count, self.blocks, block);
        let (offset, len) = part(length, self.size, rank);
        (start + offset, len)
    }

    /// The chunks `from..to` of the output.
    pub(crate) fn chunks(&self, block: usize, from: usize, to: usize) -> Span {
        let (start, _) = self.chunk(block, from);
        let (last, len) = self.chunk(block, to - 1);
        Span::output(start, last + len - start)
    }

    /// Sends everybody its chunk of a block and folds the own chunk into `into`. The block waits for the one
    /// `sets` before it, to keep what is under way within bounds.
    pub(crate) fn exchange_and_fold(
        &self,
        block: usize,
        rank: usize,
        into: Span,
        slots: &[Span],
        ends: &[Step],
        b: &mut Builder,
    ) -> Step {
        let input = |rank: usize| {
            let (offset, len) = self.chunk(block, rank);
            Span::input(offset, len)
        };
        let own = input(rank);
        let mut end = None;
        for step in 1..self.size {
            let to = (rank + step) % self.size;
            let send = b.send(to, input(to));
            if let Some(earlier) = block.checked_sub(self.sets) {
                b.order(ends[earlier], send);
            }
            end = send.or(end);
        }
        let operand = |from: usize| match from.cmp(&rank) {
            std::cmp::Ordering::Less => slots[from].first(own.len),
            std::cmp::Ordering::Equal => own,
            std::cmp::Ordering::Greater => slots[from - 1].first(own.len),
        };
        for step in 1..self.size {
            let from = (rank + self.size - step) % self.size;
            b.recv(from, operand(from));
        }
        left::fold(self.size, operand, slots[0].first(own.len), into, true, b).or(end)
    }
}
