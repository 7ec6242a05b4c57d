//! The out-of-band (OOB) channel: a connection of the TCP transport between two ranks that have, or are making, a queue
//! pair.
//!
//! A queue pair must be told of its other end by other means, and does not notice when the process at the other end
//! dies; a TCP connection does both. So this crate uses the TCP transport as it is, through the same
//! contract as everybody: it opens connections when the first message is sent, from either side, tries
//! all addresses, proves with the job's secret who is who, settles who wins when both connect at once, and
//! reports a lost connection as `PeerDown`. What is left to be sent are three messages, each the header of a
//! message without payload:
//!
//! ```text
//! Offer   this is my queue pair, connect yours to it          both, once
//! Ready   mine is connected to yours: you may send            both, once
//! Refuse  there will be none, for this reason                 instead of any of these
//! ```
//!
//! Neighbours: `connect.rs` sends and reads them, `blob.rs` has the bytes of an offer.

use ringworld_transport::{
    Address, Cause, ConnectError, Event, Header, MAX_HEADER, Operation, Placement, Placer, Rank, RecvMemory,
    Refused, SendMemory, Token, Transport,
};
use ringworld_transport_tcp::{Config as TcpConfig, Tcp};

use crate::blob::Offer;
use crate::config::{Config, OpenError};

/// Makes the out-of-band channel's job another than that of a TCP transport beside it, so that neither can ever be
/// taken for the other.
const OTHER_JOB: u64 = u64::from_le_bytes(*b"ibverbs\x01");

const OFFER: u8 = 1;
const READY: u8 = 2;
const REFUSE: u8 = 3;

/// What ranks tell each other over it.
#[derive(Debug)]
pub(super) enum OobMessage {
    Offer(Offer),
    Ready,
    Refuse(String),
}

impl OobMessage {
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Offer(offer) => [&[OFFER][..], &offer.encode()].concat(),
            Self::Ready => vec![READY],
            Self::Refuse(why) => {
                let mut end = why.len().min(MAX_HEADER - 1);
                while !why.is_char_boundary(end) {
                    end -= 1;
                }
                [&[REFUSE], &why.as_bytes()[..end]].concat()
            }
        }
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        match bytes {
            [OFFER, offer @ ..] => Ok(Self::Offer(Offer::decode(offer)?)),
            [READY] => Ok(Self::Ready),
            [REFUSE, why @ ..] => Ok(Self::Refuse(String::from_utf8_lossy(why).into_owned())),
            _ => Err("it sent something unknown over the out-of-band channel".to_owned()),
        }
    }
}

/// Keeps what arrives.
#[derive(Default)]
struct OobPlacer {
    arrived: Vec<(Rank, OobMessage)>,
}

impl Placer for OobPlacer {
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        if length > 0 {
            return Err(format!("it sent {length} bytes of payload over the out-of-band channel"));
        }
        self.arrived.push((peer, OobMessage::decode(header)?));
        Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
    }
}

/// What has happened on the channel.
#[derive(Default)]
pub(super) struct OobEvents {
    pub(super) messages: Vec<(Rank, OobMessage)>,
    pub(super) lost: Vec<(Rank, Cause)>,
    /// Why the channel cannot be used any more, through no fault of anybody outside.
    pub(super) broken: Option<String>,
}

pub(super) struct OobChannel {
    tcp: Tcp,
    placer: OobPlacer,
    events: Vec<Event>,
}

impl OobChannel {
    pub(super) fn open(config: &Config) -> Result<Self, OpenError> {
        let mut tcp = TcpConfig::new(config.rank, config.size, config.job ^ OTHER_JOB, config.local.clone());
        tcp.secret = config.secret.clone();
        tcp.ports = config.ports.clone();
        tcp.advertise = config.advertise.clone();
        // Whoever knows the numbers of a queue pair can write into it from anywhere on the fabric.
        tcp.encrypt = !config.secret.is_empty();
        tcp.silence = config.silence;
        tcp.connect_timeout = config.connect_timeout;
        tcp.lanes = 1;
        // A few messages only; the system's sizes do.
        tcp.socket_buffer = None;
        let tcp = Tcp::bind(tcp).map_err(|error| OpenError::OutOfBand(error.to_string()))?;
        Ok(Self { tcp, placer: OobPlacer::default(), events: Vec::new() })
    }

    pub(super) fn with_rank(self, rank: Rank, size: usize) -> Result<Self, OpenError> {
        let tcp = self.tcp.with_rank(rank, size).map_err(|_| OpenError::Rank { rank, size })?;
        Ok(Self { tcp, ..self })
    }

    pub(super) fn address(&self) -> Address {
        self.tcp.address()
    }

    pub(super) fn connect(&mut self, peer: Rank, address: &Address) -> Result<(), ConnectError> {
        self.tcp.connect(peer, address)
    }

    /// Sends a message, now or once there is a connection.
    pub(super) fn send(&mut self, peer: Rank, message: &OobMessage) -> Result<(), Cause> {
        let broken = || Cause::Protocol("a message does not fit into the out-of-band channel".to_owned());
        let header = Header::new(&message.encode()).ok_or_else(broken)?;
        let payload = SendMemory::empty();
        match self.tcp.post(Operation::Message { peer, header, payload, token: Token(0) }) {
            Ok(_) => Ok(()),
            Err(Refused::PeerDown(_, cause)) => Err(cause),
            Err(refused) => {
                Err(Cause::Unreachable(format!("its out-of-band channel cannot be used: {refused:?}")))
            }
        }
    }

    /// Whether there is something to poll for that no descriptor announces.
    pub(super) fn is_due(&mut self) -> bool {
        !self.tcp.arm()
    }

    /// Whether a message waits for its connection.
    pub(super) fn owes(&self) -> bool {
        self.tcp.owes()
    }

    pub(super) fn poll(&mut self) -> OobEvents {
        self.tcp.poll(&mut self.placer, &mut self.events);
        let mut happened =
            OobEvents { messages: std::mem::take(&mut self.placer.arrived), ..OobEvents::default() };
        for event in self.events.drain(..) {
            match event {
                Event::PeerDown { peer, cause } => happened.lost.push((peer, cause)),
                // It does not happen: whoever leaves in good order says so through the queue pair.
                Event::PeerClosed { peer } => {
                    happened.lost.push((peer, Cause::Lost("it closed its out-of-band channel".to_owned())));
                }
                Event::Broken { cause } => happened.broken = Some(cause),
                _ => {}
            }
        }
        happened
    }

    pub(super) fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.tcp.wait_fd()
    }

    /// Ends the connection to `peer`, which notices.
    pub(super) fn disconnect(&mut self, peer: Rank) {
        self.tcp.disconnect(peer, Cause::Finished);
    }

    pub(super) fn abort(&mut self) {
        self.tcp.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_reasons_are_cut_between_characters() {
        let message = OobMessage::Refuse("ü".repeat(100)).encode();
        assert!(message.len() <= MAX_HEADER);
        let Ok(OobMessage::Refuse(why)) = OobMessage::decode(&message) else { panic!("not a refusal") };
        assert_eq!(why, "ü".repeat(47));
        assert!(
            OobMessage::decode(&[9]).is_err()
                && OobMessage::decode(&[]).is_err()
                && OobMessage::decode(&[READY, 0]).is_err()
        );
    }
}
