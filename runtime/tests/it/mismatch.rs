//! Ranks that disagree about a collective: in each way there is, over the simulator and over TCP, every rank
//! ends with an error, and the one that finds out says who called what, and where.
//!
//! These worlds have no control plane, so a rank that does not meet the wrong message itself hears of the
//! end from its neighbours only; `tests/tests/it/processes.rs` holds real worlds to telling every rank.

use std::time::{Duration, Instant};

#[cfg(feature = "shm")]
use crate::common::owned_world;
use crate::common::{Wire, patient, small, wires, world};
#[cfg(feature = "shm")]
use ringworld::testing::{Choice, Hub};
use ringworld::{Communicator, Error, Op, Options, Result, UserOp};

/// Well above the 300 ms in which a lost connection is only a suspicion.
const SOON: Duration = Duration::from_secs(10);

type Call = fn(&Communicator) -> (u32, Result<()>);

/// One disagreement: what most ranks call, what the last one calls, and how each shows in the error.
struct Disagreement {
    name: &'static str,
    usual: Call,
    odd: Call,
    says: [&'static str; 2],
}

fn max(a: u32, b: u32) -> u32 {
    a.max(b)
}

fn plus(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

/// `counts`, the last one less by `less`.
fn uneven(size: usize, less: usize) -> Vec<usize> {
    (0..size).map(|rank| if rank + 1 == size { 900 - less } else { 900 }).collect()
}

fn all_gather_varied(c: &Communicator, counts: &[usize]) -> Result<()> {
    let (input, mut output) = (vec![1u8; counts[c.rank()]], vec![0u8; counts.iter().sum()]);
    c.all_gather_varied(&input, &mut output, counts)
}

#[track_caller]
fn in_buckets(c: &Communicator, lengths: &[usize]) -> Result<()> {
    let mut buckets = c.all_reduce_buckets(Op::Sum);
    lengths.iter().try_for_each(|length| buckets.push(vec![1u32; *length]).map(drop))?;
    buckets.finish().map(drop)
}

fn forced(c: &Communicator, path: &str) -> Communicator {
    c.with(&Options::new().algorithm(path).unwrap())
}

// The line of a call is that of its closure: each stands on one.
#[rustfmt::skip]
fn disagreements() -> Vec<Disagreement> {
    vec![
        Disagreement {
            name: "collective",
            usual: |c| (line!(), c.all_reduce(&mut [1u32; 100], Op::Sum)),
            odd: |c| (line!(), c.barrier()),
            says: ["all_reduce(100 x u32, sum)", "barrier()"],
        },
        Disagreement {
            name: "similar collective",
            usual: |c| (line!(), c.scan(&mut [1u32; 100], Op::Sum)),
            odd: |c| (line!(), c.exclusive_scan(&mut [1u32; 100], Op::Sum)),
            says: [" scan(100 x u32, sum)", "exclusive_scan(100 x u32, sum)"],
        },
        Disagreement {
            name: "type",
            usual: |c| (line!(), c.all_reduce(&mut [1u32; 100], Op::Sum)),
            odd: |c| (line!(), c.all_reduce(&mut [1f32; 100], Op::Sum)),
            says: ["100 x u32", "100 x f32"],
        },
        Disagreement {
            name: "count",
            usual: |c| (line!(), c.all_reduce(&mut vec![1u32; 5000], Op::Sum)),
            odd: |c| (line!(), c.all_reduce(&mut vec![1u32; 4999], Op::Sum)),
            says: ["5000 x u32", "4999 x u32"],
        },
        Disagreement {
            name: "nothing instead of something",
            usual: |c| (line!(), c.broadcast(&mut [1u8; 10], 0)),
            odd: |c| (line!(), c.broadcast(&mut [0u8; 0], 0)),
            says: ["broadcast(10 x bytes, root 0)", "broadcast(0 x bytes, root 0)"],
        },
        Disagreement {
            name: "operation",
            usual: |c| (line!(), c.all_reduce(&mut [1u32; 100], Op::Sum)),
            odd: |c| (line!(), c.all_reduce(&mut [1u32; 100], Op::Max)),
            says: ["100 x u32, sum", "100 x u32, max"],
        },
        Disagreement {
            name: "factors",
            usual: |c| (line!(), c.all_reduce(&mut [1f32; 100], Op::Sum.scaled(1.0, 0.5))),
            odd: |c| (line!(), c.all_reduce(&mut [1f32; 100], Op::Sum)),
            says: ["sum with factors", "100 x f32, sum)"],
        },
        Disagreement {
            name: "user operation",
            usual: |c| (line!(), c.all_reduce(&mut [1u32; 100], UserOp::new("plus", plus))),
            odd: |c| (line!(), c.all_reduce(&mut [1u32; 100], UserOp::new("max", max))),
            says: ["\"plus\"", "\"max\""],
        },
        Disagreement {
            name: "lengths of slices",
            usual: |c| (line!(), c.all_reduce_many(&mut [&mut [1u32; 30], &mut [1; 50]], Op::Sum)),
            odd: |c| (line!(), c.all_reduce_many(&mut [&mut [1u32; 50], &mut [1; 30]], Op::Sum)),
            says: ["all_reduce(80 x u32 in slices, lengths #", "must have the same lengths, in the same order"],
        },
        Disagreement {
            name: "slices and one as long as all",
            usual: |c| (line!(), c.all_reduce_many(&mut [&mut [1u32; 30], &mut [1; 50]], Op::Sum)),
            odd: |c| (line!(), c.all_reduce(&mut [1u32; 80], Op::Sum)),
            says: ["all_reduce(80 x u32 in slices, lengths #", "all_reduce(80 x u32, sum)"],
        },
        Disagreement {
            name: "lengths of what a bucket holds",
            usual: |c| (line!(), in_buckets(c, &[30, 50])),
            odd: |c| (line!(), in_buckets(c, &[40, 40])),
            says: ["all_reduce(80 x u32 in slices, lengths #", "must have the same lengths, in the same order"],
        },
        Disagreement {
            name: "root",
            usual: |c| (line!(), c.reduce(&mut [1u32; 100], Op::Sum, 0)),
            odd: |c| (line!(), c.reduce(&mut [1u32; 100], Op::Sum, 1)),
            says: ["root 0", "root 1"],
        },
        Disagreement {
            name: "per-rank counts",
            usual: |c| (line!(), all_gather_varied(c, &uneven(c.size(), 0))),
            odd: |c| (line!(), all_gather_varied(c, &uneven(c.size(), 5))),
            says: ["all_gather_varied", "all_gather_varied"],
        },
        Disagreement {
            name: "algorithm",
            usual: |c| (line!(), forced(c, "all-reduce/ring").all_reduce(&mut [1u32; 100], Op::Sum)),
            odd: |c| (line!(), forced(c, "all-reduce/direct").all_reduce(&mut [1u32; 100], Op::Sum)),
            says: ["all_reduce(100 x u32, sum)", "other settings"],
        },
        Disagreement {
            name: "reproducible",
            usual: |c| (line!(), c.all_reduce(&mut [1f64; 100], Op::Sum)),
            odd: |c| (line!(), c.with(&Options::new().reproducible(true)).all_reduce(&mut [1f64; 100], Op::Sum)),
            says: ["all_reduce(100 x f64, sum)", "other settings"],
        },
        Disagreement {
            name: "order",
            usual: |c| (line!(), c.barrier().and_then(|()| c.all_gather(&[1u16; 8], &mut vec![0; 8 * c.size()]))),
            odd: |c| (line!(), c.all_gather(&[1u16; 8], &mut vec![0; 8 * c.size()]).and_then(|()| c.barrier())),
            says: ["barrier()", "all_gather(16 x bytes from each rank)"],
        },
        Disagreement {
            name: "way",
            usual: |c| (line!(), c.start_all_reduce(vec![1u32; 100], Op::Sum).and_then(|p| p.wait().map(drop))),
            odd: |c| { let mut x = [1u32; 99]; (line!(), c.scope(|s| s.all_reduce(&mut x, Op::Sum).map(drop))) },
            says: ["100 x u32", "99 x u32"],
        },
        Disagreement {
            name: "prepared",
            usual: |c| (line!(), c.prepare_all_reduce(vec![1u32; 100], Op::Min).and_then(|mut p| p.run().map(drop))),
            odd: |c| (line!(), c.all_reduce(&mut [1u32; 100], Op::Max)),
            says: ["100 x u32, min", "100 x u32, max"],
        },
    ]
}

/// Every rank ends with an error; gives the texts of the mismatches, and the lines of the calls.
fn disagree(wire: Wire, size: usize, disagreement: &Disagreement) -> (Vec<String>, [u32; 2]) {
    let name = disagreement.name;
    let start = Instant::now();
    let results = world(wire, size, &small(), |rank| {
        let call = if rank.rank() + 1 == size { disagreement.odd } else { disagreement.usual };
        let (line, result) = call(rank);
        // A rank may have all it needs before another finds out; it hears of the end at its next calls.
        let result = result.and_then(|()| rank.barrier()).and_then(|()| rank.barrier());
        (line, result)
    });
    assert!(start.elapsed() < patient(SOON), "{name} over {wire:?}: {:?}", start.elapsed());
    let lines = [results[0].0, results[size - 1].0];
    let mut mismatches = Vec::new();
    for (rank, (_, result)) in results.into_iter().enumerate() {
        match result {
            Err(error @ Error::Mismatch { .. }) => mismatches.push(error.to_string()),
            Err(Error::PeerFailed { .. } | Error::PeerFinished { .. }) => {}
            other => panic!("{name} over {wire:?}: rank {rank} of {size} got {other:?}"),
        }
    }
    (mismatches, lines)
}

/// The worlds of all disagreements run side by side: most of their time they wait for a suspicion to pass.
fn every_disagreement_is_told(wire: Wire, size: usize) {
    std::thread::scope(|scope| {
        for disagreement in disagreements() {
            scope.spawn(move || {
                let (mismatches, lines) = disagree(wire, size, &disagreement);
                let Disagreement { name, says, .. } = disagreement;
                // A helper of this file makes this call, and shows its own line.
                let helped = name == "per-rank counts";
                let places = lines.map(|line| format!("{}:{line}", file!()));
                let quotes = |text: &String| {
                    says.iter().all(|part| text.contains(part))
                        && text.contains("disagree")
                        && (helped || places.iter().all(|place| text.contains(place.as_str())))
                };
                assert!(
                    mismatches.iter().any(quotes),
                    "{name} over {wire:?}, {size} ranks: {says:?} or {places:?} is missing in {mismatches:#?}"
                );
            });
        }
    });
}

#[test]
fn every_disagreement_ends_in_an_error_that_quotes_both_calls_and_their_lines() {
    for wire in wires() {
        for size in [2, 3, 5] {
            every_disagreement_is_told(wire, size);
        }
    }
}

/// Lengths that only one side knows cannot be in the signature; the message itself shows them.
#[test]
fn a_rank_that_gives_another_number_than_the_root_expects_is_named_with_both_numbers() {
    for wire in wires() {
        for (given, expected) in [(90usize, 100usize), (110, 100), (3000, 2000), (0, 100), (100, 0)] {
            let results = world(wire, 2, &small(), |rank| {
                let result = if rank.rank() == 0 {
                    let mut output = vec![0u8; 10 + expected];
                    rank.gather_varied(&[1; 10], &mut output, &[10, expected], 0)
                } else {
                    rank.gather_varied(&vec![1u8; given], &mut [], &[], 0)
                };
                result.and_then(|()| rank.barrier()).and_then(|()| rank.barrier())
            });
            assert!(results.iter().all(Result::is_err), "{wire:?} {given}: {results:?}");
            let text = results[0].as_ref().unwrap_err().to_string();
            for part in ["gather_varied", file!(), &format!("{given} bytes"), &expected.to_string(), "rank 1"]
            {
                assert!(text.contains(part), "{wire:?} {given}: {part:?} is missing in {text}");
            }
        }
    }
}

/// A disagreement on one communicator is found even while others are busy.
#[test]
fn a_disagreement_in_flight_among_right_collectives_is_found() {
    for wire in wires() {
        let results = world(wire, 3, &small(), |rank| {
            let other = rank.duplicate().unwrap();
            let start = |c: &Communicator, count| c.start_all_reduce(vec![1u32; count], Op::Sum);
            let pending = [
                start(rank, 3000)?,
                start(&other, 10)?,
                start(rank, if rank.rank() == 2 { 41 } else { 40 })?,
                start(&other, 2000)?,
            ];
            let results = pending.map(ringworld::Pending::wait);
            let first = results.into_iter().find_map(Result::err);
            first.map_or(Ok(()), Err).and_then(|()| rank.barrier()).and_then(|()| rank.barrier())
        });
        assert!(results.iter().all(Result::is_err), "{wire:?}: {results:?}");
        let told = |error: &Error| {
            let text = error.to_string();
            text.contains("40 x u32") && text.contains("41 x u32") && text.contains("communicator 0")
        };
        assert!(results.iter().filter_map(|r| r.as_ref().err()).any(told), "{wire:?}: {results:?}");
    }
}

#[cfg(feature = "shm")]
type Last = fn(&Communicator) -> Result<()>;

/// Two ranks call so many barriers on a communicator of their own, then each its last call, of which none waits for
/// the other, and drop it. Then they make another one.
#[cfg(feature = "shm")]
fn part_and_drop(barriers: usize, last: [Last; 2], late: Option<usize>) -> Vec<Result<()>> {
    let hub = Some(Hub::new(2));
    let choice = Choice { remind: Duration::from_millis(30), hub, ranks_per_host: 2, ..Choice::default() };
    owned_world(Wire::Shm, 2, &choice, |rank| {
        let calls = || {
            // Shown, not sent: the ranks are connected by then, and all have come to the communicator.
            (0..8).try_for_each(|_| rank.barrier())?;
            let made = rank.duplicate()?;
            (0..barriers).try_for_each(|_| made.barrier())?;
            if late == Some(rank.rank()) {
                std::thread::sleep(Duration::from_millis(30));
            }
            last[rank.rank()](&made)?;
            drop(made);
            rank.duplicate()?.barrier()?;
            rank.barrier()
        };
        let called = calls();
        let ended = rank.finish();
        called.and(ended)
    })
}

/// What is shown in a communicator is looked at before that is forgotten, and what comes after that is found as well.
#[cfg(feature = "shm")]
#[test]
fn a_disagreement_is_found_although_the_communicator_is_dropped_at_once() {
    let own: Last = |c| c.broadcast(&mut [7u32; 2], c.rank());
    let nothing: Last = |c| c.broadcast(&mut [0u32; 0], 0);
    let none: Last = |_| Ok(());
    let again: Last = |c| (0..2).try_for_each(|_| c.broadcast(&mut [7u32; 2], c.rank()));
    for (name, last) in [
        ("root", [own, own]),
        ("nothing", [nothing, own]),
        ("none", [none, own]),
        ("once more", [own, again]),
    ] {
        for (barriers, late) in
            (1..=5).flat_map(|barriers| [None, Some(0), Some(1)].map(|late| (barriers, late)))
        {
            let results = part_and_drop(barriers, last, late);
            let told = |result: &Result<()>| {
                let text = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
                text.contains("disagree") && text.contains("broadcast(8 x bytes, root 1)")
            };
            assert!(results.iter().any(told), "{name} after {barriers} barriers, {late:?} late: {results:?}");
        }
    }
    for (barriers, last) in (0..=5).flat_map(|barriers| [none, nothing].map(|last| (barriers, last))) {
        let results = part_and_drop(barriers, [last, last], None);
        assert!(results.iter().all(Result::is_ok), "{barriers} barriers: {results:?}");
    }
}
