//! Pipelined chain reduction.
//!
//! ```text
//! commutes:          root < root+1 < root+2 < ... < root-1     (ranks modulo n)
//! does not commute:  0 > 1 > ... > root < ... < n-2 < n-1
//! ```
//!
//! Each rank adds its own segment to the one that arrives and passes it on, towards the root. Without
//! commutativity there are two chains, so that each rank only ever joins runs of neighbours in rank order.
//! Steps: `S + n - 2` segment times for S segments. Bytes: every link carries the vector once; the middle
//! root of two chains receives it twice. Scratch: `in_flight` segments per chain, reused through
//! dependencies. Chosen: long vectors.

use crate::builder::{Builder, part, parts};
use crate::{Choice, Request, Span};

/// The neighbours of a rank in the chains that lead to the root.
struct Links {
    /// Sends the reduction of lower ranks.
    below: Option<usize>,
    /// Sends the reduction of higher ranks (or of any, if the operation commutes).
    above: Option<usize>,
    /// Where the result goes; `None` at the root.
    next: Option<usize>,
}

fn links(request: &Request, root: usize) -> Links {
    let Request { rank, size, .. } = *request;
    if request.commutes() {
        let place = (rank + size - root) % size;
        let above = (place + 1 < size).then(|| (rank + 1) % size);
        return Links { below: None, above, next: (place > 0).then(|| (rank + size - 1) % size) };
    }
    let below = (rank <= root).then(|| rank.checked_sub(1)).flatten();
    let above = (rank >= root && rank + 1 < size).then_some(rank + 1);
    let next = match rank.cmp(&root) {
        std::cmp::Ordering::Less => Some(rank + 1),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(rank - 1),
    };
    Links { below, above, next }
}

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let count = request.count();
    let Links { below, above, next } = links(request, root);
    let segments = parts(count, choice.segment);
    let longest = count.div_ceil(segments);
    let sets = choice.in_flight.clamp(1, segments);
    let mut slots = |peer: Option<usize>| b.slots(if peer.is_some() { sets } else { 0 }, longest);
    let (from_below, from_above) = (slots(below), slots(above));

    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let mut held = Span::input(offset, len);
        // Off the root there is one chain at most, and its slot takes the sum.
        let into = |slot: Span| if next.is_none() { Span::output(offset, len) } else { slot };
        if let Some(peer) = above {
            let slot = from_above[segment % sets].first(len);
            b.recv(peer, slot);
            b.reduce(held, slot, into(slot), next.is_none() && below.is_none());
            held = into(slot);
        }
        if let Some(peer) = below {
            let slot = from_below[segment % sets].first(len);
            b.recv(peer, slot);
            b.reduce(slot, held, into(slot), next.is_none());
            held = into(slot);
        }
        if let Some(peer) = next {
            b.send(peer, held);
        }
    }
}
