//! Binomial gather, then a fold at the root.
//!
//! ```text
//! n = 8, root 0      0<1 2<3 4<5 6<7     steps 1, 2, 3: vectors travel up the tree, uncombined
//!                    0<<<2   4<<<6
//!                    0<<<<<<<4           then rank 0: ((x0 op x1) op x2) op ...
//! ```
//!
//! Steps: `ceil(log2 n)`. Bytes: `(n - 1) m` into the root. Scratch at the root: `n m`. The only way to combine
//! strictly from the left in fewer than `n - 1` steps or messages at one rank. Only the root has a schedule of
//! `O(n)` steps. Chosen: tiny vectors on many ranks that must be combined from the left.

use crate::gather::binomial::gather_to_root;
use crate::{Builder, Request, Span, left};

pub(crate) fn build(request: &Request, root: usize, b: &mut Builder) {
    gather_and_fold(request, root, b);
}

/// Leaves the reduction in the output of the root.
pub(crate) fn gather_and_fold(request: &Request, root: usize, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let own = Span::input(0, count);
    let whole = if rank == root { b.scratch(size * count) } else { Span::scratch(0, 0) };
    gather_to_root(rank, size, root, own, whole, b);
    if rank == root {
        let block = |from: usize| Span { offset: whole.offset + from * count, len: count, ..whole };
        let operand = |from: usize| if from == rank { own } else { block(from) };
        left::fold(size, operand, block(0), Span::output(0, count), true, b);
    }
}
