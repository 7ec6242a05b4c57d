//! What theory says about algorithms holds to the picosecond where nothing gets in the way.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use ringworld_collectives::{Algorithm, Choice, Collective, Counts, Order, Placement, Request, Tuning};
use ringworld_simulate::{Budget, Fabric, Inside, Outcome, Time, Verdict, simulate, simulate_watched};

/// A byte takes 800 ps on the wire, 100 ps to reduce; copies cost nothing, nothing is asked for.
const FABRIC: Fabric = Fabric {
    latency: Time::from_micros(20),
    overhead: Time::from_micros(1),
    bandwidth: Some(1_250_000_000),
    reduce: Some(10_000_000_000),
    copy: None,
    eager: u64::MAX,
    inside: None,
};
const ALPHA: Time = Time::from_micros(21);

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

fn uncut(algorithm: Algorithm, request: &Request) -> Choice {
    let choice = Choice::forced(algorithm, request, &Tuning::default()).unwrap();
    Choice { segment: usize::MAX, ..choice }
}

fn run(algorithm: Algorithm, request: &Request, fabric: &Fabric) -> Outcome {
    match simulate(request, &uncut(algorithm, request), fabric, &Budget::default()).unwrap() {
        Verdict::Done(outcome) => outcome,
        Verdict::TooMuch(work) => panic!("{algorithm} on {} ranks: {work:?}", request.size),
    }
}

fn beta(bytes: u64) -> Time {
    Time::from_picos(800 * bytes)
}

fn gamma(bytes: u64) -> Time {
    Time::from_picos(100 * bytes)
}

#[test]
fn a_message_takes_alpha_and_beta() {
    let request = request(Collective::Broadcast { root: 0 }, 2, 1000);
    assert_eq!(run(Algorithm::BroadcastBinomial, &request, &FABRIC).time, ALPHA + beta(4000));
}

#[test]
fn a_long_message_asks_first_and_pays_two_more_alphas() {
    let request = request(Collective::Broadcast { root: 0 }, 2, 1000);
    let fabric = Fabric { eager: 3999, ..FABRIC };
    let time = run(Algorithm::BroadcastBinomial, &request, &fabric).time;
    assert_eq!(time, ALPHA * 3 + beta(4000));
    assert_eq!(time, fabric.message(4000));
}

#[test]
fn a_binomial_broadcast_takes_the_logarithm_of_the_ranks_in_latencies() {
    // Without bytes and overhead, all that is left is latency, and a rank's children are served at once: a rank
    // is as many messages away from the root as its place has bits set.
    let fabric = Fabric { overhead: Time::ZERO, bandwidth: None, ..FABRIC };
    for size in [2usize, 3, 5, 8, 64, 100, 1000, 1 << 14, 65_536] {
        let request = request(Collective::Broadcast { root: size / 3 }, size, 1);
        let latencies = (0..size).map(|place| u64::from(place.count_ones())).max().unwrap();
        let logarithm = u64::from(size.next_power_of_two().ilog2());
        assert!(latencies == logarithm || !size.is_power_of_two() && latencies <= logarithm);
        let time = run(Algorithm::BroadcastBinomial, &request, &fabric).time;
        assert_eq!(time, fabric.latency * latencies, "{size} ranks");
    }
}

#[test]
fn a_dissemination_barrier_takes_the_logarithm_of_the_ranks_in_alphas() {
    for size in [2usize, 3, 7, 64, 65, 1000, 65_536, 1_000_000] {
        let time = run(Algorithm::BarrierDissemination, &request(Collective::Barrier, size, 0), &FABRIC).time;
        assert_eq!(time, ALPHA * u64::from(size.next_power_of_two().ilog2()), "{size} ranks");
    }
}

#[test]
fn a_ring_all_reduce_takes_exactly_what_its_formula_says() {
    for (size, chunk) in [(2usize, 1000usize), (3, 7), (8, 65_536), (100, 33), (1024, 256)] {
        let request = request(Collective::AllReduce, size, size * chunk);
        let outcome = run(Algorithm::AllReduceRing, &request, &FABRIC);
        let (steps, bytes) = (size as u64 - 1, chunk as u64 * 4);
        let expected = (ALPHA + beta(bytes)) * 2 * steps + gamma(bytes) * steps;
        assert_eq!(outcome.time, expected, "{size} ranks, chunks of {chunk}");
        assert_eq!((outcome.facts.messages, outcome.facts.bytes), (2 * steps, 2 * steps * bytes));
    }
}

#[test]
fn recursive_doubling_takes_the_logarithm_of_the_ranks_times_the_vector() {
    for size in [2usize, 16, 65_536] {
        let request = request(Collective::AllReduce, size, 1000);
        let time = run(Algorithm::AllReduceRecursiveDoubling, &request, &FABRIC).time;
        let rounds = u64::from(size.ilog2());
        assert_eq!(time, (ALPHA + beta(4000) + gamma(4000)) * rounds, "{size} ranks");
    }
}

#[test]
fn rabenseifner_moves_the_bytes_of_a_ring_in_the_latencies_of_a_tree() {
    for size in [2u64, 16, 1024, 65_536] {
        let count = 65_536;
        let request = request(Collective::AllReduce, size as usize, count);
        let time = run(Algorithm::AllReduceRabenseifner, &request, &FABRIC).time;
        let moved = 4 * count as u64 / size * (size - 1);
        let rounds = u64::from(size.ilog2());
        assert_eq!(time, ALPHA * 2 * rounds + beta(moved) * 2 + gamma(moved), "{size} ranks");
    }
}

#[test]
fn a_pipelined_chain_takes_segments_and_ranks_not_their_product() {
    let (size, segments, bytes) = (10u64, 50u64, 4000u64);
    let fabric = Fabric { overhead: Time::ZERO, ..FABRIC };
    let request = request(Collective::Broadcast { root: 0 }, size as usize, 1000 * segments as usize);
    let choice = Choice { segment: 1000, in_flight: 64, ..uncut(Algorithm::BroadcastChain, &request) };
    let Verdict::Done(outcome) = simulate(&request, &choice, &fabric, &Budget::default()).unwrap() else {
        panic!("that is little work")
    };
    let hops = size - 1;
    assert_eq!(outcome.time, (fabric.latency + beta(bytes)) * hops + beta(bytes) * (segments - 1));
}

#[test]
fn messages_to_one_rank_come_one_after_the_other() {
    // Direct exchange: all n - 1 operands must pass the receiving port of each rank.
    let size = 8;
    let request = request(Collective::AllReduce, size, 1000);
    let fabric = Fabric { reduce: None, ..FABRIC };
    let time = run(Algorithm::AllReduceDirect, &request, &fabric).time;
    assert_eq!(time, fabric.latency + fabric.occupancy(4000) * (size as u64 - 1));
}

#[test]
fn bad_requests_are_refused_with_what_was_given() {
    let tuning = Tuning::default();
    let good = request(Collective::AllReduce, 4, 100);
    let choice = Choice::forced(Algorithm::AllReduceRing, &good, &tuning).unwrap();
    let refused =
        |request: &Request| simulate(request, &choice, &FABRIC, &Budget::default()).unwrap_err().to_string();
    assert!(refused(&Request { size: 0, ..good.clone() }).contains("rank 0 does not exist"));
    assert!(
        refused(&Request { counts: Counts::Same(usize::MAX / 8), ..good.clone() })
            .contains("do not fit into memory")
    );
    let slow = Fabric { latency: Time::MAX, ..FABRIC };
    let error = simulate(&good, &choice, &slow, &Budget::default()).unwrap_err();
    assert!(error.to_string().contains("200 days"), "{error}");
}

#[test]
fn whoever_watches_a_long_simulation_hears_of_every_step_in_time() {
    let heard = std::cell::RefCell::new(Vec::new());
    let request = request(Collective::AllReduce, 300, 3_000);
    let choice = Choice::forced(Algorithm::AllReduceRing, &request, &Tuning::default()).unwrap();
    let watch = |steps| heard.borrow_mut().push(steps);
    let budget = Budget::UNLIMITED;
    let watched = simulate_watched(&request, &choice, &Fabric::default(), &budget, &watch).unwrap();
    let Verdict::Done(outcome) = watched else { panic!("{watched:?}") };
    let heard = heard.into_inner();
    // All that was run, but for less than what lies between two words.
    let pause = heard.first().copied().expect("it is long");
    assert!(heard.windows(2).all(|pair| pair[1] - pair[0] == pause), "{heard:?}");
    let last = heard.last().copied().unwrap_or(0);
    assert!(last <= outcome.simulated && outcome.simulated < last + pause, "{last} {outcome:?}");
    assert_eq!(
        watched,
        simulate(&request, &choice, &Fabric::default(), &budget).unwrap(),
        "looking changes nothing"
    );
}

fn on_hosts(placement: Placement) -> Fabric {
    let (latency, overhead) = (Time::from_micros(2), Time::ZERO);
    let inside = Inside { placement, latency, overhead, bandwidth: Some(10_000_000_000) };
    Fabric { inside: Some(inside), ..FABRIC }
}

#[test]
fn ranks_of_one_host_are_near_and_hosts_of_one_rank_are_as_far_as_ever() {
    let request = request(Collective::Broadcast { root: 0 }, 2, 1000);
    let of = |fabric: &Fabric| run(Algorithm::BroadcastBinomial, &request, fabric).time;
    assert_eq!(of(&on_hosts(Placement::regular(1, 2))), Time::from_micros(2) + Time::from_picos(100 * 4000));
    assert_eq!(of(&on_hosts(Placement::regular(2, 1))), ALPHA + beta(4000));
    let ring = Request { size: 5, ..self::request(Collective::AllReduce, 5, 5000) };
    let alone = run(Algorithm::AllReduceRing, &ring, &FABRIC).time;
    assert_eq!(run(Algorithm::AllReduceRing, &ring, &on_hosts(Placement::regular(5, 1))).time, alone);
}

#[test]
fn ranks_of_one_host_share_its_wire() {
    // Each rank of the first host sends its whole vector to the second, at the same time.
    let placement = Placement::new([0, 1, 0, 1, 0, 1, 0, 1]);
    let request = request(Collective::AllReduce, 8, 1 << 20);
    let fabric = on_hosts(placement.clone());
    let doubling = run(Algorithm::AllReduceRecursiveDoubling, &request, &fabric).time;
    let wire = beta(4 * (4 << 20));
    assert!(
        doubling > wire && doubling < wire + Time::from_picos(wire.picos() / 4),
        "{doubling}, the wire alone {wire}"
    );
    // By two levels it carries the vector once each way.
    let tuning = Tuning::default().on_hosts(&placement);
    let choice = Choice::forced(Algorithm::AllReduceTwoLevel, &request, &tuning).unwrap();
    let Verdict::Done(two) = simulate(&request, &choice, &fabric, &Budget::default()).unwrap() else {
        panic!()
    };
    let wire = beta(4 << 20);
    assert!(
        two.time > wire && two.time < wire + Time::from_picos(wire.picos() / 2),
        "{}, the wire alone {wire}",
        two.time
    );
}

#[test]
fn a_placement_of_another_number_of_ranks_is_refused() {
    let request = request(Collective::AllReduce, 5, 8);
    let fabric = on_hosts(Placement::regular(2, 2));
    let error = simulate(&request, &uncut(Algorithm::AllReduceRing, &request), &fabric, &Budget::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("of 4 ranks") && error.contains("of 5"), "{error}");
}
