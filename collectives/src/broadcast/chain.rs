//! Pipelined chain broadcast.
//!
//! ```text
//! root > root+1 > root+2 > ... > root-1        (ranks modulo n)
//!  s2      s1       s0                          segments under way at the same time
//! ```
//!
//! Each rank passes a segment on as soon as it has it. Steps: `S + n - 2` segment times for S segments.
//! Bytes: every link carries the vector once, which is the least that can be. Chosen: long vectors. At most
//! `in_flight` receives are posted, so a rank announces little memory at a time.

use crate::builder::{Builder, part, parts};
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let place = (rank + size - root) % size;
    let segments = parts(count, choice.segment);
    let (mut sends, mut recvs) = (Window::new(choice.in_flight), Window::new(choice.in_flight));
    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        if place > 0 {
            let recv = b.recv((rank + size - 1) % size, Span::output(offset, len));
            recvs.admit(b, recv);
        }
        if place + 1 < size {
            let send = b.send((rank + 1) % size, super::sent_from(request, root, offset, len));
            sends.admit(b, send);
        }
    }
    super::copy_own_result(request, root, b);
}
