//! The promises of the transport interface, kept over real sockets: with every number of lanes that has rules
//! of its own, over IPv4 and over IPv6. Neighbours: the kit in `ringworld_transport::conformance`;
//! `sockets.rs` has what is particular to TCP.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};

use ringworld_auth::Secret;
use ringworld_transport::Transport;
use ringworld_transport::conformance::Fabric;
use ringworld_transport_tcp::{Config, Tcp};

static JOBS: AtomicU64 = AtomicU64::new(1);

struct Sockets {
    ip: IpAddr,
    lanes: usize,
    spread: bool,
    encrypt: bool,
}

impl Fabric for Sockets {
    fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>> {
        let job = JOBS.fetch_add(1, Ordering::Relaxed);
        let mut world: Vec<Tcp> = (0..size)
            .map(|rank| {
                let mut config = Config::new(rank, size, job, vec![self.ip]);
                config.lanes = self.lanes;
                config.spread = self.spread;
                if self.encrypt {
                    config.secret = Secret::new(b"a secret of the job".to_vec());
                    config.encrypt = true;
                }
                Tcp::bind(config).unwrap()
            })
            .collect();
        let addresses: Vec<_> = world.iter().map(|tcp| tcp.address()).collect();
        for (rank, tcp) in world.iter_mut().enumerate() {
            for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
                tcp.connect(peer, address).unwrap();
            }
        }
        world.into_iter().map(|tcp| Box::new(tcp) as Box<dyn Transport>).collect()
    }
}

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

mod two_lanes {
    ringworld_transport::conformance_tests!(super::Sockets {
        ip: super::V4,
        lanes: 2,
        spread: false,
        encrypt: false
    });
}

mod one_lane_ipv6 {
    ringworld_transport::conformance_tests!(super::Sockets {
        ip: super::V6,
        lanes: 1,
        spread: false,
        encrypt: false
    });
}

mod four_lanes {
    ringworld_transport::conformance_tests!(super::Sockets {
        ip: super::V4,
        lanes: 4,
        spread: false,
        encrypt: false
    });
}

mod two_spread_lanes {
    ringworld_transport::conformance_tests!(super::Sockets {
        ip: super::V4,
        lanes: 2,
        spread: true,
        encrypt: false
    });
}

mod two_encrypted_lanes {
    ringworld_transport::conformance_tests!(super::Sockets {
        ip: super::V4,
        lanes: 2,
        spread: false,
        encrypt: true
    });
}

mod one_encrypted_lane {
    ringworld_transport::conformance_tests!(super::Sockets {
        ip: super::V4,
        lanes: 1,
        spread: false,
        encrypt: true
    });
}
