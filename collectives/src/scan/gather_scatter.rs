//! Binomial gather, a scan at rank 0, and a binomial scatter.
//!
//! ```text
//! n = 8      0<1 2<3 4<5 6<7     vectors travel up the tree, uncombined
//!            0<<<2   4<<<6
//!            0<<<<<<<4           then rank 0: x0, x0 op x1, (x0 op x1) op x2, ...
//!            0>>>>>>>4 ..        and each rank's result back down
//! ```
//!
//! Steps: `2 ceil(log2 n)`. Bytes: `(n - 1) m` into rank 0 and as much out of it. Scratch at rank 0: `n m`. Only
//! rank 0 has a schedule of `O(n)` steps. Chosen: tiny vectors on many ranks that must be combined from the
//! left.

use crate::gather::binomial::gather_to_root;
use crate::scatter::binomial::scatter_from_root;
use crate::{Builder, Collective, Request, Span};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, collective, .. } = *request;
    let count = request.count();
    let exclusive = collective == Collective::ExclusiveScan;
    let own = Span::input(0, count);
    // An exclusive scan has the result of a rank one block earlier, and puts nothing before the first.
    let space = if rank == 0 { b.scratch((size + 1) * count) } else { Span::scratch(0, 0) };
    let block = |index: usize| Span { offset: space.offset + index * count, len: count, ..space };
    let from_block = |index: usize| Span { offset: space.offset + index * count, len: size * count, ..space };
    let operands = if rank == 0 { from_block(1) } else { space };
    gather_to_root(rank, size, 0, own, operands, b);
    if rank == 0 {
        b.copy(own, block(1));
        // Nobody gets the contribution of the last rank of an exclusive scan.
        for index in 1..if exclusive { size - 1 } else { size } {
            b.reduce(block(index), block(index + 1), block(index + 1), false);
        }
        if !exclusive {
            b.copy(own, Span::output(0, count));
        }
    }
    let results = match (rank, exclusive) {
        (0, true) => from_block(0),
        (0, false) => from_block(1),
        _ => space,
    };
    scatter_from_root(rank, size, 0, results, Span::output(0, count), b);
}
