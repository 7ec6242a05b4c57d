//! Recursive doubling.
//!
//! ```text
//! n = 8     0=1 2=3 4=5 6=7      step 1: exchange with the neighbour
//!           0===2 1===3 4===6 .. step 2: with the neighbour pair
//!           0=======4 ..         step 3
//! ```
//!
//! After step k every rank holds the reduction of its aligned run of `2^k` ranks; the partner's run is next to
//! it, and the lower one is the left operand on both sides: rank order is kept and the bits are the same.
//! Other numbers of ranks are folded to a power of two first ([`crate::fold`]). Steps: `log2 n`, up to 2
//! more when folded. Bytes: `m log2 n` per rank. Chosen: short vectors. Long ones, when forced, go in segments.

use crate::builder::{Builder, part, parts};
use crate::fold::Fold;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let fold = Fold::new(size);
    let segments = parts(count, choice.segment);
    let longest = count.div_ceil(segments);
    // A slot for each step lets all receives be posted at once; long vectors share a few.
    let steps = fold.places.trailing_zeros() as usize + 1;
    let wanted = if fold.place(rank).is_some() { steps * segments } else { 0 };
    let inbox = b.slots(choice.in_flight.max(1).min(wanted), longest);
    let mut turn = 0;
    let mut slot = |len: usize| {
        turn += 1;
        if inbox.is_empty() { Span::scratch(0, len) } else { inbox[turn % inbox.len()].first(len) }
    };

    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let output = Span::output(offset, len);
        let mut held = fold.reduce_pair_segment(request, offset, slot(len), b);
        if let Some(place) = fold.place(rank) {
            let mut distance = 1;
            while distance < fold.places {
                let partner = fold.rank(place ^ distance);
                let theirs = slot(len);
                b.send(partner, held);
                b.recv(partner, theirs);
                let (left, right) = if place & distance == 0 { (held, theirs) } else { (theirs, held) };
                distance *= 2;
                b.reduce(left, right, output, distance == fold.places);
                held = output;
            }
        }
        fold.return_result(request, offset, len, b);
    }
}
