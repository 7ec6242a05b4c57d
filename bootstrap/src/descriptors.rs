//! The limit on open files of this process.
//!
//! Every connection is an open file, and the usual soft limit of 1,024 is there for programs that do not expect many.
//! Whoever knows that it needs more raises it, as far as the hard limit lets it. Neighbours: the master, a rank of
//! a large world, and the launcher do.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A limit that has to be raised is raised to so many, if it may: many worlds and much else fit into that, and a
/// program that walks through all descriptors there could be is not slowed down by a hard limit of a billion.
const PLENTY: u64 = 1 << 16;

/// Sees to it that this process may have `wanted` files open in all, by raising its soft limit if that is lower.
///
/// # Errors
///
/// How many it may have open, when that is less because of the hard limit.
///
/// ```
/// assert_eq!(ringworld_bootstrap::raise_descriptor_limit(16), Ok(()));
/// assert!(ringworld_bootstrap::raise_descriptor_limit(u64::MAX).is_err_and(|most| most >= 16));
/// ```
pub fn raise_descriptor_limit(wanted: u64) -> Result<(), u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` is no limit at all.
    let Some(soft) = current.filter(|soft| *soft < wanted) else { return Ok(()) };
    let raised = maximum.unwrap_or(u64::MAX).min(wanted.max(PLENTY));
    let possible = match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(error) => {
            tracing::warn!("the limit on open files stays at {soft}: {error}");
            soft
        }
    };
    if possible < wanted { Err(possible) } else { Ok(()) }
}

/// The same error; and what to do, if it is that this process or its host has too many files open.
pub(crate) fn advised(error: io::Error) -> io::Error {
    let advice = match Errno::from_io_error(&error) {
        Some(Errno::MFILE) => {
            let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
            let words =
                |limit: Option<u64>| limit.map_or("any number of".to_owned(), |limit| limit.to_string());
            format!(
                "this process may open {} files (RLIMIT_NOFILE, of which the hard limit is {}); raise the limit \
                 (`ulimit -n`, LimitNOFILE=, `--ulimit nofile=`)",
                words(current),
                words(maximum)
            )
        }
        Some(Errno::NFILE) => "this host has too many files open in all; raise fs.file-max".to_owned(),
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{error}; {advice}"))
}
