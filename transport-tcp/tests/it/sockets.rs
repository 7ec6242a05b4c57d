//! What is particular to real sockets and threads: every size, simultaneous connects, sleeping, leaving.
//!
//! Neighbours: `conformance.rs` for what every transport promises, `unauthenticated.rs` for who does not belong.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::support::{Buffer, Side, local, pattern, until_all, world};
use ringworld_transport::{Cause, RemoteKey, SendMemory, Token, Transport};
use ringworld_transport_tcp::{BindError, Config, Tcp};

/// Runs each rank in a thread of its own.
fn spmd(sides: Vec<Side>, rank: impl Fn(usize, &mut Side) + Sync) {
    std::thread::scope(|scope| {
        let rank = &rank;
        for (index, mut side) in sides.into_iter().enumerate() {
            scope.spawn(move || rank(index, &mut side));
        }
    });
}

#[test]
fn every_size_arrives_in_order_over_both_families() {
    let sizes =
        [0, 1, 7, 8, 95, 4096, 65_519, 65_520, 65_521, 65_536, 65_537, 524_287, 524_289, 3 << 20, 64 << 20];
    for ip in ["127.0.0.1", "::1"] {
        spmd(local(2, ip), |rank, side| {
            for size in sizes {
                side.send(1 - rank, &[1; 40], Buffer::new(pattern(size as u64, size)).lend_to_send());
            }
            assert!(side.until(|side| side.received == sizes.len() && side.all_sent()), "{:?}", side.down);
            for (arrival, size) in side.inbox.arrivals.iter().zip(sizes) {
                assert_eq!((arrival.header.len(), arrival.length), (40, size));
                assert!(arrival.memory.bytes() == pattern(size as u64, size), "{size} bytes differ");
            }
            side.close();
        });
    }
}

#[test]
fn short_placements_discard_the_rest_of_any_size() {
    spmd(local(2, "127.0.0.1"), |rank, side| {
        side.inbox.limit = 1000;
        let sizes = [999, 1000, 1001, 70_000, 5 << 20, 3];
        for size in sizes {
            side.send(1 - rank, b"h", Buffer::new(pattern(9, size)).lend_to_send());
        }
        assert!(side.until(|side| side.received == sizes.len() && side.all_sent()));
        for (arrival, size) in side.inbox.arrivals.iter().zip(sizes) {
            assert_eq!(arrival.length, size);
            assert_eq!(arrival.memory.bytes(), &pattern(9, size)[..size.min(1000)]);
        }
    });
}

/// Every rank puts into every other while messages go around; with every kind of lane rule.
#[test]
fn puts_of_all_to_all_fill_over_any_number_of_lanes() {
    const SIZE: usize = 3;
    const LENGTH: usize = 5 << 20 | 77;
    for lanes in [1, 2, 5] {
        let configs = (0..SIZE).map(|rank| {
            let mut config = Config::new(rank, SIZE, 1, vec![Ipv4Addr::LOCALHOST.into()]);
            config.lanes = lanes;
            config
        });
        spmd(world(configs.collect()), |rank, side| {
            let peers: Vec<usize> = (0..SIZE).filter(|peer| *peer != rank).collect();
            let memory: Vec<Buffer> = peers.iter().map(|_| Buffer::new(vec![0; LENGTH])).collect();
            for (&peer, memory) in peers.iter().zip(&memory) {
                let key = side.tcp.expose(peer, memory.lend(), Token(peer as u64)).unwrap();
                side.send(peer, key.as_bytes(), SendMemory::empty());
            }
            // A peer that is ahead has sent its message before another one its key.
            let keys = |side: &Side| -> Vec<(usize, Vec<u8>)> {
                let keys = side.inbox.arrivals.iter().filter(|arrival| arrival.header != b"m");
                keys.map(|arrival| (arrival.peer, arrival.header.clone())).collect()
            };
            assert!(side.until(|side| keys(side).len() == SIZE - 1));
            for (peer, key) in keys(side) {
                let bytes = pattern((rank * SIZE + peer) as u64, LENGTH);
                // In unequal pieces, last first.
                for (start, end) in [(600_000, LENGTH), (1, 600_000), (0, 1)] {
                    let piece = Buffer::new(bytes[start..end].to_vec());
                    side.put(peer, RemoteKey::new(&key).unwrap(), start, piece.lend_to_send());
                }
                side.send(peer, b"m", Buffer::new(pattern(3, 100_000)).lend_to_send());
            }
            let received = 2 * (SIZE - 1);
            assert!(side.until(|s| s.filled == SIZE - 1 && s.received == received && s.all_sent()));
            for (&peer, memory) in peers.iter().zip(&memory) {
                assert!(memory.bytes() == pattern((peer * SIZE + rank) as u64, LENGTH), "{peer} to {rank}");
            }
            side.close();
            assert!(side.down.is_empty(), "{:?}", side.down);
        });
    }
}

/// Established connections that this process has made to where `tcp` listens, as the kernel lists them. Others, such as
/// tests of other processes that still look for a peer at a port which is ours now, do not count.
fn connections(tcp: &Tcp) -> usize {
    let shown = format!("{tcp:?}");
    let port = shown.split("127.0.0.1:").nth(1).unwrap().split(']').next().unwrap().parse::<u16>().unwrap();
    let listens = format!("0100007F:{port:04X}");
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let ours: HashSet<String> = targets.map(|target| target.to_string_lossy().into_owned()).collect();
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    // Among others: local and remote address, state (established), number of the socket.
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row[2] == listens && row[3] == "01" && ours.contains(&format!("socket:[{}]", row[9])))
        .count()
}

#[test]
fn messages_use_one_connection_and_a_put_opens_the_others() {
    const LENGTH: usize = 1000;
    // Whoever connected first dials the further ones, whether it puts or is put to.
    for putter in [0, 1] {
        let configs = (0..2).map(|rank| {
            let mut config = Config::new(rank, 2, 1, vec![Ipv4Addr::LOCALHOST.into()]);
            config.lanes = 3;
            config
        });
        let mut world = world(configs.collect());
        world[0].send(1, b"h", Buffer::new(pattern(1, 100)).lend_to_send());
        until_all(&mut world, "the message", |world| world[1].received == 1);
        // Time for a further one to be made, if it were.
        let begin = Instant::now();
        until_all(&mut world, "a pause", |_| begin.elapsed() > Duration::from_millis(50));
        let count = |world: &[Side]| world.iter().map(|side| connections(&side.tcp)).sum::<usize>();
        // Another test may still dial a port that is ours now, and is turned away. What we had opened would stay.
        until_all(&mut world, "one connection", |world| count(world) == 1);
        let memory = Buffer::new(vec![0; LENGTH]);
        let key = world[1 - putter].tcp.expose(putter, memory.lend(), Token(1)).unwrap();
        world[putter].put(1 - putter, key, 0, Buffer::new(pattern(2, LENGTH)).lend_to_send());
        until_all(&mut world, "the put", |world| world[1 - putter].filled == 1);
        assert_eq!(memory.bytes(), pattern(2, LENGTH));
        until_all(&mut world, "three connections", |world| count(world) == 3);
    }
}

#[test]
fn simultaneous_connects_lose_and_double_nothing() {
    for round in 0..150 {
        spmd(local(3, "127.0.0.1"), |rank, side| {
            let peers = (0..3).filter(|peer| *peer != rank);
            // Vary who comes first.
            if (round + rank) % 4 == 0 {
                std::thread::sleep(Duration::from_micros(100 * (round % 7) as u64));
            }
            for peer in peers {
                for index in 0..3u8 {
                    side.send(peer, &[index], Buffer::new(pattern(1, 2_000)).lend_to_send());
                }
            }
            side.close();
            assert!(side.down.is_empty(), "round {round}, rank {rank}: {:?}", side.down);
            assert!(side.all_sent());
            for peer in (0..3).filter(|peer| *peer != rank) {
                let from = side.inbox.arrivals.iter().filter(|a| a.peer == peer && a.complete);
                let order: Vec<u8> = from.map(|arrival| arrival.header[0]).collect();
                assert_eq!(order, [0, 1, 2], "round {round}, {peer} to {rank}");
            }
        });
    }
}

#[test]
fn a_peer_that_vanishes_is_down_at_once_and_by_its_name() {
    let mut sides = local(3, "127.0.0.1");
    sides[1].send(0, b"x", SendMemory::empty());
    sides[2].send(0, b"x", SendMemory::empty());
    until_all(&mut sides, "connected", |s| s[0].received == 2);
    sides[0].send(2, b"big", Buffer::new(vec![0; 32 << 20]).lend_to_send());
    drop(sides.pop());
    let start = Instant::now();
    until_all(&mut sides, "PeerDown", |s| !s[0].down.is_empty());
    assert!(start.elapsed() < Duration::from_secs(1));
    assert!(matches!(sides[0].down[..], [(2, Cause::Lost(_))]), "{:?}", sides[0].down);
    sides[0].send(1, b"on", SendMemory::empty());
    until_all(&mut sides, "the others go on", |s| s[1].received == 1);
}

#[test]
fn close_waits_for_a_slow_reader_and_loses_nothing() {
    spmd(local(2, "127.0.0.1"), |rank, side| {
        if rank == 0 {
            for index in 0..40u8 {
                side.send(1, &[index], Buffer::new(pattern(u64::from(index), 1 << 20)).lend_to_send());
            }
            side.close();
            assert!(side.all_sent());
        } else {
            std::thread::sleep(Duration::from_millis(300));
            assert!(side.until(|side| side.closed_peers == [0]));
            assert_eq!(side.received, 40);
            for (index, arrival) in side.inbox.arrivals.iter().enumerate() {
                assert!(arrival.memory.bytes() == pattern(index as u64, 1 << 20), "message {index}");
            }
            side.close();
        }
        assert!(side.down.is_empty(), "{:?}", side.down);
    });
}

#[test]
fn who_sleeps_is_woken_by_connections_messages_and_puts() {
    fn sleep(side: &mut Side) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        if side.tcp.arm() {
            let fd = side.tcp.wait_fd().unwrap();
            let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
            let woken = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)).unwrap();
            assert_eq!(woken, 1, "nothing woke the sleeper");
        }
        side.poll();
    }
    spmd(local(2, "127.0.0.1"), |rank, side| {
        let memory = Buffer::new(vec![0; 4 << 20]);
        for round in 0..200 {
            if (round + rank) % 2 == 0 {
                side.send(1 - rank, b"turn", Buffer::new(pattern(round as u64, 100_000)).lend_to_send());
            } else {
                while side.received <= round / 2 {
                    sleep(side);
                }
            }
        }
        while !side.all_sent() || side.received < 100 {
            sleep(side);
        }
        let key = side.tcp.expose(1 - rank, memory.lend(), Token(1)).unwrap();
        side.send(1 - rank, key.as_bytes(), SendMemory::empty());
        while side.received < 101 {
            sleep(side);
        }
        let key = RemoteKey::new(&side.inbox.last_header).unwrap();
        side.put(1 - rank, key, 0, Buffer::new(pattern(5, 4 << 20)).lend_to_send());
        while side.filled < 1 || !side.all_sent() {
            sleep(side);
        }
        assert!(memory.bytes() == pattern(5, 4 << 20));
        side.tcp.close();
        while !side.closed {
            sleep(side);
        }
    });
}

#[test]
fn settings_that_cannot_be_honoured_are_errors() {
    let good = || Config::new(0, 2, 1, vec![Ipv4Addr::LOCALHOST.into()]);
    assert!(matches!(Tcp::bind(Config::new(2, 2, 1, vec![])), Err(BindError::Rank { .. })));
    assert!(matches!(Tcp::bind(Config::new(0, 2, 1, vec![])), Err(BindError::NoAddress)));
    let anywhere = vec![Ipv4Addr::UNSPECIFIED.into()];
    assert!(matches!(Tcp::bind(Config::new(0, 2, 1, anywhere)), Err(BindError::Address(_))));
    // TEST-NET-1, which no interface has.
    let foreign = vec![Ipv4Addr::new(192, 0, 2, 1).into()];
    assert!(matches!(Tcp::bind(Config::new(0, 2, 1, foreign)), Err(BindError::NoneLeft(_))));
    for lanes in [0, 65] {
        let mut config = good();
        config.lanes = lanes;
        assert!(matches!(Tcp::bind(config), Err(BindError::Lanes(given)) if given == lanes));
    }
    let mut config = good();
    config.congestion = Some("no such thing".to_owned());
    let error = Tcp::bind(config).unwrap_err();
    assert!(error.to_string().contains("no such thing"), "{error}");
}
