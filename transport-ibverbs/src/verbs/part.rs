//! How connections end: in good order, by loss, or by decision of the runtime.
//!
//! The orderly end, on the first queue pair itself, so that nothing on it is overtaken:
//!
//! ```text
//! closer   everything accepted … Bye   ->   peer has read everything before it, reports PeerClosed,
//! closer   reads the rest          <-  … ByeAck   has written what it had accepted itself, then acknowledges
//! closer   destroys the queue pair, shuts the side door
//! ```
//!
//! Both may say Bye at once; each then acknowledges the other's. Pieces of puts on extra queue pairs may be overtaken:
//! so both words say how many of these there were, and count as heard when all have come. Invariant: queue pairs are
//! destroyed by whoever has heard the acknowledgement, and whose own has reached the other; and before anybody is told
//! of an end, the device has let go of all memory of that peer. Neighbours: `peer.rs` has the state, `receiving.rs`
//! hears the words.

use ringworld_transport::{Cause, Event, Placer, Rank};

use super::door::News;
use super::link::Link;
use super::peer::{Peer, State};
use super::transport::{Ibverbs, Phase};
use crate::exposures::Exposures;
use crate::pieces::Flying;
use crate::wire::Kind;

impl Ibverbs {
    /// The connection to `rank` has ended by itself.
    pub(super) fn lost(&mut self, rank: Rank, cause: Cause) {
        let Some(peer) = self.peers.get(rank).filter(|peer| !matches!(peer.state, State::Gone(_))) else {
            return;
        };
        let farewell = &peer.farewell;
        // Whoever has said goodbye may leave.
        if farewell.ack_heard() || (farewell.reported && peer.is_idle()) {
            return self.release(rank, Cause::Finished);
        }
        self.fail(rank, cause);
    }

    /// What the door says of peers that are gone: all that they had sent is looked at before.
    pub(super) fn lose(&mut self, news: News, placer: &mut dyn Placer, events: &mut Vec<Event>) {
        let lost = self.hear(news);
        if lost.is_empty() && self.troubled.is_empty() {
            return;
        }
        self.drain_completions(placer, events);
        for (rank, cause) in lost.into_iter().chain(std::mem::take(&mut self.troubled)) {
            self.part(rank);
            self.lost(rank, cause);
        }
    }

    /// Moves the orderly end of one connection on, as far as it goes.
    pub(super) fn part(&mut self, rank: Rank) {
        let closing = self.phase == Phase::Closing;
        let peer = &mut self.peers[rank];
        if !matches!(peer.state, State::Linked(_)) {
            return;
        }
        if peer.farewell.bye_heard() && !peer.farewell.reported {
            peer.farewell.reported = true;
            self.deferred.push(Event::PeerClosed { peer: rank });
            if !peer.exposures.is_empty() {
                // Nobody will fill them any more.
                return self.fail(rank, Cause::Finished);
            }
        }
        let idle = peer.is_idle();
        let Peer { state: State::Linked(link), farewell, .. } = peer else { return };
        let say = |link: &mut Link, kind, said: &mut bool| {
            if !*said {
                match link.first.send(kind, (0, link.taken), &[], &[]) {
                    Ok(sent) => *said = sent,
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        let said = if farewell.reported && idle {
            say(link, Kind::ByeAck, &mut farewell.ack_sent)
        } else if closing && !farewell.reported && idle {
            say(link, Kind::Bye, &mut farewell.bye_sent)
        } else {
            Ok(())
        };
        let answered = farewell.ack_heard() || (farewell.reported && !farewell.bye_sent);
        let conclude = closing && answered && (!farewell.reported || farewell.ack_done) && idle;
        if let Err(error) = said {
            return self.trouble(rank, &error);
        }
        if conclude {
            self.release(rank, Cause::Finished);
        }
    }

    /// While closing: moves every connection on, and ends when there is none left.
    pub(super) fn part_all(&mut self) {
        let mut left = false;
        for rank in 0..self.peers.len() {
            self.part(rank);
            left |= matches!(self.peers[rank].state, State::Linked(_));
        }
        if !left {
            self.phase = Phase::Over;
            self.end_everything();
            self.deferred.push(Event::Closed);
        }
    }

    /// The peer is down: drops everything of it, and reports that once.
    pub(super) fn fail(&mut self, rank: Rank, cause: Cause) {
        let Some(peer) = self.peers.get_mut(rank) else { return };
        if std::mem::replace(&mut peer.down_reported, true) {
            return;
        }
        self.release(rank, cause.clone());
        self.deferred.push(Event::PeerDown { peer: rank, cause });
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
            self.meeting = self.meeting.saturating_sub(usize::from(!link.first.ready));
        }
        drop(state);
        peer.flying = Flying::default();
        self.waiting -= peer.puts.len() + peer.queue.len();
        peer.puts.clear();
        peer.queue.clear();
        peer.kept = 0;
        peer.inbound = None;
        peer.exposures = Exposures::default();
        self.door.shut(rank);
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
        self.door.shut_all();
        self.run_timer(false);
    }
}
