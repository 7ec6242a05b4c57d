//! Gathers, one algorithm per file.
//!
//! Invariant of all: only the root writes its output.

pub(crate) mod binomial;
pub(crate) mod direct;
