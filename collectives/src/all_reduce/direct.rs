//! Direct exchange: everybody sends to everybody and adds up alone.
//!
//! ```text
//! 0 <-> 1      every rank:  ((x0 op x1) op x2) op x3
//! |  x  |
//! 2 <-> 3
//! ```
//!
//! Steps: 1. Bytes on the wire: `n (n - 1) m`. Everybody folds from rank 0 upwards, so rank order is kept and
//! the bits are the same everywhere. Chosen: tiny vectors on few ranks, where one latency is all that counts.
//! Scratch: `(n - 1) m`.

use crate::{Builder, Request, Span};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let own = Span::input(0, count);
    let output = Span::output(0, count);
    // Starting behind oneself spreads the first messages over all receivers.
    for step in 1..size {
        b.send((rank + step) % size, own);
    }
    let inbox = b.slots(size - 1, count);
    let source = |from: usize| match from.cmp(&rank) {
        std::cmp::Ordering::Less => inbox[from],
        std::cmp::Ordering::Equal => own,
        std::cmp::Ordering::Greater => inbox[from - 1],
    };
    for step in 1..size {
        let from = (rank + size - step) % size;
        b.recv(from, source(from));
    }
    // In place, the output holds the own contribution until its turn comes: the sum grows in a slot and
    // moves over with the last operand. The first slot is free for that, being an operand of the first sum.
    let mut sum = source(0);
    for from in 1..size {
        let into = if from + 1 == size { output } else { inbox[0] };
        b.reduce(sum, source(from), into);
        sum = into;
    }
}
