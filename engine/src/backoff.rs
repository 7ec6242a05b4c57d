//! When a thread that spins offers its core to others.
//!
//! Neighbours: `wait`, whose loop asks, and `affinity.rs`, which moves a thread that finds its core crowded.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Offering the core took this long: somebody else took the offer. With nobody there it takes 0.3 us.
const CROWDED: Duration = Duration::from_micros(3);

/// When a thread that spins offers its core.
///
/// An offer is a system call, as dear as a turn of the loop, and what comes meanwhile is seen late. So an offer
/// that nobody took is repeated after a pause, twice as long each time up to [`YieldBackoff::LONGEST`]; one that was
/// taken, at the next turn. How often offers are taken is a [`YieldHistory`] that outlives a wait: where nobody ever
/// takes one, waits shorter than the longest pause make none.
#[derive(Debug)]
pub(super) struct YieldBackoff<'a> {
    /// Idle for so long, the next one is due.
    next: Duration,
    pause: Duration,
    /// Ranks that share cores offer theirs at every turn.
    longest: Duration,
    history: &'a YieldHistory,
}

/// How long this process pauses between offers by now, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct YieldHistory(AtomicU32);

impl<'a> YieldBackoff<'a> {
    /// Somebody who begins to want this core waits at most this long for it: little beside the time slice for
    /// which the scheduler may let it wait.
    const LONGEST: Duration = Duration::from_micros(16);

    /// The first offer is made after `busy_poll`, and without any such time one at each turn.
    #[inline]
    pub(super) fn new(busy_poll: Duration, history: &'a YieldHistory) -> Self {
        let longest = if busy_poll.is_zero() { Duration::ZERO } else { Self::LONGEST };
        let pause = Duration::from_nanos(history.0.load(Ordering::Relaxed).into()).min(longest);
        Self { next: busy_poll.max(pause), pause, longest, history }
    }

    /// Whether one is due after having been idle for so long.
    #[inline]
    pub(super) fn is_due(&self, idle: Duration) -> bool {
        idle >= self.next
    }

    /// An offer has been made when the thread had been idle for `idle`, and lasted until `after`; whether
    /// somebody took it.
    #[inline]
    pub(super) fn made(&mut self, idle: Duration, after: Duration) -> bool {
        let taken = after > idle + CROWDED;
        let pause = (2 * self.pause).max(Duration::from_micros(1)).min(self.longest);
        self.pause = if taken { Duration::ZERO } else { pause };
        self.next = after + self.pause;
        self.history.0.store(self.pause.as_nanos().try_into().unwrap_or(u32::MAX), Ordering::Relaxed);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    #[test]
    fn a_core_that_nobody_wants_is_offered_less_and_less_often_up_to_a_bound() {
        let history = YieldHistory::default();
        let wait = |until: u32| {
            let mut offers = YieldBackoff::new(2 * US, &history);
            let due = |us: &u32| offers.is_due(*us * US) && !offers.made(*us * US, *us * US);
            (0..until).filter(due).collect::<Vec<_>>()
        };
        assert_eq!(wait(40), [2, 3, 5, 9, 17, 33]);
        assert_eq!(wait(40), [16, 32], "the next wait goes on as this one ended");
        assert_eq!(wait(10), [0; 0]);
    }

    #[test]
    fn a_core_that_somebody_took_is_offered_early_in_the_next_wait() {
        let history = YieldHistory::default();
        let mut offers = YieldBackoff::new(2 * US, &history);
        assert!(!offers.made(2 * US, 2 * US) && !offers.made(3 * US, 3 * US));
        assert!(!YieldBackoff::new(2 * US, &history).is_due(US));
        assert!(offers.made(5 * US, 30 * US));
        assert!(YieldBackoff::new(2 * US, &history).is_due(2 * US));
    }

    #[test]
    fn a_core_that_somebody_took_is_offered_at_the_next_turn() {
        let history = YieldHistory::default();
        let mut offers = YieldBackoff::new(2 * US, &history);
        for us in [2, 3, 5, 9] {
            assert!(offers.is_due(us * US) && !offers.made(us * US, us * US));
        }
        assert!(offers.made(17 * US, 30 * US));
        assert!(offers.is_due(30 * US));
    }

    #[test]
    fn ranks_that_share_cores_offer_theirs_at_every_turn() {
        let history = YieldHistory::default();
        for _ in 0..2 {
            let mut offers = YieldBackoff::new(Duration::ZERO, &history);
            for us in 0..50 {
                assert!(offers.is_due(us * US) && !offers.made(us * US, us * US));
            }
        }
    }
}
