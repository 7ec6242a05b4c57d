//! What the tests on a device share: worlds of transports on one device, and the memory that they lend.

use std::net::IpAddr;

use ringworld_transport::Transport;
use ringworld_transport_ibverbs::{Config, Ibverbs};

/// The address of the device's network interface (`RINGWORLD_TEST_IP`), which the virtual machine's is by default.
pub(crate) fn ip() -> IpAddr {
    std::env::var("RINGWORLD_TEST_IP").map_or(IpAddr::from([10, 0, 0, 1]), |ip| ip.parse().unwrap())
}

/// Settings of tests: quick to give up, so that failures do not take long.
pub(crate) fn config(rank: usize, size: usize) -> Config {
    let mut config = Config::new(rank, size, 1, vec![ip()]);
    config.timeout = 14;
    config
}

/// `size` transports that know each other's addresses.
pub(crate) fn world(size: usize, adjust: fn(&mut Config)) -> Vec<Ibverbs> {
    let open = |rank| {
        let mut config = config(rank, size);
        adjust(&mut config);
        Ibverbs::open(config).unwrap()
    };
    let mut world: Vec<Ibverbs> = (0..size).map(open).collect();
    let addresses: Vec<_> = world.iter().map(Transport::address).collect();
    for (rank, transport) in world.iter_mut().enumerate() {
        for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
            transport.connect(peer, address).unwrap();
        }
    }
    world
}
