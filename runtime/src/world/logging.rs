//! Log lines for people who have not set up logging themselves.
//!
//! The library speaks through `tracing`, and a program that has a subscriber decides alone what becomes of it. Where
//! there is none, nobody would see a warning (an unauthenticated connection, ranks that are missing, a message that
//! nobody received): so they go to standard error, by a subscriber of this library's own, which is nobody's default; a
//! program may still install any, and is heard from then on. Only the setting `log`, by which somebody asks for more,
//! installs one for the whole program. Each line begins with the seconds since the first world was asked for, and with
//! the rank as soon as there is one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ringworld_transport::log;
use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Installs a subscriber that writes to standard error what `filter` lets pass, unless there is one, or it says `off`.
///
/// # Errors
///
/// When the filter is none: what was given, and what is expected.
pub fn install(filter: &str) -> Result<(), String> {
    if filter != "off" {
        // It fails when the program has its own, which is what it may do.
        let _ = to_standard_error(targets(filter)?, filter != "warn").try_init();
    }
    Ok(())
}

/// Installs what the setting asks for. Without the setting, warnings are heard even where nobody listens.
pub(super) fn choose(setting: Option<&str>) -> Result<(), String> {
    match setting {
        Some(filter) => install(filter),
        None => {
            let warnings = Targets::new().with_default(LevelFilter::WARN);
            log::set_fallback(|| to_standard_error(warnings, false).into());
            Ok(())
        }
    }
}

/// `modules`: lines name the module they come from, as filters do.
fn to_standard_error(targets: Targets, modules: bool) -> impl Subscriber + Send + Sync {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(modules)
        .with_timer(Since(Instant::now()));
    tracing_subscriber::registry().with(lines).with(targets)
}

/// The rank that all lines of this process are of; [`UNKNOWN`] before there is one, [`SEVERAL`] where threads are
/// ranks.
static RANK: AtomicUsize = AtomicUsize::new(UNKNOWN);
const UNKNOWN: usize = usize::MAX;
const SEVERAL: usize = usize::MAX - 1;

/// Lines from now on are of this rank.
pub(crate) fn this_is(rank: usize) {
    let other = |known| (known != UNKNOWN && known != rank).then_some(SEVERAL).or(Some(rank));
    // The closure always answers.
    let _ = RANK.fetch_update(Ordering::Relaxed, Ordering::Relaxed, other);
}

/// What a line begins with.
struct Since(Instant);

impl FormatTime for Since {
    fn format_time(&self, line: &mut Writer<'_>) -> std::fmt::Result {
        head(line, self.0.elapsed().as_secs_f64(), RANK.load(Ordering::Relaxed))
    }
}

/// `[2.013s]`, and `[2.013s rank 3]` once there is a rank.
fn head(line: &mut impl std::fmt::Write, seconds: f64, rank: usize) -> std::fmt::Result {
    match rank {
        UNKNOWN | SEVERAL => write!(line, "[{seconds:.3}s]"),
        rank => write!(line, "[{seconds:.3}s rank {rank}]"),
    }
}

/// Reads a filter: levels, and targets with levels. A word alone must be a level: taken for a target, as the parser
/// would take it, a misspelt level would silence everything else.
fn targets(filter: &str) -> Result<Targets, String> {
    let refused = |why: String| {
        format!(
            "the setting `log` (RINGWORLD_LOG) is {filter:?}, but {why}; give a level (off, error, warn, info, debug \
             or trace), or targets with levels, such as warn,ringworld_bootstrap=debug"
        )
    };
    for word in filter.split(',') {
        if word.contains('[') {
            return Err(refused(format!("{word:?} asks for spans, of which there are none")));
        }
        if !word.contains('=') && (word.trim().is_empty() || word.parse::<LevelFilter>().is_err()) {
            return Err(refused(format!("{word:?} is no level")));
        }
    }
    filter.parse().map_err(|error| refused(format!("that is no filter: {error}")))
}

#[cfg(test)]
mod tests {
    use super::{RANK, SEVERAL, UNKNOWN, head, targets, this_is};
    use std::sync::atomic::Ordering;

    #[test]
    fn a_line_begins_with_its_time_and_with_the_rank_where_there_is_one() {
        let shown = |seconds, rank| {
            let mut text = String::new();
            head(&mut text, seconds, rank).unwrap();
            text
        };
        assert_eq!(shown(0.5, UNKNOWN), "[0.500s]");
        assert_eq!(shown(12.0, 3), "[12.000s rank 3]");
        for (rank, expected) in [(4, 4), (4, 4), (5, SEVERAL), (4, SEVERAL)] {
            this_is(rank);
            assert_eq!(RANK.load(Ordering::Relaxed), expected);
        }
        assert_eq!(shown(1.0, SEVERAL), "[1.000s]");
    }

    #[test]
    fn levels_and_targets_with_levels_are_filters_and_nothing_else_is() {
        for filter in ["warn", "DEBUG", "off", "warn,ringworld_bootstrap=debug", "ringworld=trace"] {
            assert!(targets(filter).is_ok(), "{filter}");
        }
        for filter in
            ["debgu", "warn,ringworld_bootstrap", "ringworld=loud", "warn,,info", "ringworld[span]=debug"]
        {
            let error = targets(filter).unwrap_err();
            assert!(error.contains(&format!("{filter:?}")) && error.contains("give a level"), "{error}");
        }
    }
}
