//! Asking all ranks what they do, twice in a row: when, whom, and for how long to wait for answers. Pure: time is an
//! argument.
//!
//! ```text
//! idle ──begin──▶ first round ──all, or patience──▶ pause ──▶ second round ──all, or patience──▶ done ──▶ idle
//! ```
//!
//! The second round begins only when the first has ended, which is what `observe/judge` relies on: an answer to another
//! question than the latest is not taken, nor a second one to the same. There is one inquiry at a time, for all who
//! want to know; so however often ranks and others ask, each rank is asked a few times a second.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::observe::judge::Seen;
use crate::observe::{JobStatus, Whereabouts};

/// How long a rank may take to answer. Its control thread has nothing else to do; but its process may be stopped.
const PATIENCE: Duration = Duration::from_millis(600);
/// Between two rounds: long enough that whoever only happened to wait goes on meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// How long ranks are left alone after they have been asked, however many want to know; but for the errors of calls
/// that are about to end.
pub(super) const REST: Duration = Duration::from_millis(200);
/// Askers that may wait at the same time.
pub(super) const ASKERS: usize = 32;
/// How often ranks are asked for a line, if what they say does not yet tell whether anything moves.
pub(super) const LINES: u8 = 3;

/// Who wants to know what all ranks do.
#[derive(Default)]
pub(super) struct Wanted {
    /// A line is to be said of calls that wait for too long; so many tries are left.
    pub(super) lines: u8,
    /// The connections of ranks that have asked.
    pub(super) stories: HashSet<u64>,
    /// They could not be told for certain before.
    pub(super) again: bool,
    /// Those who ask how the job stands.
    pub(super) statuses: Vec<oneshot::Sender<JobStatus>>,
}

impl Wanted {
    pub(super) fn is_empty(&self) -> bool {
        self.lines == 0 && self.stories.is_empty() && self.statuses.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    First,
    Pause,
    Second,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask all who have not left, under this number.
    Ask(u64),
    /// All is known that will be.
    Done,
}

/// See the file's head.
#[derive(Debug)]
pub(super) struct Inquiry {
    phase: Phase,
    /// Of the latest round; never used again.
    number: u64,
    seen: Vec<Seen>,
    /// How many answers are due.
    due: usize,
    until: Instant,
}

impl Inquiry {
    pub(super) fn new(now: Instant) -> Self {
        Self { phase: Phase::Idle, number: 0, seen: Vec::new(), due: 0, until: now }
    }

    /// Whether one is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Begins with these ranks, in their order, if none is under way.
    pub(super) fn begin(&mut self, now: Instant, ranks: impl Iterator<Item = usize>) -> Option<Next> {
        if self.is_under_way() {
            return None;
        }
        self.seen = ranks.map(|rank| Seen { rank, ..Seen::default() }).collect();
        Some(self.ask(now, Phase::First, self.seen.len()))
    }

    fn ask(&mut self, now: Instant, phase: Phase, due: usize) -> Next {
        (self.phase, self.due) = (phase, due);
        self.number += 1;
        self.until = now + PATIENCE;
        Next::Ask(self.number)
    }

    /// A rank has answered.
    pub(super) fn told(&mut self, now: Instant, rank: usize, number: u64, told: Whereabouts) -> Option<Next> {
        if number != self.number {
            return None;
        }
        let at = self.seen.binary_search_by_key(&rank, |seen| seen.rank).ok()?;
        let answer = match self.phase {
            Phase::First => &mut self.seen[at].first,
            // Who has not answered the first time, in time, is not waited for.
            Phase::Second if self.seen[at].first.is_some() => &mut self.seen[at].second,
            _ => return None,
        };
        if answer.is_some() {
            return None;
        }
        *answer = Some(told.clipped());
        self.due -= 1;
        self.go_on(now)
    }

    /// A rank has left, or died: it will not answer.
    pub(super) fn gone(&mut self, now: Instant, rank: usize) -> Option<Next> {
        let at = self.seen.binary_search_by_key(&rank, |seen| seen.rank).ok()?;
        let gone = self.seen.remove(at);
        let owes = match self.phase {
            Phase::First => gone.first.is_none(),
            Phase::Second => gone.first.is_some() && gone.second.is_none(),
            Phase::Idle | Phase::Pause => false,
        };
        self.due -= usize::from(owes);
        self.go_on(now)
    }

    /// When [`Inquiry::passed`] is to be called next.
    pub(super) fn until(&self) -> Option<Instant> {
        self.is_under_way().then_some(self.until)
    }

    /// Time has passed.
    pub(super) fn passed(&mut self, now: Instant) -> Option<Next> {
        if now < self.until {
            return None;
        }
        match self.phase {
            Phase::Idle => None,
            Phase::First => self.pause(now),
            Phase::Pause => {
                let due = self.seen.iter().filter(|seen| seen.first.is_some()).count();
                let asked = self.ask(now, Phase::Second, due);
                if due == 0 { self.done() } else { Some(asked) }
            }
            Phase::Second => self.done(),
        }
    }

    fn go_on(&mut self, now: Instant) -> Option<Next> {
        match self.phase {
            Phase::First if self.due == 0 => self.pause(now),
            Phase::Second if self.due == 0 => self.done(),
            _ => None,
        }
    }

    fn pause(&mut self, now: Instant) -> Option<Next> {
        self.phase = Phase::Pause;
        self.until = now + PAUSE;
        None
    }

    fn done(&mut self) -> Option<Next> {
        self.phase = Phase::Idle;
        Some(Next::Done)
    }

    /// What the ranks have answered.
    pub(super) fn take(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(begun: u64) -> Whereabouts {
        Whereabouts { begun, ..Whereabouts::default() }
    }

    fn answers(inquiry: &mut Inquiry) -> Vec<(usize, Option<u64>, Option<u64>)> {
        let begun = |told: &Option<Whereabouts>| told.as_ref().map(|told| told.begun);
        inquiry.take().iter().map(|seen| (seen.rank, begun(&seen.first), begun(&seen.second))).collect()
    }

    #[test]
    fn nobody_is_asked_a_second_time_before_all_have_answered_the_first_time() {
        let now = Instant::now();
        let mut inquiry = Inquiry::new(now);
        assert_eq!(inquiry.begin(now, 0..3), Some(Next::Ask(1)));
        assert_eq!(inquiry.begin(now, 0..3), None, "there is one at a time");
        for (rank, number, begun) in [(0, 1, 10), (0, 1, 99), (2, 7, 99), (2, 1, 12), (9, 1, 99)] {
            assert_eq!(inquiry.told(now, rank, number, told(begun)), None);
        }
        assert_eq!(inquiry.passed(now + PAUSE), None, "one has not answered");
        assert_eq!(inquiry.told(now, 1, 1, told(11)), None);
        assert_eq!(inquiry.told(now, 1, 1, told(99)), None, "in the pause");
        assert_eq!(inquiry.passed(now + PAUSE), Some(Next::Ask(2)));
        assert_eq!(inquiry.told(now, 1, 1, told(99)), None, "to the first question");
        assert_eq!(inquiry.told(now, 1, 2, told(21)), None);
        assert_eq!(inquiry.told(now, 0, 2, told(20)), None);
        assert_eq!(inquiry.told(now, 2, 2, told(22)), Some(Next::Done));
        let all = (0..3).map(|rank| (rank, Some(10 + rank as u64), Some(20 + rank as u64)));
        assert_eq!(answers(&mut inquiry), all.collect::<Vec<_>>());
        assert_eq!((inquiry.until(), inquiry.begin(now, 0..1)), (None, Some(Next::Ask(3))));
    }

    #[test]
    fn who_does_not_answer_is_waited_for_once_and_who_leaves_not_at_all() {
        let now = Instant::now();
        let mut inquiry = Inquiry::new(now);
        inquiry.begin(now, 0..4);
        assert_eq!(inquiry.told(now, 0, 1, told(1)), None);
        assert_eq!(inquiry.told(now, 3, 1, told(1)), None);
        assert_eq!(inquiry.gone(now, 3), None);
        assert_eq!(inquiry.gone(now, 2), None);
        let later = now + PATIENCE;
        assert_eq!(inquiry.passed(later), None);
        assert_eq!(inquiry.passed(later + PAUSE), Some(Next::Ask(2)));
        assert_eq!(inquiry.told(later, 1, 2, told(1)), None, "too late: it has not answered the first time");
        assert_eq!(inquiry.told(later, 0, 2, told(2)), Some(Next::Done));
        assert_eq!(answers(&mut inquiry), [(0, Some(1), Some(2)), (1, None, None)]);

        inquiry.begin(now, 0..2);
        assert_eq!(inquiry.gone(now, 0), None);
        assert_eq!(inquiry.gone(now, 1), None);
        assert_eq!(inquiry.passed(now + PAUSE), Some(Next::Done), "nobody is left");
        assert_eq!(inquiry.gone(now, 1), None);
    }

    #[test]
    fn nobody_answers_at_all() {
        let now = Instant::now();
        let mut inquiry = Inquiry::new(now);
        inquiry.begin(now, 0..2);
        assert_eq!(inquiry.passed(now + PATIENCE), None);
        assert_eq!(inquiry.passed(now + PATIENCE + PAUSE), Some(Next::Done));
    }
}
