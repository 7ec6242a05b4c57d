//! What has been said of a stall: each is told by one line, and again only when there is something else to say.
//!
//! A stall is known by the calls that wait in it. It lasts as long as one of these calls still waits; whoever comes to
//! wait for the same late ranks meanwhile belongs to it. Another line is due when a rank is late of which the last
//! line has said nothing, or when what was only late turns out to be a deadlock.

use std::collections::BTreeSet;

use super::judge::{Seen, Verdict};

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The calls: rank, and the number of the wait.
    calls: BTreeSet<(usize, u64)>,
    late: BTreeSet<usize>,
    kind: u8,
}

impl Said {
    /// Whether a line is due, and by which rank it is said.
    pub(crate) fn is_due(&mut self, seen: &[Seen], verdict: &Verdict) -> Option<usize> {
        let waits = || seen.iter().flat_map(|seen| seen.waits().map(|waits| (seen.rank, waits.number)));
        let lasting: BTreeSet<(usize, u64)> = waits().filter(|call| self.calls.contains(call)).collect();
        if lasting.is_empty() {
            *self = Self::default();
        }
        let (kind, late) = match verdict {
            Verdict::Nothing => return None,
            Verdict::Late { late, .. } => (1, late.clone()),
            Verdict::OnItsWay { .. } => (2, BTreeSet::new()),
            Verdict::Circle { waiting } => (3, waiting.clone()),
            Verdict::Deadlock { .. } => (4, BTreeSet::new()),
        };
        let speaker = seen.iter().find(|seen| seen.is_stalled())?.rank;
        let news = kind > self.kind || !late.is_subset(&self.late);
        self.calls.extend(waits());
        self.late.extend(late);
        self.kind = self.kind.max(kind);
        news.then_some(speaker)
    }
}

#[cfg(test)]
#[path = "said_tests.rs"]
mod tests;
