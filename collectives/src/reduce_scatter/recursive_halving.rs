//! Recursive halving reduce-scatter (Rabenseifner, 2004; Iannello, 1997).
//!
//! ```text
//! n = 4, any order     0 [ab..]  2 [..cd]    step 1: swap halves over the longest distance and reduce
//!                      0 [a]  1 [b]          step 2: over the next: rank r has all of block r
//!
//! n = 4, rank order    0 [ab..]  1 [..cd]    step 1: neighbours first
//!                      0 [a]  2 [b]          step 2
//!                      1 [c] > 2, 2 [b] > 1  step 3: blocks go to where they belong
//! ```
//!
//! Halves are runs of blocks, one contiguous message per step. When the operation does not commute, neighbours are
//! joined first, which leaves every block at the rank whose number has its bits reversed; one more message brings
//! it home. Other numbers of ranks are folded to a power of two first ([`crate::fold`]): a pair shares a
//! place, and its blocks. Steps: `log2 n`, one more without commutativity, up to two more when folded. Bytes:
//! `m (n - 1)` per rank, and `m n` more for those that hand over. Scratch: as much as the input, twice as much
//! for those that take in. Messages longer than a segment are cut, so that one part is reduced while the next
//! arrives. Blocks may
//! differ in length. Chosen: blocks that are not long, on many ranks or on those of one host.

use crate::builder::{Builder, part, parts};
use crate::fold::Fold;
use crate::window::Window;
use crate::{Choice, Counts, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let (rank, size, blocks) = (request.rank, request.size, request.blocks());
    let commutes = request.commutes();
    let fold = Fold::new(size);
    // Elements of the blocks of places `from..to`, which are those of their ranks.
    let run = |from: usize, to: usize| blocks.extent(fold.first_rank(from), fold.first_rank(to));
    let halvings = fold.places.trailing_zeros();
    // The place whose blocks end up at `place`: after all halvings, the bits of `place` in the order of the
    // distances say which half was kept.
    let ends_at = |place: usize| {
        if commutes { place } else { place.reverse_bits() >> (usize::BITS - halvings) }
    };
    let own_block = Span::output(0, blocks.block(rank).1);
    // Pairs that share a place lie beside one another.
    let my_place = fold.place(rank).unwrap_or(rank / 2);

    let whole = Span::input(0, blocks.total());
    let segments = parts(whole.len, choice.segment);
    let cut = |span: Span, segments: usize, segment: usize| {
        let (offset, len) = part(span.len, segments, segment);
        span.part(offset, len)
    };
    let (mut sends, mut recvs) = (Window::new(choice.in_flight), Window::new(choice.in_flight));
    if let Some(place) = fold.place(rank) {
        let mut held = whole;
        if fold.shared(place) {
            held = b.scratch(whole.len);
            for segment in 0..segments {
                let slot = cut(held, segments, segment);
                fold.reduce_pair(rank, cut(whole, segments, segment), slot, slot, b);
            }
        }
        let (mut low, mut high) = (0, fold.places);
        for step in 0..halvings {
            let distance = 1 << if commutes { halvings - 1 - step } else { step };
            let partner = fold.rank(place ^ distance);
            let middle = usize::midpoint(low, high);
            let lower = place & distance == 0;
            let (kept_half, sent_half) =
                if lower { ((low, middle), (middle, high)) } else { ((middle, high), (low, middle)) };
            let start = run(low, low).0;
            let sub = |(from, to)| {
                let (offset, len) = run(from, to);
                held.part(offset - start, len)
            };
            let (mine, sent_half) = (sub(kept_half), sub(sent_half));
            let theirs = b.scratch(mine.len);
            // The last halving leaves the own block, if it belongs here and the place is not shared. The first
            // one reads the input still, whose blocks may lie across the output in place if they differ in length.
            let overlaps = step == 0 && request.in_place && matches!(request.counts, Counts::Each(_));
            let home = step + 1 == halvings && ends_at(place) == place && !fold.shared(place) && !overlaps;
            let sum = if home { own_block } else { theirs };
            // Both ends cut alike: each message from the length that its receiver keeps.
            let (sent, received) = (parts(sent_half.len, choice.segment), parts(mine.len, choice.segment));
            for segment in 0..sent {
                let send = b.send(partner, cut(sent_half, sent, segment));
                sends.admit(b, send);
            }
            for segment in 0..received {
                let [mine, theirs, sum] = [mine, theirs, sum].map(|span| cut(span, received, segment));
                let recv = b.recv(partner, theirs);
                recvs.admit(b, recv);
                let (left, right) = if lower { (mine, theirs) } else { (theirs, mine) };
                b.reduce(left, right, sum, step + 1 == halvings);
            }
            held = sum;
            (low, high) = kept_half;
        }
        // The blocks that have come here, each to its rank.
        let (first, start) = (fold.first_rank(low), run(low, low).0);
        for owner in first..fold.first_rank(low + 1) {
            let (offset, len) = blocks.block(owner);
            let block = held.part(offset - start, len);
            if owner == rank {
                b.copy(block, own_block);
            } else {
                b.send(owner, block);
            }
        }
    } else {
        for segment in 0..segments {
            let send = b.send(rank ^ 1, cut(whole, segments, segment));
            sends.admit(b, send);
        }
    }
    let holder = fold.rank(ends_at(my_place));
    if holder != rank {
        b.recv(holder, own_block);
    }
}
