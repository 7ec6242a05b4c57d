//! Pipelined chain reduction strictly from the left.
//!
//! ```text
//! x0 > x0 op x1 > (x0 op x1) op x2 > ... > all      0 > 1 > ... > n-1, then n-1 > root
//! ```
//!
//! Each rank appends its own segment to what arrives and passes it on; the last one sends the result to the
//! root. Steps: `S + n - 1` segment times for S segments, one less when the root is the last rank. Bytes:
//! every link carries the vector once; the root receives it twice when it is neither the first nor the last.
//! Scratch: `in_flight` segments. Chosen: long vectors whose operands must be combined from the left.

use crate::builder::{Builder, part, parts};
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let segments = parts(count, choice.segment);
    let sets = choice.in_flight.clamp(1, segments);
    let last = size - 1;
    let slots = b.slots(if rank > 0 { sets } else { 0 }, count.div_ceil(segments));
    let (mut sends, mut results) = (Window::new(choice.in_flight), Window::new(choice.in_flight));
    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let mut held = Span::input(offset, len);
        if rank > 0 {
            let slot = slots[segment % sets].first(len);
            b.recv(rank - 1, slot);
            let into = if rank == last && rank == root { Span::output(offset, len) } else { slot };
            b.reduce(slot, held, into, rank == last);
            held = into;
        }
        if rank < last {
            let send = b.send(rank + 1, held);
            sends.admit(b, send);
        } else if rank != root {
            let send = b.send(root, held);
            sends.admit(b, send);
        }
        if rank == root && rank != last {
            let recv = b.recv(last, Span::output(offset, len));
            results.admit(b, recv);
        }
    }
}
