//! What the tests on a device share: worlds of transports on one device, the memory that they lend, and the
//! running count of what they report.

#![allow(dead_code, clippy::panic, reason = "each test binary uses a part of it, and fails by panicking")]

use std::net::IpAddr;
use std::time::{Duration, Instant};

use ringworld_transport::{
    Cause, Event, Header, Operation, Placement, Placer, Posted, Rank, RecvMemory, Region, RemoteKey,
    SendMemory, Token, Transport,
};
use ringworld_transport_ibverbs::{Config, Ibverbs};

/// The address of the device's network interface (`RINGWORLD_TEST_IP`), by default that of the virtual machine.
pub(crate) fn ip() -> IpAddr {
    std::env::var("RINGWORLD_TEST_IP").map_or(IpAddr::from([10, 0, 0, 1]), |ip| ip.parse().unwrap())
}

/// Settings of tests: quick to give up, so that failures do not take long.
pub(crate) fn config(rank: usize, size: usize) -> Config {
    let mut config = Config::new(rank, size, 1, vec![ip()]);
    config.timeout = 14;
    config.probe = Duration::from_millis(200);
    config
}

/// Makes the transports know each other's addresses.
pub(crate) fn introduce(world: &mut [Ibverbs]) {
    let addresses: Vec<_> = world.iter().map(Transport::address).collect();
    for (rank, transport) in world.iter_mut().enumerate() {
        for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
            transport.connect(peer, address).unwrap();
        }
    }
}

/// `size` transports that know each other's addresses.
pub(crate) fn world(size: usize, adjust: fn(&mut Config)) -> Vec<Ibverbs> {
    let open = |rank| {
        let mut config = config(rank, size);
        adjust(&mut config);
        Ibverbs::open(config).unwrap()
    };
    let mut world: Vec<Ibverbs> = (0..size).map(open).collect();
    introduce(&mut world);
    world
}

/// Memory that is never freed, so that it outlives whatever a device does with it.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    start: *mut u8,
    length: usize,
}

// SAFETY: the memory is never freed; who may access it when is said at each method.
unsafe impl Send for Buffer {}

impl Buffer {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let bytes = Box::leak(bytes.into_boxed_slice());
        Self { start: bytes.as_mut_ptr(), length: bytes.len() }
    }

    /// A part of it.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.length);
        Self { start: self.start.wrapping_add(range.start), length: range.len() }
    }

    pub(crate) fn lend_to_register(&self) -> Region {
        // SAFETY: the memory is never freed.
        unsafe { Region::new(self.start, self.length) }
    }

    pub(crate) fn lend_to_send(&self) -> SendMemory {
        // SAFETY: the memory is initialised, never freed, and not written while an operation reads it.
        unsafe { SendMemory::new(self.start, self.length) }
    }

    pub(crate) fn lend(&self) -> RecvMemory {
        // SAFETY: the memory is initialised, never freed, and not looked at until the operation is over.
        unsafe { RecvMemory::new(self.start, self.length) }
    }

    /// What is there now; only when no operation has the memory.
    pub(crate) fn bytes(&self) -> &'static [u8] {
        // SAFETY: the memory is initialised and never freed; by the condition above nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// Bytes that differ from one seed and one position to another.
pub(crate) fn pattern(seed: usize, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed as u64).fill(&mut bytes);
    bytes
}

/// A message that has been placed.
pub(crate) struct Arrival {
    pub(crate) peer: Rank,
    pub(crate) header: Vec<u8>,
    pub(crate) memory: Buffer,
}

/// Gives every message memory of its own.
#[derive(Default)]
pub(crate) struct Inbox(pub(crate) Vec<Arrival>, Frugal);

/// Discards payloads, so that measuring is not disturbed.
#[derive(Default, PartialEq)]
struct Frugal(bool);

impl Placer for Inbox {
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        if self.1 == Frugal(true) && header.is_empty() {
            return Ok(Placement { token: Token(u64::MAX), memory: RecvMemory::empty() });
        }
        let memory = Buffer::new(vec![0; length]);
        let token = Token(self.0.len() as u64);
        self.0.push(Arrival { peer, header: header.to_vec(), memory });
        Ok(Placement { token, memory: memory.lend() })
    }
}

/// One rank.
pub(crate) struct Side {
    pub(crate) transport: Ibverbs,
    pub(crate) inbox: Inbox,
    pub(crate) received: usize,
    pub(crate) filled: usize,
    pub(crate) sent: usize,
    pub(crate) pending: usize,
    pub(crate) down: Vec<(Rank, Cause)>,
    pub(crate) closed: bool,
}

impl Side {
    pub(crate) fn new(transport: Ibverbs) -> Self {
        Self {
            transport,
            inbox: Inbox::default(),
            received: 0,
            filled: 0,
            sent: 0,
            pending: 0,
            down: Vec::new(),
            closed: false,
        }
    }

    pub(crate) fn poll(&mut self) -> bool {
        let mut events = Vec::new();
        let moved = self.transport.poll(&mut self.inbox, &mut events);
        for event in events {
            match event {
                Event::Received { .. } => self.received += 1,
                Event::Filled { .. } => self.filled += 1,
                Event::Sent { .. } => self.sent += 1,
                Event::PeerDown { peer, cause } => self.down.push((peer, cause)),
                // The kit asks for it where it matters.
                Event::Undelivered { .. } => {}
                Event::PeerClosed { .. } => {}
                Event::Closed => self.closed = true,
                other => panic!("unknown event {other:?}"),
            }
        }
        moved
    }

    fn count(&mut self, operation: Operation) {
        if self.transport.post(operation).unwrap() == Posted::Pending {
            self.pending += 1;
        }
    }

    pub(crate) fn send(&mut self, peer: Rank, header: &[u8], bytes: &[u8]) {
        let (header, payload) = (Header::new(header).unwrap(), Buffer::new(bytes.to_vec()).lend_to_send());
        self.count(Operation::Message { peer, header, payload, token: Token(0) });
    }

    /// Discards the payload of messages without a header from here on.
    pub(crate) fn frugal(&mut self) {
        self.inbox.1 = Frugal(true);
    }

    pub(crate) fn send_buffer(&mut self, peer: Rank, buffer: Buffer) {
        let (header, payload) = (Header::new(b"").unwrap(), buffer.lend_to_send());
        self.count(Operation::Message { peer, header, payload, token: Token(0) });
    }

    pub(crate) fn put_buffer(&mut self, peer: Rank, key: RemoteKey, buffer: Buffer) {
        let payload = buffer.lend_to_send();
        self.count(Operation::Put { peer, key, offset: 0, payload, token: Token(0) });
    }

    pub(crate) fn put(&mut self, peer: Rank, key: RemoteKey, offset: usize, bytes: &[u8]) {
        let payload = Buffer::new(bytes.to_vec()).lend_to_send();
        self.count(Operation::Put { peer, key, offset, payload, token: Token(0) });
    }

    pub(crate) fn expose(&mut self, peer: Rank, length: usize) -> (Buffer, RemoteKey) {
        let memory = Buffer::new(vec![0; length]);
        let key = self.transport.expose(peer, memory.lend(), Token(0)).unwrap();
        (memory, key)
    }

    pub(crate) fn all_sent(&self) -> bool {
        self.sent == self.pending
    }

    /// Polls until `reached`; panics with `what` after a minute.
    pub(crate) fn until(&mut self, what: &str, mut reached: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !reached(self) {
            if !self.poll() {
                std::thread::sleep(Duration::from_micros(50));
            }
            assert!(Instant::now() < deadline, "not in time: {what}; down: {:?}", self.down);
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

/// `size` ranks on one device.
pub(crate) fn sides(size: usize, adjust: fn(&mut Config)) -> Vec<Side> {
    world(size, adjust).into_iter().map(Side::new).collect()
}

/// Polls all of them until `reached`; panics with `what` after a minute.
pub(crate) fn until_all(world: &mut [Side], what: &str, mut reached: impl FnMut(&[Side]) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !reached(world) {
        let moved = world.iter_mut().fold(false, |moved, side| side.poll() | moved);
        if !moved {
            std::thread::sleep(Duration::from_micros(50));
        }
        let down: Vec<_> = world.iter().map(|side| &side.down).collect();
        assert!(Instant::now() < deadline, "not in time: {what}; down: {down:?}");
    }
}

/// A message each way between rank 0 and every other.
pub(crate) fn acquaint(world: &mut [Side]) {
    let size = world.len();
    for peer in 1..size {
        world[0].send(peer, b"hello", b"");
        world[peer].send(0, b"hello", b"");
    }
    until_all(world, "acquainted", |world| {
        world[0].received == size - 1 && world[1..].iter().all(|side| side.received == 1)
    });
    for side in world {
        side.inbox.0.clear();
        side.received = 0;
    }
}
