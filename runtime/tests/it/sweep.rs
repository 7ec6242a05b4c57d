//! Every collective on 2, 3, 4 and 8 ranks, from no bytes to many, with the limits and the tuning that a program
//! gets. A size is that of the longest vector of a call on one rank.
//!
//! Up to 1 MiB; `RINGWORLD_TEST_LARGEST` (bytes) raises that, to 16 MiB in `tests/soft-roce`. Neighbours:
//! `collectives.rs` and `random` look for mistakes with small limits, this file for those of the wire.

use crate::common::{wires, world};
use ringworld::Op;
use ringworld::testing::{Choice, Rank};

/// Around the slots, packets, limits and segments of any wire; the largest is measured separately.
const SIZES: [usize; 9] = [0, 4, 252, 4096, 8192, 65_532, 256 << 10, (256 << 10) + 4, 1 << 20];

fn sizes() -> Vec<usize> {
    let largest = std::env::var("RINGWORLD_TEST_LARGEST").map_or(1 << 20, |text| {
        text.parse().unwrap_or_else(|_| panic!("RINGWORLD_TEST_LARGEST={text} is no number of bytes"))
    });
    let mut sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size < largest).collect();
    sizes.push(largest);
    sizes
}

/// Element `index` of what `rank` gives: small, so that sums never overflow.
fn element(rank: usize, index: usize) -> u32 {
    ((index * 31 + rank * 17) % 1021) as u32
}

fn of(rank: usize, count: usize) -> Vec<u32> {
    (0..count).map(|index| element(rank, index)).collect()
}

/// Sums over these ranks, elements from `first` on.
fn sum(ranks: std::ops::Range<usize>, first: usize, count: usize) -> Vec<u32> {
    (first..first + count).map(|index| ranks.clone().map(|rank| element(rank, index)).sum()).collect()
}

/// Like `assert_eq`, without printing megabytes.
#[track_caller]
fn same(what: &str, rank: &Rank, found: &[u32], expected: &[u32]) {
    let (me, size) = (rank.rank(), rank.size());
    assert_eq!(found.len(), expected.len(), "{what}: rank {me} of {size}");
    if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
        panic!(
            "{what}: rank {me} of {size}: element {at} of {} is {}, not {}",
            found.len(),
            found[at],
            expected[at]
        );
    }
}

/// `count` elements on every rank.
fn same_on_every_rank(rank: &Rank, count: usize) {
    let (me, size) = (rank.rank(), rank.size());
    let root = count % size;
    rank.barrier().unwrap();

    let mut data = of(if me == root { 99 } else { me }, count);
    rank.broadcast(&mut data, root).unwrap();
    same("broadcast", rank, &data, &of(99, count));

    let mut data = of(me, count);
    rank.reduce(&mut data, Op::Sum, root).unwrap();
    if me == root {
        same("reduce", rank, &data, &sum(0..size, 0, count));
    }

    let mut data = of(me, count);
    rank.all_reduce(&mut data, Op::Sum).unwrap();
    same("all_reduce", rank, &data, &sum(0..size, 0, count));

    let mut data = of(me, count);
    rank.scan(&mut data, Op::Sum).unwrap();
    same("scan", rank, &data, &sum(0..me + 1, 0, count));

    let mut data = of(me, count);
    rank.exclusive_scan(&mut data, Op::Sum).unwrap();
    if me > 0 {
        same("exclusive_scan", rank, &data, &sum(0..me, 0, count));
    }
}

/// `count` elements in all, a block of which is a rank's own.
fn shared_out(rank: &Rank, count: usize) {
    let (me, size) = (rank.rank(), rank.size());
    let block = count / size;
    let (count, root) = (block * size, count % size);

    let mut mine = vec![0; block];
    rank.reduce_scatter(&of(me, count), &mut mine, Op::Sum).unwrap();
    same("reduce_scatter", rank, &mine, &sum(0..size, me * block, block));

    let everybody: Vec<u32> = (0..size).flat_map(|peer| of(peer, block)).collect();
    let mut all = vec![0; count];
    rank.all_gather(&of(me, block), &mut all).unwrap();
    same("all_gather", rank, &all, &everybody);

    let mut all = vec![0; if me == root { count } else { 0 }];
    rank.gather(&of(me, block), &mut all, root).unwrap();
    same("gather", rank, &all, &everybody[..all.len()]);

    let mut mine = vec![0; block];
    rank.scatter(if me == root { &everybody } else { &[] }, &mut mine, root).unwrap();
    same("scatter", rank, &mine, &of(me, block));

    let mut all = vec![0; count];
    rank.all_to_all(&of(me, count), &mut all).unwrap();
    let expected: Vec<u32> =
        (0..size).flat_map(|peer| (me * block..(me + 1) * block).map(move |i| element(peer, i))).collect();
    same("all_to_all", rank, &all, &expected);
}

fn sweep(size: usize) {
    for wire in wires() {
        world(wire, size, &Choice::default(), |rank| {
            for bytes in sizes() {
                same_on_every_rank(rank, bytes / 4);
                shared_out(rank, bytes / 4);
            }
        });
    }
}

#[test]
fn every_collective_of_every_size_on_2_ranks() {
    sweep(2);
}

#[test]
fn every_collective_of_every_size_on_3_ranks() {
    sweep(3);
}

#[test]
fn every_collective_of_every_size_on_4_ranks() {
    sweep(4);
}

#[test]
fn every_collective_of_every_size_on_8_ranks() {
    sweep(8);
}
