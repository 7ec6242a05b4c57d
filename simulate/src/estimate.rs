//! How much work a simulation would be, before it is begun.
//!
//! Schedules are counted by making some of them. Where one would itself be too long, shorter vectors are
//! tried, twice as long each time, and the last growth is continued.

use ringworld_collectives::{Choice, Request, build};

use crate::facts::Facts;
use crate::{Error, ask, symmetry};

/// The longest schedule that is made only to count it, in steps.
const PROBE: u64 = 2_000_000;

/// How much may be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Steps of all simulated ranks together.
    pub steps: u64,
}

impl Budget {
    /// Whatever it takes.
    pub const UNLIMITED: Self = Self { steps: u64::MAX };
}

impl Default for Budget {
    /// 24 million steps: about a minute and a gigabyte.
    fn default() -> Self {
        Self { steps: 24_000_000 }
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
    let first = steps_of(request, choice, request.collective.root().unwrap_or(0))?;
    let mut ranks = symmetry::sample(request.size, true);
    ranks.truncate(if first > PROBE / 20 { 3 } else { 12 });
    let mut sum = 0u64;
    for &rank in &ranks {
        sum = sum.saturating_add(steps_of(request, choice, rank)?);
    }
    let mean = if ranks.is_empty() { 0 } else { sum.div_ceil(ranks.len() as u64) };
    let others = request.size.saturating_sub(1) as u64;
    Ok(Estimate { first, all: first.saturating_add(mean.saturating_mul(others)) })
}

fn steps_of(request: &Request, choice: &Choice, rank: usize) -> Result<u64, Error> {
    let request = ask::of_rank(request, rank);
    let count = ask::count(&request);
    let mut halvings = count.div_ceil(choice.segment.max(1)).max(1).ilog2();
    let mut before: Option<(usize, u64)> = None;
    loop {
        let shorter = count.div_ceil(1 << halvings);
        let schedule = build(&ask::of_count(&request, shorter), choice)?;
        let steps = Facts::of(&schedule, request.element).steps;
        if halvings == 0 {
            return Ok(steps);
        }
        if steps > PROBE {
            let (earlier, fewer) = before.unwrap_or((0, 0));
            let growth = steps.saturating_sub(fewer) as f64 / shorter.saturating_sub(earlier).max(1) as f64;
            return Ok((steps as f64 + growth * (count - shorter) as f64) as u64);
        }
        before = Some((shorter, steps));
        halvings -= 1;
    }
}
