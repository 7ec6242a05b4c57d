//! The words of a schedule: which buffer, which part of it, and what to do with it.
//!
//! Everything counts in elements, never in bytes, so that one schedule serves every datatype. Neighbours:
//! [`crate::schedule`] strings actions together, the runtime's executor carries them out.

use std::fmt;

/// A memory that a step can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// What the caller contributes. No step writes here; an in-place call names [`Buffer::Output`] instead.
    Input,
    /// Where the result goes. Steps may also use it as workspace before that.
    Output,
    /// Working memory of the schedule, [`crate::Schedule::scratch`] elements long, undefined at the start.
    Scratch,
}

/// A run of elements of one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The memory.
    pub buffer: Buffer,
    /// The first element.
    pub offset: usize,
    /// How many elements.
    pub len: usize,
}

impl Span {
    /// `len` elements of the input, from `offset` on.
    #[must_use]
    pub const fn input(offset: usize, len: usize) -> Self {
        Self { buffer: Buffer::Input, offset, len }
    }

    /// `len` elements of the output, from `offset` on.
    #[must_use]
    pub const fn output(offset: usize, len: usize) -> Self {
        Self { buffer: Buffer::Output, offset, len }
    }

    /// `len` elements of the scratch memory, from `offset` on.
    #[must_use]
    pub const fn scratch(offset: usize, len: usize) -> Self {
        Self { buffer: Buffer::Scratch, offset, len }
    }

    /// The first `len` elements of this span (all of them when it has fewer).
    #[must_use]
    pub fn first(self, len: usize) -> Self {
        Self { len: len.min(self.len), ..self }
    }

    /// `len` elements of this span, from its element `offset` on.
    pub(crate) fn part(self, offset: usize, len: usize) -> Self {
        debug_assert!(offset + len <= self.len, "{len} elements from {offset} on of {self}");
        Self { offset: self.offset + offset, len, ..self }
    }

    /// Whether the two name at least one element in common, by name: aliasing is the caller's to resolve.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.buffer == other.buffer
            && self.len > 0
            && other.len > 0
            && self.offset < other.offset.saturating_add(other.len)
            && other.offset < self.offset.saturating_add(self.len)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.buffer {
            Buffer::Input => "input",
            Buffer::Output => "output",
            Buffer::Scratch => "scratch",
        };
        write!(f, "{name}[{}..{}]", self.offset, self.offset.saturating_add(self.len))
    }
}

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Sends a span to another rank. The span must stay unchanged until the send completes.
    Send {
        /// The receiver.
        to: usize,
        /// What is sent; may be empty (a signal).
        from: Span,
        /// Names this message among all that this rank sends to `to` in this schedule; the receiver's
        /// [`Action::Recv`] has the same number, so matching never depends on the order of issue.
        tag: u32,
    },
    /// Receives a message of exactly `into.len` elements.
    Recv {
        /// The sender.
        from: usize,
        /// Where it goes; nobody else may touch it until the receive completes.
        into: Span,
        /// See [`Action::Send`].
        tag: u32,
    },
    /// `into[i] = left[i] op right[i]`. `into` is exactly `left`, exactly `right`, or disjoint from both.
    /// The operands stand in rank order, which matters when the operation does not commute.
    ///
    /// After the last reduction of an element its value is final but for what follows the reduction (an average
    /// divides, a factor multiplies). The executor does that at once, to `into`: only one rank has to, or
    /// those that end up with the same sum, and the element is in its cache.
    Reduce {
        /// What comes from the lower ranks.
        left: Span,
        /// What comes from the higher ranks.
        right: Span,
        /// Where the result goes.
        into: Span,
        /// Whether these elements now hold the contributions of all ranks and are combined no further. See
        /// [`crate::Collective::has_last`].
        last: bool,
    },
    /// Copies between spans of equal length that do not overlap.
    Copy {
        /// The source.
        from: Span,
        /// The destination.
        into: Span,
    },
}

impl Action {
    /// The spans that the step reads; the second one only for [`Action::Reduce`].
    #[must_use]
    pub fn reads(&self) -> [Option<Span>; 2] {
        match *self {
            Self::Send { from, .. } | Self::Copy { from, .. } => [Some(from), None],
            Self::Recv { .. } => [None, None],
            Self::Reduce { left, right, .. } => [Some(left), Some(right)],
        }
    }

    /// The span that the step writes.
    #[must_use]
    pub fn writes(&self) -> Option<Span> {
        match *self {
            Self::Send { .. } => None,
            Self::Recv { into, .. } | Self::Reduce { into, .. } | Self::Copy { into, .. } => Some(into),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, from, tag } => write!(f, "send {from} to rank {to}, tag {tag}"),
            Self::Recv { from, into, tag } => write!(f, "recv {into} from rank {from}, tag {tag}"),
            Self::Reduce { left, right, into, last } => {
                write!(f, "reduce {into} = {left} op {right}{}", if *last { ", last" } else { "" })
            }
            Self::Copy { from, into } => write!(f, "copy {into} = {from}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_overlap_only_when_they_share_an_element() {
        let a = Span::output(2, 3);
        assert!(a.overlaps(&Span::output(4, 1)));
        assert!(!a.overlaps(&Span::output(5, 1)));
        assert!(!a.overlaps(&Span::output(3, 0)));
        assert!(!a.overlaps(&Span::scratch(2, 3)));
    }

    #[test]
    fn actions_read_as_a_sentence() {
        let (left, right, into) = (Span::scratch(0, 2), Span::input(4, 2), Span::output(4, 2));
        let step = |last| Action::Reduce { left, right, into, last }.to_string();
        assert_eq!(step(false), "reduce output[4..6] = scratch[0..2] op input[4..6]");
        assert_eq!(step(true), "reduce output[4..6] = scratch[0..2] op input[4..6], last");
    }
}
