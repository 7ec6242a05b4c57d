//! Where a process is reached by those who agree with it on a generation, as bytes in [`Node::place`].

use std::net::{IpAddr, SocketAddr};

use ringworld_membership::{Id, Node};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::host::{host_identity, host_name};
use crate::wire::Member;

/// The name under which a member's node stands among the addresses of its transports.
pub(super) const NAME: &str = "elastic";

/// The nodes of all members of a world that has formed.
///
/// # Errors
///
/// When one is not elastic.
pub(super) fn nodes(members: &[Member]) -> Result<Vec<Node>, Error> {
    let node = |(rank, member): (usize, &Member)| {
        let node = member.addresses.iter().find(|(name, _)| name == NAME);
        node.and_then(|(_, bytes)| postcard::from_bytes::<Node>(bytes).ok()).ok_or_else(|| {
            Error::Incomplete(format!(
                "this rank is elastic (RINGWORLD_ELASTIC), and rank {rank} on {} is not; set it alike for all",
                member.host
            ))
        })
    };
    members.iter().enumerate().map(node).collect()
}

/// Where a process is reached, and what it is for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) host: String,
    pub(super) host_id: u64,
    pub(super) pid: u32,
    pub(super) addresses: Vec<IpAddr>,
    /// Where it agrees with others.
    pub(super) port: u16,
    /// Where it serves the rendezvous of a generation.
    pub(super) meeting: u16,
}

impl Place {
    pub(super) fn here(addresses: Vec<IpAddr>, port: u16, meeting: u16) -> Self {
        let (host, host_id) = (host_name(), host_identity());
        Self { host, host_id, pid: std::process::id(), addresses, port, meeting }
    }

    /// Of some node, if that is one of this version.
    pub(super) fn of(node: &Node) -> Option<Self> {
        postcard::from_bytes(&node.place).ok()
    }

    pub(super) fn node(&self, id: Id) -> Node {
        // A vector has room for everything.
        Node { id, place: postcard::to_stdvec(self).unwrap_or_default() }
    }

    /// Its addresses at one of its ports; this host's own loopback first for whoever is on it.
    pub(super) fn sockets(&self, port: u16) -> Vec<SocketAddr> {
        self.addresses.iter().map(|address| (*address, port).into()).collect()
    }
}
