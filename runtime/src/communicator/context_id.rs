//! Numbers for communicators: unique among all that share a process, without a vote.
//!
//! A communicator's number is part of every message's context, so two communicators that have a rank in
//! common must never have the same one, however many threads make communicators at once. Agreeing on "the
//! next number that is free everywhere" cannot promise that: of two exchanges under way at the same time,
//! rank 0 may see one first and rank 1 the other, and then both settle on the same number, or refuse one
//! another for ever. So nothing is agreed. A number is made of what belongs to one rank alone:
//!
//! ```text
//!   number = 1 + local id * size of the world + world rank of the rank whose local id it is
//! ```
//!
//! Each rank allocates a local id of its own before the exchange and offers it there. Of the members of the
//! new communicator, the one with the lowest offer, and of several the lowest rank, names it; all see the
//! same offers, so all know whose it is. The others take theirs back, for nothing was named by them.
//!
//! *Why no number is given twice*: equal numbers mean the same rank and the same local id. That rank would
//! have allocated the local id twice; but a local id is allocated under a lock, and comes back only when it has
//! named nothing. Which exchange comes first plays no part. Number 0 is the world's.
//!
//! Neighbours: `split` makes the exchange; `communicator` turns numbers into contexts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

use ringworld_protocol::Envelope;

/// A communicator has two contexts, twice its number and one more. What belongs to the ranks of small communicators is
/// a small part of all numbers, and none is given twice, so there must be many: a loop on two ranks out of 10,000
/// reaches the end after 21 thousand million communicators.
const MAX: u64 = Envelope::CONTEXTS / 2 - TWINS - 1;

/// The numbers above are those of twins, of as many communicators with the lowest numbers: in the same loop, of the
/// first 7 thousand million.
const TWINS: u64 = Envelope::CONTEXTS / 8;

/// The number of a communicator's twin, whose twin it is; `None` when there is none left.
pub(crate) fn twin_of(number: u64) -> Option<u64> {
    match number.checked_sub(MAX + 1) {
        Some(of) => Some(of),
        None => (number < TWINS).then_some(number + MAX + 1),
    }
}

/// The local ids of this rank, and which communicators it has dropped.
#[derive(Default)]
pub(crate) struct ContextIds {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The lowest local id that was never allocated.
    next: u64,
    /// Lower ones that were allocated and have come back.
    returned: BinaryHeap<Reverse<u64>>,
    /// Numbers of communicators that are no more, of which the engine may still know.
    dropped: Vec<u64>,
}

/// A local id that nobody else on this rank has. It comes back when dropped, unless [`Allocation::keep`]
/// says that it has named a communicator.
pub(crate) struct Allocation<'a> {
    context_ids: &'a ContextIds,
    local_id: u64,
}

impl ContextIds {
    /// Allocates the lowest free local id. Low ones first, because the number of a communicator grows with
    /// the local id and is bounded.
    pub(crate) fn allocate(&self) -> Allocation<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let local_id = state.returned.pop().map_or_else(
            || {
                let local_id = state.next;
                state.next += 1;
                local_id
            },
            |Reverse(local_id)| local_id,
        );
        Allocation { context_ids: self, local_id }
    }
}

impl ContextIds {
    /// Notes communicators that this process has dropped.
    pub(crate) fn dropped(&self, numbers: impl IntoIterator<Item = u64>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dropped.extend(numbers);
    }

    /// Takes what was noted.
    pub(crate) fn take_dropped(&self) -> Vec<u64> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).dropped)
    }
}

impl ContextIds {
    /// Takes a local id back that has named nothing, from one who has kept it.
    pub(crate) fn give_back(&self, local_id: u64) {
        drop(Allocation { context_ids: self, local_id });
    }
}

impl Allocation<'_> {
    /// What to offer to the others.
    pub(crate) fn local_id(&self) -> u64 {
        self.local_id
    }

    /// The local id has named a communicator, and is spent; or is given back later.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Allocation<'_> {
    fn drop(&mut self) {
        let mut state = self.context_ids.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.returned.push(Reverse(self.local_id));
    }
}

/// The number that `local_id` of world rank `rank` stands for in a world of `size`, if there is room for it.
pub(crate) fn number(local_id: u64, rank: usize, size: usize) -> Option<u64> {
    let number = local_id.checked_mul(size as u64)?.checked_add(rank as u64)?.checked_add(1)?;
    (number <= MAX).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_reserved_by_one_at_a_time() {
        let context_ids = ContextIds::default();
        let first = context_ids.allocate();
        let second = context_ids.allocate();
        assert_eq!((first.local_id(), second.local_id()), (0, 1));
        drop(first);
        let third = context_ids.allocate();
        assert_eq!(third.local_id(), 0, "it named nothing, so it can be offered again");
        second.keep();
        drop(third);
        let left: Vec<u64> = {
            let held = [context_ids.allocate(), context_ids.allocate()];
            held.iter().map(Allocation::local_id).collect()
        };
        assert_eq!(left, [0, 2], "a kept local id never comes back");
    }

    #[test]
    fn no_two_tickets_of_a_world_make_the_same_number() {
        for size in [1, 2, 3, 7] {
            let mut all: Vec<u64> = (0..50)
                .flat_map(|local_id| (0..size).map(move |rank| number(local_id, rank, size).unwrap()))
                .collect();
            all.sort_unstable();
            // Dense, so that none is wasted, and never 0, which is the world's.
            assert_eq!(all, (1..=50 * size as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn two_ranks_of_a_large_world_do_not_run_out_of_numbers() {
        assert!(number(10_000_000_000, 9_999, 10_000).is_some());
    }

    #[test]
    fn a_number_leaves_room_for_both_contexts_or_is_refused() {
        let last = number(MAX - 1, 0, 1).unwrap();
        assert!(last * 2 + 1 < Envelope::CONTEXTS);
        assert_eq!(number(MAX, 0, 1), None);
        assert_eq!(number(u64::MAX, 5, usize::MAX), None);
    }

    #[test]
    fn twins_have_numbers_of_their_own_and_are_one_anothers() {
        assert_eq!(twin_of(TWINS - 1).map(|last| last * 2 + 1), Some(Envelope::CONTEXTS - 1));
        for number in [0, 1, 77, TWINS - 1] {
            let twin = twin_of(number).unwrap();
            assert!(twin > MAX && twin_of(twin) == Some(number), "{number}");
        }
        assert_eq!([TWINS, MAX].map(twin_of), [None, None]);
    }
}
