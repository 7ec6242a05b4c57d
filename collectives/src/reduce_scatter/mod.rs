//! Reduce-scatters, one algorithm per file.
//!
//! Invariant of all: in place, the result goes to the first block of the buffer and no other element changes.

pub(crate) mod bruck;
pub(crate) mod direct;
pub(crate) mod recursive_halving;
pub(crate) mod ring;
pub(crate) mod two_level;

use crate::builder::{Builder, part};
use crate::{Counts, Request, Span};

/// Where the result of a rank grows, segment by segment.
///
/// In place, the beginning of the buffer may belong to uneven blocks that are still to be sent, or lie across the
/// own one: then the result grows in scratch and moves at the end.
struct Staged {
    span: Span,
}

impl Staged {
    fn new(request: &Request, b: &mut Builder) -> Self {
        let len = request.counts.of(request.rank);
        let apart = request.in_place && matches!(request.counts, Counts::Each(_));
        Self { span: if apart { b.scratch(len) } else { Span::output(0, len) } }
    }

    /// Segment `index` of `segments` of the result.
    fn part(&self, segments: usize, index: usize) -> Span {
        let (offset, len) = part(self.span.len, segments, index);
        Span { offset: self.span.offset + offset, len, ..self.span }
    }

    fn finish(self, b: &mut Builder) {
        b.copy(self.span, Span::output(0, self.span.len));
    }
}
