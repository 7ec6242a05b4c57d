//! A process that runs out of descriptors, for a moment or for good.
//!
//! The limit is that of the whole process, so this is one test in a file of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{Side, until, world};

#[path = "it/support.rs"]
mod support;

/// Takes all descriptors that are left, but for `room`.
fn exhaust(room: usize) -> Vec<File> {
    let mut taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    taken.truncate(taken.len() - room);
    taken
}

/// Ranks 0 and 2 send to rank 1 while the process may open no more than `room` descriptors, until so long has passed or
/// somebody has been told.
fn send_with_room_for(room: usize, shortage: Duration) -> (Vec<Side>, Duration) {
    send_while(|| exhaust(room), shortage)
}

/// The same while something is lacking until what `lack` returns is dropped.
fn send_while<T>(lack: impl FnOnce() -> T, shortage: Duration) -> (Vec<Side>, Duration) {
    let mut world = world(3);
    let taken = lack();
    let begin = Instant::now();
    for rank in [0, 2] {
        world[rank].send(1, b"x");
    }
    until(&mut world, "the shortage", |world| {
        begin.elapsed() > shortage || world.iter().any(|side| !side.broken.is_empty())
    });
    drop(taken);
    (world, begin.elapsed())
}

/// What each rank maps of another at the most, as the system lists it.
fn mapped() -> u64 {
    let list = std::fs::read_to_string("/proc/self/maps").unwrap();
    let sizes = list.lines().filter(|line| line.contains("memfd:ringworld")).map(|line| {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        u64::from_str_radix(to, 16).unwrap() - u64::from_str_radix(from, 16).unwrap()
    });
    sizes.max().unwrap()
}

/// A limit on what the process may map, until it is dropped.
struct Addresses(Rlimit);

impl Addresses {
    /// No more than `room` bytes beside what is mapped.
    fn limit(room: u64) -> Self {
        let whole = getrlimit(Resource::As);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let mapped: u64 = size.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        setrlimit(Resource::As, Rlimit { current: Some((mapped << 10) + room), ..whole }).unwrap();
        Self(whole)
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        setrlimit(Resource::As, self.0).unwrap();
    }
}

/// Once nothing is lacking any more, all comes, and nobody is blamed.
fn passes(mut world: Vec<Side>, when: &str) {
    until(&mut world, "both messages", |world| {
        world[1].received().count() == 2 || world.iter().any(|side| !side.down.is_empty())
    });
    for side in &world {
        assert!(side.down.is_empty() && side.broken.is_empty(), "{when}: {:?} {:?}", side.down, side.broken);
    }
}

#[test]
fn a_short_shortage_passes_and_a_long_one_is_told_and_nobody_else_is_blamed() {
    let whole = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(128), ..whole }).unwrap();

    // Not even a socket to connect with; none to accept; no memory to offer; no room for what is offered, and for what
    // comes in return; and all of that again for the second connection.
    for room in 0..20 {
        let (world, _) = send_with_room_for(room, Duration::from_millis(300));
        passes(world, &format!("room for {room}"));
    }

    // No addresses to map what is offered, and what comes in return.
    let most = 5 * {
        let _world = world(1);
        mapped()
    };
    for room in (0..most).step_by(most as usize / 20) {
        let (world, _) = send_while(|| Addresses::limit(room), Duration::from_millis(100));
        passes(world, &format!("addresses for {room} bytes"));
    }

    // The same, and it does not end: no socket, and no room for what is offered.
    for room in [0, 2] {
        let (world, after) = send_with_room_for(room, Duration::from_secs(20));
        assert!(
            after > Duration::from_secs(2) && after < Duration::from_secs(6),
            "room for {room}: {after:?}"
        );
        for side in &world {
            assert!(side.down.is_empty(), "room for {room}: an innocent rank is blamed: {:?}", side.down);
        }
        let told: Vec<_> = world.iter().flat_map(|side| &side.broken).collect();
        assert!(!told.is_empty(), "room for {room}");
        for told in told {
            assert!(told.contains("RLIMIT_NOFILE") && told.contains("128"), "{told:?}");
        }
    }

    // One that ended long ago does not count when another begins.
    let (mut world, _) = send_with_room_for(0, Duration::from_millis(100));
    until(&mut world, "both messages", |world| world[1].received().count() == 2);
    std::thread::sleep(Duration::from_secs(4));
    let taken = exhaust(0);
    world[0].send(2, b"y");
    let begin = Instant::now();
    until(&mut world, "a moment", |_| begin.elapsed() > Duration::from_millis(100));
    drop(taken);
    until(&mut world, "the message", |world| world[2].received().count() == 1);
    assert!(world.iter().all(|side| side.broken.is_empty() && side.down.is_empty()));
}
