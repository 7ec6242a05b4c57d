//! What the transport is told at its start, and what can be wrong with that.

use std::path::PathBuf;

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
    /// Where this rank's sockets are files, for ranks that share a folder and no network namespace; `None`: names in no
    /// file system. Ranks reach one another if both have such a folder, and it is the same, or neither has one.
    pub socket_dir: Option<PathBuf>,
}

impl Config {
    /// Settings for `rank` of `size` in a job, without a secret.
    #[must_use]
    pub fn new(rank: Rank, size: usize, job: u64) -> Self {
        Self { rank, size, job, secret: Secret::default(), socket_dir: None }
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
