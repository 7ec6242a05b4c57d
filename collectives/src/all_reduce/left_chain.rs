//! Pipelined chain strictly from the left, and back.
//!
//! ```text
//! x0  >  x0 op x1  >  (x0 op x1) op x2  >  ...  > all      0 > 1 > ... > n-1
//! all <  all       <  all               <  ...  < all      0 < 1 < ... < n-1
//! ```
//!
//! Each rank appends its own segment to what arrives and passes it on; the result comes back the same way. Both
//! ways are pipelined, so links are busy in both directions. Steps: `S + 2 n - 3` segment times for S segments.
//! Bytes: `2 m` per rank, `m` at both ends. Scratch: `in_flight` segments. Chosen: long vectors on few ranks
//! whose operands must be combined from the left.

use crate::builder::{Builder, part, parts};
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let segments = parts(count, choice.segment);
    let sets = choice.in_flight.clamp(1, segments);
    let (first, last) = (rank == 0, rank + 1 == size);
    let slots = b.slots(if first { 0 } else { sets }, count.div_ceil(segments));
    let limit = choice.in_flight;
    let (mut up, mut down, mut back) = (Window::new(limit), Window::new(limit), Window::new(limit));
    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let (own, output) = (Span::input(offset, len), Span::output(offset, len));
        let mut held = own;
        if !first {
            let slot = slots[segment % sets].first(len);
            b.recv(rank - 1, slot);
            held = if last { output } else { slot };
            b.reduce(slot, own, held, last);
        }
        if !last {
            let send = b.send(rank + 1, held);
            up.admit(b, send);
            let recv = b.recv(rank + 1, output);
            back.admit(b, recv);
        }
        if !first {
            let send = b.send(rank - 1, output);
            down.admit(b, send);
        }
    }
}
