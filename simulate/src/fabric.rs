//! The network and the processors: every number that shapes the virtual time, in one place.
//!
//! [`crate`] says what these numbers mean for a message; [`crate::engine`] applies them.

use ringworld_collectives::Placement;
use ringworld_collectives::cost::Model;

use crate::Time;

/// A uniform network of equal hosts, one rank on each unless `inside` says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    /// From one port to another.
    pub latency: Time,
    /// How long a message occupies each port, apart from its bytes.
    pub overhead: Time,
    /// Bytes per second of each port, in each direction; `None`: without limit.
    pub bandwidth: Option<u64>,
    /// Bytes of result per second of a reduction; `None`: reductions take no time.
    pub reduce: Option<u64>,
    /// Bytes per second of a copy; `None`: copies take no time.
    pub copy: Option<u64>,
    /// Messages up to this many bytes leave at once; longer ones ask first, and wait until the receiver has
    /// answered.
    pub eager: u64,
    /// Which ranks share a host, and so its port to the network, and what they reach one another by.
    pub inside: Option<Inside>,
}

/// What the ranks of one host reach one another by: each by a port of its own, beside that to the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Which ranks share one.
    pub placement: Placement,
    /// From one port to another.
    pub latency: Time,
    /// How long a message occupies each port, apart from its bytes.
    pub overhead: Time,
    /// Bytes per second of each port, in each direction; `None`: without limit.
    pub bandwidth: Option<u64>,
}

impl Inside {
    /// Memory that ranks share: 300 ns, 200 ns, 10 GB/s.
    ///
    /// ```
    /// use ringworld_collectives::Placement;
    /// use ringworld_simulate::{Fabric, Inside};
    /// let fabric = Fabric { inside: Some(Inside::shared_memory(Placement::regular(8, 8))), ..Fabric::default() };
    /// assert!(fabric.inside.is_some_and(|inside| inside.latency < fabric.latency));
    /// ```
    #[must_use]
    pub fn shared_memory(placement: Placement) -> Self {
        let (latency, overhead) = (Time::from_nanos(300), Time::from_nanos(200));
        Self { placement, latency, overhead, bandwidth: Some(10_000_000_000) }
    }
}

impl Default for Fabric {
    /// A plain data centre: 20 us, 1 us, 10 Gbit/s, 10 GB/s for reductions and copies, 256 KiB.
    fn default() -> Self {
        Self {
            latency: Time::from_micros(20),
            overhead: Time::from_micros(1),
            bandwidth: Some(1_250_000_000),
            reduce: Some(10_000_000_000),
            copy: Some(10_000_000_000),
            eager: 256 << 10,
            inside: None,
        }
    }
}

impl Fabric {
    /// How long a message of `bytes` occupies a port.
    #[must_use]
    pub fn occupancy(&self, bytes: u64) -> Time {
        self.overhead + Time::of_bytes(bytes, self.bandwidth)
    }

    /// How long a message of `bytes` takes from one idle rank to another: `alpha + beta bytes` with
    /// `alpha = latency + overhead`; three times alpha when it has to ask first.
    ///
    /// ```
    /// use ringworld_simulate::{Fabric, Time};
    /// let fabric = Fabric { overhead: Time::ZERO, ..Fabric::default() };
    /// assert_eq!(fabric.message(1_250), Time::from_micros(21));
    /// ```
    #[must_use]
    pub fn message(&self, bytes: u64) -> Time {
        let control = self.latency + self.overhead;
        let asking = if bytes > self.eager { control * 2 } else { Time::ZERO };
        asking + self.latency + self.occupancy(bytes)
    }

    /// The same network as the formulas of [`ringworld_collectives::cost`] see it: `alpha` is latency and
    /// overhead; asking, copies and the order of what waits are not in it. On one host alone nothing goes between
    /// hosts.
    ///
    /// ```
    /// use ringworld_collectives::Placement;
    /// use ringworld_simulate::{Fabric, Inside};
    /// let on = |hosts| {
    ///     let inside = Some(Inside::shared_memory(Placement::regular(hosts, 8)));
    ///     Fabric { inside, ..Fabric::default() }.model()
    /// };
    /// assert_eq!((on(2).alpha, on(1).alpha), (21e-6, 500e-9));
    /// ```
    #[must_use]
    pub fn model(&self) -> Model {
        let per_byte = |rate: Option<u64>| rate.map_or(0.0, |rate| 1.0 / rate as f64);
        let between = ((self.latency + self.overhead).seconds(), per_byte(self.bandwidth));
        let inside =
            |inside: &Inside| ((inside.latency + inside.overhead).seconds(), per_byte(inside.bandwidth));
        let alone = self.inside.as_ref().filter(|inside| inside.placement.hosts() == 1);
        let (alpha, beta) = alone.map_or(between, inside);
        Model { alpha, beta, gamma: per_byte(self.reduce), inside: self.inside.as_ref().map(inside) }
    }

    /// How long reducing to a result of `bytes` takes.
    #[must_use]
    pub fn reduction(&self, bytes: u64) -> Time {
        Time::of_bytes(bytes, self.reduce)
    }

    /// How long copying `bytes` takes.
    #[must_use]
    pub fn copying(&self, bytes: u64) -> Time {
        Time::of_bytes(bytes, self.copy)
    }
}
