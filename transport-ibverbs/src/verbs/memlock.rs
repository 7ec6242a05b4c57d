//! Memory that may be pinned: how its want is told from other errors, and what to do about it.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Whether a registration failed for want of memory that may be pinned.
pub(super) fn is_out_of_memory(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOMEM.raw_os_error())
}

/// Why memory could not be registered, and what to do.
pub(super) fn advice(error: &io::Error, length: usize) -> String {
    if !is_out_of_memory(error) {
        return format!("{length} bytes: {error}");
    }
    let limit = limit();
    format!(
        "{length} bytes: {error}; this process may pin {limit} of memory (RLIMIT_MEMLOCK). Raise that: `ulimit -l \
         unlimited` in the shell, `memlock unlimited` in /etc/security/limits.conf, LimitMEMLOCK=infinity in a \
         systemd unit, or `--ulimit memlock=-1` for a container"
    )
}

/// How much memory this process may pin, in words.
pub(super) fn limit() -> String {
    let limit = getrlimit(Resource::Memlock).current;
    limit.map_or("unlimited".to_owned(), |bytes| format!("{} KiB", bytes / 1024))
}
