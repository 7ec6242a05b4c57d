//! Bruck's all-to-all (Bruck et al., 1997), in the arrangement of Träff, Rougier and Hunold (2014).
//!
//! ```text
//! n = 8, a block that has to go i ranks on:    i = 5 = 101b
//!   step 1: with bit 0, to rank + 1            rank r     > r + 1
//!   step 2: with bit 1, to rank + 2            it stays
//!   step 3: with bit 2, to rank + 4            r + 1      > r + 5
//! ```
//!
//! A block for `i` ranks on lies at place `rank - i`, so that what has come from rank `j` ends at place `j`. In
//! the step of a bit all blocks with that bit travel as one message and what arrives takes their places. Blocks
//! with the same higher bits are neighbours and are packed as one copy. Steps: `ceil(log2 n)`, one message each.
//! Bytes: about `m n / 2` per step and rank, where the pairwise exchange sends `m n` in all its `n - 1`. Copies:
//! `n` to arrange, `2 (n - 1)` to pack and unpack. Scratch: half of all blocks, twice; the input as well when in
//! place. Chosen: short blocks on many ranks, or on more than three of one host.

use crate::{Builder, Request, Span};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, in_place, .. } = *request;
    let count = request.count();
    let mut input = Span::input(0, size * count);
    // With two ranks every block is exchanged or stays: nothing has to be arranged.
    if in_place && size > 2 {
        let moved = b.scratch(input.len);
        b.copy(input, moved);
        input = moved;
    }
    swap_blocks(rank, size, input, Span::output(0, size * count), in_place, b);
}

/// Swaps blocks between all ranks: `output[j]` of rank `r` becomes `input[r]` of rank `j`. The two do not
/// overlap; when `copied`, they hold the same before.
pub(crate) fn swap_blocks(
    rank: usize,
    size: usize,
    input: Span,
    output: Span,
    copied: bool,
    b: &mut Builder,
) {
    let count = input.len / size;
    let blocks = |space: Span, from: usize, len: usize| Span {
        offset: space.offset + from * count,
        len: len * count,
        ..space
    };
    for place in 0..size {
        let from = (2 * rank + size - place) % size;
        if !(copied && from == place) {
            b.copy(blocks(input, from, 1), blocks(output, place, 1));
        }
    }
    let half = size / 2;
    let (outbox, inbox) = (b.scratch(half * count), b.scratch(half * count));
    let mut distance = 1;
    while distance < size {
        // Blocks with this bit, in runs of the same higher bits.
        let runs = || {
            (distance..size)
                .step_by(2 * distance)
                .flat_map(|from| places(rank, size, from, distance.min(size - from)))
        };
        let mut packed = 0;
        for (place, len) in runs() {
            b.copy(blocks(output, place, len), blocks(outbox, packed, len));
            packed += len;
        }
        b.send((rank + distance) % size, blocks(outbox, 0, packed));
        b.recv((rank + size - distance) % size, blocks(inbox, 0, packed));
        let mut unpacked = 0;
        for (place, len) in runs() {
            b.copy(blocks(inbox, unpacked, len), blocks(output, place, len));
            unpacked += len;
        }
        distance *= 2;
    }
}

/// Where the blocks lie that have to go `from..from + len` ranks on: one run of places, or two around the end. The
/// farthest comes first, on every rank.
fn places(rank: usize, size: usize, from: usize, len: usize) -> impl Iterator<Item = (usize, usize)> {
    let first = (rank + size - (from + len - 1)) % size;
    let straight = len.min(size - first);
    [(first, straight), (0, len - straight)].into_iter().filter(|(_, len)| *len > 0)
}
