//! Which slots of an outbox are free, and which are taken next.
//!
//! A payload takes a *run*: 1, 2, 4 slots and so on up to [`LONGEST`] in a row, beginning at a multiple of their
//! number, so that no run lies across two words of the map. Runs are given back in any order, for peers read at their
//! own pace.
//!
//! Taken are either the *lowest* free ones, or those that are free next *in turn*, all round a window. In turn is
//! better where two cores share a cache: to write again what the other core has just read takes an EPYC three times as
//! long as to write what that core no longer keeps in a cache of its own. So the window is twice such a cache of 1 MiB.
//!
//! **Downwards.** A core that reads a slot fetches ahead what lies behind it. If that is what is filled next, it has to
//! be taken away from there line by line: a loop of two near cores (Zen 4) that copy 4 KiB in and out again takes 0.73
//! us for each all round 2 MiB upwards, and 0.31 downwards; 8 KiB 1.19 and 0.44, 16 KiB 0.99 and 0.81, 64 KiB 3.3 and
//! 3.2. All round 256 KiB, either way, 8 KiB take 1.2 and 16 KiB 2.3.
//!
//! The window begins small, since the system takes some 2 us to find each new page, and whoever sends little never has
//! many; it is doubled each time it has been gone round, so that soon nobody waits for the system any more: of 10 ms in
//! which 16 KiB went to and fro, more than 6 were such waiting while the window grew by its first width each time.
//!
//! Pure.

/// How many slots.
pub(crate) const SLOTS: usize = 1024;
const WORD: usize = u64::BITS as usize;
/// The longest run, and the least window.
pub(crate) const LONGEST: usize = 32;

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
    /// Below which to look next.
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
        let window = LONGEST.min(widest);
        Self { free, used, next: window, window, widest }
    }

    /// The run that is free next in the window, downwards, or else the lowest that is free.
    pub(crate) fn take_in_turn(&mut self, slots: usize) -> Option<Run> {
        let run = match self.find_below(self.next, slots) {
            Some(run) => run,
            None => {
                self.window = self.widest.min(2 * self.window);
                self.find_below(self.window, slots).or_else(|| self.find_lowest(slots))?
            }
        };
        self.next = usize::from(run.first);
        Some(self.take(run))
    }

    /// Where the run begins that is next in turn, while the window is not yet gone round.
    pub(crate) fn next_in_turn(&self, slots: usize) -> Option<u16> {
        self.find_below(self.next, slots).map(|run| run.first)
    }

    /// The lowest run that is free.
    pub(crate) fn take_lowest(&mut self, slots: usize) -> Option<Run> {
        let run = self.find_lowest(slots)?;
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
        kept
    }

    /// Gives back all of the last run that was taken.
    pub(crate) fn untake(&mut self, run: Run) {
        if self.next == usize::from(run.first) {
            self.next += usize::from(run.slots);
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

    /// The highest free run that ends at `end` or before.
    fn find_below(&self, end: usize, slots: usize) -> Option<Run> {
        let last = end.checked_sub(1)?;
        (0..=last / WORD).rev().find_map(|word| {
            let there = WORD.min(end - word * WORD);
            let begins = beginnings(self.free[word] & (u64::MAX >> (WORD - there)), slots);
            begins.checked_ilog2().map(|bit| run_at(word * WORD + bit as usize, slots))
        })
    }

    /// The lowest free run.
    fn find_lowest(&self, slots: usize) -> Option<Run> {
        self.free.iter().enumerate().find_map(|(word, free)| {
            let begins = beginnings(*free, slots);
            (begins != 0).then(|| run_at(word * WORD + begins.trailing_zeros() as usize, slots))
        })
    }
}

fn run_at(first: usize, slots: usize) -> Run {
    debug_assert!(slots.is_power_of_two() && slots <= LONGEST, "{slots} slots");
    Run { first: first as u16, slots: slots as u8 }
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

    /// Slots of which each run of so many that is taken in turn is given back at once.
    fn in_turn(slots: &mut Slots, each: usize) -> impl FnMut() -> Option<Run> {
        move || {
            let run = slots.take_in_turn(each)?;
            slots.give(run);
            Some(run)
        }
    }

    #[test]
    fn the_lowest_is_taken_again_and_what_is_next_in_turn_is_not() {
        let mut slots = Slots::new(16);
        for _ in 0..3 {
            let run = slots.take_lowest(4).unwrap();
            assert_eq!(run.first, 0);
            slots.give(run);
        }
        assert_eq!(firsts(in_turn(&mut slots, 4), 10), [12, 8, 4, 0, 12, 8, 4, 0, 12, 8]);
    }

    #[test]
    fn the_window_is_doubled_as_it_is_used_until_it_is_wide_enough() {
        let mut slots = Slots::new(96);
        let expected = [0, 32, 0, 64, 32, 0, 64, 32, 0, 64];
        assert_eq!(firsts(in_turn(&mut slots, 32), 10), expected);
    }

    #[test]
    fn a_full_window_is_left_and_come_back_to() {
        let mut slots = Slots::new(16);
        assert_eq!(firsts(|| slots.take_in_turn(8), 5), [8, 0, 16, 24, 32]);
        slots.give(Run { first: 8, slots: 8 });
        assert_eq!(slots.take_in_turn(8).map(|run| run.first), Some(8));
        assert_eq!(firsts(|| slots.take_in_turn(16), 100).len(), SLOTS / 16 - 3);
    }

    /// It is where the next one will be, as long as the window goes on.
    #[test]
    fn what_is_next_is_known() {
        for each in [1, 2, 16] {
            let mut slots = Slots::new(64);
            for _ in 0..200 {
                let next = slots.next_in_turn(each);
                let run = slots.take_in_turn(each).unwrap();
                assert!(next.is_none_or(|next| next == run.first), "{next:?} {run:?}");
                slots.give(run);
            }
        }
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
                let wanted = 1 << random(6);
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
    fn what_is_not_needed_is_taken_again() {
        let mut slots = Slots::new(64);
        let run = slots.take_in_turn(16).unwrap();
        assert_eq!(slots.trim(run, 2), Run { first: 16, slots: 2 });
        let next = slots.take_in_turn(1).unwrap();
        assert_eq!(next.first, 15);
        slots.untake(next);
        assert_eq!(slots.take_in_turn(1).map(|run| run.first), Some(15));
        // The rest of the first: next time round.
        slots.give(Run { first: 15, slots: 1 });
        assert_eq!(firsts(in_turn(&mut slots, 8), 3), [0, 56, 48]);
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
