//! Rank 0: an ordinary transport, what it was lent, and what it may report.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use ringworld_transport::{
    Address, Cause, Event, Header, Lease, MAX_HEADER, Operation, Placement, Placer, Posted, Rank, RemoteKey,
    SendMemory, Token, Transport as _,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::neighbour::{CHANNELS, Neighbour, config};
use super::script::Script;
use crate::address::Purpose;
use crate::board;
use crate::memory::lent::Lent;
use crate::transport::{LOOK_EVERY, Shm};

/// What is sent.
static PAYLOAD: [u8; 300 << 10] = [7; 300 << 10];
/// The longest memory that a message is given.
const LONGEST: usize = 200 << 10;

/// Something that the transport was lent.
enum Loan {
    Sent(Lease),
    Placed(Lent),
    Exposed(Lent),
}

impl Loan {
    fn is_back_unharmed(&mut self) -> bool {
        match self {
            Self::Sent(lease) => !lease.is_out(),
            Self::Placed(memory) | Self::Exposed(memory) => memory.is_back_unharmed(),
        }
    }
}

/// What was lent, by token, and what was heard of rank 1.
#[derive(Default)]
struct Books {
    loans: HashMap<u64, Loan>,
    tokens: u64,
    closed: bool,
    down: bool,
}

impl Books {
    fn lend(&mut self, loan: Loan) -> Token {
        self.tokens += 1;
        self.loans.insert(self.tokens, loan);
        Token(self.tokens)
    }

    fn take_back(&mut self, token: Token, is_right: impl Fn(&Loan) -> bool) {
        let mut loan = self.loans.remove(&token.0).unwrap_or_else(|| panic!("{token:?} was not lent"));
        assert!(is_right(&loan), "{token:?} is something else");
        assert!(loan.is_back_unharmed(), "{token:?} is said to be done");
    }

    fn note(&mut self, event: Event) {
        assert!(!self.down || matches!(event, Event::Closed), "{event:?} after the end");
        match event {
            Event::Sent { token } => self.take_back(token, |loan| matches!(loan, Loan::Sent(_))),
            Event::Received { peer: 1, token } => {
                self.take_back(token, |loan| matches!(loan, Loan::Placed(_)));
            }
            Event::Filled { token } => self.take_back(token, |loan| matches!(loan, Loan::Exposed(_))),
            Event::PeerClosed { peer: 1 } => {
                assert!(!std::mem::replace(&mut self.closed, true), "closed twice");
                let placed = self.loans.values().filter(|loan| matches!(loan, Loan::Placed(_))).count();
                assert_eq!(placed, 0, "messages come from one who has closed");
            }
            Event::PeerDown { peer: 1, .. } => {
                self.down = true;
                assert!(
                    self.loans.values_mut().all(Loan::is_back_unharmed),
                    "something is held beyond the end"
                );
                self.loans.clear();
            }
            Event::Undelivered { peer: 1 } | Event::Closed => {}
            event => panic!("{event:?}, which no neighbour can bring about"),
        }
    }
}

/// Takes messages as the script says, which goes on meanwhile.
struct Taker<'a, 's> {
    books: &'a mut Books,
    meanwhile: Option<(&'a mut Script<'s>, &'a mut Neighbour)>,
}

impl Placer for Taker<'_, '_> {
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        assert!(peer == 1 && header.len() <= MAX_HEADER, "{peer}: {header:?}");
        assert!(!self.books.closed && !self.books.down, "a message of one who has closed");
        let Some((script, neighbour)) = &mut self.meanwhile else {
            panic!("a message that nobody has sent");
        };
        if script.is_one_in(16) {
            return Err("it makes no sense".into());
        }
        neighbour.act(script);
        let room = if script.is_one_in(4) { script.number() as usize } else { length };
        let (lent, memory) = Lent::new(room.min(LONGEST));
        Ok(Placement { token: self.books.lend(Loan::Placed(lent)), memory })
    }

    fn has_enough(&self) -> bool {
        self.books.tokens % 4 == 3
    }
}

pub(super) struct Ours {
    shm: Shm,
    books: Books,
}

impl Ours {
    pub(super) fn new() -> Self {
        let mut shm = Shm::bind(config(0)).expect("shared memory");
        shm.pass(0, 0);
        Self { shm, books: Books::default() }
    }

    pub(super) fn knows(&mut self, neighbour: &Address) {
        self.shm.connect(1, neighbour).expect("a neighbour");
    }

    /// A connection of somebody.
    pub(super) fn knock(&self) -> OwnedFd {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let place = self.shm.place.socket(None, Purpose::Talk).expect("a name");
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let socket = socket.expect("a socket");
        rustix::net::connect(&socket, &place).expect("a listener");
        socket
    }

    /// Polls, and looks at everything. The neighbour goes on whenever it is asked where a message goes.
    pub(super) fn poll(&mut self, meanwhile: Option<(&mut Script<'_>, &mut Neighbour)>) {
        let mut events = Vec::new();
        // Whoever sleeps is woken by descriptors, and looks at them.
        let _sleeps = self.shm.arm();
        self.shm.poll(&mut Taker { books: &mut self.books, meanwhile }, &mut events);
        events.into_iter().for_each(|event| self.books.note(event));
    }

    /// Sends a message of some length.
    pub(super) fn send(&mut self, script: &mut Script<'_>) {
        let header = Header::new(script.bytes(MAX_HEADER)).expect("not too long");
        let (payload, lease) = payload(script);
        let token = self.books.lend(Loan::Sent(lease));
        self.post(Operation::Message { peer: 1, header, payload, token }, token);
    }

    fn post(&mut self, operation: Operation, token: Token) {
        // What is refused has come back, and is dropped.
        if !matches!(self.shm.post(operation), Ok(Posted::Pending)) {
            self.books.take_back(token, |_| true);
        }
    }

    /// Does one thing.
    pub(super) fn act(&mut self, script: &mut Script<'_>) {
        let (channel, number) = (script.number() % CHANNELS, script.collective());
        match script.below(13) {
            0..3 => self.send(script),
            3 => {
                let (payload, lease) = payload(script);
                let token = self.books.lend(Loan::Sent(lease));
                let mut key = *b"SHM\x01\0\0\0\0\0\0\0\0";
                key[4..].copy_from_slice(&script.number().to_le_bytes());
                let key = RemoteKey::new(&key).expect("not too long");
                self.post(Operation::Put { peer: 1, key, offset: 0, payload, token }, token);
            }
            4..6 => {
                let (lent, memory) = Lent::new(script.length() % LONGEST);
                let token = self.books.lend(Loan::Exposed(lent));
                if self.shm.expose(1, memory, token).is_err() {
                    self.books.take_back(token, |_| true);
                }
            }
            6 => {
                let length = script.number() as usize % (self.shm.capabilities().inject + 1);
                self.shm.inject(1, script.bytes(MAX_HEADER), &PAYLOAD[..length]);
            }
            7 => _ = self.shm.pass(channel, number),
            8 => {
                let length = script.length() % (board::LONGEST + 2);
                let _ = self.shm.show(&[1], channel, number, &[1; 24], &PAYLOAD[..length]);
            }
            9 => {
                let shown = self.shm.shown(1, channel, number);
                let length = shown.map_or(200, |shown| shown.length);
                let offset = script.number() as usize;
                self.shm.copy_shown(1, channel, number, offset, &mut vec![0; length]);
            }
            10 => self.shm.leave(channel),
            11 => _ = self.shm.is_connected(1) || self.shm.owes(),
            _ => match script.below(8) {
                0 => self.shm.close(),
                1 if script.is_one_in(4) => self.shm.disconnect(1, Cause::Lost("so it is said".into())),
                _ => {}
            },
        }
    }

    /// The neighbour is gone: that is noticed at once, where there was a connection, and everything has an end.
    pub(super) fn end(mut self) {
        let (mut script, mut nobody) = (Script::new(&[]), Neighbour::new());
        let was_connected = self.shm.is_connected(1);
        let mut polls = 0..4 * LOOK_EVERY;
        while self.shm.is_connected(1) {
            assert!(polls.next().is_some(), "it is not noticed that nobody is there");
            self.poll(Some((&mut script, &mut nobody)));
        }
        self.poll(Some((&mut script, &mut nobody)));
        assert!(!self.shm.shortage.is_noted(), "it takes itself for the one that lacks something");
        let Books { loans, closed, down, .. } = &mut self.books;
        if was_connected && self.shm.life.is_live() {
            assert!(*closed || *down, "an end that is not told");
            assert!(loans.is_empty(), "what will never be done is not told");
        }
        self.shm.abort();
        assert!(loans.values_mut().all(Loan::is_back_unharmed), "something is held beyond the end");
    }

    /// Nothing has come.
    pub(super) fn heard_nothing(mut self) {
        self.poll(None);
        assert!(!self.shm.shortage.is_noted(), "it takes itself for the one that lacks something");
        assert!(self.shm.arm(), "it is not done with strangers");
    }
}

/// Something to send.
fn payload(script: &mut Script<'_>) -> (SendMemory, Lease) {
    let lease = Lease::new();
    (SendMemory::from_static(&PAYLOAD[..script.length() % PAYLOAD.len()]).leased(&lease), lease)
}
