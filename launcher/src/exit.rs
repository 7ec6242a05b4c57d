//! Exit statuses, one name each, so that no number stands alone in the code.

use std::io;
use std::process::ExitCode;

/// What the process returns to its caller: 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u8);

impl Status {
    /// All went well.
    pub(crate) const SUCCESS: Self = Self(0);
    /// The system refused something the launcher needs.
    pub(crate) const SYSTEM: Self = Self(1);
    /// The command line cannot be meant as written; the number clap uses too.
    pub(crate) const USAGE: Self = Self(2);
    /// `--timeout` passed; the number of timeout(1).
    pub(crate) const TIMEOUT: Self = Self(124);
    /// The program exists but cannot be executed; the number of the shell.
    pub(crate) const NOT_EXECUTABLE: Self = Self(126);
    /// The program does not exist; the number of the shell.
    pub(crate) const NOT_FOUND: Self = Self(127);

    /// The convention of the shell for a process that a signal ended.
    pub(crate) fn signal(signal: i32) -> Self {
        Self(u8::try_from(128 + signal).unwrap_or(u8::MAX))
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.0)
    }
}

/// Why the launcher itself cannot go on: a sentence for the user, and the status to exit with.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl Failure {
    /// The system refused `what`.
    pub(crate) fn system(what: impl std::fmt::Display, error: impl std::fmt::Display) -> Self {
        Self { status: Status::SYSTEM, message: format!("{what}: {error}") }
    }

    /// The command line or the environment asks for something impossible.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { status: Status::USAGE, message: message.into() }
    }
}

/// Why something could not be written; where that is not plain, with what to do.
pub(crate) fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::FileTooLarge => {
            format!(
                "{error}: beyond what a file of this process may have (RLIMIT_FSIZE); raise it by `ulimit -f`"
            )
        }
        _ => error.to_string(),
    }
}
