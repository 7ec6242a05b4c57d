//! What a message is called, what a receive asks for, and where bytes lie. Plain values.

use std::num::NonZeroU32;

use crate::Rank;

/// A buffer, named by the caller; only the caller knows the memory behind it. Never 0, so that an
/// `Option<BufferId>` takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(pub NonZeroU32);

impl BufferId {
    /// The lowest name.
    pub const FIRST: Self = Self(NonZeroU32::MIN);
}

/// Part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Which buffer; `None` only where there are no bytes.
    pub buffer: Option<BufferId>,
    /// Where the part begins, in bytes.
    pub offset: usize,
    /// How long it is, in bytes.
    pub len: usize,
}

impl Span {
    /// No bytes of no buffer.
    pub const EMPTY: Self = Self { buffer: None, offset: 0, len: 0 };

    /// The first `len` bytes of a buffer.
    #[must_use]
    #[inline]
    pub const fn of(buffer: BufferId, len: usize) -> Self {
        Self { buffer: Some(buffer), offset: 0, len }
    }

    /// The first `len` bytes of the span, or all of it when it is shorter.
    #[must_use]
    pub fn cut(self, len: usize) -> Self {
        Self { len: self.len.min(len), ..self }
    }
}

/// What the elements of a message are, by a number that the callers of all ranks give the same meaning.
///
/// It takes no part in matching. A message whose elements are not those of the receive that it has matched fails
/// that receive, see [`crate::Failure::WrongElement`]; [`Element::RAW`] on either side goes with everything, and so
/// does a message without a payload, which has no elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element(
    /// A whole word, of which a byte is used. Behind a byte alone, envelopes would have seven that are nothing, and are
    /// moved in two overlapping parts, for which a processor waits until they are out of its way: a third of the time
    /// in which a message of 8 bytes is taken in.
    u64,
);

impl Element {
    /// Bytes that may be elements of any kind.
    pub const RAW: Self = Self::new(0);

    /// The elements of that number.
    #[must_use]
    #[inline]
    pub const fn new(number: u8) -> Self {
        Self(number as u64)
    }

    /// Their number.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u8 {
        self.0 as u8
    }

    /// Whether a message of `len` bytes of these elements may go where `wanted` ones are received.
    #[must_use]
    #[inline]
    pub fn goes_into(self, wanted: Self, len: usize) -> bool {
        self == wanted || self == Self::RAW || wanted == Self::RAW || len == 0
    }
}

/// What is written on a message besides its sender and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// Separates communicators, and user traffic from collective traffic: odd ones are of collectives, which have
    /// room of their own at the receiver. Below [`Envelope::CONTEXTS`].
    pub context: u64,
    /// What the payload consists of.
    pub element: Element,
    /// Chosen by the sender.
    pub tag: u64,
    /// Opaque to the protocol and to matching; delivered with the match.
    pub signature: [u8; 24],
}

impl Envelope {
    /// How many contexts there are: 48 bits of the header. Contexts are not used again, so there must be more than any
    /// program can make; at one every 10 us, and only every thousandth of them used, they last for a month.
    pub const CONTEXTS: u64 = 1 << 48;
}

/// Which tags a receive accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagSelector {
    /// Every tag.
    Any,
    /// This one only.
    Exact(u64),
}

/// Which messages a receive or a probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Of this context only; there is no wildcard for contexts.
    pub context: u64,
    /// From this rank only; `None`: from any.
    pub source: Option<Rank>,
    /// With these tags only.
    pub tag: TagSelector,
}

impl Selector {
    /// Whether it accepts a message of `source`.
    #[inline]
    pub(crate) fn accepts(&self, source: Rank, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|wanted| wanted == source)
            && match self.tag {
                TagSelector::Any => true,
                TagSelector::Exact(tag) => tag == envelope.tag,
            }
    }
}

/// A receive that is posted nowhere: whoever waits for it offers it each message that comes, by
/// [`crate::Machine::take_expected`].
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Which messages.
    pub selector: Selector,
    /// What their elements must be.
    pub element: Element,
    /// Room for their payload, in bytes.
    pub room: usize,
}

/// Messages that nobody has received when their receiver leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// How many.
    pub messages: usize,
    /// The first of them to come.
    pub first: Incoming,
}

/// A message that has announced itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The sender.
    pub source: Rank,
    /// What is written on it.
    pub envelope: Envelope,
    /// The length of its payload, in bytes.
    pub len: usize,
    /// Its place among all messages, in the order in which they were announced.
    pub arrival: u64,
}
