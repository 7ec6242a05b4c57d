//! Links that fail between members which are both there, and whom that costs its place.
//!
//! One failure may be chance, and both go on. Where a link fails in two generations, one after the other, and nobody
//! else was missed in either, the next would fail as well: of the two one stays behind. Who has most of such links goes
//! first, since a host whose network is broken has one with everybody; of several with as many, the highest rank. Pure
//! functions of what all members have said.

use std::collections::{BTreeMap, BTreeSet};

use crate::table::{Id, Table};

/// What members have said of their links, each once, with the lower rank first.
pub(super) fn pairs(table: &Table, said: impl Iterator<Item = (Id, Id)>) -> Vec<(Id, Id)> {
    let ranks: BTreeMap<Id, usize> =
        table.members.iter().enumerate().map(|(rank, member)| (member.id, rank)).collect();
    let rank = |id: &Id| ranks.get(id).copied();
    let pairs = said.filter_map(|(a, b)| {
        let (a, b) = (rank(&a)?, rank(&b)?);
        (a != b).then_some((a.min(b), a.max(b)))
    });
    let id = |rank: usize| table.members.get(rank).map(|member| member.id);
    pairs.collect::<BTreeSet<_>>().into_iter().filter_map(|(a, b)| Some((id(a)?, id(b)?))).collect()
}

/// Who stays behind for the sake of links that have failed in this generation as in the one before.
pub(super) fn left_out(table: &Table, failed: &[(Id, Id)]) -> BTreeSet<Id> {
    let before: BTreeSet<&(Id, Id)> = table.broken.iter().collect();
    let mut again: Vec<(Id, Id)> = failed.iter().filter(|pair| before.contains(pair)).copied().collect();
    let mut out = BTreeSet::new();
    while !again.is_empty() {
        let mut counts: BTreeMap<Id, usize> = BTreeMap::new();
        again.iter().flat_map(|(a, b)| [*a, *b]).for_each(|id| *counts.entry(id).or_default() += 1);
        // Of equals the last one is the maximum.
        let ranks = table.members.iter().filter_map(|member| Some((*counts.get(&member.id)?, member.id)));
        let Some((_, worst)) = ranks.max_by_key(|(count, _)| *count) else { break };
        again.retain(|(a, b)| *a != worst && *b != worst);
        out.insert(worst);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Node;

    fn table(members: &[u64], broken: &[(u64, u64)]) -> Table {
        let members: Vec<Node> = members.iter().map(|id| Node { id: Id(*id), place: Vec::new() }).collect();
        Table { generation: 4, serves: members[0].id, members, arbiter: None, broken: ids(broken) }
    }

    fn ids(pairs: &[(u64, u64)]) -> Vec<(Id, Id)> {
        pairs.iter().map(|(a, b)| (Id(*a), Id(*b))).collect()
    }

    fn out(table: &Table, failed: &[(u64, u64)]) -> Vec<u64> {
        left_out(table, &pairs(table, ids(failed).into_iter())).into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn a_link_is_the_same_from_both_ends_and_between_two_members() {
        let table = table(&[7, 3, 9], &[]);
        let said = ids(&[(3, 7), (7, 3), (9, 9), (9, 4), (3, 9)]);
        assert_eq!(pairs(&table, said.into_iter()), ids(&[(7, 3), (3, 9)]));
    }

    #[test]
    fn once_is_chance_and_twice_costs_the_higher_rank_its_place() {
        assert!(out(&table(&[7, 3, 9], &[]), &[(3, 7)]).is_empty());
        assert!(out(&table(&[7, 3, 9], &[(7, 9)]), &[(3, 7)]).is_empty(), "another one");
        assert_eq!(out(&table(&[7, 3, 9], &[(7, 3)]), &[(3, 7)]), [3]);
        // The others were told that the second is gone, and the first that the third is; only what is in both counts.
        assert_eq!(out(&table(&[7, 3, 9], &[(7, 3), (3, 9)]), &[(3, 7), (9, 7)]), [3]);
    }

    #[test]
    fn whoever_has_most_of_them_goes_first() {
        let star = [(1, 2), (1, 3), (1, 4)];
        assert_eq!(out(&table(&[1, 2, 3, 4], &star), &star), [1], "the first rank, too");
        let two = [(1, 2), (3, 4)];
        assert_eq!(out(&table(&[1, 2, 3, 4], &two), &two), [2, 4]);
    }
}
