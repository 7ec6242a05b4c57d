//! Any two conflicting steps of a rank must be ordered by its own dependencies.
//!
//! Only the dependencies of the rank itself count, not what follows from messages: an executor may rely on
//! nothing else. Cells that no span boundary separates are handled as one, so the cost depends on the number of
//! steps, not on the number of elements. Memory is quadratic in the number of steps, one bit per pair.

use super::Fault;
use super::memory::Memory;
use crate::Schedule;

/// Last writer and readers since, for one run of cells. Checking each access against these is enough: all earlier
/// accesses come before them by the checks already made.
#[derive(Clone, Default)]
struct History {
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// The steps that must complete before each step: bit `j` of row `i`.
struct Before {
    words: usize,
    bits: Vec<u64>,
}

impl Before {
    fn new(schedule: &Schedule) -> Self {
        let words = schedule.len().div_ceil(64);
        let mut bits = vec![0u64; words * schedule.len()];
        for earlier in 0..schedule.len() {
            // Program order is a topological order: the row of `earlier` is complete here.
            for &later in schedule.dependents(earlier) {
                let (done, rest) = bits.split_at_mut(later as usize * words);
                let row = &mut rest[..words];
                for (word, more) in row.iter_mut().zip(&done[earlier * words..]) {
                    *word |= more;
                }
                row[earlier / 64] |= 1 << (earlier % 64);
            }
        }
        Self { words, bits }
    }

    fn orders(&self, earlier: usize, later: usize) -> bool {
        earlier == later || self.bits[later * self.words + earlier / 64] >> (earlier % 64) & 1 == 1
    }
}

pub(crate) fn check(schedule: &Schedule, memory: &Memory) -> Result<(), Fault> {
    let before = Before::new(schedule);
    let mut cuts = Vec::new();
    for action in schedule.actions() {
        for span in action.reads().into_iter().chain([action.writes()]).flatten() {
            cuts.extend(memory.range(span).into_iter().flat_map(|range| [range.start, range.end]));
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    let index = |cell: usize| cuts.partition_point(|cut| *cut < cell);
    let mut history = vec![History::default(); cuts.len()];

    for (step, action) in schedule.actions().iter().enumerate() {
        let race =
            |first: usize, cell: usize| Err(Fault::Race { rank: schedule.rank(), first, second: step, cell });
        for range in action.reads().into_iter().flatten().filter_map(|span| memory.range(span)) {
            let runs = index(range.start)..index(range.end);
            for (at, run) in runs.clone().zip(&mut history[runs]) {
                if let Some(first) = run.writer.filter(|writer| !before.orders(*writer, step)) {
                    return race(first, cuts[at]);
                }
                run.readers.push(step);
            }
        }
        if let Some(range) = action.writes().and_then(|span| memory.range(span)) {
            let runs = index(range.start)..index(range.end);
            for (at, run) in runs.clone().zip(&mut history[runs]) {
                let mut earlier = run.readers.iter().chain(&run.writer);
                if let Some(first) = earlier.find(|first| !before.orders(**first, step)) {
                    return race(*first, cuts[at]);
                }
                *run = History { writer: Some(step), readers: Vec::new() };
            }
        }
    }
    Ok(())
}
