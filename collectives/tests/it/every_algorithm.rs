//! Every algorithm, for many sizes and counts, in every order and in place: proved by the checker,
//! and run on real values in random orders.

// Clippy's leave for tests does not reach their helper functions.
use crate::common::{all, choice, collectives, orders, request, uneven};
use ringworld_collectives::{Choice, Collective, Order, Request, check};

/// The checker's work grows with the square and the cube of the size, so beyond the first ones counts, roots and cuts
/// take turns.
const DENSE: usize = 9;

/// All up to a power of two and one, and two large ones. With `RINGWORLD_TEST_WIDE`, which CI sets, all up to 64, which
/// take six times as long: those in between have no shape that smaller ones do not have.
fn sizes() -> Vec<usize> {
    if std::env::var_os("RINGWORLD_TEST_WIDE").is_some() {
        (1..=64).collect()
    } else {
        (1..=33).chain([48, 64]).collect()
    }
}

/// Segments and segments under way: all cut to single elements, a few, and not at all.
const CUTS: [(usize, usize); 4] = [(1, 1), (2, 2), (3, 4), (1 << 30, 64)];

fn counts(collective: Collective, size: usize) -> Vec<usize> {
    // The last one is cut into several segments even where each rank has a part of the vector of its own.
    let long = if has_blocks(collective) { 20 } else { 3 * size + 5 };
    let mut counts = vec![0, 1, size - 1, size, size + 1, 13, long];
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn has_blocks(collective: Collective) -> bool {
    use Collective::{AllGather, AllToAll, Gather, ReduceScatter, Scatter};
    matches!(collective, AllGather | AllToAll | ReduceScatter | Gather { .. } | Scatter { .. })
}

/// Calls `test` with the requests of all ranks and every choice, for all collectives that `filter` lets through
/// and all sizes.
fn each(filter: impl Fn(Collective) -> bool, test: impl Fn(&[Request], &Choice)) {
    let mut turn = 0;
    for size in sizes() {
        for collective in collectives(size).into_iter().filter(|collective| filter(*collective)) {
            // Roots take turns as well.
            if size > DENSE && collective.root().is_some_and(|root| root != [0, size / 2, size - 1][size % 3])
            {
                continue;
            }
            for &order in orders(collective) {
                for in_place in [false, true] {
                    for requests in worlds(collective, size, order, in_place) {
                        for algorithm in requests[0].algorithms() {
                            turn += 1;
                            let cuts =
                                if size <= DENSE { &CUTS[..] } else { &CUTS[turn % CUTS.len()..][..1] };
                            for &(segment, in_flight) in cuts {
                                test(&requests, &choice(algorithm, segment, in_flight));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The requests of all ranks, for equal counts and for some that differ.
fn worlds(collective: Collective, size: usize, order: Order, in_place: bool) -> Vec<Vec<Request>> {
    let equal = |count| {
        let request = request(collective, size, count, order, in_place);
        (0..size).map(|rank| Request { rank, ..request.clone() }).collect()
    };
    let counts = counts(collective, size);
    // Some of nothing, and one that has all.
    let some = || uneven(collective, size, order, in_place, |i| (i * 7 + i / size) % 5);
    let one = || uneven(collective, size, order, in_place, |i| if i == size / 2 { 11 } else { 0 });
    if size <= DENSE {
        let mut list: Vec<_> = counts.into_iter().map(equal).collect();
        list.extend(some());
        list.extend(one());
        return list;
    }
    let vectors = [1, 13, size + 1];
    let count = if has_blocks(collective) { 1 + size % 5 } else { vectors[size % vectors.len()] };
    let mut list = vec![equal(count)];
    list.extend(if size.is_multiple_of(2) { some() } else { one() });
    list
}

fn prove(requests: &[Request], choice: &Choice) {
    let schedules = all(requests, choice);
    if let Err(fault) = check::check(requests, &schedules) {
        panic!("{choice}, {:?}: {fault}\n{}", requests[0], schedules[0].render());
    }
}

#[test]
fn every_barrier_holds_everybody_back() {
    each(|c| c == Collective::Barrier, prove);
}

#[test]
fn every_broadcast_delivers_the_elements_of_its_root() {
    each(|c| matches!(c, Collective::Broadcast { .. }), prove);
}

#[test]
fn every_reduce_combines_each_contribution_once_in_order() {
    each(|c| matches!(c, Collective::Reduce { .. }), prove);
}

#[test]
fn every_all_reduce_gives_the_same_expression_everywhere() {
    each(|c| c == Collective::AllReduce, prove);
}

#[test]
fn every_all_gather_delivers_every_block_in_place() {
    each(|c| c == Collective::AllGather, prove);
}

#[test]
fn every_reduce_scatter_combines_each_contribution_once_in_order() {
    each(|c| c == Collective::ReduceScatter, prove);
}

#[test]
fn every_gather_and_scatter_delivers_every_block() {
    each(|c| matches!(c, Collective::Gather { .. } | Collective::Scatter { .. }), prove);
}

#[test]
fn every_all_to_all_delivers_every_block_to_its_rank() {
    each(|c| c == Collective::AllToAll, prove);
}

#[test]
fn every_scan_combines_the_ranks_below_in_order() {
    each(|c| matches!(c, Collective::Scan | Collective::ExclusiveScan), prove);
}

/// A 2x2 integer matrix product: associative, and as far from commutative as can be.
fn matrix_product(a: &[i64; 4], b: &[i64; 4]) -> [i64; 4] {
    let dot = |x: i64, y: i64, z: i64, w: i64| x.wrapping_mul(y).wrapping_add(z.wrapping_mul(w));
    [
        dot(a[0], b[0], a[1], b[2]),
        dot(a[0], b[1], a[1], b[3]),
        dot(a[2], b[0], a[3], b[2]),
        dot(a[2], b[1], a[3], b[3]),
    ]
}

#[test]
fn any_order_of_execution_gives_the_products_in_rank_order() {
    let value = |rank: usize, at: usize| {
        let (r, a) = (rank as i64, at as i64);
        [r + 1, a + 2, 3 * r + a, 1 - r]
    };
    let garbage = [i64::MIN; 4];
    for (seed, size) in (1..).zip([2, 3, 5, 8, 13]) {
        for collective in collectives(size) {
            for in_place in [false, true] {
                let request = request(collective, size, 11, Order::Rank, in_place);
                let product = |ranks: usize, at: usize| {
                    (1..ranks).fold(value(0, at), |sum, rank| matrix_product(&sum, &value(rank, at)))
                };
                for algorithm in request.algorithms() {
                    let schedules = all(&request, &choice(algorithm, 2, 3));
                    let inputs: Vec<Vec<_>> = schedules
                        .iter()
                        .map(|s| (0..s.layout().input).map(|at| value(s.rank(), at)).collect())
                        .collect();
                    let results =
                        check::execute(&request, &schedules, &inputs, garbage, matrix_product, seed)
                            .unwrap_or_else(|fault| panic!("{}, seed {seed}: {fault}", algorithm.path()));
                    for (rank, result) in results.iter().enumerate() {
                        let expected: Vec<_> = (0..result.len())
                            .map(|at| match collective {
                                Collective::Broadcast { root } => value(root, at),
                                Collective::AllGather | Collective::Gather { .. } => value(at / 11, at % 11),
                                Collective::Scatter { root } => value(root, rank * 11 + at),
                                Collective::AllToAll => value(at / 11, rank * 11 + at % 11),
                                Collective::ReduceScatter => product(size, rank * 11 + at),
                                Collective::Scan => product(rank + 1, at),
                                Collective::ExclusiveScan => product(rank, at),
                                _ => product(size, at),
                            })
                            .collect();
                        assert_eq!(*result, expected, "{}, rank {rank}, seed {seed}", algorithm.path());
                    }
                }
            }
        }
    }
}

#[test]
fn floating_point_sums_have_the_same_bits_on_every_rank_and_every_run() {
    // Values whose sum depends on the order of additions.
    let value =
        |rank: usize, at: usize| ((rank * 7919 + at * 104_729) % 1009) as f32 * 1e3_f32.powi(rank as i32 % 5);
    for size in [2, 3, 4, 6, 7, 16] {
        let request = request(Collective::AllReduce, size, 37, Order::Free, true);
        for algorithm in request.algorithms() {
            let schedules = all(&request, &choice(algorithm, 4, 2));
            let inputs: Vec<Vec<f32>> =
                (0..size).map(|rank| (0..37).map(|at| value(rank, at)).collect()).collect();
            let bits = |seed| -> Vec<Vec<u32>> {
                check::execute(&request, &schedules, &inputs, f32::NAN, |a, b| a + b, seed)
                    .unwrap_or_else(|fault| panic!("{}, seed {seed}: {fault}", algorithm.path()))
                    .iter()
                    .map(|row| row.iter().map(|x| x.to_bits()).collect())
                    .collect()
            };
            let first = bits(1);
            for seed in 1..6 {
                let again = bits(seed);
                assert!(again.iter().all(|row| *row == first[0]), "{}, seed {seed}", algorithm.path());
            }
        }
    }
}

#[test]
fn ranks_may_differ_in_whether_they_work_in_place() {
    for collective in collectives(5) {
        let request = request(collective, 5, 12, Order::Free, false);
        for algorithm in request.algorithms() {
            let choice = choice(algorithm, 2, 2);
            let build = |rank: usize| {
                let request = Request { rank, in_place: rank.is_multiple_of(2), ..request.clone() };
                ringworld_collectives::build(&request, &choice).expect("a supported request")
            };
            let schedules: Vec<_> = (0..5).map(build).collect();
            check::check(&request, &schedules)
                .unwrap_or_else(|fault| panic!("{}: {fault}", algorithm.path()));
        }
    }
}
