//! Events from the transport: headers and completed payloads.
//!
//! Invariant: a header is checked completely before anything changes, so a refused one leaves no trace.
//! Neighbours: `wire/` (form), `receive.rs` (the other order of events), `send.rs` (answers to sends).

use super::states::{Body, Claim, Inbound, Receive, ReceiveStage, Request, Send, received};
use super::{CONTROL, Id, Machine};
use crate::wire::{Frame, Key, Packet};
use crate::{Envelope, Incoming, Malformed, OVERHEAD, Place, Rank, Target};

/// A packet whose claims have been checked against what is known.
enum Checked {
    Eager(Incoming),
    Rts(Incoming, u64),
    Cts { id: u64, accepted: usize, key: Key },
    Answer { id: u64, send: Send, refused: bool },
    Credit,
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
        if frame.credit > 0
            && let Some(account) = self.peers.get_mut(peer)
        {
            account.credit.refill(available);
            self.pump(peer);
        }
        Ok(match checked {
            Checked::Eager(incoming) => self.accept(incoming),
            Checked::Rts(incoming, number) => {
                self.consider(incoming, number);
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
            Checked::Credit => NOTHING,
        })
    }

    /// The payload of a message has arrived where [`Machine::header`] said; also called when there was
    /// none. Tokens of messages that have ended are ignored.
    pub fn delivered(&mut self, token: u64) {
        let id = Id::from_bits(token);
        let Some(message) = self.inbound.get_mut(id).filter(|_| token != CONTROL) else { return };
        let Body::Arriving { bounced } = message.body else { return };
        message.body = Body::Arrived;
        let (incoming, claim) = (message.incoming, message.claim);
        match claim {
            Claim::Unexpected | Claim::Taken => {}
            Claim::Discarded => self.spend(id),
            Claim::Matched(request) => {
                let Some(Request::Receive(receive)) = self.requests.get(request) else { return };
                let into = receive.into;
                if bounced {
                    self.unpack(request, into, id);
                } else {
                    self.inbound.remove(id);
                    self.finish(request, received(&incoming, into.len));
                }
            }
        }
    }

    fn check(&self, peer: Rank, frame: &Frame, payload_len: usize) -> Result<Checked, Malformed> {
        if payload_len != 0 && !matches!(frame.packet, Packet::Eager { .. }) {
            return Err(Malformed(format!("{payload_len} bytes of payload behind a header that has none")));
        }
        match frame.packet {
            Packet::Eager { envelope } => {
                self.check_window(peer, payload_len)?;
                Ok(Checked::Eager(Incoming { source: peer, envelope, len: payload_len }))
            }
            Packet::Rts { envelope, id, len } => {
                self.check_window(peer, 0)?;
                let len = usize::try_from(len).map_err(|_| {
                    Malformed(format!("a message of {len} bytes, more than this host can name"))
                })?;
                Ok(Checked::Rts(Incoming { source: peer, envelope, len }, id))
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
        }
    }

    fn check_window(&self, peer: Rank, payload_len: usize) -> Result<(), Malformed> {
        let fits = payload_len.checked_add(OVERHEAD).is_some_and(|cost| {
            self.peers.get(peer).is_some_and(|account| account.credit.admits(cost, &self.limits))
        });
        if fits {
            return Ok(());
        }
        let window = self.limits.window;
        Err(Malformed(format!(
            "rank {peer} sends {payload_len} bytes beyond its window of {window}: all ranks need the same settings"
        )))
    }

    /// An eager message that keeps to its window.
    fn accept(&mut self, incoming: Incoming) -> Target {
        let Incoming { source, envelope, len } = incoming;
        if let Some(account) = self.peers.get_mut(source) {
            account.credit.admit(len + OVERHEAD);
        }
        let body = Body::Arriving { bounced: false };
        if let Some((request, receive)) = self.match_posted(source, &envelope) {
            let claim = Claim::Matched(request);
            let token = self.inbound.insert(Inbound { incoming, body, claim }).to_bits();
            self.set_stage(request, ReceiveStage::Arriving(incoming));
            // It goes straight to its receive and occupies nothing here.
            self.free_credit(source, len + OVERHEAD);
            let into = receive.into.cut(len);
            let place = if into.len > 0 { Place::Span(into) } else { Place::Nothing };
            return Target { token, place, announces: Some(envelope) };
        }
        let body = Body::Arriving { bounced: true };
        let id = self.inbound.insert(Inbound { incoming, body, claim: Claim::Unexpected });
        self.unexpected.arrive(id.index, envelope.context, source, envelope.tag);
        let place = if len > 0 { Place::Bounce { len } } else { Place::Nothing };
        Target { token: id.to_bits(), place, announces: Some(envelope) }
    }

    /// A request to send that keeps to its window.
    fn consider(&mut self, incoming: Incoming, number: u64) {
        let Incoming { source, envelope, .. } = incoming;
        if let Some(account) = self.peers.get_mut(source) {
            account.credit.admit(OVERHEAD);
        }
        if let Some((request, receive)) = self.match_posted(source, &envelope) {
            self.meet(request, receive.into, incoming, number);
            return;
        }
        let message = Inbound { incoming, body: Body::Offered(number), claim: Claim::Unexpected };
        let id = self.inbound.insert(message);
        self.unexpected.arrive(id.index, envelope.context, source, envelope.tag);
    }

    /// Takes the posted receive that gets this message out of the lists.
    fn match_posted(&mut self, source: Rank, envelope: &Envelope) -> Option<(Id, Receive)> {
        let index = self.posted.take_match(envelope.context, source, envelope.tag)?;
        let id = self.requests.id_at(index)?;
        match self.requests.get(id) {
            Some(Request::Receive(receive)) => Some((id, *receive)),
            _ => None,
        }
    }
}

const NOTHING: Target = Target { token: CONTROL, place: Place::Nothing, announces: None };
