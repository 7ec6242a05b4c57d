//! Requests and how they end. Every request ends by exactly one [`Completion`].

use crate::slab::Id;
use crate::{Element, Envelope, Incoming, Rank};

/// The name of a send or a receive, from its start to its [`Completion`].
///
/// The slot behind [`RequestId::index`] is used again only after the completion has been taken, and a
/// later request in the same slot has a different `RequestId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub(crate) Id);

impl RequestId {
    /// A small number that no other living request has, for dense tables.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.index as usize
    }

    /// How often the slot was used before this request.
    #[must_use]
    pub fn generation(self) -> u32 {
        self.0.generation
    }
}

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// When its memory can be used again.
    Standard,
    /// When it has also been matched.
    Synchronous,
}

/// The right to receive one message that [`crate::Machine::take_matched`] has taken out of matching.
///
/// Neither copied nor cloned: a message is received once. Hand it to `receive_matched` or `release`.
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "the message stays in memory until it is received or released"]
pub struct MatchedId(pub(crate) Id);

/// A message that can no longer be matched by anybody else.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the message stays in memory until it is received or released"]
pub struct Matched {
    /// What it is.
    pub incoming: Incoming,
    /// The right to receive it.
    pub handle: MatchedId,
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which.
    pub request: RequestId,
    /// How it ended. The request's memory is the caller's again in either case.
    pub outcome: Result<Done, Failure>,
}

/// What a successful request did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The sender of a received message; for a send, the receiver.
    pub source: Rank,
    /// What is written on the message.
    pub envelope: Envelope,
    /// How many bytes were received or sent.
    pub len: usize,
    /// The place of a received message among all, in the order in which they were announced; 0 for a send.
    pub arrival: u64,
}

/// What has become of a message that was offered to receives that are posted nowhere, by [`crate::Machine::offer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// One has got it.
    Taken {
        /// Which of them.
        place: usize,
        /// How many bytes of the payload it gets.
        bytes: usize,
        /// How it ends.
        ending: Result<Done, Failure>,
    },
    /// It is for none of them. Nothing has happened: it is to be announced by [`crate::Machine::header`].
    Refused,
    /// The same, whatever others there were: it is no message, or for a receive that is posted.
    Elsewhere,
    /// It is for one of them, but not by this way. Nothing has happened: they are to be posted, and then it is to be
    /// announced.
    Unclear,
}

/// A message that was received after it had come, by [`crate::Machine::take_arrived`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The name of the bounce memory in which it lies, which is to be dropped; `None`: it is empty, and lies nowhere.
    pub bounce: Option<u64>,
    /// How many bytes of it the receive gets.
    pub bytes: usize,
    /// How the receive ends.
    pub ending: Result<Done, Failure>,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The receive was too short. Its room is filled with the first bytes; the rest is lost.
    #[error(
        "the message with tag {tag} from rank {source} has {needed} bytes, but the receive has room \
         for {room}: receive it into at least {needed} bytes"
    )]
    Truncated {
        /// The length of the message, in bytes.
        needed: usize,
        /// The length of the receive, in bytes.
        room: usize,
        /// The sender.
        r#source: Rank,
        /// The tag of the message.
        tag: u64,
    },
    /// The message has other elements than the receive wants. Nothing of it is in the receive's room; it is lost.
    #[error(
        "the message with tag {tag} from rank {source} has {len} bytes of element type {}, but the receive is for \
         element type {}: use the same type on both sides, or raw bytes on one",
        sent.number(),
        wanted.number()
    )]
    WrongElement {
        /// What the sender says the elements are.
        sent: Element,
        /// What the receive wants.
        wanted: Element,
        /// The length of the message, in bytes.
        len: usize,
        /// The sender.
        r#source: Rank,
        /// The tag of the message.
        tag: u64,
    },
    /// The peer died or is out of reach.
    #[error("rank {peer} is down")]
    PeerDown {
        /// Who.
        peer: Rank,
    },
    /// The peer has finished in good order and sends and receives nothing more.
    #[error("rank {peer} has finished without taking part in this: it must be called by both sides")]
    PeerFinished {
        /// Who.
        peer: Rank,
    },
    /// [`crate::Machine::cancel`] withdrew the receive.
    #[error("the receive was cancelled")]
    Cancelled,
    /// [`crate::Machine::fail_all`] ended everything.
    #[error("the world was aborted")]
    Aborted,
    /// The memory of this receive could not be exposed to the sender.
    #[error("the memory for a message from rank {peer} could not be opened to that rank")]
    Expose {
        /// The sender.
        peer: Rank,
    },
    /// The receiver matched the message but could not expose its memory.
    #[error("rank {peer} could not open the memory of its receive")]
    Refused {
        /// The receiver.
        peer: Rank,
    },
    /// There is no such rank.
    #[error("rank {peer} is not in this world of {size}: ranks go from 0 to the size less one")]
    NoSuchPeer {
        /// What was given.
        peer: Rank,
        /// The size of the world.
        size: usize,
    },
}
