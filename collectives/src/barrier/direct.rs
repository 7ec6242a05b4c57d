//! Direct barrier: everybody tells everybody.
//!
//! ```text
//! 0 <-> 1      every rank waits until it has heard of all others
//! |  x  |
//! 2 <-> 3
//! ```
//!
//! Steps: 1. Bytes: none, `n (n - 1)` empty messages; one line of memory for each rank where it is shown to all.
//! Chosen: few ranks that share memory.

use crate::{Builder, Request};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    for step in 1..size {
        b.signal((rank + step) % size);
    }
    for step in 1..size {
        b.await_signal((rank + size - step) % size);
    }
}
