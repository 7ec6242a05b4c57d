//! Credits: how much eager data a sender may leave lying at a receiver.
//!
//! Each ordered pair of ranks has a window of bytes. A message that needs credit (eager, or a request to
//! send) takes its payload plus [`OVERHEAD`] out of the window when it leaves, and the receiver gives
//! it back once the message occupies nothing there. Invariant, for each pair:
//!
//! ```text
//! available at the sender + on the wire + lying at the receiver + owed by the receiver = window
//! ```
//!
//! What is owed rides on every header that goes back anyway; an explicit message is due once so much is
//! owed that the largest message might not fit into the rest. Neighbours: `machine/send.rs` takes,
//! `machine/arrive.rs` admits, `machine/mod.rs` settles.

/// What a message costs beyond its payload, in bytes: about what the receiver keeps to remember it.
pub const OVERHEAD: usize = 128;

/// The same for all pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) window: usize,
    /// An explicit credit message is due when this much is owed.
    threshold: usize,
}

impl Limits {
    /// `eager_limit + OVERHEAD` must not exceed `window`.
    pub(crate) fn new(eager_limit: usize, window: usize) -> Self {
        // With less than this owed, the largest message fits into what is left, so a sender never waits
        // for credit that its idle receiver keeps to itself.
        let spare = window.saturating_sub(eager_limit.saturating_add(OVERHEAD)).saturating_add(1);
        Self { window, threshold: spare.min(window / 2).max(1) }
    }
}

/// One peer's account, in both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    /// What may still be sent there.
    available: usize,
    /// What the peer has sent here and not got back, `owed` included.
    outstanding: usize,
    /// What is free here but has not been given back yet.
    owed: usize,
}

impl Credit {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { available: limits.window, outstanding: 0, owed: 0 }
    }

    /// Spends `cost` if there is enough.
    pub(crate) fn spend(&mut self, cost: usize) -> bool {
        match self.available.checked_sub(cost) {
            Some(rest) => {
                self.available = rest;
                true
            }
            None => false,
        }
    }

    /// What would be available if the peer gave back `amount`; `None` when that is more than was spent.
    pub(crate) fn refilled(&self, amount: u64, limits: &Limits) -> Option<usize> {
        let amount = usize::try_from(amount).ok()?;
        self.available.checked_add(amount).filter(|sum| *sum <= limits.window)
    }

    pub(crate) fn refill(&mut self, available: usize) {
        self.available = available;
    }

    /// Whether a message of `cost` keeps the peer within its window.
    pub(crate) fn admits(&self, cost: usize, limits: &Limits) -> bool {
        self.outstanding.checked_add(cost).is_some_and(|sum| sum <= limits.window)
    }

    pub(crate) fn admit(&mut self, cost: usize) {
        self.outstanding = self.outstanding.saturating_add(cost);
    }

    /// A message of `cost` occupies nothing here any more.
    pub(crate) fn free(&mut self, cost: usize) {
        self.owed = self.owed.saturating_add(cost).min(self.outstanding);
    }

    /// Whether the peer must be told, even if nothing else goes there.
    pub(crate) fn is_due(&self, limits: &Limits) -> bool {
        self.owed >= limits.threshold
    }

    /// Gives back all that is owed: the amount to write into a header that leaves now.
    pub(crate) fn settle(&mut self) -> u64 {
        let owed = std::mem::take(&mut self.owed);
        self.outstanding -= owed;
        owed as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_message_always_fits_an_idle_window() {
        for eager_limit in [0, 1, 500, 1000, 10_000] {
            for spare in [0, 1, 2, 700, 5000, 100_000] {
                let window = eager_limit + OVERHEAD + spare;
                let limits = Limits::new(eager_limit, window);
                let mut receiver = Credit::new(&limits);
                let mut sender = Credit::new(&limits);
                for round in 0..1000 {
                    let cost =
                        OVERHEAD + if round % 3 == 0 { eager_limit } else { round % (eager_limit + 1) };
                    assert!(sender.spend(cost), "limit {eager_limit}, window {window}, round {round}");
                    assert!(receiver.admits(cost, &limits));
                    receiver.admit(cost);
                    receiver.free(cost);
                    if receiver.is_due(&limits) {
                        let available = sender.refilled(receiver.settle(), &limits).unwrap();
                        sender.refill(available);
                    }
                }
            }
        }
    }

    #[test]
    fn more_than_the_window_is_neither_spent_nor_admitted_nor_given_back() {
        let limits = Limits::new(100, 300);
        let mut credit = Credit::new(&limits);
        assert!(credit.spend(300) && !credit.spend(1));
        assert_eq!(credit.refilled(301, &limits), None);
        assert_eq!(credit.refilled(u64::MAX, &limits), None);
        assert_eq!(credit.refilled(300, &limits), Some(300));
        credit.admit(200);
        assert!(credit.admits(100, &limits) && !credit.admits(101, &limits));
    }
}
