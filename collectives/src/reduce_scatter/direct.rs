//! Direct exchange reduce-scatter that keeps rank order.
//!
//! ```text
//! rank r:  block j of the input  > rank j          for every j
//!          x0[r] op x1[r] op ... < everybody       folded from rank 0 upwards
//! ```
//!
//! Steps: 1 per segment. Bytes: `(n - 1) m` per rank, as few as the ring, but to everybody, in `n - 1` messages
//! at once. Scratch: `n - 1` segments for each segment under way. Chosen: short blocks, and operations that do
//! not commute.

use crate::builder::{Builder, part, parts};
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, count, .. } = *request;
    let pieces = parts(count, choice.segment);
    let sets = choice.in_flight.clamp(1, pieces);
    let slots = b.slots(sets * (size - 1), count.div_ceil(pieces));
    let mut ends = Vec::with_capacity(pieces);

    for piece in 0..pieces {
        let (offset, len) = part(count, pieces, piece);
        let input = |block: usize| Span::input(block * count + offset, len);
        let inbox = &slots[piece % sets * (size - 1)..][..size - 1];
        for step in 1..size {
            let to = (rank + step) % size;
            let send = b.send(to, input(to));
            if piece >= sets {
                b.order(ends[piece - sets], send);
            }
        }
        let source = |from: usize| match from.cmp(&rank) {
            std::cmp::Ordering::Less => inbox[from].first(len),
            std::cmp::Ordering::Equal => input(rank),
            std::cmp::Ordering::Greater => inbox[from - 1].first(len),
        };
        for step in 1..size {
            let from = (rank + size - step) % size;
            b.recv(from, source(from));
        }
        // In place, the output lies on the first block, which other steps may still read: the sum grows in
        // a slot, and only the last operand brings it over.
        let mut sum = source(0);
        let mut end = None;
        for from in 1..size {
            let into = if from + 1 == size { Span::output(offset, len) } else { inbox[0].first(len) };
            end = b.reduce(sum, source(from), into);
            sum = into;
        }
        ends.push(end);
    }
}
