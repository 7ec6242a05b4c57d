//! Gather and scatter with a length of its own for each rank, which the root alone knows for all.

use crate::common::{small, wires, world};

/// Ranks with nothing, little, and more than is sent without asking.
const COUNTS: [[usize; 4]; 4] = [[1, 0, 3, 2], [0, 0, 0, 0], [0, 5000, 0, 1], [300, 7, 20_000, 65]];

fn block(rank: usize, count: usize) -> Vec<u32> {
    (0..count).map(|i| (rank * 1_000_000 + i) as u32).collect()
}

#[test]
fn a_root_gathers_and_scatters_blocks_that_differ_in_length() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            let me = rank.rank();
            for counts in COUNTS {
                let all: Vec<u32> = counts.iter().zip(0..).flat_map(|(c, r)| block(r, *c)).collect();
                let mine = block(me, counts[me]);
                for root in 0..4 {
                    // Elsewhere than at the root nothing is known but the own length.
                    let (known, room): (&[usize], usize) =
                        if me == root { (&counts, all.len()) } else { (&[], 0) };
                    let mut gathered = vec![0u32; room];
                    rank.gather_varied(&mine, &mut gathered, known, root).unwrap();
                    assert_eq!(gathered, all[..room], "{wire:?} {counts:?} root {root}");
                    let mut scattered = vec![0u32; counts[me]];
                    let input: &[u32] = if me == root { &all } else { &[] };
                    rank.scatter_varied(input, known, &mut scattered, root).unwrap();
                    assert_eq!(scattered, mine, "{wire:?} {counts:?} root {root}");
                }
            }
        });
    }
}
