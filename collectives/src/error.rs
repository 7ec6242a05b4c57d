//! Why no schedule can be made.

use std::fmt;

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
    #[error("{given}, each of {element} bytes, among {size} ranks do not fit into memory: send fewer")]
    TooLarge {
        /// The size of the communicator.
        size: usize,
        /// Bytes per element.
        element: usize,
        /// The counts, in words.
        given: String,
    },
    /// The counts do not have the form that the collective needs.
    #[error("{collective}, rank {rank}: given {given}, expected {expected}")]
    Counts {
        /// What was asked for.
        collective: Collective,
        /// Who asked.
        rank: usize,
        /// The counts, in words.
        given: String,
        /// What would do.
        expected: String,
    },
    /// No algorithm has this name.
    #[error("there is no algorithm {given:?}; there are {}", known(given))]
    UnknownAlgorithm {
        /// The name that was given.
        given: String,
    },
    /// Two algorithms were asked for where one can be taken.
    #[error("{} and {} are for the same collective: ask for one of them", first.path(), second.path())]
    TwoAlgorithms {
        /// The one that came first.
        first: Algorithm,
        /// The one after it.
        second: Algorithm,
    },
    /// The algorithm is for another collective, or cannot do this one.
    #[error(
        "algorithm {} cannot do this {collective}: {reason}; leave the choice to the selection, or take {}",
        algorithm.path(),
        List(able)
    )]
    Unsupported {
        /// The algorithm that was given.
        algorithm: Algorithm,
        /// What was asked for.
        collective: Collective,
        /// Why not.
        reason: &'static str,
        /// The algorithms that can.
        able: Vec<Algorithm>,
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

/// Algorithms by their paths.
struct List<'a>(&'a [Algorithm]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, algorithm) in self.0.iter().enumerate() {
            write!(f, "{}{}", if at == 0 { "" } else { ", " }, algorithm.path())?;
        }
        Ok(())
    }
}

/// The names that there are: those of the collective, if the name begins with one, else all.
fn known(given: &str) -> String {
    let prefix = given.split_once('/').map_or("", |(collective, _)| collective);
    let of = |collective: &str| -> Vec<Algorithm> {
        Algorithm::ALL
            .iter()
            .copied()
            .filter(|a| collective.is_empty() || a.collective() == collective)
            .collect()
    };
    let near = of(prefix);
    List(if near.is_empty() { Algorithm::ALL } else { &near }).to_string()
}
