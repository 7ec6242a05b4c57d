//! In the steady state nothing is allocated: not per message, not per collective, not per segment.
//!
//! One test only, because the counter counts the whole process.

#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use common::{real_wire, world};
use ringworld::Op;
use ringworld::testing::{Choice, Rank};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is handed on to the system's allocator; counting touches no memory of its callers.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

const ROUNDS: u64 = 200;
const WINDOWS: usize = 6;
const WARM_UP: u64 = 200;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Messages,
    SendRecv,
    SendRecvReplace,
    AllReduce,
    Prepared,
    Scope,
    Family,
}

/// One call of every collective but the all-reduce, on the beginning of the buffers.
fn family(rank: &Rank, data: &mut [f32], other: &mut [f32]) {
    let (half, mine) = (data.len() / 2, rank.rank());
    rank.broadcast(data, 1).unwrap();
    rank.reduce(data, Op::Max, 0).unwrap();
    rank.reduce_scatter(data, &mut other[..half], Op::Max).unwrap();
    rank.all_gather(&data[..half], other).unwrap();
    rank.gather(&data[..half], if mine == 0 { other } else { &mut [] }, 0).unwrap();
    rank.scatter(if mine == 1 { data } else { &mut [] }, &mut other[..half], 1).unwrap();
    rank.all_to_all(data, other).unwrap();
    rank.scan(data, Op::Max).unwrap();
    rank.exclusive_scan(data, Op::Max).unwrap();
}

fn exchange(rank: &Rank, buffer: &mut [u8]) {
    let peer = 1 - rank.rank();
    if rank.rank() == 0 {
        rank.send(buffer, peer, 7).unwrap();
        rank.recv(buffer, peer, 7).unwrap();
    } else {
        rank.recv(buffer, peer, 7).unwrap();
        rank.send(buffer, peer, 7).unwrap();
    }
}

#[test]
fn the_steady_state_allocates_nothing() {
    // Eager, the largest eager, and rendezvous; direct exchange, doubling, and the ring.
    let lengths = [8, 4096, 256 << 10, 1 << 20];
    world(real_wire(), 2, &Choice::default(), |rank| {
        let mut buffer = vec![0u8; 1 << 20];
        let mut data = vec![1f32; 1 << 18];
        let mut more = vec![0f32; 1 << 18];
        let mut came = vec![0u8; 1 << 20];
        let peer = 1 - rank.rank();
        // The barriers around what is counted are themselves in their steady state then.
        for _ in 0..WARM_UP {
            rank.barrier().unwrap();
        }
        for length in lengths {
            for call in [
                Call::Messages,
                Call::SendRecv,
                Call::SendRecvReplace,
                Call::AllReduce,
                Call::Prepared,
                Call::Scope,
                Call::Family,
            ] {
                let mut prepared = rank.prepare_all_reduce(vec![1f32; length / 4], Op::Max).unwrap();
                let mut round = || match call {
                    Call::Messages => exchange(rank, &mut buffer[..length]),
                    Call::SendRecv => {
                        rank.send_recv(&buffer[..length], peer, 7, &mut came[..length], peer, 7).unwrap();
                    }
                    Call::SendRecvReplace => {
                        rank.send_recv_replace(&mut buffer[..length], peer, 7, peer, 7).unwrap();
                    }
                    Call::AllReduce => rank.all_reduce(&mut data[..length / 4], Op::Max).unwrap(),
                    Call::Prepared => drop(prepared.run().unwrap().first()),
                    Call::Scope => rank
                        .scope(|s| {
                            let receiving = s.recv(&mut came[..length], peer, 7)?;
                            s.send(&buffer[..length], peer, 7)?.wait()?;
                            receiving.wait().map(drop)
                        })
                        .unwrap(),
                    Call::Family => family(rank, &mut data[..length / 4], &mut more[..length / 4]),
                };
                for _ in 0..WARM_UP {
                    round();
                }
                // Which messages come before they are wanted is a matter of timing, so queues and the pool
                // for such messages may reach a new height in any window; what every message or round
                // allocated would show in all of them.
                let grown = (0..WINDOWS).map(|_| {
                    rank.barrier().unwrap();
                    let before = ALLOCATIONS.load(Ordering::Relaxed);
                    (0..ROUNDS).for_each(|_| round());
                    rank.barrier().unwrap();
                    ALLOCATIONS.load(Ordering::Relaxed) - before
                });
                let grown: Vec<u64> = grown.collect();
                let least = grown.iter().min().copied();
                assert!(
                    least <= Some(2),
                    "{call:?} of {length} bytes: {grown:?} allocations in {ROUNDS} rounds"
                );
            }
        }
    });
}
