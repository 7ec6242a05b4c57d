//! Faults: what ends the world, before it is known which call will report it.
//!
//! Neighbours: `core` finds them, the inbox brings those of others. Whoever calls the engine turns one into an error of
//! the call that it ends.

use std::time::Duration;

/// Why the whole world has failed, before it is known which call will report it.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A rank is down.
    Peer {
        /// Which.
        rank: usize,
        /// What is known of its end.
        cause: String,
        /// Whether the link between it and this rank has failed, whatever else has: others may know only by hearsay.
        link: bool,
    },
    /// A rank has ended the world on purpose.
    Aborted {
        /// Which.
        rank: usize,
        /// The exit code it gave.
        code: i32,
        /// The reason it gave.
        reason: String,
    },
    /// Ranks disagree about a collective.
    Mismatch {
        /// Who called what, and where.
        detail: String,
    },
    /// A user's operation panicked or called this library, or a rank gave up because it did.
    Panicked {
        /// Which rank, and what is known of it.
        detail: String,
    },
    /// A call has waited for too long.
    TimedOut {
        /// Which rank, in which call.
        waiter: String,
        /// For how long.
        after: Duration,
        /// Whom it waited for.
        waiting_for: String,
    },
    /// The system, or a transport, cannot go on.
    System {
        /// On which rank, and what it lacks.
        detail: String,
    },
    /// The control plane has lost the process that serves it.
    Master {
        /// What is known of its end.
        cause: String,
    },
    /// This rank has left the world.
    Finalized,
    /// This rank has gone on to a later generation of its world.
    Superseded {
        /// The one that has ended.
        generation: u64,
    },
}
