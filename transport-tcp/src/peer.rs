//! What is known about one peer: its addresses, its lanes, and everything that is on its way.
//!
//! Invariant: a peer moves only forward through [`State`], so it has at most one connection in its life,
//! and `Gone` holds no memory of anybody. Neighbours: `transport.rs` drives it, `connection.rs` is one
//! lane of it.

use std::net::SocketAddr;
use std::time::Instant;

use ringworld_transport::Cause;

use crate::connection::Link;
use crate::puts::{Exposures, PutQueue};
use crate::waiting::Waiting;

/// Where a peer stands.
pub(crate) enum State {
    /// Nothing has been sent to it or by it.
    Idle,
    /// A connection is being made from here.
    Dialing(Attempt),
    /// Lane 0 is established.
    Open,
    /// Over, for this reason.
    Gone(Cause),
}

/// Connections of lane 0 that this side is trying to make.
pub(crate) struct Attempt {
    /// The next of the peer's addresses to try.
    pub(crate) next: usize,
    /// When to try it even though the one before has not answered yet.
    pub(crate) next_at: Instant,
    /// Slots in the lobby.
    pub(crate) live: Vec<usize>,
    /// The one of them that has sent its proof: the peer may take it as made.
    pub(crate) committed: Option<usize>,
    /// What every address answered.
    pub(crate) failures: Vec<String>,
    /// Somebody answered, and said no.
    pub(crate) rejected: bool,
    /// Somebody hung up without an answer: worth trying again.
    pub(crate) hung_up: bool,
    /// How often all addresses have been tried.
    pub(crate) rounds: u32,
}

impl Attempt {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            next: 0,
            next_at: now,
            live: Vec::new(),
            committed: None,
            failures: Vec::new(),
            rejected: false,
            hung_up: false,
            rounds: 0,
        }
    }
}

/// A word that is said once on each lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Word {
    /// Said by this side.
    pub(crate) sent: bool,
    expected: u64,
    seen: u64,
}

impl Word {
    /// It has been read on `lane`; the peer says it on `lanes`.
    pub(crate) fn note(&mut self, lane: usize, lanes: u64) -> Result<(), String> {
        let bit = 1 << lane;
        if lanes & bit == 0 || self.seen & bit != 0 {
            return Err(format!("it ended lane {lane} out of turn"));
        }
        self.expected |= lanes;
        self.seen |= bit;
        Ok(())
    }

    /// Whether it has been read on some lane.
    pub(crate) fn begun(&self) -> bool {
        self.seen != 0
    }

    /// Whether it has been read on `lane`.
    pub(crate) fn heard(&self, lane: usize) -> bool {
        self.seen & 1 << lane != 0
    }

    /// Whether it has been read on every lane.
    pub(crate) fn complete(&self) -> bool {
        self.expected != 0 && self.seen == self.expected
    }
}

/// The orderly end, both directions.
#[derive(Debug, Default)]
pub(crate) struct Farewell {
    /// Nothing more will come from the side that says it.
    pub(crate) bye: Word,
    /// Everything before the other side's bye has been read, and nothing more will come from here.
    pub(crate) ack: Word,
    /// The peer's bye has been reported.
    pub(crate) reported: bool,
}

/// One peer.
pub(crate) struct Peer {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) state: State,
    /// Empty until open; a lane that is not established is `None`.
    pub(crate) lanes: Vec<Option<Link>>,
    /// Where the initiator reached the peer; further lanes go there too, unless they are spread.
    pub(crate) reached: Option<SocketAddr>,
    /// Frames posted before lane 0 was established.
    pub(crate) waiting: Waiting,
    pub(crate) puts: PutQueue,
    pub(crate) exposures: Exposures,
    pub(crate) farewell: Farewell,
    /// A verified connection made by the peer, held back until it is clear whether ours, which has
    /// precedence, succeeds.
    pub(crate) parked: Option<usize>,
    /// Further lanes have been asked for.
    pub(crate) lanes_begun: bool,
    /// How often further lanes have been tried.
    pub(crate) lane_tries: u32,
    pub(crate) down_reported: bool,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Self {
            addresses: Vec::new(),
            state: State::Idle,
            lanes: Vec::new(),
            reached: None,
            waiting: Waiting::default(),
            puts: PutQueue::default(),
            exposures: Exposures::default(),
            farewell: Farewell::default(),
            parked: None,
            lanes_begun: false,
            lane_tries: 0,
            down_reported: false,
        }
    }

    /// Whether nothing that was accepted is left to be written.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
            && self.puts.is_empty()
            && self.lanes.iter().flatten().all(|link| link.queue.is_empty())
    }

    /// The established lanes, as bits.
    pub(crate) fn ready_lanes(&self) -> u64 {
        let ready = self.lanes.iter().enumerate().filter(|(_, link)| link.is_some());
        ready.fold(0, |bits, (lane, _)| bits | 1 << lane)
    }

    /// Whether `lane` may take chunks of puts, where `preferred` is the set of lanes meant for them.
    /// Lane 0 stands in while none of these is established.
    pub(crate) fn may_pull(&self, lane: usize, preferred: u64) -> bool {
        preferred & 1 << lane != 0 || (lane == 0 && self.ready_lanes() & preferred == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_complete_when_every_lane_has_said_it() {
        let mut word = Word::default();
        assert!(!word.complete());
        word.note(1, 0b11).unwrap();
        assert!(!word.complete());
        assert!(word.note(1, 0b11).is_err());
        word.note(0, 0b11).unwrap();
        assert!(word.complete());
        assert!(Word::default().note(1, 0b01).is_err());
    }
}
