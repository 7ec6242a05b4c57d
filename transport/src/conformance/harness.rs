//! Steps the transports of one world from one thread and keeps the books on every operation.
//!
//! Invariant: every event is checked against the books as it comes; the first one that the contract
//! forbids ends the check with a panic that names the promise, the rank and the event. Neighbours:
//! `buffer` (memory), and the files with the checks, which say what should happen and wait for it.

use std::time::{Duration, Instant};

use super::Fabric;
use super::buffer::Buffer;
use crate::{
    Cause, Event, Header, Operation, Placement, Placer, Posted, Rank, Refused, RemoteKey, Token, Transport,
};

/// Overwrites memory that a sender has back.
const SENT: u8 = 0xe5;
/// Overwrites memory that a receiver has back.
const TAKEN: u8 = 0xd7;

/// Deterministic bytes, different for every `seed`.
pub(super) fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&mix(&mut state).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// SplitMix64: one step of a deterministic sequence (Steele, Lea and Flood, 2014).
pub(super) fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How an operation stands in the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Accepted and not ended.
    Pending,
    /// Completed in good order.
    Done,
    /// Ended by `PeerDown` or `abort`.
    Lost,
}

/// A message or put that was accepted.
pub(super) struct Sending {
    pub(super) peer: Rank,
    pub(super) state: State,
    buffer: Buffer,
}

/// A message whose header has arrived.
pub(super) struct Arrival {
    pub(super) peer: Rank,
    pub(super) header: Vec<u8>,
    /// What the transport said the payload's length is.
    pub(super) length: usize,
    pub(super) state: State,
    /// What was in the placed memory when `Received` was reported.
    pub(super) bytes: Vec<u8>,
    buffer: Buffer,
}

/// Memory opened to a peer.
pub(super) struct Exposure {
    pub(super) peer: Rank,
    pub(super) state: State,
    /// What was in the memory when `Filled` was reported.
    pub(super) bytes: Vec<u8>,
    buffer: Buffer,
}

/// Decides how much room a message gets, or refuses its header.
pub(super) type Policy = Box<dyn FnMut(Rank, &[u8], usize) -> Result<usize, String>>;

/// The receiving side of one rank: answers the transport's question and remembers every answer.
struct Desk {
    policy: Policy,
    arrivals: Vec<Arrival>,
    silent: Vec<Rank>,
    refused: Vec<Rank>,
    fault: Option<String>,
}

impl Placer for Desk {
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        if self.silent.contains(&peer) {
            self.fault = Some(format!("placement asked for rank {peer} after its end was reported"));
        }
        if self.refused.contains(&peer) {
            self.fault = Some(format!("placement asked again for rank {peer} after its header was refused"));
        }
        let room = (self.policy)(peer, header, length).inspect_err(|_| self.refused.push(peer))?;
        let buffer = Buffer::new(vec![TAKEN; room]);
        let memory = buffer.lend_to_receive();
        let token = Token(self.arrivals.len() as u64);
        self.arrivals.push(Arrival {
            peer,
            header: header.to_vec(),
            length,
            state: State::Pending,
            bytes: Vec::new(),
            buffer,
        });
        Ok(Placement { token, memory })
    }
}

/// One rank: its transport and its books.
pub(super) struct End {
    transport: Option<Box<dyn Transport>>,
    desk: Desk,
    pub(super) sendings: Vec<Sending>,
    pub(super) exposures: Vec<Exposure>,
    pub(super) down: Vec<(Rank, Cause)>,
    pub(super) closed_peers: Vec<Rank>,
    pub(super) closed: bool,
    /// Whether [`Harness::step`] polls it.
    pub(super) polled: bool,
    aborted: bool,
}

impl End {
    pub(super) fn transport(&mut self) -> &mut dyn Transport {
        self.transport.as_deref_mut().expect("the check uses a transport that it has dropped")
    }

    pub(super) fn arrivals(&self) -> &[Arrival] {
        &self.desk.arrivals
    }

    /// The messages of `peer` that have been received completely, in order of arrival.
    pub(super) fn received_from(&self, peer: Rank) -> impl Iterator<Item = &Arrival> {
        self.desk.arrivals.iter().filter(move |a| a.peer == peer && a.state == State::Done)
    }

    pub(super) fn is_down(&self, peer: Rank) -> bool {
        self.down.iter().any(|(down, _)| *down == peer)
    }

    pub(super) fn nothing_pending(&self) -> bool {
        self.sendings.iter().all(|s| s.state != State::Pending)
    }

    pub(super) fn all_sent(&self) -> bool {
        self.sendings.iter().all(|s| s.state == State::Done)
    }

    pub(super) fn all_filled(&self) -> bool {
        self.exposures.iter().all(|e| e.state == State::Done)
    }

    fn sent(&mut self, Token(token): Token) -> Result<(), String> {
        let sending =
            self.sendings.get_mut(token as usize).ok_or(format!("Sent for token {token}, never posted"))?;
        if sending.state != State::Pending {
            return Err(format!("Sent for token {token}, which has ended already ({:?})", sending.state));
        }
        sending.state = State::Done;
        sending.buffer.scribble(SENT);
        Ok(())
    }

    fn received(&mut self, peer: Rank, Token(token): Token) -> Result<(), String> {
        let index = token as usize;
        let earlier_open =
            self.desk.arrivals.iter().take(index).any(|a| a.peer == peer && a.state == State::Pending);
        let arrival =
            self.desk.arrivals.get_mut(index).ok_or(format!("Received for token {token}, never placed"))?;
        if arrival.peer != peer {
            return Err(format!("Received for token {token} names rank {peer}, not rank {}", arrival.peer));
        }
        if arrival.state != State::Pending {
            return Err(format!("Received for token {token}, which has ended already ({:?})", arrival.state));
        }
        if earlier_open {
            return Err(format!("Received for token {token} before an earlier message of rank {peer}"));
        }
        arrival.state = State::Done;
        arrival.bytes = arrival.buffer.copy_out();
        arrival.buffer.scribble(TAKEN);
        Ok(())
    }

    fn filled(&mut self, Token(token): Token) -> Result<(), String> {
        let exposure = self
            .exposures
            .get_mut(token as usize)
            .ok_or(format!("Filled for token {token}, never exposed"))?;
        if exposure.state != State::Pending {
            return Err(format!("Filled for token {token}, which has ended already ({:?})", exposure.state));
        }
        exposure.state = State::Done;
        exposure.bytes = exposure.buffer.copy_out();
        exposure.buffer.scribble(TAKEN);
        Ok(())
    }

    fn peer_down(&mut self, peer: Rank, cause: Cause) -> Result<(), String> {
        if self.is_down(peer) {
            return Err(format!("a second PeerDown for rank {peer} ({cause})"));
        }
        self.down.push((peer, cause));
        self.desk.silent.push(peer);
        self.lose(|owner| owner == peer);
        Ok(())
    }

    fn peer_closed(&mut self, peer: Rank) -> Result<(), String> {
        if self.desk.silent.contains(&peer) {
            return Err(format!("PeerClosed for rank {peer}, whose end was reported already"));
        }
        if let Some(open) = self.desk.arrivals.iter().find(|a| a.peer == peer && a.state == State::Pending) {
            return Err(format!(
                "PeerClosed for rank {peer} before its message {:02x?} was received",
                open.header
            ));
        }
        self.closed_peers.push(peer);
        self.desk.silent.push(peer);
        Ok(())
    }

    /// Marks everything of the chosen peers as lost; its memory is ours again, so it is overwritten.
    fn lose(&mut self, chosen: impl Fn(Rank) -> bool) {
        for s in self.sendings.iter_mut().filter(|s| s.state == State::Pending && chosen(s.peer)) {
            s.state = State::Lost;
            s.buffer.scribble(SENT);
        }
        for a in self.desk.arrivals.iter_mut().filter(|a| a.state == State::Pending && chosen(a.peer)) {
            a.state = State::Lost;
            a.buffer.scribble(TAKEN);
        }
        for e in self.exposures.iter_mut().filter(|e| e.state == State::Pending && chosen(e.peer)) {
            e.state = State::Lost;
            e.buffer.scribble(TAKEN);
        }
    }

    fn note(&mut self, event: Event) -> Result<(), String> {
        if self.aborted {
            return Err(format!("{event:?} after abort"));
        }
        match event {
            Event::Sent { token } => self.sent(token),
            Event::Received { peer, token } => self.received(peer, token),
            Event::Filled { token } => self.filled(token),
            Event::PeerDown { peer, cause } => self.peer_down(peer, cause),
            Event::PeerClosed { peer } => self.peer_closed(peer),
            Event::Closed if self.closed => Err("a second Closed".to_owned()),
            Event::Closed => {
                self.closed = true;
                Ok(())
            }
        }
    }

    /// Memory that was given back must still hold what it was overwritten with.
    fn untouched(&self) -> Result<(), String> {
        let arrivals = self.desk.arrivals.iter().filter(|a| a.state != State::Pending).map(|a| &a.buffer);
        let exposures = self.exposures.iter().filter(|e| e.state != State::Pending).map(|e| &e.buffer);
        match arrivals.chain(exposures).any(|b| b.copy_out().iter().any(|byte| *byte != TAKEN)) {
            true => Err("memory was written after it had been given back".to_owned()),
            false => Ok(()),
        }
    }

    fn summary(&self) -> String {
        let pending =
            |states: &mut dyn Iterator<Item = State>| states.filter(|s| *s == State::Pending).count();
        format!(
            "sends pending {}/{}, placements pending {}/{}, exposures pending {}/{}, down {:?}, peers closed {:?}, closed {}",
            pending(&mut self.sendings.iter().map(|s| s.state)),
            self.sendings.len(),
            pending(&mut self.desk.arrivals.iter().map(|a| a.state)),
            self.desk.arrivals.len(),
            pending(&mut self.exposures.iter().map(|e| e.state)),
            self.exposures.len(),
            self.down,
            self.closed_peers,
            self.closed
        )
    }
}

/// One world under test.
pub(super) struct Harness<'f> {
    fabric: &'f mut dyn Fabric,
    promise: &'static str,
    ends: Vec<End>,
    events: Vec<Event>,
    idle_rounds: u32,
}

impl<'f> Harness<'f> {
    pub(super) fn new(fabric: &'f mut dyn Fabric, size: usize, promise: &'static str) -> Self {
        let transports = fabric.world(size);
        assert_eq!(transports.len(), size, "the fabric makes one transport per rank");
        let ends = transports
            .into_iter()
            .map(|transport| End {
                transport: Some(transport),
                desk: Desk {
                    policy: Box::new(|_, _, length| Ok(length)),
                    arrivals: Vec::new(),
                    silent: Vec::new(),
                    refused: Vec::new(),
                    fault: None,
                },
                sendings: Vec::new(),
                exposures: Vec::new(),
                down: Vec::new(),
                closed_peers: Vec::new(),
                closed: false,
                polled: true,
                aborted: false,
            })
            .collect();
        Self { fabric, promise, ends, events: Vec::new(), idle_rounds: 0 }
    }

    pub(super) fn end(&mut self, rank: Rank) -> &mut End {
        &mut self.ends[rank]
    }

    pub(super) fn size(&self) -> usize {
        self.ends.len()
    }

    /// Fails the check.
    pub(super) fn broken(&self, what: impl std::fmt::Display) -> ! {
        let books: Vec<String> = self
            .ends
            .iter()
            .enumerate()
            .map(|(rank, end)| format!("\n  rank {rank}: {}", end.summary()))
            .collect();
        panic!("promise {} is broken: {what}{}", self.promise, books.concat())
    }

    /// Fails the check unless `kept`.
    #[track_caller]
    pub(super) fn check(&self, kept: bool, what: impl std::fmt::Display) {
        if !kept {
            self.broken(what);
        }
    }

    pub(super) fn set_policy(&mut self, rank: Rank, policy: Policy) {
        self.ends[rank].desk.policy = policy;
    }

    /// Polls one rank and checks what it reports.
    pub(super) fn poll(&mut self, rank: Rank) -> bool {
        let end = &mut self.ends[rank];
        let Some(transport) = end.transport.as_deref_mut() else { return false };
        let mut events = std::mem::take(&mut self.events);
        let before = events.len();
        let moved = transport.poll(&mut end.desk, &mut events);
        let reported = events.len() > before;
        let mut fault = end.desk.fault.take();
        for event in events.drain(..) {
            fault = fault.or(end.note(event).err());
        }
        self.events = events;
        if let Some(fault) = fault {
            self.broken(format!("at rank {rank}: {fault}"));
        }
        if reported && !moved {
            self.broken(format!("at rank {rank}: poll reported events but said that nothing moved"));
        }
        moved
    }

    /// Polls every rank that takes part, then lets the fabric's clock move.
    pub(super) fn step(&mut self) -> bool {
        let mut moved = false;
        for rank in 0..self.ends.len() {
            if self.ends[rank].polled {
                moved |= self.poll(rank);
            }
        }
        self.fabric.advance();
        self.idle_rounds = if moved { 0 } else { self.idle_rounds + 1 };
        if self.idle_rounds > 50 {
            // A real wire needs time; give the processor to whoever moves it.
            std::thread::sleep(Duration::from_micros(50));
        }
        moved
    }

    /// Steps until `reached`, or fails saying that `what` never happened.
    pub(super) fn until(&mut self, what: &str, mut reached: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + self.fabric.patience();
        while !reached(self) {
            if Instant::now() > deadline {
                self.broken(format!("not in time: {what}"));
            }
            self.step();
        }
    }

    /// Steps until nothing has moved for a while.
    pub(super) fn settle(&mut self) {
        let deadline = Instant::now() + self.fabric.patience();
        let mut quiet_since = Instant::now();
        let mut quiet_rounds = 0;
        while quiet_rounds < 100 || quiet_since.elapsed() < Duration::from_millis(10) {
            quiet_rounds += 1;
            if self.step() {
                (quiet_since, quiet_rounds) = (Instant::now(), 0);
            }
            if Instant::now() > deadline {
                self.broken("poll says for ever that something moves, though nothing is left to do");
            }
        }
    }

    /// Ends a check: nothing more may happen, and memory given back must have been left alone.
    pub(super) fn finish(mut self) {
        self.settle();
        for rank in 0..self.ends.len() {
            if let Err(fault) = self.ends[rank].untouched() {
                self.broken(format!("at rank {rank}: {fault}"));
            }
        }
    }

    /// Posts once and keeps the books; a refusal is checked to contain the same operation.
    pub(super) fn try_post(
        &mut self,
        from: Rank,
        bytes: Vec<u8>,
        make: &Make<'_>,
    ) -> Result<Posted, Refused> {
        let end = &mut self.ends[from];
        let token = Token(end.sendings.len() as u64);
        let buffer = Buffer::new(bytes);
        let operation = make(buffer.lend_to_send(), token);
        let peer = operation.peer();
        let (expected, memory) = identity(&operation);
        let length = memory.1;
        let inline = end.transport().capabilities().inline;
        match end.transport().post(operation) {
            Ok(posted) => {
                let state = match posted {
                    Posted::Complete => {
                        buffer.scribble(SENT);
                        State::Done
                    }
                    Posted::Pending => State::Pending,
                };
                end.sendings.push(Sending { peer, state, buffer });
                if inline > 0 && length <= inline && posted != Posted::Complete {
                    self.broken(format!("{length} bytes are within `inline` ({inline}) but not Complete"));
                }
                Ok(posted)
            }
            Err(refused) => {
                let back = match &refused {
                    Refused::Busy(op)
                    | Refused::PeerDown(op, _)
                    | Refused::Unknown(op)
                    | Refused::Invalid(op, _) => op,
                };
                let found = identity(back);
                if found != (expected.clone(), memory) {
                    self.broken(format!("posted {expected}, but {} came back", found.0));
                }
                // The operation inside lends memory that ends with this function, so it must not get out.
                Err(match refused {
                    Refused::Busy(_) => Refused::Busy(hollow(peer)),
                    Refused::PeerDown(_, cause) => Refused::PeerDown(hollow(peer), cause),
                    Refused::Unknown(_) => Refused::Unknown(hollow(peer)),
                    Refused::Invalid(_, why) => Refused::Invalid(hollow(peer), why),
                })
            }
        }
    }

    /// Posts, polling and trying again while the transport is busy.
    fn post(&mut self, from: Rank, bytes: &[u8], make: &Make<'_>) {
        let deadline = Instant::now() + self.fabric.patience();
        loop {
            match self.try_post(from, bytes.to_vec(), make) {
                Ok(_) => return,
                Err(Refused::Busy(_)) => {
                    self.step();
                }
                Err(refused) => self.broken(format!("rank {from} could not post: {refused:?}")),
            }
            if Instant::now() > deadline {
                self.broken(format!("rank {from} is busy for ever"));
            }
        }
    }

    /// Posts a message, waiting out `Busy`.
    pub(super) fn send(&mut self, from: Rank, to: Rank, header: &[u8], bytes: &[u8]) {
        self.post(from, bytes, &message(to, header));
    }

    /// Posts a put, waiting out `Busy`.
    pub(super) fn put(&mut self, from: Rank, to: Rank, key: RemoteKey, offset: usize, bytes: &[u8]) {
        self.post(from, bytes, &put(to, key, offset));
    }

    /// Opens `length` bytes at `at` to puts of `peer`; returns the index of the exposure and its key.
    pub(super) fn expose(&mut self, at: Rank, peer: Rank, length: usize) -> (usize, RemoteKey) {
        match self.try_expose(at, peer, length) {
            Ok(exposed) => exposed,
            Err(cause) => self.broken(format!("rank {at} could not expose memory to rank {peer}: {cause}")),
        }
    }

    pub(super) fn try_expose(
        &mut self,
        at: Rank,
        peer: Rank,
        length: usize,
    ) -> Result<(usize, RemoteKey), Cause> {
        let end = &mut self.ends[at];
        let index = end.exposures.len();
        let buffer = Buffer::new(vec![TAKEN; length]);
        let key = end.transport().expose(peer, buffer.lend_to_receive(), Token(index as u64))?;
        end.exposures.push(Exposure { peer, state: State::Pending, bytes: Vec::new(), buffer });
        Ok((index, key))
    }

    /// Checks that `to` has received exactly these messages of `from`, in this order.
    pub(super) fn check_received(&self, to: Rank, from: Rank, expected: &[(Vec<u8>, Vec<u8>)]) {
        let mut arrivals = self.ends[to].received_from(from);
        for (index, (header, bytes)) in expected.iter().enumerate() {
            let Some(arrival) = arrivals.next() else {
                self.broken(format!("rank {to} never received message {index} of rank {from}"));
            };
            if arrival.header != *header {
                self.broken(format!(
                    "message {index} of rank {from} at rank {to}: header {:02x?}, not {header:02x?}",
                    arrival.header
                ));
            }
            if arrival.length != bytes.len() {
                self.broken(format!(
                    "message {index}: length {} announced, not {}",
                    arrival.length,
                    bytes.len()
                ));
            }
            if let Some(at) = arrival.bytes.iter().zip(bytes).position(|(a, b)| a != b) {
                self.broken(format!("message {index} of {} bytes differs at byte {at}", bytes.len()));
            }
        }
        if arrivals.next().is_some() {
            self.broken(format!("rank {to} received more than {} messages of rank {from}", expected.len()));
        }
    }

    /// Drops a transport without closing it, as the death of its process does.
    pub(super) fn vanish(&mut self, rank: Rank) {
        let end = &mut self.ends[rank];
        end.transport = None;
        end.aborted = true;
        end.lose(|_| true);
    }

    /// Aborts a transport; from here on it must stay silent and leave all memory alone.
    pub(super) fn abort(&mut self, rank: Rank) {
        let end = &mut self.ends[rank];
        end.transport().abort();
        end.aborted = true;
        end.lose(|_| true);
    }
}

impl Drop for Harness<'_> {
    fn drop(&mut self) {
        // The invariant of `buffer`: transports go before memory.
        for end in &mut self.ends {
            end.transport = None;
        }
    }
}

/// Makes an operation out of its payload and token.
pub(super) type Make<'a> = dyn Fn(crate::SendMemory, Token) -> Operation + 'a;

pub(super) fn message(peer: Rank, header: &[u8]) -> impl Fn(crate::SendMemory, Token) -> Operation + use<> {
    let header = Header::new(header).expect("the check's header fits");
    move |payload, token| Operation::Message { peer, header, payload, token }
}

pub(super) fn put(
    peer: Rank,
    key: RemoteKey,
    offset: usize,
) -> impl Fn(crate::SendMemory, Token) -> Operation + use<> {
    move |payload, token| Operation::Put { peer, key, offset, payload, token }
}

/// What makes two operations the same: every field, and the very memory.
fn identity(operation: &Operation) -> (String, (*const u8, usize)) {
    let (Operation::Message { payload, .. } | Operation::Put { payload, .. }) = operation;
    (format!("{operation:?}"), (payload.as_slice().as_ptr(), payload.len()))
}

fn hollow(peer: Rank) -> Operation {
    message(peer, &[])(crate::SendMemory::empty(), Token(0))
}
