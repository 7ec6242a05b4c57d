//! Two or more transports driven by tests and examples: memory to lend, an inbox, and waiting.
//!
//! Memory lives for the whole process, so that a broken transport cannot make a test undefined. The only
//! `unsafe` code around this crate is here. Neighbours: `sockets.rs`, `unauthenticated.rs`, `flood.rs`, the example
//! `pingpong`.

#![allow(dead_code, reason = "every user needs a part of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use ringworld_transport::{
    Address, Cause, Event, Header, Operation, Placement, Placer, Posted, Rank, RecvMemory, Refused,
    RemoteKey, SendMemory, Token, Transport,
};
use ringworld_transport_tcp::{Config, Tcp};

/// Memory that is never freed, lent to one operation at a time.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    start: *mut u8,
    length: usize,
}

// SAFETY: the memory is owned by whoever holds the buffer; tests hand it from thread to thread only by move.
unsafe impl Send for Buffer {}

impl Buffer {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let bytes = Box::leak(bytes.into_boxed_slice());
        Self { start: bytes.as_mut_ptr(), length: bytes.len() }
    }

    pub(crate) fn lend_to_send(&self) -> SendMemory {
        // SAFETY: the memory is initialised, never freed, and not written while an operation reads it.
        unsafe { SendMemory::new(self.start, self.length) }
    }

    pub(crate) fn lend(&self) -> RecvMemory {
        // SAFETY: the memory is initialised, never freed, and not looked at until the operation is over.
        unsafe { RecvMemory::new(self.start, self.length) }
    }

    /// Overwrites memory that no operation has any more.
    pub(crate) fn overwrite(&self, byte: u8) {
        // SAFETY: the memory is never freed, and by the condition above nobody else uses it.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }.fill(byte);
    }

    /// What is there now; only when no operation has the memory.
    pub(crate) fn bytes(&self) -> &'static [u8] {
        // SAFETY: the memory is initialised and never freed; by the condition above nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// Bytes that differ from one seed and one position to another.
pub(crate) fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// A message that has been placed.
pub(crate) struct Arrival {
    pub(crate) peer: Rank,
    pub(crate) header: Vec<u8>,
    pub(crate) length: usize,
    pub(crate) memory: Buffer,
    pub(crate) complete: bool,
}

/// Gives every message memory of its own, shortened to `limit`.
pub(crate) struct Inbox {
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) limit: usize,
    /// Keeps only the last header and no payload, so that measuring is not disturbed.
    pub(crate) frugal: bool,
    pub(crate) last_header: Vec<u8>,
}

impl Placer for Inbox {
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        self.last_header.clear();
        self.last_header.extend_from_slice(header);
        if self.frugal {
            return Ok(Placement { token: Token(u64::MAX), memory: RecvMemory::empty() });
        }
        let memory = Buffer::new(vec![0; length.min(self.limit)]);
        let token = Token(self.arrivals.len() as u64);
        self.arrivals.push(Arrival { peer, header: header.to_vec(), length, memory, complete: false });
        Ok(Placement { token, memory: memory.lend() })
    }
}

/// One rank.
pub(crate) struct Side {
    pub(crate) tcp: Tcp,
    pub(crate) inbox: Inbox,
    pub(crate) events: Vec<Event>,
    pub(crate) received: usize,
    /// Free for users that count what they wait for.
    pub(crate) awaited: usize,
    pub(crate) filled: usize,
    pub(crate) sent: usize,
    pub(crate) pending: usize,
    pub(crate) down: Vec<(Rank, Cause)>,
    pub(crate) closed_peers: Vec<Rank>,
    pub(crate) closed: bool,
    pub(crate) broken: Vec<String>,
}

impl Side {
    pub(crate) fn new(tcp: Tcp) -> Self {
        Self {
            tcp,
            inbox: Inbox { arrivals: Vec::new(), limit: usize::MAX, frugal: false, last_header: Vec::new() },
            events: Vec::new(),
            received: 0,
            awaited: 0,
            filled: 0,
            sent: 0,
            pending: 0,
            down: Vec::new(),
            closed_peers: Vec::new(),
            closed: false,
            broken: Vec::new(),
        }
    }

    pub(crate) fn poll(&mut self) -> bool {
        let moved = self.tcp.poll(&mut self.inbox, &mut self.events);
        for event in self.events.drain(..) {
            match event {
                Event::Received { token, .. } => {
                    self.received += 1;
                    if let Some(arrival) = self.inbox.arrivals.get_mut(token.0 as usize) {
                        assert!(!arrival.complete, "received twice");
                        arrival.complete = true;
                    }
                }
                Event::Filled { .. } => self.filled += 1,
                Event::Sent { .. } => self.sent += 1,
                Event::PeerDown { peer, cause } => self.down.push((peer, cause)),
                // The kit asks for it where it matters.
                Event::Undelivered { .. } => {}
                Event::PeerClosed { peer } => self.closed_peers.push(peer),
                Event::Closed => self.closed = true,
                Event::Broken { cause } => self.broken.push(cause),
                other => panic!("unknown event {other:?}"),
            }
        }
        moved
    }

    fn count(&mut self, posted: Result<Posted, Refused>) {
        if posted.unwrap() == Posted::Pending {
            self.pending += 1;
        }
    }

    pub(crate) fn send(&mut self, peer: Rank, header: &[u8], payload: SendMemory) {
        let header = Header::new(header).unwrap();
        let posted = self.tcp.post(Operation::Message { peer, header, payload, token: Token(0) });
        self.count(posted);
    }

    pub(crate) fn put(&mut self, peer: Rank, key: RemoteKey, offset: usize, payload: SendMemory) {
        let posted = self.tcp.post(Operation::Put { peer, key, offset, payload, token: Token(0) });
        self.count(posted);
    }

    pub(crate) fn all_sent(&self) -> bool {
        self.sent == self.pending
    }

    /// Polls until `reached`; `false` when that takes more than 30 s.
    pub(crate) fn until(&mut self, mut reached: impl FnMut(&Self) -> bool) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            for _ in 0..100 {
                self.poll();
                if reached(self) {
                    return true;
                }
            }
            if Instant::now() > deadline {
                return false;
            }
            std::thread::yield_now();
        }
    }

    /// Closes and waits for the end.
    pub(crate) fn close(&mut self) {
        self.tcp.close();
        assert!(self.until(|side| side.closed), "close does not end; down: {:?}", self.down);
    }
}

/// Transports with the given settings that know each other's addresses.
pub(crate) fn world(configs: Vec<Config>) -> Vec<Side> {
    let mut world: Vec<Tcp> = configs.into_iter().map(|config| Tcp::bind(config).unwrap()).collect();
    let addresses: Vec<_> = world.iter().map(|tcp| tcp.address()).collect();
    for (rank, tcp) in world.iter_mut().enumerate() {
        for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
            tcp.connect(peer, address).unwrap();
        }
    }
    world.into_iter().map(Side::new).collect()
}

/// `size` transports on one address of this host.
pub(crate) fn local(size: usize, ip: &str) -> Vec<Side> {
    let ip = ip.parse().unwrap();
    world((0..size).map(|rank| Config::new(rank, size, 1, vec![ip])).collect())
}

/// Polls all of them from this thread until `reached`; panics with `what` after 30 s.
pub(crate) fn until_all(world: &mut [Side], what: &str, mut reached: impl FnMut(&[Side]) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !reached(world) {
        let moved = world.iter_mut().fold(false, |moved, side| side.poll() | moved);
        if !moved {
            std::thread::sleep(Duration::from_micros(50));
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
    }
}

/// The first listener behind an address, by the documented encoding.
pub(crate) fn listener(address: &Address) -> SocketAddr {
    let bytes = address.as_bytes();
    assert_eq!(bytes[..2], [1, 4], "an IPv4 address comes first");
    let ip = Ipv4Addr::new(bytes[2], bytes[3], bytes[4], bytes[5]);
    SocketAddr::from((ip, u16::from_be_bytes([bytes[6], bytes[7]])))
}

/// A message each way between the first two, after which nobody is down.
pub(crate) fn exchange(sides: &mut [Side]) {
    let bytes = Buffer::new(pattern(1, 100_000));
    let before: Vec<usize> = sides.iter().map(|side| side.received).collect();
    sides[0].send(1, b"there", bytes.lend_to_send());
    sides[1].send(0, b"back", bytes.lend_to_send());
    until_all(sides, "a message each way", |s| (0..2).all(|rank| s[rank].received == before[rank] + 1));
    assert!(sides.iter().all(|side| side.down.is_empty()));
    assert!(
        sides[..2].iter().all(|side| side.inbox.arrivals.last().unwrap().memory.bytes() == bytes.bytes())
    );
}
