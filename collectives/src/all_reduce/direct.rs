//! Direct exchange: everybody sends to everybody and adds up alone.
//!
//! ```text
//! 0 <-> 1      every rank:  ((x0 op x1) op x2) op x3
//! |  x  |
//! 2 <-> 3
//! ```
//!
//! Steps: 1. Bytes on the wire: `n (n - 1) m`. Everybody folds from rank 0 upwards, so rank order is kept and
//! the bits are the same everywhere. Long vectors go in segments, so that one is reduced, still in the cache,
//! while the next arrives. Scratch: `n - 1` segments for each segment under way. Chosen: tiny vectors on few
//! ranks, where one latency is all that counts; and up to medium ones on two ranks, where it sends no more than
//! the ring and has one phase instead of two.

use crate::builder::{Builder, part, parts};
use crate::{Choice, Request, Span, left};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let (rank, size, count) = (request.rank, request.size, request.count());
    let segments = parts(count, choice.segment);
    let sets = choice.in_flight.clamp(1, segments);
    let slots = b.slots(sets * (size - 1), count.div_ceil(segments));
    // The slots hold receives back; sends of the own contribution would otherwise all be ready at once.
    let mut ends = Vec::with_capacity(segments);

    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let own = Span::input(offset, len);
        let output = Span::output(offset, len);
        // Starting behind oneself spreads the first messages over all receivers.
        for step in 1..size {
            let send = b.send((rank + step) % size, own);
            if segment >= sets {
                b.order(ends[segment - sets], send);
            }
        }
        let inbox = &slots[segment % sets * (size - 1)..][..size - 1];
        let operand = |from: usize| match from.cmp(&rank) {
            std::cmp::Ordering::Less => inbox[from].first(len),
            std::cmp::Ordering::Equal => own,
            std::cmp::Ordering::Greater => inbox[from - 1].first(len),
        };
        for step in 1..size {
            let from = (rank + size - step) % size;
            b.recv(from, operand(from));
        }
        ends.push(left::fold(size, operand, inbox[0].first(len), output, true, b));
    }
}
