//! What the machine asks of its caller, and what it answers when a header arrives.

use crate::{Envelope, Header, Key, Rank, Span};

/// Something for the caller to do, in the order in which it is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message. Messages to one peer must leave in this order.
    Message {
        /// The receiver.
        peer: Rank,
        /// What goes in front of the payload.
        header: Header,
        /// `None`: no payload.
        payload: Option<Span>,
        /// Call [`crate::Machine::sent`] with it once the payload's memory is free; `None`: nobody waits.
        token: Option<u64>,
    },
    /// Open memory to puts of `peer`: answer with [`crate::Machine::exposed`] or
    /// [`crate::Machine::expose_failed`], and call [`crate::Machine::filled`] when all of it is written.
    Expose {
        /// The rank that will write.
        peer: Rank,
        /// Never empty.
        into: Span,
        /// Names the exposure.
        token: u64,
    },
    /// Write into memory that `peer` has exposed, and call [`crate::Machine::sent`].
    Put {
        /// The rank that exposed the memory.
        peer: Rank,
        /// What the peer calls it.
        key: Key,
        /// Where in the exposed memory, in bytes.
        offset: usize,
        /// Never empty.
        payload: Span,
        /// Names the put.
        token: u64,
    },
    /// Copy the beginning of bounce memory into a receive that has matched it.
    Copy {
        /// The token of the [`Place::Bounce`].
        bounce: u64,
        /// Never longer than the bounce memory.
        into: Span,
    },
    /// Bounce memory is no longer needed.
    Release {
        /// The token of the [`Place::Bounce`].
        bounce: u64,
    },
}

/// What to do with the payload of a message whose header has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Hand it to [`crate::Machine::delivered`] once the payload has arrived.
    pub token: u64,
    /// Where the payload goes.
    pub place: Place,
    /// What the message announces; `None` for the protocol's own messages.
    pub announces: Option<Envelope>,
}

/// Where a payload goes. What does not fit is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into the posted receive, already cut to what it has room for. Never empty.
    Span(Span),
    /// Into memory that the caller provides, of `len` bytes, until [`Action::Release`]. Never empty.
    Bounce {
        /// The length of the payload.
        len: usize,
    },
    /// Nowhere: there is no payload or no room.
    Nothing,
}
