//! How connections end: in good order, by loss, or by decision of the runtime.
//!
//! The orderly end is that of [`lifecycle`](ringworld_transport::lifecycle); FIN and FIN-ACK are records like others. A
//! peer whose process ends is noticed by the end of its socket. What it has written before lies in memory that this
//! process has mapped, and is read first. Neighbours: `peer.rs` has the state, `transport.rs` calls in.

use ringworld_transport::lifecycle::Step;
use ringworld_transport::{Cause, Event, Rank};

use crate::peer::State;
use crate::transport::Shm;

impl Shm {
    /// The peer's end of the socket is closed, and everything that it had written has been read.
    pub(crate) fn link_ended(&mut self, rank: Rank) {
        self.advance_shutdown(rank);
        let Self { peers, outbox, .. } = self;
        let Some(link) = peers[rank].link() else { return };
        link.give_all(outbox);
        let peer = &peers[rank];
        if peer.shutdown.may_end(peer.progress()) {
            self.release(rank, Cause::Finished);
        } else {
            self.fail(rank, Cause::Lost("its end of the socket was closed: the process is gone".into()));
        }
    }

    /// Moves the orderly end of one connection on, as far as it goes.
    pub(crate) fn advance_shutdown(&mut self, rank: Rank) {
        loop {
            let Self { peers, outbox, .. } = self;
            let peer = &mut peers[rank];
            if let Some(link) = peer.link().filter(|link| link.holds_slots()) {
                link.reclaim(outbox);
            }
            let progress = peer.progress();
            let State::Open(link) = &mut peer.state else { return };
            match peer.shutdown.next(rank, progress, &mut self.life) {
                None => return,
                Some(Step::Send(control)) => {
                    let said = link.say(control);
                    peer.unsaid = !said;
                    self.note(rank);
                    if !said {
                        // No room: asked again when the peer has read something, for which this side is woken.
                        return;
                    }
                    self.peers[rank].shutdown.sent(control);
                }
                Some(Step::Release) => self.release(rank, Cause::Finished),
                Some(Step::Fail(cause)) => self.fail(rank, cause),
            }
        }
    }

    /// While closing: moves every connection on, and ends when there is none left.
    pub(crate) fn advance_shutdowns(&mut self) {
        // Whoever has been answered has something to say, which is to be read before this rank leaves.
        let mut left = self.pending.has_known();
        for rank in 0..self.peers.len() {
            self.advance_shutdown(rank);
            left |= match self.peers[rank].state {
                State::Open(_) => true,
                // Operations are waiting for the connection: they were accepted.
                State::Dialing(_) => true,
                State::Idle | State::Gone(_) => false,
            };
        }
        // As does whoever has come since. Who comes later finds nobody, and knows that it was not heard.
        left = left || (self.accept() && self.pending.has_known());
        if !left {
            self.end_everything();
            self.life.closed();
        }
    }

    /// The peer is down: drops everything of it, and reports that once.
    pub(crate) fn fail(&mut self, rank: Rank, cause: Cause) {
        let Some(peer) = self.peers.get_mut(rank) else { return };
        if peer.keeps_any() {
            self.life.defer(Event::Undelivered { peer: rank });
        }
        if peer.shutdown.fail(rank, &cause, &mut self.life) {
            self.release(rank, cause);
        }
    }

    /// Drops everything of a peer.
    fn release(&mut self, rank: Rank, cause: Cause) {
        let peer = &mut self.peers[rank];
        if let State::Open(link) = &mut peer.state {
            link.leave_all(&mut self.outbox);
            self.open.retain(|other| *other != rank);
            self.outbox.serves(self.open.len());
        }
        peer.end(cause);
        self.pending.drop_all_of(rank);
        self.dialing.retain(|other| *other != rank);
        self.note(rank);
    }

    /// Drops all memory and all connections; nothing is sent and nothing is reported.
    pub(crate) fn end_everything(&mut self) {
        for rank in 0..self.peers.len() {
            if !matches!(self.peers[rank].state, State::Gone(_)) {
                self.release(rank, Cause::Finished);
            }
        }
        self.pending.clear();
        self.listeners = None;
        // Peers may have rung it meanwhile, and nobody will look any more.
        self.epoll.forget(&self.bell);
    }
}
