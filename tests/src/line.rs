//! What a program under test printed: one line, `key=value` pairs first.
//!
//! The probe writes `event key=value … text=anything to the end`. Lines of other programs are just text.

/// One line of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The whole line, without its end.
    pub text: String,
    /// Whether it came from standard error.
    pub error: bool,
    /// When it was read, on [`crate::clock`].
    pub read: u64,
}

impl Line {
    /// Whether the line reports this event: its first word.
    #[must_use]
    pub fn is(&self, event: &str) -> bool {
        !self.error && self.text.split(' ').next() == Some(event)
    }

    /// The value of a key; `text` has everything to the end of the line.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        let head = self.text.find(" text=").map_or(self.text.as_str(), |at| &self.text[..at]);
        if key == "text" {
            return self.text.get(head.len() + " text=".len()..);
        }
        head.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// The value of a key that is a number.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn number(&self, key: &str) -> u64 {
        let value = self.value(key).unwrap_or_else(|| panic!("no {key}= in {:?}", self.text));
        value.parse().unwrap_or_else(|_| panic!("{key}={value} is no number in {:?}", self.text))
    }

    /// The rank that the line is about.
    ///
    /// # Panics
    ///
    /// When it says none.
    #[must_use]
    pub fn rank(&self) -> usize {
        usize::try_from(self.number("rank")).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_key_and_the_text_runs_to_the_end() {
        let line =
            Line { text: "failed rank=2 at=17 text=rank 5 at=9 down".to_owned(), error: false, read: 0 };
        assert!(line.is("failed") && !line.is("fail"));
        assert_eq!((line.rank(), line.number("at")), (2, 17));
        assert_eq!(line.value("text"), Some("rank 5 at=9 down"));
        assert_eq!(line.value("none"), None);
    }
}
