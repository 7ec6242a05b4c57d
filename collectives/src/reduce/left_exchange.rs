//! Direct reduce-scatter strictly from the left, then a direct gather.
//!
//! ```text
//! rank p:  part p of every vector < everybody       ((x0 op x1) op x2) op ...
//!          part p of the result   > root
//! ```
//!
//! Steps: 2 for each segment, of `n - 1` messages. Bytes: `m (n - 1) / n` per rank and as much again into the
//! root. Scratch: `n` segments for each segment under way. Chosen: vectors that must be combined from the left and
//! are too short for a pipeline over all ranks.

use crate::cut::Cut;
use crate::{Builder, Choice, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let cut = Cut::new(request, choice);
    let slots = cut.slots(b);
    let mut ends = Vec::with_capacity(cut.blocks);
    for block in 0..cut.blocks {
        let set = &slots[block % cut.sets * size..][..size];
        let (offset, len) = cut.chunk(block, rank);
        let into = if rank == root { Span::output(offset, len) } else { set[size - 1].first(len) };
        let folded = cut.exchange_and_fold(block, rank, into, set, &ends, b);
        let mut end = folded;
        if rank != root {
            end = b.send(root, into).or(end);
        } else {
            for step in 1..size {
                let from = (rank + step) % size;
                let (offset, len) = cut.chunk(block, from);
                end = b.recv(from, Span::output(offset, len)).or(end);
            }
        }
        ends.push(end);
    }
}
