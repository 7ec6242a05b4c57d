//! What a simulated wire is like: every number that shapes it, in one place.

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
    /// the choice to the seed: for those who want to foretell the time. Default `false`.
    pub in_order: bool,
    /// A poll that finds nothing moves the clock to the next event: for transports that are driven by
    /// threads, where nobody calls [`Fabric::advance`](crate::Fabric::advance). Default `false`.
    pub auto_advance: bool,
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
        }
    }
}

impl Config {
    /// How long `bytes` occupy a port, in nanoseconds.
    pub(crate) fn occupancy(&self, bytes: usize) -> u64 {
        match self.bytes_per_us {
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
        assert_eq!(config.occupancy(1_000_000), 1_000_000);
        assert_eq!(Config { bytes_per_us: 0, ..config }.occupancy(usize::MAX), 0);
    }
}
