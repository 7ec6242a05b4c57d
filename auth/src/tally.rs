//! One line in the log for many refusals: whoever knocks a thousand times a second must not fill a disk.
//!
//! Time is an argument.

use std::time::{Duration, Instant};

/// At most one line is told in this time.
const INTERVAL: Duration = Duration::from_secs(10);

/// Counts what is not worth a line each.
///
/// ```
/// use ringworld_auth::Tally;
/// use std::time::{Duration, Instant};
/// let (mut tally, now) = (Tally::default(), Instant::now());
/// assert_eq!(tally.note(now), Some(0), "the first is told");
/// assert_eq!(tally.note(now), None);
/// assert_eq!(tally.note(now), None);
/// let later = now + Duration::from_secs(11);
/// assert_eq!(tally.note(later), Some(2), "with how many were not");
/// ```
#[derive(Debug, Default)]
pub struct Tally {
    told: Option<Instant>,
    untold: u64,
}

impl Tally {
    /// One more. `Some` when it is to be told, with how many before it were not.
    pub fn note(&mut self, now: Instant) -> Option<u64> {
        if self.told.is_some_and(|told| now.saturating_duration_since(told) < INTERVAL) {
            self.untold += 1;
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}
