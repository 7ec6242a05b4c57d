//! One rank's transport on a simulated fabric.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Header, Operation, Placer, Posted, Rank, RecvMemory,
    Refused, RemoteKey, Token, Transport,
};

use crate::coverage::Coverage;
use crate::end::{End, Exposure, Flight, Stage};
use crate::engine::Engine;
use crate::wire::{Key, Kind, Outgoing, Payload, address};

/// The transport of one rank of a [`Fabric`](crate::Fabric). May be stepped from one thread together with
/// all others, or driven by a thread of its own (see [`Config::auto_advance`](crate::Config)).
///
/// Dropping it without [`Transport::close`] is the death of its process, as far as others can tell.
#[derive(Debug)]
pub struct Sim {
    rank: Rank,
    capabilities: Capabilities,
    engine: Arc<Mutex<Engine>>,
}

/// A panic of one user's placer must not take the fabric from all others.
pub(crate) fn lock(engine: &Mutex<Engine>) -> MutexGuard<'_, Engine> {
    engine.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sim {
    pub(crate) fn new(rank: Rank, engine: Arc<Mutex<Engine>>) -> Self {
        let mut capabilities = Capabilities::new("sim");
        {
            let engine = lock(&engine);
            capabilities.max_message = engine.config.max_message;
            capabilities.inline = engine.config.inline;
            capabilities.inject = engine.config.inline;
            capabilities.latency_ns = engine.config.latency_ns;
            capabilities.bytes_per_us = match engine.config.bytes_per_us {
                0 => u64::MAX,
                speed => speed,
            };
        }
        Self { rank, capabilities, engine }
    }

    /// The rank that this transport belongs to.
    #[must_use]
    pub fn rank(&self) -> Rank {
        self.rank
    }
}

/// Why the operation itself is impossible, if it is; otherwise what it is, apart from its payload.
fn kind(operation: &Operation, max_message: usize) -> Result<Kind, &'static str> {
    match operation {
        Operation::Message { payload, .. } if payload.len() > max_message => {
            Err("the payload is longer than `max_message`")
        }
        Operation::Message { header, .. } => Ok(Kind::Message(*header)),
        Operation::Put { peer, key, offset, payload, .. } => {
            let key = Key::decode(key).filter(|key| key.rank == *peer as u64);
            let Some(key) = key else { return Err("this key was not made by the peer on this transport") };
            match offset.checked_add(payload.len()) {
                _ if payload.is_empty() => Err("a put must not be empty"),
                Some(end) if end as u64 <= key.length => Ok(Kind::Put { id: key.id, offset: *offset }),
                _ => Err("the put reaches beyond the end of the exposed memory"),
            }
        }
    }
}

/// Whether another operation may begin.
fn has_room(engine: &mut Engine, rank: Rank, peer: Rank) -> bool {
    engine.touch(rank, peer);
    let most = engine.config.max_in_flight.max(1);
    engine.ends[rank].links.get(&peer).is_some_and(|link| link.flights.len() < most)
}

/// Begins an operation for which there is room; without a token it is complete already.
fn begin(engine: &mut Engine, rank: Rank, peer: Rank, kind: Kind, payload: Payload, token: Option<Token>) {
    let fragments = engine.config.fragments(payload.as_slice().len());
    let End { links, next_flight, .. } = &mut engine.ends[rank];
    let Some(link) = links.get_mut(&peer) else { return };
    let flight = *next_flight;
    *next_flight += 1;
    link.flights.insert(flight, Flight { to_arrive: fragments, to_take: fragments });
    link.undelivered += 1;
    link.open_sends += usize::from(token.is_some());
    let outgoing = Outgoing { kind, payload, sent: 0, token, flight };
    match outgoing.kind {
        Kind::Message(_) => link.messages.push_back(outgoing),
        Kind::Put { .. } => link.puts.push(outgoing),
    }
    engine.plan_egress(rank);
}

impl Transport for Sim {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        address(self.rank, lock(&self.engine).ends.len())
    }

    fn connect(&mut self, peer: Rank, at: &Address) -> Result<(), ConnectError> {
        let mut engine = lock(&self.engine);
        let size = engine.ends.len();
        if peer < size && *at == address(peer, size) {
            engine.ends[self.rank].known[peer] = true;
            return Ok(());
        }
        let reason = format!("it is not the address of that rank in this simulated fabric of {size} ranks");
        Err(ConnectError { peer, transport: self.capabilities.name, reason, nobody: false })
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        let peer = operation.peer();
        let mut engine = lock(&self.engine);
        if !engine.ends[self.rank].knows(peer) {
            return Err(Refused::Unknown(operation));
        }
        if let Some(cause) = engine.ends[self.rank].refusal(peer) {
            return Err(Refused::PeerDown(operation, cause));
        }
        let kind = match kind(&operation, engine.config.max_message) {
            Ok(kind) => kind,
            Err(why) => return Err(Refused::Invalid(operation, why)),
        };
        if !has_room(&mut engine, self.rank, peer) {
            return Err(Refused::Busy(operation));
        }
        let (Operation::Message { payload, token, .. } | Operation::Put { payload, token, .. }) = operation;
        let copied = engine.config.inline > 0 && payload.len() <= engine.config.inline;
        let (payload, token, posted) = if copied {
            (Payload::Copied(payload.as_slice().to_vec()), None, Posted::Complete)
        } else {
            (Payload::Lent(payload), Some(token), Posted::Pending)
        };
        begin(&mut engine, self.rank, peer, kind, payload, token);
        Ok(posted)
    }

    fn inject(&mut self, peer: Rank, header: &[u8], payload: &[u8]) -> bool {
        let mut engine = lock(&self.engine);
        let Some(header) = Header::new(header) else { return false };
        let end = &engine.ends[self.rank];
        // The first message is posted, as with transports whose connections take their time.
        let possible = end.links.contains_key(&peer) && end.refusal(peer).is_none();
        if !possible || payload.len() > engine.config.inline || engine.config.inline == 0 {
            return false;
        }
        let has_room = has_room(&mut engine, self.rank, peer);
        if has_room {
            let payload = Payload::Copied(payload.to_vec());
            begin(&mut engine, self.rank, peer, Kind::Message(header), payload, None);
        }
        has_room
    }

    fn expose(&mut self, peer: Rank, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        let mut engine = lock(&self.engine);
        let end = &mut engine.ends[self.rank];
        if !end.knows(peer) {
            return Err(Cause::Unreachable(format!("no address of rank {peer} was given to `connect`")));
        }
        if let Some(cause) = end.refusal(peer) {
            return Err(cause);
        }
        if memory.is_empty() {
            return Err(Cause::Memory("no bytes were given; expose at least one".to_owned()));
        }
        let id = end.next_exposure;
        let key = Key { id, rank: self.rank as u64, length: memory.len() as u64 };
        let key = key.encode().ok_or_else(|| Cause::Memory("a key of 24 bytes did not fit".to_owned()))?;
        end.next_exposure += 1;
        end.exposures.insert(id, Exposure { peer, memory, token, written: Coverage::default() });
        Ok(key)
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        lock(&self.engine).poll(self.rank, placer, events)
    }

    fn disconnect(&mut self, peer: Rank, cause: Cause) {
        lock(&self.engine).take_down(self.rank, peer, cause);
    }

    fn close(&mut self) {
        let mut engine = lock(&self.engine);
        match engine.ends[self.rank].stage {
            Stage::Open => {
                engine.ends[self.rank].stage = Stage::Closing;
                let peers: Vec<Rank> = engine.ends[self.rank].links.keys().copied().collect();
                for peer in peers {
                    engine.send_fin(self.rank, peer);
                }
            }
            // Nobody can be told any more, but the caller waits for an end.
            Stage::Killed => {
                let due = &mut engine.ends[self.rank].due;
                if !due.iter().any(|event| matches!(event, Event::Closed)) {
                    due.push(Event::Closed);
                }
            }
            Stage::Closing | Stage::Closed | Stage::Aborted => {}
        }
    }

    fn abort(&mut self) {
        lock(&self.engine).abort(self.rank);
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        lock(&self.engine).abort(self.rank);
    }
}
