//! Which collectives of a communicator are under way, by their numbers.
//!
//! Numbers are given out in order, and most collectives end in that order or nearly: so what is under way is a run of
//! numbers with few holes, and is found by the distance from the first.
//!
//! Invariant: ascending; the first and the last are under way; at most half of the others have ended, a few aside.
//! So a collective that never ends costs nothing but its own place, however many others come and go.

use std::collections::VecDeque;

/// How many that have ended may stay in any case.
const FEW: usize = 32;

#[derive(Clone, Copy)]
struct Entry<R> {
    sequence: u32,
    /// `None`: it has ended.
    run: Option<R>,
}

pub(super) struct UnderWay<R> {
    entries: VecDeque<Entry<R>>,
    ended: usize,
}

impl<R> Default for UnderWay<R> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), ended: 0 }
    }
}

impl<R: Copy> UnderWay<R> {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of the first; all before have ended.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        self.entries.front().map(|entry| entry.sequence)
    }

    /// Adds one, whose number is the highest so far.
    pub(super) fn insert(&mut self, sequence: u32, run: R) {
        self.entries.push_back(Entry { sequence, run: Some(run) });
    }

    #[inline]
    pub(super) fn find(&self, sequence: u32) -> Option<R> {
        self.entries.get(self.place(sequence)?)?.run
    }

    pub(super) fn remove(&mut self, sequence: u32) {
        let Some(place) = self.place(sequence) else { return };
        self.ended += usize::from(self.entries[place].run.take().is_some());
        while self.entries.front().is_some_and(|entry| entry.run.is_none()) {
            self.entries.pop_front();
            self.ended -= 1;
        }
        while self.entries.back().is_some_and(|entry| entry.run.is_none()) {
            self.entries.pop_back();
            self.ended -= 1;
        }
        if 2 * self.ended > self.entries.len() + FEW {
            self.entries.retain(|entry| entry.run.is_some());
            self.ended = 0;
        }
    }

    #[inline]
    fn place(&self, sequence: u32) -> Option<usize> {
        let first = self.entries.front()?.sequence;
        // Numbers go round the circle; what is under way together is far less than half of it.
        let distance = |number: u32| number.wrapping_sub(first);
        let guess = distance(sequence) as usize;
        if self.entries.get(guess).is_some_and(|entry| entry.sequence == sequence) {
            return Some(guess);
        }
        self.entries.binary_search_by_key(&distance(sequence), |entry| distance(entry.sequence)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_found_in_whatever_order_it_ends_and_where_numbers_begin_again() {
        for start in [0, u32::MAX - 700] {
            let mut under_way = UnderWay::default();
            let numbers: Vec<u32> = (0..1500).map(|i| start.wrapping_add(i)).collect();
            let mut ended = vec![false; numbers.len()];
            for (run, sequence) in numbers.iter().enumerate() {
                under_way.insert(*sequence, run);
            }
            // Every 7th in turn, which is all of them in an order with many holes.
            for i in 0..numbers.len() {
                let victim = i * 7 % numbers.len();
                under_way.remove(numbers[victim]);
                ended[victim] = true;
                if i % 50 == 0 {
                    for (run, sequence) in numbers.iter().enumerate() {
                        assert_eq!(under_way.find(*sequence), (!ended[run]).then_some(run));
                    }
                }
            }
            assert!(under_way.is_empty());
            assert_eq!(under_way.find(numbers[3]), None);
        }
    }

    #[test]
    fn one_that_never_ends_does_not_keep_the_place_of_all_that_come_and_go() {
        let mut under_way = UnderWay::default();
        under_way.insert(0, 0);
        for sequence in 1..100_000 {
            under_way.insert(sequence, sequence);
            if sequence > 2 {
                under_way.remove(sequence - 1);
            }
            assert!(under_way.entries.len() <= 4 * FEW);
        }
        assert_eq!(under_way.find(0), Some(0));
        assert_eq!(under_way.find(99_999), Some(99_999));
        assert_eq!(under_way.find(50_000), None);
    }
}
