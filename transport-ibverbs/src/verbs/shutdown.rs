//! How connections end: in good order, by loss, or by decision of the runtime.
//!
//! The orderly end is that of [`lifecycle`](ringworld_transport::lifecycle), on the first queue pair itself, so that
//! nothing on it is overtaken; `fins.rs` knows when what extra queue pairs carry has come too. Then the queue pair is
//! destroyed and the out-of-band channel closed. Invariant: our FIN-ACK has reached the other before our queue pairs
//! are destroyed; and before anybody is told of an end, the device has let go of all memory of that peer. Neighbours:
//! `peer.rs` has the state, `receiving.rs` reads what the peer sends.

use ringworld_transport::lifecycle::{Control, Step};
use ringworld_transport::{Cause, Event, Placer, Rank};

use super::oob::OobEvents;
use super::peer::State;
use super::transport::Ibverbs;
use crate::exposures::Exposures;
use crate::fragments::Flying;
use crate::wire::Kind;

impl Ibverbs {
    /// The connection to `rank` has ended by itself.
    pub(super) fn lost(&mut self, rank: Rank, cause: Cause) {
        let Some(peer) = self.peers.get(rank).filter(|peer| !matches!(peer.state, State::Gone(_))) else {
            return;
        };
        if peer.shutdown.may_end(peer.progress()) {
            return self.release(rank, Cause::Finished);
        }
        self.fail(rank, cause);
    }

    /// What the out-of-band channel reports of peers that are gone: all that they had sent is looked at before.
    pub(super) fn handle_oob_events(
        &mut self,
        oob: OobEvents,
        placer: &mut dyn Placer,
        events: &mut Vec<Event>,
    ) {
        let lost = self.read_oob_messages(oob);
        if lost.is_empty() && self.troubled.is_empty() {
            return;
        }
        self.drain_completions(placer, events);
        for (rank, cause) in lost.into_iter().chain(std::mem::take(&mut self.troubled)) {
            self.advance_shutdown(rank);
            self.lost(rank, cause);
        }
    }

    /// Moves the orderly end of one connection on, as far as it goes.
    pub(super) fn advance_shutdown(&mut self, rank: Rank) {
        loop {
            let peer = &mut self.peers[rank];
            let progress = peer.progress();
            let State::Linked(link) = &mut peer.state else { return };
            match peer.shutdown.next(rank, progress, &mut self.life) {
                None => return,
                Some(Step::Send(control)) => {
                    let kind = match control {
                        Control::Fin => Kind::Fin,
                        Control::FinAck => Kind::FinAck,
                    };
                    match link.first.send(kind, (0, link.taken), &[], &[]) {
                        Ok(true) => peer.shutdown.sent(control),
                        // No room: it is tried again when some work request is done.
                        Ok(false) => return,
                        Err(error) => return self.trouble(rank, &error),
                    }
                }
                Some(Step::Release) => self.release(rank, Cause::Finished),
                Some(Step::Fail(cause)) => self.fail(rank, cause),
            }
        }
    }

    /// While closing: moves every connection on, and ends when there is none left.
    pub(super) fn advance_shutdowns(&mut self) {
        let mut left = false;
        for rank in 0..self.peers.len() {
            self.advance_shutdown(rank);
            left |= matches!(self.peers[rank].state, State::Linked(_));
        }
        if !left {
            self.end_everything();
            self.life.closed();
        }
    }

    /// The peer is down: drops everything of it, and reports that once.
    pub(super) fn fail(&mut self, rank: Rank, cause: Cause) {
        let Some(peer) = self.peers.get_mut(rank) else { return };
        if peer.kept > 0 {
            self.life.defer(Event::Undelivered { peer: rank });
        }
        if peer.shutdown.fail(rank, &cause, &mut self.life) {
            self.release(rank, cause);
        }
    }

    /// Every connection is lost, for the same reason.
    pub(super) fn fail_all(&mut self, why: &str) {
        for rank in 0..self.peers.len() {
            if matches!(self.peers[rank].state, State::Linked(_)) {
                self.lost(rank, Cause::Lost(why.to_owned()));
            }
        }
    }

    /// Drops everything of a peer. When this returns, the device touches no memory of it any more.
    fn release(&mut self, rank: Rank, cause: Cause) {
        let Some(peer) = self.peers.get_mut(rank) else { return };
        // Destroys the queue pairs, and only then the registrations.
        let state = std::mem::replace(&mut peer.state, State::Gone(cause));
        if let State::Linked(link) = &state {
            for number in link.numbers() {
                self.pairs.remove(&number);
            }
            self.connecting = self.connecting.saturating_sub(usize::from(!link.first.ready));
        }
        drop(state);
        peer.flying = Flying::default();
        self.waiting -= peer.puts.len() + peer.queue.len();
        peer.puts.clear();
        peer.queue.clear();
        peer.kept = 0;
        peer.inbound = None;
        peer.exposures = Exposures::default();
        self.oob.disconnect(rank);
    }

    /// Drops all memory and all connections; nothing is sent and nothing is reported.
    pub(super) fn end_everything(&mut self) {
        for rank in 0..self.peers.len() {
            if !matches!(self.peers[rank].state, State::Gone(_)) {
                self.release(rank, Cause::Finished);
            }
        }
        // No queue pair is left that could use them.
        self.regions.clear();
        self.stash.clear();
        self.spent.clear();
        self.troubled.clear();
        self.ready.clear();
        self.shared = None;
        self.cq = None;
        self.oob.abort();
        self.run_timer(false);
    }
}
