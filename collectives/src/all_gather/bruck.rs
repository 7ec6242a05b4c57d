//! Bruck's all-gather, for any number of ranks (Bruck et al., 1997).
//!
//! ```text
//! n = 5, scratch of rank 1:   [1]              own block
//!                             [1 2]            step 1: from rank + 1
//!                             [1 2 3 4]        step 2: two blocks from rank + 2
//!                             [1 2 3 4 0]      step 3: the rest from rank + 4
//!              output:        [0 | 1 2 3 4]    rotated into place
//! ```
//!
//! Steps: `ceil(log2 n)`, each one contiguous message. Bytes: `(n - 1) m` per rank, and every block is copied
//! once more at the end (the own one only if it is not there already). Scratch: `n m`. Blocks may differ in
//! length, since every rank knows all of them. Chosen: short blocks when n is not a power of two.

use crate::{Builder, Request, Span};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let whole = request.blocks();
    // Scratch begins with the own block: lengths of the blocks from there on, past the last rank.
    let own = whole.block(rank).0;
    let before = |index: usize| match (rank + index).checked_sub(size) {
        None => whole.extent(rank, rank + index).1,
        Some(past) => whole.total() - own + whole.extent(0, past).1,
    };
    let space = b.scratch(whole.total());
    let blocks = |from: usize, to: usize| Span {
        offset: space.offset + before(from),
        len: before(to) - before(from),
        ..space
    };
    b.copy(Span::input(0, whole.block(rank).1), blocks(0, 1));
    let mut have = 1;
    while have < size {
        let more = have.min(size - have);
        let to = (rank + size - have) % size;
        b.send(to, blocks(0, more));
        b.recv((rank + have) % size, blocks(have, have + more));
        have += more;
    }
    let wrapped = size - rank;
    let out = |first: usize, span: Span| (span, Span::output(whole.extent(0, first).1, span.len));
    let (offset, len) = whole.block(rank);
    b.copy(Span::input(0, len), Span::output(offset, len));
    for (from, into) in [out((rank + 1) % size, blocks(1, wrapped)), out(0, blocks(wrapped, size))] {
        b.copy(from, into);
    }
}
