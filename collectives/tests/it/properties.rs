//! Random requests and tunings: whatever is selected can be built and is right. Failing cases are printed, shrunk.

// Clippy's leave for tests does not reach their helper functions.
use crate::common::{all, uneven};
use proptest::prelude::*;
use ringworld_collectives::{
    Choice, Collective, Counts, Error, Order, Overrides, Placement, Request, Tuning, build, check, schedule,
    select,
};

fn collective(size: usize) -> impl Strategy<Value = Collective> {
    (0..size, 0usize..11).prop_map(|(root, which)| Collective::family(root)[which])
}

fn orders() -> impl Strategy<Value = Order> {
    prop::sample::select(vec![Order::Free, Order::Rank, Order::Left])
}

fn requests(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Request> {
    let rest = |size| (collective(size), Just(size), 0usize..200, 1usize..17, orders(), any::<bool>());
    sizes.prop_flat_map(rest).prop_map(|(collective, size, count, element, order, in_place)| {
        // Some results are `size` times as long.
        let count = if count * size > 6000 { count % 40 } else { count };
        Request { collective, rank: 0, size, counts: Counts::Same(count), element, order, in_place }
    })
}

/// The requests of all ranks, with counts that differ.
fn uneven_requests() -> impl Strategy<Value = Vec<Request>> {
    let rest = |size: usize| {
        // From the all-gather to the all-to-all: those whose counts may differ.
        let which = 4usize..9;
        (Just(size), which, 0..size, orders(), any::<bool>(), prop::collection::vec(0usize..20, size * size))
    };
    (1usize..20).prop_flat_map(rest).prop_map(|(size, which, root, order, in_place, counts)| {
        uneven(Collective::family(root)[which], size, order, in_place, |i| counts[i])
            .expect("counts may differ")
    })
}

/// Thresholds of a few bytes, so that every algorithm gets its turn at small counts.
fn tunings() -> impl Strategy<Value = Tuning> {
    (
        prop::array::uniform3(0usize..20),
        0usize..20,
        0usize..6,
        0usize..100,
        prop::array::uniform13(0usize..256),
    )
        .prop_map(
            |([direct_ranks, ring_ranks, exchange_ranks], chain_ranks, in_flight, most_segments, bytes)| {
                Tuning {
                    direct_bytes: bytes[0] / 4,
                    direct_ranks,
                    ring_ranks,
                    exchange_ranks,
                    pair_bytes: bytes[8] * 2,
                    doubling_bytes: bytes[1] / 2,
                    halving_chunk: bytes[2] / 4,
                    ring_chunk: bytes[12] / 2,
                    tree_bytes: bytes[3] / 2,
                    chain_ranks,
                    pipeline_bytes: bytes[9] / 2,
                    gather_bytes: bytes[4] * 16,
                    scatter_bytes: bytes[5] / 4,
                    rooted_bytes: bytes[7] / 3,
                    exchange_bytes: bytes[10] / 4,
                    fold_bytes: bytes[6] / 3,
                    transpose_part: bytes[11] / 16,
                    segment: bytes[6],
                    shortest_segment: bytes[7] / 4,
                    in_flight,
                    most_segments,
                    algorithms: Overrides::default(),
                    leader_bytes: bytes[1] * 2,
                    pack_bytes: bytes[9] / 8,
                    pack_hosts: in_flight,
                    pack_tiny: bytes[11] / 8,
                    show_ranks: ring_ranks,
                    show_bytes: bytes[0] / 8,
                    show_operands: bytes[0] / 4,
                    hosts: None,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_selected_is_right(request in requests(1..40), tuning in tunings()) {
        let choice = select(&request, &tuning);
        if let Err(fault) = check::check(&request, &all(&request, &choice)) {
            return Err(TestCaseError::fail(format!("{choice}: {fault}")));
        }
    }

    #[test]
    fn whatever_is_selected_on_any_placement_is_right(
        request in requests(1..40), tuning in tunings(), hosts in prop::collection::vec(0usize..7, 40),
    ) {
        let tuning = tuning.on_hosts(&Placement::new(hosts.into_iter().take(request.size)));
        let choice = select(&request, &tuning);
        if let Err(fault) = check::check(&request, &all(&request, &choice)) {
            return Err(TestCaseError::fail(format!("{choice}: {fault}")));
        }
    }

    #[test]
    fn whatever_is_forced_is_right_or_refused(
        request in requests(1..24),
        tuning in tunings(),
        which: prop::sample::Index,
    ) {
        let algorithm = *which.get(ringworld_collectives::Algorithm::ALL);
        match Choice::forced(algorithm, &request, &tuning) {
            Some(choice) => {
                if let Err(fault) = check::check(&request, &all(&request, &choice)) {
                    return Err(TestCaseError::fail(format!("{choice}: {fault}")));
                }
            }
            None => {
                let choice = Choice { algorithm, ..select(&request, &tuning) };
                let refused = matches!(build(&request, &choice), Err(Error::Unsupported { .. }));
                prop_assert!(refused, "{choice}");
                // A setting is not ignored either.
                let mut tuning = Tuning::default();
                tuning.algorithms.insert(algorithm);
                let other = algorithm.collective() != request.collective.name();
                prop_assert_eq!(schedule(&request, &tuning).is_ok(), other);
            }
        }
    }

    #[test]
    fn counts_that_differ_are_served_alike_on_all_ranks(
        requests in uneven_requests(), tuning in tunings(), which: prop::sample::Index,
    ) {
        let choice = select(&requests[0], &tuning);
        prop_assert!(requests.iter().all(|request| select(request, &tuning) == choice), "{choice}");
        let able: Vec<_> = requests[0].algorithms().collect();
        let forced = Choice::forced(*which.get(&able), &requests[0], &tuning).expect("it is able");
        for choice in [choice, forced] {
            if let Err(fault) = check::check(&requests, &all(&requests, &choice)) {
                return Err(TestCaseError::fail(format!("{choice}: {fault}")));
            }
        }
    }

    #[test]
    fn selection_answers_anything_and_all_ranks_alike(
        root: usize, rank: usize, other: usize, size: usize, count: usize, element: usize, order in orders(),
        which in 0usize..11, small: bool, tuning in tunings(),
    ) {
        let (size, count) = if small { (size % 5, count % 100) } else { (size, count) };
        let (collective, counts) = (Collective::family(root)[which], Counts::Same(count));
        let request = Request { collective, rank, size, counts, element, order, in_place: false };
        let choice = select(&request, &tuning);
        prop_assert!(choice.algorithm.supports(&request));
        prop_assert!(choice.segment > 0 && choice.in_flight > 0);
        prop_assert_eq!(&choice, &select(&Request { rank: other, in_place: true, ..request.clone() }, &tuning));
        prop_assert_eq!(select(&request, &Tuning::default()).algorithm.supports(&request), true);
        if request.validate().is_err() {
            prop_assert!(build(&request, &choice).is_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn large_worlds_are_right_too(request in requests(65..200), tuning in tunings()) {
        // Each size costs its square in all-gather and reduce-scatter.
        let request = Request { counts: Counts::Same(request.count() % 12), ..request };
        let choice = select(&request, &tuning);
        if let Err(fault) = check::check(&request, &all(&request, &choice)) {
            return Err(TestCaseError::fail(format!("{choice}: {fault}")));
        }
    }
}

const MIB: usize = 1 << 20;

fn real_sizes() -> impl Iterator<Item = Request> {
    let kinds = |size| crate::common::collectives(size).into_iter().map(move |collective| (size, collective));
    [2, 3, 4, 8, 13].into_iter().flat_map(kinds).flat_map(|(size, collective)| {
        [
            (64 * MIB, Order::Free),
            (64 * MIB, Order::Rank),
            (64 * MIB, Order::Left),
            (MIB + 4, Order::Free),
            (100_000, Order::Free),
        ]
        .into_iter()
        .flat_map(move |(bytes, order)| {
            [false, true].map(|in_place| Request {
                collective,
                rank: 0,
                size,
                counts: Counts::Same(bytes / 4),
                element: 4,
                order,
                in_place,
            })
        })
    })
}

#[test]
fn vectors_of_real_length_match_without_races_or_deadlocks() {
    for request in real_sizes() {
        let choice = select(&request, &Tuning::default());
        let schedules = all(&request, &choice);
        check::structure(&request, &schedules)
            .unwrap_or_else(|fault| panic!("{choice}, {request:?}: {fault}"));
    }
}

#[test]
fn schedules_grow_with_ranks_and_segments_and_scratch_stays_small() {
    // At half a mebibyte and at the default. Rabenseifner's algorithm takes exactly five steps a halving for
    // each segment; the others need fewer than twelve whatever the number of ranks.
    for tuning in [Tuning { segment: 512 << 10, ..Tuning::default() }, Tuning::default()] {
        for request in real_sizes() {
            let choice = select(&request, &tuning);
            let schedule = schedule(&request, &tuning).expect("a valid request");
            let Request { size, .. } = request;
            let vector = request.layout().input.max(request.layout().output);
            let segments = vector.div_ceil(choice.segment);
            let steps = schedule.len();
            let halvings = size.ilog2() as usize;
            let bound = match choice.algorithm.to_string().as_str() {
                "rabenseifner" if size.is_power_of_two() => 5 * halvings * segments,
                _ => 12 * (size * choice.in_flight + segments),
            };
            assert!(steps <= bound, "{choice}, {request:?}: {steps} steps, at most {bound}");
            // Direct exchange has slots for every rank, of short segments; the others for a few long ones.
            let bytes = schedule.scratch() * request.element;
            let most = (8 * tuning.segment + 1024).max(2 * size * 2 * tuning.shortest_segment);
            assert!(bytes <= most, "{choice}, {request:?}: {bytes} bytes of scratch");
        }
    }
}

#[test]
fn the_ring_keeps_several_segments_in_flight_and_no_more() {
    for size in [2, 4] {
        let request = Request { size, ..real_sizes().next().expect("a size") };
        let request = Request { collective: Collective::AllReduce, ..request };
        let choice = select(&request, &Tuning::default());
        assert!(choice.segment * 4 <= 512 * 1024 && choice.in_flight >= 2);
        let schedule = build(&request, &choice).expect("a valid request");
        // One send and one receive of each block under way can start at once, and the results of all-gather
        // steps that nothing holds back are bounded by the window as well.
        assert!(schedule.roots().len() >= 2 * choice.in_flight);
        assert_eq!(schedule.scratch(), choice.segment * choice.in_flight);
        let sends_at_start = schedule
            .roots()
            .iter()
            .filter(|step| {
                matches!(schedule.action(**step as usize), ringworld_collectives::Action::Send { .. })
            })
            .count();
        assert_eq!(sends_at_start, choice.in_flight);
    }
}
