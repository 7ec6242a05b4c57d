//! Why a simulation cannot be done.

/// Why a simulation cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No schedule can be made.
    #[error(transparent)]
    Schedule(#[from] ringworld_collectives::Error),
    /// A send has no receive, or the other way round: a mistake in an algorithm, which its proof would find.
    #[error("the schedules of ranks {from} and {to} do not fit: a message between them has one end only")]
    Unmatched {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
    },
    /// Steps wait for each other: a mistake in an algorithm, which its proof would find.
    #[error("{left} steps wait for one another for ever")]
    Stuck {
        /// How many steps never ended.
        left: usize,
    },
    /// The placement is of another number of ranks.
    #[error("the placement is of {placed} ranks, the collective of {ranks}: place every rank on a host")]
    Placement {
        /// How many take part.
        ranks: usize,
        /// How many have a host.
        placed: usize,
    },
    /// More steps than can be numbered.
    #[error("there are more than {} steps: take fewer ranks, or longer segments", u32::MAX)]
    TooManySteps,
    /// The virtual time has reached its end.
    #[error("the collective takes more than 200 days on this network: take fewer bytes or a faster network")]
    TooLong,
}
