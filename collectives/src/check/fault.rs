//! What the checker found, and where.

/// Why a set of schedules is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The set is not one schedule of each rank, in order, for this request.
    #[error("schedule {index} of {given} is not that of rank {index} for this request: {reason}")]
    Set {
        /// Which schedule.
        index: usize,
        /// How many were given.
        given: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A step that cannot be, whatever the others do.
    #[error("rank {rank}, step {step} ({action}): {reason}")]
    Step {
        /// Whose step.
        rank: usize,
        /// Which step.
        step: usize,
        /// The action.
        action: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A message that nobody sends, nobody receives, or that the two sides see differently.
    #[error("rank {rank}, step {step} ({action}): {reason}")]
    Match {
        /// One of the two sides.
        rank: usize,
        /// Its step.
        step: usize,
        /// The action.
        action: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing can go on.
    #[error("deadlock: {left} steps never complete, among them rank {rank}, step {step} ({action})")]
    Deadlock {
        /// How many steps are left.
        left: usize,
        /// The rank of the first.
        rank: usize,
        /// The first step that has started but not completed.
        step: usize,
        /// Its action.
        action: String,
    },
    /// Two steps touch the same element, one of them writing, and nothing orders them.
    #[error(
        "race on rank {rank}: steps {first} and {second} both touch cell {cell}, and {second} does not wait for {first}"
    )]
    Race {
        /// Where.
        rank: usize,
        /// The earlier step in program order.
        first: usize,
        /// The later one.
        second: usize,
        /// An element they share, counted through input (unless aliased), output and scratch.
        cell: usize,
    },
    /// Two operands that must not be combined.
    #[error("rank {rank}, step {step}, element {element} of the span: {reason}")]
    Combine {
        /// Where.
        rank: usize,
        /// The reduction.
        step: usize,
        /// Which element of its span.
        element: usize,
        /// Why they do not fit.
        reason: String,
    },
    /// An element of the result is not what was promised.
    #[error("rank {rank}, element {element} of the result: expected {expected}, found {found}")]
    Result {
        /// Where.
        rank: usize,
        /// Which element of the result.
        element: usize,
        /// The promise.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A rank can leave a barrier too early.
    #[error("rank {rank} can leave the barrier before rank {absent} has come")]
    Early {
        /// Who leaves.
        rank: usize,
        /// Who has not come.
        absent: usize,
    },
}
