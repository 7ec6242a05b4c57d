//! How much work a simulation would be, before it is begun.
//!
//! Schedules are counted by making some of them. Where one would itself be too long, shorter vectors are
//! tried, twice as long each time, and the last growth is continued.

use ringworld_collectives::{Choice, Request, build};

use crate::{Error, ask, symmetry};

/// The longest schedule that is made several times only to count it, in steps.
const PROBE: u64 = 250_000;
/// What is run in full without asking whether it must be.
const LITTLE: u64 = 1_000_000;

/// How much may be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Steps of all simulated ranks together, and of those that are made only to be compared.
    pub steps: u64,
    /// Up to so many steps of all ranks together, every rank is run even where one might stand for all: it costs
    /// nothing and proves more.
    pub every: u64,
}

impl Budget {
    /// Whatever it takes.
    pub const UNLIMITED: Self = Self { steps: u64::MAX, every: LITTLE };
}

impl Default for Budget {
    /// 12 million steps, which take seconds, rarely half a minute, and less than half a gigabyte; every rank up to a
    /// million.
    fn default() -> Self {
        Self { steps: 12_000_000, every: LITTLE }
    }
}

/// What running every step of every rank would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Steps of rank 0.
    pub first: u64,
    /// Steps of all ranks together.
    pub all: u64,
}

impl Estimate {
    /// Bytes of memory for so many steps, as [`crate::simulate`] keeps them.
    #[must_use]
    pub fn memory(steps: u64) -> u64 {
        steps.saturating_mul(64)
    }

    /// Seconds on a processor of the year 2020, roughly.
    #[must_use]
    pub fn seconds(steps: u64) -> f64 {
        steps as f64 * 1e-6
    }
}

/// Counts the steps of some ranks, and concludes.
pub(crate) fn estimate(request: &Request, choice: &Choice) -> Result<Estimate, Error> {
    let size = request.size as u64;
    let first = steps_of(request, choice, request.collective.root().unwrap_or(0))?;
    if first > PROBE {
        // So much work on one rank comes from all the others, and they have as much.
        return Ok(Estimate { first, all: first.saturating_mul(size) });
    }
    let mut ranks = symmetry::sample(request.size, first.max(PROBE / 20));
    ranks.truncate(12);
    let mut sum = 0;
    for &rank in &ranks {
        sum += steps_of(request, choice, rank)?;
    }
    let mean = sum.div_ceil(ranks.len().max(1) as u64);
    Ok(Estimate { first, all: first.saturating_add(mean.saturating_mul(size.saturating_sub(1))) })
}

fn steps_of(request: &Request, choice: &Choice, rank: usize) -> Result<u64, Error> {
    let request = ask::of_rank(request, rank);
    let count = ask::count(&request);
    // One segment, two, four, and so on.
    let mut shorter = choice.segment.clamp(1, count.max(1));
    let (mut before, mut made) = ((0, 0), 0);
    loop {
        shorter = shorter.min(count);
        let steps = build(&ask::of_count(&request, shorter), choice)?.len() as u64;
        made += steps;
        if shorter == count {
            return Ok(steps);
        }
        // Growth shows between two lengths only; the first of them may be long for the number of ranks alone.
        let (earlier, fewer) = before;
        if made > 4 * PROBE && earlier > 0 {
            let growth = steps.saturating_sub(fewer) as f64 / (shorter - earlier) as f64;
            return Ok((steps as f64 + growth * (count - shorter) as f64) as u64);
        }
        before = (shorter, steps);
        shorter = shorter.saturating_mul(2);
    }
}
