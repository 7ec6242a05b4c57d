//! Binomial tree broadcast.
//!
//! ```text
//! n = 8, root 0      0 ----> 4           step 1
//!                    0 > 2   4 > 6       step 2
//!                    0>1 2>3 4>5 6>7     step 3
//! ```
//!
//! Every rank receives once, then serves its subtrees, the deepest first: with 5 ranks that is not the farthest. Steps:
//! `ceil(log2 n)`. Bytes on the wire: `(n - 1) m`; the root alone sends `m ceil(log2 n)`. Chosen: short vectors, where
//! steps count more than bytes. Long vectors, when forced, go in segments.

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
    let mut distances: Vec<usize> = std::iter::successors(Some(reach / 2), |distance| Some(distance / 2))
        .take_while(|distance| *distance > 0)
        .filter(|distance| place + distance < size)
        .collect();
    // The last subtree may be cut short by the end of the places.
    distances.sort_by_key(|distance| std::cmp::Reverse(depth((*distance).min(size - place - distance))));
    let segments = parts(count, choice.segment);
    let cut = |segment: usize| part(count, segments, segment);
    if place == 0 {
        // It has all segments: the deepest subtree gets all of them before a leaf gets any, and passes them on
        // meanwhile.
        for distance in &distances {
            for (offset, len) in (0..segments).map(cut) {
                b.send(at(place + distance), Span { offset: source.offset + offset, len, ..source });
            }
        }
        return;
    }
    let mut window = Window::new(choice.in_flight);
    for (offset, len) in (0..segments).map(cut) {
        let held = Span::output(offset, len);
        let recv = b.recv(at(place - reach), held);
        window.admit(b, recv);
        for distance in &distances {
            b.send(at(place + distance), held);
        }
    }
}

/// How many steps a message takes from the top of a subtree of so many places to the last of them.
fn depth(places: usize) -> u32 {
    places.next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Collective, Counts, Order, Tuning, schedule};

    /// To whom the root sends, in order.
    fn served(size: usize) -> Vec<usize> {
        let collective = Collective::Broadcast { root: 0 };
        let (counts, order) = (Counts::Same(3), Order::Free);
        let request = Request { collective, rank: 0, size, counts, element: 4, order, in_place: true };
        let schedule = schedule(&request, &Tuning::default()).unwrap();
        assert_eq!(schedule.name(), "broadcast/binomial");
        let to = |action: &Action| match action {
            Action::Send { to, .. } => Some(*to),
            _ => None,
        };
        schedule.actions().iter().filter_map(to).collect()
    }

    #[test]
    fn the_deepest_subtree_is_served_first() {
        assert_eq!(served(8), [4, 2, 1]);
        assert_eq!(served(6), [4, 2, 1]);
        assert_eq!(served(5), [2, 4, 1]);
        assert_eq!(served(10), [4, 8, 2, 1]);
        assert_eq!(served(17), [8, 4, 2, 16, 1]);
    }
}
