//! Collectives of ranks that share hosts, in worlds and in communicators whose ranks lie anywhere on them.

use crate::common::{small, wires, world};
use ringworld::testing::Choice;
use ringworld::{Communicator, Op, UserOp};

/// Lengths with one lane and with many, in one block and in several.
const COUNTS: [usize; 5] = [0, 1, 13, 3001, 60_007];

fn tuned(ranks_per_host: usize) -> Choice {
    let mut choice = small();
    choice.tuning.segment = 4096;
    choice.tuning.shortest_segment = 512;
    choice.tuning.leader_bytes = 1024;
    Choice { ranks_per_host, ..choice }
}

fn input(rank: usize, count: usize) -> Vec<i64> {
    (0..count).map(|i| (i as i64 * 7 + 3) * (rank as i64 + 1) % 1009).collect()
}

fn summed(size: usize, count: usize) -> Vec<i64> {
    let sum = |at| (0..size).map(|rank| (at as i64 * 7 + 3) * (rank as i64 + 1) % 1009).sum();
    (0..count).map(sum).collect()
}

/// Every collective that knows of hosts, against what it should come to.
fn collectives(here: &Communicator) {
    collectives_of(here, &COUNTS);
}

fn collectives_of(here: &Communicator, counts: &[usize]) {
    let (rank, size) = (here.rank(), here.size());
    for count in counts.iter().copied() {
        let mut data = input(rank, count);
        here.all_reduce(&mut data, Op::Sum).unwrap();
        assert_eq!(data, summed(size, count), "all-reduce of {count}");
        let mut output = vec![0; count];
        here.all_reduce_into(&input(rank, count), &mut output, Op::Sum).unwrap();
        assert_eq!(output, data);

        let root = count % size;
        let mut data = input(rank, count);
        here.broadcast(&mut data, root).unwrap();
        assert_eq!(data, input(root, count), "broadcast of {count} from {root}");
        let mut data = input(rank, count);
        here.reduce(&mut data, Op::Sum, root).unwrap();
        if rank == root {
            assert_eq!(data, summed(size, count), "reduce of {count} to {root}");
        }
        let mut all = vec![0; count * size];
        here.all_gather(&input(rank, count), &mut all).unwrap();
        let expected: Vec<i64> = (0..size).flat_map(|rank| input(rank, count)).collect();
        assert_eq!(all, expected, "all-gather of {count}");
        let mut block = vec![0; count];
        here.reduce_scatter(&input(rank, count * size), &mut block, Op::Sum).unwrap();
        assert_eq!(block, summed(size, count * size)[rank * count..][..count], "reduce-scatter of {count}");
        let mut all = vec![0; count * size];
        here.all_to_all(&input(rank, count * size), &mut all).unwrap();
        let expected: Vec<i64> =
            (0..size).flat_map(|peer| input(peer, count * size)[rank * count..][..count].to_vec()).collect();
        assert_eq!(all, expected, "all-to-all of {count}");
        here.barrier().unwrap();
    }
}

#[test]
fn worlds_of_hosts_with_several_ranks() {
    for wire in wires() {
        for (size, ranks_per_host) in [(4, 2), (5, 2), (8, 3), (9, 4)] {
            world(wire, size, &tuned(ranks_per_host), |rank| collectives(rank));
        }
    }
}

/// Any number of ranks, in their order and shuffled, on hosts of one, two, three or five, the last of which has what is
/// left.
#[test]
fn worlds_of_any_number_of_ranks() {
    let sizes = (1..=17).chain([32, 33, 64]);
    for (turn, size) in sizes.enumerate() {
        let wires = wires();
        // The wires take turns: what differs between them is tested with few ranks.
        let (wire, ranks_per_host) = (wires[turn % wires.len()], [2, 3, 5, 1][turn % 4]);
        world(wire, size, &tuned(ranks_per_host), |rank| {
            collectives_of(rank, &[1, 301]);
            // 65 is prime to all steps below it: another order for each.
            let key = (rank.rank() + 1) * (turn + 2) % 65;
            let shuffled = rank.split(Some(0), key).unwrap().unwrap();
            collectives_of(&shuffled, &[0, 1, 301]);
        });
    }
}

#[test]
fn communicators_whose_ranks_lie_anywhere() {
    for wire in wires() {
        world(wire, 8, &tuned(3), |rank| {
            // Backwards, every other rank, and those of one host.
            let back = rank.split(Some(0), 8 - rank.rank()).unwrap().unwrap();
            collectives(&back);
            let odd = rank.split(Some(rank.rank() % 2), 0).unwrap().unwrap();
            collectives(&odd);
            collectives(&rank.split_by_host().unwrap());
        });
    }
}

#[test]
fn ranks_that_share_hosts_get_the_same_bits_on_every_run() {
    for count in [1, 1000, 30_000] {
        let run = |wire| {
            world(wire, 7, &tuned(3), |rank| {
                let mut data: Vec<f32> =
                    (0..count).map(|i| ((i * 37 + rank.rank() * 101) as f32).sin() * 1e3).collect();
                rank.all_reduce(&mut data, Op::Sum).unwrap();
                data.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            })
        };
        let runs: Vec<_> = wires().into_iter().chain(wires()).map(run).collect();
        let first = &runs[0][0];
        assert!(runs.iter().flatten().all(|bits| bits == first), "{count} floats");
    }
}

#[test]
fn what_must_be_reproducible_or_does_not_commute_keeps_its_order_across_hosts() {
    let matrix = |rank: usize| [1u64, rank as u64 + 1, 0, 1 + rank as u64 % 2];
    let product = |a: [u64; 4], b: [u64; 4]| {
        let dot = |row: usize, column: usize| a[row] * b[column] + a[row + 1] * b[column + 2];
        [dot(0, 0), dot(0, 1), dot(2, 0), dot(2, 1)]
    };
    let values = |rank: usize| [1e16f64 * [1.0, -1.0, 0.5][rank % 3] + rank as f64];
    let expected = (1..7).fold(values(0)[0], |sum, rank| sum + values(rank)[0]);
    for wire in wires() {
        world(wire, 7, &Choice { reproducible: true, ..tuned(3) }, |rank| {
            let mut data = values(rank.rank());
            rank.all_reduce(&mut data, Op::Sum).unwrap();
            assert_eq!(data[0].to_bits(), expected.to_bits());
        });
        world(wire, 7, &tuned(3), |rank| {
            let mut data = [matrix(rank.rank())];
            rank.all_reduce(&mut data, UserOp::new("matrix product", product)).unwrap();
            assert_eq!(data[0], (1..7).fold(matrix(0), |all, rank| product(all, matrix(rank))));
        });
    }
}
