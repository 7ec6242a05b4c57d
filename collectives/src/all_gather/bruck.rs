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
//! once more at the end (the own one only if it is not there already). Scratch: `n m`. Chosen: short blocks when n is not a power of two.

use crate::{Builder, Request, Span};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let space = b.scratch(size * count);
    let blocks =
        |from: usize, len: usize| Span { offset: space.offset + from * count, len: len * count, ..space };
    b.copy(Span::input(0, count), blocks(0, 1));
    let mut have = 1;
    while have < size {
        let more = have.min(size - have);
        b.send((rank + size - have) % size, blocks(0, more));
        b.recv((rank + have) % size, blocks(have, more));
        have += more;
    }
    let wrapped = size - rank;
    b.copy(Span::input(0, count), Span::output(rank * count, count));
    b.copy(blocks(1, wrapped - 1), Span::output((rank + 1) * count, (wrapped - 1) * count));
    b.copy(blocks(wrapped, rank), Span::output(0, rank * count));
}
