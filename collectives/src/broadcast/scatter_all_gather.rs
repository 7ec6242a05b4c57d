//! Broadcast as a scatter and an all-gather (Barnett et al., 1994; van de Geijn).
//!
//! ```text
//! n = 4, root 0      0 -[..cd]-> 2                  scatter down a binomial tree: place p keeps chunk p
//!                    0 -[.b]-> 1    2 -[d]-> 3
//!                    a>3  b>0 ..                    all-gather, distances doubling (Bruck): place p sends what
//!                    ab>2 bc>3 ..                   it has to place p - distance
//! ```
//!
//! Chunks go straight to where they belong; a run of them that wraps round the end of the vector is two messages.
//! What a place has from the scatter already is not sent to it again, and nothing to the root. Steps:
//! `2 ceil(log2 n)` for any n. Bytes: less than `2 m` into each rank and out of it. Chosen: vectors of medium
//! length on many ranks, where a pipeline is not yet full. Long vectors, when forced, go in segments.

use crate::builder::{Builder, part, parts};
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let (rank, size, count) = (request.rank, request.size, request.count());
    let place = (rank + size - root) % size;
    let at = |place: usize| (place + root) % size;
    // How many chunks a place has from the scatter: its own and those of the places below it.
    let share = |place: usize| match place {
        0 => size,
        _ => (1 << place.trailing_zeros()).min(size - place),
    };
    let reach = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };
    let segments = parts(count, choice.segment);
    // So many messages of one kind a segment has at most.
    let rounds = size.next_power_of_two().trailing_zeros() as usize;
    let limit = choice.in_flight.max(1).saturating_mul(3 * rounds);
    let (mut sends, mut recvs) = (Window::new(limit), Window::new(limit));

    for segment in 0..segments {
        let (start, length) = part(count, segments, segment);
        let chunks = |from: usize, to: usize| {
            let (first, end) = (part(length, size, from).0, part(length, size, to).0);
            (start + first, end - first)
        };
        let source = |(offset, len)| super::sent_from(request, root, offset, len);
        let target = |(offset, len)| Span::output(offset, len);
        if place > 0 {
            let recv = b.recv(at(place - reach), target(chunks(place, place + share(place))));
            recvs.admit(b, recv);
        }
        let mut distance = reach / 2;
        while distance > 0 {
            let child = place + distance;
            if child < size {
                let send = b.send(at(child), source(chunks(child, child + share(child))));
                sends.admit(b, send);
            }
            distance /= 2;
        }

        // What the places from `owner` on have gathered, unless `to` has had it from the scatter.
        let runs = |owner: usize, more: usize, to: usize| {
            let known = owner >= to && owner - to + more <= share(to);
            let end = if known || to == 0 { owner } else { owner + more };
            [(owner, end.min(size)), (0, end.saturating_sub(size))]
        };
        let mut have = 1;
        while have < size {
            let more = have.min(size - have);
            let (to, from) = ((place + size - have) % size, (place + have) % size);
            for (low, high) in runs(place, more, to) {
                let send = b.send(at(to), source(chunks(low, high)));
                sends.admit(b, send);
            }
            for (low, high) in runs(from, more, place) {
                let recv = b.recv(at(from), target(chunks(low, high)));
                recvs.admit(b, recv);
            }
            have += more;
        }
    }
    super::copy_own_result(request, root, b);
}
