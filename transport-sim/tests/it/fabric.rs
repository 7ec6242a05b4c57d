//! What the simulated fabric promises beyond the contract: determinism, a true clock, every freedom that
//! the contract leaves used, and faults on demand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::result_large_err,
    clippy::needless_range_loop,
    reason = "helpers of tests fail like tests; a refusal hands the whole operation back, by contract"
)]

use crate::support::{Leaked, Node};
use ringworld_transport::{Cause, Posted, Refused, Token, Transport};
use ringworld_transport_sim::{Config, Fabric};

fn world(size: usize, config: Config) -> (Fabric, Vec<Node>) {
    let mut fabric = Fabric::new(size, config);
    let nodes = fabric.connected_transports().into_iter().map(Node::new).collect();
    (fabric, nodes)
}

/// Steps everybody until nothing is on its way.
fn run(fabric: &Fabric, nodes: &mut [Node]) {
    loop {
        let moved = nodes.iter_mut().fold(false, |moved, node| node.poll() | moved);
        if !fabric.advance() && !moved {
            return;
        }
    }
}

/// An exchange with messages and puts of all sizes between four ranks; what all were told, and the hash.
fn exchange(seed: u64) -> (Vec<Vec<String>>, u64) {
    let config = Config { seed, jitter_ns: 40_000, fragment: 1_000, ..Config::default() };
    let (fabric, mut nodes) = world(4, config);
    for to in 0..4 {
        for from in (0..4).filter(|from| *from != to) {
            let key = nodes[to].sim.expose(from, Leaked::new(9_000).lend(), Token(from as u64)).unwrap();
            let mut token = to as u64 * 100;
            for part in 0..3 {
                let _ = nodes[from].put(to, key, part * 3_000, vec![7; 3_000], token).unwrap();
                let _ = nodes[from].send(to, &[from as u8], vec![1; part * 700], token + 1).unwrap();
                token += 2;
            }
        }
    }
    run(&fabric, &mut nodes);
    (nodes.into_iter().map(|node| node.told).collect(), fabric.trace_hash())
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let mut hashes = Vec::new();
    for seed in 0..8 {
        let (told, hash) = exchange(seed);
        assert_eq!(exchange(seed), (told.clone(), hash), "seed {seed}");
        assert!(told.iter().all(|told| told.iter().filter(|t| t.starts_with("filled")).count() == 3));
        assert!(told.iter().all(|told| told.iter().filter(|t| t.starts_with("received")).count() == 9));
        hashes.push(hash);
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 8);
}

#[test]
fn time_is_connection_plus_latency_plus_bytes_over_bandwidth() {
    let config = Config {
        latency_ns: 2_000,
        bytes_per_us: 1_000,
        connect_ns: 10_000,
        fragment: 0,
        ..Config::default()
    };
    let (fabric, mut nodes) = world(2, config);
    assert_eq!(nodes[0].send(1, b"x", vec![0; 50_000], 0).unwrap(), Posted::Pending);
    while !nodes[1].was_told("received") {
        assert!(fabric.advance());
        nodes[1].poll();
    }
    assert_eq!(fabric.now(), 10_000 + 50_000 + 2_000);
    // The connection is open now, and empty messages cost latency only.
    let before = fabric.now();
    assert_eq!(nodes[1].send(0, b"x", Vec::new(), 0).unwrap(), Posted::Complete);
    while !nodes[0].was_told("received") {
        assert!(fabric.advance());
        nodes[0].poll();
    }
    assert_eq!(fabric.now() - before, 2_000);
}

#[test]
fn a_connection_that_is_being_opened_holds_up_no_other() {
    let config = Config { latency_ns: 2_000, connect_ns: 1_000_000, bytes_per_us: 0, ..Config::default() };
    let (fabric, mut nodes) = world(3, config);
    let _ = nodes[0].send(1, b"x", vec![], 0).unwrap();
    run(&fabric, &mut nodes);
    let before = fabric.now();
    let _ = nodes[0].send(2, b"opens a connection", vec![], 1).unwrap();
    let _ = nodes[0].send(1, b"has one", vec![], 2).unwrap();
    while nodes[1].times_told("received") < 2 {
        assert!(fabric.advance());
        nodes[1].poll();
    }
    assert_eq!(fabric.now() - before, 2_000);
    run(&fabric, &mut nodes);
    assert_eq!(nodes[2].times_told("received"), 1);
    assert_eq!(fabric.now() - before, 1_002_000);
}

#[test]
fn senders_to_one_rank_share_the_bandwidth_of_its_port() {
    let config =
        Config { latency_ns: 0, bytes_per_us: 1_000, connect_ns: 0, fragment: 1_000, ..Config::default() };
    let (fabric, mut nodes) = world(5, config);
    for from in 1..5 {
        let _ = nodes[from].send(0, b"x", vec![0; 100_000], 0).unwrap();
    }
    run(&fabric, &mut nodes);
    assert_eq!(nodes[0].times_told("received"), 4);
    assert_eq!(fabric.now(), 400_000, "four senders of 100 us each, one receiving port");
}

#[test]
fn puts_and_messages_overtake_one_another_but_messages_never_do() {
    let (mut put_first, mut message_first, mut puts_swapped) = (false, false, false);
    for seed in 0..40 {
        let (fabric, mut nodes) = world(2, Config { seed, jitter_ns: 50_000, ..Config::default() });
        let keys = [0, 1].map(|token| nodes[1].sim.expose(0, Leaked::new(500).lend(), Token(token)).unwrap());
        let _ = nodes[0].put(1, keys[0], 0, vec![1; 500], 0).unwrap();
        let _ = nodes[0].send(1, b"a", vec![2; 500], 1).unwrap();
        let _ = nodes[0].send(1, b"b", vec![2; 100], 2).unwrap();
        let _ = nodes[0].send(1, b"c", Vec::new(), 3).unwrap();
        let _ = nodes[0].put(1, keys[1], 0, vec![3; 500], 4).unwrap();
        run(&fabric, &mut nodes);
        let at = |text: &str| nodes[1].told.iter().position(|told| told.starts_with(text)).unwrap();
        assert!(at("received 0") < at("received 1") && at("received 1") < at("received 2"), "seed {seed}");
        let headers: Vec<_> = nodes[1].desk.placed.iter().map(|(_, header, _)| header.as_slice()).collect();
        assert_eq!(headers, [b"a", b"b", b"c"], "seed {seed}");
        put_first |= at("filled 1") < at("received 0");
        message_first |= at("received 2") < at("filled 0");
        puts_swapped |= at("filled 1") < at("filled 0");
    }
    assert!(put_first && message_first && puts_swapped, "the seeds must use what the contract permits");
}

#[test]
fn a_full_link_says_busy_until_the_receiver_has_polled() {
    let (fabric, mut nodes) = world(2, Config { max_in_flight: 2, ..Config::default() });
    for token in 0..2 {
        let _ = nodes[0].send(1, b"x", vec![0; 1_000], token).unwrap();
    }
    assert!(matches!(nodes[0].send(1, b"x", vec![0; 1_000], 2), Err(Refused::Busy(_))));
    while fabric.advance() {
        nodes[0].poll();
    }
    assert_eq!(nodes[0].times_told("sent"), 2, "both have left");
    assert!(matches!(nodes[0].send(1, b"x", vec![0; 1_000], 2), Err(Refused::Busy(_))));
    nodes[1].poll();
    assert!(nodes[0].send(1, b"x", vec![0; 1_000], 2).is_ok());
}

#[test]
fn a_killed_rank_is_down_for_all_and_all_are_down_for_it() {
    let (fabric, mut nodes) = world(3, Config::default());
    let _ = nodes[0].send(1, b"x", vec![0; 1 << 20], 0).unwrap();
    for _ in 0..4 {
        fabric.advance();
        for node in &mut nodes {
            node.poll();
        }
    }
    fabric.kill(1);
    run(&fabric, &mut nodes);
    assert_eq!(nodes[0].told, ["down 1: the connection was lost (rank 1 was killed)"]);
    assert_eq!(nodes[1].times_told("down"), 2);
    assert!(matches!(nodes[1].send(0, b"x", vec![], 1), Err(Refused::PeerDown(..))));
    // Rank 2 was never connected to it: it finds out when it tries.
    assert!(nodes[2].told.is_empty());
    let _ = nodes[2].send(1, b"x", vec![], 0).unwrap();
    run(&fabric, &mut nodes);
    let down = "down 1: no connection could be made: rank 1 is not there";
    assert_eq!(nodes[2].told, ["Undelivered { peer: 1 }", down], "it was complete, and never left");
    nodes[1].sim.close();
    run(&fabric, &mut nodes);
    assert_eq!(nodes[1].times_told("closed"), 1, "close ends for a killed rank too: {:?}", nodes[1].told);
}

#[test]
fn a_silent_rank_is_reported_by_nobody_until_it_is_disconnected() {
    let (fabric, mut nodes) = world(2, Config { max_in_flight: 3, ..Config::default() });
    let _ = nodes[0].send(1, b"x", vec![0; 100], 0).unwrap();
    run(&fabric, &mut nodes);
    fabric.silence(1);
    let (received, _) = (nodes[1].told.len(), nodes[0].told.clear());
    let _ = nodes[0].send(1, b"x", vec![0; 100], 1).unwrap();
    let _ = nodes[0].send(1, b"x", vec![0; 1 << 20], 2).unwrap();
    let _ = nodes[0].send(1, b"x", vec![0; 100], 3).unwrap();
    run(&fabric, &mut nodes);
    assert_eq!(nodes[0].told, ["sent 1"], "one fragment leaves; what needs an acknowledgement hangs");
    assert!(matches!(nodes[0].send(1, b"x", vec![0; 100], 4), Err(Refused::Busy(_))));
    assert_eq!(nodes[1].told.len(), received);
    nodes[0].sim.close();
    run(&fabric, &mut nodes);
    assert!(!nodes[0].was_told("closed"));
    nodes[0].sim.disconnect(1, Cause::Declared("rank 1 is silent".to_owned()));
    run(&fabric, &mut nodes);
    assert_eq!(nodes[0].told, ["sent 1", "down 1: rank 1 is silent", "closed"]);
}

#[test]
fn a_cut_takes_two_ranks_down_for_one_another_and_nobody_else() {
    let (fabric, mut nodes) = world(3, Config::default());
    let (a, b) = (0, 2);
    let _ = nodes[a].send(b, b"x", vec![0; 1 << 20], 0).unwrap();
    fabric.advance();
    fabric.cut(a, b);
    let _ = nodes[a].send(1, b"x", vec![5; 100_000], 1).unwrap();
    let _ = nodes[1].send(b, b"x", vec![6; 100_000], 1).unwrap();
    run(&fabric, &mut nodes);
    assert_eq!(
        nodes[a].told,
        ["down 2: the connection was lost (the connection to rank 2 was cut)", "sent 1"]
    );
    assert_eq!(nodes[b].times_told("down 0"), 1);
    assert_eq!(nodes[b].times_told("received"), 1);
    assert_eq!(nodes[1].times_told("received"), 1);
    assert!(matches!(nodes[b].send(a, b"x", vec![], 9), Err(Refused::PeerDown(..))));
}

#[test]
fn a_put_over_bytes_that_were_written_before_breaks_the_protocol() {
    let (fabric, mut nodes) = world(2, Config { inline: 0, ..Config::default() });
    let key = nodes[1].sim.expose(0, Leaked::new(1_000).lend(), Token(0)).unwrap();
    let _ = nodes[0].put(1, key, 0, vec![1; 600], 0).unwrap();
    let _ = nodes[0].put(1, key, 599, vec![1; 401], 1).unwrap();
    run(&fabric, &mut nodes);
    assert_eq!(nodes[1].times_told("down 0: the peer broke the protocol"), 1, "{:?}", nodes[1].told);
    assert_eq!(nodes[1].times_told("filled"), 0);
    assert_eq!(nodes[0].times_told("down 1"), 1);
}

#[test]
fn puts_that_cannot_be_are_invalid() {
    let (_fabric, mut nodes) = world(3, Config::default());
    let key = nodes[1].sim.expose(0, Leaked::new(10).lend(), Token(0)).unwrap();
    for (peer, offset, length) in [(2, 0, 10), (1, 1, 10), (1, usize::MAX, 2), (1, 0, 0), (1, 11, 1)] {
        let refused = nodes[0].put(peer, key, offset, vec![0; length], 0);
        assert!(matches!(refused, Err(Refused::Invalid(..))), "{peer} {offset} {length}: {refused:?}");
    }
    assert!(nodes[0].put(1, key, 0, vec![0; 10], 0).is_ok());
}

#[test]
fn sent_comes_when_the_last_fragment_has_left_and_not_before() {
    let config = Config { bytes_per_us: 1, fragment: 100, inline: 0, ..Config::default() };
    let (fabric, mut nodes) = world(2, config);
    let _ = nodes[0].send(1, b"x", vec![1; 1_000], 0).unwrap();
    let start = fabric.now();
    while !nodes[0].was_told("sent") {
        assert!(fabric.advance());
        nodes[0].poll();
    }
    let connected = Config::default().connect_ns;
    assert_eq!(fabric.now() - start, connected + 1_000_000);
}

#[test]
fn transports_may_be_driven_by_a_thread_each() {
    const SIZE: usize = 4;
    const ROUNDS: usize = 30;
    for seed in 0..5 {
        let config = Config {
            seed,
            auto_advance: true,
            jitter_ns: 20_000,
            max_in_flight: 3,
            fragment: 4_000,
            ..Config::default()
        };
        let (_fabric, nodes) = world(SIZE, config);
        std::thread::scope(|scope| {
            for (rank, mut node) in nodes.into_iter().enumerate() {
                scope.spawn(move || {
                    let (right, left) = ((rank + 1) % SIZE, (rank + SIZE - 1) % SIZE);
                    for round in 0..ROUNDS {
                        let bytes = vec![(rank * 50 + round) as u8; round * 1_000];
                        while let Err(refused) = node.send(right, &[round as u8], bytes.clone(), round as u64)
                        {
                            assert!(matches!(refused, Refused::Busy(_)), "seed {seed}: {refused:?}");
                            node.poll();
                        }
                        while node.times_told("received") <= round {
                            node.poll();
                        }
                    }
                    for (round, (peer, header, memory)) in node.desk.placed.iter().enumerate() {
                        assert_eq!((*peer, header.as_slice()), (left, &[round as u8][..]), "seed {seed}");
                        assert_eq!(memory.read(), vec![(left * 50 + round) as u8; round * 1_000]);
                    }
                    node.sim.close();
                    while !node.told.iter().any(|told| told == "closed") {
                        node.poll();
                    }
                    assert!(!node.was_told("down"), "seed {seed}: {:?}", node.told);
                });
            }
        });
    }
}

#[test]
fn an_elapsed_time_lets_everything_due_happen_at_its_time() {
    let (fabric, mut nodes) = world(2, Config::default());
    let _ = nodes[0].send(1, b"x", vec![1; 1_000], 0).unwrap();
    fabric.elapse(1_000_000);
    assert_eq!(fabric.now(), 1_000_000);
    nodes[1].poll();
    assert!(nodes[1].was_told("received"));
}

#[test]
fn an_address_of_another_rank_or_fabric_is_refused() {
    let mut sims = Fabric::new(2, Config::default()).transports();
    let other = Fabric::new(3, Config::default()).transports();
    let own = sims[1].address();
    assert!(sims[0].connect(0, &own).is_err());
    assert!(sims[0].connect(1, &other[1].address()).is_err());
    assert!(sims[0].connect(7, &own).is_err());
    assert!(sims[0].connect(1, &own).is_ok());
}
