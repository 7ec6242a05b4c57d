//! Ring all-gather.
//!
//! ```text
//! n = 4, block that rank r sends to r + 1:     0   1   2   3
//!   step 0 (own)                               0   1   2   3
//!   step 1                                     3   0   1   2
//!   step 2                                     2   3   0   1
//! ```
//!
//! Blocks arrive where they belong and are passed on from there, in segments when they are long. Steps: `n - 1`.
//! Bytes: `(n - 1) m` per rank, the least that can be, always between neighbours. Chosen: long blocks. At most
//! `in_flight` receives are posted. Blocks may differ in length: steps are then as long as the longest.

use crate::builder::{Builder, part, parts};
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let blocks = request.blocks();
    let (offset, len) = blocks.block(rank);
    let own = Span::input(0, len);
    gather_round(rank, size, |rank| blocks.block(rank), own, choice, b);
    b.copy(own, Span::output(offset, len));
}

/// Once round a ring: `block` says where the block of each rank belongs in the output, `own` where this rank's is now.
pub(crate) fn gather_round(
    rank: usize,
    size: usize,
    block: impl Fn(usize) -> (usize, usize),
    own: Span,
    choice: &Choice,
    b: &mut Builder,
) {
    let (mut sends, mut recvs) = (Window::new(choice.in_flight), Window::new(choice.in_flight));
    // Segments of one block follow each other, not blocks of one segment: consecutive receives are then
    // independent, and a window of them keeps the link busy.
    for step in 0..size - 1 {
        let (sent, received) = ((rank + size - step) % size, (rank + size - step - 1) % size);
        let ((out, out_len), (into, into_len)) = (block(sent), block(received));
        let (out_segments, into_segments) = (parts(out_len, choice.segment), parts(into_len, choice.segment));
        for segment in 0..out_segments.max(into_segments) {
            if segment < out_segments {
                let (at, len) = part(out_len, out_segments, segment);
                let from = if step == 0 { own.part(at, len) } else { Span::output(out + at, len) };
                let send = b.send((rank + 1) % size, from);
                sends.admit(b, send);
            }
            if segment < into_segments {
                let (at, len) = part(into_len, into_segments, segment);
                let recv = b.recv((rank + size - 1) % size, Span::output(into + at, len));
                recvs.admit(b, recv);
            }
        }
    }
}
