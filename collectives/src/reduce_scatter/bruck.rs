//! Bruck's all-to-all, then a fold.
//!
//! ```text
//! rank r:  block r of everybody, by doubling distances      x0[r] x1[r] x2[r] ...
//!          ((x0[r] op x1[r]) op x2[r]) op ...
//! ```
//!
//! Steps: `ceil(log2 n)`, one message each ([`crate::all_to_all::bruck`]). Bytes: about `m n / 2` per step and
//! rank. Scratch: all blocks, twice. Operands are combined strictly from the left. Chosen: tiny blocks on many
//! ranks that must be combined from the left.

use crate::all_to_all::bruck::swap_blocks;
use crate::{Builder, Request, Span, left};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let blocks = b.scratch(size * count);
    swap_blocks(rank, size, Span::input(0, size * count), blocks, false, b);
    let block = |from: usize| Span { offset: blocks.offset + from * count, len: count, ..blocks };
    left::fold(size, block, block(0), Span::output(0, count), true, b);
}
