//! Rabenseifner's algorithm: recursive halving, then recursive doubling (Rabenseifner, 2004).
//!
//! ```text
//! n = 4     0 [ab..]  1 [..cd]   step 1: neighbours swap halves and reduce
//!           0 [a] 2 [b]          step 2: the pairs swap quarters: each rank owns one
//!           0 [ab]  2 [ab]       step 3: back again, handing out
//!           0 [abcd] ..          step 4
//! ```
//!
//! Distances double while the vector halves, so that runs of neighbours are joined first and rank order is
//! kept; every element is reduced on one place and handed out. Steps: `2 log2 n`, plus 2 when folded to a
//! power of two ([`crate::fold`]). Bytes: `2 m (p - 1) / p` per rank, like the ring, in fewer messages. Chosen:
//! medium vectors on powers of two, and long vectors when the operation does not commute.

use crate::builder::{Builder, part, parts};
use crate::fold::Fold;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let fold = Fold::new(size);
    let segments = parts(count, choice.segment);
    let longest = count.div_ceil(segments);
    let sets = if fold.place(rank).is_some() { choice.in_flight.clamp(1, segments) } else { 0 };
    // What arrives in each halving lies behind what came before, so that all receives can be posted at once;
    // rounding makes the halves one element longer than the whole per step, at most.
    let inbox = b.slots(sets, longest + fold.places.trailing_zeros() as usize);

    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let slot = if sets == 0 { Span::scratch(0, len) } else { inbox[segment % sets] };
        let held = fold.reduce_pair_segment(request, offset, slot.first(len), b);
        if let Some(place) = fold.place(rank) {
            halve_and_double(fold, place, held, Span::output(offset, len), slot, b);
        }
        fold.return_result(request, offset, len, b);
    }
}

/// Halves and doubles among the places. `held` is the contribution of this place, `output` the elements to
/// fill; `slot` takes what arrives.
fn halve_and_double(fold: Fold, place: usize, held: Span, output: Span, slot: Span, b: &mut Builder) {
    let sub =
        |span: Span, from: usize, to: usize| Span { offset: span.offset + from, len: to - from, ..span };
    let mut source = held;
    let (mut low, mut high) = (0, output.len);
    let mut halvings = Vec::new();
    let mut used = 0;
    let mut distance = 1;
    while distance < fold.places {
        let partner = fold.rank(place ^ distance);
        let middle = low + (high - low).div_ceil(2);
        let lower = place & distance == 0;
        let (kept_half, sent_half) =
            if lower { ((low, middle), (middle, high)) } else { ((middle, high), (low, middle)) };
        let mine = sub(source, kept_half.0, kept_half.1);
        let theirs = sub(slot, used, used + kept_half.1 - kept_half.0);
        used += theirs.len;
        let into = sub(output, kept_half.0, kept_half.1);
        b.send(partner, sub(source, sent_half.0, sent_half.1));
        b.recv(partner, theirs);
        let (left, right) = if lower { (mine, theirs) } else { (theirs, mine) };
        b.reduce(left, right, into, 2 * distance == fold.places);
        halvings.push((partner, kept_half, sent_half));
        (low, high) = kept_half;
        source = output;
        distance *= 2;
    }
    for (partner, kept_half, sent_half) in halvings.into_iter().rev() {
        b.send(partner, sub(output, kept_half.0, kept_half.1));
        b.recv(partner, sub(output, sent_half.0, sent_half.1));
    }
}
