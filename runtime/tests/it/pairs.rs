//! Every collective against every other, every root against every other: ranks that do not call the same find out, by
//! the end of the world at the latest, and are told who called what. Nobody hangs, and nobody is blamed for having
//! left.
//!
//! In these worlds a [`Hub`] stands in for the control plane, so that every rank hears of what one has found. That the
//! schedules alone make this certain is shown in `pairs_in_theory`, without threads and for many more ways to differ.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Wire, owned_world, patient, small, wires};
use ringworld::testing::{Choice, Hub, Rank};
use ringworld::{Error, Op, Result};

/// Worlds that run at the same time: most of their time they wait.
const SIDE_BY_SIDE: usize = 24;
/// Elements of a block: sent without asking, and not.
const LENGTHS: [usize; 2] = [5, 700];

/// A call of the user.
struct Call {
    name: &'static str,
    root: Option<usize>,
    make: fn(&Rank, usize, usize) -> Result<()>,
}

/// Counts that differ from rank to rank.
fn counts(size: usize, length: usize) -> Vec<usize> {
    (0..size).map(|rank| length + rank).collect()
}

fn each(size: usize, length: usize) -> Vec<u32> {
    vec![1; size * length]
}

fn total(counts: &[usize]) -> usize {
    counts.iter().sum()
}

fn at_root<T>(rank: &Rank, root: usize, given: T) -> Option<T> {
    (rank.rank() == root).then_some(given)
}

fn calls() -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut rootless = |name, make| calls.push(Call { name, root: None, make });
    rootless("barrier", |r, _, _| r.barrier());
    rootless("all_reduce", |r, n, _| r.all_reduce(&mut vec![1u32; n], Op::Sum));
    rootless("all_gather", |r, n, _| r.all_gather(&vec![1u32; n], &mut each(r.size(), n)));
    rootless("reduce_scatter", |r, n, _| r.reduce_scatter(&each(r.size(), n), &mut vec![0; n], Op::Sum));
    rootless("all_to_all", |r, n, _| r.all_to_all(&each(r.size(), n), &mut each(r.size(), n)));
    rootless("scan", |r, n, _| r.scan(&mut vec![1u32; n], Op::Sum));
    rootless("exclusive_scan", |r, n, _| r.exclusive_scan(&mut vec![1u32; n], Op::Sum));
    rootless("all_gather_varied", |r, n, _| {
        let counts = counts(r.size(), n);
        r.all_gather_varied(&vec![1u32; counts[r.rank()]], &mut vec![0; total(&counts)], &counts)
    });
    rootless("reduce_scatter_varied", |r, n, _| {
        let counts = counts(r.size(), n);
        let input = vec![1u32; total(&counts)];
        r.reduce_scatter_varied(&input, &mut vec![0; counts[r.rank()]], &counts, Op::Sum)
    });
    rootless("all_to_all_varied", |r, n, _| {
        let send = vec![n + r.rank(); r.size()];
        let recv = counts(r.size(), n);
        r.all_to_all_varied(&vec![1u32; total(&send)], &send, &mut vec![0; total(&recv)], &recv)
    });
    rootless("all_gather_objects", |r, n, _| r.all_gather_objects(&vec![1u32; n]).map(drop));
    rootless("all_reduce_object", |r, n, _| r.all_reduce_object(vec![1u32; n], |a, _| a).map(drop));
    rootless("split", |r, _, _| r.split(Some(0), r.rank()).map(drop));
    rootless("duplicate", |r, _, _| r.duplicate().map(drop));
    for root in [0, 1] {
        let mut rooted = |name, make| calls.push(Call { name, root: Some(root), make });
        rooted("broadcast", |r, n, root| r.broadcast(&mut vec![1u32; n], root));
        rooted("reduce", |r, n, root| r.reduce(&mut vec![1u32; n], Op::Sum, root));
        rooted("gather", |r, n, root| r.gather(&vec![1u32; n], &mut each(r.size(), n), root));
        rooted("scatter", |r, n, root| r.scatter(&each(r.size(), n), &mut vec![0u32; n], root));
        rooted("gather_varied", |r, n, root| {
            let counts = counts(r.size(), n);
            r.gather_varied(&vec![1u32; counts[r.rank()]], &mut vec![0; total(&counts)], &counts, root)
        });
        rooted("scatter_varied", |r, n, root| {
            let counts = counts(r.size(), n);
            r.scatter_varied(&vec![1u32; total(&counts)], &counts, &mut vec![0; counts[r.rank()]], root)
        });
        rooted("broadcast_object", |r, n, root| {
            r.broadcast_object(at_root(r, root, vec![1u32; n]), root).map(drop)
        });
        rooted("gather_objects", |r, n, root| r.gather_objects(&vec![1u32; n], root).map(drop));
        rooted("scatter_objects", |r, n, root| {
            let objects = vec![vec![1u32; n]; r.size()];
            r.scatter_objects(at_root(r, root, objects.as_slice()), root).map(drop)
        });
        rooted("reduce_object", |r, n, root| r.reduce_object(vec![1u32; n], |a, _| a, root).map(drop));
    }
    calls
}

/// The same collectives in other ways: what is called is the same, and so goes together.
fn other_ways() -> Vec<Call> {
    vec![
        Call {
            name: "all_reduce",
            root: None,
            make: |r, n, _| r.start_all_reduce(vec![1u32; n], Op::Sum)?.wait().map(drop),
        },
        Call {
            name: "broadcast",
            root: Some(1),
            make: |r, n, root| r.start_broadcast(vec![1u32; n], root)?.wait().map(drop),
        },
        // Nobody waits for it: the end of the world does.
        Call {
            name: "broadcast",
            root: Some(0),
            make: |r, n, root| r.start_broadcast(vec![1u32; n], root).map(drop),
        },
        Call {
            name: "reduce",
            root: Some(1),
            make: |r, n, root| {
                let mut data = vec![1u32; n];
                r.scope(|s| s.reduce(&mut data, Op::Sum, root).map(drop))
            },
        },
        Call {
            name: "all_reduce",
            root: None,
            make: |r, n, _| r.prepare_all_reduce(vec![1u32; n], Op::Sum)?.run().map(drop),
        },
    ]
}

impl Call {
    fn is_same(&self, other: &Self) -> bool {
        (self.name, self.root) == (other.name, other.root)
    }

    /// Whether a text quotes this call.
    fn is_quoted(&self, text: &str) -> bool {
        let root = self.root.map_or(String::new(), |root| format!("root {root}"));
        let named = |end| text.contains(&format!("called {}{end}", self.name));
        (named("(") || named(" ")) && text.contains(&root)
    }
}

/// What becomes of a world in which the ranks that `odd` says call `b`, and the others `a`.
fn results(
    wire: Wire,
    size: usize,
    length: usize,
    [a, b]: [&Call; 2],
    odd: impl Fn(usize) -> bool + Sync,
) -> Vec<Result<()>> {
    let choice = Choice { remind: Duration::from_millis(30), hub: Some(Hub::new(size)), ..small() };
    owned_world(wire, size, &choice, |rank| {
        let call = if odd(rank.rank()) { b } else { a };
        let called = (call.make)(&rank, length, call.root.unwrap_or(0));
        let ended = rank.finish();
        called.and(ended)
    })
}

/// One way to differ.
struct Case {
    wire: Wire,
    size: usize,
    length: usize,
    pair: [usize; 2],
    /// Which ranks make the second call, as bits.
    odd: u32,
}

fn check(calls: &[Call], case: &Case) {
    let Case { wire, size, length, pair, odd } = *case;
    let pair = pair.map(|call| &calls[call]);
    let what = || {
        let [a, b] = pair.map(|call| (call.name, call.root));
        format!("{a:?} against {b:?} on {odd:b} of {size} ranks, {length} elements, over {wire:?}")
    };
    let results = results(wire, size, length, pair, |rank| odd >> rank & 1 == 1);
    let [a, b] = pair;
    if a.is_same(b) {
        assert!(results.iter().all(Result::is_ok), "{}: {results:?}", what());
        return;
    }
    let errors: Vec<&Error> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(!errors.is_empty(), "{}: all is well, they say", what());
    for error in errors {
        let text = error.to_string();
        assert!(matches!(error, Error::Mismatch { .. }), "{}: {text}\nof all: {results:#?}", what());
        assert!(a.is_quoted(&text) && b.is_quoted(&text), "{}: {text}", what());
        assert!(text.matches("pairs.rs:").count() >= 2, "{}: {text}", what());
    }
}

/// Every pair in both orders, of one length after the other, and of both where two ranks are all there are.
fn cases(wire: Wire, size: usize, kinds: usize) -> impl Iterator<Item = Case> {
    let pairs = (0..kinds).flat_map(move |a| (0..kinds).filter(move |b| *b != a).map(move |b| [a, b]));
    pairs.enumerate().flat_map(move |(number, pair)| {
        let lengths =
            LENGTHS.into_iter().enumerate().filter(move |(turn, _)| size == 2 || number / 3 % 2 == *turn);
        lengths.map(move |(turn, length)| {
            // Neither nobody nor everybody, and each of the others in turn.
            let odd = 1 + (number * 7 + turn) as u32 % ((1 << size) - 2);
            Case { wire, size, length, pair, odd }
        })
    })
}

fn check_all(calls: &[Call], cases: &[Case]) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    check(calls, case);
                }
            });
        }
    });
}

#[test]
fn ranks_that_do_not_call_the_same_are_told_what_each_has_called() {
    let mut calls = calls();
    calls.extend(other_ways());
    let kinds = calls.len();
    for wire in wires().into_iter().skip(2) {
        let all: Vec<Case> = [2, 3, 4, 8].into_iter().flat_map(|size| cases(wire, size, kinds)).collect();
        check_all(&calls, &all);
    }
}

/// Ranks that agree are told nothing, whatever they call and in whichever way.
#[test]
fn ranks_that_call_the_same_are_never_told_otherwise() {
    let mut calls = calls();
    calls.extend(other_ways());
    for wire in wires().into_iter().skip(2) {
        for (size, length) in [(2, 5), (3, 700), (4, 5), (8, 5)] {
            let cases: Vec<Case> = (0..calls.len())
                .map(|call| Case { wire, size, length, pair: [call, call], odd: 0 })
                .collect();
            check_all(&calls, &cases);
        }
    }
}

/// The one way in which ranks may call different things unnoticed: nothing moves, and nobody gets anything.
#[test]
fn collectives_of_nothing_go_together_unless_somebody_waits_for_another() {
    let names = ["all_reduce", "all_gather", "scan", "broadcast", "reduce", "gather", "scatter"];
    let calls: Vec<Call> =
        calls().into_iter().filter(|call| names.contains(&call.name) && call.root != Some(1)).collect();
    for wire in wires().into_iter().skip(2) {
        for pair in calls.iter().flat_map(|a| calls.iter().map(move |b| [a, b])) {
            let results = results(wire, 2, 0, pair, |rank| rank == 1);
            assert!(results.iter().all(Result::is_ok), "{} and {}: {results:?}", pair[0].name, pair[1].name);
        }
    }
}

/// A rank that is never waited for and never waits, and calls on.
#[test]
fn a_root_that_only_sends_finds_out_by_the_next_calls() {
    for wire in wires() {
        let choice = Choice { hub: Some(Hub::new(2)), ..small() };
        let results = owned_world(wire, 2, &choice, |rank| {
            let mut seen = Vec::new();
            for round in 0..20 {
                let mut data = [rank.rank() as u64; 2];
                if let Err(error) = rank.broadcast(&mut data, rank.rank()) {
                    seen.push((round, error.to_string()));
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            (seen, rank.finish())
        });
        for (seen, finished) in results {
            let [(round, text)] = &seen[..] else { panic!("{wire:?}: {seen:?}") };
            assert!(*round <= 3, "{wire:?}: in round {round}: {text}");
            assert!(text.contains("root 0") && text.contains("root 1"), "{wire:?}: {text}");
            let again = finished.unwrap_err().to_string();
            assert!(again.contains("root 0") && again.contains("finish"), "{wire:?}: {again}");
        }
    }
}

#[test]
fn a_collective_that_a_leaving_rank_has_never_called_is_told_by_it() {
    for wire in wires() {
        let choice = Choice { hub: Some(Hub::new(2)), ..small() };
        let results = owned_world(wire, 2, &choice, |rank| {
            rank.barrier()?;
            if rank.rank() == 1 {
                rank.broadcast(&mut [7u8; 3], 1)?;
            } else {
                std::thread::sleep(Duration::from_millis(50));
            }
            rank.finish()
        });
        let text = results[0].as_ref().unwrap_err().to_string();
        for part in [
            "collective #1",
            "rank 1 on host1 called broadcast(3 x bytes, root 1) at ",
            "rank 0 on host0 is leaving",
        ] {
            assert!(text.contains(part), "{wire:?}: no {part:?} in {text}");
        }
        assert!(matches!(results[0], Err(Error::Mismatch { .. })), "{wire:?}");
    }
}

/// Whoever only sends and leaves may do so before there is a connection, to a rank that leaves as well: one of the two
/// finds out in any case.
#[test]
fn a_first_message_to_a_rank_that_leaves_without_the_call_is_an_error_on_one_of_them() {
    for wire in wires() {
        for (called_after, left_after) in (0..6).flat_map(|_| [(0, 0), (0, 3), (3, 0), (30, 0), (0, 30)]) {
            let choice = Choice { hub: Some(Hub::new(2)), ..small() };
            let results = owned_world(wire, 2, &choice, |rank| {
                let wait = if rank.rank() == 0 { called_after } else { left_after };
                std::thread::sleep(Duration::from_millis(wait));
                let called = if rank.rank() == 0 { rank.broadcast(&mut [7u8; 3], 0) } else { Ok(()) };
                called.and(rank.finish())
            });
            let errors: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
            let told = errors.iter().any(|error| {
                matches!(error, Error::Mismatch { .. })
                    && error.to_string().contains("broadcast(3 x bytes, root 0) ")
            });
            assert!(told, "{wire:?}, after {called_after} and {left_after} ms: {results:?}");
        }
    }
}

/// Whoever waits for a rank that has left is told what that one called last, and who did not call what.
#[test]
fn a_rank_that_leaves_without_a_call_is_quoted_and_not_called_dead() {
    for wire in wires() {
        let choice = Choice { hub: Some(Hub::new(3)), ..small() };
        let start = Instant::now();
        let results = owned_world(wire, 3, &choice, |rank| {
            rank.all_reduce(&mut [1f32; 4], Op::Max)?;
            if rank.rank() != 2 {
                rank.barrier()?;
            }
            rank.finish()
        });
        assert!(start.elapsed() < patient(Duration::from_secs(5)), "{:?}", start.elapsed());
        for (rank, result) in results.iter().enumerate().take(2) {
            let error = result.as_ref().unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::Mismatch { .. }), "{wire:?} {rank}: {text}");
            let told = text.contains("rank 2 on host2, which has left the world without calling it")
                && text.contains("#0, all_reduce(4 x f32, max)");
            // Unless the others' barrier came before it left.
            let leaving = text.contains("rank 2 on host2 is leaving the world and has never called it");
            assert!(told || leaving, "{wire:?} {rank}: {text}");
            assert!(text.contains("barrier() at "), "{wire:?} {rank}: {text}");
        }
    }
}

#[test]
fn a_wait_that_takes_too_long_is_a_time_out_on_every_rank() {
    let mut choice = small();
    choice.op_timeout = Some(Duration::from_millis(300));
    for wire in wires() {
        choice.hub = Some(Hub::new(3));
        let (given_up, begun) = (AtomicUsize::new(0), Instant::now());
        let errors = owned_world(wire, 3, &choice, |rank| {
            // Late by as much as it takes, however slowly the others come to wait.
            let others_wait = || given_up.load(Ordering::SeqCst) < 2 && begun.elapsed().as_secs() < 60;
            while rank.rank() == 1 && others_wait() {
                std::thread::sleep(Duration::from_millis(10));
            }
            let error = rank.all_reduce(&mut [1f32; 100], Op::Sum).unwrap_err();
            given_up.fetch_add(1, Ordering::SeqCst);
            error
        });
        for error in errors {
            let text = error.to_string();
            let Error::TimedOut { after, .. } = error else { panic!("{wire:?}: {text}") };
            let rounded = format!("heard nothing for {:.1} s while waiting", after.as_secs_f64());
            assert!(after >= Duration::from_millis(300) && text.contains(&rounded), "{wire:?}: {text}");
            for part in ["rank 1 on host1", "RINGWORLD_OP_TIMEOUT", ", in all_reduce(100 x f32, sum) #0 at "]
            {
                assert!(text.contains(part), "{wire:?}: no {part:?} in {text}");
            }
            assert!(text.contains("rank 0 on host0, in") || text.contains("rank 2 on host2, in"), "{text}");
        }
    }
}
