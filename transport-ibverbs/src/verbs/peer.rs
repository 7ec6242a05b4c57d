//! What is known about one peer: where it is, the link to it, and everything that is on its way.
//!
//! Invariant: a peer moves only forward through [`State`], so it has at most one queue pair in its life, and
//! `Gone` holds no memory of anybody. Neighbours: `transport.rs` drives it, `link.rs` is its queue pair.

use std::collections::VecDeque;

use ringworld_transport::{Cause, Header, RecvMemory, SendMemory, Token};

use super::device::Registered;
use super::link::Link;
use crate::exposures::{Exposures, Key};

/// Where a peer stands.
pub(super) enum State {
    /// Nothing has been sent to it or by it.
    Idle,
    /// There is a queue pair; whether it is connected, it says itself.
    Linked(Box<Link>),
    /// Over, for this reason.
    Gone(Cause),
}

/// A message that has not been sent completely.
pub(super) struct Outgoing {
    pub(super) header: Header,
    pub(super) payload: SendMemory,
    pub(super) token: Token,
    /// Its first slot has been sent.
    pub(super) begun: bool,
    /// Bytes of the payload that have been sent.
    pub(super) sent: usize,
}

/// How the bytes of a put are held.
pub(super) enum Source {
    /// Not decided yet.
    Plain(SendMemory),
    /// Registered: the device reads them where they are.
    Registered(Registered<SendMemory>),
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

/// The orderly end, both directions.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    pub(super) bye_sent: bool,
    pub(super) bye_heard: bool,
    /// The peer's bye has been reported.
    pub(super) reported: bool,
    pub(super) ack_sent: bool,
    /// Our acknowledgement has reached the peer.
    pub(super) ack_done: bool,
    pub(super) ack_heard: bool,
}

/// One peer.
pub(super) struct Peer {
    // First: its queue pair goes before any memory.
    pub(super) state: State,
    pub(super) known: bool,
    pub(super) exposures: Exposures<Opened>,
    pub(super) inbound: Option<Inbound>,
    pub(super) queue: VecDeque<Outgoing>,
    pub(super) puts: VecDeque<Put>,
    /// Puts whose last piece is under way, oldest first.
    pub(super) flying: VecDeque<(Registered<SendMemory>, Token)>,
    pub(super) farewell: Farewell,
    /// It is in the list of those that might be able to send.
    pub(super) listed: bool,
    pub(super) down_reported: bool,
}

impl Peer {
    pub(super) fn new() -> Self {
        Self {
            state: State::Idle,
            known: false,
            exposures: Exposures::default(),
            inbound: None,
            queue: VecDeque::new(),
            puts: VecDeque::new(),
            flying: VecDeque::new(),
            farewell: Farewell::default(),
            listed: false,
            down_reported: false,
        }
    }

    pub(super) fn link(&mut self) -> Option<&mut Link> {
        match &mut self.state {
            State::Linked(link) => Some(link),
            _ => None,
        }
    }

    /// Whether nothing that was accepted is left to be sent.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.puts.is_empty() && self.flying.is_empty()
    }
}
