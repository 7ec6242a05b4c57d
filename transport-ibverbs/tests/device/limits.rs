//! Credits, slots, inline sends, memory that may not be pinned, a shared receive queue, settings that name what is
//! not there, and that nothing is left behind.

use crate::support::{self, Side, acquaint, config, pattern, sides, until_all};
use crate::{alone, assert_released, resources};
use ringworld_transport::{Cause, MAX_HEADER, Transport};
use ringworld_transport_ibverbs::{Config, Ibverbs, OpenError, available_devices};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

#[test]
fn without_credits_the_sender_waits_and_nothing_is_lost() {
    const COUNT: usize = 1_000;
    let mut world = sides(2, |_| {});
    acquaint(&mut world);
    // The receiver does not poll. With receives run out, the device would answer *not ready*, and after six
    // such answers the connection would be lost.
    for index in 0..COUNT {
        world[0].send(1, &index.to_le_bytes(), &pattern(index, index % 300));
    }
    for _ in 0..2_000 {
        world[0].poll();
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    assert!(world[0].down.is_empty() && world[0].sent < world[0].pending, "nothing held the sender back");
    until_all(&mut world, "all received", |world| world[1].received == COUNT && world[0].all_sent());
    for (index, arrival) in world[1].inbox.0.iter().enumerate() {
        assert_eq!(arrival.header, index.to_le_bytes());
        assert!(arrival.memory.bytes() == pattern(index, index % 300), "message {index} is changed");
    }
}

#[test]
fn credits_go_back_at_the_poll_that_has_read_many_slots() {
    let mut world = sides(2, |_| {});
    acquaint(&mut world);
    // Of 56 credits one was for getting acquainted.
    for index in 0..55usize {
        world[0].send(1, &index.to_le_bytes(), b"");
    }
    world[0].until("all sent", Side::all_sent);
    world[1].until("all received", |side| side.received == 55);
    // The receiver computes now: it neither polls nor arms, and the sender goes on. Half of the credits at least are
    // back.
    for index in 0..28usize {
        world[0].send(1, &index.to_le_bytes(), b"");
    }
    world[0].until("the sender has been given credits", Side::all_sent);
}

#[test]
fn a_fin_that_is_read_with_much_else_is_answered_and_nothing_after_it() {
    for (count, shared) in [(40usize, false), (10, true)] {
        let mut world = if shared { sides(2, |config| config.shared_above = 0) } else { sides(2, |_| {}) };
        acquaint(&mut world);
        for index in 0..count {
            world[0].send(1, &index.to_le_bytes(), b"");
        }
        world[0].transport.close();
        for _ in 0..100 {
            world[0].poll();
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        // All that the receiver says meanwhile, the closing side reads in one poll.
        world[1].until("all received", |side| side.received == count);
        for _ in 0..20 {
            world[1].transport.arm();
            world[1].poll();
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        until_all(&mut world, "closed", |world| world[0].closed);
        assert!(world[0].down.is_empty(), "after {count} messages: {:?}", world[0].down);
    }
}

#[test]
fn messages_around_inline_and_slot_boundaries_arrive_whole() {
    let mut world = sides(2, |_| {});
    acquaint(&mut world);
    let mut sent = Vec::new();
    for header in [0, 1, MAX_HEADER] {
        for edge in [64usize, 110, 128, 220, 256, 512, 4096, 8192, 2 * 8192, 3 * 8192] {
            for length in (edge - 2..edge + 3).chain((15..18).map(|n| edge.saturating_sub(n + header))) {
                sent.push((vec![7; header], pattern(length, length)));
            }
        }
    }
    for (header, bytes) in &sent {
        world[0].send(1, header, bytes);
        world[1].poll();
    }
    until_all(&mut world, "all received", |world| world[1].received == sent.len());
    for (arrival, (header, bytes)) in world[1].inbox.0.iter().zip(&sent) {
        assert_eq!(arrival.header, *header);
        assert!(arrival.memory.bytes() == bytes, "{} bytes are changed", bytes.len());
    }
}

/// Puts of lengths around all boundaries, whole and in two fragments, and what they left.
fn put_all(world: &mut [Side], lengths: &[usize]) {
    for &length in lengths {
        let bytes = pattern(length, length);
        let (memory, key) = world[1].expose(0, length);
        let filled = world[1].filled;
        let middle = length / 3;
        if middle > 0 {
            world[0].put(1, key, middle, &bytes[middle..]);
            world[0].put(1, key, 0, &bytes[..middle]);
        } else {
            world[0].put(1, key, 0, &bytes);
        }
        until_all(world, "filled", |world| world[1].filled > filled && world[0].all_sent());
        assert!(memory.bytes() == bytes, "a put of {length} bytes arrived changed");
    }
}

#[test]
fn puts_around_inline_slot_and_fragment_boundaries_arrive_whole() {
    let mut world = sides(2, |_| {});
    acquaint(&mut world);
    let edges = [220usize, 330, 8192, 12_288, 1 << 20, 3 << 19, 5 << 20];
    let lengths: Vec<usize> =
        [1, 2, 3].into_iter().chain(edges.into_iter().flat_map(|e| e - 1..e + 2)).collect();
    put_all(&mut world, &lengths);
}

#[test]
fn a_put_that_does_not_fit_is_refused() {
    let mut world = sides(2, |_| {});
    let (_, key) = world[1].expose(0, 100);
    for (offset, length) in [(0, 101), (100, 1), (usize::MAX, 1)] {
        let payload = support::Buffer::new(vec![0; length]).lend_to_send();
        let put = ringworld_transport::Operation::Put {
            peer: 1,
            key,
            offset,
            payload,
            token: ringworld_transport::Token(0),
        };
        let refused = world[0].transport.post(put);
        assert!(matches!(refused, Err(ringworld_transport::Refused::Invalid(..))), "{refused:?}");
    }
}

/// Runs a test in a thread that is subject to the limit on pinned memory, which the superuser is not.
///
/// The device has to be opened there: the kernel refuses work on a device from a thread whose rights have
/// changed since.
pub(crate) fn limited(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        let sets = capabilities(None).unwrap();
        let effective = sets.effective - CapabilitySet::IPC_LOCK;
        set_capabilities(None, CapabilitySets { effective, ..sets }).unwrap();
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs `during` while this process may pin nothing more.
pub(crate) fn without_memory<T>(during: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::Memlock);
    setrlimit(Resource::Memlock, Rlimit { current: Some(4096), ..before }).unwrap();
    let result = during();
    setrlimit(Resource::Memlock, before).unwrap();
    result
}

#[test]
fn puts_are_copied_where_memory_cannot_be_registered() {
    let _alone = alone();
    limited(|| {
        let mut world = sides(2, |_| {});
        acquaint(&mut world);
        let bytes = pattern(5, 3_000_000);
        // At the receiver, at the sender, and at both.
        for (receiver, sender) in [(true, false), (false, true), (true, true)] {
            let expose = |world: &mut [Side]| world[1].expose(0, bytes.len());
            let (memory, key) =
                if receiver { without_memory(|| expose(&mut world)) } else { expose(&mut world) };
            let filled = world[1].filled;
            let mut put = || {
                world[0].put(1, key, 1_000_000, &bytes[1_000_000..]);
                world[0].put(1, key, 0, &bytes[..1_000_000]);
                until_all(&mut world, "filled", |world| world[1].filled > filled && world[0].all_sent());
            };
            if sender {
                without_memory(put)
            } else {
                put()
            }
            assert!(memory.bytes() == bytes, "arrived changed (receiver {receiver}, sender {sender})");
        }
    });
}

#[test]
fn without_memory_for_slots_the_error_says_which_limit_to_raise() {
    let _alone = alone();
    limited(|| {
        let mut world = sides(2, |_| {});
        without_memory(|| world[0].send(1, b"x", b"hello"));
        until_all(&mut world, "down", |world| !world[0].down.is_empty());
        let (peer, cause) = &world[0].down[0];
        let text = cause.to_string();
        assert!(*peer == 1 && matches!(cause, Cause::Memory(_)), "{text}");
        assert!(
            text.contains("RLIMIT_MEMLOCK") && text.contains("4 KiB") && text.contains("ulimit -l"),
            "{text}"
        );
        // The side that was only called on learns why, too.
        let mut world = sides(2, |_| {});
        world[0].send(1, b"x", b"hello");
        without_memory(|| until_all(&mut world, "down", |world| !world[1].down.is_empty()));
        until_all(&mut world, "down", |world| !world[0].down.is_empty());
        assert!(
            world[0].down[0].1.to_string().contains("RLIMIT_MEMLOCK")
                || matches!(world[0].down[0].1, Cause::Lost(_))
        );
    });
}

#[test]
fn more_peers_than_have_slots_of_their_own_share_a_queue() {
    const SIZE: usize = 67;
    let _alone = alone();
    let mut world = sides(SIZE, |_| {});
    acquaint(&mut world);
    // All at once at one receiver, more than any has credits for.
    for peer in 1..SIZE {
        for index in 0..20 {
            world[peer].send(0, &[index], &pattern(peer, 3_000));
        }
    }
    until_all(&mut world, "all received", |world| world[0].received == 20 * (SIZE - 1));
    for peer in 1..SIZE {
        let of_peer: Vec<_> = world[0].inbox.0.iter().filter(|arrival| arrival.peer == peer).collect();
        assert!(of_peer.iter().enumerate().all(|(index, arrival)| arrival.header == [index as u8]));
        assert!(of_peer.iter().all(|arrival| arrival.memory.bytes() == pattern(peer, 3_000)));
    }
    assert!(world.iter().all(|side| side.down.is_empty()));
}

#[test]
fn nothing_is_left_behind_in_the_kernel() {
    let _alone = alone();
    let Some(before) = resources() else {
        eprintln!("skipped: the command `rdma resource show` (package iproute2) does not work here");
        return;
    };
    let shared = |config: &mut Config| config.shared_above = 0;
    let adjustments: [fn(&mut Config); 3] = [|_| {}, shared, |config| config.queue_pairs = 3];
    for adjust in adjustments {
        for end in ["drop", "abort", "close", "lost"] {
            let mut world = sides(3, adjust);
            acquaint(&mut world);
            assert_ne!(resources().unwrap(), before, "the count does not show what is in use");
            let (_, key) = world[1].expose(0, 4 << 20);
            let _open = world[2].expose(0, 10_000);
            world[0].put(1, key, 0, &pattern(1, 3 << 20));
            world[0].send(2, b"x", &pattern(2, 1 << 20));
            match end {
                "abort" => world.iter_mut().for_each(|side| side.transport.abort()),
                "lost" => {
                    world.pop();
                    until_all(&mut world, "down", |world| world[0].down.len() == 1);
                }
                "close" => {
                    world[0].transport.close();
                    until_all(&mut world, "closed", |world| world[0].closed);
                }
                _ => {}
            }
            drop(world);
            assert_released(&before);
        }
    }
}

#[test]
fn settings_that_name_what_is_not_there_are_refused_with_what_is() {
    let mut wrong = config(0, 2);
    wrong.gid_index = Some(200);
    let error = Ibverbs::open(wrong).unwrap_err();
    assert!(!error.is_absence() && matches!(error, OpenError::Impossible(_)), "{error}");
    assert!(error.to_string().contains("200") && error.to_string().contains("10.0.0.1"), "{error}");
    let mut wrong = config(0, 2);
    wrong.devices = Some("mlx5_7".parse().unwrap());
    let error = Ibverbs::open(wrong).unwrap_err();
    assert!(!error.is_absence() && error.to_string().contains("mlx5_7"), "{error}");
    let mut wrong = config(0, 2);
    wrong.devices = Some("rxe0:2".parse().unwrap());
    assert!(!Ibverbs::open(wrong).unwrap_err().is_absence());
    let mut wrong = config(0, 2);
    wrong.retries = 7;
    assert!(matches!(Ibverbs::open(wrong), Err(OpenError::Setting(_))));
}

#[test]
fn a_given_device_and_gid_index_are_used() {
    let found = available_devices(&config(0, 2)).unwrap();
    let chosen = found.iter().find(|report| report.chosen).unwrap();
    let (device, gid) = (chosen.device.clone(), *chosen.gid().unwrap());
    assert_eq!(gid.gid.ip(), support::ip(), "{chosen}");
    // Another than the best: the link-local one, which every interface has.
    let other = chosen.gids.iter().find(|entry| entry.index != gid.index).copied();
    let mut settings = config(0, 2);
    settings.devices = Some(format!("={device}").parse().unwrap());
    settings.gid_index = other.map(|entry| entry.index);
    let opened = Ibverbs::open(settings).unwrap();
    assert_eq!(opened.port().gid().map(|entry| entry.index), Some(other.unwrap_or(gid).index));
    assert_eq!(opened.capabilities().name, "ibverbs");
}

#[test]
fn ports_whose_addresses_are_of_different_families_refuse_each_other_at_once() {
    let report = available_devices(&config(0, 2)).unwrap().into_iter().find(|report| report.chosen).unwrap();
    let Some(v6) = report.gids.iter().find(|entry| entry.gid.ip().is_ipv6()) else {
        eprintln!("skipped: the device has no IPv6 GID");
        return;
    };
    let mut settings = config(1, 2);
    settings.gid_index = Some(v6.index);
    let (mut here, there) = (Ibverbs::open(config(0, 2)).unwrap(), Ibverbs::open(settings).unwrap());
    let error = here.connect(1, &there.address()).unwrap_err();
    assert!(error.reason.contains("family"), "{error}");
}
