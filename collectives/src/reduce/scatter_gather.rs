//! Rabenseifner's reduction: recursive halving, then a binomial gather (Rabenseifner, 2004).
//!
//! ```text
//! n = 4, root 0     0 [ab..]  1 [..cd]   2 [ab..]  3 [..cd]   step 1: neighbours swap halves and reduce
//!                   0 [a]  2 [b]         1 [c]  3 [d]         step 2: the pairs swap quarters
//!                   0 <[b] 2             1 <[d] 3             step 3: the quarters go back
//!                   0 <[cd] 1                                 step 4: to the root
//! ```
//!
//! Distances double while the vector halves, so that runs of neighbours are joined first and rank order is kept;
//! the gather goes back the same way, and at each distance the half of the ranks that the root is not in hands
//! over. Steps: `2 log2 n`, and one more when folded to a power of two ([`crate::fold`]), where the root
//! always takes in and never hands over. Bytes: up to `2 m (p - 1) / p` out of a rank, and `m` more for those that
//! hand over. Scratch: twice the segments under way. Chosen: long vectors on many ranks, where a chain is
//! mostly latency.

use crate::builder::{Builder, Step, part, parts};
use crate::fold::Fold;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let (rank, size, count) = (request.rank, request.size, request.count());
    let fold = Fold::rooted(size, root);
    let (place, top) = (fold.place(rank), fold.place(root).unwrap_or(0));
    let segments = parts(count, choice.segment);
    let longest = count.div_ceil(segments);
    let sets = choice.in_flight.clamp(1, segments);
    let halvings = fold.places.trailing_zeros() as usize;
    // As in the all-reduce of the same name: what arrives in each halving lies behind what came before.
    let inbox = b.slots(if place.is_some() { sets } else { 0 }, longest + halvings);
    let sums = b.slots(if place.is_some() && rank != root { sets } else { 0 }, longest);
    let mut ends: Vec<Step> = Vec::with_capacity(segments);

    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let own = Span::input(offset, len);
        let earlier = segment.checked_sub(sets).and_then(|earlier| ends[earlier]);
        let end = if let Some(place) = place {
            let slot = inbox[segment % sets];
            let sum = sums.get(segment % sets).map_or(Span::output(offset, len), |sum| sum.first(len));
            let held = fold.reduce_pair(rank, own, slot.first(len), sum, b);
            let segment = Segment { held, sum, slot };
            let halvings = halve(fold, place, segment, earlier, b);
            gather_at_top(place, top, sum, halvings, b)
        } else {
            let send = b.send(rank ^ 1, own);
            b.order(earlier, send);
            send
        };
        ends.push(end);
    }
}

/// Where one segment of the vector lies on one place.
#[derive(Clone, Copy)]
struct Segment {
    /// The contribution of this place.
    held: Span,
    /// Takes the sums.
    sum: Span,
    /// Takes what arrives.
    slot: Span,
}

/// One exchange of halves, as (first, end) within the segment.
struct Halving {
    partner: usize,
    distance: usize,
    kept_half: (usize, usize),
    sent_half: (usize, usize),
}

fn sub(span: Span, (from, to): (usize, usize)) -> Span {
    span.part(from, to - from)
}

/// Halves among the places; no send of the own contribution starts before `earlier` has completed.
fn halve(fold: Fold, place: usize, segment: Segment, earlier: Step, b: &mut Builder) -> Vec<Halving> {
    let Segment { held, sum, slot } = segment;
    let mut source = held;
    let (mut low, mut high) = (0, sum.len);
    let mut halvings = Vec::new();
    let mut used = 0;
    let mut distance = 1;
    while distance < fold.places {
        let partner = fold.rank(place ^ distance);
        let middle = low + (high - low).div_ceil(2);
        let lower = place & distance == 0;
        let (kept_half, sent_half) =
            if lower { ((low, middle), (middle, high)) } else { ((middle, high), (low, middle)) };
        let mine = sub(source, kept_half);
        let theirs = slot.part(used, mine.len);
        used += theirs.len;
        let send = b.send(partner, sub(source, sent_half));
        if distance == 1 {
            b.order(earlier, send);
        }
        b.recv(partner, theirs);
        let (left, right) = if lower { (mine, theirs) } else { (theirs, mine) };
        b.reduce(left, right, sub(sum, kept_half), 2 * distance == fold.places);
        halvings.push(Halving { partner, distance, kept_half, sent_half });
        (low, high) = kept_half;
        source = sum;
        distance *= 2;
    }
    halvings
}

/// Gathers at place `top`; returns the last step of this place.
fn gather_at_top(place: usize, top: usize, sum: Span, halvings: Vec<Halving>, b: &mut Builder) -> Step {
    let mut end = None;
    for Halving { partner, distance, kept_half, sent_half } in halvings.into_iter().rev() {
        if place & distance != top & distance {
            // All that this place has gathered; the rest is between others.
            return b.send(partner, sub(sum, kept_half)).or(end);
        }
        end = b.recv(partner, sub(sum, sent_half)).or(end);
    }
    end
}
