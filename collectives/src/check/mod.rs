//! Proof without a wire: what can go wrong with a set of schedules, and that it does not.
//!
//! [`check`] takes the schedules of all ranks and proves, for this request:
//!
//! 1. every send has exactly one receive of the same pair, tag and length, and the other way round;
//! 2. nothing deadlocks, even when a send completes only once its receive has been posted;
//! 3. any two steps of a rank that touch the same element, one of them writing, are ordered by dependencies;
//! 4. spans lie inside their buffers, and no step writes the input;
//! 5. every element of the result is the promised expression: each contribution exactly once, in rank order
//!    when the operation does not commute;
//! 6. for all-reduce, the expression *tree* is the same on every rank: the same bits, whatever the rounding;
//! 7. for barriers, no rank can leave before every rank has come.
//!
//! [`structure`] proves 1 to 4 alone, which look at spans only and take vectors of any length; 5 and 6 work
//! element by element, so give [`check`](fn@check) small counts and short segments. [`execute`](fn@execute) runs the schedules on real values instead, in a random order. Both are
//! public, so that the tests of executors and transports can use them.
//!
//! Neighbours: nothing here shares code with [`crate::Builder`], whose mistakes it is meant to find.

mod barrier;
mod engine;
mod execute;
mod expression;
mod fault;
mod matching;
mod memory;
mod races;
mod random;

pub use execute::execute;
pub use fault::Fault;

use crate::{Collective, Request, Schedule};
use expression::{Expressions, UNDEFINED};
use memory::Memory;

/// What a set of schedules costs, for comparison with what its algorithm promises.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Messages of all ranks together.
    pub messages: usize,
    /// Elements sent by all ranks together.
    pub elements: usize,
    /// The most elements that one rank sends.
    pub busiest: usize,
    /// The most messages that follow from each other: the number of latencies that the collective takes.
    pub latencies: usize,
}

/// Proves everything in the [module documentation](self), or says where it fails first.
///
/// `request` is what any rank asks for; its `rank` is ignored, and so is `in_place`, which each schedule
/// states itself.
///
/// # Errors
///
/// The first [`Fault`] found.
pub fn check(request: &Request, schedules: &[Schedule]) -> Result<Report, Fault> {
    let (memories, partners) = prepare(request, schedules)?;
    let latencies = values(request, schedules, &memories, &partners)?;
    if request.collective == Collective::Barrier {
        barrier::check(schedules, &partners)?;
    }
    let sent = |schedule: &Schedule| matching::sends(schedule).map(|span| span.len).sum::<usize>();
    Ok(Report {
        messages: schedules.iter().map(|schedule| matching::sends(schedule).count()).sum(),
        elements: schedules.iter().map(sent).sum(),
        busiest: schedules.iter().map(sent).max().unwrap_or(0),
        latencies,
    })
}

/// Proves points 1 to 4 of the [module documentation](self), for vectors of any length.
///
/// # Errors
///
/// The first [`Fault`] found.
pub fn structure(request: &Request, schedules: &[Schedule]) -> Result<(), Fault> {
    let (memories, partners) = prepare(request, schedules)?;
    let no_values = vec![Vec::<()>::new(); memories.len()];
    let mut run = engine::Run::new(schedules, &memories, &partners, no_values);
    run.finish(&mut engine::InOrder, &mut |_, _| Ok(()))
}

type Partners = Vec<Vec<Option<u32>>>;

fn prepare(request: &Request, schedules: &[Schedule]) -> Result<(Vec<Memory>, Partners), Fault> {
    let memories = Memory::of_all(request, schedules)?;
    for (schedule, memory) in schedules.iter().zip(&memories) {
        memory.check_spans(schedule)?;
    }
    let partners = matching::partners(schedules)?;
    for (schedule, memory) in schedules.iter().zip(&memories) {
        races::check(schedule, memory)?;
    }
    Ok((memories, partners))
}

/// Runs the schedules on expressions and compares the results with the promise; returns the depth of messages.
fn values(
    request: &Request,
    schedules: &[Schedule],
    memories: &[Memory],
    partners: &[Vec<Option<u32>>],
) -> Result<usize, Fault> {
    let mut expressions = Expressions::new(request.size, request.commutative);
    let mut cells: Vec<Vec<u32>> = memories.iter().map(|memory| vec![UNDEFINED; memory.cells()]).collect();
    for (rank, memory) in memories.iter().enumerate() {
        for (element, cell) in memory.input().enumerate() {
            cells[rank][cell] = expressions.input(rank, element);
        }
    }
    let mut run = engine::Run::new(schedules, memories, partners, cells);
    run.finish(&mut engine::InOrder, &mut |left, right| expressions.combine(*left, *right))?;

    for (rank, memory) in memories.iter().enumerate() {
        for (element, cell) in memory.result(request).enumerate() {
            let found = run.cells[rank][cell];
            let wrong = |expected: String, found: String| Fault::Result { rank, element, expected, found };
            let one_of = |from: usize, at: usize, expressions: &mut Expressions| {
                let expected = expressions.input(from, at);
                if expected == found {
                    return Ok(());
                }
                Err(wrong(expressions.text(expected), expressions.text(found)))
            };
            match request.collective {
                Collective::Barrier => {}
                Collective::Broadcast { root } => one_of(root, element, &mut expressions)?,
                Collective::AllGather => {
                    one_of(element / request.count, element % request.count, &mut expressions)?;
                }
                Collective::Reduce { .. } | Collective::AllReduce | Collective::ReduceScatter => {
                    let shift = if request.collective == Collective::ReduceScatter {
                        rank * request.count
                    } else {
                        0
                    };
                    if !expressions.is_complete(found, shift + element) {
                        let want =
                            format!("all {} contributions to element {}", request.size, shift + element);
                        return Err(wrong(want, expressions.text(found)));
                    }
                    let first = memories[0].result(request).nth(element).map(|cell| run.cells[0][cell]);
                    if request.collective == Collective::AllReduce && first != Some(found) {
                        let want = first.map_or_else(String::new, |first| expressions.text(first));
                        return Err(wrong(format!("{want} as on rank 0"), expressions.text(found)));
                    }
                }
            }
        }
    }
    Ok(run.latencies())
}
