//! The clock of a trace: the processor's counter where it can be relied on, else the system's monotonic clock.
//!
//! What it says are *ticks*, of no known length: *anchors* in the trace say which tick was which nanosecond, and
//! whoever reads it goes by those.

use rustix::time::{ClockId, clock_gettime};

/// A moment, by three clocks at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) ticks: u64,
    /// Of the system's monotonic clock, in nanoseconds.
    pub(crate) monotonic: u64,
    /// Since 1970, in nanoseconds.
    pub(crate) wall: u64,
}

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Clock {
    counter: quanta::Clock,
}

impl Clock {
    /// Takes some 20 ms the first time in a process, to find out how fast the counter runs.
    pub(crate) fn new() -> Self {
        Self { counter: quanta::Clock::new() }
    }

    #[inline]
    pub(crate) fn ticks(&self) -> u64 {
        self.counter.raw()
    }

    /// How many nanoseconds 2^32 ticks take, about: enough where there is but one anchor.
    pub(crate) fn rate(&self) -> u64 {
        self.counter.delta_as_nanos(0, 1 << 32)
    }

    pub(crate) fn anchor(&self) -> Anchor {
        // Whoever is interrupted between two clocks tries again: the closest of a few is taken.
        let tries = (0..4).map(|_| {
            let before = self.ticks();
            let monotonic = nanoseconds(ClockId::Monotonic);
            let after = self.ticks();
            let apart = after.saturating_sub(before);
            (apart, Anchor { ticks: before + apart / 2, monotonic, wall: nanoseconds(ClockId::Realtime) })
        });
        tries.min_by_key(|(apart, _)| *apart).map(|(_, anchor)| anchor).unwrap_or_default()
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
