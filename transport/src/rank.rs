//! Ranks, as transports know them.

/// A rank in the world, from `0` to the size of the world less one.
pub type Rank = usize;
