//! How queue pairs come to be.
//!
//! ```text
//! first to send   makes a pair, INIT, receives posted    Offer ->
//!                 RTR, RTS                            <- Offer, Ready   makes a pair, INIT, RTR, RTS
//!                 sends                                  Ready ->       sends
//! ```
//!
//! If both are first, both have made their pair and offered it when the other's offer comes, and go on from there:
//! each rank makes one link for each peer, whoever begins. A link has several pairs where both ranks are set to; they
//! are offered together, and go through all of this together. Nothing is sent before the other end has said that
//! it can receive, for what reaches a pair in INIT is dropped and would be sent again only after a timeout.
//! Neighbours: `oob.rs` carries the messages, `link.rs` is what is made.

use std::io;

use ringworld_transport::warn;
use ringworld_transport::{Cause, Rank};
use tracing::debug;

use super::device::{Cq, Qp, Remote, Shape, Slab, Srq, Timing};
use super::lane::Lane;
use super::link::{Link, Shared};
use super::memlock::{advice, is_out_of_memory, limit};
use super::oob::{OobEvents, OobMessage};
use super::peer::State;
use super::transport::Ibverbs;
use crate::blob::{BITS_24, Offer};
use crate::config::{BULK_SLOT, BULK_SLOTS, SHARED_SLOTS, SLOT, SLOTS};
use crate::credits::Credits;
use crate::fragments;
use crate::send_queue::{DEPTH, SEND_SLOTS};

/// A cause as the other side is told it, in fewer bytes than an out-of-band message has.
fn brief(cause: &Cause) -> String {
    match cause {
        Cause::Memory(_) => {
            format!("it may pin {} only; raise RLIMIT_MEMLOCK there (`ulimit -l unlimited`)", limit())
        }
        Cause::Rejected(why) | Cause::Unreachable(why) | Cause::Protocol(why) => why.clone(),
        other => other.to_string(),
    }
}

impl Ibverbs {
    /// Says once that memory is copied instead of registered.
    pub(super) fn warn_of_memory(&mut self, error: &io::Error, length: usize) {
        if !std::mem::replace(&mut self.warned, true) {
            warn!(
                "slower from here: memory is copied, because it could not be registered: {}",
                advice(error, length)
            );
        }
    }

    /// Starts to connect to `rank`, unless that is under way or done.
    pub(super) fn dial(&mut self, rank: Rank) {
        if !matches!(self.peers[rank].state, State::Idle) {
            return;
        }
        let pairs = self.peers[rank].pairs;
        if let Err(cause) = self.make_pairs(rank, pairs).and_then(|()| self.offer(rank)) {
            self.fail(rank, cause);
        }
    }

    /// Makes the queue pairs for `rank`, with their receives posted.
    fn make_pairs(&mut self, rank: Rank, pairs: usize) -> Result<(), Cause> {
        let memory = |error: io::Error| {
            if is_out_of_memory(&error) {
                Cause::Memory(advice(&error, (SLOTS + SEND_SLOTS) * SLOT))
            } else {
                Cause::Unreachable(format!("no queue pair can be made, of {pairs} that are wanted: {error}"))
            }
        };
        let cq = self.completion_queue(rank)?;
        if self.shares_receives() && self.shared.is_none() {
            let wanted = (self.config.size - 1) * SHARED_SLOTS;
            let queue = Srq::new(&self.domain, wanted.min(self.limits.shared_receives)).map_err(memory)?;
            self.shared = Some(Shared { queue, slabs: Vec::new() });
        }
        let queue = self.shared.as_ref().map(|shared| &shared.queue);
        let mut shape = Shape { send_depth: DEPTH, receive_depth: SLOTS };
        let pair = Qp::new(&self.domain, &cq, queue, shape).map_err(memory)?;
        pair.initialise(self.port.port).map_err(memory)?;
        let send = Slab::new(&self.domain, SEND_SLOTS, SLOT).map_err(memory)?;
        let receive = match &mut self.shared {
            Some(shared) => {
                shared.grow(&self.domain, SHARED_SLOTS, SLOT).map_err(memory)?;
                None
            }
            None => Some(Slab::new(&self.domain, SLOTS, SLOT).map_err(memory)?),
        };
        let first = Lane::new((rank, 0), pair, send, receive).map_err(memory)?;
        shape.receive_depth = BULK_SLOTS;
        let extra = |index| {
            // With receives of their own, though others be shared: they are small.
            let pair = Qp::new(&self.domain, &cq, None, shape)?;
            pair.initialise(self.port.port)?;
            let send = Slab::new(&self.domain, SEND_SLOTS, BULK_SLOT)?;
            let receive = Slab::new(&self.domain, BULK_SLOTS, BULK_SLOT)?;
            Lane::new((rank, index), pair, send, Some(receive))
        };
        let extra = (1..pairs).map(extra).collect::<io::Result<_>>().map_err(memory)?;
        let mut random = [0; 4];
        getrandom::fill(&mut random).map_err(|error| Cause::Unreachable(error.to_string()))?;
        let link = Link::new(first, extra, u32::from_le_bytes(random) & BITS_24);
        self.links += 1;
        self.connecting += 1;
        self.pairs.extend(link.numbers().into_iter().map(|number| (number, rank)));
        self.peers[rank].state = State::Linked(Box::new(link));
        self.run_timer(true);
        Ok(())
    }

    /// The completion queue, with room for one peer more.
    fn completion_queue(&mut self, rank: Rank) -> Result<std::sync::Arc<Cq>, Cause> {
        let shares = self.shares_receives();
        let extra = self.config.queue_pairs.saturating_sub(1);
        let each = DEPTH + if shares { SHARED_SLOTS } else { SLOTS } + extra * (DEPTH + BULK_SLOTS);
        let shared = if shares { self.limits.shared_receives / SHARED_SLOTS } else { usize::MAX };
        let most = shared.min(self.limits.completions / each);
        if self.links >= most {
            let (device, pairs) = (&self.port.device, extra + 1);
            return Err(Cause::Unreachable(format!(
                "device {device} has queues for {most} peers only (queue pairs for each: {pairs}); use fewer queue \
                 pairs, or another transport for rank {rank}"
            )));
        }
        if self.cq.is_none() {
            let peers = self.config.size.saturating_sub(1).clamp(1, most);
            let made = Cq::new(&self.channel, peers * each);
            let error = |error| Cause::Unreachable(format!("no completion queue can be made: {error}"));
            let made = made.map_err(error)?;
            // Somebody may be asleep already.
            made.arm().map_err(error)?;
            self.cq = Some(made);
        }
        self.cq.clone().ok_or_else(|| Cause::Unreachable("no completion queue".to_owned()))
    }

    /// Tells `rank` of our queue pairs, once.
    fn offer(&mut self, rank: Rank) -> Result<(), Cause> {
        let port = self.here();
        let Some(link) = self.peers[rank].link().filter(|link| !link.offered) else { return Ok(()) };
        link.offered = true;
        let offer = Offer { port, sequence: link.sequence, numbers: link.numbers() };
        self.oob.send(rank, &OobMessage::Offer(offer))
    }

    /// Acts upon the messages of the out-of-band channel; returns the peers that it has lost.
    pub(super) fn read_oob_messages(&mut self, oob: OobEvents) -> Vec<(Rank, Cause)> {
        for (rank, message) in oob.messages {
            let done = match message {
                OobMessage::Offer(offer) => self.on_offer(rank, &offer),
                OobMessage::Ready => self.on_ready(rank),
                OobMessage::Refuse(why) => Err(Cause::Rejected(why)),
            };
            if let Err(cause) = done {
                self.fail(rank, cause);
            }
        }
        oob.lost
    }

    fn on_offer(&mut self, rank: Rank, offer: &Offer) -> Result<(), Cause> {
        let here = self.here();
        let agreed = here.agreed_pairs(&offer.port);
        let connected = match &mut self.peers[rank].state {
            State::Gone(_) => return Ok(()),
            State::Idle => here
                .reaches(&offer.port)
                .map_err(Cause::Rejected)
                .and_then(|()| self.make_pairs(rank, agreed)),
            State::Linked(link) if link.is_connected() => {
                return Err(Cause::Protocol("it offered queue pairs a second time".to_owned()));
            }
            State::Linked(_) => Ok(()),
        };
        let connected = connected.and_then(|()| self.connect_pair(rank, offer));
        if let Err(cause) = &connected {
            // So that it does not wait; if it does not arrive, the closed channel says the same.
            let _ = self.oob.send(rank, &OobMessage::Refuse(brief(cause)));
        }
        connected?;
        self.offer(rank)?;
        self.oob.send(rank, &OobMessage::Ready)
    }

    /// INIT to RTS.
    fn connect_pair(&mut self, rank: Rank, offer: &Offer) -> Result<(), Cause> {
        let here = self.here();
        let (port, gid_index) = (self.port.port, self.gid_index);
        let timing = Timing { timeout: self.config.timeout, retries: self.config.retries };
        let Some(link) = self.peers[rank].link() else { return Ok(()) };
        let (offered, made) = (offer.numbers.len(), link.count());
        if offered != made {
            return Err(Cause::Protocol(format!(
                "it offered {offered} queue pairs, and this rank has made {made}: the smaller of the two ranks' \
                 settings ({} and {})",
                offer.port.pairs, here.pairs
            )));
        }
        let sequence = link.sequence;
        let connected = link.lanes().zip(&offer.numbers).try_for_each(|(lane, &number)| {
            lane.pair.receive_from(Remote { offer, number, here: &here, port, gid_index })?;
            lane.pair.send_with(sequence, timing)
        });
        connected.map_err(|error| {
            let (mine, theirs) = (here.gid, offer.port.gid);
            Cause::Unreachable(format!(
                "the queue pair cannot be connected from GID {mine} to GID {theirs}: {error}; check that these \
                 addresses reach each other (`ping`), or choose another GID index"
            ))
        })?;
        let few = || Cause::Protocol(format!("it has {} receive slots, which is too few", offer.port.slots));
        link.first.credits = Some(Credits::new(here.slots, offer.port.slots).ok_or_else(few)?);
        for lane in &mut link.extra {
            lane.credits = Credits::new(BULK_SLOTS as u16, BULK_SLOTS as u16);
        }
        link.room = SLOT.min(offer.port.slot_size as usize);
        link.packet = here.agreed_packet(&offer.port);
        link.longest = fragments::LONGEST.min(here.max_message.min(offer.port.max_message) as usize);
        debug!(rank, pairs = ?link.numbers(), inline = link.first.pair.inline(), "queue pairs connected");
        Ok(())
    }

    fn on_ready(&mut self, rank: Rank) -> Result<(), Cause> {
        let Some(link) = self.peers[rank].link() else { return Ok(()) };
        if link.is_open() || !link.is_connected() {
            return Err(Cause::Protocol("it is ready out of turn".to_owned()));
        }
        link.open();
        self.connecting = self.connecting.saturating_sub(1);
        self.list(rank);
        Ok(())
    }

    /// Has the poll see whether something can be sent to `rank`.
    pub(super) fn list(&mut self, rank: Rank) {
        if !std::mem::replace(&mut self.peers[rank].listed, true) {
            self.ready.push(rank);
        }
    }
}
