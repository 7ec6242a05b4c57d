//! Which algorithm serves which size, as a table for people.

use crate::engine::Limits;
use ringworld_collectives::{Collective, Counts, Order, Request, Tuning, select};
use std::fmt::Write;

/// The selection of algorithms for the built-in tuning, as `ringworld info --tuning` prints it: for each
/// collective and number of ranks the first size at which each algorithm is chosen, and why.
#[must_use]
pub fn tuning_table() -> String {
    let tuning = Tuning::default();
    let mut table = String::from("collective      ranks  from bytes  algorithm and reason\n");
    let collectives = [
        Collective::Barrier,
        Collective::Broadcast { root: 0 },
        Collective::Reduce { root: 0 },
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::Gather { root: 0 },
        Collective::Scatter { root: 0 },
        Collective::AllToAll,
        Collective::Scan,
        Collective::ExclusiveScan,
    ];
    for collective in collectives {
        for size in [2, 3, 4, 8, 16, 64, 1000, 65_536] {
            let mut last = None;
            let sizes: &[usize] = if collective == Collective::Barrier { &[0] } else { &[2, 30] };
            let range = if sizes.len() == 1 { 0..=0 } else { sizes[0]..=sizes[1] };
            for power in range {
                let bytes = 1usize << power;
                let request = Request {
                    collective,
                    rank: 0,
                    size,
                    counts: Counts::Same(bytes / 4),
                    element: 4,
                    order: Order::Free,
                    in_place: true,
                };
                let choice = select(&request, &tuning);
                if last.replace(choice.algorithm) != Some(choice.algorithm) {
                    let name = collective.name();
                    // Writing to a string cannot fail.
                    let _ = writeln!(table, "{name:<15} {size:>5}  {bytes:>10}  {choice}");
                }
            }
        }
    }
    table
}

/// The longest message that is sent without asking in a world of `size` ranks, in bytes, as long as
/// `RINGWORLD_EAGER_LIMIT` and `RINGWORLD_WINDOW` are not set.
///
/// ```
/// assert_eq!(ringworld::eager_limit(8), 256 * 1024);
/// assert!(ringworld::eager_limit(65_536) < ringworld::eager_limit(8));
/// ```
#[must_use]
pub fn eager_limit(size: usize) -> usize {
    // Only settings can contradict each other.
    Limits::for_world(size, None, None).unwrap_or(Limits::DEFAULT).eager
}

/// Eight bits that tell one set of options from another, the same in every process of one build.
pub(crate) fn digest(tuning: &Tuning, reproducible: bool) -> u8 {
    // FNV-1a over the fields as they print: no hasher of the standard library promises to stay the same.
    let hash = format!("{tuning:?} {reproducible}")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash ^ hash >> 32).to_le_bytes().into_iter().fold(0, |folded, byte| folded ^ byte)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_names_the_ring_for_large_all_reduces() {
        let table = super::tuning_table();
        assert!(table.lines().any(|line| line.starts_with("all-reduce") && line.contains("ring")), "{table}");
    }
}
