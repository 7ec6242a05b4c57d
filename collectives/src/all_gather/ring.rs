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
//! `in_flight` receives are posted.

use crate::builder::{Builder, part, parts};
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, count, .. } = *request;
    let pieces = parts(count, choice.segment);
    let (mut sends, mut recvs) = (Window::new(choice.in_flight), Window::new(choice.in_flight));
    // Segments of one block follow each other, not blocks of one segment: consecutive receives are then
    // independent, and a window of them keeps the link busy.
    for step in 0..size - 1 {
        for piece in 0..pieces {
            let (offset, len) = part(count, pieces, piece);
            let block = (rank + size - step) % size;
            let from =
                if step == 0 { Span::input(offset, len) } else { Span::output(block * count + offset, len) };
            let send = b.send((rank + 1) % size, from);
            sends.admit(b, send);
            let block = (rank + size - step - 1) % size;
            let recv = b.recv((rank + size - 1) % size, Span::output(block * count + offset, len));
            recvs.admit(b, recv);
        }
    }
    b.copy(Span::input(0, count), Span::output(rank * count, count));
}
