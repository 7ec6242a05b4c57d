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
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let place = (rank + size - root) % size;
    let at = |place: usize| (place + root) % size;
    // The lowest bit set in a place leads to its parent; the bits below it lead to its children.
    let reach = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };
    let pieces = parts(count, choice.segment);
    let mut window = Window::new(choice.in_flight);
    for piece in 0..pieces {
        let (offset, len) = part(count, pieces, piece);
        if place > 0 {
            let recv = b.recv(at(place - reach), Span::output(offset, len));
            window.admit(b, recv);
        }
        let mut distance = reach / 2;
        while distance > 0 {
            if place + distance < size {
                b.send(at(place + distance), super::source(request, root, offset, len));
            }
            distance /= 2;
        }
    }
    super::keep(request, root, b);
}
