//! Reductions to one rank, one algorithm per file.
//!
//! Invariant of all: only the root writes its output; the others work in scratch memory.

pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod direct;
pub(crate) mod double_tree;
pub(crate) mod gather;
pub(crate) mod left_chain;
pub(crate) mod left_exchange;
pub(crate) mod scatter_gather;
pub(crate) mod two_level;
