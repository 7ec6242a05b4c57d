//! Over which networks the lanes to one peer run.
//!
//! Pure: the only question to the system, which of this host's addresses leads to a remote one, is an
//! argument. Invariant: the first route is where lane 0 reached the peer, and no two routes leave this host
//! by the same address, so that lanes on different routes use different interfaces. Neighbours: `connect.rs`
//! dials the lanes, `listener.rs` asks the system.

use std::net::{IpAddr, SocketAddr};

/// Where further lanes may go, in turn: first `reached`, then those of the peer's other addresses, best
/// first, that lead there by a network of their own.
///
/// Only addresses of the family of `reached` count, since the addresses of both families of one interface
/// would pass for two networks. One that is this host's own as well, as every container engine's is, leads
/// to this host and not to the peer.
pub(crate) fn routes(
    reached: SocketAddr,
    addresses: &[SocketAddr],
    source: impl Fn(IpAddr) -> Option<IpAddr>,
) -> Vec<SocketAddr> {
    let Some(first) = source(reached.ip()) else { return vec![reached] };
    let mut sources = vec![first];
    let mut routes = vec![reached];
    for &address in addresses {
        if address == reached || address.is_ipv4() != reached.is_ipv4() {
            continue;
        }
        match source(address.ip()) {
            Some(source) if source != address.ip() && !sources.contains(&source) => {
                sources.push(source);
                routes.push(address);
            }
            _ => {}
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// A host with 10.0.0.1/24, 10.0.1.1/24, fd00::1, 172.17.0.1 and a default route by the first.
    fn source(remote: IpAddr) -> Option<IpAddr> {
        let source = match remote.to_string().as_str() {
            "172.17.0.1" => "172.17.0.1",
            v6 if v6.contains(':') => "fd00::1",
            other if other.starts_with("10.0.1.") => "10.0.1.1",
            "192.0.2.9" => return None,
            _ => "10.0.0.1",
        };
        source.parse().ok()
    }

    #[test]
    fn every_network_that_both_hosts_are_on_is_a_route_once_and_the_one_in_use_the_first() {
        let peer = addresses(&["10.0.0.2:5", "172.17.0.1:6", "10.9.9.9:7", "[fd00::2]:8", "10.0.1.2:9"]);
        assert_eq!(routes(peer[0], &peer, source), addresses(&["10.0.0.2:5", "10.0.1.2:9"]));
        assert_eq!(routes(peer[4], &peer, source), addresses(&["10.0.1.2:9", "10.0.0.2:5"]));
        assert_eq!(routes(peer[3], &peer, source), addresses(&["[fd00::2]:8"]));
    }

    #[test]
    fn a_peer_on_this_host_or_out_of_reach_has_the_one_route_that_is_in_use() {
        let peer = addresses(&["172.17.0.1:6", "192.0.2.9:5"]);
        for reached in peer.clone() {
            assert_eq!(routes(reached, &peer, source), [reached]);
        }
    }
}
