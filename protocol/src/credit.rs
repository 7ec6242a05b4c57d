//! Credits: how much a sender may leave lying at a receiver, and what a message does that finds no room.
//!
//! Each ordered pair of ranks has one budget of bytes. An eager message takes its payload plus
//! [`OVERHEAD`] out of it when it leaves, a request to send [`OVERHEAD`], and the receiver gives it back
//! once the message occupies nothing there. Eager messages may use the first part of the budget, the
//! window, requests the next part as well, and those of collectives all of it:
//!
//! ```text
//! |<-------------- window -------------->|<-- Config::requests -->|<-- Config::reserve -->|
//! |  eager messages and requests to send | requests to send only  |  those of collectives |
//!                                          x OVERHEAD               x OVERHEAD
//!
//! available at the sender + on the wire + lying at the receiver + owed by the receiver = whole
//! ```
//!
//! The two [`Class`]es wait in queues of their own. So what the user leaves unreceived never stops a collective, in
//! which all ranks may have to take part before anybody receives more: its messages go as requests, and those take
//! no room but for their records. Within a class, and so within a context, nothing overtakes.
//!
//! So an eager message without room in the window can still go as a request, and a receive that is
//! posted gets its message however many others lie unmatched before it. But a request costs a round trip, and a
//! receiver that merely lags is about to give credit back. So the first such request is a *window probe*: the receiver
//! acknowledges it at once, matched or not, with all credit that it owes. Further eager messages wait for that or for
//! credit. The window has *stalled* when no message has left eagerly since the probe, and what comes back with its
//! acknowledgement does not free half of the window. Then messages go as requests, without probes, until half of the
//! window is free.
//!
//! What is owed rides on every header that goes back anyway; an explicit message is due once so much is
//! owed that the largest message might not fit into the rest, or once the sender can send nothing at
//! all. Neighbours: `machine/send.rs` takes, `machine/arrive.rs` admits, `machine/mod.rs` settles.

use crate::{Config, OVERHEAD};

/// Whose traffic a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    User,
    Collective,
}

impl Class {
    /// In the order in which queues are served: collectives first, because all ranks wait for them.
    pub(crate) const ALL: [Self; 2] = [Self::Collective, Self::User];

    /// Of the messages of a context.
    #[inline]
    pub(crate) const fn of(context: u64) -> Self {
        if context % 2 == 1 { Self::Collective } else { Self::User }
    }
}

/// The same for all pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Eager messages keep within this.
    pub(crate) window: usize,
    /// Requests to send of the user keep within this.
    total: usize,
    /// And those of collectives within this.
    whole: usize,
    /// An explicit credit message is due when this much is owed.
    threshold: usize,
}

impl Limits {
    /// Of a configuration that passes its check.
    pub(crate) fn new(config: &Config) -> Self {
        let window = config.window;
        // With less than this owed, the largest message fits into what is left, so a sender never waits
        // for credit that its idle receiver keeps to itself.
        let spare = window.saturating_sub(config.eager_limit.saturating_add(OVERHEAD)).saturating_add(1);
        let total = window.saturating_add(config.requests.saturating_mul(OVERHEAD));
        Self {
            window,
            total,
            whole: total.saturating_add(config.reserve().saturating_mul(OVERHEAD)),
            threshold: spare.min(window / 2).max(1),
        }
    }

    /// What requests to send keep within.
    const fn requests(&self, class: Class) -> usize {
        match class {
            Class::User => self.total,
            Class::Collective => self.whole,
        }
    }
}

/// How a message leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// With its payload.
    Eager,
    /// As a request to send.
    Request { probes: bool },
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
    /// The request that probes whether the window has stalled, until it is acknowledged.
    window_probe: Option<u64>,
    /// An eager message has left since the probe, so its acknowledgement proves nothing.
    moved: bool,
    /// The window is full of what the peer has seen and does not receive.
    stalled: bool,
}

impl Credit {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            available: limits.whole,
            outstanding: 0,
            owed: 0,
            window_probe: None,
            moved: false,
            stalled: false,
        }
    }

    /// How request `id` leaves, its cost spent; `eager`: the length of its payload when it may go with
    /// it. `None`: not now.
    pub(crate) fn depart(
        &mut self,
        id: u64,
        class: Class,
        eager: Option<usize>,
        limits: &Limits,
    ) -> Option<Way> {
        let bound = limits.requests(class);
        let Some(len) = eager else {
            return self.spend(OVERHEAD, bound, limits).then_some(Way::Request { probes: false });
        };
        if let Some(rest) = self.rest_after(len, limits) {
            self.departs(rest);
            return Some(Way::Eager);
        }
        let probes = !self.stalled;
        if probes && self.window_probe.is_some() || !self.spend(OVERHEAD, bound, limits) {
            return None;
        }
        if probes {
            self.window_probe = Some(id);
            self.moved = false;
        }
        Some(Way::Request { probes })
    }

    /// What is available when an eager message of `len` bytes has left; `None`: it may not leave now.
    #[inline]
    pub(crate) fn rest_after(&self, len: usize, limits: &Limits) -> Option<usize> {
        self.rest(len.saturating_add(OVERHEAD), limits.window, limits)
    }

    /// An eager message leaves, with which so much is available.
    #[inline]
    pub(crate) fn departs(&mut self, rest: usize) {
        self.available = rest;
        self.moved = true;
    }

    /// What is available without `cost`, if no more than `bound` is then spent.
    #[inline]
    fn rest(&self, cost: usize, bound: usize, limits: &Limits) -> Option<usize> {
        self.available.checked_sub(cost).filter(|rest| limits.whole - rest <= bound)
    }

    /// Spends `cost` if no more than `bound` is then spent.
    fn spend(&mut self, cost: usize, bound: usize, limits: &Limits) -> bool {
        let Some(rest) = self.rest(cost, bound, limits) else { return false };
        self.available = rest;
        true
    }

    /// Whether a probe has not been acknowledged yet.
    pub(crate) fn is_probing(&self) -> bool {
        self.window_probe.is_some()
    }

    /// The peer has seen request `id` (`None`: the one that probes); `true` when that acknowledges a probe.
    /// Credit that comes with the acknowledgement is to be added *afterwards*.
    pub(crate) fn seen(&mut self, id: Option<u64>) -> bool {
        let acknowledges = self.window_probe.is_some() && id.is_none_or(|id| self.window_probe == Some(id));
        if acknowledges {
            self.window_probe = None;
            self.stalled |= !self.moved;
        }
        acknowledges
    }

    /// What would be available if the peer gave back `amount`; `None` when that is more than was spent.
    pub(crate) fn refilled(&self, amount: u64, limits: &Limits) -> Option<usize> {
        let amount = usize::try_from(amount).ok()?;
        self.available.checked_add(amount).filter(|sum| *sum <= limits.whole)
    }

    pub(crate) fn refill(&mut self, available: usize, limits: &Limits) {
        self.available = available;
        // Half, not any: else a window that is nearly full would be probed time and again.
        self.stalled &= limits.whole - available > limits.window / 2;
    }

    /// Whether an eager message of `len` bytes keeps the peer within its window.
    pub(crate) fn admits_eager(&self, len: usize, limits: &Limits) -> bool {
        self.fits(len, limits.window)
    }

    /// Whether a request to send keeps the peer within its budget.
    pub(crate) fn admits_request(&self, class: Class, limits: &Limits) -> bool {
        self.fits(0, limits.requests(class))
    }

    fn fits(&self, len: usize, bound: usize) -> bool {
        let sum = len.checked_add(OVERHEAD).and_then(|cost| cost.checked_add(self.outstanding));
        sum.is_some_and(|sum| sum <= bound)
    }

    pub(crate) fn admit(&mut self, cost: usize) {
        self.outstanding = self.outstanding.saturating_add(cost);
    }

    /// A message of `cost` occupies nothing here any more.
    pub(crate) fn free(&mut self, cost: usize) {
        self.owed = self.owed.saturating_add(cost).min(self.outstanding);
    }

    /// Whether the peer must be told, even if nothing else goes there. One that cannot send for collectives cannot
    /// send for the user either.
    pub(crate) fn is_due(&self, limits: &Limits) -> bool {
        self.owed >= limits.threshold || self.owed > 0 && !self.admits_request(Class::User, limits)
    }

    /// What [`Credit::take_owed`] would give back.
    #[inline]
    pub(crate) fn owed(&self) -> u64 {
        self.owed as u64
    }

    /// Gives back all that is owed: the amount to write into a header that leaves now.
    pub(crate) fn take_owed(&mut self) -> u64 {
        let owed = std::mem::take(&mut self.owed);
        self.outstanding -= owed;
        owed as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(eager_limit: usize, window: usize, requests: usize) -> Limits {
        Limits::new(&Config { rank: 0, size: 1, eager_limit, window, requests })
    }

    #[test]
    fn the_largest_message_always_fits_an_idle_window() {
        for eager_limit in [0, 1, 500, 1000, 10_000] {
            for spare in [0, 1, 2, 700, 5000, 100_000] {
                let window = eager_limit + OVERHEAD + spare;
                let limits = limits(eager_limit, window, 1 + spare % 3);
                let mut receiver = Credit::new(&limits);
                let mut sender = Credit::new(&limits);
                for round in 0..1000 {
                    let len = if round % 3 == 0 { eager_limit } else { round % (eager_limit + 1) };
                    let way = sender.depart(round as u64, Class::User, Some(len), &limits);
                    assert_eq!(way, Some(Way::Eager), "limit {eager_limit}, window {window}, round {round}");
                    assert!(receiver.admits_eager(len, &limits));
                    receiver.admit(len + OVERHEAD);
                    receiver.free(len + OVERHEAD);
                    if receiver.is_due(&limits) {
                        let available = sender.refilled(receiver.take_owed(), &limits).unwrap();
                        sender.refill(available, &limits);
                    }
                }
            }
        }
    }

    #[test]
    fn more_than_the_budget_is_neither_spent_nor_admitted_nor_given_back() {
        let limits = limits(100, 300, 2);
        let mut credit = Credit::new(&limits);
        assert_eq!(credit.depart(0, Class::User, Some(300 - OVERHEAD), &limits), Some(Way::Eager));
        assert_eq!(credit.depart(1, Class::User, None, &limits), Some(Way::Request { probes: false }));
        assert_eq!(credit.depart(2, Class::User, None, &limits), Some(Way::Request { probes: false }));
        assert_eq!(credit.depart(3, Class::User, None, &limits), None);
        assert_eq!(credit.depart(3, Class::User, Some(0), &limits), None);
        // One more for collectives, by the reserve that goes with two.
        assert_eq!(credit.depart(3, Class::Collective, None, &limits), Some(Way::Request { probes: false }));
        assert_eq!(credit.depart(4, Class::Collective, None, &limits), None);
        let spent = 300 + 3 * OVERHEAD as u64;
        assert_eq!(credit.refilled(spent + 1, &limits), None);
        assert_eq!(credit.refilled(u64::MAX, &limits), None);
        assert_eq!(credit.refilled(spent, &limits), Some(limits.whole));
        credit.admit(200 - OVERHEAD);
        assert!(credit.admits_eager(100, &limits) && !credit.admits_eager(101, &limits));
        assert!(!credit.admits_eager(usize::MAX, &limits));
        credit.admit(300 - (200 - OVERHEAD) + OVERHEAD);
        assert!(credit.admits_request(Class::User, &limits));
        credit.admit(1);
        assert!(!credit.admits_request(Class::User, &limits));
        assert!(credit.admits_request(Class::Collective, &limits));
        credit.admit(OVERHEAD);
        assert!(!credit.admits_request(Class::Collective, &limits));
    }

    #[test]
    fn one_request_probes_and_the_next_ones_wait_for_its_acknowledgement() {
        let limits = limits(100, 300, 10);
        let mut credit = Credit::new(&limits);
        assert_eq!(credit.depart(0, Class::User, Some(100), &limits), Some(Way::Eager));
        assert_eq!(credit.depart(1, Class::User, Some(100), &limits), Some(Way::Request { probes: true }));
        assert_eq!(credit.depart(2, Class::User, Some(100), &limits), None, "the acknowledgement is awaited");
        assert!(!credit.seen(Some(0)) && credit.is_probing());
        assert!(credit.seen(Some(1)) && !credit.is_probing());
        for id in 2..5 {
            assert_eq!(
                credit.depart(id, Class::User, Some(100), &limits),
                Some(Way::Request { probes: false })
            );
        }
        let available = credit.refilled(100 + 3 * OVERHEAD as u64, &limits).unwrap();
        credit.refill(available, &limits);
        assert_eq!(
            credit.depart(6, Class::User, Some(0), &limits),
            Some(Way::Request { probes: false }),
            "still stalled"
        );
        let available = credit.refilled(2 * OVERHEAD as u64, &limits).unwrap();
        credit.refill(available, &limits);
        assert_eq!(credit.depart(7, Class::User, Some(0), &limits), Some(Way::Eager));
        assert_eq!(
            credit.depart(8, Class::User, Some(100), &limits),
            Some(Way::Request { probes: true }),
            "a new probe"
        );
    }

    #[test]
    fn an_acknowledgement_proves_nothing_once_credit_has_come_in_between() {
        let limits = limits(100, 300, 10);
        let mut credit = Credit::new(&limits);
        assert_eq!(credit.depart(0, Class::User, Some(100), &limits), Some(Way::Eager));
        assert_eq!(credit.depart(1, Class::User, Some(100), &limits), Some(Way::Request { probes: true }));
        let available = credit.refilled(100 + OVERHEAD as u64, &limits).unwrap();
        credit.refill(available, &limits);
        assert_eq!(credit.depart(2, Class::User, Some(0), &limits), Some(Way::Eager));
        assert!(credit.seen(None));
        assert_eq!(credit.depart(3, Class::User, Some(100), &limits), Some(Way::Request { probes: true }));
    }
}
