//! Transposed scan: every rank scans one part of the vector for all.
//!
//! ```text
//! rank p:  part p of every vector < everybody       x0, x0 op x1, (x0 op x1) op x2, ...
//!          result r of part p     > rank r          for every r
//! ```
//!
//! Two direct exchanges. Steps: 2 for each segment, of up to `n - 1` messages. Bytes: `2 m (n - 1) / n` per rank,
//! where doubling sends `m log2 n`. Scratch: `n` segments for each segment under way. Operands are combined
//! strictly from the left. The first rank gets nothing back and, for an exclusive scan, the last one gives nothing.
//! Chosen: vectors too long for doubling and too short for a pipeline over all ranks.

use crate::builder::Builder;
use crate::cut::Cut;
use crate::{Choice, Collective, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, collective, .. } = *request;
    let exclusive = collective == Collective::ExclusiveScan;
    let contributes = |rank: usize| !exclusive || rank + 1 < size;
    let cut = Cut::new(request, choice);
    let slots = cut.slots(b);
    let mut ends = Vec::with_capacity(cut.blocks);
    for block in 0..cut.blocks {
        let set = &slots[block % cut.sets * size..][..size];
        let input = |part: usize| {
            let (offset, len) = cut.chunk(block, part);
            Span::input(offset, len)
        };
        let output = |part: usize| {
            let (offset, len) = cut.chunk(block, part);
            Span::output(offset, len)
        };
        let (own, result) = (input(rank), output(rank));
        let slot = |from: usize| set[from].first(own.len);
        let mut end = None;
        for step in 1..size {
            let to = (rank + step) % size;
            if contributes(rank) {
                let send = b.send(to, input(to));
                if let Some(earlier) = block.checked_sub(cut.sets) {
                    b.order(ends[earlier], send);
                }
                end = send.or(end);
            }
        }
        for from in (1..size).map(|step| (rank + size - step) % size).filter(|from| contributes(*from)) {
            b.recv(from, slot(from));
        }
        // The sum over the ranks up to and with `of`, grown in the slot of each.
        let mut sum = if rank == 0 { own } else { slot(0) };
        for of in 1..size {
            let below = sum;
            if contributes(of) {
                let operand = if of == rank { own } else { slot(of) };
                let into = if of == rank && !exclusive { result } else { slot(of) };
                end = b.reduce(below, operand, into, false).or(end);
                sum = into;
            }
            let found = if exclusive { below } else { sum };
            if of != rank {
                end = b.send(of, found).or(end);
            } else if exclusive {
                end = b.copy(found, result).or(end);
            }
        }
        if rank > 0 {
            for from in (1..size).map(|step| (rank + step) % size) {
                end = b.recv(from, output(from)).or(end);
            }
        }
        ends.push(end);
    }
    if rank == 0 && !exclusive {
        let count = request.count();
        b.copy(Span::input(0, count), Span::output(0, count));
    }
}
