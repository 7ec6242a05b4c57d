//! One clock for all processes of the machine.
//!
//! `Instant` cannot be sent to another process; the monotonic clock behind it can, as nanoseconds.

use std::time::Duration;

/// Nanoseconds on the monotonic clock: comparable between processes of one boot.
#[must_use]
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// The time from `start` to `end`; zero when `end` came first.
#[must_use]
pub fn between(start: u64, end: u64) -> Duration {
    Duration::from_nanos(end.saturating_sub(start))
}

/// The processor time that this process has used, with all its threads.
#[must_use]
pub fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
