//! Which slots of an outbox are free, and which are taken next.
//!
//! A payload takes a *run*: 1, 2, 4, 8 or 16 slots in a row, beginning at a multiple of their number, so that no run
//! lies across two words of the map. Runs are given back in any order, for peers read at their own pace.
//!
//! Taken are either the *lowest* free ones, or those that are free next *in turn*, all round a window. In turn is
//! better where two cores share a cache: to write again what the other core has just read takes an EPYC three times as
//! long as to write what that core no longer keeps in a cache of its own (64 KiB in pieces of 8 KiB: 2.9 us all round 2
//! MiB, 8.3 all round 512 KiB, with second-level caches of 1 MiB; the same loop for 1 MiB in pieces of 64 KiB: 44 and
//! 72 us; both before pieces began as far within a line as at their source). On the newest EPYC a loop gains 2 to 7 %
//! by it since, and this transport more, for which no reason was found: between near cores 16 KiB to and fro take 0.72
//! us all round 2 MiB and 0.88 all round 256 KiB, 64 KiB 1.74 and 2.19. So the window is twice such a cache. It begins
//! small and grows each time it has been gone round, since the system takes 2 us to find each new page: so whoever
//! sends little never has many, and nobody waits for all of them at once. Pure.

use std::ops::Range;

/// How many slots.
pub(crate) const SLOTS: usize = 512;
const WORD: usize = u64::BITS as usize;
/// The longest run, and the least window.
pub(crate) const LONGEST: usize = 16;

/// Slots in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: u16,
    slots: u8,
}

impl Run {
    fn bits(self) -> u64 {
        (u64::MAX >> (WORD - usize::from(self.slots))) << (usize::from(self.first) % WORD)
    }

    fn word(self) -> usize {
        usize::from(self.first) / WORD
    }
}

/// A bit for each slot.
type Map = [u64; SLOTS / WORD];

/// All slots of an outbox.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Map,
    /// Those of which something has been written before.
    used: Map,
    /// Where to look next.
    next: usize,
    /// How many are taken in turn, and how many it may become.
    window: usize,
    widest: usize,
}

impl Slots {
    /// All of them free; up to `widest` are taken in turn.
    pub(crate) fn new(widest: usize) -> Self {
        debug_assert!(widest <= SLOTS, "{widest} slots of {SLOTS}");
        let (free, used) = ([u64::MAX; SLOTS / WORD], [0; SLOTS / WORD]);
        Self { free, used, next: 0, window: LONGEST, widest }
    }

    /// The run that is free next in the window, or else the lowest that is free.
    pub(crate) fn take_in_turn(&mut self, slots: usize) -> Option<Run> {
        let run = match self.find(self.next..self.window, slots) {
            Some(run) => run,
            None => {
                self.window = self.widest.min(self.window + LONGEST);
                self.find(0..SLOTS, slots)?
            }
        };
        self.next = usize::from(run.first) + slots;
        Some(self.take(run))
    }

    /// The lowest run that is free.
    pub(crate) fn take_lowest(&mut self, slots: usize) -> Option<Run> {
        let run = self.find(0..SLOTS, slots)?;
        Some(self.take(run))
    }

    fn take(&mut self, run: Run) -> Run {
        self.free[run.word()] &= !run.bits();
        run
    }

    /// Gives back the end of the last run that was taken, of which so many are needed.
    pub(crate) fn trim(&mut self, run: Run, slots: usize) -> Run {
        let kept = Run { first: run.first, slots: (slots as u8).min(run.slots) };
        self.free[run.word()] |= run.bits() & !kept.bits();
        if self.next == usize::from(run.first) + usize::from(run.slots) {
            self.next = usize::from(kept.first) + usize::from(kept.slots);
        }
        kept
    }

    /// Gives back all of the last run that was taken.
    pub(crate) fn untake(&mut self, run: Run) {
        if self.next == usize::from(run.first) + usize::from(run.slots) {
            self.next = run.first.into();
        }
        self.give(run);
    }

    /// A run that nobody uses any more.
    pub(crate) fn give(&mut self, run: Run) {
        debug_assert_eq!(self.free[run.word()] & run.bits(), 0, "a run that was not taken");
        self.free[run.word()] |= run.bits();
    }

    /// Notes that the first slots of a run are written; whether they have been before.
    pub(crate) fn is_used_again(&mut self, run: Run, slots: usize) -> bool {
        let run = Run { slots: (slots as u8).clamp(1, run.slots), ..run };
        let used = &mut self.used[run.word()];
        let again = *used & run.bits() == run.bits();
        *used |= run.bits();
        again
    }

    /// The lowest free run that begins within `among`.
    fn find(&self, among: Range<usize>, slots: usize) -> Option<Run> {
        debug_assert!(slots.is_power_of_two() && slots <= LONGEST, "{slots} slots");
        let mut from = among.start;
        while from < among.end {
            let begins = beginnings(self.free[from / WORD], slots) & (u64::MAX << (from % WORD));
            if begins != 0 {
                let first = from / WORD * WORD + begins.trailing_zeros() as usize;
                return (first < among.end).then_some(Run { first: first as u16, slots: slots as u8 });
            }
            from = (from / WORD + 1) * WORD;
        }
        None
    }
}

/// Where, in a word of the map, runs of so many free slots begin.
fn beginnings(mut free: u64, slots: usize) -> u64 {
    let mut length = 1;
    while length < slots {
        free &= free >> length;
        length *= 2;
    }
    // A bit at each multiple of `slots`.
    free & (u64::MAX / (u64::MAX >> (WORD - slots)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firsts(mut take: impl FnMut() -> Option<Run>, most: usize) -> Vec<u16> {
        std::iter::from_fn(|| take().map(|run| run.first)).take(most).collect()
    }

    #[test]
    fn the_lowest_is_taken_again_and_what_is_next_in_turn_is_not() {
        let mut slots = Slots::new(16);
        for _ in 0..3 {
            let run = slots.take_lowest(4).unwrap();
            assert_eq!(run.first, 0);
            slots.give(run);
        }
        let mut in_turn = || {
            let run = slots.take_in_turn(4)?;
            slots.give(run);
            Some(run)
        };
        assert_eq!(firsts(&mut in_turn, 10), [0, 4, 8, 12, 0, 4, 8, 12, 0, 4]);
    }

    #[test]
    fn the_window_grows_as_it_is_used_until_it_is_wide_enough() {
        let mut slots = Slots::new(48);
        let in_turn = || {
            let run = slots.take_in_turn(16)?;
            slots.give(run);
            Some(run)
        };
        assert_eq!(firsts(in_turn, 10), [0, 0, 16, 0, 16, 32, 0, 16, 32, 0]);
    }

    #[test]
    fn a_full_window_is_left_and_come_back_to() {
        let mut slots = Slots::new(16);
        assert_eq!(firsts(|| slots.take_in_turn(8), 5), [0, 8, 16, 24, 32]);
        slots.give(Run { first: 8, slots: 8 });
        assert_eq!(slots.take_in_turn(8).map(|run| run.first), Some(8));
        assert_eq!(firsts(|| slots.take_in_turn(16), 100).len(), SLOTS / 16 - 3);
    }

    #[test]
    fn no_slot_is_in_two_runs_and_all_come_back() {
        for seed in 0..200u64 {
            let mut state = seed;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let (mut slots, mut taken) = (Slots::new(random(SLOTS as u64 + 1) as usize), Vec::<Run>::new());
            for _ in 0..500 {
                let wanted = 1 << random(5);
                let run = match random(3) {
                    0 => slots.take_lowest(wanted),
                    1 => slots.take_in_turn(wanted),
                    _ if taken.is_empty() => None,
                    _ => {
                        slots.give(taken.swap_remove(random(taken.len() as u64) as usize));
                        None
                    }
                };
                if let Some(run) = run {
                    let range =
                        |run: &Run| usize::from(run.first)..usize::from(run.first) + usize::from(run.slots);
                    let new = range(&run);
                    assert!(new.start % new.len() == 0 && new.end <= SLOTS, "seed {seed}: {run:?}");
                    let apart = |old: &Run| range(old).end <= new.start || new.end <= range(old).start;
                    assert!(taken.iter().all(apart), "seed {seed}: {run:?} among {taken:?}");
                    taken.push(run);
                }
            }
            taken.drain(..).for_each(|run| slots.give(run));
            assert_eq!(firsts(|| slots.take_lowest(1), SLOTS + 1).len(), SLOTS, "seed {seed}");
        }
    }

    #[test]
    fn what_is_not_needed_is_next() {
        let mut slots = Slots::new(SLOTS);
        let run = slots.take_in_turn(16).unwrap();
        assert_eq!(slots.trim(run, 2), Run { first: 0, slots: 2 });
        let next = slots.take_in_turn(1).unwrap();
        assert_eq!(next.first, 2);
        slots.untake(next);
        assert_eq!(slots.take_in_turn(1).map(|run| run.first), Some(2));
    }

    #[test]
    fn what_was_written_before_is_known() {
        let mut slots = Slots::new(SLOTS);
        let (four, eight) = (Run { first: 64, slots: 4 }, Run { first: 64, slots: 8 });
        assert!(!slots.is_used_again(four, 4) && slots.is_used_again(four, 4));
        assert!(!slots.is_used_again(eight, 6) && slots.is_used_again(eight, 6));
        assert!(!slots.is_used_again(eight, 8), "not all of it");
    }
}
