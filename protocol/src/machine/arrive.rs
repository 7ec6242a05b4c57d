//! Events from the transport: headers and completed payloads.
//!
//! Invariant: a header is checked completely before anything changes, so a refused one leaves no trace.
//! Neighbours: `wire/` (form), `receive.rs` (the other order of events), `send.rs` (answers to sends).

use super::states::{Body, Claim, Inbound, Receive, ReceiveStage, Request, Send, received};
use super::{CONTROL, Id, Machine};
use crate::credit::Credit;
use crate::wire::{Frame, Key, Packet};
use crate::{Envelope, Incoming, Malformed, OVERHEAD, Place, Rank, Target};

/// A packet whose claims have been checked against what is known.
enum Checked {
    Eager(Incoming),
    Rts { incoming: Incoming, number: u64, asks: bool },
    Cts { id: u64, accepted: usize, key: Key },
    Answer { id: u64, send: Send, refused: bool },
    Credit,
    Noted,
}

impl Checked {
    /// Which request this shows to have arrived at the peer; `Some(None)`: the one that asked.
    fn answers(&self) -> Option<Option<u64>> {
        match self {
            Self::Cts { id, .. } | Self::Answer { id, .. } => Some(Some(*id)),
            Self::Noted => Some(None),
            Self::Eager(_) | Self::Rts { .. } | Self::Credit => None,
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
        let frame = Frame::decode(header)?;
        let account = self.peers.get(peer).filter(|account| account.fate.is_none() && !self.aborted);
        let account =
            account.ok_or_else(|| Malformed(format!("a message from rank {peer}, which is gone")))?;
        let available = account.credit.refilled(frame.credit, &self.limits).ok_or_else(|| {
            Malformed(format!(
                "rank {peer} gives back {} bytes of credit that it does not hold",
                frame.credit
            ))
        })?;
        let checked = self.check(peer, &frame, payload_len)?;
        if let Some(account) = self.peers.get_mut(peer) {
            let answers = checked.answers().is_some_and(|id| account.credit.seen(id));
            account.credit.refill(available, &self.limits);
            if answers || frame.credit > 0 {
                self.pump(peer);
            }
        }
        Ok(match checked {
            Checked::Eager(incoming) => self.accept(incoming),
            Checked::Rts { incoming, number, asks } => {
                self.consider(incoming, number, asks);
                Target { announces: Some(incoming.envelope), ..NOTHING }
            }
            Checked::Cts { id, accepted, key } => {
                self.granted(id, accepted, key);
                NOTHING
            }
            Checked::Answer { id, send, refused } => {
                self.answered(id, &send, refused);
                NOTHING
            }
            Checked::Credit | Checked::Noted => NOTHING,
        })
    }

    /// The payload of a message has arrived where [`Machine::header`] said; also called when there was
    /// none. Tokens of messages that have ended are ignored.
    pub fn delivered(&mut self, token: u64) {
        if token == CONTROL {
            return;
        }
        if token & RECEIVE != 0 {
            let id = Id::from_bits(token & !RECEIVE);
            if let Some(Request::Receive(receive)) = self.requests.get(id)
                && let ReceiveStage::Arriving(incoming) = &receive.stage
            {
                let outcome = received(incoming, receive.into.len);
                self.finish(id, outcome);
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
                let into = receive.into;
                self.unpack(request, into, id);
            }
        }
    }

    fn check_eager(&self, peer: Rank, payload_len: usize) -> Result<(), Malformed> {
        if self.credit(peer).is_some_and(|credit| credit.admits_eager(payload_len, &self.limits)) {
            return Ok(());
        }
        let window = self.limits.window;
        Err(Malformed(format!(
            "rank {peer} sends {payload_len} bytes beyond its window of {window}: all ranks need the same settings"
        )))
    }

    #[inline]
    fn check(&self, peer: Rank, frame: &Frame, payload_len: usize) -> Result<Checked, Malformed> {
        if payload_len != 0 && !matches!(frame.packet, Packet::Eager { .. }) {
            return Err(Malformed(format!("{payload_len} bytes of payload behind a header that has none")));
        }
        match frame.packet {
            Packet::Eager { envelope } => {
                self.check_eager(peer, payload_len)?;
                Ok(Checked::Eager(Incoming { source: peer, envelope, len: payload_len }))
            }
            Packet::Rts { envelope, id, len, asks } => {
                if !self.credit(peer).is_some_and(|credit| credit.admits_request(&self.limits)) {
                    let (window, requests) = (self.limits.window, self.config.requests);
                    return Err(Malformed(format!(
                        "rank {peer} sends one request more than {requests} beside a full window of {window}: \
                         all ranks need the same settings"
                    )));
                }
                let len = usize::try_from(len).map_err(|_| {
                    Malformed(format!("a message of {len} bytes, more than this host can name"))
                })?;
                let incoming = Incoming { source: peer, envelope, len };
                Ok(Checked::Rts { incoming, number: id, asks })
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
            Packet::Ack { id } => Ok(Checked::Answer { id, send: self.offered(peer, id)?, refused: false }),
            Packet::Nack { id } => Ok(Checked::Answer { id, send: self.offered(peer, id)?, refused: true }),
            Packet::Credit if frame.credit == 0 => Err(Malformed("a credit message without credit".into())),
            Packet::Credit => Ok(Checked::Credit),
            Packet::Noted if self.credit(peer).is_some_and(Credit::has_asked) => Ok(Checked::Noted),
            Packet::Noted => Err(Malformed(format!("rank {peer} answers a question that was not asked"))),
        }
    }

    fn credit(&self, peer: Rank) -> Option<&Credit> {
        self.peers.get(peer).map(|account| &account.credit)
    }

    /// An eager message that keeps to its window.
    fn accept(&mut self, incoming: Incoming) -> Target {
        let Incoming { source, envelope, len } = incoming;
        if let Some(account) = self.peers.get_mut(source) {
            account.credit.admit(len + OVERHEAD);
        }
        if let Some((request, receive)) = self.match_posted(source, &envelope) {
            receive.stage = ReceiveStage::Arriving(incoming);
            let into = receive.into.cut(len);
            // It goes straight to its receive and occupies nothing here.
            self.free_credit(source, len + OVERHEAD);
            let place = if into.len > 0 { Place::Span(into) } else { Place::Nothing };
            return Target { token: request.to_bits() | RECEIVE, place, announces: Some(envelope) };
        }
        let id = self.inbound.insert(Inbound { incoming, body: Body::Arriving, claim: Claim::Unexpected });
        self.unexpected.arrive(id.index, envelope.context, source, envelope.tag);
        let place = if len > 0 { Place::Bounce { len } } else { Place::Nothing };
        Target { token: id.to_bits(), place, announces: Some(envelope) }
    }

    /// A request to send that keeps to its budget.
    fn consider(&mut self, incoming: Incoming, number: u64, asks: bool) {
        let Incoming { source, envelope, .. } = incoming;
        if let Some(account) = self.peers.get_mut(source) {
            account.credit.admit(OVERHEAD);
        }
        if let Some((request, receive)) = self.match_posted(source, &envelope) {
            let into = receive.into;
            self.meet(request, into, incoming, number);
            return;
        }
        let message = Inbound { incoming, body: Body::Offered(number), claim: Claim::Unexpected };
        let id = self.inbound.insert(message);
        self.unexpected.arrive(id.index, envelope.context, source, envelope.tag);
        if asks {
            self.push_message(source, Packet::Noted, None, None);
        } else {
            // It may have used the last of the budget while something was owed.
            self.settle_if_due(source);
        }
    }

    /// Takes the posted receive that gets this message out of the lists.
    fn match_posted(&mut self, source: Rank, envelope: &Envelope) -> Option<(Id, &mut Receive)> {
        let index = self.posted.take_match(envelope.context, source, envelope.tag)?;
        let id = self.requests.id_at(index)?;
        match self.requests.get_mut(id) {
            Some(Request::Receive(receive)) => Some((id, receive)),
            _ => None,
        }
    }
}

/// Marks the token of a message that goes straight to its receive: the rest is the name of the receive, not of
/// an inbound message. No slot has so large an index.
const RECEIVE: u64 = 1 << 31;

const NOTHING: Target = Target { token: CONTROL, place: Place::Nothing, announces: None };
