//! One rank that stands for all gives the very time that all give; and a line continued, what the rest of it gives.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use ringworld_collectives::{Algorithm, Choice, Collective, Counts, Order, Request, Tuning};
use ringworld_simulate::{Budget, Fabric, Outcome, Verdict, simulate};

/// Never all ranks where one will do.
const ONE: Budget = Budget { steps: u64::MAX, every: 0 };

fn request(collective: Collective, size: usize, count: usize) -> Request {
    Request {
        collective,
        rank: 0,
        size,
        counts: Counts::Same(count),
        element: 4,
        order: Order::Free,
        in_place: true,
    }
}

fn every_algorithm(size: usize, count: usize) -> impl Iterator<Item = (Algorithm, Request)> {
    Collective::family(0).into_iter().flat_map(move |collective| {
        let request = request(collective, size, count);
        request.algorithms().map(|algorithm| (algorithm, request.clone())).collect::<Vec<_>>()
    })
}

fn done(request: &Request, choice: &Choice, fabric: &Fabric, budget: &Budget) -> Option<Outcome> {
    match simulate(request, choice, fabric, budget).unwrap() {
        Verdict::Done(outcome) => Some(outcome),
        Verdict::TooMuch(_) => None,
    }
}

/// Some segments, so that windows and slots matter.
fn cut(algorithm: Algorithm, request: &Request, segments: usize) -> Choice {
    let choice = Choice::forced(algorithm, request, &Tuning::default()).unwrap();
    Choice { segment: (request.count() / segments).max(1), in_flight: 2, ..choice }
}

#[test]
fn one_rank_for_all_gives_the_time_that_all_ranks_give() {
    let mut alone = std::collections::BTreeSet::new();
    let mut compared = 0;
    for size in [2usize, 3, 4, 6, 8, 12, 16, 32] {
        for (algorithm, request) in every_algorithm(size, size * 40) {
            for segments in [1, 5] {
                for eager in [u64::MAX, 64] {
                    let fabric = Fabric { eager, ..Fabric::default() };
                    let choice = cut(algorithm, &request, segments);
                    let whole = done(&request, &choice, &fabric, &Budget::default()).unwrap();
                    assert_eq!(whole.method.relabel, None, "{algorithm} with {size} ranks is little work");
                    let Some(one) = done(&request, &choice, &fabric, &ONE) else { continue };
                    if one.method.relabel.is_none() || one.method.padded.is_some() {
                        continue;
                    }
                    let name = algorithm.path();
                    assert_eq!(
                        one.time, whole.time,
                        "{name}, {size} ranks, {segments} segments, eager {eager}"
                    );
                    assert_eq!(one.method.ranks, size);
                    compared += 1;
                    alone.insert(name);
                }
            }
        }
    }
    assert!(compared > 100, "only {compared} were compared");
    for name in [
        "barrier/dissemination",
        "all-reduce/direct",
        "all-reduce/recursive-doubling",
        "all-reduce/rabenseifner",
        "all-reduce/ring",
        "all-gather/recursive-doubling",
        "all-gather/bruck",
        "all-gather/ring",
        "reduce-scatter/direct",
        "reduce-scatter/ring",
    ] {
        assert!(alone.contains(name), "{name} never was one for all; those that were: {alone:?}");
    }
}

#[test]
fn trees_are_never_taken_for_symmetric() {
    for (algorithm, request) in every_algorithm(64, 64) {
        if !algorithm.path().starts_with("broadcast") && !algorithm.path().starts_with("reduce/") {
            continue;
        }
        let choice = cut(algorithm, &request, 1);
        let outcome = done(&request, &choice, &Fabric::default(), &ONE).unwrap();
        assert_eq!(outcome.method.relabel, None, "{}", algorithm.path());
    }
}

#[test]
fn uneven_chunks_are_padded_and_said_so() {
    let request = request(Collective::AllReduce, 64, 6401);
    let choice = Choice::forced(Algorithm::AllReduceRing, &request, &Tuning::default()).unwrap();
    let fabric = Fabric::default();
    let whole = done(&request, &choice, &fabric, &Budget::default()).unwrap();
    let one = done(&request, &choice, &fabric, &ONE).unwrap();
    assert_eq!(one.method.padded, Some(6464));
    // An upper bound, and close: chunks are 101 elements long instead of 100 or 101.
    assert!(one.time >= whole.time, "{} {}", one.time, whole.time);
    assert!(one.time.seconds() < whole.time.seconds() * 1.01, "{} {}", one.time, whole.time);
}

#[test]
fn a_pipeline_continued_along_its_line_takes_what_the_whole_takes() {
    let mut seen = std::collections::BTreeSet::new();
    let mut ratios = Vec::new();
    for (algorithm, request) in every_algorithm(16, 1 << 13) {
        if request.collective == Collective::Barrier {
            continue;
        }
        let choice = Choice { segment: 16, ..cut(algorithm, &request, 1) };
        let fabric = Fabric::default();
        let whole = done(&request, &choice, &fabric, &Budget::UNLIMITED).unwrap();
        for part in [3, 10] {
            let budget = Budget { steps: whole.simulated / part, every: 0 };
            let Some(short) = done(&request, &choice, &fabric, &budget) else { continue };
            if short.method.continued.is_none() {
                continue;
            }
            seen.insert(algorithm.path());
            ratios.push((short.time.seconds() / whole.time.seconds(), algorithm.path()));
            let ratio = short.time.seconds() / whole.time.seconds();
            let bounds = 0.75..1.25;
            assert!(bounds.contains(&ratio), "{}: {short:?} {whole:?}", algorithm.path());
            assert!(short.simulated <= budget.steps * 11 / 10, "{}: {short:?}", algorithm.path());
        }
    }
    let close = ratios.iter().filter(|(ratio, _)| (0.99..1.01).contains(ratio)).count();
    assert!(close * 4 >= ratios.len() * 3, "{close} of {} are within 1 %: {ratios:?}", ratios.len());
    for name in
        ["all-gather/ring", "all-reduce/rabenseifner", "broadcast/chain", "reduce/binomial", "scan/chain"]
    {
        assert!(seen.contains(name), "{name} never was continued; those that were: {seen:?}");
    }
}

#[test]
fn what_is_too_much_is_estimated_and_not_begun() {
    let request = request(Collective::AllGather, 65_536, 1 << 26);
    let choice = Choice::forced(Algorithm::AllGatherRing, &request, &Tuning::default()).unwrap();
    let budget = Budget { steps: 100_000, every: 0 };
    let Verdict::TooMuch(work) = simulate(&request, &choice, &Fabric::default(), &budget).unwrap() else {
        panic!("nobody has that much memory")
    };
    // A send and a receive for each of 1,024 segments of 65,535 blocks.
    assert!((134_000_000..135_000_000).contains(&work.first), "{work:?}");
    assert!((work.first * 65_000..work.first * 66_000).contains(&work.all), "{work:?}");
}
