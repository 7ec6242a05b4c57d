//! Faults that tests plant into the machine, each of which breaks a promise: the schedules of `model` must find it. In
//! what users build there are none, and asking costs nothing.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Planted {
    /// Half of the voters are a quorum, whichever they are.
    HalfIsEnough,
    /// Any voter is a quorum.
    DecidesAlone,
    /// A voter accepts whatever it has promised.
    ForgetsPromises,
    /// Survivors in the opposite order.
    OutOfOrder,
    /// Members that have not said anything are in the next table.
    CountsTheSilent,
    /// Two whose link has failed twice stay together.
    KeepsBrokenLinks,
    /// A leader that leaves asks nobody whether others go on.
    DisbandsAtOnce,
    /// What is to be said again is due at once.
    BusyLoop,
    /// Who has failed still hears of decisions.
    AnswersAfterTheEnd,
}
