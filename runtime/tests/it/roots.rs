//! Ranks that disagree about a root may all wait for one another and send nothing: they still find out. And ranks that
//! agree about it run ahead of one another, without getting slower.

use std::time::{Duration, Instant};

use crate::common::{real_wire, wires, world};
use ringworld::testing::{Choice, Rank};
use ringworld::{Error, Op, Result};

type Call = fn(&Rank, usize) -> Result<()>;

const CALLS: [(&str, Call); 3] = [
    ("reduce", |rank, root| rank.reduce(&mut [1i32; 3], Op::Sum, root)),
    ("gather", |rank, root| rank.gather(&[1u8], &mut vec![0; rank.size()], root)),
    ("gather_varied", |rank, root| {
        rank.gather_varied(&[1u8], &mut vec![0; rank.size()], &vec![1; rank.size()], root)
    }),
];

#[test]
fn ranks_that_take_themselves_for_the_root_are_told_who_called_what() {
    for wire in wires() {
        for (name, call) in CALLS {
            let start = Instant::now();
            let results = world(wire, 2, &Choice::default(), |rank| call(rank, rank.rank()));
            for result in results {
                let error = result.unwrap_err();
                let text = error.to_string();
                assert!(
                    matches!(error, Error::Mismatch { .. } | Error::PeerFailed { .. }),
                    "{wire:?}: {text}"
                );
                if matches!(error, Error::Mismatch { .. }) {
                    assert!(text.contains("root 0") && text.contains("root 1"), "{wire:?} {name}: {text}");
                    assert!(text.contains("roots.rs"), "{text}");
                }
            }
            assert!(start.elapsed() < Duration::from_secs(10), "{wire:?} {name}: {:?}", start.elapsed());
        }
    }
}

/// A root gives and wants nothing, so it is told at the latest by the next call in which all wait for all.
#[test]
fn ranks_that_all_give_as_roots_are_told_in_the_next_call() {
    for wire in wires() {
        for size in [2, 3] {
            let results = world(wire, size, &Choice::default(), |rank| {
                // So that what follows finds connections.
                rank.barrier().unwrap();
                rank.broadcast(&mut [rank.rank() as u8], rank.rank()).and_then(|()| rank.barrier())
            });
            for result in results {
                let error = result.expect_err("they disagree about the root");
                let text = error.to_string();
                let told = matches!(error, Error::Mismatch { .. }) && text.contains("roots.rs");
                assert!(told || matches!(error, Error::PeerFailed { .. }), "{wire:?}: {text}");
            }
        }
    }
}

#[test]
fn being_reminded_of_what_one_does_anyway_changes_nothing() {
    for wire in wires().into_iter().skip(2) {
        let sums = world(wire, 3, &Choice::default(), |rank| {
            let mut data = [rank.rank() as u64; 4];
            // Longer than the first reminder takes, before and while the others wait.
            if rank.rank() == 2 {
                std::thread::sleep(Duration::from_millis(2500));
            }
            rank.reduce(&mut data, Op::Sum, 0).unwrap();
            rank.all_reduce(&mut data, Op::Max).unwrap();
            rank.barrier().unwrap();
            data
        });
        assert!(sums.iter().all(|sum| *sum == [3; 4]), "{wire:?}: {sums:?}");
    }
}

/// How long a call takes, with a root that stays or one that moves on.
fn per_call(size: usize, call: Call, calls: u32, moves: bool) -> Duration {
    let times =
        world(real_wire(), size, &Choice { spin: Duration::from_micros(50), ..Choice::default() }, |rank| {
            call(rank, 0).unwrap();
            rank.barrier().unwrap();
            let start = Instant::now();
            for turn in 0..calls as usize {
                call(rank, if moves { turn % size } else { 0 }).unwrap();
            }
            rank.barrier().unwrap();
            start.elapsed()
        });
    times.into_iter().max().unwrap() / calls
}

/// With one root nobody waits for an answer, so ranks run ahead as far as there is memory for it, and a call costs less
/// than with a root that moves, which keeps them together.
#[test]
fn a_loop_of_collectives_with_one_root_stays_fast_however_far_ranks_run_ahead() {
    let calls: [(&str, Call); 4] = [
        ("broadcast", |rank, root| rank.broadcast(&mut [1u64], root)),
        ("reduce", |rank, root| rank.reduce(&mut [1u64], Op::Sum, root)),
        ("gather", |rank, root| rank.gather(&[1u64], &mut vec![0; rank.size()], root)),
        ("scatter", |rank, root| rank.scatter(&vec![1u64; rank.size()], &mut [0], root)),
    ];
    for size in [2, 4] {
        for (name, call) in calls {
            // Others use this machine as well.
            let fast = (0..3).any(|_| {
                let (stays, moves) = (per_call(size, call, 30_000, false), per_call(size, call, 3_000, true));
                println!("{name} on {size} ranks: {stays:?} a call; with a root that moves {moves:?}");
                stays < 2 * moves
            });
            assert!(fast, "{name} on {size} ranks gets slow");
        }
    }
}
