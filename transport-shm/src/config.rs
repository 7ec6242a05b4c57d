//! What the transport is told at its start, and what can be wrong with that.

use ringworld_auth::Secret;
use ringworld_transport::Rank;

/// Settings of one [`Shm`](crate::Shm).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The rank of this process.
    pub rank: Rank,
    /// The number of ranks.
    pub size: usize,
    /// Distinguishes this job from all others; the same on every rank.
    pub job: u64,
    /// What only processes of this job know.
    pub secret: Secret,
}

impl Config {
    /// Settings for `rank` of `size` in a job, without a secret.
    #[must_use]
    pub fn new(rank: Rank, size: usize, job: u64) -> Self {
        Self { rank, size, job, secret: Secret::default() }
    }
}

/// Why the transport cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// There is no such rank.
    #[error("rank {rank} cannot be in a world of {size}")]
    Rank {
        /// The rank.
        rank: Rank,
        /// The number of ranks.
        size: usize,
    },
    /// The system does not let this process share memory, or have sockets.
    #[error("{0}")]
    System(String),
}
