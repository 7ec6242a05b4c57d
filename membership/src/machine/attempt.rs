//! How far the leader has come with a decision.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::message::Ballot;
use crate::table::{Id, Table};

/// An attempt to decide.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attempt {
    pub(super) ballot: Ballot,
    pub(super) since: Duration,
    pub(super) phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Preparing {
        votes: BTreeSet<Id>,
        accepted: Option<(Ballot, Table)>,
    },
    Accepting {
        votes: BTreeSet<Id>,
        table: Table,
    },
    /// Somebody else was promised more.
    Lost,
}
