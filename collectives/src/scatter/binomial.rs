//! Binomial tree scatter.
//!
//! ```text
//! n = 8, root 0      0 ----> 4           step 1: four blocks
//!                    0 > 2   4 > 6       step 2: two blocks
//!                    0>1 2>3 4>5 6>7     step 3: one block
//! ```
//!
//! The binomial gather run backwards: every rank receives the blocks of its subtree as one message, keeps its own
//! and passes the others on, the largest subtree first. Steps: `ceil(log2 n)`. Bytes: `(n - 1) m` out of the
//! root, up to `m ceil(log2 n) n / 2` in all. Scratch: the subtree, at most half of all blocks. Chosen: short
//! blocks on many ranks.

use crate::gather::binomial::Tree;
use crate::{Builder, Request, Span};

pub(crate) fn build(request: &Request, root: usize, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    scatter_from_root(rank, size, root, Span::input(0, size * count), Span::output(0, count), b);
    if rank == root {
        super::copy_own_block(request, b);
    }
}

/// Gives every rank but the root its block of `whole`, which the root holds in rank order (used there only), into
/// `own`.
pub(crate) fn scatter_from_root(
    rank: usize,
    size: usize,
    root: usize,
    whole: Span,
    own: Span,
    b: &mut Builder,
) {
    let count = own.len;
    let tree = Tree::new(rank, size, root);
    let blocks = |space: Span, from: usize, len: usize| Span {
        offset: space.offset + from * count,
        len: len * count,
        ..space
    };
    let Some(parent) = tree.parent() else {
        for (child, _, ranks) in tree.children().rev() {
            for (first, len) in tree.runs(child, ranks) {
                b.send(child, blocks(whole, first, len));
            }
        }
        return;
    };
    let alone = tree.own_ranks() == 1;
    let held = if alone { own } else { b.scratch(tree.own_ranks() * count) };
    if tree.hangs_on_root() {
        let [(_, straight), (_, wrapped)] = tree.runs(rank, tree.own_ranks());
        b.recv(parent, blocks(held, 0, straight));
        b.recv(parent, blocks(held, straight, wrapped));
    } else {
        b.recv(parent, held);
    }
    for (child, distance, ranks) in tree.children().rev() {
        b.send(child, blocks(held, distance, ranks));
    }
    if !alone {
        b.copy(blocks(held, 0, 1), own);
    }
}
