//! When to say that a process still waits for its world. Pure: the time is an argument.
//!
//! Most worlds form within a second, so the first moments pass in silence. Whoever waits longer is told what for, and
//! then less and less often, so that an hour of waiting takes a dozen lines. Neighbours: `client::reach` waits for the
//! master, `master::hub` for the ranks.

use std::time::Duration;

/// How long to wait before the first word: longer than the ranks of one job take to start.
const FIRST: Duration = Duration::from_secs(3);

/// Tells when the next word is due.
#[derive(Clone, Debug)]
pub(crate) struct Reminders {
    next: Duration,
}

impl Default for Reminders {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Reminders {
    /// How much waiting there is before the next word.
    pub(crate) fn next(&self) -> Duration {
        self.next
    }

    /// Whether a word is due after `waited`; if it is, the next one is due after twice as long.
    pub(crate) fn due(&mut self, waited: Duration) -> bool {
        if waited < self.next {
            return false;
        }
        self.next = waited.saturating_mul(2);
        true
    }
}

/// How far the waiting has come: `3 s of RINGWORLD_TIMEOUT, 60 s`.
pub(crate) fn so_far(waited: Duration, limit: Duration) -> String {
    format!("{:.0} s of RINGWORLD_TIMEOUT, {:.0} s", waited.as_secs_f64(), limit.as_secs_f64())
}

/// Names in a sentence, with how many more there are than fit: `n1, n2 and n3`, or `n1, n2 and 7 more`.
pub(crate) fn sentence(names: &[String], most: usize) -> String {
    let (mut shown, rest) = names.split_at(names.len().min(most));
    let last = match (rest.len(), shown) {
        (0, [before @ .., last]) => {
            shown = before;
            last.clone()
        }
        (0, []) => return String::new(),
        (more, _) => format!("{more} more"),
    };
    if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow() {
        let mut reminders = Reminders::default();
        let seconds: Vec<u64> =
            (0..100).filter(|second| reminders.due(Duration::from_secs(*second))).collect();
        assert_eq!(seconds, [3, 6, 12, 24, 48, 96]);
        assert_eq!(reminders.next(), Duration::from_secs(192));
    }

    #[test]
    fn a_late_look_is_one_word_and_not_several() {
        let mut reminders = Reminders::default();
        assert!(reminders.due(Duration::from_secs(20)));
        assert!(!reminders.due(Duration::from_secs(39)));
        assert!(reminders.due(Duration::from_secs(40)));
    }

    #[test]
    fn names_are_joined_as_in_a_sentence() {
        let names = ["n1", "n2", "n3"].map(String::from);
        assert_eq!(sentence(&names, 3), "n1, n2 and n3");
        assert_eq!(sentence(&names, 2), "n1, n2 and 1 more");
        assert_eq!(sentence(&names[..2], 3), "n1 and n2");
        assert_eq!(sentence(&names[..1], 3), "n1");
        assert_eq!(sentence(&[], 3), "");
    }
}
