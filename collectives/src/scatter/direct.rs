//! Direct scatter: the root sends to everybody.
//!
//! ```text
//! 0 ──> 1
//!   ──> 2        root 0; every block goes straight from its place in the input
//!   ──> 3
//! ```
//!
//! Steps: 1, in which the root handles `n - 1` messages. Bytes: `(n - 1) m` in all, each once over one link. No
//! scratch. A rank needs to know only its own count, so blocks may differ in length; empty ones are sent too, so
//! that ranks that disagree about a length find out. The root has a bounded number of sends under way.
//! Chosen: long blocks, blocks that differ in length, and short ones of few ranks that share memory.

use crate::builder::Builder;
use crate::window::Window;
use crate::{Choice, Request, Span};

/// The fewest sends that the root has under way: it should not matter much which rank comes late.
const UNDER_WAY: usize = 64;

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    if rank != root {
        b.recv_known_here(root, Span::output(0, request.counts.of(rank)));
        return;
    }
    let blocks = request.blocks();
    let mut window = Window::new(choice.in_flight.max(UNDER_WAY));
    for step in 1..size {
        let to = (rank + step) % size;
        let (offset, len) = blocks.block(to);
        let send = b.send_known_here(to, Span::input(offset, len));
        window.admit(b, send);
    }
    super::copy_own_block(request, b);
}
