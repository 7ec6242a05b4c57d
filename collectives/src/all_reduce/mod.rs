//! All-reductions, one algorithm per file.
//!
//! Invariant of all: every element is combined in the same parenthesisation for every rank, or combined once
//! and handed out, so that all ranks end with the same bits.

pub(crate) mod direct;
pub(crate) mod double_tree;
pub(crate) mod gather_broadcast;
pub(crate) mod left_chain;
pub(crate) mod left_exchange;
pub(crate) mod rabenseifner;
pub(crate) mod recursive_doubling;
pub(crate) mod ring;
pub(crate) mod two_level;
