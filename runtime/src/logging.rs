//! Log lines for people who have not set up logging themselves.
//!
//! The library speaks through `tracing`. A program that installs a subscriber of its own, before it makes
//! its world, decides alone; otherwise warnings (a stranger at the door, a listener without a secret) go
//! to standard error, because nobody would see them at all.

use tracing_subscriber::EnvFilter;

/// Installs a subscriber that writes to standard error, unless there is one, or `level` says `off`.
pub(crate) fn install(level: Option<&str>) {
    let level = level.unwrap_or("warn");
    if level == "off" {
        return;
    }
    // A level that was checked with the settings; anything else falls back to the default.
    let filter = EnvFilter::try_new(level).unwrap_or_else(|_| EnvFilter::new("warn"));
    // It fails when the program has its own, which is what it may do.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .try_init();
}
