//! Direct reduction: everybody sends to the root, which folds.
//!
//! ```text
//! 0 <── 1
//!   <── 2        root 0:  ((x0 op x1) op x2) op x3
//!   <── 3
//! ```
//!
//! Steps: 1, in which the root handles `n - 1` messages. Bytes: `(n - 1) m`, all into the root. Scratch at the
//! root: `(n - 1) m`. Operands are combined strictly from the left. Chosen: tiny vectors on few ranks that must be
//! combined from the left.

use crate::{Builder, Request, Span, left};

pub(crate) fn build(request: &Request, root: usize, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let own = Span::input(0, count);
    if rank != root {
        b.send(root, own);
        return;
    }
    let inbox = b.slots(size - 1, count);
    let operand = |from: usize| match from.cmp(&rank) {
        std::cmp::Ordering::Less => inbox[from],
        std::cmp::Ordering::Equal => own,
        std::cmp::Ordering::Greater => inbox[from - 1],
    };
    for step in 1..size {
        let from = (rank + step) % size;
        b.recv(from, operand(from));
    }
    left::fold(size, operand, inbox[0], Span::output(0, count), true, b);
}
