//! The network of the data falls silent while that of the rendezvous lives: hosts made of network namespaces, of which
//! the data goes over `eth1` and the rendezvous over `eth0`.
//!
//! Neighbours: `namespaces.rs` has the networks; `transport-tcp/src/silence.rs` decides, and has its own cases.

use std::time::Duration;

use ringworld_tests::clock;
use ringworld_tests::host::Network;
use ringworld_tests::job::formed;
use ringworld_tests::process::Process;

use super::namespaces::{Variables, everywhere, possible, usual};
use super::programs::FAILED;

const DATA: &str = "eth1";
const SILENCE: Duration = Duration::from_secs(2);
/// Idle connections are probed in whole seconds, and tests run beside others.
const SLACK: Duration = Duration::from_secs(3);
const VARIABLES: Variables<'_> =
    &[("MASTER_NODE", "10.77.0.1"), ("RINGWORLD_IF_INCLUDE", DATA), ("RINGWORLD_PEER_TIMEOUT", "2s")];

fn both(network: &Network) {
    network.deafen(0, DATA);
    network.deafen(1, DATA);
}

fn towards_node1(network: &Network) {
    network.deafen(1, DATA);
}

fn large_packets(network: &Network) {
    network.narrow(1, DATA, 600);
}

/// How to make a network silent.
type Fall = fn(&Network);

/// Every rank fails within the time after `from` (the cut, or an event of its own), and by the right name.
fn noticed(processes: &mut [Process], cut: u64, from: Option<&str>, local: usize) {
    for (index, process) in processes.iter_mut().enumerate() {
        let since = from.map_or(cut, |event| process.wait_event(event).number("at"));
        let line = process.wait_event("failed");
        let late = clock::between(since, line.number("at"));
        let text = line.value("text").unwrap();
        let node = index / local;
        println!("  node{node} after {:.0} ms: {text}", late.as_secs_f64() * 1e3);
        assert_eq!(line.value("kind"), Some("PeerFailed"), "{text}");
        for part in [format!("node{}", 1 - node), "10.78.0.1:".into(), "10.78.0.2:".into()] {
            assert!(text.contains(&part), "no {part:?} in {text:?}");
        }
        assert!(text.contains("RINGWORLD_PEER_TIMEOUT") && text.contains("firewall"), "{text:?}");
        assert!(late < SILENCE + SLACK, "noticed after {late:?}: {text}");
        process.ends_with(FAILED);
    }
}

fn falls_silent(local: usize, arguments: &[&str], from: Option<&str>, fall: Fall) {
    println!("  {arguments:?}");
    let network = usual(2);
    let mut processes = everywhere(&network, 2, local, VARIABLES, arguments);
    formed(&processes, 2 * local);
    for process in &processes {
        process.wait_event("looping");
    }
    std::thread::sleep(Duration::from_millis(100));
    let cut = clock::now();
    fall(&network);
    noticed(&mut processes, cut, from, local);
}

/// Runs each case on networks of its own, all at the same time: they only wait, for seconds.
fn side_by_side<T: Sync>(cases: &[T], run: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| run(case));
        }
    });
}

#[test]
fn a_data_network_that_is_silent_is_noticed_within_the_peer_timeout_and_by_name() {
    if !possible("a_data_network_that_is_silent_is_noticed_within_the_peer_timeout_and_by_name") {
        return;
    }
    falls_silent(1, &["all-reduce", "--elements", "100"], None, both);
    falls_silent(2, &["all-reduce", "--elements", "100000"], None, both);
}

#[test]
fn one_direction_of_a_data_network_is_enough() {
    if !possible("one_direction_of_a_data_network_is_enough") {
        return;
    }
    falls_silent(1, &["all-reduce", "--elements", "100"], None, towards_node1);
    falls_silent(1, &["all-reduce", "--elements", "100000"], None, towards_node1);
}

#[test]
fn a_data_network_that_drops_large_packets_only_is_noticed() {
    if !possible("a_data_network_that_drops_large_packets_only_is_noticed") {
        return;
    }
    falls_silent(1, &["all-reduce", "--elements", "100000"], None, large_packets);
}

#[test]
fn a_rank_that_only_receives_notices_a_silent_data_network() {
    if !possible("a_rank_that_only_receives_notices_a_silent_data_network") {
        return;
    }
    side_by_side(&[both as Fall, towards_node1, towards_node1, towards_node1], |fall| {
        falls_silent(1, &["recv"], None, *fall);
    });
}

#[test]
fn a_data_network_that_fell_silent_while_all_computed_is_noticed_at_the_next_call() {
    if !possible("a_data_network_that_fell_silent_while_all_computed_is_noticed_at_the_next_call") {
        return;
    }
    // The last is longer than the kernel itself waits for an answer.
    side_by_side(&[("1500", both as Fall), ("1500", towards_node1), ("8000", both)], |(time, fall)| {
        falls_silent(1, &["pause", "--ms", time, "--elements", "100"], Some("calling"), *fall);
    });
}

#[test]
fn a_peer_that_computes_and_does_not_read_is_left_alone() {
    if !possible("a_peer_that_computes_and_does_not_read_is_left_alone") {
        return;
    }
    // More than any buffers hold: its window is closed for all the time.
    side_by_side(&[["200000", "100"], ["100", "100000"], ["3000000", "4"]], |[bytes, messages]| {
        let network = usual(2);
        let arguments = ["flood", "--ms", "9000", "--bytes", bytes, "--messages", messages];
        let mut processes = everywhere(&network, 2, 1, VARIABLES, &arguments);
        processes.iter_mut().for_each(Process::succeeds);
    });
}

#[test]
fn a_firewall_that_drops_requests_for_connections_is_an_error_within_the_timeout() {
    if !possible("a_firewall_that_drops_requests_for_connections_is_an_error_within_the_timeout") {
        return;
    }
    // From either side: to one of them the requests are lost, to the other its answers.
    side_by_side(&[0, 1], |sender| {
        let network = usual(2);
        let variables = [VARIABLES, &[("RINGWORLD_TIMEOUT", "3s")]].concat();
        let sender = sender.to_string();
        let mut processes =
            everywhere(&network, 2, 1, &variables, &["first", "--ms", "1000", "--sender", &sender]);
        formed(&processes, 2);
        towards_node1(&network);
        for (node, process) in processes.iter_mut().enumerate() {
            let since = process.wait_event("calling").number("at");
            let line = process.wait_event("failed");
            let late = clock::between(since, line.number("at"));
            let text = line.value("text").unwrap();
            println!("  node{node} after {:.0} ms: {text}", late.as_secs_f64() * 1e3);
            assert_eq!(line.value("kind"), Some("PeerFailed"), "{text}");
            let other = format!("node{}", 1 - node);
            for part in [&other, "no answer for 3 s (RINGWORLD_TIMEOUT)", "10.78.0.", "firewall"] {
                assert!(text.contains(part), "no {part:?} in {text:?}");
            }
            assert!(late < Duration::from_secs(3) + SLACK, "noticed after {late:?}: {text}");
            process.ends_with(FAILED);
        }
    });
}
