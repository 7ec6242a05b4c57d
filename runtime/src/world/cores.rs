//! Which cores ranks may use: how many ranks of this host a rank shares its own with.
//!
//! Launchers, batch systems and containers bind ranks to cores of their own, or all of a host to the same few, and the
//! process sees no difference: of either its system says so many cores. So each tells the others its set, among the
//! addresses of its transports.

use ringworld_bootstrap::Member;
use rustix::thread::{CpuSet, sched_getaffinity};

const NAME: &str = "cores";

/// A set of cores: a bit for each, the lowest first, as far as there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cores(Vec<u8>);

impl Cores {
    /// Those that this thread may use; `None` where the system does not say.
    fn own() -> Option<Self> {
        let set = sched_getaffinity(None).ok()?;
        let mut bytes = vec![0u8; CpuSet::MAX_CPU.div_ceil(8)];
        for core in (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)) {
            bytes[core / 8] |= 1 << (core % 8);
        }
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(used);
        Some(Self(bytes))
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }
}

/// Stands among the addresses of the transports, if it is known.
pub(super) fn address() -> Option<(String, Vec<u8>)> {
    Cores::own().map(|cores| (NAME.to_owned(), cores.0))
}

/// How many ranks may use any core that `rank` may use, itself among them.
pub(super) fn sharers(rank: usize, members: &[Member]) -> usize {
    let said = |member: &Member| {
        let said = member.addresses.iter().find(|(name, _)| name == NAME);
        (member.host_id, said.map(|(_, bytes)| Cores(bytes.clone())))
    };
    let all: Vec<_> = members.iter().map(said).collect();
    count(rank, &all)
}

/// The same of ranks of which the host is known, and perhaps their cores: who says nothing may use all.
fn count(rank: usize, all: &[(u64, Option<Cores>)]) -> usize {
    let (host, mine) = &all[rank];
    let meets = |theirs: &Option<Cores>| match (mine, theirs) {
        (Some(mine), Some(theirs)) => mine.meets(theirs),
        _ => true,
    };
    let others = all.iter().enumerate().filter(|(other, _)| *other != rank);
    1 + others.filter(|(_, (other, theirs))| other == host && meets(theirs)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many share the cores of each rank: the host of each, and its cores, if it says.
    fn shared(ranks: &[(u64, Option<&[usize]>)]) -> Vec<usize> {
        let cores = |cores: &[usize]| {
            let mut bytes = vec![0; cores.iter().max().map_or(0, |last| last / 8 + 1)];
            cores.iter().for_each(|core| bytes[core / 8] |= 1 << (core % 8));
            Cores(bytes)
        };
        let all: Vec<_> = ranks.iter().map(|(host, said)| (*host, said.map(cores))).collect();
        (0..all.len()).map(|rank| count(rank, &all)).collect()
    }

    #[test]
    fn ranks_with_cores_of_their_own_share_none() {
        assert_eq!(shared(&[(1, Some(&[0])), (1, Some(&[1])), (1, Some(&[9]))]), [1, 1, 1]);
        assert_eq!(shared(&[(1, Some(&[0, 1])), (1, Some(&[0, 1])), (1, Some(&[2]))]), [2, 2, 1]);
        assert_eq!(shared(&[(1, Some(&[0, 1])), (1, Some(&[1, 2])), (1, Some(&[2, 3]))]), [2, 3, 2]);
    }

    #[test]
    fn only_ranks_of_a_host_share_cores_and_whoever_says_nothing_shares_all() {
        assert_eq!(shared(&[(1, Some(&[0])), (2, Some(&[0])), (1, Some(&[0]))]), [2, 1, 2]);
        assert_eq!(shared(&[(1, None), (1, Some(&[3])), (1, Some(&[4])), (2, None)]), [3, 2, 2, 1]);
    }

    #[test]
    fn this_process_may_use_some_core() {
        let own = Cores::own().unwrap();
        assert!(own.meets(&own), "{own:?}");
    }
}
