//! Reduce-scatters of equal blocks, one algorithm per file.
//!
//! Invariant of all: in place, the result goes to the first block of the buffer and no other element changes.

pub(crate) mod direct;
pub(crate) mod recursive_halving;
pub(crate) mod ring;
