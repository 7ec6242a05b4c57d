//! Broadcasts, one algorithm per file.
//!
//! Invariant of all: the root sends from its input, the others receive into their output and send on from
//! there. Ranks are renumbered so that the root is 0.

pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod direct;
pub(crate) mod double_tree;
pub(crate) mod scatter_all_gather;
pub(crate) mod two_level;

use crate::{Builder, Request, Span};

/// Where this rank's elements `offset..offset + len` are sent from.
fn sent_from(request: &Request, root: usize, offset: usize, len: usize) -> Span {
    if request.rank == root { Span::input(offset, len) } else { Span::output(offset, len) }
}

/// Copies the root's own result into its output.
fn copy_own_result(request: &Request, root: usize, b: &mut Builder) {
    if request.rank == root {
        b.copy(Span::input(0, request.count()), Span::output(0, request.count()));
    }
}
