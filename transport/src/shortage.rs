//! When this process has no descriptors left, or the system no memory for connections.
//!
//! That is nobody else's doing, so no peer is blamed for it; and mostly it passes, because something else of this
//! process closes what it had open. If it lasts, the ranks that wait to be let in would wait for ever, so the runtime
//! is told by [`Event::Broken`](crate::Event::Broken) that the transport cannot go on. Pure but for the limit on open
//! files. Neighbours: the transports that need descriptors for each peer run into it.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit};

/// How long a shortage may last. Shorter than peers go on trying when they are turned away meanwhile.
const PATIENCE: Duration = Duration::from_secs(3);
/// A shortage is over when the system has refused nothing for so long; longer than any pause before the next attempt.
const QUIET: Duration = Duration::from_millis(500);
/// Descriptors for everything else in a process, where there is no telling.
const OTHERS: usize = 48;

/// Whether an error says that this process or its host lacks something, whoever the connection was with.
#[must_use]
pub fn is_shortage(errno: Errno) -> bool {
    matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
}

/// What a refusal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A shortage begins.
    Begins,
    /// It goes on; all has been said.
    Lasts,
    /// It has gone on for too long.
    TooLong,
}

#[derive(Clone, Copy, Debug)]
struct Spell {
    /// Since when nothing has been opened.
    since: Instant,
    /// The last refusal.
    last: Instant,
}

/// The shortage that there is, if any.
#[derive(Debug, Default)]
pub struct Shortage {
    spell: Option<Spell>,
    reported: bool,
}

impl Shortage {
    /// The system has refused to open something.
    pub fn refused(&mut self, now: Instant) -> Meaning {
        let Some(spell) = &mut self.spell else {
            self.spell = Some(Spell { since: now, last: now });
            return Meaning::Begins;
        };
        spell.last = now;
        if now - spell.since < PATIENCE || std::mem::replace(&mut self.reported, true) {
            return Meaning::Lasts;
        }
        Meaning::TooLong
    }

    /// Something could be opened: no end of the shortage, but progress.
    pub fn opened(&mut self, now: Instant) {
        if let Some(spell) = &mut self.spell {
            spell.since = now;
        }
    }

    /// Whether there is or was one that has not been seen to end.
    #[must_use]
    #[inline]
    pub fn is_noted(&self) -> bool {
        self.spell.is_some()
    }

    /// Time has passed. Whether a shortage goes on.
    pub fn lasts(&mut self, now: Instant) -> bool {
        self.spell = self.spell.take_if(|spell| now - spell.last < QUIET);
        self.spell.is_some()
    }
}

fn limit() -> Rlimit {
    getrlimit(Resource::Nofile)
}

/// Whether this process may open so many connections and what else it needs. While it may not, further lanes are not
/// made: with the same limit on the other side, they would take the descriptors of connections that somebody waits for.
#[must_use]
pub fn is_room_for(connections: usize) -> bool {
    limit().current.is_none_or(|current| current >= (connections + OTHERS) as u64)
}

/// This part of the files that this process may open: one in so many.
#[must_use]
pub fn share(parts: u64) -> usize {
    limit().current.map_or(usize::MAX, |current| usize::try_from(current / parts).unwrap_or(usize::MAX))
}

/// Why this transport cannot go on, and what to do.
#[must_use]
pub fn explain(errno: Errno, size: usize) -> String {
    let others = size.saturating_sub(1);
    let first = format!("no connection can be made or accepted any more: {errno}");
    match errno {
        Errno::MFILE => format!(
            "{first}; {}, and in this world it may need a connection to each of {others} other ranks, beside what else \
             it has open. {RAISE_FILES}",
            files()
        ),
        _ => match mapped().filter(|_| errno == Errno::NOMEM) {
            Some(bytes) => {
                format!(
                    "{first}; {bytes}, and may need some for each of {others} other ranks. {RAISE_MEMORY}"
                )
            }
            None => format!("{first}{}", advice(&errno.into())),
        },
    }
}

/// What to do about an error of the system's by which it says that it, or this process, lacks something: to be put
/// behind it, and empty for any other.
///
/// ```
/// use ringworld_transport::shortage::advice;
///
/// let error = std::io::Error::from_raw_os_error(24);
/// assert!(error.to_string().starts_with("Too many open files"));
/// assert!(advice(&error).starts_with("; this process may open ") && advice(&error).contains("`ulimit -n`"));
/// assert_eq!(advice(&std::io::ErrorKind::NotFound.into()), "");
/// ```
#[must_use]
pub fn advice(error: &std::io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE) => format!("; {}. {RAISE_FILES}", files()),
        Some(Errno::NFILE) => "; this host has too many files open in all; raise fs.file-max".to_owned(),
        Some(errno @ (Errno::NOMEM | Errno::NOBUFS)) => match mapped().filter(|_| errno == Errno::NOMEM) {
            Some(bytes) => format!("; {bytes}. {RAISE_MEMORY}"),
            None => "; this host, or the container's limit on memory, has none left for sockets (net.ipv4.tcp_mem) or \
                     memory that processes share"
                .to_owned(),
        },
        _ => String::new(),
    }
}

const RAISE_FILES: &str = "Raise the limit: `ulimit -n` in the shell, `nofile` in /etc/security/limits.conf, \
                           LimitNOFILE= in a systemd unit, or `--ulimit nofile=` for a container";
const RAISE_MEMORY: &str = "Raise the limit: `ulimit -v` in the shell, `as` in /etc/security/limits.conf, LimitAS= in \
                            a systemd unit, or what the job asks its batch system for, such as h_vmem";

/// How many files this process may have open.
fn files() -> String {
    let Rlimit { current, maximum } = limit();
    let words = |limit: Option<u64>| limit.map_or("any number of".to_owned(), |limit| limit.to_string());
    let (current, maximum) = (words(current), words(maximum));
    format!("this process may open {current} files (RLIMIT_NOFILE, of which the hard limit is {maximum})")
}

/// How much memory this process may map, if that is limited.
fn mapped() -> Option<String> {
    let limit = getrlimit(Resource::As).current?;
    Some(format!(
        "this process may map {limit} bytes (RLIMIT_AS), which counts memory that is never used, too"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shortage_without_any_progress_is_too_long_and_that_once() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut shortage = Shortage::default();
        assert_eq!(shortage.refused(at(0)), Meaning::Begins);
        for ms in (100..3_000).step_by(100) {
            assert_eq!(shortage.refused(at(ms)), Meaning::Lasts, "{ms}");
            assert!(shortage.lasts(at(ms + 50)));
        }
        shortage.opened(at(2_950));
        assert_eq!(shortage.refused(at(3_000)), Meaning::Lasts);
        assert_eq!(shortage.refused(at(5_950)), Meaning::TooLong);
        assert_eq!(shortage.refused(at(6_000)), Meaning::Lasts, "it was told twice");
    }

    #[test]
    fn a_shortage_ends_when_nothing_is_refused_any_more() {
        let begin = Instant::now();
        let mut shortage = Shortage::default();
        assert!(!shortage.lasts(begin));
        assert_eq!(shortage.refused(begin), Meaning::Begins);
        assert!(!shortage.lasts(begin + QUIET));
        assert_eq!(shortage.refused(begin + PATIENCE), Meaning::Begins);
    }

    #[test]
    fn a_limit_on_what_may_be_mapped_is_named_where_there_is_one() {
        let before = getrlimit(Resource::As);
        assert!(explain(Errno::NOMEM, 3).contains("net.ipv4.tcp_mem"));
        // More than anything here maps.
        let limit = Rlimit { current: Some(1 << 46), ..before };
        rustix::process::setrlimit(Resource::As, limit).unwrap();
        let (memory, buffers) = (explain(Errno::NOMEM, 3), explain(Errno::NOBUFS, 3));
        rustix::process::setrlimit(Resource::As, before).unwrap();
        for part in ["70368744177664", "RLIMIT_AS", "ulimit -v", "h_vmem"] {
            assert!(memory.contains(part), "{memory}");
        }
        assert!(buffers.contains("net.ipv4.tcp_mem"), "{buffers}");
    }
}
