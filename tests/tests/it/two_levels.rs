//! Worlds of several hosts with several ranks each: what goes over the cables, and which bits come out.
//!
//! Ranks of a host (a network namespace) share memory, hosts talk TCP. No time is asserted: benches/hosts measures it.
//! Neighbours: `namespaces.rs` makes the networks.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which fail by a panic"
)]

use ringworld_tests::host::Network;
use ringworld_tests::job::formed;
use ringworld_tests::process::Process;

use super::namespaces::{Variables, possible};
use super::programs::PROBE;

const HOSTS: usize = 4;

/// Hosts with one cable each.
fn cabled(hosts: usize) -> Network {
    let network = Network::new(hosts, 1);
    for host in 0..hosts {
        network.plug(host, "eth0", 0, &format!("10.80.0.{}/24", host + 1));
    }
    network
}

/// What a world has to say: the digest of the result, which is the same on all ranks, how many elements differ from
/// those of a sum from rank 0 upwards, and the bytes that each host's cable has carried both ways.
struct Outcome {
    digest: u64,
    differ: u64,
    carried: Vec<u64>,
}

/// Plays `arguments` on a network of its own, rank by rank on the host that `hosts` says.
fn play(hosts: &[usize], variables: Variables<'_>, arguments: &[&str]) -> Outcome {
    let network = cabled(HOSTS);
    let size = hosts.len().to_string();
    let common = [("MASTER_NODE", "10.80.0.1"), ("MASTER_PORT", "29500"), ("WORLD_SIZE", size.as_str())];
    let start = |(rank, host): (usize, &usize)| {
        let rank = rank.to_string();
        let all: Vec<_> = [("RANK", rank.as_str())].iter().chain(&common).chain(variables).copied().collect();
        network.host(*host).start(PROBE, &all, arguments)
    };
    let mut processes: Vec<Process> = hosts.iter().enumerate().map(start).collect();
    for line in formed(&processes, hosts.len()) {
        let here = hosts[line.rank()];
        let transports: Vec<&str> = line.value("transports").unwrap().split(',').collect();
        for (rank, transport) in transports.into_iter().enumerate() {
            let expected = match rank {
                rank if rank == line.rank() => "self",
                rank if hosts[rank] == here => "shm",
                _ => "tcp",
            };
            assert_eq!(transport, expected, "from rank {} to {rank}", line.rank());
        }
    }
    let lines: Vec<_> = processes.iter().map(|process| process.wait_event("summed")).collect();
    processes.iter_mut().for_each(Process::succeeds);
    let (digest, differ) = (lines[0].number("digest"), lines[0].number("differ"));
    for line in &lines {
        assert_eq!((line.number("digest"), line.number("differ")), (digest, differ), "of {}", line.text);
    }
    let carried = (0..HOSTS).map(|host| network.host(host).traffic("eth0")).collect();
    Outcome { digest, differ, carried }
}

/// The hosts of eight ranks: two on each, not contiguous, and not as many on each.
const PAIRS: [usize; 8] = [0, 0, 1, 1, 2, 2, 3, 3];
const SCATTERED: [usize; 8] = [0, 1, 2, 3, 3, 2, 1, 0];
const UNEVEN: [usize; 8] = [0, 0, 0, 1, 1, 2, 2, 3];

/// That each cable has carried no more than `least` bytes both ways and what frames, acknowledgements and the control
/// plane cost.
fn assert_carried(what: &str, outcome: &Outcome, least: usize) {
    for (host, carried) in outcome.carried.iter().enumerate() {
        let share = *carried as f64 / least as f64;
        println!("  {what}: node{host}: {carried} bytes, {share:.4} of what must be");
        assert!((1.0..1.04).contains(&share), "{what}: node{host} carried {carried} bytes, at least {least}");
    }
}

#[test]
fn an_all_reduce_of_two_levels_moves_each_host_s_least_over_its_cable() {
    const ELEMENTS: usize = 4 << 20;
    if !possible("an_all_reduce_of_two_levels_moves_each_host_s_least_over_its_cable") {
        return;
    }
    let elements = ELEMENTS.to_string();
    let arguments = ["bits", "--call", "all-reduce", "--iterations", "2", "--elements", &elements];
    for (what, hosts) in [("pairs", PAIRS), ("scattered", SCATTERED), ("uneven", UNEVEN)] {
        let outcome = play(&hosts, &[], &arguments);
        // Sent and received, twice 2 (h - 1) / h vectors of f32, twice.
        let least = 2 * 2 * 2 * (4 * ELEMENTS) * 3 / 4;
        assert_carried(what, &outcome, least);
        assert!(outcome.differ > 0, "{what}: these sums are rounded in any order alike");
    }
}

#[test]
fn an_all_gather_of_two_levels_brings_each_host_each_block_once() {
    const ELEMENTS: usize = 1 << 20;
    if !possible("an_all_gather_of_two_levels_brings_each_host_each_block_once") {
        return;
    }
    let elements = ELEMENTS.to_string();
    let arguments = ["bits", "--call", "all-gather", "--iterations", "2", "--elements", &elements];
    for (what, hosts) in [("pairs", PAIRS), ("scattered", SCATTERED)] {
        let outcome = play(&hosts, &[], &arguments);
        // Sent and received, the blocks of six ranks, twice.
        assert_carried(what, &outcome, 2 * 2 * 6 * 4 * ELEMENTS);
        assert_eq!(outcome.differ, 0, "{what}");
    }
}

#[test]
fn sums_over_hosts_have_the_same_bits_again_and_reproducible_ones_those_of_the_fold() {
    if !possible("sums_over_hosts_have_the_same_bits_again_and_reproducible_ones_those_of_the_fold") {
        return;
    }
    // One lane, several, and blocks.
    for elements in ["3", "30001", "700001"] {
        let arguments = ["bits", "--call", "all-reduce", "--elements", elements];
        let first = play(&PAIRS, &[], &arguments);
        let again = play(&PAIRS, &[], &arguments);
        assert_eq!(first.digest, again.digest, "{elements} elements, in two worlds alike");
        let strict = play(&PAIRS, &[("RINGWORLD_REPRODUCIBLE", "1")], &arguments);
        assert_eq!(strict.differ, 0, "{elements} elements, reproducible");
    }
}
