//! What is known about one peer: its addresses, its lanes, and everything that is on its way.
//!
//! Invariant: a peer moves only forward through [`State`], so it has at most one connection in its life,
//! and `Gone` holds no memory of anybody. Neighbours: `transport.rs` drives it, `lane.rs` is one
//! lane of it.

use std::net::SocketAddr;
use std::time::Instant;

use ringworld_transport::Cause;
use ringworld_transport::lifecycle::{Progress, Shutdown};
use ringworld_transport::puts::{Exposures, PutQueue};

use crate::fins::PeerFins;
use crate::lane::Lane;
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
    pub(crate) since: Instant,
    /// The next of the peer's addresses to try.
    pub(crate) next: usize,
    /// When to try it even though the one before has not answered yet.
    pub(crate) next_at: Instant,
    /// Slots of their handshakes.
    pub(crate) live: Vec<usize>,
    /// The one of them that has sent its proof: the peer may take it as made.
    pub(crate) committed: Option<usize>,
    /// What every address answered.
    pub(crate) failures: Vec<String>,
    /// Somewhere nobody has answered at all.
    pub(crate) unanswered: bool,
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
            since: now,
            next: 0,
            next_at: now,
            live: Vec::new(),
            committed: None,
            failures: Vec::new(),
            unanswered: false,
            rejected: false,
            hung_up: false,
            rounds: 0,
        }
    }
}

/// One peer.
pub(crate) struct Peer {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) state: State,
    /// Empty until open; a lane that is not established is `None`.
    pub(crate) lanes: Vec<Option<Lane>>,
    /// Where the initiator reached the peer; further lanes go there too, unless they are spread.
    pub(crate) reached: Option<SocketAddr>,
    /// Frames posted before lane 0 was established.
    pub(crate) waiting: Waiting,
    pub(crate) puts: PutQueue,
    pub(crate) exposures: Exposures,
    pub(crate) shutdown: Shutdown,
    pub(crate) fins: PeerFins,
    /// A verified connection made by the peer, held back until it is clear whether ours, which has
    /// precedence, succeeds.
    pub(crate) parked: Option<usize>,
    /// Further lanes have been asked for.
    pub(crate) lanes_begun: bool,
    /// How often further lanes have been tried.
    pub(crate) lane_tries: u32,
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
            shutdown: Shutdown::default(),
            fins: PeerFins::default(),
            parked: None,
            lanes_begun: false,
            lane_tries: 0,
        }
    }

    /// Whether nothing that was accepted is left to be written.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.puts.is_empty() && self.lanes.iter().flatten().all(Lane::is_idle)
    }

    /// How far the orderly end has come.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            idle: self.is_idle(),
            exposed: !self.exposures.is_empty(),
            fin_read: self.fins.fin.on_all(),
            fin_ack_read: self.fins.fin_ack.on_all(),
            // It is on its way once the queues are empty, and the kernel delivers what it has taken.
            fin_ack_delivered: true,
        }
    }

    /// The established lanes, as bits.
    pub(crate) fn ready_lanes(&self) -> u64 {
        let ready = self.lanes.iter().enumerate().filter(|(_, connection)| connection.is_some());
        ready.fold(0, |bits, (lane, _)| bits | 1 << lane)
    }

    /// Whether `lane` may take fragments of puts, where `preferred` is the set of lanes meant for them.
    /// Lane 0 stands in while none of these is established.
    pub(crate) fn may_pull(&self, lane: usize, preferred: u64) -> bool {
        preferred & 1 << lane != 0 || (lane == 0 && self.ready_lanes() & preferred == 0)
    }
}
