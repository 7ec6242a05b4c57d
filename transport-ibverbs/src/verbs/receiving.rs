//! What completions say: messages and puts that have come, work that is done, and what went wrong.
//!
//! Invariant: nothing that a peer sends is believed before it has been checked, and a slot is posted again
//! only when all of it has been read. The first completion with a status other than *flushed* is the cause of
//! a failure; flushes only follow. Neighbours: `wire.rs` has the bytes, `shutdown.rs` ends connections.

use ringworld_transport::{Cause, Event, Placer, Rank};

use super::device::{Arrived, Completion, Slab};
use super::lane::{Id, Place};
use super::peer::{Inbound, Opened, Peer, State};
use super::transport::Ibverbs;
use crate::credits::Credits;
use crate::exposures::Exposures;
use crate::fins::PeerFins;
use crate::send_queue::Work;
use crate::wire::{Kind, Prelude};

/// Batches of completions looked at per poll, so that a poll ends though peers send without pause.
const BATCHES: usize = 16;

impl Ibverbs {
    /// Looks at what has completed; returns whether anything had.
    pub(super) fn poll_completions(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let mut moved = false;
        for _ in 0..BATCHES {
            let Some(cq) = &self.cq else { return false };
            let more = if self.stash.is_empty() { cq.poll(&mut self.stash) } else { Ok(true) };
            moved |= !self.stash.is_empty();
            while let Some(completion) = self.stash.pop_front() {
                self.complete(completion, placer, events);
            }
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.fail_all(&format!("the completion queue cannot be read ({error})"));
                    break;
                }
            }
        }
        moved
    }

    /// Looks at everything that has completed, for connections that are about to be given up.
    pub(super) fn drain_completions(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) {
        while self.poll_completions(placer, events) {}
    }

    fn complete(&mut self, completion: Completion, placer: &mut dyn Placer, events: &mut Vec<Event>) {
        let (rank, place) = match Id::decode(completion.id) {
            Id::Send(rank, lane, number) => return self.sent((rank, lane), number, completion.result),
            Id::Receive(rank, lane, slot) => (Some(rank), Place::Own(lane, slot)),
            Id::Shared(slab, slot) => (self.pairs.get(&completion.pair).copied(), Place::Shared(slab, slot)),
        };
        let linked = rank.filter(|rank| matches!(self.peers[*rank].state, State::Linked(_)));
        let Some(rank) = linked else {
            // Of a queue pair that is gone. A slot of its own went with it; a shared one serves others.
            if let Place::Shared(slab, slot) = place {
                self.repost_shared(slab, slot);
            }
            return;
        };
        let arrived = match completion.result {
            Ok(arrived) => arrived,
            Err(status) => {
                if let Place::Shared(slab, slot) = place {
                    self.repost_shared(slab, slot);
                }
                return self.broke(rank, place.lane(), status);
            }
        };
        if let Err(why) = self.arrive(rank, place, arrived, placer, events) {
            return self.fail(rank, Cause::Protocol(why));
        }
        let peer = &mut self.peers[rank];
        let waiting = !peer.queue.is_empty() || !peer.puts.is_empty();
        if waiting || peer.fins.any() {
            self.list(rank);
        }
    }

    /// Delivers what has arrived in a slot.
    ///
    /// The slot is posted again at the next poll, unless many have been read, and its credit goes back after that:
    /// whoever waits for this message has it, and has answered it, before. What came without a credit is posted at
    /// once, because few slots are in reserve for such.
    fn arrive(
        &mut self,
        rank: Rank,
        place: Place,
        arrived: Arrived,
        placer: &mut dyn Placer,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        let Peer { state: State::Linked(link), exposures, inbound, fins, .. } = &mut self.peers[rank] else {
            return Ok(());
        };
        let lane = link.lane(place.lane()).ok_or("the device reports a queue pair that does not exist")?;
        lane.heard = true;
        let (slab, slot) = match (place, &mut self.shared) {
            (Place::Own(_, slot), _) => (lane.receive.as_mut(), slot),
            (Place::Shared(slab, slot), Some(shared)) => (shared.slabs.get_mut(slab), slot),
            (Place::Shared(..), None) => (None, 0),
        };
        let slab = slab.ok_or("the device reports a slot that does not exist")?;
        slab.take_back(slot);
        let extra = place.lane() > 0;
        let mut inward = Inward { rank, extra, exposures, inbound, fins, placer, events };
        let kind = match arrived {
            Arrived::Message(length) => {
                let prelude = inward.slot(slab, slot, length)?;
                if let Some(credits) = &mut lane.credits {
                    credits.returned(prelude.credits)?;
                }
                prelude.kind
            }
            Arrived::Written(length, id) => {
                if extra {
                    inward.fins.fragment()?;
                }
                inward.written(id, length)?;
                Kind::Staged
            }
            Arrived::Done => return Err("the device reports a send in the place of a receive".to_owned()),
        };
        if kind.takes_credit() {
            self.spent.push((rank, place));
        } else {
            self.post_again(rank, place);
        }
        Ok(())
    }

    /// Posts the slots again that were read since the last time, and owes their credits to the peers.
    pub(super) fn post_spent(&mut self) {
        if self.spent.is_empty() {
            return;
        }
        let mut spent = std::mem::take(&mut self.spent);
        for (rank, place) in spent.drain(..) {
            self.post_again(rank, place);
            let peer = &mut self.peers[rank];
            // A peer that has sent FIN needs no credits, and after ours has been acknowledged none may come.
            if peer.fins.fin.is_some() {
                continue;
            }
            let Some(link) = peer.link() else { continue };
            let credits = link.lane(place.lane()).and_then(|lane| lane.credits.as_mut());
            match credits.map_or(Ok(()), Credits::owe) {
                Ok(()) if link.owes() => self.list(rank),
                Ok(()) => {}
                Err(why) => self.fail(rank, Cause::Protocol(why)),
            }
        }
        self.spent = spent;
    }

    /// Posts a slot again that has been read. One of a queue pair that is gone went with it.
    fn post_again(&mut self, rank: Rank, place: Place) {
        match place {
            Place::Own(lane, slot) => {
                let lane = self.peers[rank].link().and_then(|link| link.lane(lane));
                if let Some(Err(error)) = lane.map(|lane| lane.post_receive(slot)) {
                    self.trouble(rank, &error);
                }
            }
            Place::Shared(slab, slot) => self.post_shared(slab, slot),
        }
    }

    fn post_shared(&mut self, slab: usize, slot: usize) {
        if let Some(shared) = &mut self.shared
            && let Some(memory) = shared.slabs.get_mut(slab)
            && let Err(error) = shared.queue.post_receive(memory, slot, Id::Shared(slab, slot).encode())
        {
            self.fail_all(&format!("the shared receive queue takes no more slots ({error})"));
        }
    }

    /// Posts a slot of the shared queue again whose message nobody reads.
    fn repost_shared(&mut self, slab: usize, slot: usize) {
        if let Some(shared) = &mut self.shared
            && let Some(memory) = shared.slabs.get_mut(slab)
        {
            memory.take_back(slot);
            self.post_shared(slab, slot);
        }
    }

    /// A work request of the send queue has ended.
    fn sent(&mut self, (rank, lane): (Rank, usize), number: u32, result: Result<Arrived, Option<u32>>) {
        let Some(Peer { state: State::Linked(link), flying, fin_ack_delivered, .. }) =
            self.peers.get_mut(rank)
        else {
            return;
        };
        if let Err(status) = result {
            return self.broke(rank, lane, status);
        }
        let Some(lane) = link.lane(lane) else { return };
        lane.heard = true;
        let deferred = self.life.deferred();
        let done = lane.done(number, |work| match work {
            Work::Fragment { put } => {
                // Deregisters the memory before its owner hears of it, unless its owner has registered it.
                if let Some((source, token)) = flying.landed(put) {
                    drop(source);
                    deferred.push(Event::Sent { token });
                }
            }
            Work::FinAck => *fin_ack_delivered = true,
            Work::Copy | Work::Probe => {}
        });
        match done {
            Ok(()) => self.list(rank),
            Err(why) => self.fail(rank, Cause::Lost(why)),
        }
    }

    /// A work request has failed, and with it the queue pair, and with that all queue pairs of the peer.
    fn broke(&mut self, rank: Rank, lane: usize, status: Option<u32>) {
        let why = match status {
            Some(status) => super::device::status(status),
            None => "its queue pair was put in error".to_owned(),
        };
        let count = self.peers[rank].link().map_or(1, |link| link.count());
        let which = if count > 1 { format!(" (queue pair {} of {count})", lane + 1) } else { String::new() };
        self.lost(rank, Cause::Lost(format!("{}: {why}{which}", self.port.device)));
    }
}

/// What is needed to deliver a slot.
struct Inward<'a> {
    rank: Rank,
    /// It came by an extra queue pair.
    extra: bool,
    exposures: &'a mut Exposures<Opened>,
    inbound: &'a mut Option<Inbound>,
    fins: &'a mut PeerFins,
    placer: &'a mut dyn Placer,
    events: &'a mut Vec<Event>,
}

impl Inward<'_> {
    fn slot(&mut self, slab: &Slab, slot: usize, length: usize) -> Result<Prelude, String> {
        let bytes = slab.bytes(slot, length).ok_or("the device reports more than a slot holds")?;
        let (prelude, header, payload) = Prelude::decode(bytes)?;
        if self.extra {
            // Whether before or after the FIN, which comes elsewhere, means nothing here.
            return match prelude.kind {
                Kind::Credits => Ok(prelude),
                kind => Err(format!("it sent {kind:?} on a queue pair that is for puts alone")),
            };
        }
        if self.fins.fin_ack.is_some() || (self.fins.fin.is_some() && prelude.kind.takes_credit()) {
            return Err(format!("it sent {:?} after its FIN", prelude.kind));
        }
        match prelude.kind {
            Kind::Message => self.begin(header, prelude.length, payload)?,
            Kind::More => self.go_on(payload)?,
            Kind::Staged => self.staged(prelude.id, prelude.length, payload)?,
            Kind::Credits => {}
            Kind::Fin if self.inbound.is_some() => {
                return Err("it sent FIN in the middle of a message".to_owned());
            }
            Kind::Fin => self.fins.fin = Some(prelude.length),
            Kind::FinAck => self.fins.fin_ack = Some(prelude.length),
        }
        Ok(prelude)
    }

    fn begin(&mut self, header: &[u8], length: u64, payload: &[u8]) -> Result<(), String> {
        if self.inbound.is_some() {
            return Err("it began a message in the middle of another".to_owned());
        }
        let length = usize::try_from(length).map_err(|_| format!("a message of {length} bytes"))?;
        let placement = self.placer.place(self.rank, header, length)?;
        let mut inbound = Inbound { token: placement.token, memory: placement.memory, length, arrived: 0 };
        inbound.take(payload)?;
        if inbound.is_complete() {
            self.events.push(Event::Received { peer: self.rank, token: inbound.token });
        } else {
            *self.inbound = Some(inbound);
        }
        Ok(())
    }

    fn go_on(&mut self, payload: &[u8]) -> Result<(), String> {
        let inbound = self.inbound.as_mut().ok_or("it went on with a message that it had not begun")?;
        inbound.take(payload)?;
        if let Some(inbound) = self.inbound.take_if(|inbound| inbound.is_complete()) {
            self.events.push(Event::Received { peer: self.rank, token: inbound.token });
        }
        Ok(())
    }

    fn staged(&mut self, id: u32, offset: u64, payload: &[u8]) -> Result<(), String> {
        let wrong = || {
            format!("it sent {} bytes for offset {offset} of exposure {id}, which is wrong", payload.len())
        };
        let Some(Opened::Copied(memory)) = self.exposures.memory(id) else { return Err(wrong()) };
        let at = usize::try_from(offset).map_err(|_| wrong())?;
        let end = at.checked_add(payload.len()).ok_or_else(wrong)?;
        memory.as_mut_slice().get_mut(at..end).ok_or_else(wrong)?.copy_from_slice(payload);
        self.written(id, payload.len())
    }

    fn written(&mut self, id: u32, length: usize) -> Result<(), String> {
        if let Some((memory, token)) = self.exposures.written(id, length)? {
            // Deregisters the memory before its owner hears of it, unless its owner has registered it.
            drop(memory);
            self.events.push(Event::Filled { token });
        }
        Ok(())
    }
}
