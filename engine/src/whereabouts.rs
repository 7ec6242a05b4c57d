//! What a rank says of itself when it is asked: plain values, which go to whoever asks.

use std::time::Duration;

/// A thread that sleeps in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The same for as long as the thread has waited in this call without an end; never used again.
    pub number: u64,
    /// For how long.
    pub waited: Duration,
    /// Which call, with its number and place.
    pub call: String,
    /// Whom it waits for, by world rank.
    pub peers: Vec<usize>,
    /// One of them is enough, or any rank.
    pub any: bool,
}

/// What a rank is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// How many calls have begun.
    pub begun: u64,
    /// Messages that have been sent to ranks that have not left, as far as this rank knows, itself included.
    ///
    /// What this rank has shown such a rank, or taken of what that shows, counts here as well as in `received`: it lies
    /// where whoever looks for it finds it, and is not on its way.
    pub sent: u64,
    /// Messages of such ranks of which all has come.
    pub received: u64,
    /// How many ranks are known to have left.
    pub left: usize,
    /// Something is going on that needs no call, or what a call looks for is there and has not been taken.
    pub moves: bool,
    /// It is leaving the world.
    pub leaves: bool,
    /// The world has failed.
    pub over: bool,
    /// Threads that sleep in calls.
    pub waits: Vec<Waiting>,
    /// The call that has begun last, in words.
    pub last: Option<String>,
}
