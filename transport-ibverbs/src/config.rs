//! What the transport is told at its start, and what can be wrong with that.
//!
//! Every default stands here with its reason. Neighbours: the runtime fills [`Config`] from its settings;
//! `choice.rs` applies what it says about devices, `verbs/` the rest.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use ringworld_auth::Secret;
use ringworld_transport::{MAX_HEADER, Rank};

use crate::filter::DeviceFilter;
use crate::wire::PRELUDE;

/// Receive slots per peer, while every peer has its own.
pub(crate) const SLOTS: usize = 64;
/// Receive slots that a peer adds to the shared queue.
pub(crate) const SHARED_SLOTS: usize = 16;
/// Bytes of a slot; a longer message takes several. Room for 8 KiB and what stands in front of them: sizes are
/// often powers of two, and the few bytes that did not fit would take a slot of their own.
pub(crate) const SLOT: usize = (8 << 10) + 128;

/// Receive slots of each extra queue pair: far more than it has fragments of puts under way.
pub(crate) const BULK_SLOTS: usize = 16;
/// Bytes of each: nothing but credits ever comes there, and a cache line is more than those need.
pub(crate) const BULK_SLOT: usize = 64;

const _: () = assert!(BULK_SLOT >= PRELUDE);
const _: () = assert!(SLOT >= (8 << 10) + PRELUDE + MAX_HEADER);

/// Settings of one [`Ibverbs`](crate#features).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The rank of this process.
    pub rank: Rank,
    /// The number of ranks.
    pub size: usize,
    /// Distinguishes this job from all others; the same on every rank.
    pub job: u64,
    /// Addresses of this host that lead to the others, best first. The out-of-band channel listens there, and the
    /// device whose GID is one of them is preferred.
    pub local: Vec<IpAddr>,
    /// What only processes of this job know.
    pub secret: Secret,
    /// Devices and ports that may be used; `None`: any.
    pub devices: Option<DeviceFilter>,
    /// The GID index to use; `None` chooses for each device (see [`choice`](crate::choice)).
    pub gid_index: Option<u32>,
    /// The acknowledgement timeout of queue pairs: 4.096 us times 2 to this power, from 1 to 31.
    ///
    /// 18 is about one second: with six retries a silent network is an error after 7.5 s, and congestion that
    /// lasts a second is not.
    pub timeout: u8,
    /// How often a queue pair sends again before it gives up, from 0 to 6. Not 7: Soft-RoCE takes that for
    /// *for ever*.
    pub retries: u8,
    /// How long a connection may be silent before the transport probes whether the other end is there; zero
    /// never probes. A rank that only receives learns of a dead network by this alone.
    pub probe: Duration,
    /// Ports at which the out-of-band channel may listen; `None`: any.
    pub ports: Option<RangeInclusive<u16>>,
    /// Addresses to tell the others for the out-of-band channel, instead of [`local`](Self::local); empty: the same.
    pub advertise: Vec<IpAddr>,
    /// How long a peer's host may take to answer the request for the out-of-band connection.
    pub connect_timeout: Duration,
    /// How long a peer's host may leave the out-of-band channel unanswered, before the peer is down; `None`: for ever.
    pub silence: Option<Duration>,
    /// Above this many peers the ranks' receive slots are in one shared receive queue, and there are fewer
    /// per peer.
    ///
    /// A peer of its own costs 780 KiB of pinned memory (64 receive slots and 32 send slots of 8,320 bytes); so 64
    /// peers cost 49 MiB. With the shared queue it is 390 KiB each.
    pub shared_above: usize,
    /// Queue pairs with each peer, from 1 to [`MAX_QUEUE_PAIRS`](Self::MAX_QUEUE_PAIRS); of two ranks that say
    /// different things the smaller number holds.
    ///
    /// Puts that are long enough to be written from where they are go over all of them, a fragment at a time, each
    /// taking the next when it has room; everything else stays on the first. One does for most networks. More help
    /// where several ways lead to the other host and are chosen by queue pair, and on cards that one pair does not
    /// fill. Each more pins 8 KiB.
    pub queue_pairs: usize,
}

impl Config {
    /// Default of [`shared_above`](Self::shared_above).
    pub const SHARED_ABOVE: usize = 64;

    /// The largest [`queue_pairs`](Self::queue_pairs): their numbers have to fit into one out-of-band message.
    pub const MAX_QUEUE_PAIRS: usize = 16;

    /// Settings with defaults for everything that has one.
    #[must_use]
    pub fn new(rank: Rank, size: usize, job: u64, local: Vec<IpAddr>) -> Self {
        Self {
            rank,
            size,
            job,
            local,
            secret: Secret::default(),
            devices: None,
            gid_index: None,
            timeout: 18,
            retries: 6,
            probe: Duration::from_secs(2),
            ports: None,
            advertise: Vec::new(),
            connect_timeout: Duration::from_secs(60),
            silence: Some(Duration::from_secs(20)),
            shared_above: Self::SHARED_ABOVE,
            queue_pairs: 1,
        }
    }

    /// How long a peer that has gone silent without a trace can stay unnoticed, at most.
    #[must_use]
    pub fn detection_bound(&self) -> Duration {
        let once = Duration::from_nanos(4_096 << self.timeout.min(31));
        // The first retry comes up to two timeouts after the send, and the probe up to two intervals late.
        self.probe * 2 + once * (2 * (u32::from(self.retries) + 1))
    }

    /// Finds what cannot be.
    ///
    /// # Errors
    ///
    /// [`OpenError::Setting`] or [`OpenError::Rank`] says which setting it is.
    pub fn check(&self) -> Result<(), OpenError> {
        if self.rank >= self.size {
            return Err(OpenError::Rank { rank: self.rank, size: self.size });
        }
        if !(1..=31).contains(&self.timeout) {
            let text = format!("the timeout exponent is {}; give 1 to 31", self.timeout);
            return Err(OpenError::Setting(text));
        }
        if self.retries > 6 {
            let text = format!("{} retries were asked for; give 0 to 6 (7 means for ever)", self.retries);
            return Err(OpenError::Setting(text));
        }
        if !(1..=Self::MAX_QUEUE_PAIRS).contains(&self.queue_pairs) {
            let (given, most) = (self.queue_pairs, Self::MAX_QUEUE_PAIRS);
            let text = format!("{given} queue pairs for each peer were asked for; give 1 to {most}");
            return Err(OpenError::Setting(text));
        }
        Ok(())
    }
}

/// Why the transport cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no RDMA on this host. [`OpenError::is_absence`] is true: use another transport if there is
    /// a choice.
    #[error(
        "no InfiniBand or RoCE device can be used: {0}; `rdma link` and `ibv_devinfo` list what the system has \
         (the variable RDMAV_DRIVERS or IBV_DRIVERS, if set, restricts libibverbs to the drivers it names)"
    )]
    Absent(String),
    /// Devices there are, but none of them is usable just now, for reasons that the host's administrator can
    /// change. [`OpenError::is_absence`] is true.
    #[error("no InfiniBand or RoCE port is usable:{0}")]
    Unusable(String),
    /// The settings ask for a device, port or GID that is not there, or not usable.
    #[error("{0}")]
    Impossible(String),
    /// A setting that cannot be.
    #[error("{0}")]
    Setting(String),
    /// The rank does not exist.
    #[error("rank {rank} is not in a world of {size}; ranks are 0 to {last}", last = .size.saturating_sub(1))]
    Rank {
        /// Given.
        rank: Rank,
        /// Given.
        size: usize,
    },
    /// The out-of-band channel cannot be opened.
    #[error(
        "the out-of-band channel, by which ranks tell each other of their queue pairs, cannot be opened: {0}"
    )]
    OutOfBand(String),
    /// The device refuses something that every device can do.
    #[error("device {device} cannot {what}: {source}")]
    Device {
        /// The device.
        device: String,
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl OpenError {
    /// Whether there is simply no usable RDMA here, as opposed to settings that ask for something impossible.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Absent(_) | Self::Unusable(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_be_are_named() {
        assert!(Config::new(0, 2, 1, Vec::new()).check().is_ok());
        assert!(matches!(Config::new(2, 2, 1, Vec::new()).check(), Err(OpenError::Rank { .. })));
        let seven = Config { retries: 7, ..Config::new(0, 2, 1, Vec::new()) };
        assert!(seven.check().unwrap_err().to_string().contains("for ever"));
        let never = Config { timeout: 0, ..Config::new(0, 2, 1, Vec::new()) };
        assert!(never.check().unwrap_err().to_string().contains("1 to 31"));
        for given in [0, 17] {
            let pairs = Config { queue_pairs: given, ..Config::new(0, 2, 1, Vec::new()) };
            let text = pairs.check().unwrap_err().to_string();
            assert!(text.contains(&given.to_string()) && text.contains("1 to 16"), "{text}");
        }
        assert!(Config { queue_pairs: 16, ..Config::new(0, 2, 1, Vec::new()) }.check().is_ok());
    }

    #[test]
    fn the_bound_follows_timeout_and_retries() {
        let tests = Config { timeout: 14, probe: Duration::ZERO, ..Config::new(0, 2, 1, Vec::new()) };
        assert!(tests.detection_bound() < Duration::from_secs(1));
        assert!(Config::new(0, 2, 1, Vec::new()).detection_bound() < Duration::from_secs(20));
    }
}
