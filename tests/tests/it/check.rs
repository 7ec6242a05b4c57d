//! `ringworld check` over hosts of which one link, or one host, is not as the others: it is named.

use std::time::{Duration, Instant};

use ringworld_tests::host::{self, Network};
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::skipped;

use super::namespaces::possible;
use super::programs::LAUNCH;

const HOSTS: usize = 4;

/// Hosts on one network, `10.77.0.1` and so on.
fn four() -> Network {
    let network = Network::new(HOSTS, 2);
    for host in 0..HOSTS {
        network.plug(host, "eth0", 0, &format!("10.77.0.{}/24", host + 1));
    }
    network
}

/// Whether rates can be limited here; says so if not.
fn limits(test: &str) -> bool {
    let missing = host::cannot_limit();
    missing.iter().for_each(|reason| skipped(test, reason));
    missing.is_none()
}

/// The same line on every host; rank i is on host i.
fn check(network: &Network, arguments: &[&str]) -> Vec<Process> {
    let arguments = [&["check"], arguments].concat();
    let start = |host: usize| {
        let rank = host.to_string();
        let variables =
            [("MASTER_NODE", "10.77.0.1"), ("MASTER_PORT", "29500"), ("WORLD_SIZE", "4"), ("RANK", &rank)];
        network.host(host).start(LAUNCH, &variables, &arguments)
    };
    (0..HOSTS).map(start).collect()
}

/// What rank 0 has printed, without what it says of its progress.
fn report(processes: &[Process]) -> String {
    let lines = processes[0].lines();
    lines.iter().filter(|line| !line.error).map(|line| line.text.clone() + "\n").collect()
}

/// The lines below a title, without their margin.
fn below<'a>(report: &'a str, title: &str) -> Vec<&'a str> {
    let after = report.lines().skip_while(|line| *line != title).skip(1);
    after.take_while(|line| line.starts_with("  ")).map(str::trim_start).collect()
}

#[test]
fn a_slow_link_between_two_hosts_is_named() {
    const TEST: &str = "a_slow_link_between_two_hosts_is_named";
    if !possible(TEST) || !limits(TEST) {
        return;
    }
    let network = four();
    // Hosts 1 and 3 have a cable of their own, which leads from the one to the other and is slow.
    for (host, peer) in [(1, 3), (3, 1)] {
        network.plug(host, "eth1", 1, &format!("10.78.0.{}/24", host + 1));
        network.host(host).limit("eth1", "20mbit");
        network.host(host).route(&format!("10.77.0.{} via 10.78.0.{}", peer + 1, peer + 1));
    }
    let mut processes = check(&network, &[]);
    processes.iter_mut().for_each(Process::succeeds);
    let report = report(&processes);
    println!("{report}");
    let slow = below(&report, "Slow");
    let named = "rank 1 on node1 and rank 3 on node3 by tcp, both directions: ";
    assert!(slow.first().is_some_and(|first| first.starts_with(named)), "{report}");
    // 2.5 MB/s, of which some go to headers, and somewhat more as long as the credit of the bucket lasts.
    let rate: f64 = slow[0][named.len()..].split(' ').next().unwrap().parse().unwrap();
    assert!((1.5..4.0).contains(&rate), "{report}");
}

#[test]
fn a_host_that_sends_slowly_is_named_and_not_each_of_its_links() {
    const TEST: &str = "a_host_that_sends_slowly_is_named_and_not_each_of_its_links";
    if !possible(TEST) || !limits(TEST) {
        return;
    }
    let network = four();
    network.host(2).limit("eth0", "20mbit");
    let mut processes = check(&network, &["--budget", "100ms"]);
    processes.iter_mut().for_each(Process::succeeds);
    let report = report(&processes);
    let slow = below(&report, "Slow");
    let named = "whatever rank 2 on node2 sends by tcp: ";
    assert!(slow.first().is_some_and(|first| first.starts_with(named)), "{report}");
    for host in 0..HOSTS {
        assert!(report.contains(&format!("interfaces  eth0 10.77.0.{}/24", host + 1)), "{report}");
    }
}

#[test]
fn a_pair_that_does_not_reach_one_another_is_named_and_the_others_are_measured() {
    const TEST: &str = "a_pair_that_does_not_reach_one_another_is_named_and_the_others_are_measured";
    if !possible(TEST) {
        return;
    }
    let network = four();
    // The one hears, and nothing that it answers arrives.
    network.host(1).route("blackhole 10.77.0.4");
    let began = Instant::now();
    let mut processes = check(&network, &["--budget", "50ms", "--patience", "1s", "--json"]);
    processes.iter_mut().for_each(|process| process.ends_with(1));
    assert!(began.elapsed() < PATIENCE);
    let report = report(&processes);
    let named = "\"rank 1 on node1 and rank 3 on node3 do not reach one another; tcp: ";
    assert!(report.contains(named), "{report}");
    assert_eq!(report.matches("\"measured\":").count(), 5, "{report}");
    assert_eq!(report.matches("\"failed\":").count(), 1, "{report}");
}

#[test]
fn a_rank_that_dies_meanwhile_is_named() {
    const TEST: &str = "a_rank_that_dies_meanwhile_is_named";
    if !possible(TEST) {
        return;
    }
    let network = four();
    let mut processes = check(&network, &["--budget", "3s", "--patience", "2s"]);
    processes[0].wait_text("measurements in 3 rounds");
    std::thread::sleep(Duration::from_millis(300));
    processes[3].kill();
    // It says itself that this takes up to 22 s, on a machine that does nothing else.
    processes[0].wait_end_within(2 * PATIENCE);
    processes.iter_mut().take(3).for_each(|process| process.ends_with(1));
    let report = report(&processes);
    for host in 0..3 {
        let named = format!("rank {host} on node{host} and rank 3 on node3 do not reach one another; tcp: ");
        assert!(report.contains(&named), "{report}");
    }
    let row = report.lines().find(|line| line.trim_start().starts_with("0 node0")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().skip(2).collect();
    assert!(cells[1..3].iter().all(|cell| cell.parse::<f64>().is_ok()), "the others were measured: {report}");
}
