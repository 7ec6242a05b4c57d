//! Steps the transports of one world from one thread and keeps account of every operation.
//!
//! Invariant: every event is checked against the accounting as it comes; the first one that the contract
//! forbids ends the check with a panic that names the promise, the rank and the event. Neighbours:
//! `accounting` (one rank), `buffer` (memory), and the files with the checks, which say what should happen
//! and wait for it.

use std::time::{Duration, Instant};

use super::Fabric;
use super::accounting::{End, Exposure, Policy, SENT, Sending, State, TAKEN};
use super::buffer::Buffer;
use crate::{Cause, Event, Header, Operation, Posted, Rank, Refused, RegionId, RemoteKey, SendMemory, Token};

/// One world under test.
pub(super) struct Harness<'f> {
    fabric: &'f mut dyn Fabric,
    promise: &'static str,
    ends: Vec<End>,
    events: Vec<Event>,
    idle_rounds: u32,
    /// Whether messages are posted by a caller that will poll soon.
    pub(super) soon: bool,
    /// Whether messages are injected where the transport takes them so, and how many it has.
    pub(super) inject: bool,
    pub(super) injected: usize,
}

impl<'f> Harness<'f> {
    pub(super) fn new(fabric: &'f mut dyn Fabric, size: usize, promise: &'static str) -> Self {
        let transports = fabric.world(size);
        assert_eq!(transports.len(), size, "the fabric makes one transport per rank");
        let ends = transports.into_iter().map(End::new).collect();
        Self {
            fabric,
            promise,
            ends,
            events: Vec::new(),
            idle_rounds: 0,
            soon: false,
            inject: false,
            injected: 0,
        }
    }

    pub(super) fn end(&mut self, rank: Rank) -> &mut End {
        &mut self.ends[rank]
    }

    pub(super) fn size(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn patience(&self) -> Duration {
        self.fabric.patience()
    }

    /// Fails the check.
    pub(super) fn broken(&self, what: impl std::fmt::Display) -> ! {
        let states: Vec<String> = self
            .ends
            .iter()
            .enumerate()
            .map(|(rank, end)| format!("\n  rank {rank}: {}", end.summary()))
            .collect();
        panic!("promise {} is broken: {what}{}", self.promise, states.concat())
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
    pub(super) fn run_until_idle(&mut self) {
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
        self.run_until_idle();
        for rank in 0..self.ends.len() {
            if let Err(fault) = self.ends[rank].untouched() {
                self.broken(format!("at rank {rank}: {fault}"));
            }
        }
    }

    /// Posts once and keeps account; a refusal is checked to contain the same operation.
    pub(super) fn try_post(
        &mut self,
        from: Rank,
        bytes: Vec<u8>,
        make: &Make<'_>,
    ) -> Result<Posted, Refused> {
        self.try_post_from(from, Buffer::new(bytes), make)
    }

    fn try_post_from(&mut self, from: Rank, buffer: Buffer, make: &Make<'_>) -> Result<Posted, Refused> {
        let end = &mut self.ends[from];
        let token = Token(end.sendings.len() as u64);
        let operation = make(buffer.lend_to_send(), token);
        let peer = operation.peer();
        let (expected, memory) = identity(&operation);
        let length = memory.1;
        let inline = end.transport().capabilities().inline;
        let transport = end.transport();
        match if self.soon { transport.post_coalesced(operation) } else { transport.post(operation) } {
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
        self.post_from(from, || Buffer::new(bytes.to_vec()), make);
    }

    fn post_from(&mut self, from: Rank, buffer: impl Fn() -> Buffer, make: &Make<'_>) {
        let deadline = Instant::now() + self.fabric.patience();
        loop {
            match self.try_post_from(from, buffer(), make) {
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
        if self.inject && self.try_inject(from, to, header, bytes) {
            return;
        }
        self.post(from, bytes, &message(to, header));
    }

    /// Injects a message, if the transport takes it so.
    pub(super) fn try_inject(&mut self, from: Rank, to: Rank, header: &[u8], bytes: &[u8]) -> bool {
        let end = &mut self.ends[from];
        let most = end.transport().capabilities().inject;
        let taken = end.transport().inject(to, header, bytes);
        if taken {
            let buffer = Buffer::new(bytes.to_vec());
            end.sendings.push(Sending { peer: to, state: State::Done, buffer });
            self.injected += 1;
        }
        if taken && (most == 0 || bytes.len() > most) {
            self.broken(format!("{} bytes were injected, but `inject` is {most}", bytes.len()));
        }
        taken
    }

    /// Posts a put, waiting out `Busy`.
    pub(super) fn put(&mut self, from: Rank, to: Rank, key: RemoteKey, offset: usize, bytes: &[u8]) {
        self.post(from, bytes, &put(to, key, offset));
    }

    /// Posts a put of what is in `part` of memory from [`Harness::memory`], waiting out `Busy`.
    pub(super) fn put_part(&mut self, from: Rank, to: Rank, key: RemoteKey, offset: usize, part: &Buffer) {
        self.post_from(from, || part.part(0..part.len()), &put(to, key, offset));
    }

    /// Memory of rank `at` for operations to use parts of.
    pub(super) fn memory(&mut self, at: Rank, length: usize) -> Buffer {
        let memory = Buffer::new(vec![TAKEN; length]);
        self.ends[at].memories.push(memory.part(0..length));
        memory
    }

    /// Registers memory from [`Harness::memory`].
    pub(super) fn register(&mut self, at: Rank, memory: &Buffer) -> Option<RegionId> {
        let end = &mut self.ends[at];
        let region = match end.transport().register(memory.lend_to_register()) {
            Ok(region) => region?,
            Err(cause) => {
                self.broken(format!("rank {at} could not register {} bytes: {cause}", memory.len()))
            }
        };
        if end.regions.contains(&region) {
            self.broken(format!("rank {at} gave the name {region:?} to two regions"));
        }
        end.regions.push(region);
        Some(region)
    }

    pub(super) fn deregister(&mut self, at: Rank, region: Option<RegionId>) {
        if let Some(region) = region {
            self.ends[at].transport().deregister(region);
        }
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
        self.try_expose_into(at, peer, Buffer::new(vec![TAKEN; length]))
    }

    /// Opens `part` of memory from [`Harness::memory`] to puts of `peer`.
    pub(super) fn expose_part(&mut self, at: Rank, peer: Rank, part: Buffer) -> (usize, RemoteKey) {
        match self.try_expose_into(at, peer, part) {
            Ok(exposed) => exposed,
            Err(cause) => self.broken(format!("rank {at} could not expose memory to rank {peer}: {cause}")),
        }
    }

    fn try_expose_into(&mut self, at: Rank, peer: Rank, buffer: Buffer) -> Result<(usize, RemoteKey), Cause> {
        let end = &mut self.ends[at];
        let index = end.exposures.len();
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
pub(super) type Make<'a> = dyn Fn(SendMemory, Token) -> Operation + 'a;

pub(super) fn message(peer: Rank, header: &[u8]) -> impl Fn(SendMemory, Token) -> Operation + use<> {
    let header = Header::new(header).expect("the check's header fits");
    move |payload, token| Operation::Message { peer, header, payload, token }
}

pub(super) fn put(
    peer: Rank,
    key: RemoteKey,
    offset: usize,
) -> impl Fn(SendMemory, Token) -> Operation + use<> {
    move |payload, token| Operation::Put { peer, key, offset, payload, token }
}

/// What makes two operations the same: every field, and the very memory.
fn identity(operation: &Operation) -> (String, (*const u8, usize)) {
    let (Operation::Message { payload, .. } | Operation::Put { payload, .. }) = operation;
    (format!("{operation:?}"), (payload.as_slice().as_ptr(), payload.len()))
}

fn hollow(peer: Rank) -> Operation {
    message(peer, &[])(SendMemory::empty(), Token(0))
}
