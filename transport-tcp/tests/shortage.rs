//! A process that runs out of descriptors, for a moment or for good.
//!
//! The limit is that of the whole process, so this is one test in a file of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::File;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use ringworld_transport::{SendMemory, Token, Transport};
use ringworld_transport_tcp::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{Buffer, Side, pattern, until_all, world};

mod support;

/// Takes all descriptors that are left, but for `room`.
fn exhaust(room: usize) -> Vec<File> {
    let mut taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    taken.truncate(taken.len() - room);
    taken
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Three ranks with two lanes.
fn three() -> Vec<Side> {
    world((0..3).map(|rank| Config::new(rank, 3, 1, vec![Ipv4Addr::LOCALHOST.into()])).collect())
}

/// Rank 0 and rank 2 send to rank 1 while the process may open no more than `room` descriptors, until `shortage` has
/// passed or each of `short` has been told of it.
fn send_with_room_for(room: usize, shortage: Duration, short: &[usize]) -> (Vec<Side>, Duration) {
    let mut world = three();
    let taken = exhaust(room);
    let begin = Instant::now();
    for rank in [0, 2] {
        world[rank].send(1, b"x", SendMemory::empty());
    }
    until_all(&mut world, "the shortage", |world| {
        begin.elapsed() > shortage || short.iter().all(|&rank| !world[rank].broken.is_empty())
    });
    drop(taken);
    (world, begin.elapsed())
}

#[test]
fn a_short_shortage_passes_and_a_long_one_is_told_and_nobody_else_is_blamed() {
    let whole = getrlimit(Resource::Nofile);
    let limit = |current| setrlimit(Resource::Nofile, Rlimit { current, ..whole }).unwrap();

    // Not even a socket to connect with; then sockets to connect with, and none to accept.
    limit(Some(128));
    for room in [0, 2] {
        let (mut world, _) = send_with_room_for(room, Duration::from_millis(1_000), &[0, 1, 2]);
        until_all(&mut world, "both messages", |world| world[1].received == 2);
        for side in &world {
            assert!(side.down.is_empty() && side.broken.is_empty(), "{:?} {:?}", side.down, side.broken);
        }
    }

    // The same, and it does not end: without a socket both senders are told, in either order; without room to accept
    // one it is the receiver.
    for (room, short) in [(0, &[0, 2][..]), (2, &[1])] {
        let (world, after) = send_with_room_for(room, Duration::from_secs(20), short);
        assert!(after > Duration::from_secs(2) && after < Duration::from_secs(6), "{after:?}");
        for (rank, side) in world.iter().enumerate() {
            assert!(side.down.is_empty(), "an innocent rank is blamed: {:?}", side.down);
            let told = &side.broken;
            assert_eq!(told.len(), usize::from(short.contains(&rank)), "rank {rank}: {told:?}");
            assert!(
                told.iter().all(|told| told.contains("RLIMIT_NOFILE") && told.contains("128")),
                "{told:?}"
            );
        }
    }

    // Where not all further lanes would fit, none is made: a peer may need the descriptor more.
    for (current, connections) in [(50, 1), (128, 2)] {
        limit(Some(current));
        let mut world = three();
        let before = open_files();
        let memory = Buffer::new(vec![0; 3 << 20]);
        let key = world[1].tcp.expose(0, memory.lend(), Token(1)).unwrap();
        world[0].put(1, key, 0, Buffer::new(pattern(2, 3 << 20)).lend_to_send());
        until_all(&mut world, "the put", |world| world[1].filled == 1 && world[0].all_sent());
        assert_eq!(memory.bytes(), pattern(2, 3 << 20));
        // A further lane need not have been established by then.
        let begin = Instant::now();
        until_all(&mut world, "a pause", |_| begin.elapsed() > Duration::from_millis(100));
        assert_eq!(open_files() - before, 2 * connections, "both ends of {connections} are in this process");
    }
}
