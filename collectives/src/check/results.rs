//! Runs schedules on expressions and compares what comes out with what was promised.
//!
//! Neighbours: [`super::engine`] runs, [`super::expression`] knows what a cell holds.

use super::Fault;
use super::engine::{InOrder, Run};
use super::expression::{Expressions, UNDEFINED};
use super::memory::Memory;
use crate::counts::Blocks;
use crate::{Collective, Request, Schedule};

/// What an element of a result should be.
enum Promise {
    /// This element of the input of this rank.
    Input { rank: usize, element: usize },
    /// The reduction of this element over ranks `0..ranks`.
    Reduction { ranks: usize, element: usize },
}

/// What was promised to one rank, element by element.
struct Promises<'a> {
    request: &'a Request,
    /// The blocks of the buffer that an element of the result comes from, or goes to.
    blocks: Blocks,
    /// For all-to-all, the blocks that each rank sends.
    sent: &'a [Blocks],
}

impl Promises<'_> {
    /// `None` where nothing is promised.
    fn of(&self, element: usize) -> Option<Promise> {
        let Request { collective, rank, size, .. } = *self.request;
        // Block and place in it of an element of all blocks.
        let locate = || {
            (0..size).find_map(|from| {
                let (start, len) = self.blocks.block(from);
                element.checked_sub(start).filter(|at| *at < len).map(|at| (from, at))
            })
        };
        let shifted = |rank: usize| self.blocks.block(rank).0 + element;
        Some(match collective {
            Collective::Barrier => return None,
            Collective::Broadcast { root } => Promise::Input { rank: root, element },
            Collective::Scatter { root } => Promise::Input { rank: root, element: shifted(rank) },
            Collective::AllGather | Collective::Gather { .. } => {
                let (rank, element) = locate()?;
                Promise::Input { rank, element }
            }
            Collective::AllToAll => {
                let (from, at) = locate()?;
                Promise::Input { rank: from, element: self.sent[from].block(rank).0 + at }
            }
            Collective::Reduce { .. } | Collective::AllReduce => Promise::Reduction { ranks: size, element },
            Collective::ReduceScatter => Promise::Reduction { ranks: size, element: shifted(rank) },
            Collective::Scan => Promise::Reduction { ranks: rank + 1, element },
            Collective::ExclusiveScan => Promise::Reduction { ranks: rank, element },
        })
    }
}

/// Proves points 5 to 7 of [`super`]; returns the depth of messages.
pub(crate) fn check(
    requests: &[Request],
    schedules: &[Schedule],
    memories: &[Memory],
    partners: &[Vec<Option<u32>>],
) -> Result<usize, Fault> {
    let Some(first) = requests.first() else { return Ok(0) };
    let mut expressions = Expressions::new(first.size, first.order, first.collective.has_last());
    let mut cells: Vec<Vec<u32>> = memories.iter().map(|memory| vec![UNDEFINED; memory.cells()]).collect();
    for (rank, memory) in memories.iter().enumerate() {
        for (element, cell) in memory.input().enumerate() {
            cells[rank][cell] = expressions.input(rank, element);
        }
    }
    let before: Vec<Vec<u32>> =
        memories.iter().zip(&cells).map(|(memory, row)| row[memory.output()].to_vec()).collect();
    let mut run = Run::new(schedules, memories, partners, cells);
    run.finish(&mut InOrder, &mut |left, right, last| expressions.combine(*left, *right, last))?;

    let sent: Vec<Blocks> = requests.iter().map(|request| request.exchanged_blocks().0).collect();
    // The root alone knows where the blocks lie.
    let whole = requests.get(first.collective.root().unwrap_or(0)).unwrap_or(first);
    for (rank, memory) in memories.iter().enumerate() {
        let request = &requests[rank];
        let blocks = match request.collective {
            Collective::AllToAll => request.exchanged_blocks().1,
            _ => whole.blocks(),
        };
        let promises = Promises { request, blocks, sent: &sent };
        let (output, result) = (memory.output(), memory.result());
        for (place, cell) in output.enumerate() {
            let found = run.cells[rank][cell];
            let wrong = |element: usize, expected: String, expressions: &Expressions| {
                Err(Fault::Result { rank, element, expected, found: expressions.text(found) })
            };
            if !result.contains(&cell) {
                if found != before[rank][place] {
                    let expected =
                        format!("{} as before, beside the result", expressions.text(before[rank][place]));
                    return wrong(place, expected, &expressions);
                }
                continue;
            }
            let element = cell - result.start;
            let expected = match promises.of(element) {
                Some(Promise::Input { rank: from, element: at }) => {
                    let expected = expressions.input(from, at);
                    (expected != found).then(|| expressions.text(expected))
                }
                Some(Promise::Reduction { ranks, element: at }) => {
                    if !expressions.covers(found, at, ranks) {
                        Some(format!("contributions 0..{ranks} to element {at}"))
                    } else if expressions.last(found) != (first.collective.has_last() && ranks > 1) {
                        Some(format!("contributions 0..{ranks} to element {at}, out of its last reduction"))
                    } else {
                        None
                    }
                }
                None => None,
            };
            if let Some(expected) = expected {
                return wrong(element, expected, &expressions);
            }
            let same = memories[0].result().nth(element).map(|cell| run.cells[0][cell]);
            if request.collective == Collective::AllReduce && same != Some(found) {
                let expected = same.map_or_else(String::new, |same| expressions.text(same));
                return wrong(element, format!("{expected} as on rank 0"), &expressions);
            }
        }
    }
    Ok(run.latencies())
}
