//! The connection to one peer: its queue pairs, and what holds for all of them.
//!
//! Messages, and all that has an order, stay on the first lane. The extra ones carry fragments of puts in one direction
//! and credits for these in the other. Invariant: nothing is sent before the peer can receive on every lane.
//! Neighbours: `lane.rs` is one queue pair, `connect.rs` makes links, `shutdown.rs` ends them.

use std::io;
use std::sync::Arc;

use ringworld_transport::SendMemory;

use super::device::{Pd, Registered, Slab, Srq, Write};
use super::lane::{Id, Lane};
use crate::fragments::{self, Turn};

/// Receive slots that all peers share, one slab for each that has connected.
pub(super) struct Shared {
    pub(super) queue: Arc<Srq>,
    pub(super) slabs: Vec<Slab>,
}

impl Shared {
    /// Adds the slots of one more peer.
    pub(super) fn grow(&mut self, domain: &Arc<Pd>, slots: usize, size: usize) -> io::Result<()> {
        let mut slab = Slab::new(domain, slots, size)?;
        for slot in 0..slots {
            self.queue.post_receive(&mut slab, slot, Id::Shared(self.slabs.len(), slot).encode())?;
        }
        self.slabs.push(slab);
        Ok(())
    }
}

/// See the module.
pub(super) struct Link {
    pub(super) first: Lane,
    /// For fragments of puts only.
    pub(super) extra: Vec<Lane>,
    turn: Turn,
    /// Fragments that the extra lanes have taken, ever.
    pub(super) taken: u64,
    /// Where our packet numbers begin.
    pub(super) sequence: u32,
    /// Bytes that fit into a slot here and there.
    pub(super) room: usize,
    /// Bytes that fit into a packet, headers of the network not counted.
    pub(super) packet: usize,
    /// The longest fragment of a put.
    pub(super) longest: usize,
    /// An offer has been sent.
    pub(super) offered: bool,
}

impl Link {
    pub(super) fn new(first: Lane, extra: Vec<Lane>, sequence: u32) -> Self {
        Self {
            first,
            extra,
            turn: Turn::default(),
            taken: 0,
            sequence,
            room: 0,
            packet: 0,
            longest: 0,
            offered: false,
        }
    }

    pub(super) fn count(&self) -> usize {
        1 + self.extra.len()
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.first).chain(&self.extra)
    }

    pub(super) fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        std::iter::once(&mut self.first).chain(&mut self.extra)
    }

    /// Lane `index`, of which 0 is the first.
    pub(super) fn lane(&mut self, index: usize) -> Option<&mut Lane> {
        match index.checked_sub(1) {
            None => Some(&mut self.first),
            Some(extra) => self.extra.get_mut(extra),
        }
    }

    /// Numbers of the queue pairs, in order.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.lanes().map(|lane| lane.pair.number()).collect()
    }

    /// The queue pairs are connected, though the peer may not know yet.
    pub(super) fn is_connected(&self) -> bool {
        self.first.credits.is_some()
    }

    /// Whether anything may be sent at all.
    pub(super) fn is_open(&self) -> bool {
        self.first.is_open()
    }

    /// The peer can receive.
    pub(super) fn open(&mut self) {
        self.lanes_mut().for_each(|lane| lane.ready = true);
    }

    /// Whether some lane has gathered credits that should travel.
    pub(super) fn owes(&self) -> bool {
        self.first.owes() || self.extra.iter().any(Lane::owes)
    }

    /// The length of each fragment of a put of `length` bytes.
    pub(super) fn fragment(&self, length: usize) -> usize {
        fragments::length(length, self.count(), self.longest)
    }

    /// Has a lane that has room begin to write a fragment of put number `put`; `false` when none has.
    pub(super) fn write_fragment(
        &mut self,
        source: &Registered<SendMemory>,
        span: (usize, usize),
        write: Write,
        put: u32,
    ) -> io::Result<bool> {
        let (mut turn, count) = (self.turn, self.count());
        let taken = turn.offer(count, |index| match self.lane(index) {
            Some(lane) => lane.write_fragment(source, span, write, put),
            None => Ok(false),
        })?;
        self.turn = turn;
        self.taken += u64::from(taken.is_some_and(|index| index > 0));
        Ok(taken.is_some())
    }
}
