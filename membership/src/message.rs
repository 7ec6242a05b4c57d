//! What processes say to one another while they agree.

use serde::{Deserialize, Serialize};

use crate::table::{Id, Node, Table};

/// One attempt to decide; a higher one overrides a lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// Counts the attempts; 0 is none.
    pub round: u64,
    /// Whose: its place among the voters.
    pub voter: u32,
}

/// `generation` is always the one that is to be left. Whoever hears of one that it has left behind answers with what
/// has been decided since; whoever hears of one that it does not know asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A member has done with its generation.
    Ready {
        /// Which.
        generation: u64,
        /// It does not want to be in the next.
        leaving: bool,
        /// The member whose link to it has failed, if that is why.
        lost: Option<Id>,
    },
    /// Others are ready; the sender gathers who is.
    Summons {
        /// Which generation is to be left.
        generation: u64,
    },
    /// May the sender decide?
    Prepare {
        /// What is to be left.
        generation: u64,
        /// As which attempt.
        ballot: Ballot,
    },
    /// It may; nothing lower than `ballot` will be accepted any more.
    Promise {
        /// What is to be left.
        generation: u64,
        /// Which attempt.
        ballot: Ballot,
        /// What was accepted so far, and of which attempt.
        accepted: Option<(Ballot, Table)>,
    },
    /// Let this be the next generation.
    Accept {
        /// Which attempt.
        ballot: Ballot,
        /// The table.
        table: Table,
    },
    /// It is, as far as this voter goes.
    Accepted {
        /// What is to be left.
        generation: u64,
        /// Which attempt.
        ballot: Ballot,
    },
    /// No: a higher attempt was promised.
    Refused {
        /// What is to be left.
        generation: u64,
        /// What was promised.
        ballot: Ballot,
    },
    /// This is the next generation, or a later one.
    Decided {
        /// The last that is known.
        table: Table,
    },
    /// Has anything been decided after this?
    Ask {
        /// The last that the sender knows.
        generation: u64,
    },
    /// Somebody wants to come in.
    Knock {
        /// After which generation, the last that it knows.
        generation: u64,
        /// Who: the sender, or somebody of whom it passes this on.
        node: Node,
    },
    /// Whom the leader cannot reach; said to members that ask again, who may not have tried.
    Missing {
        /// In which generation.
        generation: u64,
        /// Their ranks.
        ranks: Vec<u64>,
    },
    /// How many wait to come in, of those for whom there is room.
    Waiting {
        /// In which generation.
        generation: u64,
        /// How many.
        count: u64,
    },
    /// No generation follows: all who are left leave, or have finished.
    Over {
        /// Which is the last.
        generation: u64,
    },
}
