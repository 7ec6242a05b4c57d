//! Dissemination barrier (Hensgen, Finkel and Manber, 1988).
//!
//! ```text
//! n = 5      round 0: +1       round 1: +2       round 2: +4
//!          0>1>2>3>4>0       0>2>4>1>3>0       0>4>3>2>1>0
//! ```
//!
//! In round `k` every rank signals the rank `2^k` ahead and waits for the one `2^k` behind; a signal carries
//! the news of all earlier rounds. Steps: `ceil(log2 n)` rounds for any n. Bytes: none, `n ceil(log2 n)`
//! empty messages in all. Chosen: always.

use crate::Request;
use crate::builder::{Builder, Step};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let all: Vec<usize> = (0..size).collect();
    among(&all, rank, &[], b);
}

/// The barrier of some ranks, of which this one has the place `me`, once it has heard all of `earlier`; what it hears.
pub(crate) fn among(ranks: &[usize], me: usize, earlier: &[Step], b: &mut Builder) -> Vec<Step> {
    let size = ranks.len();
    let mut heard = earlier.to_vec();
    let mut distance = 1;
    while distance < size {
        let signal = b.signal(ranks[(me + distance) % size]);
        // Signals touch no memory, so their order has to be said: this one vouches for everything heard so
        // far, not only for the round before, because receives complete in any order.
        for &earlier in &heard {
            b.order(earlier, signal);
        }
        heard.push(b.await_signal(ranks[(me + size - distance) % size]));
        distance *= 2;
    }
    heard.split_off(earlier.len())
}
