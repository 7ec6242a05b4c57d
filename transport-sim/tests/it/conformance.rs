//! The conformance kit on simulated wires: plain, tight and shaky, by several seeds.

use ringworld_transport::Transport;
use ringworld_transport::conformance::{self, PROMISES};
use ringworld_transport_sim::{Config, Fabric};

/// Makes worlds of one configuration; the clock of the latest is moved.
struct Simulated {
    config: Config,
    fabric: Option<Fabric>,
}

impl Simulated {
    fn new(config: Config) -> Self {
        Self { config, fabric: None }
    }
}

impl conformance::Fabric for Simulated {
    fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>> {
        let mut fabric = Fabric::new(size, self.config.clone());
        let sims = fabric.connected_transports();
        self.fabric = Some(fabric);
        sims.into_iter().map(|sim| Box::new(sim) as Box<dyn Transport>).collect()
    }

    fn advance(&mut self) {
        if let Some(fabric) = &self.fabric {
            fabric.advance();
        }
    }
}

/// Room for one operation at a time, fragments of odd length, jitter far above the latency.
fn shaky(seed: u64) -> Config {
    Config {
        seed,
        latency_ns: 1_000,
        bytes_per_us: 1_000,
        jitter_ns: 500_000,
        max_in_flight: 1,
        fragment: 8_191,
        inline: 0,
        ..Config::default()
    }
}

mod plain {
    use super::*;
    ringworld_transport::conformance_tests!(Simulated::new(Config::default()));
}

mod tight_and_shaky {
    use super::*;
    ringworld_transport::conformance_tests!(Simulated::new(shaky(1)));
}

mod many_in_flight_and_shaky {
    use super::*;
    ringworld_transport::conformance_tests!(Simulated::new(Config {
        max_in_flight: 1_000,
        fragment: 1_000,
        ..shaky(2)
    }));
}

mod without_any_delay {
    use super::*;
    ringworld_transport::conformance_tests!(Simulated::new(Config {
        latency_ns: 0,
        bytes_per_us: 0,
        connect_ns: 0,
        fragment: 0,
        ..Config::default()
    }));
}

mod clock_moved_by_polls {
    use super::*;
    ringworld_transport::conformance_tests!(Simulated::new(Config {
        auto_advance: true,
        jitter_ns: 3_000,
        max_message: 2 << 20,
        inline: 4_096,
        ..Config::default()
    }));
}

#[test]
fn every_promise_is_kept_for_many_seeds() {
    for seed in 100..104 {
        for (promise, check) in PROMISES {
            println!("seed {seed}: {promise}");
            check(&mut Simulated::new(Config {
                max_in_flight: 1 + seed as usize % 5,
                jitter_ns: 20_000 * (seed % 3),
                ..shaky(seed)
            }));
        }
    }
}
