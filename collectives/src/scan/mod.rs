//! Scans, inclusive and exclusive, one algorithm per file: both differ in what is kept and not in what moves.
//!
//! Invariant of all: an exclusive scan leaves the output of rank 0 as it was, and the reduction over the ranks
//! below is kept apart from the own contribution until that is no longer needed.

pub(crate) mod chain;
pub(crate) mod direct;
pub(crate) mod gather_scatter;
pub(crate) mod recursive_doubling;
pub(crate) mod transpose;
