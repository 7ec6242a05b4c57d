//! Where the ranks of a communicator show one another things, as one of them knows it: what it has passed, and seen.
//!
//! Pure. Neighbours: `context` has one for each communicator, `shown` moves it on.

/// Where the ranks of a communicator show things.
pub(super) struct Channel {
    /// Whether this rank takes part.
    pub(super) open: bool,
    /// The other ranks of the communicator, by their ranks in the world.
    pub(super) others: Box<[usize]>,
    /// All numbers before are passed.
    pub(super) passed: u32,
    /// Of which numbers from there on this rank sees what all others give, a bit for each.
    sees_all: u64,
    /// There was no room, the core was left to others, and then there was none either.
    pub(super) offered_in_vain: bool,
}

impl Channel {
    /// One that begins with this number.
    pub(super) fn new(number: u32, open: bool, others: Box<[usize]>) -> Self {
        Self { open, others, passed: number, sees_all: 0, offered_in_vain: false }
    }

    /// This rank sees what all others give under a number.
    pub(super) fn note(&mut self, number: u32) {
        self.sees_all |= 1u64.checked_shl(number.wrapping_sub(self.passed)).unwrap_or(0);
    }

    /// Whether this rank has seen what all others gave under the number before `done`, and not under all earlier ones:
    /// whatever they have shown under those is there by now.
    #[inline]
    pub(super) fn has_gaps_before(&self, done: u32) -> bool {
        let count = done.wrapping_sub(self.passed);
        if count == 0 || count > u64::BITS {
            return false;
        }
        let all = u64::MAX >> (u64::BITS - count);
        self.sees_all >> (count - 1) & 1 == 1 && self.sees_all & all != all
    }

    /// Of which numbers before `done` not all has been seen; they are not told again.
    pub(super) fn close_gaps(&mut self, done: u32) -> impl Iterator<Item = u32> + use<> {
        let count = done.wrapping_sub(self.passed);
        let gaps = gaps(self.passed, count, self.sees_all);
        self.sees_all |= !u64::MAX.checked_shl(count).unwrap_or(0);
        gaps
    }

    /// All before `done` is passed. Returns of which of them not all has been seen.
    pub(super) fn pass(&mut self, done: u32) -> impl Iterator<Item = u32> + use<> {
        let count = done.wrapping_sub(self.passed);
        let gaps = gaps(self.passed, count, self.sees_all);
        self.passed = done;
        self.sees_all = self.sees_all.checked_shr(count).unwrap_or(0);
        gaps
    }
}

/// Of which of `count` numbers from `from` on not all has been seen. What was called very long ago is forgotten.
fn gaps(from: u32, count: u32, sees_all: u64) -> impl Iterator<Item = u32> {
    let first = count.saturating_sub(u64::BITS);
    (first..count)
        .filter(move |step| sees_all.checked_shr(*step).unwrap_or(0) & 1 == 0)
        .map(move |step| from.wrapping_add(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gap_is_told_once_and_none_that_may_still_be_filled() {
        let mut channel = Channel::new(u32::MAX - 1, true, [1].into());
        let at = |step: u32| (u32::MAX - 1).wrapping_add(step);
        channel.note(at(1));
        channel.note(at(4));
        assert!(!channel.has_gaps_before(at(1)) && !channel.has_gaps_before(at(3)));
        assert!(channel.has_gaps_before(at(2)) && channel.has_gaps_before(at(5)));
        assert_eq!(channel.close_gaps(at(2)).collect::<Vec<_>>(), [at(0)]);
        assert!(!channel.has_gaps_before(at(2)) && channel.has_gaps_before(at(5)));
        assert_eq!(channel.close_gaps(at(5)).collect::<Vec<_>>(), [at(2), at(3)]);
        assert_eq!(channel.pass(at(7)).collect::<Vec<_>>(), [at(5), at(6)]);
        assert_eq!((channel.passed, channel.sees_all), (at(7), 0));
    }

    #[test]
    fn what_lies_far_back_is_forgotten() {
        let mut channel = Channel::new(0, true, [1].into());
        (0..64).for_each(|number| channel.note(number));
        assert!(!channel.has_gaps_before(64) && !channel.has_gaps_before(65));
        assert_eq!(channel.close_gaps(64).count(), 0);
        assert_eq!(channel.pass(100).collect::<Vec<_>>(), (64..100).collect::<Vec<_>>());
        assert_eq!(channel.pass(1000).collect::<Vec<_>>(), (936..1000).collect::<Vec<_>>());
    }
}
