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

use crate::builder::Builder;
use crate::cut::Cut;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let cut = Cut::new(request, choice);
    let slots = cut.slots(b);
    let mut ends = Vec::with_capacity(cut.blocks);
    for block in 0..cut.blocks {
        let set = &slots[block % cut.sets * size..][..size];
        let (offset, len) = cut.chunk(block, rank);
        let folded = cut.exchange_and_fold(block, rank, Span::output(offset, len), set, &ends, b);
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
