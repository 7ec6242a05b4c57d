//! What the transport is told at its start, and what can be wrong with that.
//!
//! Every default stands here with its reason. Neighbours: the runtime fills [`Config`] from its settings;
//! `listener.rs` and `pending.rs` apply it to sockets.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use ringworld_auth::Secret;
use ringworld_transport::Rank;
use ringworld_transport::shortage::advice;

/// The most lanes between two ranks: a FIN names them in 64 bits.
pub const MAX_LANES: usize = 64;

/// Settings of one [`Tcp`](crate::Tcp).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The rank of this process.
    pub rank: Rank,
    /// The number of ranks.
    pub size: usize,
    /// Distinguishes this job from all others; the same on every rank.
    pub job: u64,
    /// What only processes of this job know.
    pub secret: Secret,
    /// Encrypts all data, and refuses what was altered on its way. Needs a secret. All ranks must agree.
    pub encrypt: bool,
    /// Local addresses to listen at, best first. One that this host has no more, or not yet, is left out with a
    /// warning, as long as another is left.
    pub listen: Vec<IpAddr>,
    /// Ports to listen at, of which each address gets the first that is free; `None`: one of the system's choice.
    pub ports: Option<RangeInclusive<u16>>,
    /// Addresses to tell the others instead of those to [`listen`](Self::listen) at, with the same ports: where an
    /// address is translated on the way. Empty: the same.
    pub advertise: Vec<IpAddr>,
    /// Connections per pair of ranks, from 1 to [`MAX_LANES`]; the same on every rank.
    ///
    /// With two, large puts of each direction have a socket of their own; with more, all lanes share
    /// the fragments of all puts. Loopback hardly cares, because fragments interleave well on one socket too
    /// (64 MiB both ways, best of medians: 14.3 to 16.6 ms with one lane, 14.9 to 17.5 with two, 17.2
    /// to 18.0 with three or four). Lanes are for networks that spread connections over queues or paths.
    pub lanes: usize,
    /// Lanes take turns among the networks that both hosts are on, and all of them share the fragments of all
    /// puts: each pulls the next when it has room, so that together they are as fast as the sum of the
    /// networks.
    ///
    /// Off by default: a host's second network is more often the one for management than for data.
    pub spread: bool,
    /// Bytes of each socket's send and of its receive buffer; `None` leaves the system's own tuning.
    pub socket_buffer: Option<usize>,
    /// TCP congestion control; `None` takes the first of [`CONGESTION`](Self::CONGESTION) that the system
    /// permits. A named one that the system refuses is an error.
    pub congestion: Option<String>,
    /// How long a peer's host may take to answer the request for a connection, at each of its addresses. A host answers
    /// while its programs compute, so that this bounds no peer that is merely late.
    pub connect_timeout: Duration,
    /// How long a peer's host may leave unanswered what asks for an answer, before the peer is down; `None`: for as
    /// long as the system likes, which is a quarter of an hour where something is to be sent, and else for ever.
    ///
    /// Judged by what the system says of each connection, and not by its `TCP_USER_TIMEOUT`: Linux applies that also to
    /// a peer that is alive, acknowledges every probe, and merely does not read because it computes. Idle connections
    /// are probed in whole seconds, so that of less than four seconds up to two more are needed to notice.
    pub silence: Option<Duration>,
}

impl Config {
    /// Default of [`lanes`](Self::lanes).
    pub const LANES: usize = 2;

    /// Preferred congestion controls when [`congestion`](Self::congestion) is `None`. Pacing, as in BBR,
    /// spaces packets for a bottleneck that a cluster's network does not have.
    pub const CONGESTION: [&'static str; 2] = ["cubic", "reno"];

    /// Default of [`socket_buffer`](Self::socket_buffer).
    ///
    /// Best of medians over loopback between two threads on 2 cores (`examples/pingpong.rs`, four
    /// interleaved runs each, other work on the machine): 64 MiB one way and both ways at once, in ms.
    ///
    /// ```text
    /// buffer    128 KiB   256 KiB   512 KiB   1 MiB   system's
    /// one way      10.6      10.0       9.7     9.6        9.8
    /// both         16.6      15.9      18.6    14.9       14.8
    /// ```
    ///
    /// Beside it: reno 9.8 and 16.8, BBR 9.5 and 23.2 (both with 512 KiB). A fixed size, rather than the
    /// system's growing one, bounds what a rank that computes keeps in the kernel.
    pub const SOCKET_BUFFER: usize = 1 << 20;

    /// Default of [`connect_timeout`](Self::connect_timeout).
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

    /// Default of [`silence`](Self::silence).
    pub const SILENCE: Duration = Duration::from_secs(20);

    /// Settings with defaults for everything that has one.
    #[must_use]
    pub fn new(rank: Rank, size: usize, job: u64, listen: Vec<IpAddr>) -> Self {
        Self {
            rank,
            size,
            job,
            secret: Secret::default(),
            encrypt: false,
            listen,
            ports: None,
            advertise: Vec::new(),
            lanes: Self::LANES,
            spread: false,
            socket_buffer: Some(Self::SOCKET_BUFFER),
            congestion: None,
            connect_timeout: Self::CONNECT_TIMEOUT,
            silence: Some(Self::SILENCE),
        }
    }

    pub(crate) fn check(&self) -> Result<(), BindError> {
        if self.rank >= self.size {
            return Err(BindError::Rank { rank: self.rank, size: self.size });
        }
        if !(1..=MAX_LANES).contains(&self.lanes) {
            return Err(BindError::Lanes(self.lanes));
        }
        if self.encrypt && self.secret.is_empty() {
            return Err(BindError::NoSecret);
        }
        if self.listen.is_empty() {
            return Err(BindError::NoAddress);
        }
        let told = self.listen.iter().chain(&self.advertise);
        match told.copied().find(|ip| ip.is_unspecified() || ip.is_multicast()) {
            Some(ip) => Err(BindError::Address(ip)),
            None => Ok(()),
        }
    }
}

/// Why [`Tcp::bind`](crate::Tcp::bind) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The rank does not exist.
    #[error("rank {rank} is not in a world of {size}; ranks are 0 to {last}", last = .size.saturating_sub(1))]
    Rank {
        /// Given.
        rank: Rank,
        /// Given.
        size: usize,
    },
    /// Too few or too many lanes.
    #[error("{0} TCP lanes were asked for; give 1 to {MAX_LANES}")]
    Lanes(usize),
    /// Encryption without a secret, in which anybody could take part.
    #[error(
        "data is to be encrypted (RINGWORLD_ENCRYPT) and there is no secret; set RINGWORLD_SECRET to the same value \
         for all processes of the job"
    )]
    NoSecret,
    /// Nothing to listen at.
    #[error("no address to listen at was given; give one of this host's addresses")]
    NoAddress,
    /// An address that peers could not connect to.
    #[error("{0} is not an address that peers can connect to; give one of this host's own")]
    Address(IpAddr),
    /// The system refuses to listen there.
    #[error("cannot listen at {address}: {source}{}", advice_or(.source, ELSEWHERE))]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's answer.
        source: std::io::Error,
    },
    /// None of the addresses to listen at is one of this host's.
    #[error("no address is left to listen at ({0}); give addresses of this host's interfaces")]
    NoneLeft(String),
    /// Every port is in use.
    #[error(
        "no port from {first} to {last} is free at {ip} (RINGWORLD_TCP_PORTS); every rank of a host needs one for \
         itself, and another for verbs: give a wider range, or end what uses these ports (`ss -tlnp`)"
    )]
    Ports {
        /// Where.
        ip: IpAddr,
        /// The first port that was tried.
        first: u16,
        /// The last.
        last: u16,
    },
    /// An address to be told to others belongs to a family that is not listened at.
    #[error(
        "{0} is to be told to others (RINGWORLD_ADVERTISE), but no address of its family is listened at here"
    )]
    Advertise(IpAddr),
    /// The named congestion control is not to be had.
    #[error(
        "TCP congestion control {name:?} cannot be set: {source}; \
         /proc/sys/net/ipv4/tcp_allowed_congestion_control lists those that can"
    )]
    Congestion {
        /// The one asked for.
        name: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Another system call failed.
    #[error("cannot {what}: {source}{}", advice_or(.source, ""))]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Where nothing is lacking.
const ELSEWHERE: &str = "; give an address of this host's interfaces";

/// What to do about what the system lacks; of any other error, `otherwise`.
fn advice_or(error: &std::io::Error, otherwise: &str) -> String {
    let advice = advice(error);
    if advice.is_empty() { otherwise.to_owned() } else { advice }
}
