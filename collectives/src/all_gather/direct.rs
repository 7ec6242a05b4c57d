//! Direct all-gather: everybody sends its block to everybody.
//!
//! ```text
//! 0 <-> 1      every block arrives where it belongs
//! |  x  |
//! 2 <-> 3
//! ```
//!
//! Steps: 1. Bytes: `(n - 1) m` per rank, the least that can be, in `n - 1` messages; written once where they are shown
//! to all. Blocks that cannot be go to a few at a time (`in_flight`): were all to begin at once with the same rank, its
//! port would be what all wait for. Chosen: short blocks of few ranks that share memory.

use crate::window::Window;
use crate::{Builder, Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let blocks = request.blocks();
    let (own, len) = blocks.block(rank);
    let (mut sends, mut recvs) = (Window::new(choice.in_flight), Window::new(choice.in_flight));
    for step in 1..size {
        let send = b.send((rank + step) % size, Span::input(0, len));
        sends.admit(b, send);
        let from = (rank + size - step) % size;
        let (offset, len) = blocks.block(from);
        let recv = b.recv(from, Span::output(offset, len));
        recvs.admit(b, recv);
    }
    b.copy(Span::input(0, len), Span::output(own, len));
}
