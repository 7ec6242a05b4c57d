//! Why no schedule can be made.

use crate::{Algorithm, Collective};

/// Why no schedule can be made. All of them are mistakes in the request; none depends on other ranks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rank that asks is not part of the communicator.
    #[error("rank {rank} does not exist: ranks of this communicator are 0..{size}")]
    Rank {
        /// Who asked.
        rank: usize,
        /// The size of the communicator.
        size: usize,
    },
    /// The root is not part of the communicator.
    #[error("root {root} does not exist: ranks of this communicator are 0..{size}")]
    Root {
        /// The root that was given.
        root: usize,
        /// The size of the communicator.
        size: usize,
    },
    /// The buffers would not fit into an address space.
    #[error("{count} elements of {element} bytes on each of {size} ranks do not fit into memory: send fewer")]
    TooLarge {
        /// The size of the communicator.
        size: usize,
        /// Elements per rank.
        count: usize,
        /// Bytes per element.
        element: usize,
    },
    /// The algorithm is for another collective, or cannot do this one.
    #[error(
        "algorithm {algorithm} cannot do {collective} with this operation and number of ranks: leave the choice to `select`, or take one of `Request::algorithms`"
    )]
    Unsupported {
        /// The algorithm that was given.
        algorithm: Algorithm,
        /// What was asked for.
        collective: Collective,
    },
    /// The schedule would have more steps than can be numbered.
    #[error("the schedule would have more than {} steps: use longer segments", u32::MAX)]
    TooManySteps,
    /// A schedule assembled by hand names a step that does not come before the one that waits for it.
    #[error("step {step} of a hand-made schedule depends on step {on}, which does not come before it")]
    Dependency {
        /// The step that waits.
        step: usize,
        /// What it waits for.
        on: u32,
    },
}
