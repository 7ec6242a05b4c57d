//! Several queue pairs with each peer: how many there are, what goes over them, and what becomes of all when one is in
//! error.

use ringworld_transport::{Cause, Transport};
use ringworld_transport_ibverbs::Config;

use crate::support::{Side, acquaint, pattern, sides, until_all};
use crate::{alone, assert_released, resources};

/// The number of queue pairs that the kernel has for anybody.
fn pairs() -> Option<usize> {
    let text = resources()?;
    let mut words = text.split_whitespace().skip_while(|word| *word != "qp").skip(1);
    words.next()?.parse().ok()
}

/// A put of `length` bytes from rank 0 to rank 1, seen to the end.
fn put(world: &mut [Side], length: usize) {
    let bytes = pattern(length, length);
    let (memory, key) = world[1].expose(0, length);
    let filled = world[1].filled;
    world[0].put(1, key, 0, &bytes);
    until_all(world, "filled", |world| world[1].filled > filled && world[0].all_sent());
    assert!(memory.bytes() == bytes, "a put of {length} bytes arrived changed");
}

/// Whoever is first (rank 0, rank 1, both), each rank has as many queue pairs as `expected`.
fn agree(adjust: fn(&mut Config), expected: usize) {
    for first in [&[0][..], &[1], &[0, 1]] {
        let before = pairs();
        let mut world = sides(2, adjust);
        for &rank in first {
            world[rank].send(1 - rank, b"hello", b"");
        }
        until_all(&mut world, "greeted", |world| first.iter().all(|rank| world[1 - rank].received == 1));
        put(&mut world, 3 << 20);
        match (before, pairs()) {
            (Some(before), Some(now)) => assert_eq!(now - before, 2 * expected),
            _ => eprintln!("not counted: `rdma resource show` does not work here"),
        }
    }
}

#[test]
fn of_two_ranks_the_smaller_number_of_queue_pairs_holds() {
    const MOST: usize = Config::MAX_QUEUE_PAIRS;
    let _alone = alone();
    agree(|config| config.queue_pairs = [4, 2][config.rank], 2);
    agree(|config| config.queue_pairs = [1, MOST][config.rank], 1);
    agree(|config| config.queue_pairs = MOST, MOST);
}

#[test]
fn puts_over_several_queue_pairs_arrive_whole() {
    let mut world = sides(2, |config| config.queue_pairs = 3);
    acquaint(&mut world);
    let edges = [8_320usize, 64 << 10, 3 * (64 << 10), 1 << 20, 3 << 20];
    for length in edges.into_iter().flat_map(|edge| edge - 1..edge + 2) {
        put(&mut world, length);
    }
    // More at a time than there are credits for, both ways.
    let bytes = pattern(9, 70_000);
    let mut memories = Vec::new();
    for (to, _) in [(0, 0), (1, 0)].into_iter().cycle().take(120) {
        let (memory, key) = world[to].expose(1 - to, bytes.len());
        world[1 - to].put(to, key, 0, &bytes);
        memories.push(memory);
    }
    let filled = world[1].filled + 60;
    until_all(&mut world, "filled", |world| {
        world[0].filled == 60 && world[1].filled == filled && world.iter().all(Side::all_sent)
    });
    assert!(memories.iter().all(|memory| memory.bytes() == bytes), "a put arrived changed");
}

#[test]
fn one_queue_pair_in_error_ends_the_peer_by_name_and_leaves_nothing() {
    const PAIRS: usize = 3;
    let _alone = alone();
    let before = resources();
    for broken in 0..PAIRS {
        let mut world = sides(2, |config| config.queue_pairs = PAIRS);
        acquaint(&mut world);
        let (_, open) = world[1].expose(0, 4 << 20);
        let (_, theirs) = world[0].expose(1, 4 << 20);
        world[1].put(0, theirs, 0, &pattern(1, 1 << 20));
        let (_, stale) = world[1].expose(0, 20_000);
        world[0].put(1, stale, 0, &pattern(2, 20_000));
        until_all(&mut world, "filled", |world| world[1].filled == 1 && world[0].all_sent());
        // Each is one fragment, so the next that is taken is for the queue pair that shall break.
        for _ in 1..broken + PAIRS {
            put(&mut world, 20_000);
        }
        // That memory is registered no more: the peer's device refuses the write, and puts the pair in error.
        let pending = world[0].pending;
        world[0].put(1, stale, 0, &pattern(3, 20_000));
        world[0].put(1, open, 0, &pattern(4, 3 << 20));
        until_all(&mut world, "down", |world| world.iter().all(|side| !side.down.is_empty()));
        assert_eq!(world[0].pending, pending + 2);
        let [(1, Cause::Lost(why))] = &world[0].down[..] else { panic!("{:?}", world[0].down) };
        assert!(why.contains(&format!("queue pair {} of {PAIRS}", broken + 1)), "{why}");
        assert!(matches!(world[1].down[..], [(0, Cause::Lost(_))]), "{:?}", world[1].down);
        if broken == 0 {
            world[0].transport.abort();
        }
        drop(world);
        if let Some(before) = &before {
            assert_released(before);
        }
    }
}
