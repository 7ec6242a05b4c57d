//! What is counted of peers and calls: plain numbers.
//!
//! Neighbours: `observe` counts, or the tracer where there is one.

use std::time::Duration;

/// What has gone to a peer, or come from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages, those of the protocol itself included.
    pub messages: u64,
    /// Bytes of the user's and of collectives, without headers.
    pub bytes: u64,
}

/// What has gone on with one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerTally {
    /// To it.
    pub sent: Traffic,
    /// From it.
    pub received: Traffic,
    /// What it was shown instead of being sent it; among those that were sent.
    pub shown: u64,
    /// What it has shown and this rank has taken; among those that were received.
    pub taken: u64,
    /// Calls that slept while they waited for it, and for how long in all.
    pub waits: u64,
    /// A call that waits for several peers counts for each.
    pub waited: Duration,
}

/// What has been done by one kind of call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTally {
    /// How often it was called.
    pub calls: u64,
    /// How much memory it was given, in bytes: to send and to receive.
    pub bytes: u64,
    /// Calls that slept, and for how long in all.
    pub waits: u64,
    /// See `waits`.
    pub waited: Duration,
}
