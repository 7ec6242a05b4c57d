//! What a process is called in the world.

/// A rank in the world, from `0` to the size of the world less one.
pub type Rank = usize;
