//! Events from the transport: headers and completed payloads.
//!
//! Invariant: a header is checked completely before anything changes, so a refused one leaves no trace.
//! Neighbours: `wire/` (form), `receive.rs` (the other order of events), `send.rs` (answers to sends).

use super::peers::is_users;
use super::states::{Body, Claim, Inbound, Receive, ReceiveStage, Request, Room, Send};
use super::{CONTROL, Id, Machine};
use crate::credit::{Class, Credit};
use crate::wire::{Header, Key, Packet};
use crate::{
    Completion, Done, Envelope, Expected, Failure, Incoming, Malformed, OVERHEAD, Offer, Place, Rank,
    RequestId, Selector, Span, Target,
};

/// A packet whose claims have been checked against what is known.
enum Checked {
    Rts { incoming: Incoming, number: u64, probes: bool },
    Cts { id: u64, accepted: usize, key: Key },
    Answer { id: u64, send: Send, how: Answer },
    Credit,
    ProbeAck,
}

/// How a request to send is answered when no bytes are wanted.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// The message has been matched.
    Taken,
    /// It has been matched, but the receiver cannot open its memory.
    Refused,
    /// The receiver is about to finish, and will match no more.
    Left,
}

impl Checked {
    /// Which request this shows to have arrived at the peer; `Some(None)`: the one that probes the window.
    fn acknowledges(&self) -> Option<Option<u64>> {
        match self {
            Self::Cts { id, .. } | Self::Answer { id, .. } => Some(Some(*id)),
            Self::ProbeAck => Some(None),
            Self::Rts { .. } | Self::Credit => None,
        }
    }
}

impl Machine {
    /// The header of a message from `peer` has arrived; `payload_len` bytes follow. Call it in the
    /// order of arrival, per peer, and [`Machine::delivered`] once the payload is in its place.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the header cannot be; the machine is as before, and the peer should be cut off.
    pub fn header(&mut self, peer: Rank, header: &[u8], payload_len: usize) -> Result<Target, Malformed> {
        let decoded = Header::decode(header)?;
        let account = self.peers.get_mut(peer).filter(|account| account.fate.is_none() && !self.aborted);
        let account = account.ok_or_else(|| gone(peer))?;
        let available = account
            .credit
            .refilled(decoded.credit, &self.limits)
            .ok_or_else(|| no_such_credit(peer, decoded.credit))?;
        if let Packet::Eager { envelope } = decoded.packet {
            if !account.credit.admits_eager(payload_len, &self.limits) {
                return Err(beyond_window(peer, payload_len, self.limits.window));
            }
            account.credit.refill(available, &self.limits);
            if decoded.credit > 0 && account.holds_back() {
                self.pump(peer);
            }
            return Ok(self.accept(Incoming {
                source: peer,
                envelope,
                len: payload_len,
                arrival: self.arrivals,
            }));
        }
        let checked = self.check(peer, &decoded, payload_len)?;
        if let Some(account) = self.peers.get_mut(peer) {
            let acknowledged = checked.acknowledges().is_some_and(|id| account.credit.seen(id));
            account.credit.refill(available, &self.limits);
            if acknowledged || decoded.credit > 0 {
                self.pump(peer);
            }
        }
        Ok(match checked {
            Checked::Rts { incoming, number, probes } => {
                self.match_request(incoming, number, probes);
                Target { announces: Some(incoming.envelope), ..NOTHING }
            }
            Checked::Cts { id, accepted, key } => {
                self.granted(id, accepted, key);
                NOTHING
            }
            Checked::Answer { id, send, how } => {
                self.answered(id, &send, how);
                NOTHING
            }
            Checked::Credit | Checked::ProbeAck => NOTHING,
        })
    }

    /// Whether a receive with this selector could be [expected](Machine::take_expected): no message that it accepts has
    /// come yet, and one may.
    #[must_use]
    #[inline]
    pub fn may_expect(&mut self, selector: &Selector) -> bool {
        !self.leaving && self.ended(selector.source).is_none() && self.unexpected.find(selector).is_none()
    }

    /// Takes an eager message, all of which has arrived, if a receive that is not posted gets it: no posted one is
    /// before it, and no message before this one is for it. Says how many bytes of the payload the receive gets, and
    /// how it ends.
    ///
    /// `None`: nothing has happened, and the message is to be announced by [`Machine::header`].
    ///
    /// ```
    /// use ringworld_protocol::*;
    /// let [mut here, mut there] = [0, 1].map(|rank| Machine::new(Config::new(rank, 2, 1024, 8192).unwrap()));
    /// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
    /// let departure = there.depart(0, &envelope, 100).expect("there is room");
    /// let mut room = [0; Header::MAX];
    /// let header = departure.encode(&mut room);
    /// departure.left();
    /// let selector = Selector { context: 0, source: Some(1), tag: TagSelector::Exact(7) };
    /// let expected = Expected { selector, element: Element::RAW, room: 200 };
    /// assert!(here.may_expect(&selector));
    /// let (bytes, ending) = here.take_expected(1, header, 100, &expected).expect("it is the one");
    /// assert_eq!((bytes, ending.map(|done| done.len)), (100, Ok(100)));
    /// ```
    pub fn take_expected(
        &mut self,
        peer: Rank,
        header: &[u8],
        payload_len: usize,
        expected: &Expected,
    ) -> Option<(usize, Result<Done, Failure>)> {
        match self.offer(peer, header, payload_len, [expected]) {
            Offer::Taken { bytes, ending, .. } => Some((bytes, ending)),
            Offer::Refused | Offer::Elsewhere | Offer::Unclear => None,
        }
    }

    /// Like [`Machine::take_expected`], of several receives that are posted nowhere, in the order in which they were
    /// begun.
    ///
    /// ```
    /// use ringworld_protocol::*;
    /// let [mut here, mut there] = [0, 1].map(|rank| Machine::new(Config::new(rank, 2, 1024, 8192).unwrap()));
    /// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
    /// let departure = there.depart(0, &envelope, 100).expect("there is room");
    /// let mut room = [0; Header::MAX];
    /// let header = departure.encode(&mut room);
    /// departure.left();
    /// let selector = |tag| Selector { context: 0, source: Some(1), tag: TagSelector::Exact(tag) };
    /// let expected = [8, 7].map(|tag| Expected { selector: selector(tag), element: Element::RAW, room: 200 });
    /// assert!(matches!(here.offer(1, header, 100, &expected[..1]), Offer::Refused));
    /// assert!(matches!(here.offer(1, header, 100, &expected), Offer::Taken { place: 1, bytes: 100, ending: Ok(_) }));
    /// ```
    pub fn offer<'a>(
        &mut self,
        peer: Rank,
        header: &[u8],
        payload_len: usize,
        to: impl IntoIterator<Item = &'a Expected>,
    ) -> Offer {
        let Ok(Header { credit, packet }) = Header::decode(header) else { return Offer::Elsewhere };
        let (Packet::Eager { envelope } | Packet::Rts { envelope, .. }) = packet else {
            return Offer::Elsewhere;
        };
        if self.posted.accepts(envelope.context, peer, envelope.tag) {
            return Offer::Elsewhere;
        }
        let first =
            to.into_iter().enumerate().find(|(_, expected)| expected.selector.accepts(peer, &envelope));
        let Some((place, expected)) = first else { return Offer::Refused };
        let is_eager = matches!(packet, Packet::Eager { .. });
        if !is_eager || !self.may_expect(&expected.selector) {
            return Offer::Unclear;
        }
        match self.admit(peer, credit, envelope, payload_len) {
            Some(incoming) => {
                let into = Span { buffer: None, offset: 0, len: expected.room };
                let room = Room { into, element: expected.element };
                Offer::Taken { place, bytes: room.of(&incoming).len, ending: room.filled_by(&incoming) }
            }
            None => Offer::Unclear,
        }
    }

    /// Takes an eager message, all of which has arrived, if `wanted` says of its envelope for what. The caller knows by
    /// itself that nobody else may get it: no receive is posted for it, and no message that is as good came before it.
    ///
    /// `None`: nothing has happened, and the message is to be announced by [`Machine::header`].
    ///
    /// ```
    /// use ringworld_protocol::*;
    /// let [mut here, mut there] = [0, 1].map(|rank| Machine::new(Config::new(rank, 2, 1024, 8192).unwrap()));
    /// let envelope = Envelope { context: 1, element: Element::RAW, tag: 7, signature: [0; 24] };
    /// let departure = there.depart(0, &envelope, 100).expect("there is room");
    /// let mut room = [0; Header::MAX];
    /// let header = departure.encode(&mut room);
    /// departure.left();
    /// assert_eq!(here.take_wanted(1, header, 100, |envelope| (envelope.tag == 8).then_some(())), None);
    /// assert_eq!(here.take_wanted(1, header, 100, |envelope| (envelope.tag == 7).then_some("it")), Some("it"));
    /// ```
    pub fn take_wanted<R>(
        &mut self,
        peer: Rank,
        header: &[u8],
        payload_len: usize,
        wanted: impl FnOnce(&Envelope) -> Option<R>,
    ) -> Option<R> {
        let Header { credit, packet: Packet::Eager { envelope } } = Header::decode(header).ok()? else {
            return None;
        };
        let what = wanted(&envelope)?;
        self.admit(peer, credit, envelope, payload_len)?;
        Some(what)
    }

    /// Keeps account of an eager message that occupies nothing here. `None`: it breaks the rules, and nothing has
    /// happened.
    #[inline(always)]
    fn admit(&mut self, peer: Rank, credit: u64, envelope: Envelope, payload_len: usize) -> Option<Incoming> {
        let account = self.peers.get_mut(peer).filter(|account| account.fate.is_none())?;
        let available = account.credit.refilled(credit, &self.limits)?;
        if !account.credit.admits_eager(payload_len, &self.limits) {
            return None;
        }
        account.credit.refill(available, &self.limits);
        if credit > 0 && account.holds_back() {
            self.pump(peer);
        }
        let incoming = Incoming { source: peer, envelope, len: payload_len, arrival: self.arrivals };
        self.arrivals += 1;
        if let Some(account) = self.peers.get_mut(peer) {
            account.credit.admit(payload_len + OVERHEAD);
        }
        self.free_credit(peer, payload_len + OVERHEAD);
        Some(incoming)
    }

    /// The payload of a message has arrived where [`Machine::header`] said; also called when there was
    /// none. Tokens of messages that have ended are ignored.
    pub fn delivered(&mut self, token: u64) {
        if token == CONTROL {
            return;
        }
        if token & RECEIVE != 0 {
            let id = Id::from_bits(token & !RECEIVE);
            if let Some(outcome) = self.requests.get(id).and_then(arrived) {
                self.complete(id, outcome);
            }
            return;
        }
        let id = Id::from_bits(token);
        let Some(message) = self.inbound.get_mut(id) else { return };
        if message.body != Body::Arriving {
            return;
        }
        message.body = Body::Arrived;
        match message.claim {
            Claim::Unexpected | Claim::Taken => {}
            Claim::Discarded => self.spend(id),
            Claim::Matched(request) => {
                let Some(Request::Receive(receive)) = self.requests.get(request) else { return };
                let room = receive.room;
                self.unpack(request, room, id);
            }
        }
    }

    /// Like [`Machine::delivered`], and takes the completion with it where it is the only news: most often, and
    /// then nothing has to be queued.
    ///
    /// ```
    /// use ringworld_protocol::*;
    /// let [mut here, mut there] = [0, 1].map(|rank| Machine::new(Config::new(rank, 2, 1024, 8192).unwrap()));
    /// let into = Span::of(BufferId::FIRST, 100);
    /// let selector = Selector { context: 0, source: Some(1), tag: TagSelector::Exact(7) };
    /// let request = here.receive(selector, into, Element::RAW);
    /// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
    /// let departure = there.depart(0, &envelope, 100).expect("there is room");
    /// let target = here.header(1, departure.encode(&mut [0; Header::MAX]), 100)?;
    /// assert_eq!(target.place, Place::Span(into));
    /// assert_eq!(here.conclude(target.token).map(|completion| completion.request), Some(request));
    /// assert_eq!((here.pending(), here.next_completion()), (0, None));
    /// # Ok::<(), Malformed>(())
    /// ```
    pub fn conclude(&mut self, token: u64) -> Option<Completion> {
        if token == CONTROL || token & RECEIVE == 0 || self.has_news() {
            self.delivered(token);
            return None;
        }
        let id = Id::from_bits(token & !RECEIVE);
        let outcome = self.requests.remove_if(id, arrived)?;
        self.pending -= 1;
        Some(Completion { request: RequestId(id), outcome })
    }

    /// Checks a control message: what is not eager.
    fn check(&self, peer: Rank, decoded: &Header, payload_len: usize) -> Result<Checked, Malformed> {
        if payload_len != 0 {
            return Err(Malformed(format!("{payload_len} bytes of payload behind a header that has none")));
        }
        match decoded.packet {
            Packet::Eager { .. } => Err(Malformed("an eager message is no control message".into())),
            Packet::Rts { envelope, id, len, probes } => {
                let class = Class::of(envelope.context);
                if !self.credit(peer).is_some_and(|credit| credit.admits_request(class, &self.limits)) {
                    let (window, requests) = (self.limits.window, self.config.requests);
                    return Err(Malformed(format!(
                        "rank {peer} sends one request more than {requests} beside a full window of {window}: \
                         all ranks need the same settings"
                    )));
                }
                let len = usize::try_from(len).map_err(|_| {
                    Malformed(format!("a message of {len} bytes, more than this host can name"))
                })?;
                let incoming = Incoming { source: peer, envelope, len, arrival: self.arrivals };
                Ok(Checked::Rts { incoming, number: id, probes })
            }
            Packet::Cts { id, accepted, key } => {
                let len = self.offered(peer, id)?.data.len;
                match usize::try_from(accepted) {
                    Ok(accepted) if accepted > 0 && accepted <= len => Ok(Checked::Cts { id, accepted, key }),
                    _ => {
                        Err(Malformed(format!("rank {peer} accepts {accepted} bytes of a message of {len}")))
                    }
                }
            }
            Packet::Ack { id } => {
                Ok(Checked::Answer { id, send: self.offered(peer, id)?, how: Answer::Taken })
            }
            Packet::Nack { id } => {
                Ok(Checked::Answer { id, send: self.offered(peer, id)?, how: Answer::Refused })
            }
            Packet::Left { id } => {
                Ok(Checked::Answer { id, send: self.offered(peer, id)?, how: Answer::Left })
            }
            Packet::Credit if decoded.credit == 0 => Err(Malformed("a credit message without credit".into())),
            Packet::Credit => Ok(Checked::Credit),
            Packet::ProbeAck if self.credit(peer).is_some_and(Credit::is_probing) => Ok(Checked::ProbeAck),
            Packet::ProbeAck => {
                Err(Malformed(format!("rank {peer} acknowledges a window probe that was not sent")))
            }
        }
    }

    fn credit(&self, peer: Rank) -> Option<&Credit> {
        self.peers.get(peer).map(|account| &account.credit)
    }

    /// An eager message that keeps to its window.
    fn accept(&mut self, incoming: Incoming) -> Target {
        let Incoming { source, envelope, len, arrival } = incoming;
        self.arrivals = arrival + 1;
        if let Some(account) = self.peers.get_mut(source) {
            account.credit.admit(len + OVERHEAD);
        }
        if let Some((request, receive)) = self.match_posted(source, &envelope) {
            receive.stage = ReceiveStage::Arriving(incoming);
            let into = receive.room.of(&incoming);
            // It goes straight to its receive and occupies nothing here.
            self.free_credit(source, len + OVERHEAD);
            let place = if into.len > 0 { Place::Span(into) } else { Place::Nothing };
            return Target { token: request.to_bits() | RECEIVE, place, announces: Some(envelope) };
        }
        let unwanted = self.leaving && is_users(&incoming);
        if unwanted {
            self.note_unreceived(incoming);
        }
        let claim = if unwanted { Claim::Discarded } else { Claim::Unexpected };
        let id = self.inbound.insert(Inbound { incoming, body: Body::Arriving, claim, charged: true });
        if !unwanted {
            self.unexpected.arrive(id.index, envelope.context, source, envelope.tag, arrival);
        }
        let place = if len > 0 { Place::Bounce { len } } else { Place::Nothing };
        Target { token: id.to_bits(), place, announces: Some(envelope) }
    }

    /// A request to send that keeps to its budget.
    fn match_request(&mut self, incoming: Incoming, number: u64, probes: bool) {
        let Incoming { source, envelope, arrival, .. } = incoming;
        self.arrivals = arrival + 1;
        if let Some(account) = self.peers.get_mut(source) {
            account.credit.admit(OVERHEAD);
        }
        if let Some((request, receive)) = self.match_posted(source, &envelope) {
            let room = receive.room;
            self.answer_rts(request, room, incoming, number);
            return;
        }
        let message =
            Inbound { incoming, body: Body::Offered(number), claim: Claim::Unexpected, charged: true };
        let id = self.inbound.insert(message);
        if self.leaving && is_users(&incoming) {
            self.note_unreceived(incoming);
            return self.turn_away(id);
        }
        self.unexpected.arrive(id.index, envelope.context, source, envelope.tag, arrival);
        if probes {
            self.push_message(source, Packet::ProbeAck, None, None);
        } else {
            // It may have used the last of the budget while something was owed.
            self.return_credit_if_due(source);
        }
    }

    /// Takes the posted receive that gets this message out of the lists.
    pub(super) fn match_posted(&mut self, source: Rank, envelope: &Envelope) -> Option<(Id, &mut Receive)> {
        let index = self.posted.take_match(envelope.context, source, envelope.tag)?;
        match self.requests.at_mut(index)? {
            (id, Request::Receive(receive)) => Some((id, receive)),
            _ => None,
        }
    }
}

/// How a receive ends whose message has arrived in its memory.
fn arrived(request: &Request) -> Option<Result<Done, Failure>> {
    match request {
        Request::Receive(Receive { stage: ReceiveStage::Arriving(incoming), room, .. }) => {
            Some(room.filled_by(incoming))
        }
        _ => None,
    }
}

/// Marks the token of a message that goes straight to its receive: the rest is the name of the receive, not of
/// an inbound message. No slot has so large an index.
const RECEIVE: u64 = 1 << 31;

#[cold]
fn gone(peer: Rank) -> Malformed {
    Malformed(format!("a message from rank {peer}, which is gone"))
}

#[cold]
fn no_such_credit(peer: Rank, credit: u64) -> Malformed {
    Malformed(format!("rank {peer} gives back {credit} bytes of credit that it does not hold"))
}

#[cold]
fn beyond_window(peer: Rank, length: usize, window: usize) -> Malformed {
    Malformed(format!(
        "rank {peer} sends {length} bytes beyond its window of {window}: all ranks need the same settings"
    ))
}

const NOTHING: Target = Target { token: CONTROL, place: Place::Nothing, announces: None };
