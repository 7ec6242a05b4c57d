//! Receiving: posting, probing, matched probes and cancelling.
//!
//! Invariant: a receive is posted only if no unexpected message matches it, so the lists of `matching/`
//! never hold both halves of a match. Neighbours: `arrive.rs` (the other order of events).

use super::states::{Body, Claim, Inbound, Receive, ReceiveStage, Request, Room};
use super::{Id, Machine};
use crate::wire::Packet;
use crate::{
    Action, Arrived, Done, Element, Expected, Failure, Incoming, Key, Matched, MatchedId, OVERHEAD,
    RequestId, Selector, Span, TagSelector,
};

impl Machine {
    /// Starts to receive the first message that `selector` accepts, as elements of this kind; `into` is the
    /// machine's until the completion.
    ///
    /// Messages that have arrived already are received even from peers that are gone; when there are
    /// none and no more can come, the completion is at once a failure; but from any source this rank can always send to
    /// itself, so that such a receive waits, if [forsaken](Machine::is_forsaken).
    pub fn receive(&mut self, selector: Selector, into: Span, element: Element) -> RequestId {
        let room = Room { into, element };
        if let Some(index) = self.unexpected.find(&selector)
            && let Some(message) = self.inbound.id_at(index)
        {
            self.unexpected.remove(index);
            let id = self.start(Request::Receive(Receive { selector, room, stage: ReceiveStage::Posted }));
            self.join(id, room, message);
            return RequestId(id);
        }
        let refusal = match selector.source {
            Some(peer) => self.refusal(peer),
            None => self.aborted.then_some(Failure::Aborted),
        };
        if let Some(failure) = refusal {
            return self.fail_at_once(failure);
        }
        let id = self.start(Request::Receive(Receive { selector, room, stage: ReceiveStage::Posted }));
        self.posted.post(id.index, selector);
        RequestId(id)
    }

    /// Receives a message that came before it was asked for, without a request, if the first that `expected` accepts
    /// has arrived whole. Before anything else is asked of this machine, the caller copies what the receive gets, and
    /// drops the bounce memory.
    ///
    /// `None`: nothing has happened, and the receive is to be begun by [`Machine::receive`].
    ///
    /// ```
    /// use ringworld_protocol::*;
    /// let [mut here, mut there] = [0, 1].map(|rank| Machine::new(Config::new(rank, 2, 1024, 8192).unwrap()));
    /// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
    /// let departure = there.depart(0, &envelope, 100).expect("there is room");
    /// let target = here.header(1, departure.encode(&mut [0; Header::MAX]), 100)?;
    /// let selector = Selector { context: 0, source: Some(1), tag: TagSelector::Exact(7) };
    /// let expected = Expected { selector, element: Element::RAW, room: 200 };
    /// assert_eq!(here.take_arrived(&expected), None);
    /// here.delivered(target.token);
    /// let Arrived { bounce, bytes, ending } = here.take_arrived(&expected).expect("all of it is here");
    /// assert_eq!((bounce, bytes, ending.map(|done| done.len)), (Some(target.token), 100, Ok(100)));
    /// # Ok::<(), Malformed>(())
    /// ```
    pub fn take_arrived(&mut self, expected: &Expected) -> Option<Arrived> {
        let Expected { selector, element, room } = *expected;
        let index = self.unexpected.find(&selector)?;
        let id = self.inbound.id_at(index)?;
        let Inbound { incoming, charged, .. } =
            self.inbound.remove_if(id, |message| (message.body == Body::Arrived).then_some(*message))?;
        self.unexpected.remove(index);
        if charged {
            self.free_credit(incoming.source, incoming.len + OVERHEAD);
        }
        let room = Room { into: Span { buffer: None, offset: 0, len: room }, element };
        let bounce = (incoming.len > 0).then_some(id.to_bits());
        Some(Arrived { bounce, bytes: room.of(&incoming).len, ending: room.filled_by(&incoming) })
    }

    /// Whether any message has come before it was asked for, and may be received.
    #[must_use]
    #[inline]
    pub fn has_unexpected(&self) -> bool {
        !self.unexpected.is_empty()
    }

    /// The message that a receive with this selector would get if it were posted now.
    #[must_use]
    pub fn probe(&mut self, selector: &Selector) -> Option<Incoming> {
        let index = self.unexpected.find(selector)?;
        self.inbound.get(self.inbound.id_at(index)?).map(|message| message.incoming)
    }

    /// Like [`Machine::probe`], and takes the message out of matching: only the holder of the handle
    /// can receive it, whatever other threads do.
    pub fn take_matched(&mut self, selector: &Selector) -> Option<Matched> {
        let index = self.unexpected.find(selector)?;
        let id = self.inbound.id_at(index)?;
        let message = self.inbound.get_mut(id)?;
        message.claim = Claim::Taken;
        let incoming = message.incoming;
        self.unexpected.remove(index);
        Some(Matched { incoming, handle: MatchedId(id) })
    }

    /// Starts to receive a message that was taken out of matching.
    pub fn receive_matched(&mut self, matched: MatchedId, into: Span, element: Element) -> RequestId {
        let MatchedId(message) = matched;
        let Some(&Inbound { incoming, body, claim: Claim::Taken, .. }) = self.inbound.get(message) else {
            // `fail_all` or `leave` has dropped the message since.
            return self.fail_at_once(Failure::Aborted);
        };
        if let Body::Lost(failure) = body {
            self.inbound.remove(message);
            return self.fail_at_once(failure);
        }
        let selector = Selector {
            context: incoming.envelope.context,
            source: Some(incoming.source),
            tag: TagSelector::Exact(incoming.envelope.tag),
        };
        let room = Room { into, element };
        let id = self.start(Request::Receive(Receive { selector, room, stage: ReceiveStage::Posted }));
        self.join(id, room, message);
        RequestId(id)
    }

    /// Drops a message that was taken out of matching. It counts as received: its sender succeeds.
    pub fn release(&mut self, matched: MatchedId) {
        let MatchedId(id) = matched;
        if self.inbound.get(id).is_some_and(|message| message.claim == Claim::Taken) {
            self.discard(id, |id| Packet::Ack { id });
        }
    }

    /// Withdraws a receive that has matched nothing; it completes with [`Failure::Cancelled`].
    ///
    /// `false`: it has matched or ended already, or is a send, and goes on as if nothing had happened.
    pub fn cancel(&mut self, receive: RequestId) -> bool {
        let RequestId(id) = receive;
        if let Some(Request::Receive(Receive { stage: ReceiveStage::Posted, .. })) = self.requests.get(id)
            && self.posted.remove(id.index)
        {
            self.complete(id, Err(Failure::Cancelled));
            return true;
        }
        false
    }

    /// Joins a receive with a message that came before it and is in no list any more.
    fn join(&mut self, id: Id, room: Room, message: Id) {
        let Some(slot) = self.inbound.get_mut(message) else { return };
        slot.claim = Claim::Matched(id);
        let Inbound { incoming, body, .. } = *slot;
        match body {
            Body::Arriving => self.set_stage(id, ReceiveStage::Arriving(incoming)),
            Body::Arrived => self.unpack(id, room, message),
            Body::Offered(number) => {
                self.inbound.remove(message);
                self.answer_rts(id, room, incoming, number);
            }
            Body::Lost(failure) => {
                self.inbound.remove(message);
                self.complete(id, Err(failure));
            }
            Body::Spent => {}
        }
    }

    /// Completes a receive from bounce memory.
    pub(super) fn unpack(&mut self, id: Id, room: Room, message: Id) {
        let Some(incoming) = self.inbound.get(message).map(|slot| slot.incoming) else { return };
        let into = room.of(&incoming);
        if into.len > 0 {
            self.actions.push_back(Action::Copy { bounce: message.to_bits(), into });
        }
        self.spend(message);
        self.complete(id, room.filled_by(&incoming));
    }

    /// Gives back what an eager message that has arrived in bounce memory occupies.
    pub(super) fn spend(&mut self, message: Id) {
        let Some(slot) = self.inbound.get_mut(message) else { return };
        let Incoming { source, len, .. } = slot.incoming;
        let charged = slot.charged;
        if len > 0 {
            slot.body = Body::Spent;
            self.actions.push_back(Action::Release { bounce: message.to_bits() });
        } else {
            self.inbound.remove(message);
        }
        if charged {
            self.free_credit(source, len + OVERHEAD);
        }
    }

    /// Gives a message back that a receive has got and whose receiver does not want it after all: it is as if it had
    /// not been received yet, and takes its old place among those that nobody has asked for. It goes to the earliest
    /// posted receive that accepts it, if there is one.
    ///
    /// The answer is a token, by which the caller keeps the message as it keeps bounce memory; `None`: nobody can
    /// receive it any more. Call it before the next action is taken.
    ///
    /// ```
    /// use ringworld_protocol::*;
    /// let [mut here, mut there] = [0, 1].map(|rank| Machine::new(Config::new(rank, 2, 1024, 8192).unwrap()));
    /// let into = Span::of(BufferId::FIRST, 100);
    /// let selector = Selector { context: 0, source: Some(1), tag: TagSelector::Exact(7) };
    /// here.receive(selector, into, Element::RAW);
    /// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
    /// let departure = there.depart(0, &envelope, 100).expect("there is room");
    /// let target = here.header(1, departure.encode(&mut [0; Header::MAX]), 100)?;
    /// let done = here.conclude(target.token).expect("it has arrived").outcome.expect("it fits");
    /// let bounce = here.give_back(&done).expect("somebody may ask for it");
    /// let again = here.receive(selector, into, Element::RAW);
    /// assert_eq!(here.next_action(), Some(Action::Copy { bounce, into }));
    /// assert_eq!(here.next_action(), Some(Action::Release { bounce }));
    /// assert_eq!(here.next_completion().map(|completion| completion.request), Some(again));
    /// # Ok::<(), Malformed>(())
    /// ```
    pub fn give_back(&mut self, done: &Done) -> Option<u64> {
        if self.aborted || self.leaving {
            return None;
        }
        let Done { source, envelope, len, arrival } = *done;
        Some(self.put_back(Incoming { source, envelope, len, arrival }, Body::Arrived))
    }

    /// Like [`Machine::give_back`], for a receive whose message is on its way: that goes on, into the same memory, and
    /// the message may be matched by another receive meanwhile. When the request ends well, the caller keeps what came
    /// by the token, and calls [`Machine::delivered`] with it.
    ///
    /// `None`: the receive has matched nothing or has ended, its message does not fit, which consumes it, or nobody can
    /// receive it any more.
    pub fn abandon(&mut self, receive: RequestId) -> Option<u64> {
        if self.aborted || self.leaving {
            return None;
        }
        let Some(Request::Receive(receive)) = self.requests.get(receive.0) else { return None };
        let incoming = *receive.matched()?;
        receive.room.filled_by(&incoming).ok()?;
        Some(self.put_back(incoming, Body::Arriving))
    }

    /// Lists a message again that was matched once, or joins it with the receive that has waited for it.
    fn put_back(&mut self, incoming: Incoming, body: Body) -> u64 {
        let Incoming { source, envelope, arrival, .. } = incoming;
        let message = Inbound { incoming, body, claim: Claim::Unexpected, charged: false };
        let id = self.inbound.insert(message);
        match self.match_posted(source, &envelope).map(|(receive, posted)| (receive, posted.room)) {
            Some((receive, room)) => self.join(receive, room, id),
            None => self.unexpected.return_to(id.index, envelope.context, source, envelope.tag, arrival),
        }
        id.to_bits()
    }

    /// Joins a receive with a request to send: asks for its memory to be exposed, if any is needed.
    pub(super) fn answer_rts(&mut self, id: Id, room: Room, incoming: Incoming, number: u64) {
        self.free_credit_quietly(incoming.source, OVERHEAD);
        let into = room.of(&incoming);
        if into.len > 0 {
            self.set_stage(id, ReceiveStage::Exposing(incoming, number));
            let expose = Action::Expose { peer: incoming.source, into, token: id.to_bits() };
            self.actions.push_back(expose);
        } else {
            self.push_message(incoming.source, Packet::Ack { id: number }, None, None);
            self.complete(id, room.filled_by(&incoming));
        }
    }

    /// The memory of a receive is open to its sender under `key`. Tokens of requests that have ended
    /// are ignored.
    pub fn exposed(&mut self, token: u64, key: Key) {
        let id = Id::from_bits(token);
        if let Some(Request::Receive(receive)) = self.requests.get_mut(id)
            && let ReceiveStage::Exposing(incoming, number) = receive.stage
        {
            receive.stage = ReceiveStage::Granted(incoming);
            let accepted = receive.room.of(&incoming).len as u64;
            self.push_message(incoming.source, Packet::Cts { id: number, accepted, key }, None, None);
        }
    }

    /// The memory of a receive could not be opened: the receive fails with [`Failure::Expose`] and its
    /// sender with [`Failure::Refused`].
    pub fn expose_failed(&mut self, token: u64) {
        let id = Id::from_bits(token);
        if let Some(Request::Receive(receive)) = self.requests.get(id)
            && let ReceiveStage::Exposing(incoming, number) = receive.stage
        {
            self.push_message(incoming.source, Packet::Nack { id: number }, None, None);
            self.complete(id, Err(Failure::Expose { peer: incoming.source }));
        }
    }

    /// All of an exposed span has been written. Tokens of requests that have ended are ignored.
    pub fn filled(&mut self, token: u64) {
        let id = Id::from_bits(token);
        if let Some(Request::Receive(receive)) = self.requests.get(id)
            && let ReceiveStage::Granted(incoming) = receive.stage
        {
            let outcome = receive.room.filled_by(&incoming);
            self.complete(id, outcome);
        }
    }

    /// Frees credit just before a message goes to the same peer anyway, which then carries it.
    pub(super) fn free_credit_quietly(&mut self, peer: crate::Rank, cost: usize) {
        if let Some(account) = self.peers.get_mut(peer) {
            account.credit.free(cost);
        }
    }

    pub(super) fn set_stage(&mut self, id: Id, stage: ReceiveStage) {
        if let Some(Request::Receive(receive)) = self.requests.get_mut(id) {
            receive.stage = stage;
        }
    }
}
