//! Segmented, pipelined ring (Patarasuk and Yuan, 2009).
//!
//! ```text
//! vector:   [ block 0 | block 1 | block 2 | ... ]     each block: n chunks of at most one segment
//!
//! n = 4, one block, chunk that rank r sends:   0   1   2   3
//!   reduce-scatter step 0 (own)                3   0   1   2     > to rank r + 1, which adds its own
//!                  step 1                      2   3   0   1
//!                  step 2                      1   2   3   0     now rank r has all of chunk r
//!   all-gather     step 3 (finished)           0   1   2   3     > to rank r + 1, which passes it on
//!                  steps 4, 5                  3 2 ...
//! ```
//!
//! Each block goes round twice; `in_flight` blocks are under way, so that links stay busy while a rank reduces,
//! and what a rank has just received, reduced and sends on is still in its cache. With two ranks this is: send
//! one half, reduce the other, send the reduced half, both directions busy all the time.
//!
//! Steps: `2 (n - 1)` chunk times per block. Bytes: `2 m (n - 1) / n` per rank, the least that can be. Scratch:
//! `in_flight` chunks. Chosen: long vectors. Each chunk is summed up once, in the order r + 1, r + 2, … r, and
//! handed out: the same bits everywhere, but not rank order, so the operation must commute (with two ranks the
//! operands are put in order and it need not).

use crate::builder::{Builder, part, parts};
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    // The rank `back` steps behind.
    let behind = |back: usize| (rank + 2 * size - back) % size;
    let blocks = parts(count.div_ceil(size), choice.segment);
    let sets = choice.in_flight.clamp(1, blocks);
    let slots = b.slots(sets, count.div_ceil(blocks).div_ceil(size));
    // A block may start when the block `in_flight` before it is finished here. The slots see to that for
    // receives; sends of the own contribution would otherwise all be ready at once.
    let mut ends = Vec::with_capacity(blocks);

    for block in 0..blocks {
        let (start, length) = part(count, blocks, block);
        let chunk = |index: usize| {
            let (offset, len) = part(length, size, index);
            (start + offset, len)
        };
        for step in 0..size - 1 {
            let (offset, len) = chunk(behind(step + 1));
            let partial = if step == 0 { Span::input(offset, len) } else { Span::output(offset, len) };
            let send = b.send(next, partial);
            if step == 0 && block >= sets {
                b.order(ends[block - sets], send);
            }
            let (offset, len) = chunk(behind(step + 2));
            let slot = slots[block % sets].first(len);
            let (own, sum) = (Span::input(offset, len), Span::output(offset, len));
            b.recv(previous, slot);
            let (left, right) = if rank == 0 && size == 2 { (own, slot) } else { (slot, own) };
            b.reduce(left, right, sum, step + 2 == size);
        }
        let mut end = None;
        for step in 0..size - 1 {
            let (offset, len) = chunk(behind(step));
            b.send(next, Span::output(offset, len));
            let (offset, len) = chunk(behind(step + 1));
            end = b.recv(previous, Span::output(offset, len)).or(end);
        }
        ends.push(end);
    }
}
