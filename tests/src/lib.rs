//! The harness of the tests that need processes, network namespaces or the whole workspace.
//!
//! Everything started here is bounded in time and taken down when its guard is dropped, also when a test
//! fails: [`process::Process`] kills its own process group, [`host::Network`] deletes its namespaces,
//! [`port::Port`] gives its number back. Nothing is ever found by name, so tests may run side by side.
//!
//! The ranks are copies of one program, `probe`, which says what it does in lines of `key=value` pairs;
//! [`job::Job`] starts them, [`line::Line`] reads them. Times in these lines are of one clock for all
//! processes of the machine ([`clock`]), so that the time from a death to the errors of the survivors can
//! be measured across processes.

#![forbid(unsafe_code)]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::missing_panics_doc,
    reason = "a test harness: what cannot be set up is reported by a panic that names it, measurements are printed"
)]

pub mod clock;
pub mod host;
pub mod job;
pub mod line;
pub mod port;
pub mod proc;
pub mod process;
pub mod random;
pub mod scanner;

/// Says something to everybody who reads the output, also when the test passes.
pub fn report(text: &str) {
    use std::io::Write as _;
    // The test harness captures what `println!` prints, and shows it for failing tests only.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Says why a test does not run here.
pub fn skipped(test: &str, reason: &str) {
    report(&format!("SKIPPED: {test}: {reason}"));
}
