//! Binomial tree broadcast.
//!
//! ```text
//! n = 8, root 0      0 ----> 4           step 1
//!                    0 > 2   4 > 6       step 2
//!                    0>1 2>3 4>5 6>7     step 3
//! ```
//!
//! Every rank receives once, then serves its subtrees, the largest first. Steps: `ceil(log2 n)`. Bytes on the
//! wire: `(n - 1) m`; the root alone sends `m ceil(log2 n)`. Chosen: short vectors, where steps count more
//! than bytes. Long vectors, when forced, go in segments.

use crate::builder::{Builder, part, parts};
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    broadcast_span(request, root, choice, Span::input(0, request.count()), b);
    super::copy_own_result(request, root, b);
}

/// Brings `source`, a span of the root, into the output of all others.
pub(crate) fn broadcast_span(request: &Request, root: usize, choice: &Choice, source: Span, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = source.len;
    let place = (rank + size - root) % size;
    let at = |place: usize| (place + root) % size;
    // The lowest bit set in a place leads to its parent; the bits below it lead to its children.
    let reach = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };
    let segments = parts(count, choice.segment);
    let mut window = Window::new(choice.in_flight);
    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let mut held = Span { offset: source.offset + offset, len, ..source };
        if place > 0 {
            held = Span::output(offset, len);
            let recv = b.recv(at(place - reach), held);
            window.admit(b, recv);
        }
        let mut distance = reach / 2;
        while distance > 0 {
            if place + distance < size {
                b.send(at(place + distance), held);
            }
            distance /= 2;
        }
    }
}
