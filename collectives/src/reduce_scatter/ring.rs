//! Segmented, pipelined ring reduce-scatter.
//!
//! ```text
//! n = 4, block that rank r sends to r + 1:     0   1   2   3
//!   step 0 (own)                               3   0   1   2     the receiver adds its own
//!   step 1                                     2   3   0   1
//!   step 2                                     1   2   3   0     now rank r has all of block r
//! ```
//!
//! The first half of the ring all-reduce. Segment s of all blocks goes round by itself; `in_flight` of them are
//! under way. Steps: `n - 1` segment times per segment. Bytes: `(n - 1) m` per rank, the least that can be.
//! Scratch: two slots for each segment under way, one receiving while the other is sent on. Chosen: operations
//! that commute. Blocks may differ in length: steps are then as long as the longest.

use crate::builder::{Builder, part, parts};
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let blocks = request.blocks();
    let staged = super::Staged::new(request, b);
    let block = |rank: usize| {
        let (offset, len) = blocks.block(rank);
        Span::input(offset, len)
    };
    reduce_round(rank, size, block, staged.span, choice, b);
    staged.finish(b);
}

/// Once round a ring: `block` says where this rank has its contribution to the block of each, `into` where the sum of
/// its own goes.
pub(crate) fn reduce_round(
    rank: usize,
    size: usize,
    block: impl Fn(usize) -> Span,
    into: Span,
    choice: &Choice,
    b: &mut Builder,
) {
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let behind = |back: usize| (rank + 2 * size - back) % size;
    // Every block is cut into the same number of segments, for all to go round together.
    let longest = (0..size).map(|rank| block(rank).len).max().unwrap_or(0);
    let segments = parts(longest, choice.segment);
    let sets = choice.in_flight.clamp(1, segments);
    let slots = b.slots(2 * sets, longest.div_ceil(segments));
    let mut ends = Vec::with_capacity(segments);

    for segment in 0..segments {
        let cut = |span: Span| {
            let (offset, len) = part(span.len, segments, segment);
            span.part(offset, len)
        };
        let own = |rank: usize| cut(block(rank));
        let mut partial = own(behind(1));
        let mut end = None;
        for step in 0..size - 1 {
            let send = b.send(next, partial);
            if step == 0 && segment >= sets {
                b.order(ends[segment - sets], send);
            }
            let own = own(behind(step + 2));
            let slot = slots[2 * (segment % sets) + step % 2].first(own.len);
            b.recv(previous, slot);
            let last = step + 2 == size;
            let into = if last { cut(into) } else { slot };
            let (left, right) = if rank == 0 && size == 2 { (own, slot) } else { (slot, own) };
            end = b.reduce(left, right, into, last).or(send).or(end);
            partial = slot;
        }
        ends.push(end);
    }
}
