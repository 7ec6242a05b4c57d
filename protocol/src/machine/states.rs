//! What a request, an inbound message and a peer go through. Data only; the transitions are in the
//! neighbouring files.
//!
//! ```text
//! send      Queued ─▶ Leaving ─▶ done            eager: room in the window, then `sent`
//!              └────▶ Offered ─▶ Putting ─▶ done rendezvous: credit, then cts, then `sent`
//!                        └─────▶ done            ack or nack
//! receive   Posted ─▶ Arriving ─▶ done           eager: `delivered`
//!              └────▶ Exposing ─▶ Granted ─▶ done  rendezvous: `exposed`, then `filled`
//! inbound   (payload arriving | arrived | rts) x (unexpected | taken | matched | discarded)
//! ```
//!
//! An eager message that finds its receive posted is no inbound message of its own: the receive knows it.

use crate::credit::{Class, Credit, Limits};
use crate::matching::List;
use crate::slab::Id;
use crate::{Done, Element, Envelope, Failure, Incoming, Mode, Rank, Selector, Span};

/// A slot of a request.
#[derive(Clone, Copy)]
pub(super) enum Request {
    Send(Send),
    Receive(Receive),
    /// Ended; its completion has not been taken yet.
    Finished,
}

#[derive(Clone, Copy)]
pub(super) struct Send {
    pub(super) peer: Rank,
    pub(super) envelope: Envelope,
    pub(super) data: Span,
    pub(super) mode: Mode,
    pub(super) stage: SendStage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SendStage {
    /// Waits at this side for credit.
    Queued,
    /// Eager; the transport has, or will be given, the payload.
    Leaving,
    /// The peer has, or will be given, the request to send.
    Offered,
    /// The transport has, or will be given, the put.
    Putting,
}

impl Send {
    pub(super) fn class(&self) -> Class {
        Class::of(self.envelope.context)
    }

    pub(super) fn done(&self) -> Done {
        Done { source: self.peer, envelope: self.envelope, len: self.data.len, arrival: 0 }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Receive {
    pub(super) selector: Selector,
    pub(super) room: Room,
    pub(super) stage: ReceiveStage,
}

/// What a receive has room for.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) into: Span,
    pub(super) element: Element,
}

impl Room {
    #[inline]
    fn suits(&self, incoming: &Incoming) -> bool {
        incoming.envelope.element.goes_into(self.element, incoming.len)
    }

    /// Where the bytes of a message go; nothing of one with other elements goes anywhere.
    #[inline]
    pub(super) fn of(&self, incoming: &Incoming) -> Span {
        self.into.cut(if self.suits(incoming) { incoming.len } else { 0 })
    }

    /// How the receive ends once the bytes of the message that go anywhere are there.
    #[inline]
    pub(super) fn filled_by(&self, incoming: &Incoming) -> Result<Done, Failure> {
        let Incoming { source, envelope, len, arrival } = *incoming;
        if len <= self.into.len && self.suits(incoming) {
            return Ok(Done { source, envelope, len, arrival });
        }
        Err(self.failure(incoming))
    }

    /// Why the message does not fit: first of all because of what it is.
    #[cold]
    fn failure(&self, incoming: &Incoming) -> Failure {
        let Incoming { source, envelope, len, .. } = *incoming;
        if self.suits(incoming) {
            return Failure::Truncated { needed: len, room: self.into.len, source, tag: envelope.tag };
        }
        let (sent, wanted) = (envelope.element, self.element);
        Failure::WrongElement { sent, wanted, len, source, tag: envelope.tag }
    }
}

#[derive(Clone, Copy)]
pub(super) enum ReceiveStage {
    /// Waits for a message.
    Posted,
    /// Matched an eager message whose payload has not arrived completely.
    Arriving(Incoming),
    /// Matched a request to send; the caller has been asked for a key. The number is the sender's.
    Exposing(Incoming, u64),
    /// The sender has the key.
    Granted(Incoming),
}

impl Receive {
    pub(super) fn matched(&self) -> Option<&Incoming> {
        match &self.stage {
            ReceiveStage::Posted => None,
            ReceiveStage::Arriving(incoming)
            | ReceiveStage::Exposing(incoming, _)
            | ReceiveStage::Granted(incoming) => Some(incoming),
        }
    }
}

/// A slot of a message from a peer.
#[derive(Clone, Copy)]
pub(super) struct Inbound {
    pub(super) incoming: Incoming,
    pub(super) body: Body,
    pub(super) claim: Claim,
    /// Whether its sender's credit is spent on it: not on one that was given back.
    pub(super) charged: bool,
}

/// Where the bytes of an inbound message are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// On their way to bounce memory, or nowhere when there are none.
    Arriving,
    /// In bounce memory, or nowhere when there are none.
    Arrived,
    /// At the sender, who calls the message by this number.
    Offered(u64),
    /// Lost with the sender, after the message was taken out of matching.
    Lost(Failure),
    /// Nothing is left; the slot waits for its [`crate::Action::Release`] to be taken.
    Spent,
}

/// Who will get an inbound message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nobody yet: it is in the lists of unexpected messages.
    Unexpected,
    /// The holder of a [`crate::MatchedId`].
    Taken,
    /// This receive.
    Matched(Id),
    /// Nobody, ever.
    Discarded,
}

/// What is known of a peer.
#[derive(Clone, Copy)]
pub(super) struct Peer {
    pub(super) credit: Credit,
    /// Sends that wait for credit, in order, by their class.
    queues: [List; 2],
    /// Set once the peer is gone: what fails because of it fails with this.
    pub(super) fate: Option<Failure>,
}

impl Peer {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { credit: Credit::new(limits), queues: Default::default(), fate: None }
    }

    pub(super) fn queue(&mut self, class: Class) -> &mut List {
        &mut self.queues[class as usize]
    }

    /// Whether any send waits for credit.
    pub(super) fn holds_back(&self) -> bool {
        self.queues.iter().any(|queue| queue.first().is_some())
    }

    /// Forgets the sends that wait.
    pub(super) fn clear(&mut self) {
        self.queues = Default::default();
    }
}
