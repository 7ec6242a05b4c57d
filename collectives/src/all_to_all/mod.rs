//! All-to-alls, one algorithm per file.
//!
//! Invariant of all: in place, nothing of the input is overwritten before it has left.

pub(crate) mod bruck;
pub(crate) mod pairwise;
pub(crate) mod two_level;
