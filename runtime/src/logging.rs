//! Log lines for people who have not set up logging themselves.
//!
//! The library speaks through `tracing`. A program that installs a subscriber of its own, before it makes
//! its world, decides alone; otherwise warnings (a stranger at the door, a listener without a secret) go
//! to standard error, because nobody would see them at all.

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Installs a subscriber that writes to standard error what `filter` lets pass, unless there is one, or it says `off`.
/// Without a filter, warnings.
///
/// # Errors
///
/// When the filter is none: what was given, and what is expected.
pub fn install(filter: Option<&str>) -> Result<(), String> {
    let filter = filter.unwrap_or("warn");
    if filter == "off" {
        return Ok(());
    }
    let targets: Targets = filter.parse().map_err(|error| {
        format!(
            "the setting `log` (RINGWORLD_LOG) is {filter:?}, which is no filter ({error}); give a level, such as \
             debug, or targets with levels, such as warn,ringworld_bootstrap=debug"
        )
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).without_time();
    // It fails when the program has its own, which is what it may do.
    let _ = tracing_subscriber::registry().with(lines).with(targets).try_init();
    Ok(())
}
