//! Proof without a wire: what can go wrong with a set of schedules, and that it does not.
//!
//! [`check`] takes the schedules of all ranks and proves, for this request:
//!
//! 1. every send has exactly one receive of the same pair, tag and length, and the other way round;
//! 2. nothing deadlocks, even when a send completes only once its receive has been posted;
//! 3. any two steps of a rank that touch the same element, one of them writing, are ordered by dependencies;
//! 4. spans lie inside their buffers, and no step writes the input;
//! 5. every element of the result is the promised expression: each contribution exactly once, in the
//!    [order](crate::Order) asked for, and the rest of the output is left as it was;
//! 6. for all-reduce, the expression *tree* is the same on every rank: the same bits, whatever the rounding;
//! 7. where there is a [last reduction](Collective::has_last), every element of the result comes out of exactly one
//!    that is marked so, whose operands are all contributions and which is combined no further; elsewhere none is;
//! 8. for barriers, no rank can leave before every rank has come.
//!
//! [`structure`] proves 1 to 4 alone, which look at spans only and take vectors of any length; 5 to 7 work
//! element by element, so give [`check`](fn@check) small counts and short segments. [`execute`](fn@execute) runs the
//! schedules on real values instead, in a random order. Both are public, so that the tests of executors and transports
//! can use them.
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
mod requests;
mod results;

pub use execute::execute;
pub use fault::Fault;
pub use requests::Requests;

use crate::{Collective, Request, Schedule};
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
/// `request` is what any rank asks for, or what each of them asks for ([`Requests`]). `in_place` is ignored:
/// each schedule states it itself.
///
/// # Errors
///
/// The first [`Fault`] found.
pub fn check(request: &(impl Requests + ?Sized), schedules: &[Schedule]) -> Result<Report, Fault> {
    let requests = requests::for_schedules(request, schedules.len())?;
    let (memories, partners) = prepare(&requests, schedules)?;
    let latencies = results::check(&requests, schedules, &memories, &partners)?;
    if requests.first().is_some_and(|request| request.collective == Collective::Barrier) {
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
pub fn structure(request: &(impl Requests + ?Sized), schedules: &[Schedule]) -> Result<(), Fault> {
    let (memories, partners) = prepare(&requests::for_schedules(request, schedules.len())?, schedules)?;
    let no_values = vec![Vec::<()>::new(); memories.len()];
    let mut run = engine::Run::new(schedules, &memories, &partners, no_values);
    run.finish(&mut engine::InOrder, &mut |_, _, _| Ok(()))
}

type Partners = Vec<Vec<Option<u32>>>;

fn prepare(requests: &[Request], schedules: &[Schedule]) -> Result<(Vec<Memory>, Partners), Fault> {
    let memories = Memory::of_all(requests, schedules)?;
    for (schedule, memory) in schedules.iter().zip(&memories) {
        memory.check_spans(schedule)?;
    }
    let partners = matching::partners(schedules)?;
    let mut before = races::Before::default();
    for (schedule, memory) in schedules.iter().zip(&memories) {
        races::check(schedule, memory, &mut before)?;
    }
    Ok((memories, partners))
}
