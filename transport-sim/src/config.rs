//! What a simulated wire is like: every number that shapes it, in one place.

use ringworld_transport::Rank;

/// The properties of a [`Fabric`](crate::Fabric). Every default suits tests; set what a test is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Decides every choice that the contract leaves open. Default 0.
    pub seed: u64,
    /// Time from one port to another, in nanoseconds. Default 5 000.
    pub latency_ns: u64,
    /// Bandwidth of each port, in bytes per microsecond; 0 means without limit. Default 10 000.
    pub bytes_per_us: u64,
    /// Each fragment takes up to this much longer, in nanoseconds, evenly spread. Default 0.
    pub jitter_ns: u64,
    /// Time to open a connection, paid by the first operation between two ranks. Default 15 000.
    pub connect_ns: u64,
    /// How many operations of one rank to another may be accepted and not yet taken by the receiver's
    /// poll; beyond that `post` answers `Busy`. Taken as at least 1. Default 64.
    pub max_in_flight: usize,
    /// Payloads travel in fragments of this many bytes, which interleave; 0 means in one. Default 65 536.
    pub fragment: usize,
    /// Payloads up to this long are copied by `post`, which then answers `Complete`. Default 64, so that
    /// both answers are met.
    pub inline: usize,
    /// The longest payload of a message. Default without limit.
    pub max_message: usize,
    /// A sending port takes operations in the order in which they were posted, each to its end, instead of leaving
    /// the choice to the seed, and so does the wire that a host's ranks share: for those who want to foretell the time.
    /// Payloads are then read when they are posted. Default `false`.
    pub in_order: bool,
    /// A poll that finds nothing moves the clock to the next event: for transports that are driven by
    /// threads, where nobody calls [`Fabric::advance`](crate::Fabric::advance). Default `false`.
    pub auto_advance: bool,
    /// Which ranks share a host, and what these reach one another by. Default `None`: each has one of its own.
    pub inside: Option<Inside>,
}

/// Hosts of several ranks. Among themselves the ranks of a host have ports of their own; what goes to another host, or
/// comes from there, also takes the one wire of the host, in each direction, for its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The host of each rank.
    pub host: Vec<usize>,
    /// Time from one port to another of the same host, in nanoseconds.
    pub latency_ns: u64,
    /// Bandwidth of each port to the same host, in bytes per microsecond; 0 means without limit.
    pub bytes_per_us: u64,
}

/// Which of a rank's ports: that to the network, or that to its own host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Network,
    Inside,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            latency_ns: 5_000,
            bytes_per_us: 10_000,
            jitter_ns: 0,
            connect_ns: 15_000,
            max_in_flight: 64,
            fragment: 65_536,
            inline: 64,
            max_message: usize::MAX,
            in_order: false,
            auto_advance: false,
            inside: None,
        }
    }
}

impl Config {
    /// The ports by which two ranks reach one another.
    pub(crate) fn port(&self, rank: Rank, peer: Rank) -> Port {
        match &self.inside {
            Some(inside) if inside.host[rank] == inside.host[peer] => Port::Inside,
            _ => Port::Network,
        }
    }

    /// How many hosts have a wire that ranks share.
    pub(crate) fn hosts(&self) -> usize {
        let hosts = self.inside.iter().flat_map(|inside| &inside.host);
        hosts.max().map_or(0, |last| last + 1)
    }

    /// Time from such a port to another, in nanoseconds.
    pub(crate) fn latency(&self, port: Port) -> u64 {
        match (port, &self.inside) {
            (Port::Inside, Some(inside)) => inside.latency_ns,
            _ => self.latency_ns,
        }
    }

    /// How long `bytes` occupy such a port, in nanoseconds.
    pub(crate) fn occupancy(&self, port: Port, bytes: usize) -> u64 {
        let speed = match (port, &self.inside) {
            (Port::Inside, Some(inside)) => inside.bytes_per_us,
            _ => self.bytes_per_us,
        };
        match speed {
            0 => 0,
            speed => (bytes as u64).saturating_mul(1_000) / speed,
        }
    }

    /// How many fragments a payload of `length` bytes travels in; an empty one still needs a fragment.
    pub(crate) fn fragments(&self, length: usize) -> usize {
        if self.fragment == 0 { 1 } else { length.div_ceil(self.fragment).max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_payload_travels_in_at_least_one_fragment() {
        let config = Config { fragment: 10, ..Config::default() };
        assert_eq!([0, 1, 10, 11, 20].map(|length| config.fragments(length)), [1, 1, 1, 2, 2]);
        assert_eq!(Config { fragment: 0, ..config }.fragments(1 << 30), 1);
    }

    #[test]
    fn bandwidth_is_bytes_per_microsecond() {
        let config = Config { bytes_per_us: 1_000, ..Config::default() };
        assert_eq!(config.occupancy(Port::Network, 1_000_000), 1_000_000);
        assert_eq!(Config { bytes_per_us: 0, ..config }.occupancy(Port::Network, usize::MAX), 0);
    }

    #[test]
    fn ranks_of_one_host_reach_one_another_by_other_ports() {
        let inside = Inside { host: vec![0, 1, 0], latency_ns: 300, bytes_per_us: 2_000 };
        let config = Config { bytes_per_us: 1_000, inside: Some(inside), ..Config::default() };
        assert_eq!(
            [(0, 2), (2, 0), (0, 1)].map(|(a, b)| config.port(a, b)),
            [Port::Inside, Port::Inside, Port::Network]
        );
        let both = [Port::Network, Port::Inside];
        assert_eq!(both.map(|port| config.latency(port)), [5_000, 300]);
        assert_eq!(both.map(|port| config.occupancy(port, 1_000)), [1_000, 500]);
    }
}
