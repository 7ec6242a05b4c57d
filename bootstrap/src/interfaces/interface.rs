//! One address of one network interface.

use std::net::IpAddr;

use ipnet::IpNet;

/// One address of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name, such as `eth0`.
    pub name: String,
    /// The address.
    pub addr: IpAddr,
    /// Length of the network prefix.
    pub prefix: u8,
    /// Only reaches this host.
    pub loopback: bool,
    /// Not known to be down.
    pub up: bool,
}

impl Interface {
    /// Whether an address is on this interface's network.
    #[must_use]
    pub fn reaches(&self, address: IpAddr) -> bool {
        IpNet::new(self.addr, self.prefix).is_ok_and(|network| network.contains(&address))
    }
}

impl std::fmt::Display for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.name, self.addr, self.prefix)
    }
}
