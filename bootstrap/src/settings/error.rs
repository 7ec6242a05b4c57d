//! What can be wrong with settings.

/// Why the settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A name that no knob has.
    #[error("{origin} sets {key}, which is not a setting; did you mean {nearest}?")]
    UnknownKey {
        /// Where it was found.
        origin: String,
        /// What was found.
        key: String,
        /// The known name that is nearest to it.
        nearest: String,
    },
    /// A value that makes no sense.
    #[error("{origin} is {value:?}: {expected}")]
    Invalid {
        /// Which setting, and where it was found.
        origin: String,
        /// What was found.
        value: String,
        /// What would make sense.
        expected: String,
    },
    /// Two sources of the same strength disagree.
    #[error(
        "{first} says {first_value}, but {second} says {second_value}; unset one of them, or set {} to decide",
        key_env(.key)
    )]
    Conflict {
        /// The key they disagree about.
        key: &'static str,
        /// One source.
        first: String,
        /// What it says.
        first_value: String,
        /// The other source.
        second: String,
        /// What that says.
        second_value: String,
    },
    /// Settings that contradict one another or are incomplete; the text says what to change.
    #[error("{0}")]
    Inconsistent(String),
    /// A file cannot be read.
    #[error("the file {path} ({origin}) cannot be used: {reason}")]
    File {
        /// Which setting names it, and where that was found.
        origin: String,
        /// Which file.
        path: String,
        /// Why not.
        reason: String,
    },
}

fn key_env(key: &str) -> String {
    format!("RINGWORLD_{}", key.to_ascii_uppercase())
}
