//! Errors of collectives quote the line of the program that called, whichever call it was and however it is made: never
//! a line of the library.

use crate::common::{small, wires, world};
use ringworld::{Cartesian, Communicator, Error, Op, Request, Result};

/// A call, and the line that it stands on.
type Call = fn(&Communicator) -> (u32, Result<()>);

/// Begun, and waited for.
fn wait<R: Request>(request: Result<R>) -> Result<()> {
    request?.wait().map(drop)
}

// The line of a call is that of its closure: each stands on one.
#[rustfmt::skip]
fn blocking() -> Vec<Call> {
    vec![
        |c| (line!(), c.broadcast(&mut [1u8; 4], 0)),
        |c| (line!(), c.reduce(&mut [1u8; 4], Op::Sum, 0)),
        |c| (line!(), c.reduce_into(&[1u8; 4], &mut [0; 4], Op::Sum, 0)),
        |c| (line!(), c.all_reduce(&mut [1u8; 4], Op::Sum)),
        |c| (line!(), c.all_reduce_into(&[1u8; 4], &mut [0; 4], Op::Sum)),
        |c| (line!(), c.reduce_scatter(&[1u8; 4], &mut [0; 2], Op::Sum)),
        |c| (line!(), c.reduce_scatter_in_place(&mut [1u8; 4], Op::Sum).map(drop)),
        |c| (line!(), c.reduce_scatter_varied(&[1u8; 4], &mut [0; 2], &[2, 2], Op::Sum)),
        |c| (line!(), c.all_gather(&[1u8; 2], &mut [0; 4])),
        |c| (line!(), c.all_gather_in_place(&mut [0u8; 4])),
        |c| (line!(), c.all_gather_varied(&[1u8; 2], &mut [0; 4], &[2, 2])),
        |c| (line!(), c.gather(&[1u8; 2], &mut [0; 4], 0)),
        |c| (line!(), c.gather_varied(&[1u8; 2], &mut [0; 4], &[2, 2], 0)),
        |c| (line!(), c.scatter(&[1u8; 4], &mut [0; 2], 0)),
        |c| (line!(), c.scatter_varied(&[1u8; 4], &[2, 2], &mut [0; 2], 0)),
        |c| (line!(), c.all_to_all(&[1u8; 4], &mut [0; 4])),
        |c| (line!(), c.all_to_all_in_place(&mut [1u8; 4])),
        |c| (line!(), c.all_to_all_varied(&[1u8; 4], &[2, 2], &mut [0; 4], &[2, 2])),
        |c| (line!(), c.scan(&mut [1u8; 4], Op::Sum)),
        |c| (line!(), c.scan_into(&[1u8; 4], &mut [0; 4], Op::Sum)),
        |c| (line!(), c.exclusive_scan(&mut [1u8; 4], Op::Sum)),
        |c| (line!(), c.exclusive_scan_into(&[1u8; 4], &mut [0; 4], Op::Sum)),
        |c| (line!(), c.all_gather_vec(&[1u8; 2]).map(drop)),
        |c| (line!(), c.gather_vec(&[1u8; 2], 0).map(drop)),
        |c| (line!(), c.all_reduce_one(1u8, Op::Sum).map(drop)),
        |c| (line!(), c.all_true(true).map(drop)),
        |c| (line!(), c.any_true(true).map(drop)),
        |c| (line!(), c.broadcast_object(Some(1u8), 0).map(drop)),
        |c| (line!(), c.gather_objects(&1u8, 0).map(drop)),
        |c| (line!(), c.all_gather_objects(&1u8).map(drop)),
        |c| (line!(), c.scatter_objects(Some(&[1u8, 2]), 0).map(drop)),
        |c| (line!(), c.reduce_object(1u8, |a, b| a + b, 0).map(drop)),
        |c| (line!(), c.all_reduce_object(1u8, |a, b| a + b).map(drop)),
        |c| (line!(), c.split(Some(0), 0).map(drop)),
        |c| (line!(), c.split_by_host().map(drop)),
        |c| (line!(), c.duplicate().map(drop)),
        |c| (line!(), c.create(&c.group()).map(drop)),
        |c| (line!(), c.share_state(&mut Some(1), &mut 0u8, &mut []).map(drop)),
        |c| (line!(), Cartesian::new(c, &[2], &[false]).map(drop)),
    ]
}

#[rustfmt::skip]
fn fused() -> Vec<Call> {
    vec![
        |c| (line!(), c.all_reduce_many(&mut [&mut [1u8; 4], &mut [2; 4]], Op::Sum)),
        |c| (line!(), c.all_reduce_many(&mut [&mut vec![1u8; 1 << 20]], Op::Sum)),
        |c| {
            let mut buckets = c.all_reduce_buckets(Op::Sum);
            buckets.push(vec![1u8; 4]).unwrap();
            (line!(), buckets.finish().map(drop))
        },
        |c| {
            let mut buckets = c.all_reduce_buckets(Op::Sum);
            let line = line!(); buckets.push(vec![1u8; 1 << 20]).unwrap();
            (line, buckets.finish().map(drop))
        },
    ]
}

#[rustfmt::skip]
fn owned() -> Vec<Call> {
    vec![
        |c| (line!(), wait(c.start_broadcast(vec![1u8; 4], 0))),
        |c| (line!(), wait(c.start_reduce(vec![1u8; 4], Op::Sum, 0))),
        |c| (line!(), wait(c.start_all_reduce(vec![1u8; 4], Op::Sum))),
        |c| (line!(), wait(c.start_reduce_scatter(vec![1u8; 4], vec![0; 2], Op::Sum))),
        |c| (line!(), wait(c.start_reduce_scatter_varied(vec![1u8; 4], vec![0; 2], &[2, 2], Op::Sum))),
        |c| (line!(), wait(c.start_all_gather(vec![1u8; 2], vec![0; 4]))),
        |c| (line!(), wait(c.start_all_gather_varied(vec![1u8; 2], vec![0; 4], &[2, 2]))),
        |c| (line!(), wait(c.start_gather(vec![1u8; 2], vec![0; 4], 0))),
        |c| (line!(), wait(c.start_gather_varied(vec![1u8; 2], vec![0; 4], &[2, 2], 0))),
        |c| (line!(), wait(c.start_scatter(vec![1u8; 4], vec![0; 2], 0))),
        |c| (line!(), wait(c.start_scatter_varied(vec![1u8; 4], &[2, 2], vec![0; 2], 0))),
        |c| (line!(), wait(c.start_all_to_all(vec![1u8; 4], vec![0; 4]))),
        |c| (line!(), wait(c.start_all_to_all_varied(vec![1u8; 4], &[2, 2], vec![0; 4], &[2, 2]))),
        |c| (line!(), wait(c.start_scan(vec![1u8; 4], Op::Sum))),
        |c| (line!(), wait(c.start_exclusive_scan(vec![1u8; 4], Op::Sum))),
    ]
}

#[rustfmt::skip]
fn scoped() -> Vec<Call> {
    vec![
        |c| (line!(), c.scope(|s| s.broadcast(vec![1u8; 4].leak(), 0).map(drop))),
        |c| (line!(), c.scope(|s| s.all_reduce(vec![1u8; 4].leak(), Op::Sum).map(drop))),
        |c| (line!(), c.scope(|s| s.scan(vec![1u8; 4].leak(), Op::Sum).map(drop))),
        |c| (line!(), c.scope(|s| s.all_gather(&[1u8; 2], vec![0; 4].leak()).map(drop))),
        |c| (line!(), c.scope(|s| s.gather(&[1u8; 2], vec![0; 4].leak(), 0).map(drop))),
        |c| (line!(), c.scope(|s| s.all_to_all(&[1u8; 4], vec![0; 4].leak()).map(drop))),
    ]
}

#[rustfmt::skip]
fn prepared() -> Vec<Call> {
    vec![
        |c| (line!(), c.prepare_broadcast(vec![1u8; 4], 0).and_then(|mut it| it.run().map(drop))),
        |c| (line!(), c.prepare_all_reduce(vec![1u8; 4], Op::Sum).and_then(|mut it| it.run().map(drop))),
        |c| (line!(), c.prepare_scan(vec![1u8; 4], Op::Sum).and_then(|mut it| it.run().map(drop))),
        |c| (line!(), c.prepare_all_gather(vec![1u8; 2], vec![0; 4]).and_then(|mut it| it.run().map(drop))),
        |c| (line!(), c.prepare_all_to_all(vec![1u8; 4], vec![0; 4]).and_then(|mut it| it.run().map(drop))),
    ]
}

/// What the first rank calls is told with its line; the other one calls a barrier instead.
fn check(calls: impl IntoIterator<Item = Call>) {
    for call in calls {
        for wire in wires() {
            let told = world(wire, 2, &small(), |rank| match rank.rank() {
                0 => call(rank),
                _ => (line!(), rank.barrier()),
            });
            judge(&told);
        }
    }
}

fn judge(told: &[(u32, Result<()>)]) {
    let mut found = 0;
    for (line, result) in told {
        let Err(error) = result else { continue };
        let text = error.to_string();
        assert!(!text.contains("runtime/src"), "a line of the library, not {line}: {text}");
        assert!(!text.contains("of a file from which"), "the line of a file that is none of {line}: {text}");
        if matches!(error, Error::Mismatch { .. }) && !text.contains("has left") {
            found += 1;
            for (line, _) in told {
                assert!(text.contains(&format!("{}:{line}", file!())), "line {line} is not in: {text}");
            }
        }
    }
    assert!(found > 0, "nobody found out: {told:?}");
}

#[test]
fn of_calls_that_block() {
    check(blocking());
}

#[test]
fn of_calls_on_many_tensors() {
    check(fused());
}

#[test]
fn of_calls_on_owned_memory_in_scopes_and_prepared() {
    check([owned(), scoped(), prepared()].concat());
}

#[test]
fn of_calls_on_grids() {
    for wire in wires() {
        let told = world(wire, 2, &small(), |rank| {
            let grid = Cartesian::new(rank, &[2], &[false]).unwrap();
            match rank.rank() {
                0 => (line!(), grid.sub(&[true]).map(drop)),
                _ => (line!(), grid.barrier()),
            }
        });
        judge(&told);
    }
}
