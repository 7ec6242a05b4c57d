//! Ranks that are driven by tests: what they were sent, and what they were told.

#![allow(dead_code, reason = "every user needs a part of it")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringworld_auth::Secret;
use ringworld_transport::{
    Cause, Event, Header, Operation, Placement, Placer, Posted, Rank, RecvMemory, SendMemory, Token,
    Transport,
};
use ringworld_transport_shm::{Config, Shm};

static JOBS: AtomicU64 = AtomicU64::new(1);

/// Far from what anything here takes.
pub(crate) const BOUND: Duration = Duration::from_secs(30);

/// Takes every message; all are empty but for their headers.
#[derive(Default)]
struct Inbox(Vec<(Rank, Vec<u8>)>);

impl Placer for Inbox {
    fn place(&mut self, peer: Rank, header: &[u8], _: usize) -> Result<Placement, String> {
        self.0.push((peer, header.to_vec()));
        Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
    }
}

/// One rank.
pub(crate) struct Side {
    pub(crate) shm: Shm,
    inbox: Inbox,
    events: Vec<Event>,
    pub(crate) down: Vec<(Rank, Cause)>,
    pub(crate) broken: Vec<String>,
    pub(crate) closed: bool,
    pub(crate) peer_closed: bool,
}

impl Side {
    pub(crate) fn new(shm: Shm) -> Self {
        Self {
            shm,
            inbox: Inbox::default(),
            events: Vec::new(),
            down: Vec::new(),
            broken: Vec::new(),
            closed: false,
            peer_closed: false,
        }
    }

    /// Posts a message of nothing but a header.
    pub(crate) fn send(&mut self, peer: Rank, header: &[u8]) {
        let (header, payload) = (Header::new(header).unwrap(), SendMemory::empty());
        let posted = self.shm.post(Operation::Message { peer, header, payload, token: Token(0) }).unwrap();
        assert_eq!(posted, Posted::Complete, "nothing but a header, and not taken over");
    }

    pub(crate) fn poll(&mut self) {
        self.shm.poll(&mut self.inbox, &mut self.events);
        for event in self.events.drain(..) {
            match event {
                Event::PeerDown { peer, cause } => self.down.push((peer, cause)),
                Event::Broken { cause } => self.broken.push(cause),
                Event::PeerClosed { .. } => self.peer_closed = true,
                Event::Closed => self.closed = true,
                _ => {}
            }
        }
    }

    /// Sleeps where the transport says that it may, until something comes or for so long; `false`: to the end.
    pub(crate) fn sleep(&mut self, limit: Duration) -> bool {
        if !self.shm.arm() {
            return true;
        }
        let Some(fd) = self.shm.wait_fd() else { return true };
        let mut watched = [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
        let limit = rustix::event::Timespec::try_from(limit).unwrap();
        rustix::event::poll(&mut watched, Some(&limit)).unwrap() > 0
    }

    /// Headers of messages that have come.
    pub(crate) fn received(&self) -> impl Iterator<Item = &[u8]> {
        self.inbox.0.iter().map(|(_, header)| &header[..])
    }
}

/// A world in this process, of which every rank knows every other's address.
pub(crate) fn world(size: usize) -> Vec<Side> {
    let job = JOBS.fetch_add(1, Ordering::Relaxed);
    let bind = |rank| {
        let mut config = Config::new(rank, size, job);
        config.secret = Secret::new(b"of the tests".to_vec());
        Shm::bind(config).unwrap()
    };
    let mut world: Vec<Shm> = (0..size).map(bind).collect();
    let addresses: Vec<_> = world.iter().map(|shm| shm.address()).collect();
    for (rank, shm) in world.iter_mut().enumerate() {
        for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
            shm.connect(peer, address).unwrap();
        }
    }
    world.into_iter().map(Side::new).collect()
}

/// Polls all until something holds.
pub(crate) fn until(world: &mut [Side], what: &str, mut holds: impl FnMut(&mut [Side]) -> bool) {
    let start = Instant::now();
    while !holds(world) {
        world.iter_mut().for_each(Side::poll);
        assert!(start.elapsed() < BOUND, "{what} took too long");
    }
}
