//! Scan by doubling distances (Hillis and Steele, 1986; Kogge and Stone, 1973).
//!
//! ```text
//! n = 6, ranks covered by what rank r holds:      0   1    2    3     4     5
//!   step 1: from rank - 1                         0   01   12   23    34    45
//!   step 2: from rank - 2                         0   01   012  0123  1234  2345
//!   step 3: from rank - 4                         0   01   012  0123  01234 012345
//! ```
//!
//! What arrives covers the ranks just below those already covered, so rank order is kept, for any number of ranks.
//! An exclusive scan keeps a second sum, without the own contribution. Steps: `ceil(log2 n)`. Bytes: up to
//! `m ceil(log2 n)` per rank. Scratch: a slot per step for vectors that are not cut, else `in_flight` segments.
//! Chosen: short vectors.

use crate::builder::{Builder, part, parts};
use crate::{Choice, Collective, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, collective, .. } = *request;
    let count = request.count();
    let exclusive = collective == Collective::ExclusiveScan;
    let segments = parts(count, choice.segment);
    let longest = count.div_ceil(segments);
    let distances =
        || std::iter::successors(Some(1), |distance| Some(2 * distance)).take_while(|d| *d < size);
    let arriving = distances().filter(|distance| *distance <= rank).count();
    let sets = choice.in_flight.max(1).min(arriving * segments);
    let slots = b.slots(sets, longest);
    // Where the sum with the own contribution grows, for an exclusive scan; twice, for one to leave while the next
    // grows. The slot of what arrives cannot take it, for the sum without is made of that, too.
    let sums = b.slots(if exclusive && arriving > 0 { 2 } else { 0 }, longest);
    // In place, the own contribution lies in the output until it has been used for the last time.
    let below = b.slots(usize::from(exclusive && request.in_place && arriving > 0), longest);
    let mut turn = 0;

    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let (own, output) = (Span::input(offset, len), Span::output(offset, len));
        let kept = below.first().map_or(output, |slot| slot.first(len));
        let mut held = own;
        for (step, distance) in distances().enumerate() {
            if rank + distance < size {
                b.send(rank + distance, held);
            }
            if rank < distance {
                continue;
            }
            let slot = slots[turn % sets].first(len);
            turn += 1;
            b.recv(rank - distance, slot);
            if exclusive {
                if rank + 2 * distance < size {
                    let sum = sums[step % 2].first(len);
                    b.reduce(slot, held, sum, false);
                    held = sum;
                }
                if distance == 1 {
                    b.copy(slot, kept);
                } else {
                    b.reduce(slot, kept, kept, false);
                }
            } else {
                b.reduce(slot, held, output, false);
                held = output;
            }
        }
        if exclusive && arriving > 0 {
            b.copy(kept, output);
        } else if !exclusive && rank == 0 {
            b.copy(own, output);
        }
    }
}
