//! Which algorithm serves which size.

use ringworld_collectives::{Collective, Counts, Order, Placement, Request, Tuning, select};

use super::options::{Effective, Memory, Options};
use ringworld_engine::Limits;

/// From some size on, one collective is done by one algorithm; see [`selections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// The collective, such as `all-reduce`.
    pub collective: &'static str,
    /// The smallest size, in bytes: of the vector, or of one rank's block. A barrier has none, so 0.
    pub from: usize,
    /// The algorithm, as [`Options::algorithm`] takes it: `all-reduce/ring`.
    pub algorithm: &'static str,
    /// Why it is chosen.
    pub reason: &'static str,
}

/// The selection of algorithms under these options in a world of `ranks`: for each collective the sizes (powers of two,
/// up to 1 GiB) at which another algorithm begins, in ascending order. So many ranks in a row share a host and its
/// memory, at least 1: each has a host of its own with 1, all are on one host with `ranks` or more.
/// `ringworld info --tuning` prints it.
///
/// ```
/// use ringworld::{Options, selections};
/// let longest = |ranks, ranks_per_host| {
///     let all = selections(&Options::new(), ranks, ranks_per_host);
///     all.iter().rfind(|selection| selection.collective == "all-reduce").unwrap().algorithm
/// };
/// assert_eq!(longest(6, 1), "all-reduce/ring");
/// assert_eq!(longest(8, 2), "all-reduce/two-level");
/// ```
#[must_use]
pub fn selections(options: &Options, ranks: usize, ranks_per_host: usize) -> Vec<Selection> {
    let placement = Placement::new((0..ranks).map(|rank| rank / ranks_per_host.max(1)));
    let Effective { tuning, reproducible, .. } =
        options.effective(Tuning::default(), placement, Memory::OfHosts);
    let order = if reproducible { Order::Left } else { Order::Free };
    let mut selections: Vec<Selection> = Vec::new();
    for collective in Collective::family(0) {
        let sizes =
            if collective == Collective::Barrier { vec![0] } else { (2..=30).map(|n| 1 << n).collect() };
        for from in sizes {
            let request = Request {
                collective,
                rank: 0,
                size: ranks,
                counts: Counts::Same(from / 4),
                element: 4,
                order,
                in_place: true,
            };
            let choice = select(&request, &tuning);
            let (collective, algorithm) = (collective.name(), choice.algorithm.path());
            let last = selections.last().filter(|last| last.collective == collective);
            if last.is_none_or(|last| last.algorithm != algorithm) {
                selections.push(Selection { collective, from, algorithm, reason: choice.reason });
            }
        }
    }
    selections
}

/// The longest message that is sent without asking in a world of `size` ranks, in bytes, as long as
/// `RINGWORLD_EAGER_LIMIT` and `RINGWORLD_WINDOW` are not set. No host has more of the ranks than `together`.
///
/// ```
/// assert_eq!(ringworld::eager_limit(8, 8), 256 * 1024);
/// assert!(ringworld::eager_limit(65_536, 8) < ringworld::eager_limit(8, 8));
/// assert!(ringworld::eager_limit(64, 64) < ringworld::eager_limit(64, 8));
/// ```
#[must_use]
pub fn eager_limit(size: usize, together: usize) -> usize {
    // Only settings can contradict each other.
    Limits::for_world(size, together, None, None).unwrap_or(Limits::DEFAULT).eager
}

#[cfg(test)]
mod tests {
    use super::{Selection, selections};
    use crate::Options;

    #[test]
    fn a_selection_changes_with_the_size_and_with_the_settings() {
        let of = |options: &Options, ranks, ranks_per_host| -> Vec<Selection> {
            let all = selections(options, ranks, ranks_per_host);
            assert_eq!(all.iter().filter(|selection| selection.collective == "barrier").count(), 1);
            all.into_iter().filter(|selection| selection.collective == "all-reduce").collect()
        };
        let usual = of(&Options::new(), 8, 1);
        assert!(usual.len() > 1 && usual.is_sorted_by_key(|selection| selection.from));
        assert_eq!(usual.last().map(|selection| selection.algorithm), Some("all-reduce/ring"));
        assert_ne!(usual, of(&Options::new(), 8, 8), "networks and memory differ");
        assert_eq!(of(&Options::new(), 8, 8), of(&Options::new(), 8, 9), "one host either way");
        let hosts = of(&Options::new(), 8, 4);
        assert!(hosts.iter().all(|selection| selection.algorithm == "all-reduce/two-level"), "{hosts:?}");
        let forced = of(&Options::new().algorithm("all-reduce/ring").unwrap(), 8, 1);
        assert_eq!(forced.iter().map(|selection| selection.from).collect::<Vec<_>>(), [4]);
    }
}
