//! What is known about one peer: where it is, the link to it, and everything that is on its way.
//!
//! Invariant: a peer moves only forward through [`State`], so it has at most one link in its life, and
//! `Gone` holds no memory of anybody. Neighbours: `transport.rs` drives it, `link.rs` has its queue pairs.

use std::collections::VecDeque;

use ringworld_transport::lifecycle::{Progress, Shutdown};
use ringworld_transport::{Cause, Header, KEPT, PROMPT, RecvMemory, SendMemory, Token};

use super::device::Registered;
use super::link::Link;
use crate::exposures::{Exposures, Key};
use crate::fins::PeerFins;
use crate::fragments::Flying;

/// Where a peer stands.
pub(super) enum State {
    /// Nothing has been sent to it or by it.
    Idle,
    /// There are queue pairs; whether they are connected, they say themselves.
    Linked(Box<Link>),
    /// Over, for this reason.
    Gone(Cause),
}

/// Where the payload of a message lies, and who is told when it has been sent.
pub(super) enum Body {
    /// In its sender's memory.
    Lent(SendMemory, Token),
    /// In a copy, made before there was a link: its sender knows that it is done.
    Kept(Vec<u8>),
}

impl Body {
    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Lent(memory, _) => memory.as_slice(),
            Self::Kept(bytes) => bytes,
        }
    }
}

/// A message that has not been sent completely.
pub(super) struct Outgoing {
    pub(super) header: Header,
    pub(super) body: Body,
    /// Its first slot has been sent.
    pub(super) begun: bool,
    /// Bytes of the payload that have been sent.
    pub(super) sent: usize,
}

impl Outgoing {
    pub(super) fn new(header: Header, payload: SendMemory, token: Token) -> Self {
        Self { header, body: Body::Lent(payload, token), begun: false, sent: 0 }
    }

    /// Bytes that it occupies when it is kept.
    fn size(&self) -> usize {
        self.header.as_bytes().len() + self.body.as_slice().len()
    }
}

/// How the bytes of a put are held.
pub(super) enum Source {
    /// Not decided yet.
    Plain(SendMemory),
    /// Registered: the device reads them where they are. With the put's number among those that fly.
    Registered(Registered<SendMemory>, u32),
    /// Copied through slots, because one side could not register its memory.
    Copied(SendMemory),
}

/// A put that has not been posted completely.
pub(super) struct Put {
    pub(super) key: Key,
    pub(super) offset: usize,
    pub(super) source: Source,
    pub(super) token: Token,
    /// Bytes that have been posted.
    pub(super) posted: usize,
}

/// A message that is arriving.
pub(super) struct Inbound {
    pub(super) token: Token,
    pub(super) memory: RecvMemory,
    pub(super) length: usize,
    pub(super) arrived: usize,
}

impl Inbound {
    /// Takes more of the payload; what does not fit into the memory is discarded.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let end = self.arrived + bytes.len();
        if end > self.length {
            return Err(format!("{end} bytes arrived of a message of {}", self.length));
        }
        let memory = self.memory.as_mut_slice();
        let room = memory.len().min(end).saturating_sub(self.arrived);
        if room > 0 {
            memory[self.arrived..self.arrived + room].copy_from_slice(&bytes[..room]);
        }
        self.arrived = end;
        Ok(())
    }

    pub(super) fn is_complete(&self) -> bool {
        self.arrived == self.length
    }
}

/// Memory that is open to the peer.
pub(super) enum Opened {
    /// The device lets the peer write.
    Registered { _memory: Registered<RecvMemory> },
    /// It could not be registered; what the peer sends is copied.
    Copied(RecvMemory),
}

/// One peer.
pub(super) struct Peer {
    // First: its queue pairs go before any memory.
    pub(super) state: State,
    pub(super) known: bool,
    /// Queue pairs to be made when it is first sent to, as its address has it.
    pub(super) pairs: usize,
    pub(super) exposures: Exposures<Opened>,
    pub(super) inbound: Option<Inbound>,
    pub(super) queue: VecDeque<Outgoing>,
    pub(super) puts: VecDeque<Put>,
    /// Bytes of messages in `queue` that are kept here.
    pub(super) kept: usize,
    /// Puts of which fragments are under way.
    pub(super) flying: Flying<(Registered<SendMemory>, Token)>,
    pub(super) shutdown: Shutdown,
    pub(super) fins: PeerFins,
    /// Our FIN-ACK has reached the peer.
    pub(super) fin_ack_delivered: bool,
    /// It is in the list of those that might be able to send.
    pub(super) listed: bool,
}

impl Peer {
    pub(super) fn new() -> Self {
        Self {
            state: State::Idle,
            known: false,
            pairs: 1,
            exposures: Exposures::default(),
            inbound: None,
            queue: VecDeque::new(),
            puts: VecDeque::new(),
            kept: 0,
            flying: Flying::default(),
            shutdown: Shutdown::default(),
            fins: PeerFins::default(),
            fin_ack_delivered: false,
            listed: false,
        }
    }

    pub(super) fn link(&mut self) -> Option<&mut Link> {
        match &mut self.state {
            State::Linked(link) => Some(link),
            _ => None,
        }
    }

    /// Takes a message over before there is a link, if that is within the bounds; whether it did.
    pub(super) fn keep(&mut self, outgoing: &mut Outgoing) -> bool {
        let open = matches!(&self.state, State::Linked(link) if link.is_open());
        let (bytes, size) = (outgoing.body.as_slice(), outgoing.size());
        if open || bytes.len() > PROMPT || self.kept + size > KEPT {
            return false;
        }
        outgoing.body = Body::Kept(bytes.to_vec());
        self.kept += size;
        true
    }

    /// The first message of the queue has been sent: the token of whoever waits for that.
    pub(super) fn leave_queue(&mut self) -> Option<Token> {
        let outgoing = self.queue.pop_front()?;
        match outgoing.body {
            Body::Lent(_, token) => Some(token),
            Body::Kept(_) => {
                self.kept -= outgoing.size();
                None
            }
        }
    }

    /// How far the orderly end has come.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            idle: self.is_idle(),
            exposed: !self.exposures.is_empty(),
            fin_read: self.fins.fin_read(),
            fin_ack_read: self.fins.fin_ack_read(),
            fin_ack_delivered: self.fin_ack_delivered,
        }
    }

    /// Whether nothing that was accepted is left to be sent.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.puts.is_empty() && self.flying.is_empty()
    }
}
