//! What one rank knows: its links to others, its exposures, and what has arrived but was not polled yet.
//!
//! Invariant: a link exists only between ranks that have used one another (or were taken down); once it
//! is down it stays so and holds nothing. Neighbours: `engine` moves packets between ends, `receive`
//! turns what has arrived into events.

use std::collections::{BTreeMap, VecDeque};

use ringworld_transport::{Cause, Event, Rank, RecvMemory, Token};

use crate::coverage::Coverage;
use crate::wire::{Outgoing, Packet};

/// How far the life of a rank's transport has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Open,
    /// `close` was called, `Closed` not reported.
    Closing,
    /// `Closed` was reported.
    Closed,
    /// The fabric killed it: all that is left is to report so.
    Killed,
    /// Aborted or dropped: silent for ever.
    Aborted,
}

impl Stage {
    /// Whether packets still mean something to it.
    pub(crate) fn listens(self) -> bool {
        matches!(self, Self::Open | Self::Closing)
    }
}

/// How a link stands, as one end sees it.
#[derive(Debug)]
pub(crate) enum LinkState {
    Up,
    /// The peer has closed: nothing new is accepted, but what was accepted is still delivered.
    Finished,
    Down(Cause),
}

/// An operation that was accepted and not yet taken by the receiver's poll.
#[derive(Debug)]
pub(crate) struct Flight {
    /// Fragments that have not reached the receiver's inbox.
    pub(crate) to_arrive: usize,
    /// Fragments that the receiver has not polled.
    pub(crate) to_take: usize,
}

/// A message of which some fragments have come.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) memory: RecvMemory,
    pub(crate) token: Token,
    pub(crate) arrived: usize,
    pub(crate) length: usize,
}

/// One rank's side of the connection to another.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) state: LinkState,
    /// When the connection is open.
    pub(crate) ready_at: u64,
    /// Nothing can leave: nobody answers at the other side.
    pub(crate) stalled: bool,
    pub(crate) messages: VecDeque<Outgoing>,
    pub(crate) puts: Vec<Outgoing>,
    /// Accepted as `Pending`, and neither `Sent` nor ended.
    pub(crate) open_sends: usize,
    pub(crate) flights: BTreeMap<u64, Flight>,
    /// How many flights have fragments that have not arrived.
    pub(crate) undelivered: usize,
    /// When the last fragment of a message arrives; later ones must not overtake it.
    pub(crate) last_arrival: u64,
    pub(crate) incoming: Option<Incoming>,
    pub(crate) fin_sent: bool,
    /// The peer has answered our `Fin`.
    pub(crate) acked: bool,
    /// The peer's `Fin` has not been answered yet.
    pub(crate) owes_ack: bool,
}

impl Link {
    pub(crate) fn new(ready_at: u64) -> Self {
        Self {
            state: LinkState::Up,
            ready_at,
            stalled: false,
            messages: VecDeque::new(),
            puts: Vec::new(),
            open_sends: 0,
            flights: BTreeMap::new(),
            undelivered: 0,
            last_arrival: 0,
            incoming: None,
            fin_sent: false,
            acked: false,
            owes_ack: false,
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.state, LinkState::Down(_))
    }

    /// Whether a fragment could leave now or later.
    pub(crate) fn wants_port(&self) -> bool {
        !self.stalled && (!self.messages.is_empty() || !self.puts.is_empty())
    }

    /// Forgets everything; the memory of its operations is free.
    pub(crate) fn take_down(&mut self, cause: Cause) {
        *self = Self { state: LinkState::Down(cause), ..Self::new(0) };
    }
}

/// Memory opened to puts of one peer.
#[derive(Debug)]
pub(crate) struct Exposure {
    pub(crate) peer: Rank,
    pub(crate) memory: RecvMemory,
    pub(crate) token: Token,
    pub(crate) written: Coverage,
}

/// Something that the next poll of a rank will find.
#[derive(Debug)]
pub(crate) enum Notice {
    Left { peer: Rank, token: Token },
    Arrived { peer: Rank, flight: Option<u64>, packet: Packet },
}

impl Notice {
    pub(crate) fn peer(&self) -> Rank {
        match self {
            Self::Left { peer, .. } | Self::Arrived { peer, .. } => *peer,
        }
    }
}

/// One rank.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) stage: Stage,
    /// Packets from and to this rank vanish.
    pub(crate) silent: bool,
    /// Whose address was given to `connect`.
    pub(crate) known: Vec<bool>,
    pub(crate) links: BTreeMap<Rank, Link>,
    pub(crate) exposures: BTreeMap<u64, Exposure>,
    pub(crate) next_exposure: u64,
    pub(crate) next_flight: u64,
    pub(crate) inbox: VecDeque<Notice>,
    /// Events that need no packet, reported by the next poll.
    pub(crate) due: Vec<Event>,
    /// When the sending port is free.
    pub(crate) egress_free: u64,
    /// When the receiving port is free.
    pub(crate) ingress_free: u64,
    /// When the sending port is to be used next, as planned on the agenda; plans for other times are stale.
    pub(crate) egress_planned: Option<u64>,
}

impl End {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            stage: Stage::Open,
            silent: false,
            known: vec![false; size],
            links: BTreeMap::new(),
            exposures: BTreeMap::new(),
            next_exposure: 0,
            next_flight: 0,
            inbox: VecDeque::new(),
            due: Vec::new(),
            egress_free: 0,
            ingress_free: 0,
            egress_planned: None,
        }
    }

    pub(crate) fn knows(&self, peer: Rank) -> bool {
        self.known.get(peer).copied().unwrap_or(false)
    }

    /// Of all operations that wait for the port at `now`, the one that was posted first: its peer, and its index
    /// if it is a put.
    pub(crate) fn oldest(&self, now: u64) -> Option<(Rank, Option<usize>)> {
        let links = self.links.iter().filter(|(_, link)| link.wants_port() && link.ready_at <= now);
        let waiting = links.flat_map(|(&peer, link)| {
            let message = link.messages.front().map(|message| (message.flight, peer, None));
            let puts = link.puts.iter().enumerate().map(move |(index, put)| (put.flight, peer, Some(index)));
            message.into_iter().chain(puts)
        });
        waiting.min_by_key(|(flight, ..)| *flight).map(|(_, peer, put)| (peer, put))
    }

    /// Why nothing can be posted or exposed to `peer`, if so.
    pub(crate) fn refusal(&self, peer: Rank) -> Option<Cause> {
        match self.stage {
            Stage::Open => {}
            Stage::Closing | Stage::Closed => return Some(Cause::Finished),
            Stage::Killed => return Some(Cause::Lost("this rank was killed by the simulator".to_owned())),
            Stage::Aborted => return Some(Cause::Declared("this transport was aborted".to_owned())),
        }
        match &self.links.get(&peer)?.state {
            LinkState::Up => None,
            LinkState::Finished => Some(Cause::Finished),
            LinkState::Down(cause) => Some(cause.clone()),
        }
    }

    /// Drops everything of `peer` for ever; `true` if it was not down before.
    pub(crate) fn take_down(&mut self, peer: Rank, cause: Cause) -> bool {
        let link = self.links.entry(peer).or_insert_with(|| Link::new(0));
        if link.is_down() {
            return false;
        }
        link.take_down(cause);
        self.exposures.retain(|_, exposure| exposure.peer != peer);
        self.inbox.retain(|notice| notice.peer() != peer);
        true
    }

    /// Drops everything of everybody; all memory is free when this returns.
    pub(crate) fn clear(&mut self, stage: Stage) {
        self.stage = stage;
        self.links.clear();
        self.exposures.clear();
        self.inbox.clear();
        self.due.clear();
    }
}
