//! Scatters, one algorithm per file.
//!
//! Invariant of all: in place, the root writes nothing, for its own block is where it belongs.

pub(crate) mod binomial;
pub(crate) mod direct;

use crate::{Builder, Request, Span};

/// Copies the root's own block into its output.
fn copy_own_block(request: &Request, b: &mut Builder) {
    if !request.in_place {
        let (offset, len) = request.blocks().block(request.rank);
        b.copy(Span::input(offset, len), Span::output(0, len));
    }
}
