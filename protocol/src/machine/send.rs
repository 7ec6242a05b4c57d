//! Sending: from the call, through the wait for credit, to the last byte handed to the transport.
//!
//! Invariant: requests and payloads leave in the order of the calls, per peer; a send that cannot leave
//! holds back everything behind it. Whether a short one leaves with its payload or as a request is for
//! `credit.rs` to say. Neighbours: `arrive.rs` (grants and credit), `credit.rs`.

use super::states::{Request, Send, SendStage};
use super::{Id, Machine};
use crate::credit::Way;
use crate::wire::{Key, Packet};
use crate::{Action, Envelope, Failure, Malformed, Mode, Rank, RequestId, Span};

impl Machine {
    /// Starts to send `data`, which must stay untouched until the completion.
    ///
    /// The completion is at once a failure when the peer is gone or there is no such rank. A rank may
    /// send to itself.
    pub fn send(&mut self, peer: Rank, envelope: Envelope, data: Span, mode: Mode) -> RequestId {
        if let Some(failure) = self.refusal(peer) {
            return self.fail_at_once(failure);
        }
        let send = Send { peer, envelope, data, mode, stage: SendStage::Queued };
        let id = self.start(Request::Send(send));
        let Some(account) = self.peers.get_mut(peer) else { return RequestId(id) };
        let eager = self.config.eager_len(&send);
        if account.queue.first().is_none()
            && let Some(way) = account.credit.depart(id.to_bits(), eager, &self.limits)
        {
            self.launch(id, way);
        } else {
            self.waiting.push_back(&mut account.queue, id.index);
        }
        RequestId(id)
    }

    /// The transport is done with the payload of the [`Action::Message`] or [`Action::Put`] that had
    /// this token. Tokens of requests that have ended are ignored.
    pub fn sent(&mut self, token: u64) {
        let id = Id::from_bits(token);
        if let Some(Request::Send(send)) = self.requests.get(id)
            && matches!(send.stage, SendStage::Leaving | SendStage::Putting)
        {
            let done = send.done();
            self.finish(id, Ok(done));
        }
    }

    /// Launches what the credit of `peer` allows.
    pub(super) fn pump(&mut self, peer: Rank) {
        while let Some(account) = self.peers.get_mut(peer)
            && let Some(index) = account.queue.first()
            && let Some(id) = self.requests.id_at(index)
            && let Some(Request::Send(send)) = self.requests.get(id)
            && let eager = self.config.eager_len(send)
            && let Some(way) = account.credit.depart(id.to_bits(), eager, &self.limits)
        {
            self.waiting.unlink(&mut account.queue, index);
            self.launch(id, way);
        }
    }

    /// Hands a send whose credit is spent to the transport.
    fn launch(&mut self, id: Id, way: Way) {
        let Some(Request::Send(send)) = self.requests.get_mut(id) else { return };
        let Send { peer, envelope, data, .. } = *send;
        match way {
            Way::Eager => {
                send.stage = SendStage::Leaving;
                let payload = (data.len > 0).then_some(data);
                self.push_message(peer, Packet::Eager { envelope }, payload, Some(id.to_bits()));
            }
            Way::Request { asks } => {
                send.stage = SendStage::Offered;
                let packet = Packet::Rts { envelope, id: id.to_bits(), len: data.len as u64, asks };
                self.push_message(peer, packet, None, None);
            }
        }
    }

    /// The send that `peer` answers by naming `id`, if it waits for an answer.
    pub(super) fn offered(&self, peer: Rank, id: u64) -> Result<Send, Malformed> {
        match self.requests.get(Id::from_bits(id)) {
            Some(Request::Send(send)) if send.peer == peer && send.stage == SendStage::Offered => Ok(*send),
            _ => Err(Malformed(format!("an answer to request {id:#x}, which was not sent or is answered"))),
        }
    }

    /// The peer has matched the message and opened memory for its first `accepted` bytes.
    pub(super) fn granted(&mut self, id: u64, accepted: usize, key: Key) {
        let Some(Request::Send(send)) = self.requests.get_mut(Id::from_bits(id)) else { return };
        send.stage = SendStage::Putting;
        let (peer, payload) = (send.peer, send.data.cut(accepted));
        self.actions.push_back(Action::Put { peer, key, offset: 0, payload, token: id });
    }

    /// The peer has matched the message and wants no bytes, or cannot take them.
    pub(super) fn answered(&mut self, id: u64, send: &Send, refused: bool) {
        let outcome = if refused { Err(Failure::Refused { peer: send.peer }) } else { Ok(send.done()) };
        self.finish(Id::from_bits(id), outcome);
    }
}

impl crate::Config {
    /// The length of the payload when it may leave without being asked for.
    fn eager_len(&self, send: &Send) -> Option<usize> {
        (send.mode == Mode::Standard && send.data.len <= self.eager_limit).then_some(send.data.len)
    }
}
