//! Hosts made of network namespaces: each with its own interfaces, addresses, routes and name.
//!
//! A [`Network`] has one switch (a namespace with a bridge for every segment) and hosts whose interfaces
//! are veth pairs plugged into it. Dropping it deletes all namespaces, and with them every interface; names
//! contain this process's id and a counter, so networks of parallel tests never meet.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::job::clean;
use crate::process::Process;

/// Why this machine cannot make networks, if so.
#[must_use]
pub fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("network namespaces need root".to_owned());
    }
    let works = |arguments: &[&str]| Command::new("ip").args(arguments).output().map(|o| o.status.success());
    let name = format!("rw{}try", std::process::id());
    let outcome = match works(&["netns", "add", &name]) {
        Err(error) => Some(format!("the command `ip` (package iproute2) cannot be run: {error}")),
        Ok(false) => Some("`ip netns add` is not permitted here".to_owned()),
        Ok(true) => {
            let pair = ["-n", &name, "link", "add", "a0", "type", "veth", "peer", "name", "b0"];
            let bridge = ["-n", &name, "link", "add", "br0", "type", "bridge"];
            let all = works(&pair).unwrap_or(false) && works(&bridge).unwrap_or(false);
            (!all).then(|| "the kernel has no veth pairs or bridges".to_owned())
        }
    };
    let _ = works(&["netns", "del", &name]);
    outcome
}

/// Why this machine cannot limit the rate of an interface, if so. To be asked after [`missing`].
#[must_use]
pub fn cannot_limit() -> Option<String> {
    let network = Network::new(1, 1);
    network.plug(0, "eth0", 0, "10.79.0.1/24");
    let namespace = &network.hosts[0].namespace;
    #[rustfmt::skip]
    let tried = Command::new("ip").args(["netns", "exec", namespace, "tc", "qdisc", "add", "dev", "eth0", "root",
        "tbf", "rate", "1mbit", "burst", "64kb", "latency", "50ms"]).output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("`tc` has no tbf: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Some(format!("the command `tc` (package iproute2) cannot be run: {error}")),
    }
}

/// Runs `ip`; a failure is a failure of the test's set-up.
fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().expect("`ip` can be run");
    assert!(
        output.status.success(),
        "ip {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A switch with several segments, and hosts.
#[derive(Debug)]
pub struct Network {
    prefix: String,
    hosts: Vec<Host>,
}

/// One namespace.
#[derive(Debug)]
pub struct Host {
    namespace: String,
    /// The host's name, which its processes see as theirs.
    pub name: String,
}

impl Network {
    /// A network of `hosts` hosts, called `node0`, `node1`, …, that have only a loopback interface; the
    /// switch has `segments` segments.
    ///
    /// # Panics
    ///
    /// When it cannot be made; ask [`missing`] first.
    #[must_use]
    pub fn new(hosts: usize, segments: usize) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("rw{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // Complete before anything is made, so that a failure on the way leaves nothing behind.
        let network = Self {
            hosts: (0..hosts)
                .map(|i| Host { namespace: format!("{prefix}h{i}"), name: format!("node{i}") })
                .collect(),
            prefix,
        };
        let switch = network.switch();
        ip(&["netns", "add", &switch]);
        for segment in 0..segments {
            let bridge = format!("br{segment}");
            ip(&["-n", &switch, "link", "add", &bridge, "type", "bridge"]);
            ip(&["-n", &switch, "link", "set", &bridge, "up"]);
        }
        for host in &network.hosts {
            ip(&["netns", "add", &host.namespace]);
            ip(&["-n", &host.namespace, "link", "set", "lo", "up"]);
        }
        network
    }

    fn switch(&self) -> String {
        format!("{}sw", self.prefix)
    }

    /// A host.
    #[must_use]
    pub fn host(&self, index: usize) -> &Host {
        &self.hosts[index]
    }

    /// Gives a host an interface, plugged into a segment of the switch, with an address like `10.0.0.1/24`.
    pub fn plug(&self, host: usize, interface: &str, segment: usize, address: &str) {
        let (switch, end) = (self.switch(), format!("p{host}{interface}"));
        let namespace = &self.hosts[host].namespace;
        #[rustfmt::skip]
        ip(&["-n", &switch, "link", "add", &end, "type", "veth", "peer", "name", interface, "netns", namespace]);
        ip(&["-n", &switch, "link", "set", &end, "master", &format!("br{segment}"), "up"]);
        self.hosts[host].raise(interface, address);
    }

    /// Cuts the cable of a host's interface: it stays up and has its address, but nothing passes any more.
    pub fn cut(&self, host: usize, interface: &str) {
        // Taken off the bridge, not down: the host itself sees no change, like with a switch that fails.
        ip(&["-n", &self.switch(), "link", "set", &format!("p{host}{interface}"), "nomaster"]);
    }

    /// Plugs the cable in again that [`cut`](Self::cut) has cut, into a segment of the switch.
    pub fn mend(&self, host: usize, interface: &str, segment: usize) {
        let bridge = format!("br{segment}");
        ip(&["-n", &self.switch(), "link", "set", &format!("p{host}{interface}"), "master", &bridge]);
    }

    /// From here on nothing that is sent to a host alone arrives by this interface, like with a firewall that drops it
    /// without a word; what the host sends does, and so does what is meant for all, such as who has which address.
    /// There must be another host with an interface of this name on the segment.
    pub fn deafen(&self, host: usize, interface: &str) {
        let file = format!("/sys/class/net/{interface}/address");
        let address = ip(&["netns", "exec", &self.hosts[host].namespace, "cat", &file]);
        // The switch takes another host for the owner of the address, whatever it sees.
        let elsewhere = format!("p{}{interface}", if host == 0 { 1 } else { 0 });
        #[rustfmt::skip]
        let arguments = ["netns", "exec", &self.switch(), "bridge", "fdb", "replace", address.trim(),
            "dev", &elsewhere, "master", "static", "sticky"];
        // The kernel moves the entry before it marks it as sticky: a packet of the owner that comes between the two
        // moves it back (seen once in a thousand times). The second time it is sticky already.
        for _ in 0..2 {
            ip(&arguments);
        }
        let entries = ip(&["netns", "exec", &self.switch(), "bridge", "fdb", "show", "dev", &elsewhere]);
        let deaf = entries.lines().any(|line| line.starts_with(address.trim()) && line.contains("sticky"));
        assert!(deaf, "the switch still sends to {interface} of host {host}: {entries}");
    }

    /// From here on the switch drops what is longer than `mtu` bytes on its way to this interface, without a word.
    pub fn narrow(&self, host: usize, interface: &str, mtu: usize) {
        for host in &self.hosts {
            // Else a host hands several packets over as one, which may be as long as it likes.
            ip(&["-n", &host.namespace, "link", "set", interface, "gso_max_segs", "1"]);
        }
        ip(&["-n", &self.switch(), "link", "set", &format!("p{host}{interface}"), "mtu", &mtu.to_string()]);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in self.hosts.iter().map(|host| host.namespace.clone()).chain([self.switch()]) {
            let _ = Command::new("ip").args(["netns", "del", &name]).output();
        }
    }
}

impl Host {
    /// Gives the host an interface that leads nowhere, like that of a container engine: the inner end of a
    /// pair, up and with an address.
    pub fn stub(&self, interface: &str, address: &str) {
        let peer = format!("veth{interface}");
        #[rustfmt::skip]
        ip(&["-n", &self.namespace, "link", "add", interface, "type", "veth", "peer", "name", &peer]);
        ip(&["-n", &self.namespace, "link", "set", &peer, "up"]);
        self.raise(interface, address);
    }

    /// From here on nothing of this host reaches that address, like with a firewall between the two.
    pub fn forbid(&self, address: &str) {
        ip(&["-n", &self.namespace, "route", "add", "blackhole", address]);
    }

    /// From here on what this host sends to that address by `eth0` is lost, and nothing says so.
    pub fn lose(&self, address: &str) {
        let nobody = ["lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent"];
        ip(&[&["-n", &self.namespace, "neigh", "replace", address], &nobody[..]].concat());
    }

    /// Limits what the host sends by an interface, with a token bucket: `rate` is one of tc(8), like `50mbit`.
    pub fn limit(&self, interface: &str, rate: &str) {
        #[rustfmt::skip]
        let arguments = ["netns", "exec", &self.namespace, "tc", "qdisc", "replace", "dev", interface, "root",
            "tbf", "rate", rate, "burst", "64kb", "latency", "50ms"];
        ip(&arguments);
    }

    /// Adds a route, as `ip route add` takes it: `10.0.0.2 via 10.1.0.2`, or `blackhole 10.0.0.2`.
    pub fn route(&self, route: &str) {
        let words: Vec<&str> = route.split(' ').collect();
        ip(&[&["-n", &self.namespace, "route", "add"], &words[..]].concat());
    }

    fn raise(&self, interface: &str, address: &str) {
        let mut add = vec!["-n", &self.namespace, "addr", "add", address, "dev", interface];
        if address.contains(':') {
            // Usable at once, without asking the neighbours whether they have it.
            add.push("nodad");
        }
        ip(&add);
        ip(&["-n", &self.namespace, "link", "set", interface, "up"]);
    }

    /// The namespace, as `ip netns` calls it.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The command `program`, run on this host and under its name.
    #[must_use]
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        // Each of these becomes the next, so the process started is the program in the end.
        const NAMED: &str = r#"echo "$1" > /proc/sys/kernel/hostname; shift; exec "$@""#;
        let mut command = clean("ip");
        command.args([
            "netns",
            "exec",
            &self.namespace,
            "unshare",
            "--uts",
            "sh",
            "-c",
            NAMED,
            "sh",
            &self.name,
        ]);
        command.arg(program.as_ref());
        command
    }

    /// Starts `program` on this host.
    #[must_use]
    pub fn start(&self, program: &str, variables: &[(&str, &str)], arguments: &[&str]) -> Process {
        let mut command = self.command(program);
        command.envs(variables.iter().copied()).args(arguments);
        Process::start(format!("{} {variables:?} {arguments:?}", self.name), command)
    }

    /// Bytes that an interface has sent and received.
    #[must_use]
    pub fn traffic(&self, interface: &str) -> u64 {
        ["tx_bytes", "rx_bytes"]
            .iter()
            .map(|counter| {
                let file = format!("/sys/class/net/{interface}/statistics/{counter}");
                ip(&["netns", "exec", &self.namespace, "cat", &file])
                    .trim()
                    .parse::<u64>()
                    .expect("a counter")
            })
            .sum()
    }
}
