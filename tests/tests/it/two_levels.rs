//! Worlds of several hosts with several ranks each: what goes over the cables, which bits come out, and that each
//! collective gives what one process computes, from every root and wherever the ranks are.
//!
//! Ranks of a host (a network namespace) share memory, hosts talk TCP. No time is asserted: benches/hosts measures it.
//! Neighbours: `namespaces.rs` makes the networks.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ringworld_tests::host::Network;
use ringworld_tests::job::{clean, formed};
use ringworld_tests::line::Line;
use ringworld_tests::process::Process;
use serde_json::Value;

use super::namespaces::{Variables, possible};
use super::programs::{LAUNCH, PROBE};

const HOSTS: usize = 4;

/// Some hundred collectives one after the other, of which each waits until the machine has had every rank's turn.
const LONG: Duration = Duration::from_secs(120);

/// Hosts with one cable each.
fn cabled(hosts: usize) -> Network {
    let network = Network::new(hosts, 1);
    for host in 0..hosts {
        network.plug(host, "eth0", 0, &format!("10.80.0.{}/24", host + 1));
    }
    network
}

/// Plays `arguments` rank by rank on the host that `hosts` says, and gives what each rank says of `event`. Ranks must
/// share memory where they share a host, and talk TCP where they do not.
fn play(
    network: &Network,
    hosts: &[usize],
    variables: Variables<'_>,
    arguments: &[&str],
    event: &str,
) -> Vec<Line> {
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
    let lines = processes.iter().map(|process| process.wait_events(event, 1, LONG).remove(0)).collect();
    processes.iter_mut().for_each(Process::succeeds);
    lines
}

/// The bytes that each host's cable has carried both ways.
fn carried(network: &Network) -> Vec<u64> {
    (0..HOSTS).map(|host| network.host(host).traffic("eth0")).collect()
}

/// What a world has to say: the digest of the result, which is the same on all ranks, how many elements differ from
/// those of a sum from rank 0 upwards, and the bytes that each host's cable has carried both ways.
struct Outcome {
    digest: u64,
    differ: u64,
    carried: Vec<u64>,
}

/// Computes the bits of a result on a network of its own.
fn bits(hosts: &[usize], variables: Variables<'_>, arguments: &[&str]) -> Outcome {
    let network = cabled(HOSTS);
    let lines = play(&network, hosts, variables, &[&["bits"], arguments].concat(), "summed");
    let (digest, differ) = (lines[0].number("digest"), lines[0].number("differ"));
    for line in &lines {
        assert_eq!((line.number("digest"), line.number("differ")), (digest, differ), "of {}", line.text);
    }
    Outcome { digest, differ, carried: carried(&network) }
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
    let arguments = ["--call", "all-reduce", "--iterations", "2", "--elements", &elements];
    for (what, hosts) in [("pairs", PAIRS), ("scattered", SCATTERED), ("uneven", UNEVEN)] {
        let outcome = bits(&hosts, &[], &arguments);
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
    let arguments = ["--call", "all-gather", "--iterations", "2", "--elements", &elements];
    for (what, hosts) in [("pairs", PAIRS), ("scattered", SCATTERED)] {
        let outcome = bits(&hosts, &[], &arguments);
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
        let arguments = ["--call", "all-reduce", "--elements", elements];
        let first = bits(&PAIRS, &[], &arguments);
        let again = bits(&PAIRS, &[], &arguments);
        assert_eq!(first.digest, again.digest, "{elements} elements, in two worlds alike");
        let strict = bits(&PAIRS, &[("RINGWORLD_REPRODUCIBLE", "1")], &arguments);
        assert_eq!(strict.differ, 0, "{elements} elements, reproducible");
    }
}

/// As many ranks on each of two hosts as cannot be alike, on two of three, and on all four; in no order.
const WORLDS: [&[usize]; 4] =
    [&[0, 1, 1, 0, 1], &[0, 0, 0, 1], &[2, 0, 0, 1, 2, 0, 2], &[3, 0, 1, 1, 2, 0, 1, 3]];

/// How often which algorithm served the calls of each name, by what the ranks' traces say.
fn algorithms(traces: &Path) -> BTreeMap<String, BTreeMap<String, u64>> {
    let output = clean(LAUNCH).args(["trace", "--json"]).arg(traces).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let of = |operation: &Value| {
        let algorithms = serde_json::from_value(operation["algorithms"].clone()).unwrap();
        (operation["name"].as_str().unwrap().to_owned(), algorithms)
    };
    summary["operations"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn every_collective_gives_what_one_process_computes_wherever_the_ranks_are() {
    if !possible("every_collective_gives_what_one_process_computes_wherever_the_ranks_are") {
        return;
    }
    let network = cabled(HOSTS);
    for hosts in WORLDS {
        // Nothing, few, eager, asked for, and several segments and lanes.
        play(&network, hosts, &[], &["family", "--elements", "0,7,500,5001,60013"], "compared");
        play(&network, hosts, &[], &["family", "--halves", "--elements", "7,5001"], "compared");
    }
}

#[test]
fn what_can_be_done_by_two_levels_is_wherever_the_ranks_are() {
    if !possible("what_can_be_done_by_two_levels_is_wherever_the_ranks_are") {
        return;
    }
    const TWO: [&str; 7] = [
        "barrier",
        "broadcast",
        "all_gather",
        "all_gather_varied",
        "reduce_scatter",
        "reduce_scatter_varied",
        "all_to_all",
    ];
    // The others of these are by operations that do not commute.
    const SOME: [&str; 2] = ["reduce", "all_reduce"];
    const NONE: [&str; 7] = [
        "gather",
        "gather_varied",
        "scatter",
        "scatter_varied",
        "all_to_all_varied",
        "scan",
        "exclusive_scan",
    ];
    let network = cabled(HOSTS);
    for hosts in WORLDS {
        let folder = tempfile::tempdir().unwrap();
        let variables = [("RINGWORLD_TRACE", folder.path().to_str().unwrap())];
        play(&network, hosts, &variables, &["family", "--elements", "20"], "compared");
        let found = algorithms(folder.path());
        let ways = |call: &str| {
            let paths: Vec<&str> = found[call].keys().map(String::as_str).collect();
            (paths.iter().filter(|path| path.ends_with("/two-level")).count(), paths.len())
        };
        for call in TWO {
            assert_eq!(ways(call), (1, 1), "{call} on {hosts:?}: {found:?}");
        }
        for call in SOME {
            assert_eq!(ways(call), (1, 2), "{call} on {hosts:?}: {found:?}");
        }
        for call in NONE {
            assert_eq!(ways(call), (0, 1), "{call} on {hosts:?}: {found:?}");
        }
        assert_eq!(found.len(), TWO.len() + SOME.len() + NONE.len(), "{found:?}");
    }
}

#[test]
fn whoever_the_root_is_each_host_is_reached_once() {
    if !possible("whoever_the_root_is_each_host_is_reached_once") {
        return;
    }
    const ELEMENTS: usize = 100_003;
    // Of each rank's block, and those of uneven ones.
    let blocks = 8 * ELEMENTS + (0..8).map(|rank| ELEMENTS * rank / 8).sum::<usize>();
    let elements = ELEMENTS.to_string();
    for (what, hosts) in [("scattered", SCATTERED), ("uneven", UNEVEN)] {
        // From each of eight roots, and to each.
        for (call, vectors) in
            [("broadcast", 8 * ELEMENTS), ("reduce", 8 * ELEMENTS), ("reduce-scatter", blocks)]
        {
            let network = cabled(HOSTS);
            play(&network, &hosts, &[], &["family", "--only", call, "--elements", &elements], "compared");
            // All of it comes to each host but one, or leaves it; sent and received.
            let least = 2 * (HOSTS - 1) * 8 * vectors;
            let share = carried(&network).iter().sum::<u64>() as f64 / least as f64;
            println!("  {call}, {what}: {share:.4} of what must be");
            assert!((1.0..1.04).contains(&share), "{call}, {what}: {share:.4} of {least} bytes");
        }
    }
}
