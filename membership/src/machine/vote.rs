//! A voter's memory of one decision: what it has promised, and what it has accepted.

use crate::message::Ballot;
use crate::table::Table;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Vote {
    promised: Ballot,
    accepted: Option<(Ballot, Table)>,
}

impl Vote {
    /// Promises to accept nothing lower than `ballot`; answers what was accepted so far, or what was promised instead.
    pub(super) fn prepare(&mut self, ballot: Ballot) -> Result<Option<(Ballot, Table)>, Ballot> {
        if ballot < self.promised {
            return Err(self.promised);
        }
        self.promised = ballot;
        Ok(self.accepted.clone())
    }

    /// Accepts a table, unless something higher was promised.
    pub(super) fn accept(&mut self, ballot: Ballot, table: Table) -> Result<(), Ballot> {
        if ballot < self.promised {
            return Err(self.promised);
        }
        self.promised = ballot;
        self.accepted = Some((ballot, table));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Id;

    fn table(serves: u64) -> Table {
        Table { generation: 1, members: Vec::new(), arbiter: None, serves: Id(serves), broken: Vec::new() }
    }

    #[test]
    fn promises_are_kept_and_what_was_accepted_is_told() {
        let ballot = |round, voter| Ballot { round, voter };
        let mut vote = Vote::default();
        assert_eq!(vote.prepare(ballot(1, 1)), Ok(None));
        assert_eq!(vote.accept(ballot(1, 0), table(0)), Err(ballot(1, 1)));
        assert_eq!(vote.accept(ballot(1, 1), table(1)), Ok(()));
        assert_eq!(vote.prepare(ballot(2, 0)), Ok(Some((ballot(1, 1), table(1)))));
        assert_eq!(vote.prepare(ballot(2, 0)), Ok(Some((ballot(1, 1), table(1)))), "the same, sent twice");
        assert_eq!(vote.accept(ballot(1, 1), table(1)), Err(ballot(2, 0)));
    }
}
