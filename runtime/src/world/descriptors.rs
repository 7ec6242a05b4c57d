//! Open files enough for a world.
//!
//! Each rank that this one talks to is a connection or several, and each connection is an open file. Which ranks those
//! will be nobody knows, so room is made for all of them; a world in which few pairs talk does with less.

use ringworld_bootstrap::{Settings, raise_descriptor_limit};

use super::transports;

/// Open files beside connections to other ranks: the program's own, and what this library has.
const OTHERS: usize = 128;
/// What a rank takes with which this one shares memory: a socket, the event by which it is woken, its process.
const SHARING: usize = 3;

/// Open files that a process of a world may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// When it has all the connections that its settings allow with every other rank.
    pub all: u64,
    /// With one connection to every other rank, which will do.
    pub least: u64,
}

impl Needed {
    /// Of one of `size` ranks.
    #[must_use]
    pub fn of(settings: &Settings, size: usize) -> Self {
        let others = size.saturating_sub(1);
        let connections = others * transports::lanes(settings).max(SHARING);
        // One for each rank if this process serves the rendezvous.
        Self { all: (connections + size + OTHERS) as u64, least: (others + OTHERS) as u64 }
    }
}

/// Raises this process's limit on open files to what it may need as one of `size` ranks. When it must not be raised so
/// far, the world may fail later, with an error; `tells`: this rank says so now, for its host.
pub(crate) fn provide(settings: &Settings, size: usize, tells: bool) {
    let needed = Needed::of(settings, size);
    let Err(most) = raise_descriptor_limit(needed.all) else { return };
    if most >= needed.least {
        tracing::debug!(
            "{most} open files: fewer than the {} that connections may take; each pair of ranks has one",
            needed.all
        );
    } else if tells {
        tracing::warn!(
            "a process on this host may open {most} files (the hard limit of RLIMIT_NOFILE), and the world has {size} \
             ranks: one that talks to nearly all of them will fail; raise the limit (`ulimit -n`, LimitNOFILE=, \
             `--ulimit nofile=`)"
        );
    }
}
