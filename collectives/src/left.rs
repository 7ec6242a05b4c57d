//! Folding operands that all lie here strictly from the left: what the algorithms that keep [`crate::Order::Left`]
//! share.
//!
//! Invariant: the result is `((x0 op x1) op x2) op …`, whatever the lengths and the ranks; `last` says whether these
//! are all ranks. Neighbours: the direct
//! exchanges and the gathers of [`crate::all_reduce`], [`crate::reduce`] and [`crate::reduce_scatter`].

use crate::Span;
use crate::builder::{Builder, Step};

/// Folds the operands of `size` ranks (two at least) from the left into `into`; returns the last step. Partial
/// results grow in `spare`, which is one of these: the operand of rank 0, that of rank 1, or disjoint from all.
/// `into` may be the operand of one rank, or disjoint from all.
pub(crate) fn fold(
    size: usize,
    operand: impl Fn(usize) -> Span,
    spare: Span,
    into: Span,
    last: bool,
    b: &mut Builder,
) -> Step {
    // The result's place may hold an operand until its turn comes: only the last step writes there.
    let mut sum = operand(0);
    let mut end = None;
    for rank in 1..size {
        let done = rank + 1 == size;
        let target = if done { into } else { spare };
        end = b.reduce(sum, operand(rank), target, last && done).or(end);
        sum = target;
    }
    end
}
