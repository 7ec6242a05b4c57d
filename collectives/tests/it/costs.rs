//! What schedules cost, exactly as the head comment of each algorithm says: messages, elements and latencies from
//! the checker, and how long the schedule of one rank among very many is.

// Clippy's leave for tests does not reach their helper functions.
use crate::common::{all, choice, collectives, orders, request, uneven};
use ringworld_collectives::check::{Report, check};
use ringworld_collectives::{Algorithm, Collective, Counts, Order, Request, Tuning, build, schedule, select};

/// A segment that nothing is cut by.
const WHOLE: usize = 1 << 30;

fn report(collective: Collective, size: usize, count: usize, algorithm: Algorithm, segment: usize) -> Report {
    let request = request(collective, size, count, Order::Free, true);
    check(&request, &all(&request, &choice(algorithm, segment, 4))).expect("a correct schedule")
}

#[test]
fn algorithms_cost_what_their_head_comment_says() {
    let whole = WHOLE;
    let barrier = report(Collective::Barrier, 9, 0, Algorithm::BarrierDissemination, whole);
    assert_eq!((barrier.messages, barrier.elements, barrier.latencies), (9 * 4, 0, 4));

    let root = Collective::Broadcast { root: 3 };
    let tree = report(root, 8, 10, Algorithm::BroadcastBinomial, whole);
    assert_eq!((tree.messages, tree.elements, tree.busiest, tree.latencies), (7, 70, 30, 3));
    let chain = report(root, 8, 10, Algorithm::BroadcastChain, 2);
    assert_eq!((chain.messages, chain.elements, chain.busiest), (35, 70, 10));

    let root = Collective::Reduce { root: 3 };
    let tree = report(root, 8, 10, Algorithm::ReduceBinomial, whole);
    assert_eq!((tree.messages, tree.elements, tree.latencies), (7, 70, 3));
    let chain = report(root, 8, 10, Algorithm::ReduceChain, whole);
    assert_eq!((chain.messages, chain.busiest, chain.latencies), (7, 10, 7));

    let direct = report(Collective::AllReduce, 6, 10, Algorithm::AllReduceDirect, whole);
    assert_eq!((direct.messages, direct.busiest, direct.latencies), (30, 50, 1));
    let doubling = report(Collective::AllReduce, 8, 10, Algorithm::AllReduceRecursiveDoubling, whole);
    assert_eq!((doubling.busiest, doubling.latencies), (30, 3));
    let folded = report(Collective::AllReduce, 7, 10, Algorithm::AllReduceRecursiveDoubling, whole);
    assert_eq!(folded.latencies, 2 + 2);
    let halving = report(Collective::AllReduce, 8, 64, Algorithm::AllReduceRabenseifner, whole);
    assert_eq!((halving.busiest, halving.latencies), (2 * 56, 6));
    let ring = report(Collective::AllReduce, 5, 100, Algorithm::AllReduceRing, whole);
    assert_eq!((ring.messages, ring.busiest, ring.latencies), (5 * 8, 2 * 80, 8));
    let segments = report(Collective::AllReduce, 2, 96, Algorithm::AllReduceRing, 8);
    assert_eq!((segments.messages, segments.busiest), (2 * 2 * 6, 96), "two ranks send the vector once each");

    let ring = report(Collective::AllGather, 5, 10, Algorithm::AllGatherRing, whole);
    assert_eq!((ring.busiest, ring.latencies), (40, 4));
    let doubling = report(Collective::AllGather, 8, 10, Algorithm::AllGatherRecursiveDoubling, whole);
    assert_eq!((doubling.messages, doubling.busiest, doubling.latencies), (24, 70, 3));
    let bruck = report(Collective::AllGather, 7, 10, Algorithm::AllGatherBruck, whole);
    assert_eq!((bruck.messages, bruck.busiest, bruck.latencies), (21, 60, 3));

    let ring = report(Collective::ReduceScatter, 5, 10, Algorithm::ReduceScatterRing, whole);
    assert_eq!((ring.busiest, ring.latencies), (40, 4));
    let direct = report(Collective::ReduceScatter, 5, 10, Algorithm::ReduceScatterDirect, whole);
    assert_eq!((direct.busiest, direct.latencies), (40, 1));
}

#[test]
fn gathers_and_scatters_cost_what_their_head_comment_says() {
    for (collective, tree, straight) in [
        (Collective::Gather { root: 3 }, Algorithm::GatherBinomial, Algorithm::GatherDirect),
        (Collective::Scatter { root: 3 }, Algorithm::ScatterBinomial, Algorithm::ScatterDirect),
    ] {
        // One subtree goes past the last rank and comes as two messages. In all, a tree of 8 moves 4 * 3 blocks.
        let tree = report(collective, 8, 10, tree, WHOLE);
        assert_eq!((tree.messages, tree.elements, tree.latencies), (8, 120, 3), "{collective}");
        let straight = report(collective, 8, 10, straight, WHOLE);
        assert_eq!((straight.messages, straight.elements, straight.latencies), (7, 70, 1), "{collective}");
    }
    let uneven = uneven(Collective::Gather { root: 1 }, 5, Order::Free, false, |rank| rank).expect("counts");
    let straight = check(&uneven, &all(&uneven, &choice(Algorithm::GatherDirect, WHOLE, 1)));
    let straight = straight.expect("a correct schedule");
    assert_eq!(
        (straight.messages, straight.elements),
        (4, 9),
        "rank 0 says that it has nothing to send, the root need not"
    );
}

#[test]
fn all_to_alls_cost_what_their_head_comment_says() {
    for size in [4, 6, 7] {
        let pairs = report(Collective::AllToAll, size, 10, Algorithm::AllToAllPairwise, WHOLE);
        assert_eq!((pairs.messages, pairs.busiest), (size * (size - 1), 10 * (size - 1)), "{size} ranks");
        assert_eq!(pairs.latencies, 1, "all {size} are under way at once");
        let request = request(Collective::AllToAll, size, 10, Order::Free, true);
        let one = all(&request, &choice(Algorithm::AllToAllPairwise, WHOLE, 1));
        let one = check(&request, &one).expect("a correct schedule");
        assert!(one.latencies < size + 1, "{size} ranks, one exchange at a time: {}", one.latencies);
    }
    let bruck = report(Collective::AllToAll, 8, 10, Algorithm::AllToAllBruck, WHOLE);
    assert_eq!((bruck.messages, bruck.busiest, bruck.latencies), (24, 3 * 40, 3));
    let bruck = report(Collective::ReduceScatter, 8, 10, Algorithm::ReduceScatterBruck, WHOLE);
    assert_eq!((bruck.messages, bruck.busiest, bruck.latencies), (24, 3 * 40, 3));
}

#[test]
fn scans_cost_what_their_head_comment_says() {
    use Algorithm as A;
    let inclusive =
        [A::ScanDirect, A::ScanRecursiveDoubling, A::ScanChain, A::ScanTranspose, A::ScanGatherScatter];
    let exclusive = [
        A::ExclusiveScanDirect,
        A::ExclusiveScanRecursiveDoubling,
        A::ExclusiveScanChain,
        A::ExclusiveScanTranspose,
        A::ExclusiveScanGatherScatter,
    ];
    for (collective, algorithms) in [(Collective::Scan, inclusive), (Collective::ExclusiveScan, exclusive)] {
        let [direct, doubling, chain, transpose, tree] =
            algorithms.map(|algorithm| report(collective, 8, 16, algorithm, WHOLE));
        assert_eq!((direct.messages, direct.busiest, direct.latencies), (28, 7 * 16, 1), "{collective}");
        // 7 + 6 + 4 messages: the last ranks have nobody to send to.
        assert_eq!((doubling.messages, doubling.busiest, doubling.latencies), (17, 48, 3), "{collective}");
        assert_eq!((chain.messages, chain.busiest, chain.latencies), (7, 16, 7), "{collective}");
        // The first rank gets nothing back; for an exclusive scan the last gives nothing.
        let given = if collective == Collective::Scan { 56 } else { 49 };
        assert_eq!((transpose.messages, transpose.busiest), (given + 49, 28), "{collective}");
        assert_eq!(transpose.latencies, 2, "{collective}");
        assert_eq!((tree.messages, tree.latencies), (14, 6), "{collective}");
        let segments = report(collective, 4, 16, algorithms[2], 2);
        assert_eq!((segments.messages, segments.busiest), (3 * 8, 16), "{collective}");
    }
}

#[test]
fn folds_from_the_left_cost_what_their_head_comment_says() {
    let root = Collective::Reduce { root: 3 };
    let direct = report(root, 8, 16, Algorithm::ReduceDirect, WHOLE);
    assert_eq!((direct.messages, direct.busiest, direct.latencies), (7, 16, 1));
    let tree = report(root, 8, 16, Algorithm::ReduceGather, WHOLE);
    assert_eq!((tree.messages, tree.elements, tree.latencies), (8, 12 * 16, 3));
    let chain = report(root, 8, 16, Algorithm::ReduceLeftChain, WHOLE);
    assert_eq!((chain.messages, chain.busiest, chain.latencies), (8, 16, 8));
    let exchange = report(root, 8, 16, Algorithm::ReduceLeftExchange, WHOLE);
    assert_eq!((exchange.messages, exchange.busiest, exchange.latencies), (56 + 7, 16, 2));

    let chain = report(Collective::AllReduce, 8, 16, Algorithm::AllReduceLeftChain, WHOLE);
    assert_eq!((chain.messages, chain.busiest, chain.latencies), (14, 32, 14));
    let tree = report(Collective::AllReduce, 8, 16, Algorithm::AllReduceGatherBroadcast, WHOLE);
    assert_eq!((tree.messages, tree.latencies), (14, 6));
    let exchange = report(Collective::AllReduce, 8, 16, Algorithm::AllReduceLeftExchange, WHOLE);
    assert_eq!((exchange.busiest, exchange.latencies), (28, 4));
}

#[test]
fn blocks_of_different_lengths_cost_no_more_than_their_elements() {
    let requests = uneven(Collective::AllGather, 7, Order::Free, true, |rank| rank % 3).expect("counts");
    for algorithm in [Algorithm::AllGatherRing, Algorithm::AllGatherBruck] {
        let report = check(&requests, &all(&requests, &choice(algorithm, WHOLE, 4))).expect("correct");
        assert_eq!(report.elements, 6 * 6, "each of the 6 elements goes to 6 others");
    }
    let requests = uneven(Collective::ReduceScatter, 7, Order::Free, true, |rank| rank % 3).expect("counts");
    for algorithm in [Algorithm::ReduceScatterRing, Algorithm::ReduceScatterDirect] {
        let report = check(&requests, &all(&requests, &choice(algorithm, WHOLE, 4))).expect("correct");
        assert_eq!(report.elements, 6 * 6, "each of 6 elements comes from 6 others");
    }
}

/// What the schedule of a rank among 65,536 may be long, in steps, and need as scratch, in elements.
#[test]
fn one_rank_among_very_many_has_few_steps() {
    let size = 1 << 16;
    let rank = 12_345;
    let request = |collective, count, order| Request {
        collective,
        rank,
        size,
        counts: Counts::Same(count),
        element: 4,
        order,
        in_place: false,
    };
    let logarithmic = [
        (Collective::Barrier, 0, Order::Free),
        (Collective::Broadcast { root: 7 }, 2, Order::Free),
        (Collective::Reduce { root: 7 }, 2, Order::Rank),
        (Collective::Reduce { root: 7 }, 2, Order::Left),
        (Collective::AllReduce, 2, Order::Rank),
        (Collective::AllReduce, 2, Order::Left),
        (Collective::AllGather, 2, Order::Free),
        (Collective::Gather { root: 7 }, 2, Order::Free),
        (Collective::Scatter { root: 7 }, 2, Order::Free),
        (Collective::Scan, 2, Order::Rank),
        (Collective::Scan, 2, Order::Left),
        (Collective::ExclusiveScan, 2, Order::Rank),
        (Collective::ExclusiveScan, 2, Order::Left),
    ];
    for (collective, count, order) in logarithmic {
        let request = request(collective, count, order);
        let choice = select(&request, &Tuning::default());
        let schedule = build(&request, &choice).expect("a valid request");
        let steps = schedule.len();
        assert!(steps <= 4 * 17, "{choice}: {steps} steps");
        let scratch = schedule.scratch();
        assert!(scratch <= 2 * count * 64, "{choice}: {scratch} elements of scratch");
    }
    // A rank that gets a block from each other rank needs a step for each; not more than a few.
    let blocks = request(Collective::AllToAll, 2, Order::Free);
    assert!(schedule(&blocks, &Tuning::default()).expect("a valid request").len() <= 4 * size);
}

#[test]
fn every_algorithm_needs_steps_in_proportion_to_ranks_and_segments() {
    for size in [2, 9, 64, 257] {
        for collective in collectives(size) {
            for &order in orders(collective) {
                let request = request(collective, size, 600, order, true);
                for algorithm in request.algorithms() {
                    // Six hundred elements in segments of 50, for everybody who has a part.
                    let choice = choice(algorithm, 50, 2);
                    for rank in [0, size / 2, size - 1] {
                        let schedule = build(&Request { rank, ..request.clone() }, &choice).expect("valid");
                        let bound = 4 * size * 13 + 64;
                        assert!(schedule.len() <= bound, "{choice}, rank {rank}: {} steps", schedule.len());
                        let whole = 3 * 600 * size;
                        assert!(schedule.scratch() <= whole, "{choice}: {} of scratch", schedule.scratch());
                    }
                }
            }
        }
    }
}
