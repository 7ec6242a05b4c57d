//! The selection against the cost model, for sizes and numbers of ranks that nobody here can measure.

// Clippy's leave for tests does not reach their helper functions.
#![allow(clippy::expect_used, clippy::panic)]

use ringworld_collectives::cost::{Model, cost};
use ringworld_collectives::{Algorithm, Choice, Collective, Counts, Order, Request, Tuning, select};

const SIZES: [usize; 24] = [
    2, 3, 4, 5, 7, 8, 9, 12, 16, 24, 32, 33, 64, 100, 128, 255, 500, 1000, 1024, 3000, 4096, 10_000, 65_535,
    65_536,
];

/// Requests of 8 bytes to 1 GiB: of vector, or of all blocks together.
fn requests() -> impl Iterator<Item = Request> {
    let element = 8;
    let kinds = |size: usize| {
        let middle = size / 2;
        [
            Collective::Barrier,
            Collective::Broadcast { root: middle },
            Collective::AllGather,
            Collective::Gather { root: middle },
            Collective::Scatter { root: middle },
            Collective::AllToAll,
            Collective::Reduce { root: 0 },
            Collective::Reduce { root: middle },
            Collective::AllReduce,
            Collective::ReduceScatter,
            Collective::Scan,
            Collective::ExclusiveScan,
        ]
        .into_iter()
        .flat_map(|collective| {
            let orders: &[Order] =
                if collective.reduces() { &[Order::Free, Order::Rank, Order::Left] } else { &[Order::Free] };
            orders.iter().map(move |order| (collective, *order))
        })
    };
    SIZES.into_iter().flat_map(move |size| {
        kinds(size).flat_map(move |(collective, order)| {
            (3..=30).filter_map(move |power| {
                let all = (1usize << power) / element;
                let vector = matches!(collective, Collective::Barrier | Collective::Broadcast { .. });
                let blocks = !vector && !collective.reduces() || collective == Collective::ReduceScatter;
                let count = if blocks { all / size } else { all };
                let counts = Counts::Same(count);
                let request = Request { collective, rank: 0, size, counts, element, order, in_place: true };
                (count > 0).then_some(request)
            })
        })
    })
}

fn seconds(request: &Request, choice: &Choice) -> f64 {
    cost(choice.algorithm, request, choice, &Model::default())
}

#[test]
fn the_selected_algorithm_is_never_much_worse_than_the_best_of_the_model() {
    let tuning = Tuning::default();
    let mut worst: Vec<(f64, String)> = Vec::new();
    for request in requests() {
        let choice = select(&request, &tuning);
        let chosen = seconds(&request, &choice);
        let best = request
            .algorithms()
            .filter_map(|algorithm| Choice::forced(algorithm, &request, &tuning))
            .min_by(|a, b| seconds(&request, a).total_cmp(&seconds(&request, b)))
            .expect("an algorithm");
        let ratio = chosen / seconds(&request, &best);
        let Request { collective, size, order, .. } = request;
        let text = format!(
            "{ratio:.2} {collective}, {size} ranks, {} bytes, {order}: {chosen:.6} s by {}, {:.6} s by {}",
            request.bytes(),
            choice.algorithm,
            seconds(&request, &best),
            best.algorithm
        );
        worst.push((ratio, text));
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    let above: Vec<_> =
        worst.iter().filter(|(ratio, _)| *ratio > LIMIT).map(|(_, text)| text.as_str()).collect();
    assert!(above.is_empty(), "{} choices are too slow:\n{}", above.len(), above.join("\n"));
}

/// How many times slower than the best of the model a choice may be. The thresholds are measured where measuring was
/// possible, on few ranks, and the model does not know that a network hides latencies behind one another.
const LIMIT: f64 = 2.5;

#[test]
fn many_ranks_never_wait_for_each_other_in_a_row_when_that_is_mostly_latency() {
    // Strictly from the left, operands can only be combined one after the other.
    let any_parentheses = |request: &Request| !request.collective.reduces() || request.order < Order::Left;
    for request in requests().filter(|request| request.size >= 1000 && any_parentheses(request)) {
        let choice = select(&request, &Tuning::default());
        let rows = [
            Algorithm::AllReduceRing,
            Algorithm::AllGatherRing,
            Algorithm::ReduceScatterRing,
            Algorithm::ReduceScatterDirect,
        ];
        // A step of a ring moves one block, or one share of the vector.
        let step = match request.collective {
            Collective::AllReduce => request.bytes() / request.size,
            _ => request.bytes(),
        };
        assert!(!rows.contains(&choice.algorithm) || step >= 8 << 10, "{choice}, {request:?}");
    }
}
