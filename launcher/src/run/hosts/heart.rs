//! Whether the other end of a connection is alive. Pure: times in, answers out.
//!
//! A process that was stopped itself has heard nobody and counts that as no silence: what has come meanwhile lies
//! unread.

use std::time::{Duration, Instant};

/// One end's view of the other.
#[derive(Debug)]
pub(super) struct Heart {
    /// How long the other end may be silent; `None`: for ever.
    patience: Option<Duration>,
    heard: Instant,
    beaten: Instant,
    /// When somebody last looked.
    looked: Instant,
}

/// So many signs of life go over in the time that the other end waits for one.
const OFTEN: u32 = 4;

impl Heart {
    pub(super) fn new(patience: Option<Duration>, now: Instant) -> Self {
        Self { patience, heard: now, beaten: now, looked: now }
    }

    fn interval(&self) -> Option<Duration> {
        self.patience.map(|patience| patience / OFTEN)
    }

    /// Something has come.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// When to look again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.beaten.checked_add(self.interval()?)
    }

    /// Looks; whether it is time for a sign of life.
    pub(super) fn tick(&mut self, now: Instant) -> bool {
        let Some(interval) = self.interval() else { return false };
        if now.saturating_duration_since(self.looked) > interval * 2 {
            self.heard = now;
        }
        self.looked = now;
        let due = now.saturating_duration_since(self.beaten) >= interval;
        if due {
            self.beaten = now;
        }
        due
    }

    /// Whether the other end has been silent for too long.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.patience.is_some_and(|patience| now.saturating_duration_since(self.heard) > patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn signs_of_life_are_due_and_silence_is_noticed() {
        let start = Instant::now();
        let mut heart = Heart::new(Some(4 * SECOND), start);
        assert_eq!(heart.deadline(), Some(start + SECOND));
        assert!(!heart.tick(start + SECOND / 2));
        assert!(heart.tick(start + SECOND) && !heart.tick(start + SECOND));
        for second in 2..=4 {
            assert!(heart.tick(start + second * SECOND));
        }
        assert!(!heart.is_silent(start + 4 * SECOND) && heart.is_silent(start + 5 * SECOND));
        heart.heard(start + 4 * SECOND);
        assert!(!heart.is_silent(start + 5 * SECOND));
    }

    #[test]
    fn who_was_asleep_gives_the_other_time() {
        let start = Instant::now();
        let mut heart = Heart::new(Some(4 * SECOND), start);
        let woken = start + 100 * SECOND;
        heart.tick(woken);
        assert!(!heart.is_silent(woken + 4 * SECOND));
    }

    #[test]
    fn without_patience_there_is_no_silence() {
        let start = Instant::now();
        let mut heart = Heart::new(None, start);
        assert!(!heart.tick(start + 100 * SECOND) && heart.deadline().is_none());
        assert!(!heart.is_silent(start + 100 * SECOND));
    }
}
