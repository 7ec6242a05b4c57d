//! What ranks do, as they say when they are asked: who waits for whom, who is late, and whether anybody can move.
//!
//! Ranks are asked twice in a row by the master (`master/inquiry`), because what they say is of different moments:
//! [`judge`] looks at both answers of all and decides, [`said`] remembers what has been said of a stall, so that it is
//! said once, and [`words`] puts it in words; [`own`] is what a rank says of itself alone. All of them are pure.

pub(crate) mod judge;
pub(crate) mod own;
pub(crate) mod said;
pub(crate) mod words;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::text;

/// Calls of one rank that are told, at most.
const WAITS: usize = 8;
/// Peers of one call that are told, at most.
const PEERS: usize = 64;
/// Transports that are told, at most.
const ROUTES: usize = 8;
/// The longest description of a call, in bytes.
const TEXT: usize = 1 << 10;

/// A thread of a rank that sleeps in a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The same for as long as the thread waits in this call; never used again.
    pub number: u64,
    /// For how long.
    pub waited: Duration,
    /// For longer than `stall_warning`.
    pub stalled: bool,
    /// Which call, with its number and place.
    pub call: String,
    /// Whom it waits for, or some of them.
    pub peers: Vec<u64>,
    /// One of them is enough, or any rank.
    pub any: bool,
}

/// What a rank is doing, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whereabouts {
    /// How many calls have begun.
    pub begun: u64,
    /// Messages sent to ranks that have not left, as far as this rank knows.
    pub sent: u64,
    /// Messages of such ranks of which all has come.
    pub received: u64,
    /// How many ranks it knows to have left.
    pub left: u64,
    /// Something is going on that needs no call: bytes are on their way, or what a call looks for is there.
    pub moves: bool,
    /// It is leaving the world.
    pub leaves: bool,
    /// It knows that the world has failed.
    pub over: bool,
    /// Some thread is in the library for so long that it could not be asked. Then nothing but `idle` is known.
    pub busy: bool,
    /// Threads of its process that neither wait in a call nor are the library's; `None`: not known.
    pub others: Option<u64>,
    /// No call has begun for so long, or for a little longer.
    pub idle: Duration,
    /// Threads that sleep in calls.
    pub waits: Vec<Waiting>,
    /// The call that has begun last.
    pub last: Option<String>,
    /// Bytes sent and received so far.
    pub bytes: [u64; 2],
    /// The same per second, of late.
    pub rates: [u64; 2],
    /// How many peers are reached by which transport.
    pub routes: Vec<(String, u64)>,
}

impl Whereabouts {
    /// What of it is kept, whatever a rank says.
    pub(crate) fn clipped(mut self) -> Self {
        self.waits.truncate(WAITS);
        for waiting in &mut self.waits {
            waiting.call = text::printable(&waiting.call, TEXT);
            waiting.peers.truncate(PEERS);
            waiting.peers.shrink_to_fit();
        }
        self.last = self.last.map(|last| text::printable(&last, TEXT));
        self.routes.truncate(ROUTES);
        for (name, _) in &mut self.routes {
            *name = text::printable(name, 32);
        }
        self.waits.shrink_to_fit();
        self
    }

    /// How many of each may be given without being cut: calls, peers of one, transports.
    #[must_use]
    pub const fn limits() -> (usize, usize, usize) {
        (WAITS, PEERS, ROUTES)
    }
}

/// Whether a rank is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Standing {
    /// It is in the world.
    Present,
    /// It has left in good order.
    Finished,
    /// It has died, or has been given up.
    Down,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankStatus {
    /// Name of its host.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// Whether it is there.
    pub standing: Standing,
    /// Others wait for it, and it waits for nobody.
    pub late: bool,
    /// What it does, if it is there and has answered.
    pub told: Option<Whereabouts>,
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobStatus {
    /// Name of the job, if it has one.
    pub job: Option<String>,
    /// How many ranks it has, or is to have.
    pub size: u64,
    /// How many of them are there.
    pub present: u64,
    /// Since when the world has formed; `None`: it has not.
    pub age: Option<Duration>,
    /// Who waits for whom, in words, or that nobody can move; empty when there is nothing to say.
    pub story: String,
    /// All wait, and nobody can move.
    pub deadlock: bool,
    /// By rank; empty before the world has formed.
    pub ranks: Vec<RankStatus>,
}

/// Who knows what a rank does: asked by the control thread, which has other things to do.
pub trait Observer: Send + Sync {
    /// Looks whether calls have begun since the last look; about once a second.
    fn look(&self);

    /// What this rank does now.
    fn tell(&self) -> Whereabouts;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rank_says_is_cut_to_what_may_be_kept_and_printed() {
        let long = "\u{1b}[2Jé".repeat(10_000);
        let waiting = Waiting { call: long.clone(), peers: vec![1; 100_000], ..Waiting::default() };
        let said = Whereabouts {
            waits: vec![waiting; 1000],
            last: Some(long.clone()),
            routes: vec![(long, 1); 1000],
            ..Whereabouts::default()
        };
        let kept = said.clipped();
        assert_eq!((kept.waits.len(), kept.routes.len()), (WAITS, ROUTES));
        assert!(kept.waits.iter().all(|waiting| waiting.call.len() <= TEXT && waiting.peers.len() <= PEERS));
        assert!(kept.last.is_some_and(|last| last.len() <= TEXT && !last.contains('\u{1b}')));
        assert!(kept.routes.iter().all(|(name, _)| name.len() <= 32));
    }
}
