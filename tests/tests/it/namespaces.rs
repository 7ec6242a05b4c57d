//! Worlds across hosts: network namespaces with several interfaces each, made by the tests themselves.
//!
//! Neighbours: `ringworld_tests::host` makes the networks. Where namespaces are not permitted, the tests
//! say so and pass.

use std::sync::OnceLock;
use std::time::Duration;

use ringworld_tests::clock;
use ringworld_tests::host::{self, Network};
use ringworld_tests::job::formed;
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::skipped;

use super::programs::{FAILED, PROBE, REFUSED};

/// Every network has a switch of its own, so all may use the same port.
const PORT: (&str, &str) = ("MASTER_PORT", "29500");

/// More of the environment.
pub(crate) type Variables<'a> = &'a [(&'a str, &'a str)];

/// Whether networks can be made here; says so if not.
pub(crate) fn possible(test: &str) -> bool {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    match MISSING.get_or_init(host::missing) {
        None => true,
        Some(reason) => {
            skipped(test, reason);
            false
        }
    }
}

/// Hosts with a data network (`eth0`), a second one (`eth1`), and two interfaces with the same address on
/// every host: one that is known to belong to containers, and one whose name gives nothing away.
pub(crate) fn usual(hosts: usize) -> Network {
    let network = Network::new(hosts, 2);
    for host in 0..hosts {
        network.plug(host, "eth0", 0, &format!("10.77.0.{}/24", host + 1));
        network.plug(host, "eth1", 1, &format!("10.78.0.{}/24", host + 1));
        network.host(host).stub("docker0", "172.17.0.1/16");
        network.host(host).stub("priv0", "172.31.0.1/16");
    }
    network
}

/// The same line on every host, as often as there are ranks per host; in order of hosts.
pub(crate) fn everywhere(
    network: &Network,
    hosts: usize,
    local: usize,
    variables: Variables<'_>,
    arguments: &[&str],
) -> Vec<Process> {
    let (nodes, size) = (hosts.to_string(), local.to_string());
    let common = [PORT, ("NUM_NODES", nodes.as_str()), ("LOCAL_WORLD_SIZE", size.as_str())];
    let all: Vec<(&str, &str)> = common.iter().chain(variables).copied().collect();
    (0..hosts * local).map(|i| network.host(i / local).start(PROBE, &all, arguments)).collect()
}

#[test]
fn a_world_forms_without_a_hint_although_all_hosts_share_addresses() {
    if !possible("a_world_forms_without_a_hint_although_all_hosts_share_addresses") {
        return;
    }
    let network = usual(3);
    let master = [("MASTER_NODE", "10.77.0.1")];
    let mut processes = everywhere(&network, 3, 2, &master, &["meet", "--elements", "300000"]);
    for line in formed(&processes, 6) {
        let (rank, host) = (line.rank(), line.value("host").unwrap());
        assert_eq!(host, format!("node{}", rank / 2), "ranks are contiguous per host, the master's first");
        assert_eq!((line.number("local_rank"), line.number("local_size")), (rank as u64 % 2, 2));
    }
    processes.iter_mut().for_each(Process::succeeds);
    for host in 0..3 {
        assert!(
            network.host(host).traffic("eth0") > 1_000_000,
            "the data went over the network of the master"
        );
        for stub in ["docker0", "priv0"] {
            let bytes = network.host(host).traffic(stub);
            assert!(bytes < 20_000, "{bytes} bytes went to {stub}, which leads nowhere");
        }
    }
}

#[test]
fn loopback_is_not_offered_to_other_hosts() {
    if !possible("loopback_is_not_offered_to_other_hosts") {
        return;
    }
    let network = usual(2);
    let variables = [("MASTER_NODE", "10.77.0.1"), ("RINGWORLD_IF_EXCLUDE", "eth*,priv0")];
    let mut processes = everywhere(&network, 2, 1, &variables, &["meet"]);
    for (process, others) in
        processes.iter_mut().zip(["NUM_NODES says", "10.77.0.1:29500 is on another host"])
    {
        let line = process.wait_text("only loopback is left").text;
        for part in [others, "eth0 10.77.0.", "RINGWORLD_IF_EXCLUDE names eth*"] {
            assert!(line.contains(part), "no {part:?} in {line:?}");
        }
        process.ends_with(REFUSED);
    }
}

#[test]
fn a_master_that_means_each_host_itself_is_explained() {
    if !possible("a_master_that_means_each_host_itself_is_explained") {
        return;
    }
    let network = usual(2);
    let variables = [("MASTER_NODE", "127.0.0.1"), ("RINGWORLD_TIMEOUT", "1s")];
    let mut processes = everywhere(&network, 2, 1, &variables, &["meet"]);
    for process in &mut processes {
        process.wait_text("1 of 2 ranks joined");
        process.wait_text("127.0.0.1 means each host itself");
        process.ends_with(REFUSED);
    }
}

#[test]
fn whoever_waits_on_another_host_than_the_masters_is_told_too() {
    if !possible("whoever_waits_on_another_host_than_the_masters_is_told_too") {
        return;
    }
    let network = usual(3);
    let all = [PORT, ("NUM_NODES", "3"), ("MASTER_NODE", "10.77.0.1")];
    let mut processes: Vec<_> = (0..2).map(|host| network.host(host).start(PROBE, &all, &["meet"])).collect();
    processes[0].wait_text("waiting for 1 of 3 ranks; node0 and node1 have joined");
    processes[1].wait_text("reached the master 10.77.0.1:29500; it waits for other ranks");
    processes.push(network.host(2).start(PROBE, &all, &["meet"]));
    formed(&processes, 3);
    processes.iter_mut().for_each(Process::succeeds);
}

#[test]
fn ranks_of_one_host_get_a_communicator() {
    if !possible("ranks_of_one_host_get_a_communicator") {
        return;
    }
    let network = usual(2);
    let mut processes = everywhere(&network, 2, 2, &[("MASTER_NODE", "10.77.0.1")], &["hosts"]);
    for line in processes.iter().map(|process| process.wait_event("met")) {
        assert_eq!((line.number("here"), line.number("of")), (line.rank() as u64 % 2, 2));
    }
    processes.iter_mut().for_each(Process::succeeds);
}

#[test]
fn an_excluded_interface_carries_no_data_and_an_included_one_all() {
    if !possible("an_excluded_interface_carries_no_data_and_an_included_one_all") {
        return;
    }
    let cases: [(Variables<'_>, &str, &str); 4] = [
        (&[("MASTER_NODE", "10.77.0.1"), ("RINGWORLD_IF_EXCLUDE", "eth1")], "eth0", "eth1"),
        (&[("MASTER_NODE", "10.78.0.1"), ("RINGWORLD_IF_EXCLUDE", "10.77.0.0/24")], "eth1", "eth0"),
        (&[("MASTER_NODE", "10.78.0.1"), ("RINGWORLD_IF_INCLUDE", "eth1")], "eth1", "eth0"),
        (&[("MASTER_NODE", "10.77.0.1"), ("NCCL_SOCKET_IFNAME", "=eth0")], "eth0", "eth1"),
    ];
    for (variables, used, unused) in cases {
        let network = usual(2);
        let mut processes = everywhere(&network, 2, 2, variables, &["meet", "--elements", "500000"]);
        processes.iter_mut().for_each(Process::succeeds);
        for host in 0..2 {
            let (data, none) = (network.host(host).traffic(used), network.host(host).traffic(unused));
            println!("  {variables:?}: node{host}: {data} bytes by {used}, {none} by {unused}");
            assert!(data > 2_000_000, "{variables:?}: only {data} bytes by {used}");
            // Neighbour discovery and multicast reports of the kernel itself.
            assert!(none < 20_000, "{variables:?}: {none} bytes by {unused}");
        }
    }
}

#[test]
fn lanes_over_two_networks_are_as_fast_as_both_together_although_one_is_slow() {
    const TEST: &str = "lanes_over_two_networks_are_as_fast_as_both_together_although_one_is_slow";
    if !possible(TEST) {
        return;
    }
    if let Some(reason) = host::cannot_limit() {
        return skipped(TEST, &reason);
    }
    // In bytes per second. The faster alone, and twice the slower, which is what a static split would give, are
    // two thirds of the sum.
    const FAST: f64 = 25e6;
    const SLOW: f64 = 12.5e6;
    const BYTES: usize = 16 << 20;
    const MESSAGES: usize = 6;
    // The slow network is once that of lane 0, which the messages travel over, and once the other.
    for (fast, slow) in [("eth0", "eth1"), ("eth1", "eth0")] {
        let network = usual(2);
        for host in 0..2 {
            network.host(host).limit(fast, "200mbit");
            network.host(host).limit(slow, "100mbit");
        }
        let variables = [("MASTER_NODE", "10.77.0.1"), ("RINGWORLD_TCP_SPREAD", "1")];
        let bytes = BYTES.to_string();
        let messages = MESSAGES.to_string();
        let arguments = ["stream", "--bytes", &bytes, "--messages", &messages];
        let mut processes = everywhere(&network, 2, 1, &variables, &arguments);
        // The first message opens the second lane.
        let lines = processes[0].wait_events("streamed", MESSAGES, PATIENCE);
        let rates = lines.iter().skip(1).map(|line| BYTES as f64 * 1e6 / line.number("us") as f64);
        let best = rates.fold(0.0, f64::max);
        println!(
            "  {fast} fast, {slow} slow: {:.1} MB/s, {:.2} of the sum",
            best / 1e6,
            best / (FAST + SLOW)
        );
        processes.iter_mut().for_each(Process::succeeds);
        for interface in [fast, slow] {
            let bytes = network.host(0).traffic(interface);
            println!("  {bytes} bytes by {interface}");
        }
        // The limits count headers too, so that 0.95 would be all.
        assert!(best > 0.8 * (FAST + SLOW), "{:.1} MB/s with {slow} slow", best / 1e6);
        // No less than would be possible: nothing went another way.
        assert!(best < 1.1 * (FAST + SLOW), "{:.1} MB/s: the limits do not work", best / 1e6);
    }
}

#[test]
fn an_interface_that_does_not_exist_is_an_error_that_lists_those_that_do() {
    if !possible("an_interface_that_does_not_exist_is_an_error_that_lists_those_that_do") {
        return;
    }
    let network = usual(1);
    let variables = [("MASTER_NODE", "10.77.0.1"), PORT, ("NUM_NODES", "2"), ("RINGWORLD_IF_INCLUDE", "ib7")];
    let mut process = network.host(0).start(PROBE, &variables, &["meet"]);
    process.ends_with(REFUSED);
    let text = process.wait_event("refused").text;
    for part in ["RINGWORLD_IF_INCLUDE", "ib7", "eth0", "10.77.0.1", "eth1", "docker0"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn ranks_listen_at_the_ports_that_were_given_and_too_few_are_an_error() {
    if !possible("ranks_listen_at_the_ports_that_were_given_and_too_few_are_an_error") {
        return;
    }
    let network = usual(2);
    let variables = |ports| [("MASTER_NODE", "10.77.0.1"), ("RINGWORLD_TCP_PORTS", ports)];
    let mut processes = everywhere(&network, 2, 2, &variables("30000-30001"), &["meet"]);
    processes.iter_mut().for_each(Process::succeeds);
    // Again at once, although connections of the last world linger at these ports.
    let mut processes = everywhere(&network, 2, 2, &variables("30000-30001"), &["meet"]);
    processes.iter_mut().for_each(Process::succeeds);
    let few = [&variables("30000")[..], &[("RINGWORLD_TIMEOUT", "2s")]].concat();
    let mut processes = everywhere(&network, 2, 2, &few, &["meet"]);
    let mut texts = Vec::new();
    for process in &mut processes {
        texts.push(process.wait_event("refused").text);
        process.ends_with(REFUSED);
    }
    let named = |text: &&String| text.contains("30000") && text.contains("RINGWORLD_TCP_PORTS");
    // If it is the one that serves the rendezvous, the others hear of its end only.
    assert!(texts.iter().any(|text| named(&text)), "one rank of a host has none: {texts:?}");
}

#[test]
fn others_are_told_the_address_that_was_given() {
    if !possible("others_are_told_the_address_that_was_given") {
        return;
    }
    let network = usual(2);
    // Of the same host, but nobody listens there.
    let variables = [
        ("MASTER_NODE", "10.77.0.1"),
        ("RINGWORLD_IF_INCLUDE", "eth1"),
        ("RINGWORLD_ADVERTISE", "10.77.0.2"),
    ];
    let mut processes = everywhere(&network, 2, 1, &variables, &["first", "--ms", "0", "--sender", "0"]);
    for process in &mut processes {
        let text = process.wait_event("failed").text;
        assert!(text.contains("10.77.0.2:") && text.contains("refused"), "{text}");
        process.ends_with(FAILED);
    }
}

#[test]
fn a_world_forms_over_ipv6_alone() {
    if !possible("a_world_forms_over_ipv6_alone") {
        return;
    }
    for master in ["fd77::1", "[fd77::1]"] {
        let network = Network::new(2, 1);
        for host in 0..2 {
            network.plug(host, "eth0", 0, &format!("fd77::{}/64", host + 1));
        }
        let variables = [("MASTER_NODE", master)];
        let mut processes = everywhere(&network, 2, 2, &variables, &["meet", "--elements", "300000"]);
        formed(&processes, 4);
        processes.iter_mut().for_each(Process::succeeds);
        assert!(network.host(1).traffic("eth0") > 1_000_000);
    }
}

#[test]
fn a_cut_cable_is_noticed_within_the_peer_timeout_and_named_by_host() {
    if !possible("a_cut_cable_is_noticed_within_the_peer_timeout_and_named_by_host") {
        return;
    }
    const SILENCE: Duration = Duration::from_secs(2);
    const SLACK: Duration = Duration::from_secs(2);
    for arguments in [&["recv"][..], &["all-reduce", "--elements", "100000"]] {
        let network = usual(2);
        let variables = [("MASTER_NODE", "10.77.0.1"), ("RINGWORLD_PEER_TIMEOUT", "2s")];
        let mut processes = everywhere(&network, 2, 2, &variables, arguments);
        for line in formed(&processes, 4) {
            assert_eq!(line.value("host"), Some(format!("node{}", line.rank() / 2).as_str()));
        }
        for process in &processes {
            process.wait_event("looping");
        }
        std::thread::sleep(Duration::from_millis(100));
        let since = clock::now();
        network.cut(1, "eth0");
        network.cut(1, "eth1");
        for (index, process) in processes.iter_mut().enumerate() {
            let line = process.wait_event("failed");
            let late = clock::between(since, line.number("at"));
            let text = line.value("text").unwrap();
            println!("  node{} after {:.0} ms: {text}", index / 2, late.as_secs_f64() * 1e3);
            // Each side can only name the other.
            let other = format!("on node{}", 1 - index / 2);
            assert!(text.contains(&other), "no {other:?} in {text:?}");
            assert!(late < SILENCE + SILENCE / 4 + SLACK, "noticed after {late:?}");
            process.ends_with(FAILED);
        }
    }
}
