//! Direct reduce-scatter strictly from the left, then an all-gather by doubling.
//!
//! ```text
//! rank p:  part p of every vector < everybody       ((x0 op x1) op x2) op ...
//! n = 5, parts of the result that rank 1 holds:     [1]  [1 2]  [1 2 3 4]  [1 2 3 4 0]
//! ```
//!
//! In the second half each rank asks the one as far ahead as it holds parts for as many more (Bruck's all-gather,
//! with every part at its place; parts that go past the last rank are two messages). Steps: `1 + ceil(log2 n)` for
//! each segment, of `n - 1` messages and of one or two. Bytes: `2 m (n - 1) / n` per rank, the least that can be.
//! Scratch: `n` segments for each segment under way. Chosen: vectors that must be combined from the left and
//! are too short for a pipeline over all ranks.

use crate::builder::{Builder, Step, part, parts};
use crate::{Choice, Request, Span, left};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let cut = Cut::new(request, choice);
    let slots = cut.slots(b);
    let mut ends = Vec::with_capacity(cut.blocks);
    for block in 0..cut.blocks {
        let set = &slots[block % cut.sets * size..][..size];
        let (offset, len) = cut.chunk(block, rank);
        let folded = cut.fold(block, rank, Span::output(offset, len), set, &ends, b);
        let mut end = folded;
        let mut have = 1;
        while have < size {
            let more = have.min(size - have);
            let (to, from) = ((rank + size - have) % size, (rank + have) % size);
            for (first, ranks) in runs(rank, more, size) {
                b.send(to, cut.chunks(block, first, first + ranks));
            }
            for (first, ranks) in runs(from, more, size) {
                end = b.recv(from, cut.chunks(block, first, first + ranks)).or(end);
            }
            have += more;
        }
        ends.push(end);
    }
}

/// `ranks` ranks from `first` on, counted past the last rank: one or two runs.
fn runs(first: usize, ranks: usize, size: usize) -> impl Iterator<Item = (usize, usize)> {
    let straight = ranks.min(size - first);
    [(first, straight), (0, ranks - straight)].into_iter().filter(|(_, ranks)| *ranks > 0)
}

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
    fn chunks(&self, block: usize, from: usize, to: usize) -> Span {
        let (start, _) = self.chunk(block, from);
        let (last, len) = self.chunk(block, to - 1);
        Span::output(start, last + len - start)
    }

    /// Sends everybody its chunk of a block and folds the own chunk into `into`. The block waits for the one
    /// `sets` before it, to keep what is under way within bounds.
    pub(crate) fn fold(
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
