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

use crate::{Builder, Request};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let mut heard = Vec::new();
    let mut distance = 1;
    while distance < size {
        let signal = b.signal((rank + distance) % size);
        // Signals touch no memory, so their order has to be said: this one vouches for everything heard so
        // far, not only for the round before, because receives complete in any order.
        for &earlier in &heard {
            b.order(earlier, signal);
        }
        heard.push(b.await_signal((rank + size - distance) % size));
        distance *= 2;
    }
}
