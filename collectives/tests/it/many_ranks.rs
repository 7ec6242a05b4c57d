//! What the algorithms for many ranks cost, and that one rank's schedule stays small however many there are.

// Clippy's leave for tests does not reach their helper functions.
use crate::common::{all, choice, request};
use ringworld_collectives::check::{Report, check};
use ringworld_collectives::{Action, Algorithm, Choice, Collective, Order, Request, Tuning, build};

fn report(collective: Collective, size: usize, count: usize, algorithm: Algorithm, segment: usize) -> Report {
    let request = request(collective, size, count, Order::Free, false);
    check(&request, &all(&request, &choice(algorithm, segment, 4))).expect("a correct schedule")
}

const WHOLE: usize = 1 << 30;

/// What this file is about.
const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::BroadcastDoubleTree,
    Algorithm::BroadcastScatterAllGather,
    Algorithm::ReduceDoubleTree,
    Algorithm::ReduceScatterGather,
    Algorithm::AllReduceDoubleTree,
    Algorithm::AllReduceRabenseifner,
    Algorithm::ReduceScatterRecursiveHalving,
];

#[test]
fn every_number_of_ranks_up_to_64_is_served() {
    for size in 1..=64 {
        // Roots and counts take turns: at the ends and anywhere, fewer elements than ranks and more.
        let root = [0, size - 1, size / 2, size * 5 / 7][size % 4];
        let collectives = [
            (Collective::Broadcast { root }, [3, size + 7]),
            (Collective::Reduce { root }, [5, size + 3]),
            (Collective::AllReduce, [4, size + 9]),
            (Collective::ReduceScatter, [1, 3]),
        ];
        for (turn, (collective, counts)) in (size..).zip(collectives) {
            for (count, order) in counts.into_iter().zip([Order::Free, Order::Rank]) {
                let request = request(collective, size, count, order, turn.is_multiple_of(2));
                for algorithm in ALGORITHMS.into_iter().filter(|algorithm| algorithm.supports(&request)) {
                    let choice = choice(algorithm, 1 + turn % 7, 1 + turn % 3);
                    if let Err(fault) = check(&request, &all(&request, &choice)) {
                        panic!("{choice}, {request:?}: {fault}");
                    }
                }
            }
        }
    }
}

#[test]
fn double_trees_take_two_latencies_a_level_and_send_what_a_ring_sends() {
    let tree = |size, count, segment| {
        report(Collective::AllReduce, size, count, Algorithm::AllReduceDoubleTree, segment)
    };
    for (size, latencies) in [(2, 2), (3, 4), (4, 4), (7, 6), (8, 6), (33, 10), (64, 12)] {
        let tree = tree(size, 64, WHOLE);
        // In both trees, all but the top send to their parents and hear from them.
        assert_eq!(tree.messages, 2 * 2 * (size - 1), "{size} ranks");
        assert_eq!(tree.elements, 2 * 64 * (size - 1), "{size} ranks");
        assert!(tree.busiest <= 2 * 64, "{size} ranks: {}", tree.busiest);
        assert_eq!(tree.latencies, latencies, "{size} ranks");
    }
    let segments = tree(5, 80, 8);
    assert_eq!((segments.messages, segments.elements), (5 * 2 * 2 * 4, 2 * 80 * 4));

    let root = Collective::Broadcast { root: 3 };
    for (size, latencies) in [(4, 3), (8, 4), (9, 4), (16, 5), (64, 7)] {
        let tree = report(root, size, 64, Algorithm::BroadcastDoubleTree, WHOLE);
        assert_eq!((tree.messages, tree.elements, tree.busiest), (2 * (size - 1), 64 * (size - 1), 64));
        assert_eq!(tree.latencies, latencies, "{size} ranks");
        let root = Collective::Reduce { root: 3 };
        let tree = report(root, size, 64, Algorithm::ReduceDoubleTree, WHOLE);
        assert_eq!((tree.messages, tree.elements, tree.busiest), (2 * (size - 1), 64 * (size - 1), 64));
        assert_eq!(tree.latencies, latencies, "{size} ranks");
    }
}

#[test]
fn a_scatter_and_an_all_gather_take_twice_as_many_latencies_as_a_tree_and_twice_the_vector() {
    let root = Collective::Broadcast { root: 1 };
    for (size, latencies) in [(2, 1), (5, 6), (8, 6), (13, 8), (64, 12)] {
        let report = report(root, size, 64, Algorithm::BroadcastScatterAllGather, WHOLE);
        assert!(report.latencies <= latencies, "{size} ranks: {}", report.latencies);
        assert!(report.busiest < 2 * 64, "{size} ranks: {}", report.busiest);
        let rounds = size.next_power_of_two().trailing_zeros() as usize;
        assert!(report.messages <= (size - 1) + 2 * rounds * size, "{size} ranks: {}", report.messages);
    }
}

#[test]
fn a_reduction_by_halving_and_gathering_takes_two_latencies_a_halving_and_twice_the_vector() {
    for (root, size) in [(0, 2usize), (5, 8), (63, 64), (3, 5), (4, 6), (0, 7)] {
        let collective = Collective::Reduce { root };
        let report = report(collective, size, 64, Algorithm::ReduceScatterGather, WHOLE);
        // Folding adds a step only where it delays the longest path.
        let latencies = 2 * size.ilog2() as usize;
        let folded = usize::from(!size.is_power_of_two());
        assert!((latencies..=latencies + folded).contains(&report.latencies), "{size}: {}", report.latencies);
        let most = if size.is_power_of_two() { 2 * 64 * (size - 1) / size } else { 2 * 64 };
        assert!(report.busiest <= most, "{size} ranks: {}", report.busiest);
    }
}

#[test]
fn recursive_halving_takes_one_latency_a_halving_and_sends_the_least() {
    let algorithm = Algorithm::ReduceScatterRecursiveHalving;
    let cost = |size, order| {
        let request = request(Collective::ReduceScatter, size, 4, order, false);
        check(&request, &all(&request, &choice(algorithm, WHOLE, 4))).expect("a correct schedule")
    };
    for size in [2usize, 4, 8, 16, 64] {
        let halvings = size.ilog2() as usize;
        let free = cost(size, Order::Free);
        assert_eq!((free.busiest, free.latencies), (4 * (size - 1), halvings), "{size} ranks");
        let ordered = cost(size, Order::Rank);
        // Ranks whose number reads the same backwards need no last message.
        let last = usize::from(size > 2);
        assert_eq!(ordered.latencies, halvings + last, "{size} ranks");
        assert_eq!(ordered.busiest, 4 * (size - 1 + last), "{size} ranks");
    }
    for size in [3usize, 5, 13] {
        let halvings = size.ilog2() as usize;
        for order in [Order::Free, Order::Rank] {
            let folded = cost(size, order);
            assert!(folded.latencies <= halvings + 2, "{size} ranks: {}", folded.latencies);
            assert!(folded.busiest <= 4 * (size + 1), "{size} ranks: {}", folded.busiest);
        }
    }
}

/// Steps, scratch elements and peers of rank 12,345 of 65,536 and of 65,537 (which must be folded).
fn small(collective: Collective, count: usize, algorithm: Algorithm, most_steps: usize, most_scratch: usize) {
    for size in [65_536, 65_537] {
        for order in [Order::Free, Order::Rank] {
            let request = Request { rank: 12_345, ..request(collective, size, count, order, false) };
            let Some(choice) = Choice::forced(algorithm, &request, &Tuning::default()) else { continue };
            let schedule = build(&request, &choice).expect("a supported request");
            let (steps, scratch) = (schedule.len(), schedule.scratch());
            assert!(steps <= most_steps, "{}: {steps} steps of {size} ranks", algorithm.path());
            assert!(scratch <= most_scratch, "{}: {scratch} elements of scratch", algorithm.path());
            let peers: std::collections::BTreeSet<_> = schedule
                .actions()
                .iter()
                .filter_map(|action| match *action {
                    Action::Send { to: peer, .. } | Action::Recv { from: peer, .. } => Some(peer),
                    _ => None,
                })
                .collect();
            // Sixteen each way, and a few at the ends.
            assert!((1..=36).contains(&peers.len()), "{}: {} peers", algorithm.path(), peers.len());
        }
    }
}

#[test]
fn a_schedule_of_65536_ranks_has_as_many_steps_as_the_algorithm_has_rounds() {
    let root = 40_000;
    let halvings = 16;
    small(Collective::Barrier, 0, Algorithm::BarrierDissemination, 2 * (halvings + 1), 0);
    let broadcast = Collective::Broadcast { root };
    small(broadcast, 1000, Algorithm::BroadcastBinomial, halvings + 1, 0);
    small(broadcast, 1000, Algorithm::BroadcastDoubleTree, 4, 0);
    small(broadcast, 1 << 16, Algorithm::BroadcastScatterAllGather, 6 * (halvings + 1), 0);
    let reduce = Collective::Reduce { root };
    small(reduce, 1000, Algorithm::ReduceBinomial, 2 * (halvings + 1), 18 * 1000);
    small(reduce, 1000, Algorithm::ReduceDoubleTree, 2 * 5, 2 * 500);
    small(reduce, 1 << 16, Algorithm::ReduceScatterGather, 5 * (halvings + 1), 2 * (1 << 16) + 16);
    let all_reduce = Collective::AllReduce;
    small(all_reduce, 1000, Algorithm::AllReduceRecursiveDoubling, 3 * (halvings + 2), 18 * 1000);
    small(all_reduce, 1 << 16, Algorithm::AllReduceRabenseifner, 5 * (halvings + 1), (1 << 16) + 16);
    // Two segments of each half.
    small(all_reduce, 1 << 16, Algorithm::AllReduceDoubleTree, 2 * 14, 2 * (1 << 16));
    small(Collective::AllGather, 2, Algorithm::AllGatherRecursiveDoubling, 2 * halvings + 1, 0);
    small(Collective::AllGather, 2, Algorithm::AllGatherBruck, 2 * (halvings + 1) + 4, 2 * 65_537);
    let all = 2 * 65_537;
    small(Collective::ReduceScatter, 2, Algorithm::ReduceScatterRecursiveHalving, 9 * 16, 2 * all);
}
