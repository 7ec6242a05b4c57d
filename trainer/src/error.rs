//! What can go wrong, in words.

use crate::digits::ParseError;

/// Why there is no trained network.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Digits(#[from] ParseError),
    #[error("--batch {given} is more than there are training images; ask for 1 to {images}")]
    Batch { given: u64, images: usize },
    #[error(
        "rank {rank} was started with {theirs}, but rank 0 with {ours}; give every rank the same arguments"
    )]
    Options { rank: usize, theirs: String, ours: String },
    #[error(
        "the weights differ after training: rank {rank} has {theirs:016x}, rank 0 has {ours:016x}; all ranks must \
         run the same build, and if they do, an all-reduce gave ranks different sums: please report it"
    )]
    Weights { rank: usize, theirs: u64, ours: u64 },
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
    #[error("cannot listen to SIGTERM: {0}")]
    Signals(std::io::Error),
    #[error(transparent)]
    World(#[from] ringworld::Error),
}
