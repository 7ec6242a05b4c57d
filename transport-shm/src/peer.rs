//! What is known about one peer: its address, its link, and everything that is on its way to it.
//!
//! Invariant: a peer moves only forward through [`State`], so it has at most one link in its life, and `Gone` holds no
//! memory of anybody. Neighbours: `transport.rs` drives it, `link.rs` moves the bytes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ringworld_transport::lifecycle::{Progress, Shutdown};
use ringworld_transport::puts::{Exposures, PutQueue};
use ringworld_transport::{Cause, Event, Header, KEPT, PROMPT, Posted, SendMemory, Token};

use crate::address::Place;
use crate::channels::TheirBoard;
use crate::link::{Ends, Link, Outgoing, Payload};
use crate::outbox::Outbox;

/// How long to wait before what came to nothing is tried again.
const RETRY: Duration = Duration::from_millis(20);
/// How often an attempt is begun again, at least, when the peer has hung up ...
const ROUNDS: u32 = 3;
/// ... and for how long, at least: longer than a peer is silent that lacks descriptors, which then says so itself.
const PERSEVERANCE: Duration = Duration::from_secs(6);

/// A connection that is being made from here.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// A handshake is going on; else one is to be begun.
    pub(crate) under_way: bool,
    since: Instant,
    rounds: u32,
    /// When to begin the next one.
    next: Instant,
}

impl Attempt {
    pub(crate) fn new(now: Instant) -> Self {
        Self { under_way: false, since: now, rounds: 0, next: now }
    }

    /// Whether a handshake is to be begun now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        !self.under_way && self.next <= now
    }

    /// It could not be begun or ended, which is not the peer's doing: tried again soon, for as long as it takes.
    pub(crate) fn put_off(&mut self, now: Instant) {
        (self.under_way, self.next) = (false, now + RETRY);
    }

    /// The peer has hung up: tried again, but not for ever. Whether it is.
    pub(crate) fn hung_up(&mut self, now: Instant) -> bool {
        self.put_off(now);
        self.rounds += 1;
        self.rounds < ROUNDS || now - self.since < PERSEVERANCE
    }
}

/// Where a peer stands.
#[derive(Debug)]
pub(crate) enum State {
    /// Nothing has been sent to it or by it.
    Idle,
    /// A connection is being made from here.
    Dialing(Attempt),
    /// Established.
    Open(Box<Link>),
    /// Over, for this reason.
    Gone(Cause),
}

/// One peer.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) place: Option<Place>,
    pub(crate) state: State,
    /// Messages that have not left whole, in order.
    pub(crate) queue: VecDeque<Outgoing>,
    /// Bytes of those that have been taken over.
    kept: usize,
    pub(crate) puts: PutQueue,
    pub(crate) exposures: Exposures,
    pub(crate) shutdown: Shutdown,
    /// What it shows, from the first connection on, and after its end as well.
    pub(crate) board: Option<TheirBoard>,
    pub(crate) ends: Ends,
    /// There was no room for a last word.
    pub(crate) unsaid: bool,
    /// Counted among those to which something is to be sent.
    pub(crate) owed: bool,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Self {
            place: None,
            state: State::Idle,
            queue: VecDeque::new(),
            kept: 0,
            puts: PutQueue::default(),
            exposures: Exposures::default(),
            shutdown: Shutdown::default(),
            board: None,
            ends: Ends::default(),
            unsaid: false,
            owed: false,
        }
    }

    pub(crate) fn link(&mut self) -> Option<&mut Link> {
        match &mut self.state {
            State::Open(link) => Some(link),
            _ => None,
        }
    }

    /// Whether nothing that was accepted is left to be sent.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.puts.is_empty()
    }

    /// Whether messages that have been taken over have not left.
    pub(crate) fn keeps_any(&self) -> bool {
        self.kept > 0
    }

    fn holds_no_slots(&self) -> bool {
        !matches!(&self.state, State::Open(link) if link.holds_slots())
    }

    /// How far the orderly end has come.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            idle: self.is_idle(),
            exposed: !self.exposures.is_empty(),
            fin_read: self.ends.fin,
            fin_ack_read: self.ends.fin_ack,
            // It lies in memory that the peer has mapped. What was sent before it may lie in slots that others would
            // get if this connection were over.
            fin_ack_delivered: self.holds_no_slots(),
        }
    }

    /// Appends a message while there is no link: a copy of it, within bounds, or else the promise of its memory.
    pub(crate) fn keep(&mut self, header: Header, memory: SendMemory, token: Token) -> Posted {
        let length = header.as_bytes().len() + memory.len();
        let (payload, posted) = if memory.len() > PROMPT || self.kept + length > KEPT {
            (Payload::Lent(memory, token), Posted::Pending)
        } else {
            self.kept += length;
            (Payload::Kept(memory.as_slice().to_vec()), Posted::Complete)
        };
        self.queue.push_back(Outgoing::new(header, payload));
        posted
    }

    /// Sends a message over the link, or as much of it as there is room for.
    #[inline]
    pub(crate) fn send(
        &mut self,
        header: Header,
        memory: SendMemory,
        token: Token,
        outbox: &mut Outbox,
    ) -> Posted {
        let State::Open(link) = &mut self.state else { return self.keep(header, memory, token) };
        if self.queue.is_empty() {
            if link.send_now(header.as_bytes(), memory.as_slice(), outbox) {
                return Posted::Complete;
            }
            let mut outgoing = Outgoing::new(header, Payload::Lent(memory, token));
            if link.send(&mut outgoing, outbox) {
                return Posted::Complete;
            }
            self.queue.push_back(outgoing);
            return Posted::Pending;
        }
        self.queue.push_back(Outgoing::new(header, Payload::Lent(memory, token)));
        Posted::Pending
    }

    /// Sends what there is room for; whether anything has left whole. `puts_first` decides who gets the first slots.
    pub(crate) fn flush(&mut self, outbox: &mut Outbox, puts_first: bool, events: &mut Vec<Event>) -> bool {
        let State::Open(link) = &mut self.state else { return false };
        link.reclaim(outbox);
        let mut moved = puts_first && link.put(&mut self.puts, outbox, events);
        while let Some(front) = self.queue.front_mut()
            && link.send(front, outbox)
        {
            moved = true;
            if let Some(Outgoing { payload: Payload::Lent(memory, token), .. }) = self.queue.pop_front() {
                drop(memory);
                events.push(Event::Sent { token });
            }
        }
        moved |= !puts_first && link.put(&mut self.puts, outbox, events);
        if self.queue.is_empty() {
            self.kept = 0;
        }
        moved
    }

    /// Drops everything, and is over.
    pub(crate) fn end(&mut self, cause: Cause) {
        self.state = State::Gone(cause);
        self.queue.clear();
        self.kept = 0;
        self.puts = PutQueue::default();
        self.exposures = Exposures::default();
        self.unsaid = false;
    }
}
