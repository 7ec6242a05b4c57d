//! Direct gather: everybody sends to the root.
//!
//! ```text
//! 0 <── 1
//!   <── 2        root 0; every block goes straight to its place in the output
//!   <── 3
//! ```
//!
//! Steps: 1, in which the root handles `n - 1` messages. Bytes: `(n - 1) m` in all, each once over one link. No
//! scratch. A rank needs to know only its own count, so blocks may differ in length; empty ones are sent too, so
//! that ranks that disagree about a length find out. The root posts a bounded number of receives at a time.
//! Chosen: long blocks, blocks that differ in length, and short ones of few ranks that share memory.

use crate::builder::Builder;
use crate::window::Window;
use crate::{Choice, Request, Span};

/// The fewest receives that the root posts at once: it should not matter much which rank comes late.
const POSTED: usize = 64;

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    if rank != root {
        b.send_known_here(root, Span::input(0, request.counts.of(rank)));
        return;
    }
    let blocks = request.blocks();
    let mut window = Window::new(choice.in_flight.max(POSTED));
    for step in 1..size {
        let from = (rank + step) % size;
        let (offset, len) = blocks.block(from);
        let recv = b.recv_known_here(from, Span::output(offset, len));
        window.admit(b, recv);
    }
    let (offset, len) = blocks.block(rank);
    b.copy(Span::input(0, len), Span::output(offset, len));
}
