//! Binomial tree reduction that keeps rank order.
//!
//! ```text
//! n = 8      0<1 2<3 4<5 6<7     step 1: neighbours
//!            0<<<2   4<<<6       step 2: pairs of pairs
//!            0<<<<<<<4           step 3
//! ```
//!
//! A rank holds the reduction of a run of ranks that begins with itself and appends the run that follows:
//! the received operand is always the right one. Steps: `ceil(log2 n)`, and one more when the operation does
//! not commute and the root is not rank 0, because the tree must then end at rank 0. Bytes on the wire:
//! `(n - 1) m`. Chosen: short vectors. Long vectors, when forced, go in segments.

use crate::builder::{Builder, part, parts};
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let (count, commutative) = (request.count(), request.commutes());
    // Where the tree ends. A tree that starts counting elsewhere than at rank 0 rotates the operands.
    let top = if commutative { root } else { 0 };
    let place = (rank + size - top) % size;
    let at = |place: usize| (place + top) % size;
    let reach = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };

    let segments = parts(count, choice.segment);
    let longest = count.div_ceil(segments);
    let children = (0..reach.trailing_zeros()).filter(|k| place + (1 << k) < size).count();
    let sets = choice.in_flight.clamp(1, segments);
    let inbox = b.slots(sets * children, longest);
    let ends_here = rank == top && rank == root;
    let sums = if ends_here || children == 0 { Vec::new() } else { b.slots(sets, longest) };

    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let set = segment % sets;
        let sum = sums.get(set).map_or(Span::output(offset, len), |sum| sum.first(len));
        let mut held = Span::input(offset, len);
        for child in 0..children {
            let slot = inbox[set * children + child].first(len);
            b.recv(at(place + (1 << child)), slot);
            b.reduce(held, slot, sum, place == 0 && child + 1 == children);
            held = sum;
        }
        if place > 0 {
            b.send(at(place - reach), held);
        } else if rank != root {
            b.send(root, held);
        }
        if rank == root && !ends_here {
            b.recv(top, Span::output(offset, len));
        }
    }
}
