//! The promises of the transport interface, kept in shared memory, with a secret and without one.

use std::sync::atomic::{AtomicU64, Ordering};

use ringworld_auth::Secret;
use ringworld_transport::Transport;
use ringworld_transport::conformance::Fabric;
use ringworld_transport_shm::{Config, Shm};

static JOBS: AtomicU64 = AtomicU64::new(1);

struct Memory {
    secret: bool,
}

impl Fabric for Memory {
    fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>> {
        let job = JOBS.fetch_add(1, Ordering::Relaxed);
        let mut world: Vec<Shm> = (0..size)
            .map(|rank| {
                let mut config = Config::new(rank, size, job);
                if self.secret {
                    config.secret = Secret::new(b"a secret of the job".to_vec());
                }
                Shm::bind(config).unwrap()
            })
            .collect();
        let addresses: Vec<_> = world.iter().map(|shm| shm.address()).collect();
        for (rank, shm) in world.iter_mut().enumerate() {
            for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
                shm.connect(peer, address).unwrap();
            }
        }
        world.into_iter().map(|shm| Box::new(shm) as Box<dyn Transport>).collect()
    }
}

mod without_a_secret {
    ringworld_transport::conformance_tests!(super::Memory { secret: false });
}

mod with_a_secret {
    ringworld_transport::conformance_tests!(super::Memory { secret: true });
}
