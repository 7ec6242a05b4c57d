//! One rank's side of all its conversations: the state, and what every part of it needs.
//!
//! Split by who speaks: `send.rs` and `receive.rs` are calls from above, `arrive.rs` events from the
//! transport, `peers.rs` the ends of peers and of everything, `describe.rs` answers questions. What a
//! request or an inbound message goes through is in `states.rs`.
//!
//! Invariants: no posted receive accepts an unexpected message; an inbound slot lives until its payload
//! has arrived and its bounce memory has been released; a request slot until its completion was taken;
//! nothing is queued for a peer that is gone.

mod arrive;
mod describe;
mod peers;
mod receive;
mod send;
mod states;

use std::collections::VecDeque;

pub use describe::{Description, Kind, Stage};
pub use send::Departure;
use states::{Body, Inbound, Peer, Request};

use crate::credit::Limits;
use crate::matching::{Chain, Posted, Unexpected};
use crate::slab::{Id, Slab};
use crate::wire::Packet;
use crate::{Action, Completion, Config, Done, Failure, Header, Rank, RequestId, Span, Unreceived};

/// The token of a placement that nobody waits for. No slot has it: its index would be the largest.
const CONTROL: u64 = u64::MAX;

/// The protocol of one rank. See the [crate documentation](crate) for how to drive it.
///
/// ```
/// use ringworld_protocol::*;
/// let mut machine = Machine::new(Config::new(0, 2, 1024, 8192)?);
/// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
/// let data = Span::of(BufferId::FIRST, 100);
/// let request = machine.send(1, envelope, data, Mode::Standard);
/// let Some(Action::Message { peer: 1, payload: Some(_), token: Some(token), .. }) = machine.next_action() else {
///     panic!("100 bytes go eagerly");
/// };
/// machine.sent(token);
/// assert_eq!(machine.next_completion().map(|c| c.request), Some(request));
/// # Ok::<(), ConfigError>(())
/// ```
pub struct Machine {
    config: Config,
    limits: Limits,
    peers: Vec<Peer>,
    requests: Slab<Request>,
    inbound: Slab<Inbound>,
    posted: Posted,
    unexpected: Unexpected,
    /// Links of the peers' queues of sends that wait for credit, by request index.
    waiting: Chain,
    actions: VecDeque<Action>,
    completions: VecDeque<Completion>,
    pending: usize,
    aborted: bool,
    /// How many messages have been announced.
    arrivals: u64,
    /// See [`Machine::leave`].
    leaving: bool,
    /// See [`Machine::unreceived`].
    unreceived: Option<Unreceived>,
    /// Set once no other rank is left: why the last one went.
    alone: Option<Failure>,
}

impl Machine {
    /// A machine with nothing pending. A `config` that [`Config::new`] would refuse is moved to the
    /// nearest one that works.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let config = config.clamped();
        let limits = Limits::new(&config);
        Self {
            config,
            limits,
            peers: vec![Peer::new(&limits); config.size],
            requests: Slab::new(),
            inbound: Slab::new(),
            posted: Posted::new(),
            unexpected: Unexpected::new(),
            waiting: Chain::default(),
            actions: VecDeque::new(),
            completions: VecDeque::new(),
            pending: 0,
            aborted: false,
            arrivals: 0,
            leaving: false,
            unreceived: None,
            alone: None,
        }
    }

    /// The settings in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether there is anything to do, or a completion to take.
    #[must_use]
    #[inline]
    pub fn has_news(&self) -> bool {
        !(self.actions.is_empty() && self.completions.is_empty())
    }

    /// The next thing to do; perform them in this order.
    pub fn next_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front()?;
        if let Action::Release { bounce } = action {
            // Only now may the slot be used again: the caller may keep bounce memory by its index.
            let id = Id::from_bits(bounce);
            if self.inbound.get(id).is_some_and(|message| message.body == Body::Spent) {
                self.inbound.remove(id);
            }
        }
        Some(action)
    }

    /// The next request that has ended. Take all actions first.
    pub fn next_completion(&mut self) -> Option<Completion> {
        let completion = self.completions.pop_front()?;
        self.requests.remove(completion.request.0);
        Some(completion)
    }

    /// How many requests have not ended yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Queues a message, with all the credit that is owed to `peer` on it.
    fn push_message(&mut self, peer: Rank, packet: Packet, payload: Option<Span>, token: Option<u64>) {
        let Some(account) = self.peers.get_mut(peer).filter(|account| account.fate.is_none()) else { return };
        let header = Header { credit: account.credit.take_owed(), packet };
        self.actions.push_back(Action::Message { peer, header, payload, token });
    }

    /// A message of `peer` occupies nothing here any more.
    fn free_credit(&mut self, peer: Rank, cost: usize) {
        if let Some(account) = self.peers.get_mut(peer) {
            account.credit.free(cost);
        }
        self.return_credit_if_due(peer);
    }

    /// Tells `peer` about its credit if it may be waiting for it.
    fn return_credit_if_due(&mut self, peer: Rank) {
        if self.peers.get(peer).is_some_and(|account| account.credit.is_due(&self.limits)) {
            self.push_message(peer, Packet::Credit, None, None);
        }
    }

    /// A new pending request.
    fn start(&mut self, request: Request) -> Id {
        self.pending += 1;
        self.requests.insert(request)
    }

    /// Ends a request; does nothing when it has ended already.
    fn complete(&mut self, id: Id, outcome: Result<Done, Failure>) {
        let Some(request) = self.requests.get_mut(id) else { return };
        if matches!(request, Request::Finished) {
            return;
        }
        *request = Request::Finished;
        self.pending -= 1;
        self.completions.push_back(Completion { request: RequestId(id), outcome });
    }

    /// A request that fails before it has begun.
    fn fail_at_once(&mut self, failure: Failure) -> RequestId {
        let id = self.requests.insert(Request::Finished);
        self.completions.push_back(Completion { request: RequestId(id), outcome: Err(failure) });
        RequestId(id)
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("config", &self.config)
            .field("pending", &self.pending)
            .field("actions", &self.actions.len())
            .field("completions", &self.completions.len())
            .finish_non_exhaustive()
    }
}
