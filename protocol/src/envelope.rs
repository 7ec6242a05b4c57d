//! What a message is called, what a receive asks for, and where bytes lie. Plain values.

use crate::Rank;

/// A buffer, named by the caller; only the caller knows the memory behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(pub u32);

/// Part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Which buffer.
    pub buffer: BufferId,
    /// Where the part begins, in bytes.
    pub offset: usize,
    /// How long it is, in bytes.
    pub len: usize,
}

impl Span {
    /// The first `len` bytes of the span, or all of it when it is shorter.
    #[must_use]
    pub fn cut(self, len: usize) -> Self {
        Self { len: self.len.min(len), ..self }
    }
}

/// What is written on a message besides its sender and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// Separates communicators, and user traffic from collective traffic.
    pub context: u32,
    /// Chosen by the sender.
    pub tag: u64,
    /// Opaque to the protocol and to matching; delivered with the match.
    pub stamp: [u8; 24],
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
    pub context: u32,
    /// From this rank only; `None`: from any.
    pub source: Option<Rank>,
    /// With these tags only.
    pub tag: TagSelector,
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
}
