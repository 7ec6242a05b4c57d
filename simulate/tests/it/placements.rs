//! Every algorithm on any number of ranks, however they lie on their hosts: it comes to an end, and no host's wire has
//! carried what must go through it in less time than that takes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use ringworld_collectives::{Algorithm, Choice, Collective, Counts, Order, Placement, Request, Tuning};
use ringworld_simulate::{Budget, Fabric, Inside, Time, Verdict, simulate};

/// A byte takes 800 ps on the wire.
const WIRE: u64 = 1_250_000_000;

/// Regular, round robin, ever more on a host, one rank apart from all others, and everybody together.
fn placements(size: usize) -> [(&'static str, Placement); 5] {
    let by = |host: &dyn Fn(usize) -> usize| Placement::new((0..size).map(host));
    [
        ("threes", by(&|rank| rank / 3)),
        ("round robin", by(&|rank| rank % size.div_ceil(3))),
        ("ever more", by(&|rank| (2 * rank + 1).isqrt())),
        ("one apart", by(&|rank| usize::from(rank == size / 2))),
        ("together", by(&|_| 0)),
    ]
}

fn fabric(placement: &Placement, eager: u64) -> Fabric {
    let inside = Inside {
        placement: placement.clone(),
        latency: Time::from_nanos(300),
        overhead: Time::ZERO,
        bandwidth: Some(10 * WIRE),
    };
    Fabric { bandwidth: Some(WIRE), eager, inside: Some(inside), ..Fabric::default() }
}

/// How many elements at least one wire carries in one direction, whatever the algorithm.
fn least(collective: Collective, count: usize, placement: &Placement) -> usize {
    let (size, hosts) = (placement.size(), placement.hosts());
    if hosts == 1 {
        return 0;
    }
    let ranks = (0..hosts).map(|host| placement.ranks(host).len());
    let others = ranks.clone().map(|here| size - here).max().unwrap();
    match collective {
        Collective::Barrier => 0,
        // Of a scan the first rank hears nothing, and a host may have nobody behind it.
        Collective::Broadcast { .. }
        | Collective::Reduce { .. }
        | Collective::AllReduce
        | Collective::Scan
        | Collective::ExclusiveScan => count,
        Collective::AllGather | Collective::ReduceScatter => others * count,
        Collective::Gather { root } | Collective::Scatter { root } => {
            (size - placement.ranks(placement.host(root)).len()) * count
        }
        Collective::AllToAll => ranks.map(|here| here * (size - here)).max().unwrap() * count,
    }
}

#[test]
fn every_algorithm_ends_on_every_placement_and_no_wire_carries_more_than_it_can() {
    let mut two_level = std::collections::BTreeSet::new();
    for size in (1..=17).chain([32, 33, 64]) {
        for (turn, (name, placement)) in placements(size).into_iter().enumerate() {
            let tuning = Tuning::default().on_hosts(&placement);
            let fabric = fabric(&placement, [u64::MAX, 64][(turn + size) % 2]);
            for collective in Collective::family(size / 2) {
                let count = if collective == Collective::Barrier { 0 } else { 3 * size + 5 };
                let counts = Counts::Same(count);
                let (rank, element, order, in_place) = (0, 4, Order::Free, true);
                let request = Request { collective, rank, size, counts, element, order, in_place };
                for algorithm in request.algorithms() {
                    let Some(choice) = Choice::forced(algorithm, &request, &tuning) else { continue };
                    let what = format!("{algorithm} of {size} ranks, {name}");
                    let outcome = match simulate(&request, &choice, &fabric, &Budget::UNLIMITED) {
                        Ok(Verdict::Done(outcome)) => outcome,
                        other => panic!("{what}: {other:?}"),
                    };
                    let wire = Time::from_picos(800 * 4 * least(collective, count, &placement) as u64);
                    assert!(outcome.time >= wire, "{what}: {} and the wire {wire}", outcome.time);
                    if algorithm.has_two_levels() {
                        two_level.insert(algorithm);
                    }
                }
            }
        }
    }
    let all: Vec<Algorithm> =
        Algorithm::ALL.iter().copied().filter(|algorithm| algorithm.has_two_levels()).collect();
    assert!(two_level.iter().eq(all.iter()), "of two levels: {two_level:?} of {all:?}");
}
