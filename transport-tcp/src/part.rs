//! How connections end: in good order, by loss, or by decision of the runtime.
//!
//! The orderly end, on every established lane, so that nothing on any of them is overtaken:
//!
//! ```text
//! closer   everything accepted … Bye   ->   peer reads everything before it, reports PeerClosed,
//! closer   reads the rest          <-  … Ack   writes what it had accepted itself, then acknowledges
//! closer   drops the sockets
//! ```
//!
//! Both may say Bye at once; each then acknowledges the other's. Invariant: a connection is dropped by
//! whoever has received the acknowledgement and has given its own, so neither ever resets bytes that the
//! other has not read. Neighbours: `peer.rs` has the state, `transport.rs` calls in.

use std::net::Shutdown;

use ringworld_transport::{Cause, Event, Rank};

use crate::connection::{Ended, Outgoing};
use crate::framing::Prelude;
use crate::peer::{Peer, State};
use crate::puts::{Exposures, PutQueue};
use crate::transport::{Phase, Tcp};

impl Tcp {
    /// A lane has ended, as its socket says.
    pub(crate) fn link_ended(&mut self, rank: Rank, lane: usize, ended: Ended) {
        let peer = &mut self.peers[rank];
        let farewell = &peer.farewell;
        if !matches!(ended, Ended::Protocol(_)) {
            if farewell.ack.heard(lane) {
                // It has acknowledged and left; other lanes may still have to be read.
                self.drop_link(rank, lane);
                if self.peers[rank].ready_lanes() == 0 {
                    return self.conclude(rank);
                }
                return self.part(rank);
            }
            if farewell.reported && peer.is_idle() {
                return self.conclude(rank);
            }
        }
        self.fail(rank, ended.cause(lane));
    }

    /// Moves the orderly end of one connection on, as far as it goes.
    pub(crate) fn part(&mut self, rank: Rank) {
        let closing = self.phase == Phase::Closing;
        let peer = &mut self.peers[rank];
        if !matches!(peer.state, State::Open) {
            return;
        }
        let lanes = peer.ready_lanes();
        if peer.farewell.bye.complete() && !peer.farewell.reported {
            peer.farewell.reported = true;
            self.deferred.push(Event::PeerClosed { peer: rank });
            if !peer.exposures.is_empty() {
                // Nobody will fill them any more.
                return self.fail(rank, Cause::Finished);
            }
        }
        let idle = peer.is_idle();
        if peer.farewell.reported && !peer.farewell.ack.sent && idle {
            peer.farewell.ack.sent = true;
            self.say(rank, Prelude::bye_ack(lanes));
        } else if closing && !peer.farewell.bye.sent && !peer.farewell.reported && idle {
            peer.farewell.bye.sent = true;
            self.say(rank, Prelude::bye(lanes));
        }
        let peer = &self.peers[rank];
        let farewell = &peer.farewell;
        let answered = farewell.ack.complete() || (farewell.reported && !farewell.bye.sent);
        if closing && answered && (!farewell.reported || farewell.ack.sent) && peer.is_idle() {
            self.conclude(rank);
        }
    }

    /// Says the same on all established lanes.
    fn say(&mut self, rank: Rank, prelude: Prelude) {
        for lane in 0..self.identity.lanes {
            if let Some(Some(link)) = self.peers[rank].lanes.get_mut(lane) {
                link.queue.push_back(Outgoing::control(prelude));
                self.flush(rank, lane);
            }
        }
    }

    /// While closing: moves every connection on, and ends when there is none left.
    pub(crate) fn part_all(&mut self) {
        let mut left = false;
        for rank in 0..self.peers.len() {
            self.part(rank);
            left |= match self.peers[rank].state {
                State::Open => true,
                // Operations are waiting for the connection: they were accepted.
                State::Dialing(_) => true,
                State::Idle | State::Gone(_) => false,
            };
        }
        if !left {
            self.phase = Phase::Over;
            self.end_everything();
            self.deferred.push(Event::Closed);
        }
    }

    /// The orderly end of a connection is over.
    fn conclude(&mut self, rank: Rank) {
        for link in self.peers[rank].lanes.iter().flatten() {
            // Errors do not matter: everything has been acknowledged.
            let _ = link.socket.shutdown(Shutdown::Write);
        }
        self.release(rank, Cause::Finished);
    }

    /// The peer is down: drops everything of it, and reports that once.
    pub(crate) fn fail(&mut self, rank: Rank, cause: Cause) {
        let Some(peer) = self.peers.get_mut(rank) else { return };
        if std::mem::replace(&mut peer.down_reported, true) {
            return;
        }
        self.release(rank, cause.clone());
        self.deferred.push(Event::PeerDown { peer: rank, cause });
    }

    /// Drops everything of a peer.
    fn release(&mut self, rank: Rank, cause: Cause) {
        self.end_attempt(rank);
        for lane in 0..self.peers[rank].lanes.len() {
            self.drop_link(rank, lane);
        }
        let outbound = self.lobby.select(|pending| pending.is_for(rank));
        for slot in outbound {
            self.lobby.remove(slot);
        }
        self.lane_retries.retain(|(other, ..)| *other != rank);
        let Peer { state, waiting, puts, exposures, .. } = &mut self.peers[rank];
        *state = State::Gone(cause);
        waiting.clear();
        *puts = PutQueue::default();
        *exposures = Exposures::default();
    }

    fn drop_link(&mut self, rank: Rank, lane: usize) {
        if let Some(link) = self.peers[rank].lanes.get_mut(lane).and_then(Option::take) {
            self.blocked -= usize::from(link.wants_write);
        }
        self.troubled.retain(|other| *other != (rank, lane));
    }

    /// Drops all memory and all connections; nothing is sent and nothing is reported.
    pub(crate) fn end_everything(&mut self) {
        for rank in 0..self.peers.len() {
            if !matches!(self.peers[rank].state, State::Gone(_)) {
                self.release(rank, Cause::Finished);
            }
        }
        self.lobby.clear();
        self.listeners.clear();
        self.run_timer(false);
    }
}
