//! The ends: of a peer, in good order or not, and of everything.
//!
//! Invariant: once a peer is gone nothing pending needs it, nothing is queued for it, and whatever is
//! started with it fails at once; messages of it that have arrived completely stay receivable.
//! Neighbours: `states.rs`, `mod.rs`.

use super::states::{Body, Claim, Inbound, Receive, ReceiveStage, Request, Send, SendStage};
use super::{Id, Machine};
use crate::matching::{Posted, Unexpected};
use crate::slab::Slab;
use crate::wire::Packet;
use crate::{Action, Failure, Incoming, OVERHEAD, Rank, RequestId, Unreceived};

impl Machine {
    /// The peer died or is out of reach, and the transport has let go of all memory of its operations.
    ///
    /// Everything pending that needs the peer fails with [`Failure::PeerDown`]. Receives from any source stay; once no
    /// other rank is left, they are [forsaken](Machine::is_forsaken).
    pub fn peer_down(&mut self, peer: Rank) {
        self.part(peer, Failure::PeerDown { peer }, true);
    }

    /// The peer has finished in good order: everything it sent was reported before this.
    ///
    /// Everything pending that needs the peer fails with [`Failure::PeerFinished`], except what the transport still
    /// holds memory of, sends and receives: they end as the transport says, or with [`Machine::peer_down`].
    pub fn peer_closed(&mut self, peer: Rank) {
        self.part(peer, Failure::PeerFinished { peer }, false);
    }

    /// The transport has refused the message, the put or the exposure with this token, and keeps nothing of it, because
    /// the peer has finished. Only that request fails: of others the transport may still hold memory. Tokens of
    /// requests that have ended are ignored.
    pub fn refused(&mut self, token: u64) {
        let id = Id::from_bits(token);
        let peer = match self.requests.get(id) {
            Some(Request::Send(Send { peer, .. })) => *peer,
            Some(Request::Receive(Receive { stage: ReceiveStage::Exposing(incoming, _), .. })) => {
                incoming.source
            }
            _ => return,
        };
        self.complete(id, Err(Failure::PeerFinished { peer }));
    }

    /// From here on nobody will ask for a message that nobody has asked for yet: their senders learn that this rank has
    /// finished, and what lies here is dropped, also what was taken out of matching and waits for its receive. What has
    /// been asked for goes on.
    pub fn leave(&mut self) {
        self.leaving = true;
        let unclaimed = |message: &Inbound| {
            matches!(message.claim, Claim::Unexpected | Claim::Taken) && is_users(&message.incoming)
        };
        let all: Vec<(Id, Claim)> = self
            .inbound
            .iter()
            .filter(|(_, message)| unclaimed(message))
            .map(|(id, message)| (id, message.claim))
            .collect();
        for (id, claim) in all {
            if claim == Claim::Unexpected {
                self.unexpected.remove(id.index);
            }
            if let Some(message) = self.inbound.get(id) {
                let incoming = message.incoming;
                self.note_unreceived(incoming);
            }
            self.turn_away(id);
        }
    }

    /// What has come for the user and was never received, known since [`Machine::leave`].
    #[must_use]
    pub fn unreceived(&self) -> Option<Unreceived> {
        self.unreceived
    }

    pub(super) fn note_unreceived(&mut self, incoming: Incoming) {
        let noted = self.unreceived.get_or_insert(Unreceived { messages: 0, first: incoming });
        noted.messages += 1;
        if incoming.arrival < noted.first.arrival {
            noted.first = incoming;
        }
    }

    /// Drops a message that is in no list and that nobody will ask for.
    pub(super) fn turn_away(&mut self, id: Id) {
        self.discard(id, |id| Packet::Left { id });
    }

    /// The same, with the answer to a request to send.
    pub(super) fn discard(&mut self, id: Id, answer: impl Fn(u64) -> Packet) {
        let Some(message) = self.inbound.get_mut(id) else { return };
        message.claim = Claim::Discarded;
        let Inbound { incoming, body, .. } = *message;
        match body {
            Body::Arriving => {}
            Body::Arrived => self.spend(id),
            Body::Offered(number) => {
                self.inbound.remove(id);
                self.free_credit_quietly(incoming.source, OVERHEAD);
                self.push_message(incoming.source, answer(number), None, None);
            }
            Body::Lost(_) | Body::Spent => {
                self.inbound.remove(id);
            }
        }
    }

    /// Ends everything: all that is pending fails with [`Failure::Aborted`] and no action remains.
    ///
    /// Call it once the transport has let go of all memory. Bounce memory is the caller's to free:
    /// nothing refers to it any more. Whatever is started later fails with [`Failure::Aborted`] too.
    pub fn fail_all(&mut self) {
        self.aborted = true;
        self.actions.clear();
        self.posted = Posted::new();
        self.unexpected = Unexpected::new();
        self.inbound = Slab::new();
        for account in &mut self.peers {
            account.clear();
        }
        let all: Vec<Id> = self.requests.iter().map(|(id, _)| id).collect();
        for id in all {
            self.complete(id, Err(Failure::Aborted));
        }
    }

    /// Why no new message can come from `source` (`None`: from any other rank), or `None` while it can.
    /// Messages that have arrived already can still be probed and received.
    #[must_use]
    pub fn ended(&self, source: Option<Rank>) -> Option<Failure> {
        match source {
            Some(peer) => self.refusal(peer),
            None if self.aborted => Some(Failure::Aborted),
            None => self.alone,
        }
    }

    /// Why nothing can be done with `peer`.
    pub(super) fn refusal(&self, peer: Rank) -> Option<Failure> {
        if self.aborted {
            return Some(Failure::Aborted);
        }
        match self.peers.get(peer) {
            Some(account) => account.fate,
            None => Some(Failure::NoSuchPeer { peer, size: self.config.size }),
        }
    }

    /// `released`: the transport holds no memory of the peer's operations any more.
    fn part(&mut self, peer: Rank, failure: Failure, released: bool) {
        let Some(account) = self.peers.get_mut(peer).filter(|_| !self.aborted) else { return };
        let failure = *account.fate.get_or_insert(failure);
        account.clear();
        let dropped = self.drop_actions(peer);
        self.fail_requests(peer, failure, released, &dropped);
        self.drop_inbound(peer, failure, released);
        self.notice_loneliness(failure);
    }

    /// Takes back what was queued for `peer`; returns the tokens of the sends among it.
    fn drop_actions(&mut self, peer: Rank) -> Vec<u64> {
        let mut dropped = Vec::new();
        self.actions.retain(|action| match *action {
            Action::Message { peer: to, token, .. } if to == peer => {
                dropped.extend(token);
                false
            }
            Action::Put { peer: to, token, .. } if to == peer => {
                dropped.push(token);
                false
            }
            Action::Expose { peer: to, .. } => to != peer,
            _ => true,
        });
        dropped
    }

    fn fail_requests(&mut self, peer: Rank, failure: Failure, released: bool, dropped: &[u64]) {
        let needs_peer = |(id, request): (Id, &Request)| {
            let needs = match request {
                Request::Send(Send { peer: to, stage, .. }) if *to == peer => {
                    let held = matches!(stage, SendStage::Leaving | SendStage::Putting);
                    released || !held || dropped.contains(&id.to_bits())
                }
                Request::Receive(receive) => {
                    let held = matches!(receive.stage, ReceiveStage::Arriving(_) | ReceiveStage::Granted(_));
                    let whose =
                        receive.matched().map_or(receive.selector.source, |incoming| Some(incoming.source));
                    whose == Some(peer) && (released || !held)
                }
                _ => false,
            };
            needs.then_some(id)
        };
        let failing: Vec<Id> = self.requests.iter().filter_map(needs_peer).collect();
        for id in failing {
            if let Some(Request::Receive(Receive { stage: ReceiveStage::Posted, .. })) = self.requests.get(id)
            {
                self.posted.remove(id.index);
            }
            self.complete(id, Err(failure));
        }
    }

    /// Forgets messages of `peer` that can never be received, and frees their bounce memory.
    fn drop_inbound(&mut self, peer: Rank, failure: Failure, released: bool) {
        let lost = |body: Body| matches!(body, Body::Offered(_)) || released && body == Body::Arriving;
        let lost: Vec<Id> = self
            .inbound
            .iter()
            .filter(|(_, message)| message.incoming.source == peer && lost(message.body))
            .map(|(id, _)| id)
            .collect();
        for id in lost {
            let Some(message) = self.inbound.get_mut(id) else { continue };
            let bounced = message.body == Body::Arriving && message.incoming.len > 0;
            let claim = message.claim;
            // The holder of a taken message still has to learn what became of it.
            message.body = if claim == Claim::Taken { Body::Lost(failure) } else { Body::Spent };
            if claim == Claim::Unexpected {
                self.unexpected.remove(id.index);
            }
            if bounced {
                self.actions.push_back(Action::Release { bounce: id.to_bits() });
            } else if claim != Claim::Taken {
                self.inbound.remove(id);
            }
        }
    }

    /// Notes that no other rank is left. Receives from any source stay: this rank may still send to itself.
    fn notice_loneliness(&mut self, failure: Failure) {
        let rank = self.config.rank;
        let mut others = self.peers.iter().enumerate().filter(|(peer, _)| *peer != rank);
        if self.alone.is_some() || self.config.size < 2 || !others.all(|(_, other)| other.fate.is_some()) {
            return;
        }
        self.alone = Some(failure);
    }

    /// Whether no other rank is left.
    #[inline]
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// Whether a receive from any source has matched nothing, and no other rank is left that could send for it: only
    /// this one could.
    #[must_use]
    pub fn is_forsaken(&self, receive: RequestId) -> bool {
        let RequestId(id) = receive;
        let is_open = |request: &Request| {
            let Request::Receive(Receive { selector, stage: ReceiveStage::Posted, .. }) = request else {
                return false;
            };
            selector.source.is_none()
        };
        self.is_alone() && self.requests.get(id).is_some_and(is_open)
    }

    /// Ends a [forsaken](Machine::is_forsaken) receive, because this rank waits for it instead of sending to itself: it
    /// fails as what needs the last peer that has gone. `false`: it is not forsaken, and goes on.
    pub fn forsake(&mut self, receive: RequestId) -> bool {
        let Some(failure) = self.alone.filter(|_| self.is_forsaken(receive)) else { return false };
        let RequestId(id) = receive;
        self.posted.remove(id.index);
        self.complete(id, Err(failure));
        true
    }
}

/// Whether a message is the user's, and not a collective's: those are of runs that go on.
pub(super) fn is_users(incoming: &Incoming) -> bool {
    incoming.envelope.context.is_multiple_of(2)
}
