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
}

impl Channel {
    /// One that begins with this number.
    pub(super) fn new(number: u32, open: bool, others: Box<[usize]>) -> Self {
        Self { open, others, passed: number, sees_all: 0 }
    }

    /// This rank sees what all others give under a number.
    pub(super) fn note(&mut self, number: u32) {
        self.sees_all |= 1u64.checked_shl(number.wrapping_sub(self.passed)).unwrap_or(0);
    }

    /// Whether this rank has seen what all others gave under the number before `done`, and not under all earlier ones.
    #[inline]
    pub(super) fn has_gaps_before(&self, done: u32) -> bool {
        let count = done.wrapping_sub(self.passed);
        if count == 0 || count > u64::BITS {
            return false;
        }
        let all = u64::MAX >> (u64::BITS - count);
        self.sees_all >> (count - 1) & 1 == 1 && self.sees_all & all != all
    }

    /// All before `done` is passed. Returns from where on, and of which of them not all has been seen.
    pub(super) fn pass(&mut self, done: u32) -> impl Iterator<Item = u32> + use<> {
        let (from, sees_all) = (self.passed, self.sees_all);
        let count = done.wrapping_sub(from);
        self.passed = done;
        self.sees_all = sees_all.checked_shr(count).unwrap_or(0);
        // What was called longer ago than that is forgotten.
        let first = count.saturating_sub(u64::BITS);
        (first..count)
            .filter(move |step| sees_all.checked_shr(*step).unwrap_or(0) & 1 == 0)
            .map(move |step| from.wrapping_add(step))
    }
}
