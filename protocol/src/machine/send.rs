//! Sending: from the call, through the wait for credit, to the last byte handed to the transport.
//!
//! Invariant: requests and payloads leave in the order of the calls, per peer and class of traffic; a send that cannot
//! leave holds back everything of its class behind it. Whether a short one leaves with its payload or as a request is
//! for `credit.rs` to say. Neighbours: `arrive.rs` (grants and credit), `credit.rs`.

use super::arrive::Answer;
use super::states::{Request, Send, SendStage};
use super::{Id, Machine};
use crate::credit::{Class, Way};
use crate::wire::{Key, Packet};
use crate::{Action, Envelope, Failure, Header, Malformed, Mode, Rank, RequestId, Span};

/// A message that may leave, before it is known whether the transport takes it; made by [`Machine::depart`].
///
/// If all of it has left, the send has ended by [`Departure::left`], and leaves nothing behind. If the transport keeps
/// some of it, it becomes a request, by [`Departure::keep`]. Dropped, it has never been. Until then nothing else can be
/// asked of the machine:
///
/// ```compile_fail,E0499
/// use ringworld_protocol::*;
/// let mut machine = Machine::new(Config::new(0, 2, 1024, 8192)?);
/// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
/// let data = Span::of(BufferId::FIRST, 100);
/// let departure = machine.depart(1, &envelope, 100).expect("there is room");
/// machine.send(1, envelope, data, Mode::Standard);
/// departure.keep(data);
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Debug)]
#[must_use = "the message has to be handed to the transport"]
pub struct Departure<'a> {
    machine: &'a mut Machine,
    peer: Rank,
    envelope: &'a Envelope,
    /// The credit that rides on it.
    owed: u64,
    /// The credit that is then available.
    rest: usize,
}

impl Departure<'_> {
    /// Writes what goes in front of the payload to the beginning of `room`, and returns the part that it takes.
    #[inline]
    pub fn encode<'r, const ROOM: usize>(&self, room: &'r mut [u8; ROOM]) -> &'r [u8] {
        // Most often it need not be a value first.
        match Header::encode_plain(self.owed, self.envelope, room) {
            Some(length) => &room[..length],
            None => self.header().encode_any(room),
        }
    }

    /// The same as a value.
    #[must_use]
    pub fn header(&self) -> Header {
        Header { credit: self.owed, packet: Packet::Eager { envelope: *self.envelope } }
    }

    /// What the request will be called, if it becomes one.
    #[must_use]
    #[inline]
    pub fn token(&self) -> u64 {
        self.machine.requests.next_id().to_bits()
    }

    /// All of the message has left.
    #[inline]
    pub fn left(self) {
        if let Some(account) = self.machine.peers.get_mut(self.peer) {
            account.credit.departs(self.rest);
            account.credit.take_owed();
        }
    }

    /// Makes a request of the message, of which the transport keeps some; [`Machine::sent`] with the token ends it.
    pub fn keep(self, data: Span) -> RequestId {
        let token = self.token();
        let Self { machine, peer, envelope, owed, rest } = self;
        Departure { machine: &mut *machine, peer, envelope, owed, rest }.left();
        let (envelope, stage) = (*envelope, SendStage::Leaving);
        let id = machine.start(Request::Send(Send { peer, envelope, data, mode: Mode::Standard, stage }));
        debug_assert_eq!(id.to_bits(), token, "the next request has the name that was promised");
        RequestId(id)
    }
}

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
        let (class, eager) = (send.class(), self.config.eager_len(&send));
        if account.queue(class).first().is_none()
            && let Some(way) = account.credit.depart(id.to_bits(), class, eager, &self.limits)
        {
            self.launch(id, way);
        } else {
            self.waiting.push_back(account.queue(class), id.index);
        }
        RequestId(id)
    }

    /// Like [`Machine::send`] in [`Mode::Standard`], for a caller who can hand the message to the transport at
    /// once: `None` when that is not possible, and nothing has changed. Take all actions first.
    ///
    /// ```
    /// use ringworld_protocol::*;
    /// let mut machine = Machine::new(Config::new(0, 2, 1024, 8192)?);
    /// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
    /// let departure = machine.depart(1, &envelope, 100).expect("there is room");
    /// let token = departure.token();
    /// // The transport keeps some of it.
    /// let data = Span::of(BufferId::FIRST, 100);
    /// let request = departure.keep(data);
    /// machine.sent(token);
    /// assert_eq!(machine.next_completion().map(|c| c.request), Some(request));
    /// assert!(machine.depart(1, &envelope, 1025).is_none(), "longer than the eager limit");
    /// # Ok::<(), ConfigError>(())
    /// ```
    #[inline]
    pub fn depart<'a>(&'a mut self, peer: Rank, envelope: &'a Envelope, len: usize) -> Option<Departure<'a>> {
        if self.aborted || self.has_news() || len > self.config.eager_limit {
            return None;
        }
        let account = self.peers.get_mut(peer).filter(|account| account.fate.is_none())?;
        if account.queue(Class::of(envelope.context)).first().is_some() {
            return None;
        }
        let rest = account.credit.rest_after(len, &self.limits)?;
        let owed = account.credit.owed();
        Some(Departure { machine: self, peer, envelope, owed, rest })
    }

    /// The transport is done with the payload of the [`Action::Message`] or [`Action::Put`] that had
    /// this token. Tokens of requests that have ended are ignored.
    pub fn sent(&mut self, token: u64) {
        let id = Id::from_bits(token);
        if let Some(Request::Send(send)) = self.requests.get(id)
            && matches!(send.stage, SendStage::Leaving | SendStage::Putting)
        {
            let done = send.done();
            self.complete(id, Ok(done));
        }
    }

    /// Launches what the credit of `peer` allows.
    pub(super) fn pump(&mut self, peer: Rank) {
        for class in Class::ALL {
            while let Some(account) = self.peers.get_mut(peer)
                && let Some(index) = account.queue(class).first()
                && let Some(id) = self.requests.id_at(index)
                && let Some(Request::Send(send)) = self.requests.get(id)
                && let eager = self.config.eager_len(send)
                && let Some(way) = account.credit.depart(id.to_bits(), class, eager, &self.limits)
            {
                self.waiting.unlink(account.queue(class), index);
                self.launch(id, way);
            }
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
            Way::Request { probes } => {
                send.stage = SendStage::Offered;
                let packet = Packet::Rts { envelope, id: id.to_bits(), len: data.len as u64, probes };
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

    /// The peer wants no bytes of the message, or cannot take them.
    pub(super) fn answered(&mut self, id: u64, send: &Send, how: Answer) {
        let peer = send.peer;
        let outcome = match how {
            Answer::Taken => Ok(send.done()),
            Answer::Refused => Err(Failure::Refused { peer }),
            Answer::Left => Err(Failure::PeerFinished { peer }),
        };
        self.complete(Id::from_bits(id), outcome);
    }
}

impl crate::Config {
    /// The length of the payload when it may leave without being asked for.
    fn eager_len(&self, send: &Send) -> Option<usize> {
        (send.mode == Mode::Standard && send.data.len <= self.eager_limit).then_some(send.data.len)
    }
}
