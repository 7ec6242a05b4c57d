//! The verbs transport keeps every promise of the transport contract, on a device of this host: with receive slots
//! for each peer, with a receive queue that all share, and with extra queue pairs for puts.
//!
//! Needs a device: run it with `tests/soft-roce` in a virtual machine, or where there is one. Neighbours: `support`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they skip"
)]

mod support;

use std::time::Duration;

use ringworld_transport::{Transport, conformance::Fabric};
use ringworld_transport_ibverbs::Config;

/// Transports of one process on one device.
struct Device(fn(&mut Config));

impl Fabric for Device {
    fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>> {
        let world = support::world(size, self.0);
        world.into_iter().map(|transport| Box::new(transport) as Box<dyn Transport>).collect()
    }

    fn patience(&self) -> Duration {
        // Soft-RoCE in an emulated machine moves 13 MB/s.
        Duration::from_secs(120)
    }
}

mod own_slots {
    use super::*;
    ringworld_transport::conformance_tests!(Device(|_| {}));
}

mod shared_slots {
    use super::*;
    ringworld_transport::conformance_tests!(Device(|config| config.shared_above = 0));
}

mod two_queue_pairs {
    use super::*;
    ringworld_transport::conformance_tests!(Device(|config| config.queue_pairs = 2));
}

mod three_queue_pairs_and_shared_slots {
    use super::*;
    ringworld_transport::conformance_tests!(Device(|config| {
        config.queue_pairs = 3;
        config.shared_above = 0;
    }));
}
