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

/// Raises this process's limit on open files to what it may need as one of `size` ranks. When it must not be raised so
/// far, the world may fail later, with an error; `tells`: this rank says so now, for its host.
pub(crate) fn provide(settings: &Settings, size: usize, tells: bool) {
    let others = size.saturating_sub(1);
    let connections = others * transports::lanes(settings).max(SHARING);
    // One for each rank if this process serves the rendezvous.
    let wanted = connections + size + OTHERS;
    let Err(most) = raise_descriptor_limit(wanted as u64) else { return };
    if most >= (others + OTHERS) as u64 {
        tracing::debug!(
            "{most} open files: too few for {connections} that connections may take; each pair of ranks has one"
        );
    } else if tells {
        tracing::warn!(
            "a process on this host may open {most} files (the hard limit of RLIMIT_NOFILE), and the world has {size} \
             ranks: one that talks to nearly all of them will fail; raise the limit (`ulimit -n`, LimitNOFILE=, \
             `--ulimit nofile=`)"
        );
    }
}
