//! The side door: a connection of the TCP transport between two ranks that have, or are making, a queue pair.
//!
//! A queue pair must be told of its other end by other means, and does not notice when the process at the other end
//! dies; a TCP connection does both. So this crate uses the TCP transport as it is, through the same
//! contract as everybody: it opens connections when the first word is said, from either side, tries
//! all addresses, proves with the job's secret who is who, settles who wins when both connect at once, and
//! reports a lost connection as `PeerDown`. What is left to say here are three words, each the header of a
//! message without payload:
//!
//! ```text
//! Offer   this is my queue pair, connect yours to it          both, once
//! Ready   mine is connected to yours: you may send            both, once
//! Refuse  there will be none, for this reason                 instead of any of these
//! ```
//!
//! Neighbours: `meet.rs` says and hears them, `blob.rs` has the bytes of an offer.

use ringworld_transport::{
    Address, Cause, ConnectError, Event, Header, MAX_HEADER, Operation, Placement, Placer, Rank, RecvMemory,
    Refused, SendMemory, Token, Transport,
};
use ringworld_transport_tcp::{Config as TcpConfig, Tcp};

use crate::blob::Offer;
use crate::config::{Config, OpenError};

/// Makes the side door's job another than that of a TCP transport beside it, so that neither can ever be taken for
/// the other.
const OTHER_JOB: u64 = u64::from_le_bytes(*b"ibverbs\x01");

const OFFER: u8 = 1;
const READY: u8 = 2;
const REFUSE: u8 = 3;

/// What is said through the door.
#[derive(Debug)]
pub(super) enum Word {
    Offer(Offer),
    Ready,
    Refuse(String),
}

impl Word {
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
            _ => Err("it said something unknown at the side door".to_owned()),
        }
    }
}

/// Notes what is said.
#[derive(Default)]
struct Doorman {
    heard: Vec<(Rank, Word)>,
}

impl Placer for Doorman {
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        if length > 0 {
            return Err(format!("it brought {length} bytes to the side door"));
        }
        self.heard.push((peer, Word::decode(header)?));
        Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
    }
}

/// What has happened at the door.
#[derive(Default)]
pub(super) struct News {
    pub(super) words: Vec<(Rank, Word)>,
    pub(super) lost: Vec<(Rank, Cause)>,
    /// Why the door cannot be used any more, through no fault of anybody outside.
    pub(super) broken: Option<String>,
}

pub(super) struct Door {
    tcp: Tcp,
    doorman: Doorman,
    events: Vec<Event>,
}

impl Door {
    pub(super) fn open(config: &Config) -> Result<Self, OpenError> {
        let mut tcp = TcpConfig::new(config.rank, config.size, config.job ^ OTHER_JOB, config.local.clone());
        tcp.secret = config.secret.clone();
        tcp.lanes = 1;
        // A few words only; the system's sizes do.
        tcp.socket_buffer = None;
        let tcp = Tcp::bind(tcp).map_err(|error| OpenError::Door(error.to_string()))?;
        Ok(Self { tcp, doorman: Doorman::default(), events: Vec::new() })
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

    /// Says a word, now or once there is a connection.
    pub(super) fn say(&mut self, peer: Rank, word: &Word) -> Result<(), Cause> {
        let broken = || Cause::Protocol("a word does not fit through the side door".to_owned());
        let header = Header::new(&word.encode()).ok_or_else(broken)?;
        let payload = SendMemory::empty();
        match self.tcp.post(Operation::Message { peer, header, payload, token: Token(0) }) {
            Ok(_) => Ok(()),
            Err(Refused::PeerDown(_, cause)) => Err(cause),
            Err(refused) => Err(Cause::Unreachable(format!("its side door cannot be used: {refused:?}"))),
        }
    }

    /// Whether there is something to poll for that no descriptor announces.
    pub(super) fn is_due(&mut self) -> bool {
        !self.tcp.arm()
    }

    /// Whether a word waits for its connection.
    pub(super) fn owes(&self) -> bool {
        self.tcp.owes()
    }

    pub(super) fn poll(&mut self) -> News {
        self.tcp.poll(&mut self.doorman, &mut self.events);
        let mut news = News { words: std::mem::take(&mut self.doorman.heard), ..News::default() };
        for event in self.events.drain(..) {
            match event {
                Event::PeerDown { peer, cause } => news.lost.push((peer, cause)),
                // It does not happen: whoever leaves in good order says so through the queue pair.
                Event::PeerClosed { peer } => {
                    news.lost.push((peer, Cause::Lost("it shut its side door".to_owned())));
                }
                Event::Broken { cause } => news.broken = Some(cause),
                _ => {}
            }
        }
        news
    }

    pub(super) fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.tcp.wait_fd()
    }

    /// Ends the connection to `peer`, which notices.
    pub(super) fn shut(&mut self, peer: Rank) {
        self.tcp.disconnect(peer, Cause::Finished);
    }

    pub(super) fn shut_all(&mut self) {
        self.tcp.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_reasons_are_cut_between_characters() {
        let word = Word::Refuse("ü".repeat(100)).encode();
        assert!(word.len() <= MAX_HEADER);
        let Ok(Word::Refuse(why)) = Word::decode(&word) else { panic!("not a refusal") };
        assert_eq!(why, "ü".repeat(47));
        assert!(
            Word::decode(&[9]).is_err() && Word::decode(&[]).is_err() && Word::decode(&[READY, 0]).is_err()
        );
    }
}
