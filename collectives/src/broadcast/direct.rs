//! Direct broadcast: the root sends to everybody.
//!
//! ```text
//! 0 ──> 1
//!   ──> 2        root 0
//!   ──> 3
//! ```
//!
//! Steps: 1, in which the root handles `n - 1` messages. Bytes: `(n - 1) m`, all out of the root; written once where
//! the root shows them to all. Chosen: short vectors on few ranks that share memory.

use super::copy_own_result;
use crate::{Builder, Request, Span};

pub(crate) fn build(request: &Request, root: usize, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    if rank != root {
        b.recv(root, Span::output(0, count));
        return;
    }
    for step in 1..size {
        b.send((rank + step) % size, Span::input(0, count));
    }
    copy_own_result(request, root, b);
}
