//! What all ranks are to be told, gathered until it is. Pure: no socket, no clock.
//!
//! When a world ends, everybody has something to say that concerns everybody. Told one by one, that is a frame for
//! each pair of ranks; gathered, it is a few for each rank. Ranks that leave for the same reason become ranges.
//! Neighbour: `hub` gathers, and decides when to tell.

use crate::wire::{Fault, Notice, Ranks};

/// The notices since the last telling, in their order.
#[derive(Default)]
pub(super) struct Notices {
    groups: Vec<Group>,
    /// A fault has been passed on, and ends the world: others follow from it.
    faulty: bool,
}

enum Group {
    Finished(Vec<u64>),
    Down { ranks: Vec<u64>, cause: String },
    Fault { rank: u64, fault: Fault },
}

impl Notices {
    /// `rank` has said goodbye.
    pub(super) fn finished(&mut self, rank: u64) {
        match self.groups.last_mut() {
            Some(Group::Finished(ranks)) => ranks.push(rank),
            _ => self.groups.push(Group::Finished(vec![rank])),
        }
    }

    /// `rank` is dead or out of reach.
    pub(super) fn down(&mut self, rank: u64, cause: &str) {
        match self.groups.last_mut() {
            Some(Group::Down { ranks, cause: same }) if same == cause => ranks.push(rank),
            _ => self.groups.push(Group::Down { ranks: vec![rank], cause: cause.into() }),
        }
    }

    /// `rank` has found a fault that every rank must hear of; whether it is the first, and so must be told.
    pub(super) fn fault(&mut self, rank: u64, fault: Fault) -> bool {
        let first = !std::mem::replace(&mut self.faulty, true);
        if first {
            self.groups.push(Group::Fault { rank, fault });
        }
        first
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// All of them, which then are told.
    pub(super) fn take(&mut self) -> Vec<Notice> {
        let notice = |group| match group {
            Group::Finished(ranks) => Notice::Finished { ranks: Ranks::of(ranks) },
            Group::Down { ranks, cause } => Notice::Down { ranks: Ranks::of(ranks), cause },
            Group::Fault { rank, fault } => Notice::Fault { rank, fault },
        };
        self.groups.drain(..).map(notice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_leave_for_one_reason_are_told_together_and_in_order() {
        let mut notices = Notices::default();
        for rank in [3, 1, 2, 7] {
            notices.finished(rank);
        }
        notices.down(5, "killed");
        notices.down(9, "left");
        notices.down(8, "left");
        notices.finished(4);
        let ranks = |ranks: &[u64]| Ranks::of(ranks.to_vec());
        assert_eq!(
            notices.take(),
            [
                Notice::Finished { ranks: ranks(&[1, 2, 3, 7]) },
                Notice::Down { ranks: ranks(&[5]), cause: "killed".into() },
                Notice::Down { ranks: ranks(&[8, 9]), cause: "left".into() },
                Notice::Finished { ranks: ranks(&[4]) },
            ]
        );
        assert!(notices.is_empty() && notices.take().is_empty());
    }

    #[test]
    fn one_fault_is_told() {
        let fault = || Fault::Mismatch { detail: "they disagree".into() };
        let mut notices = Notices::default();
        assert!(notices.fault(1, fault()));
        assert_eq!(notices.take(), [Notice::Fault { rank: 1, fault: fault() }]);
        assert!(!notices.fault(2, fault()), "also when it has been told");
        assert!(notices.is_empty());
    }
}
