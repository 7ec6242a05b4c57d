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

/// The steps that must complete before each step: bit `j` of row `i`, for `j < i`.
///
/// Kept from rank to rank: for vectors of real length it has tens of megabytes, and fresh pages cost more than all the
/// rest.
#[derive(Default)]
pub(crate) struct Before {
    bits: Vec<u64>,
}

/// Where a row begins: each has the words that its number of earlier steps needs.
fn row(step: usize) -> usize {
    // Rows 0 to 63 have one word, the next 64 two, and so on.
    let (full, rest) = (step / 64, step % 64);
    64 * full * (full + 1) / 2 + rest * (full + 1)
}

impl Before {
    fn fill(&mut self, schedule: &Schedule) {
        let bits = &mut self.bits;
        bits.clear();
        bits.resize(row(schedule.len()), 0);
        for earlier in 0..schedule.len() {
            // Program order is a topological order: the row of `earlier` is complete here.
            let here = row(earlier)..row(earlier + 1);
            for &later in schedule.dependents(earlier) {
                let (done, rest) = bits.split_at_mut(row(later as usize));
                for (word, more) in rest.iter_mut().zip(&done[here.clone()]) {
                    *word |= more;
                }
                rest[earlier / 64] |= 1 << (earlier % 64);
            }
        }
    }

    fn orders(&self, earlier: usize, later: usize) -> bool {
        earlier == later || earlier < later && self.bits[row(later) + earlier / 64] >> (earlier % 64) & 1 == 1
    }
}

pub(crate) fn check(schedule: &Schedule, memory: &Memory, before: &mut Before) -> Result<(), Fault> {
    before.fill(schedule);
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
