//! A generation: who its members are, who decides what follows it, and who is in the next one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The most members of a table that is believed.
pub const MOST_MEMBERS: usize = 1 << 20;
/// The longest [`Node::place`] that is believed, in bytes.
pub const PLACE_LIMIT: usize = 16 << 10;

/// One start of one process, told from all others by a random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id(pub u64);

/// A process that takes part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Node {
    /// Which.
    pub id: Id,
    /// Where it is reached, in bytes that mean nothing here; at most [`PLACE_LIMIT`].
    pub place: Vec<u8>,
}

/// One generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Table {
    /// Its number; the first is 0.
    pub generation: u64,
    /// By rank.
    pub members: Vec<Node>,
    /// A process that outlives all members and alone decides what follows, where there is one; it is no member.
    pub arbiter: Option<Node>,
    /// Who serves the rendezvous of this generation: a member, or the arbiter.
    pub serves: Id,
    /// The links that have ended the generation before: of whom to whom, though both were there in the end.
    pub broken: Vec<(Id, Id)>,
}

/// A table that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Nonsense {
    /// No members, or more than [`MOST_MEMBERS`].
    #[error("a table of {0} members; it has at least 1 and at most {MOST_MEMBERS}")]
    Size(usize),
    /// Somebody is in it twice.
    #[error("a table with the same process twice")]
    Twice,
    /// A [`Node::place`] is longer than [`PLACE_LIMIT`].
    #[error("a table in which a place takes {0} bytes; it may take {PLACE_LIMIT}")]
    Place(usize),
    /// Nobody of it serves.
    #[error("a table of which nobody serves")]
    Serves,
    /// More broken links than it may have members.
    #[error("a table with {0} broken links; it has at most {MOST_MEMBERS}")]
    Links(usize),
    /// Nothing could follow it.
    #[error("a table of generation {0}, after which there is none")]
    Generation(u64),
    /// It is not for this process.
    #[error("a table without this process")]
    Stranger,
}

impl Table {
    /// Whether it can be, whoever has sent it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), Nonsense> {
        if self.members.is_empty() || self.members.len() > MOST_MEMBERS {
            return Err(Nonsense::Size(self.members.len()));
        }
        if self.generation == u64::MAX {
            return Err(Nonsense::Generation(self.generation));
        }
        if self.broken.len() > MOST_MEMBERS {
            return Err(Nonsense::Links(self.broken.len()));
        }
        let nodes = || self.members.iter().chain(&self.arbiter);
        if let Some(node) = nodes().find(|node| node.place.len() > PLACE_LIMIT) {
            return Err(Nonsense::Place(node.place.len()));
        }
        let ids: BTreeSet<Id> = nodes().map(|node| node.id).collect();
        if ids.len() < nodes().count() {
            return Err(Nonsense::Twice);
        }
        if !ids.contains(&self.serves) {
            return Err(Nonsense::Serves);
        }
        Ok(())
    }

    /// The rank of a process, if it is a member.
    #[must_use]
    pub fn rank_of(&self, id: Id) -> Option<usize> {
        self.members.iter().position(|member| member.id == id)
    }

    /// Whether a process is a member, or the arbiter.
    #[must_use]
    pub fn knows(&self, id: Id) -> bool {
        self.members.iter().chain(&self.arbiter).any(|node| node.id == id)
    }

    /// Whether a process is one of those who decide what follows.
    pub(crate) fn votes(&self, id: Id) -> bool {
        self.voters().any(|voter| voter.id == id)
    }

    /// Those who decide what follows, first the one that leads.
    pub fn voters(&self) -> impl Iterator<Item = &Node> {
        let members = if self.arbiter.is_some() { &[][..] } else { &self.members[..] };
        self.arbiter.iter().chain(members)
    }

    /// Whether those voters may decide: more than half of all, or half of them with the first.
    #[must_use]
    pub fn quorum(&self, has: impl Fn(Id) -> bool) -> bool {
        let present = self.voters().filter(|voter| has(voter.id)).count();
        let first = self.voters().next().is_some_and(|voter| has(voter.id));
        self.are_enough(present, first)
    }

    /// The same for a set in which there are only voters, without a look at each.
    pub(crate) fn is_quorum(&self, voters: &BTreeSet<Id>) -> bool {
        let first = self.voters().next().is_some_and(|voter| voters.contains(&voter.id));
        self.are_enough(voters.len(), first)
    }

    fn are_enough(&self, present: usize, first: bool) -> bool {
        let all = if self.arbiter.is_some() { 1 } else { self.members.len() };
        2 * present > all || (2 * present == all && first)
    }

    /// The same world as far as somebody needs it who comes later: the first `most` members and those who serve and
    /// decide, so that it does not grow with the world.
    #[must_use]
    pub fn roll(&self, most: usize) -> Self {
        let listed = |(rank, member): &(usize, &Node)| *rank < most || member.id == self.serves;
        let members =
            self.members.iter().enumerate().filter(listed).map(|(_, member)| member.clone()).collect();
        Self { members, broken: Vec::new(), arbiter: self.arbiter.clone(), ..*self }
    }

    /// What follows: those who stay, in their order, and newcomers after them, `most` in all.
    #[must_use]
    pub(crate) fn successor(
        &self,
        serves: Id,
        stays: impl Fn(Id) -> bool,
        newcomers: &[Node],
        most: usize,
        broken: Vec<(Id, Id)>,
    ) -> Self {
        let stay = self.members.iter().filter(|member| stays(member.id));
        let members: Vec<Node> = stay.chain(newcomers).take(most).cloned().collect();
        // Whoever decides serves, unless it leaves.
        let there = |id: Id| {
            members.iter().any(|m| m.id == id) || self.arbiter.as_ref().is_some_and(|node| node.id == id)
        };
        let serves = match members.first() {
            Some(first) if !there(serves) => first.id,
            _ => serves,
        };
        Self { generation: self.generation + 1, members, arbiter: self.arbiter.clone(), serves, broken }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u64) -> Node {
        Node { id: Id(id), place: Vec::new() }
    }

    fn table(ids: &[u64]) -> Table {
        let members: Vec<Node> = ids.iter().copied().map(node).collect();
        let serves = members.first().map_or(Id(0), |member| member.id);
        Table { generation: 3, members, arbiter: None, serves, broken: Vec::new() }
    }

    #[test]
    fn two_quorums_always_meet() {
        for n in 1..=10_u64 {
            let ids: Vec<u64> = (10..10 + n).collect();
            let table = table(&ids);
            let has = |set: u64| move |id: Id| set >> (id.0 - 10) & 1 == 1;
            let quorums: Vec<u64> = (0..1 << n).filter(|set| table.quorum(has(*set))).collect();
            for a in &quorums {
                assert!(quorums.iter().all(|b| a & b != 0), "{n} members, {a:b}");
            }
            // Of a world in two parts, one goes on.
            assert!((0..1 << n).all(|set| table.quorum(has(set)) != table.quorum(has(!set))), "{n}");
        }
    }

    #[test]
    fn an_arbiter_decides_alone() {
        let mut table = table(&[1, 2, 3]);
        table.arbiter = Some(node(9));
        assert!(table.quorum(|id| id == Id(9)));
        assert!(!table.quorum(|id| id != Id(9)));
    }

    #[test]
    fn survivors_keep_their_order_and_newcomers_follow() {
        let ids = |table: &Table| table.members.iter().map(|member| member.id.0).collect::<Vec<_>>();
        let old = table(&[7, 3, 9, 1]);
        let next = old.successor(Id(3), |id| id != Id(9), &[node(5), node(2)], 5, Vec::new());
        assert_eq!((ids(&next), next.generation, next.serves), (vec![7, 3, 1, 5, 2], 4, Id(3)));
        assert_eq!(
            ids(&old.successor(Id(3), |_| true, &[node(5)], 4, Vec::new())),
            [7, 3, 9, 1],
            "no more than fit"
        );
        let left = old.successor(Id(7), |id| id != Id(7), &[], 9, Vec::new());
        assert_eq!(left.serves, Id(3), "who leaves does not serve");
    }

    #[test]
    fn a_roll_does_not_grow_with_the_world_and_leads_to_it() {
        let all: Vec<u64> = (1..=20_000).collect();
        let whole = Table { serves: Id(12_345), arbiter: Some(node(0)), ..table(&all) };
        let roll = whole.roll(3);
        let ids: Vec<u64> = roll.members.iter().map(|member| member.id.0).collect();
        assert_eq!((ids, roll.check()), (vec![1, 2, 3, 12_345], Ok(())));
        assert_eq!((roll.generation, roll.serves, roll.arbiter), (3, Id(12_345), Some(node(0))));
    }

    #[test]
    fn tables_that_cannot_be_are_refused() {
        assert_eq!(table(&[1, 2]).check(), Ok(()));
        assert_eq!(table(&[]).check(), Err(Nonsense::Size(0)));
        assert_eq!(table(&[1, 2, 1]).check(), Err(Nonsense::Twice));
        assert_eq!(
            Table { generation: u64::MAX, ..table(&[1]) }.check(),
            Err(Nonsense::Generation(u64::MAX))
        );
        assert_eq!(Table { serves: Id(4), ..table(&[1]) }.check(), Err(Nonsense::Serves));
        assert_eq!(Table { arbiter: Some(node(2)), ..table(&[1, 2]) }.check(), Err(Nonsense::Twice));
        let broken = vec![(Id(1), Id(2)); MOST_MEMBERS + 1];
        assert_eq!(Table { broken, ..table(&[1]) }.check(), Err(Nonsense::Links(MOST_MEMBERS + 1)));
        let mut long = table(&[1]);
        long.members[0].place = vec![0; PLACE_LIMIT + 1];
        assert_eq!(long.check(), Err(Nonsense::Place(PLACE_LIMIT + 1)));
    }
}
