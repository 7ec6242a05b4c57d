//! Which ranks share a host.
//!
//! Invariant: hosts are numbered in the order of their first ranks, so that all who know which ranks share one number
//! them alike; every host has a rank, and its ranks stand in ascending order. Neighbours: [`crate::Tuning::on_hosts`]
//! takes a placement to the selection, `levels.rs` divides the work by it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

/// The host of each rank of a communicator. Cheap to clone.
///
/// ```
/// use ringworld_collectives::Placement;
/// let placement = Placement::new(["red", "blue", "red"]);
/// assert_eq!((placement.size(), placement.hosts()), (3, 2));
/// assert_eq!((placement.host(1), placement.ranks(0)), (1, &[0, 2][..]));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Placement(Arc<Inner>);

#[derive(PartialEq, Eq, Hash)]
struct Inner {
    /// By rank.
    host: Box<[usize]>,
    /// By host.
    ranks: Box<[Box<[usize]>]>,
}

impl Placement {
    /// From what tells the hosts apart, rank by rank.
    #[must_use]
    pub fn new<H: Eq + Hash>(hosts: impl IntoIterator<Item = H>) -> Self {
        let mut numbers: HashMap<H, usize> = HashMap::new();
        let mut ranks: Vec<Vec<usize>> = Vec::new();
        let mut host = Vec::new();
        for (rank, name) in hosts.into_iter().enumerate() {
            let number = *numbers.entry(name).or_insert(ranks.len());
            if number == ranks.len() {
                ranks.push(Vec::new());
            }
            ranks[number].push(rank);
            host.push(number);
        }
        let ranks = ranks.into_iter().map(Vec::into_boxed_slice).collect();
        Self(Arc::new(Inner { host: host.into(), ranks }))
    }

    /// `ranks_per_host` ranks on each of so many hosts, contiguous.
    ///
    /// ```
    /// use ringworld_collectives::Placement;
    /// assert_eq!(Placement::regular(3, 2), Placement::new([0, 0, 1, 1, 2, 2]));
    /// ```
    #[must_use]
    pub fn regular(hosts: usize, ranks_per_host: usize) -> Self {
        Self::new((0..hosts).flat_map(|host| std::iter::repeat_n(host, ranks_per_host)))
    }

    /// How many ranks there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.host.len()
    }

    /// How many hosts.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.0.ranks.len()
    }

    /// The host of a rank.
    ///
    /// # Panics
    ///
    /// When there is no such rank.
    #[must_use]
    pub fn host(&self, rank: usize) -> usize {
        self.0.host[rank]
    }

    /// The ranks of a host, in ascending order.
    ///
    /// # Panics
    ///
    /// When there is no such host.
    #[must_use]
    pub fn ranks(&self, host: usize) -> &[usize] {
        &self.0.ranks[host]
    }

    /// The most ranks that share a host.
    #[must_use]
    pub fn widest(&self) -> usize {
        self.0.ranks.iter().map(|ranks| ranks.len()).max().unwrap_or(0)
    }

    /// Whether there are hosts to cross and ranks that share one: otherwise one level is all there is.
    #[must_use]
    pub fn has_two_levels(&self) -> bool {
        self.hosts() > 1 && self.hosts() < self.size()
    }
}

/// Short, whatever the number of ranks.
impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Placement({self})")
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = self.0.ranks.iter().map(|ranks| ranks.len()).min().unwrap_or(0);
        write!(f, "{} ranks on {} hosts, ", self.size(), self.hosts())?;
        match (least, self.widest()) {
            (least, most) if least == most => write!(f, "{most} on each"),
            (least, most) => write!(f, "{least} to {most} on each"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_their_first_ranks() {
        let placement = Placement::new([7, 3, 7, 9, 3, 7]);
        assert_eq!((0..6).map(|rank| placement.host(rank)).collect::<Vec<_>>(), [0, 1, 0, 2, 1, 0]);
        assert_eq!([0, 1, 2].map(|host| placement.ranks(host)), [&[0, 2, 5][..], &[1, 4], &[3]]);
        assert_eq!(placement, Placement::new(["a", "b", "a", "c", "b", "a"]));
        assert_eq!(placement.to_string(), "6 ranks on 3 hosts, 1 to 3 on each");
        assert!(placement.has_two_levels());
        assert!(!Placement::regular(1, 4).has_two_levels() && !Placement::regular(4, 1).has_two_levels());
    }
}
