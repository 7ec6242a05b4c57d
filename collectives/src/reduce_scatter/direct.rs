//! Direct exchange reduce-scatter that keeps rank order.
//!
//! ```text
//! rank r:  block j of the input  > rank j          for every j
//!          x0[r] op x1[r] op ... < everybody       folded from rank 0 upwards
//! ```
//!
//! Steps: 1 per segment. Bytes: `(n - 1) m` per rank, as few as the ring, but to everybody, in `n - 1` messages
//! at once. Scratch: `n - 1` segments for each segment under way. Operands are combined strictly from the left. Blocks
//! may differ in length. Chosen: short blocks on few ranks that do not share a host, or share memory, and operations
//! that do not commute.

use crate::builder::{Builder, part, parts};
use crate::{Choice, Request, Span, left};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let blocks = request.blocks();
    let own = blocks.block(rank).1;
    // Every block is cut into the same number of segments, for all to be under way at the same time.
    let segments = parts(blocks.longest(), choice.segment);
    let sets = choice.in_flight.clamp(1, segments);
    let slots = b.slots(sets * (size - 1), own.div_ceil(segments));
    let mut ends = Vec::with_capacity(segments);
    let staged = super::Staged::new(request, b);

    for segment in 0..segments {
        let len = part(own, segments, segment).1;
        // What holds the next segments back: the end of this one, or its last send if there is nothing to reduce.
        let mut end = None;
        let input = |block: usize| {
            let (start, whole) = blocks.block(block);
            let (offset, len) = part(whole, segments, segment);
            Span::input(start + offset, len)
        };
        let inbox = &slots[segment % sets * (size - 1)..][..size - 1];
        for step in 1..size {
            let to = (rank + step) % size;
            let send = b.send(to, input(to));
            if segment >= sets {
                b.order(ends[segment - sets], send);
            }
            end = send.or(end);
        }
        let operand = |from: usize| match from.cmp(&rank) {
            std::cmp::Ordering::Less => inbox[from].first(len),
            std::cmp::Ordering::Equal => input(rank),
            std::cmp::Ordering::Greater => inbox[from - 1].first(len),
        };
        for step in 1..size {
            let from = (rank + size - step) % size;
            b.recv(from, operand(from));
        }
        let into = staged.part(segments, segment);
        end = left::fold(size, operand, inbox[0].first(len), into, true, b).or(end);
        ends.push(end);
    }
    staged.finish(b);
}
