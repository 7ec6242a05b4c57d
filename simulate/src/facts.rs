//! What a schedule costs before any time passes: counts that follow from it alone.

use ringworld_collectives::{Action, Schedule};

/// Counts of one rank; of several ranks, the most of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Steps.
    pub steps: u64,
    /// Messages sent.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Bytes of working memory.
    pub scratch: u64,
    /// Bytes that the schedule itself takes.
    pub schedule: u64,
}

impl Facts {
    /// Of one schedule.
    #[must_use]
    pub fn of(schedule: &Schedule, element: usize) -> Self {
        let (mut messages, mut elements) = (0, 0);
        for action in schedule.actions() {
            if let Action::Send { from, .. } = action {
                messages += 1;
                elements += from.len as u64;
            }
        }
        let edges: usize = (0..schedule.len()).map(|step| schedule.dependents(step).len()).sum();
        // Two numbers of 32 bits per step, one per dependency and per root.
        let numbers = 2 * schedule.len() + edges + schedule.roots().len();
        let memory = size_of_val(schedule.actions()) + numbers * size_of::<u32>();
        Self {
            steps: schedule.len() as u64,
            messages,
            bytes: elements * element as u64,
            scratch: (schedule.scratch() as u64).saturating_mul(element as u64),
            schedule: memory as u64,
        }
    }

    /// The most of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, u64::max)
    }

    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            steps: f(self.steps, other.steps),
            messages: f(self.messages, other.messages),
            bytes: f(self.bytes, other.bytes),
            scratch: f(self.scratch, other.scratch),
            schedule: f(self.schedule, other.schedule),
        }
    }

    /// Continues the line from `self` through `later`, which is `1` further on, to `further` beyond `later`.
    pub(crate) fn extend(self, later: Self, further: f64) -> Self {
        self.zip(later, |a, b| {
            let grown = b as f64 + (b as f64 - a as f64) * further;
            grown.round() as u64
        })
    }
}
