//! Pairwise exchange.
//!
//! ```text
//! n = 4     round 1: 0=1 2=3     round 2: 0=2 1=3     round 3: 0=3 1=2      (rank xor round)
//! n = 5     round 0: 1=4 2=3     round 1: 0=1 2=4     ... 4: 0=4 1=3        (rank + partner = round mod n)
//! ```
//!
//! In every round each rank swaps one block with one partner; with an odd number of ranks one of them rests.
//! For even n that is no power of two, rank `n - 1` meets those that would rest: `n - 1` rounds in all,
//! `n` for odd n. Bytes: `(n - 1) m` per rank, the least that can be, each over one link. At most `in_flight`
//! segments are on their way out; receives of as many segments as there are ranks wait at least, so that what ranks
//! send that are ahead is mostly copied once. In place, what arrives waits in a slot until the block that it replaces
//! has left; when a rank sends other counts than it receives, the input moves to scratch first. A rank needs to know
//! its own counts only; such blocks are not cut, and go also when they are empty, so that ranks that disagree about a
//! length find out. Chosen: long blocks, blocks that differ in length, and short ones of few ranks that share memory.

use crate::builder::{Builder, part, parts};
use crate::counts::Blocks;
use crate::window::Window;
use crate::{Choice, Counts, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, in_place, .. } = *request;
    let (send, recv) = request.exchanged_blocks();
    let swaps = in_place && lengths_match(&send, &recv, size);
    // Where the blocks to send lie.
    let mut source = Span::input(0, send.total());
    if in_place && !swaps {
        let moved = b.scratch(send.total());
        b.copy(source, moved);
        source = moved;
    }
    let outgoing = |to: usize| {
        let (offset, len) = send.block(to);
        Span { offset: source.offset + offset, len, ..source }
    };
    if !in_place || send.block(rank) != recv.block(rank) {
        let (offset, len) = recv.block(rank);
        b.copy(outgoing(rank), Span::output(offset, len));
    }

    // Lengths that the two ends know each on its own go in one message, also when empty, so that a
    // disagreement shows in its length.
    let known_here = matches!(request.counts, Counts::Pairs { .. });
    let segment = if known_here { usize::MAX } else { choice.segment };
    let longest = recv.longest();
    let in_flight = choice.in_flight.max(1);
    let slots = if swaps { b.slots(in_flight, longest.min(segment.max(1))) } else { Vec::new() };
    let places = if swaps { in_flight } else { in_flight.max(size) };
    let (mut sends, mut recvs) = (Window::new(in_flight), Window::new(places));
    let mut turn = 0;
    for round in 0..rounds(size) {
        let Some(partner) = partner(rank, size, round) else { continue };
        let (from, (offset, arriving)) = (outgoing(partner), recv.block(partner));
        // Cut by length alone, which both ends of a message know. A swap cuts both directions alike.
        let (out, into) = (parts(from.len, segment), parts(arriving, segment));
        for segment in 0..out.max(into) {
            if segment < out {
                let (at, len) = part(from.len, out, segment);
                let span = Span { offset: from.offset + at, len, ..from };
                let send = if known_here { b.send_known_here(partner, span) } else { b.send(partner, span) };
                sends.admit(b, send);
            }
            if segment < into {
                let (at, len) = part(arriving, into, segment);
                let place = Span::output(offset + at, len);
                let target = if swaps { slots[turn % in_flight].first(len) } else { place };
                let recv =
                    if known_here { b.recv_known_here(partner, target) } else { b.recv(partner, target) };
                recvs.admit(b, recv);
                if swaps {
                    b.copy(target, place);
                    turn += 1;
                }
            }
        }
    }
}

/// Whether every block comes back with the length with which it left.
fn lengths_match(send: &Blocks, recv: &Blocks, size: usize) -> bool {
    match (send, recv) {
        (Blocks::Equal { .. }, Blocks::Equal { .. }) => true,
        _ => (0..size).all(|rank| send.block(rank) == recv.block(rank)),
    }
}

fn rounds(size: usize) -> usize {
    if size.is_power_of_two() || size % 2 == 1 { size } else { size - 1 }
}

/// Whom a rank meets in a round; nobody in the round in which it rests (round 0, for powers of two).
fn partner(rank: usize, size: usize, round: usize) -> Option<usize> {
    let other = if size.is_power_of_two() {
        rank ^ round
    } else if size % 2 == 1 {
        (round + size - rank) % size
    } else {
        // Among an odd number of others, exactly one would rest: it meets the last rank.
        let others = size - 1;
        if rank == others {
            round * (size / 2) % others
        } else {
            let other = (round + others - rank) % others;
            if other == rank { others } else { other }
        }
    };
    (other != rank).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_meets_exactly_once() {
        for size in 1..70 {
            let mut met = vec![0; size * size];
            for round in 0..rounds(size) {
                for rank in 0..size {
                    if let Some(other) = partner(rank, size, round) {
                        assert_eq!(
                            partner(other, size, round),
                            Some(rank),
                            "{rank} of {size}, round {round}"
                        );
                        met[rank * size + other] += 1;
                    }
                }
            }
            let right = |at: usize, times: &i32| *times == i32::from(at / size != at % size);
            assert!(met.iter().enumerate().all(|(at, times)| right(at, times)), "size {size}");
        }
    }
}
