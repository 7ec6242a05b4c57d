//! Which algorithm serves which size, as a table for people.

use std::fmt::Write;

use ringworld_collectives::{Algorithm, Collective, Counts, Order, Request, Tuning, select};

use crate::engine::Limits;
use crate::options::{Effective, Options};

/// The selection of algorithms under these options, as `ringworld info --tuning` prints it: for each
/// collective and number of ranks the first size (of the vector, or of one rank's block) at which each
/// algorithm is chosen, and why. Then what differs where all ranks run on one host, and all algorithms.
///
/// ```
/// use ringworld::{Options, tuning_table};
/// let table = tuning_table(&Options::new());
/// assert!(table.contains("all-reduce/ring"));
/// ```
#[must_use]
pub fn tuning_table(options: &Options) -> String {
    let several = rows(&options.effective(Tuning::default()));
    let one = rows(&options.effective(Tuning::default().on_one_host()));
    let heading = format!("{:<15} ranks  from bytes  algorithm and reason", "collective");
    let mut table = format!("{heading}\n{several}");
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(table, "\nInstead, where all ranks run on one host:\n{heading}");
    for row in one.lines().filter(|row| !several.contains(row)) {
        let _ = writeln!(table, "{row}");
    }
    let _ = writeln!(table, "\nAll algorithms, as RINGWORLD_ALGORITHMS takes them:");
    for algorithm in Algorithm::ALL {
        let _ = writeln!(table, "  {}", algorithm.path());
    }
    table
}

fn rows(options: &Effective) -> String {
    let Effective { tuning, reproducible, .. } = options;
    let order = if *reproducible { Order::Left } else { Order::Free };
    let mut rows = String::new();
    for collective in Collective::family(0) {
        for size in [2, 3, 4, 8, 16, 64, 1024, 65_536] {
            let powers = if collective == Collective::Barrier { 0..=0 } else { 2..=30 };
            let mut last = None;
            for power in powers {
                let bytes = 1usize << power;
                let request = Request {
                    collective,
                    rank: 0,
                    size,
                    counts: Counts::Same(bytes / 4),
                    element: 4,
                    order,
                    in_place: true,
                };
                let choice = select(&request, tuning);
                if last.replace(choice.algorithm) != Some(choice.algorithm) {
                    let name = collective.name();
                    let _ = writeln!(rows, "{name:<15} {size:>5}  {bytes:>10}  {choice}");
                }
            }
        }
    }
    rows
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
        let rings = |options| {
            let table = super::tuning_table(&options);
            table.lines().filter(|line| line.starts_with("all-reduce ") && line.contains("/ring")).count()
        };
        let some = rings(crate::Options::new());
        assert!(some > 0);
        let forced = crate::Options::new().algorithm("all-reduce/ring").unwrap();
        assert!(rings(forced) > some);
    }
}
