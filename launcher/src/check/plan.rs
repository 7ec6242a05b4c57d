//! Who measures with whom, and when: a pure function of which ranks share a host.
//!
//! Between hosts the first rank of each takes part, since the others of its host have the same interfaces. Its pairs
//! are those of a round-robin tournament (the circle method): a host is in one pair at a time, so that no measurement
//! shares an interface with another, and n hosts take n - 1 rounds, or n where n is odd. Ranks of one host come after
//! that, one pair at a time on each host, since they share its memory.

/// Two ranks, the lower one first.
pub(super) type Pair = (usize, usize);

/// All pairs, in rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The ranks of each host, in order; hosts in the order of their first ranks.
    pub(super) hosts: Vec<Vec<usize>>,
    /// In each round no host is in more than one pair.
    pub(super) rounds: Vec<Vec<Pair>>,
}

impl Plan {
    /// `hosts[rank]` tells hosts apart.
    pub(super) fn new(hosts: &[u64]) -> Self {
        let mut known: Vec<u64> = Vec::new();
        let mut ranks: Vec<Vec<usize>> = Vec::new();
        for (rank, host) in hosts.iter().enumerate() {
            match known.iter().position(|other| other == host) {
                Some(index) => ranks[index].push(rank),
                None => {
                    known.push(*host);
                    ranks.push(vec![rank]);
                }
            }
        }
        let first: Vec<usize> = ranks.iter().filter_map(|ranks| ranks.first().copied()).collect();
        let mut rounds = tournament(&first);
        let inside: Vec<Vec<Pair>> = ranks.iter().map(|ranks| pairs(ranks)).collect();
        let most = inside.iter().map(Vec::len).max().unwrap_or(0);
        rounds.extend(
            (0..most).map(|round| inside.iter().filter_map(|pairs| pairs.get(round).copied()).collect()),
        );
        Self { hosts: ranks, rounds }
    }

    /// All pairs in the order in which they are measured, which numbers them.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        self.rounds.iter().flatten().copied()
    }

    /// Whether the two are on one host.
    pub(super) fn share(&self, (one, other): Pair) -> bool {
        self.hosts.iter().any(|ranks| ranks.contains(&one) && ranks.contains(&other))
    }
}

/// Every two of these, in as few rounds as there can be.
fn tournament(players: &[usize]) -> Vec<Vec<Pair>> {
    if players.len() < 2 {
        return Vec::new();
    }
    // With an odd number, whoever meets nobody rests.
    let mut circle: Vec<Option<usize>> = players.iter().copied().map(Some).collect();
    if !circle.len().is_multiple_of(2) {
        circle.push(None);
    }
    let half = circle.len() / 2;
    let mut rounds = Vec::new();
    for _ in 1..circle.len() {
        let (front, back) = circle.split_at(half);
        let meet = front.iter().zip(back.iter().rev());
        rounds.push(meet.filter_map(|(a, b)| Some(ordered((*a)?, (*b)?))).collect());
        // All but the first move on by one place.
        circle[1..].rotate_right(1);
    }
    rounds
}

fn pairs(ranks: &[usize]) -> Vec<Pair> {
    let with_later = |(index, one): (usize, &usize)| {
        let one = *one;
        ranks[index + 1..].iter().map(move |other| ordered(one, *other)).collect::<Vec<_>>()
    };
    ranks.iter().enumerate().flat_map(with_later).collect()
}

fn ordered(one: usize, other: usize) -> Pair {
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_two_hosts_meet_once_and_none_is_in_two_pairs_at_a_time() {
        for hosts in 0..=17 {
            let plan = Plan::new(&(0..hosts).collect::<Vec<u64>>());
            let hosts = hosts as usize;
            let pairs: Vec<Pair> = plan.pairs().collect();
            let different: BTreeSet<Pair> = pairs.iter().copied().collect();
            assert_eq!((pairs.len(), different.len()), (hosts * hosts.saturating_sub(1) / 2, pairs.len()));
            assert!(pairs.iter().all(|(low, high)| low < high && *high < hosts));
            let fewest = if hosts.is_multiple_of(2) { hosts.saturating_sub(1) } else { hosts };
            assert_eq!(plan.rounds.len(), if hosts < 2 { 0 } else { fewest }, "{hosts} hosts");
            for round in &plan.rounds {
                let busy: BTreeSet<usize> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
                assert_eq!(busy.len(), 2 * round.len());
            }
        }
    }

    #[test]
    fn hosts_meet_by_their_first_ranks_and_ranks_of_one_host_one_pair_at_a_time() {
        // Ranks need not be contiguous per host where they were given.
        let plan = Plan::new(&[7, 5, 7, 5, 7]);
        assert_eq!(plan.hosts, [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(plan.rounds, [vec![(0, 1)], vec![(0, 2), (1, 3)], vec![(0, 4)], vec![(2, 4)]]);
        assert!(plan.share((1, 3)) && !plan.share((0, 1)));
    }
}
