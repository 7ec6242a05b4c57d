//! `ringworld run --hosts` over hosts that are network namespaces: which address of the launcher's host they are given,
//! and worlds that form over it.
//!
//! What happens to jobs whose hosts or connections are lost is tested without networks, in
//! `launcher/tests/it/hosts.rs`.

use ringworld_tests::host::Network;
use ringworld_tests::process::Process;

use super::namespaces::{Variables, possible, usual};
use super::programs::{LAUNCH, PROBE};

/// A login on a host, as ssh would give it: a namespace, a name of its own, and no variables.
const RSH: &str = "ip netns exec {host} unshare --uts env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
                   sh -c 'echo {host} >/proc/sys/kernel/hostname; exec \"$@\"' sh";

/// Starts `probe meet` on two hosts, five ranks in all, from host `from`.
fn launch(network: &Network, from: usize, on: [usize; 2], variables: Variables<'_>) -> Process {
    let [first, second] = on.map(|host| network.host(host).namespace());
    let hosts = format!("{first}:2,{second}:3");
    let probe = [PROBE, "meet", "--elements", "100000"];
    let arguments = [&["run", "--hosts", &hosts, "--rsh", RSH][..], &probe].concat();
    network.host(from).start(LAUNCH, variables, &arguments)
}

/// All ranks have met, on the hosts that they belong to.
fn met(launcher: &mut Process, network: &Network, on: [usize; 2]) {
    launcher.succeeds();
    let formed = launcher.events("formed");
    assert_eq!(formed.len(), 5, "{}", launcher.transcript());
    for line in formed {
        let host = network.host(on[usize::from(line.rank() >= 2)]).namespace();
        assert_eq!((line.value("host"), line.number("size")), (Some(host), 5), "{line:?}");
    }
}

#[test]
fn hosts_are_given_an_address_that_leads_to_the_launcher() {
    if !possible("hosts_are_given_an_address_that_leads_to_the_launcher") {
        return;
    }
    // All have a docker0 and a priv0 with one address, which leads nowhere; the launcher may be one of them, or none.
    let network = usual(3);
    for from in [0, 2] {
        let mut launcher = launch(&network, from, [0, 1], &[]);
        met(&mut launcher, &network, [0, 1]);
    }
    for host in 0..2 {
        assert!(network.host(host).traffic("eth0") > 500_000);
        for stub in ["docker0", "priv0"] {
            let bytes = network.host(host).traffic(stub);
            assert!(bytes < 20_000, "{bytes} bytes went to {stub}, which leads nowhere");
        }
    }
}

#[test]
fn the_network_can_be_chosen() {
    if !possible("the_network_can_be_chosen") {
        return;
    }
    let network = usual(2);
    let before = network.host(1).traffic("eth0");
    let mut launcher = launch(&network, 0, [0, 1], &[("RINGWORLD_IF_INCLUDE", "eth1")]);
    met(&mut launcher, &network, [0, 1]);
    assert!(network.host(1).traffic("eth1") > 500_000);
    let bytes = network.host(1).traffic("eth0") - before;
    assert!(bytes < 20_000, "{bytes} bytes went over eth0");
}

#[test]
fn a_launcher_that_no_host_can_reach_is_told() {
    if !possible("a_launcher_that_no_host_can_reach_is_told") {
        return;
    }
    let network = usual(3);
    network.cut(2, "eth0");
    network.cut(2, "eth1");
    let short = [("RINGWORLD_TIMEOUT", "6s"), ("RINGWORLD_IF_INCLUDE", "eth0")];
    let mut launcher = launch(&network, 2, [0, 1], &short);
    let line = launcher.wait_text("the launcher's rendezvous cannot be reached from here").text;
    for part in ["10.77.0.3", "nobody answers", "RINGWORLD_IF_INCLUDE", "--master"] {
        assert!(line.contains(part), "no {part:?} in {line:?}");
    }
    assert_ne!(launcher.wait_end().code, Some(0));
}
