//! Two-level algorithms on any placement: proved by the checker, run on values, and what they send through the wires.

// Clippy's leave for tests does not reach their helper functions.
use crate::common::{collectives, request, uneven};
use ringworld_collectives::{
    Action, Algorithm, Choice, Collective, Order, Placement, Request, Schedule, Tuning, build, check,
};

/// Random numbers that are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        // Knuth's generator; its high bits are good enough for placements.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// Placements of so many ranks: contiguous, round robin, uneven, and two at random.
fn placements(size: usize, seed: u64) -> Vec<(String, Placement)> {
    let mut chance = Chance(seed);
    let mut random = || {
        let hosts = 2 + chance.below(size);
        (0..size).map(|_| chance.below(hosts)).collect::<Vec<_>>()
    };
    let by = |host: &dyn Fn(usize) -> usize| (0..size).map(host).collect::<Vec<_>>();
    [
        ("pairs".to_owned(), by(&|rank| rank / 2)),
        ("fours".to_owned(), by(&|rank| rank / 4)),
        ("round robin".to_owned(), by(&|rank| rank % size.div_ceil(3))),
        ("one apart".to_owned(), by(&|rank| usize::from(rank == size / 2))),
        ("ever more".to_owned(), by(&|rank| (2 * rank + 1).isqrt())),
        (format!("random, seed {seed}"), random()),
        (format!("random, seed {seed}, second"), random()),
    ]
    .into_iter()
    .map(|(name, hosts)| (name, Placement::new(hosts)))
    .filter(|(_, placement)| placement.has_two_levels())
    .collect()
}

/// As in the sweep of all algorithms.
fn wide() -> bool {
    std::env::var_os("RINGWORLD_TEST_WIDE").is_some()
}

fn two_level() -> impl Iterator<Item = Algorithm> {
    Algorithm::ALL.iter().copied().filter(|algorithm| algorithm.has_two_levels())
}

/// Numbers by which short vectors have one lane and long ones many, and both are cut.
fn tunings() -> [Tuning; 3] {
    let tiny = |leader_bytes| Tuning {
        leader_bytes,
        segment: 12,
        shortest_segment: 4,
        in_flight: 2,
        ..Tuning::default()
    };
    [
        tiny(0),
        tiny(1 << 20),
        Tuning { leader_bytes: 0, doubling_bytes: 0, ring_chunk: 0, ..Tuning::default() },
    ]
}

fn prove(requests: &[Request], algorithm: Algorithm, tuning: &Tuning, what: &str) {
    let Some(choice) = Choice::forced(algorithm, &requests[0], tuning) else { return };
    let schedules = schedules(requests, &choice);
    if let Err(fault) = check::check(requests, &schedules) {
        panic!("{what}, {choice}, {:?}: {fault}\n{}", requests[0], schedules[0].render());
    }
}

fn schedules(requests: &[Request], choice: &Choice) -> Vec<Schedule> {
    requests.iter().map(|request| build(request, choice).expect("a supported request")).collect()
}

fn of_all(request: &Request) -> Vec<Request> {
    (0..request.size).map(|rank| Request { rank, ..request.clone() }).collect()
}

#[test]
fn every_placement_is_served() {
    let sizes = (3..=17).chain([32, 33, 64]);
    for size in sizes {
        for (turn, (name, placement)) in placements(size, size as u64 * 7 + 1).into_iter().enumerate() {
            for (index, tuning) in tunings().into_iter().enumerate() {
                // The checker's work grows with the square and the cube of the size: then the numbers take turns.
                if size > 9 && index != (turn + size) % 3 && !wide() {
                    continue;
                }
                let tuning = tuning.on_hosts(&placement);
                for algorithm in two_level() {
                    for collective in collectives(size) {
                        if collective.name() != algorithm.collective() {
                            continue;
                        }
                        let in_place = (turn + index) % 2 == 0;
                        let counts =
                            if size <= 9 { vec![0, 1, size - 1, 3 * size + 5] } else { vec![size + 3] };
                        for count in counts {
                            let request = request(collective, size, count, Order::Free, in_place);
                            prove(&of_all(&request), algorithm, &tuning, &name);
                        }
                        let counts = |i: usize| (i * 7 + turn) % 5;
                        if let Some(requests) = uneven(collective, size, Order::Free, in_place, counts) {
                            prove(&requests, algorithm, &tuning, &name);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn in_place_and_apart_are_both_served_on_the_same_placement() {
    for (name, placement) in placements(7, 3) {
        for tuning in tunings() {
            let tuning = tuning.on_hosts(&placement);
            for algorithm in two_level() {
                for collective in collectives(7) {
                    for in_place in [false, true] {
                        let request = request(collective, 7, 23, Order::Free, in_place);
                        prove(&of_all(&request), algorithm, &tuning, &name);
                        let requests = uneven(collective, 7, Order::Free, in_place, |i| (i * 5) % 7);
                        if let Some(requests) = requests {
                            prove(&requests, algorithm, &tuning, &name);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn floating_point_sums_have_the_same_bits_on_every_rank_and_every_run() {
    let value =
        |rank: usize, at: usize| ((rank * 7919 + at * 104_729) % 1009) as f32 * 1e3_f32.powi(rank as i32 % 5);
    for (name, placement) in placements(12, 5) {
        for tuning in tunings() {
            let request = request(Collective::AllReduce, 12, 131, Order::Free, true);
            let tuning = tuning.on_hosts(&placement);
            let choice =
                Choice::forced(Algorithm::AllReduceTwoLevel, &request, &tuning).expect("an all-reduce");
            let schedules = schedules(&of_all(&request), &choice);
            let inputs: Vec<Vec<f32>> =
                (0..12).map(|rank| (0..131).map(|at| value(rank, at)).collect()).collect();
            let bits = |seed| -> Vec<Vec<u32>> {
                check::execute(&request, &schedules, &inputs, f32::NAN, |a, b| a + b, seed)
                    .unwrap_or_else(|fault| panic!("{name}, seed {seed}: {fault}"))
                    .iter()
                    .map(|row| row.iter().map(|x| x.to_bits()).collect())
                    .collect()
            };
            let first = bits(1);
            for seed in 1..6 {
                assert!(bits(seed).iter().all(|row| *row == first[0]), "{name}, seed {seed}");
            }
        }
    }
}

/// Elements that leave the busiest host.
fn through_the_wire(schedules: &[Schedule], placement: &Placement) -> usize {
    let mut sent = vec![0; placement.hosts()];
    for schedule in schedules {
        for action in schedule.actions() {
            if let Action::Send { to, from, .. } = action
                && placement.host(*to) != placement.host(schedule.rank())
            {
                sent[placement.host(schedule.rank())] += from.len;
            }
        }
    }
    sent.into_iter().max().unwrap_or(0)
}

/// What leaves the busiest host when a vector (or a block for each rank) of `count` elements is long.
fn wire(algorithm: Algorithm, collective: Collective, count: usize, placement: &Placement) -> usize {
    let request = request(collective, placement.size(), count, Order::Free, false);
    let tuning =
        Tuning { leader_bytes: 0, ring_chunk: 0, ring_ranks: 64, ..Tuning::default() }.on_hosts(placement);
    let choice = Choice::forced(algorithm, &request, &tuning).expect("a supported request");
    through_the_wire(&schedules(&of_all(&request), &choice), placement)
}

#[test]
fn an_all_reduce_sends_no_more_than_two_vectors_through_each_wire() {
    let count = 1 << 18;
    for placement in [
        Placement::regular(4, 2),
        Placement::regular(8, 8),
        Placement::new((0..16).map(|rank| rank % 4)),
        Placement::new([0, 0, 0, 0, 1, 2, 2, 3]),
    ] {
        let hosts = placement.hosts();
        let least = 2 * count * (hosts - 1) / hosts;
        let sent = wire(Algorithm::AllReduceTwoLevel, Collective::AllReduce, count, &placement);
        assert!((least..=least + least / 100).contains(&sent), "{placement}: {sent}, at least {least}");
    }
}

#[test]
fn all_gathers_and_reduce_scatters_send_each_block_through_a_wire_once() {
    let count = 1 << 12;
    for placement in [
        Placement::regular(4, 2),
        Placement::regular(8, 8),
        Placement::new((0..16).map(|rank| rank % 4)),
        Placement::new([0, 0, 0, 0, 1, 2, 2, 3]),
    ] {
        let (size, hosts) = (placement.size(), placement.hosts());
        // Round a ring, a host passes on the blocks of all but the next; and adds to those of all but its own.
        let fewest = (0..hosts).map(|host| placement.ranks(host).len()).min().unwrap();
        let most = (size - fewest) * count;
        for (algorithm, collective) in [
            (Algorithm::AllGatherTwoLevel, Collective::AllGather),
            (Algorithm::ReduceScatterTwoLevel, Collective::ReduceScatter),
        ] {
            let sent = wire(algorithm, collective, count, &placement);
            assert_eq!(sent, most, "{collective}, {placement}");
        }
    }
}

#[test]
fn an_all_to_all_sends_one_message_from_each_host_to_each_other() {
    for (name, placement) in placements(23, 11).into_iter().chain([
        ("regular".to_owned(), Placement::regular(8, 8)),
        ("two hosts".to_owned(), Placement::regular(2, 8)),
    ]) {
        let (size, hosts) = (placement.size(), placement.hosts());
        let request = request(Collective::AllToAll, size, 3, Order::Free, false);
        let tuning = Tuning::default().on_hosts(&placement);
        let choice = Choice::forced(Algorithm::AllToAllTwoLevel, &request, &tuning).expect("equal blocks");
        // By pair of hosts: how many elements each message has; and how many messages each rank sends to other hosts.
        let mut messages = vec![vec![Vec::new(); hosts]; hosts];
        let mut share = vec![0; size];
        for schedule in schedules(&of_all(&request), &choice) {
            let rank = schedule.rank();
            for action in schedule.actions() {
                if let Action::Send { to, from, .. } = action
                    && placement.host(*to) != placement.host(rank)
                {
                    messages[placement.host(rank)][placement.host(*to)].push(from.len);
                    share[rank] += 1;
                }
            }
        }
        let ranks = |host: usize| placement.ranks(host).len();
        for (from, row) in messages.iter().enumerate() {
            for (to, sent) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                assert_eq!(*sent, [3 * ranks(from) * ranks(to)], "{name}: from host {from} to host {to}");
            }
        }
        // No rank of a host serves many more than another of it. A rank of a narrow host has several lanes.
        for host in 0..hosts {
            let lanes = placement.widest().div_ceil(ranks(host));
            let most = (hosts - 1).div_ceil(placement.widest()) * lanes;
            let found = placement.ranks(host).iter().map(|rank| share[*rank]).max().unwrap();
            assert!(found <= most, "{name}: a rank of host {host} sends {found} messages, at most {most}");
        }
    }
}

#[test]
fn broadcasts_and_reductions_send_a_vector_through_each_wire_once() {
    let count = 1 << 20;
    for placement in [Placement::regular(4, 2), Placement::new((0..16).map(|rank| rank % 4))] {
        for root in [0, 5] {
            let broadcast = Collective::Broadcast { root };
            assert_eq!(
                wire(Algorithm::BroadcastTwoLevel, broadcast, count, &placement),
                count,
                "{placement}"
            );
            let reduce = Collective::Reduce { root };
            assert_eq!(wire(Algorithm::ReduceTwoLevel, reduce, count, &placement), count, "{placement}");
        }
    }
}
