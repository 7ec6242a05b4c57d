//! Recursive doubling all-gather, for powers of two.
//!
//! ```text
//! n = 4     0=1  2=3         step 1: neighbours swap blocks
//!           0====2  1====3   step 2: pairs swap pairs of blocks
//! ```
//!
//! Every rank holds an aligned run of blocks, in place, and swaps it for the run beside it: one contiguous
//! message per step, no scratch. Steps: `log2 n`. Bytes: `(n - 1) m` per rank. Chosen: short blocks when n is a
//! power of two.

use crate::{Builder, Request, Span};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    b.copy(Span::input(0, count), Span::output(rank * count, count));
    let mut distance = 1;
    while distance < size {
        let partner = rank ^ distance;
        // Runs are as long as the distance and aligned to it.
        let run = |rank: usize| Span::output(rank / distance * distance * count, distance * count);
        b.send(partner, run(rank));
        b.recv(partner, run(partner));
        distance *= 2;
    }
}
