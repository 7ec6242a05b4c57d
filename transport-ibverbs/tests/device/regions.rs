//! Memory that its owner registers for many transfers: registered once, used by all that lie in it, and let go.

use ringworld_transport::{Operation, RegionId, RemoteKey, Token, Transport};

use crate::limits::{limited, without_memory};
use crate::support::{Buffer, Side, acquaint, pattern, sides, until_all};
use crate::{alone, resources};

const LENGTH: usize = 1 << 20;

/// The number of memory regions that the kernel has for anybody.
fn regions() -> Option<usize> {
    let text = resources()?;
    let mut words = text.split_whitespace().skip_while(|word| *word != "mr").skip(1);
    words.next()?.parse().ok()
}

/// Waits until the kernel has `expected`: it lets go of some a moment later.
#[track_caller]
fn assert_regions(expected: usize, when: &str) {
    for _ in 0..40 {
        if regions() == Some(expected) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(regions(), Some(expected), "{when}");
}

/// Whether an exposure could not be registered, so that what is put there is copied: the last byte of its key.
fn is_staged(key: &RemoteKey) -> bool {
    key.as_bytes().last() == Some(&1)
}

fn expose(side: &mut Side, memory: Buffer) -> RemoteKey {
    side.transport.expose(0, memory.lend(), Token(0)).unwrap()
}

/// Two ranks, each with registered memory.
struct Both {
    world: Vec<Side>,
    /// Regions that the kernel had before.
    before: usize,
    bytes: Vec<u8>,
    from: Buffer,
    into: Buffer,
    sender: RegionId,
    receiver: RegionId,
}

/// `None`, and a word on it, where regions cannot be counted.
fn registered_at_both_ends(seed: usize) -> Option<Both> {
    if regions().is_none() {
        eprintln!("skipped: the command `rdma resource show` (package iproute2) does not work here");
        return None;
    }
    let mut world = sides(2, |_| {});
    acquaint(&mut world);
    let before = regions()?;
    let bytes = pattern(seed, LENGTH);
    let (from, into) = (Buffer::new(bytes.clone()), Buffer::new(vec![0; LENGTH]));
    let sender = world[0].transport.register(from.lend_to_register()).unwrap().unwrap();
    let receiver = world[1].transport.register(into.lend_to_register()).unwrap().unwrap();
    Some(Both { world, before, bytes, from, into, sender, receiver })
}

#[test]
fn registered_memory_is_not_registered_again() {
    let _alone = alone();
    let Some(Both { mut world, before, bytes, from, into, sender, receiver }) = registered_at_both_ends(1)
    else {
        return;
    };
    assert_regions(before + 2, "once at each end");
    for round in 0..20 {
        // Whole, and parts at either end.
        let part = [0..LENGTH, 0..100_000, LENGTH - 100_000..LENGTH][round % 3].clone();
        let key = expose(&mut world[1], into.part(part.clone()));
        assert_eq!(regions(), Some(before + 2), "an exposure registered its memory again");
        world[0].put_buffer(1, key, from.part(part.clone()));
        assert_eq!(regions(), Some(before + 2), "a put registered its memory again");
        until_all(&mut world, "filled", |world| world[1].filled == round + 1 && world[0].all_sent());
        assert!(into.bytes()[part.clone()] == bytes[part]);
    }
    assert_eq!(regions(), Some(before + 2));
    // What lies elsewhere is registered as ever.
    let elsewhere = Buffer::new(vec![0; LENGTH]);
    let key = expose(&mut world[1], elsewhere);
    assert_regions(before + 3, "with an exposure elsewhere");
    world[0].put_buffer(1, key, from);
    until_all(&mut world, "filled", |world| world[1].filled == 21 && world[0].all_sent());
    assert!(elsewhere.bytes() == bytes);
    world[0].transport.deregister(sender);
    assert_regions(before + 1, "deregistered at one end");
    world[1].transport.deregister(receiver);
    world[1].transport.deregister(receiver);
    assert_regions(before, "deregistered at both ends");
}

#[test]
fn a_region_that_is_in_use_is_let_go_with_its_last_operation() {
    let _alone = alone();
    let Some(Both { mut world, before, bytes, from, into, sender, receiver }) = registered_at_both_ends(2)
    else {
        return;
    };
    let keys = [0..LENGTH / 2, LENGTH / 2..LENGTH].map(|half| expose(&mut world[1], into.part(half)));
    world[0].put_buffer(1, keys[0], from.part(0..LENGTH / 2));
    world[0].transport.deregister(sender);
    world[1].transport.deregister(receiver);
    assert_regions(before + 2, "the put and the exposures hold theirs");
    until_all(&mut world, "filled", |world| world[1].filled == 1 && world[0].all_sent());
    assert_regions(before + 1, "one exposure is left");
    world[0].put_buffer(1, keys[1], from.part(LENGTH / 2..LENGTH));
    until_all(&mut world, "filled", |world| world[1].filled == 2 && world[0].all_sent());
    assert_regions(before, "nothing is under way");
    assert!(into.bytes() == bytes);
}

#[test]
fn regions_are_let_go_with_the_transport() {
    let _alone = alone();
    let Some(before) = regions() else {
        eprintln!("skipped: the command `rdma resource show` (package iproute2) does not work here");
        return;
    };
    for end in ["drop", "abort", "close"] {
        let mut world = sides(2, |_| {});
        acquaint(&mut world);
        let memories = [0, 1].map(|_| Buffer::new(vec![1; LENGTH]));
        for (side, memory) in world.iter_mut().zip(memories) {
            side.transport.register(memory.lend_to_register()).unwrap().unwrap();
        }
        let key = expose(&mut world[1], memories[1]);
        world[0].put_buffer(1, key, memories[0]);
        match end {
            "abort" => world.iter_mut().for_each(|side| side.transport.abort()),
            "close" => {
                world.iter_mut().for_each(|side| side.transport.close());
                until_all(&mut world, "closed", |world| world.iter().all(|side| side.closed));
            }
            _ => world.clear(),
        }
        assert_regions(before, end);
        for side in &mut world {
            assert_eq!(side.transport.register(memories[0].lend_to_register()), Ok(None), "{end}");
        }
    }
}

#[test]
fn memory_that_may_not_be_pinned_is_not_registered_and_travels_all_the_same() {
    let _alone = alone();
    limited(|| {
        let mut world = sides(2, |_| {});
        acquaint(&mut world);
        let bytes = pattern(3, LENGTH);
        let (from, into) = (Buffer::new(bytes.clone()), Buffer::new(vec![0; LENGTH]));
        without_memory(|| {
            assert_eq!(world[0].transport.register(from.lend_to_register()), Ok(None));
            assert_eq!(world[1].transport.register(into.lend_to_register()), Ok(None));
            let key = expose(&mut world[1], into);
            assert!(is_staged(&key), "the limit on pinned memory has no effect here");
            world[0].put_buffer(1, key, from);
            until_all(&mut world, "filled", |world| world[1].filled == 1 && world[0].all_sent());
        });
        assert!(into.bytes() == bytes);
        // What was pinned before the limit was reached goes on to be used.
        world[0].transport.register(from.lend_to_register()).unwrap().unwrap();
        world[1].transport.register(into.lend_to_register()).unwrap().unwrap();
        without_memory(|| {
            let key = expose(&mut world[1], into.part(0..100_000));
            assert!(!is_staged(&key));
            let put = Operation::Put {
                peer: 1,
                key,
                offset: 0,
                payload: from.part(5..100_005).lend_to_send(),
                token: Token(0),
            };
            let _pending = world[0].transport.post(put).unwrap();
            until_all(&mut world, "filled", |world| world[1].filled == 2);
        });
        assert!(into.bytes()[..100_000] == bytes[5..100_005]);
    });
}
