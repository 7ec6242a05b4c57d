//! An operation of the user's that calls ringworld itself: an error says so, at once, and nobody hangs.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{owned_world, small, wires, world};
use ringworld::{Communicator, Error, Op, Result, UserOp};

/// What an operation calls.
type Inner = fn(&Communicator) -> Result<()>;

/// All-reduces by an operation that makes a call, and heeds its error or does not; what the inner call returned, and
/// the outer.
fn reduce(rank: &Communicator, inner: Inner, heeds: bool) -> (Option<Result<()>>, Result<()>) {
    let told = Arc::new(Mutex::new(None));
    let (tell, within) = (Arc::clone(&told), rank.clone());
    let op = UserOp::new("talkative", move |a: u32, b: u32| {
        let result = inner(&within);
        let failed = result.as_ref().err().map(ToString::to_string);
        tell.lock().unwrap().get_or_insert(result);
        if let Some(failed) = failed.filter(|_| heeds) {
            panic!("{failed}");
        }
        a + b
    });
    let outer = rank.reduce(&mut [1, 2], &op, 0);
    (told.lock().unwrap().take(), outer)
}

/// Whoever combines has both errors: that of the inner call, and that of the outer.
fn check(inner: Inner, says: &str, heeds: bool) {
    for wire in wires() {
        let results = world(wire, 2, &small(), |rank| reduce(rank, inner, heeds));
        let (inner, outer) = &results[0];
        let inner = inner.as_ref().unwrap().as_ref().unwrap_err();
        assert!(matches!(inner, Error::InsideOperation { .. }), "{wire:?}: {inner}");
        let (inner, outer) = (inner.to_string(), outer.as_ref().unwrap_err());
        for part in [says, "\"talkative\"", "before or after"] {
            assert!(inner.contains(part), "{wire:?}: {part} in {inner}");
        }
        assert!(matches!(outer, Error::Panicked { .. }), "{wire:?}: {outer}");
        let outer = outer.to_string();
        for part in ["\"talkative\"", "rank 0 on host0", says, "before or after", "reduce(2 x u32"] {
            assert!(outer.contains(part), "{wire:?}: {part} in {outer}");
        }
    }
}

#[test]
fn a_call_that_blocks_is_refused_and_ends_the_world_whether_its_error_is_heeded_or_not() {
    for heeds in [false, true] {
        check(|c| c.send(&[1u8], 1, 7), "send #0 (to rank 1, tag 7)", heeds);
        check(|c| c.recv(&mut [0u8], 1, 7).map(drop), "recv #0 (from rank 1, tag 7)", heeds);
        check(|c| c.barrier(), "barrier()", heeds);
        check(|c| c.all_reduce(&mut [1u8; 3], Op::Sum), "all_reduce(3 x u8, sum)", heeds);
    }
}

#[test]
fn so_is_every_other_that_needs_the_engine() {
    check(|c| c.send_recv(&[1u8], 1, 7, &mut [0u8], 1, 7).map(drop), "send_recv", false);
    check(|c| c.start_send(vec![1u8], 1, 7)?.wait().map(drop), "send", false);
    check(|c| c.start_recv(vec![1u8], 1, 7)?.wait().map(drop), "recv", false);
    check(|c| c.start_all_reduce(vec![1u8], Op::Sum)?.wait().map(drop), "all_reduce(1 x u8, sum)", false);
    check(|c| c.scope(|s| s.send(&[1u8], 1, 7).map(drop)), "send", false);
    check(|c| c.prepare_barrier()?.run().map(drop), "barrier", false);
    check(|c| c.probe(1, 7).map(drop), "probe", false);
    check(|c| c.try_probe(1, 7).map(drop), "try_probe", false);
    check(|c| c.try_probe_matched(1, 7).map(drop), "try_probe_matched", false);
    check(|c| c.send_object(&1u8, 1, 7), "send_object", false);
    check(|c| c.broadcast_object(Some(1u8), 0).map(drop), "broadcast_object", false);
    check(|c| c.duplicate().map(drop), "duplicate", false);
}

/// What needs no engine, works; what cannot return an error, ends the world by its words all the same.
#[test]
fn what_needs_no_engine_works_and_what_returns_no_error_panics() {
    for wire in wires() {
        let results = world(wire, 2, &small(), |rank| {
            let within = Communicator::clone(rank);
            let op = UserOp::new("curious", move |a: usize, b: usize| {
                let other = within.clone();
                assert!(other.host(other.rank()).starts_with("host"));
                a + b + within.size() + other.size()
            });
            let mut data = [1];
            rank.all_reduce(&mut data, &op).unwrap();
            assert_eq!(data, [6]);

            let pending = rank.start_recv(vec![0u8], 1 - rank.rank(), 7).unwrap();
            let pending = Mutex::new(Some(pending));
            let op = UserOp::new("impatient", move |a: u8, b: u8| {
                let pending = pending.lock().unwrap().take().unwrap();
                let _ = pending.is_done();
                a + b
            });
            rank.reduce(&mut [1], &op, 0).map(drop)
        });
        let error = results[0].as_ref().unwrap_err();
        assert!(matches!(error, Error::Panicked { .. }), "{wire:?}: {error}");
        let text = error.to_string();
        for part in ["\"impatient\"", "rank 0 on host0", "called ringworld", "before or after"] {
            assert!(text.contains(part), "{wire:?}: {part} in {text}");
        }
    }
}

/// Says whether the call that it makes when it is dropped returns.
struct Last(Communicator, Sender<Result<()>>);

impl Drop for Last {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.try_probe(0, 99).map(drop));
    }
}

/// The engine has the last of an operation when its program has dropped all others.
#[test]
fn what_an_operation_keeps_may_call_when_it_is_dropped() {
    for wire in wires() {
        // Not in threads that are waited for: whoever waits for himself never ends.
        let (tell, told) = channel();
        std::thread::spawn(move || {
            owned_world(wire, 2, &small(), |rank| {
                let operation = || {
                    let last = Last(rank.clone(), tell.clone());
                    UserOp::new("last", move |a: u32, b: u32| a + b + u32::from(last.0.size() > 2))
                };
                for count in [1, 100_000] {
                    let sum = rank.start_all_reduce(vec![1; count], operation()).unwrap();
                    assert_eq!(sum.wait().unwrap(), vec![2; count]);
                    // Nobody waits for this one.
                    drop(rank.start_all_reduce(vec![1; count], operation()).unwrap());
                    let mut data = vec![1; count];
                    rank.scope(|s| s.all_reduce(&mut data, operation()).map(drop)).unwrap();
                    rank.barrier().unwrap();
                }
                if rank.rank() == 1 {
                    // Not before the other one has heard all.
                    rank.recv(&mut [0u8], 0, 5).unwrap();
                    return rank.vanish();
                }
                rank.send(&[0u8], 1, 5).unwrap();
                // What is under way when the world ends, and what is refused then.
                for _ in 0..2 {
                    assert!(rank.start_all_reduce(vec![1], operation()).unwrap().wait().is_err());
                }
                rank.vanish();
            });
        });
        for operation in 0..2 * 2 * 3 + 2 {
            let called = told.recv_timeout(Duration::from_secs(30));
            assert!(called.is_ok(), "{wire:?}: operation {operation} waits for itself");
        }
    }
}

/// An operation of one world may use another, whose engine nobody has.
#[test]
fn another_world_can_be_used() {
    let results = ringworld::testing::ranks(2, |world| {
        let op = UserOp::new("elsewhere", |a: u32, b: u32| {
            let other = ringworld::testing::alone();
            other.send(&[a + b], 0, 7).unwrap();
            let mut sum = [0];
            other.recv(&mut sum, 0, 7).unwrap();
            sum[0]
        });
        world.all_reduce_one(world.rank() as u32, &op).unwrap()
    });
    assert_eq!(results, [1, 1]);
}
