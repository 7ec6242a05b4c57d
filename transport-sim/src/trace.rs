//! A running hash of everything that happened, to prove that a run was repeated exactly.

use ringworld_transport::{Event, Rank};

/// FNV-1a over every delivery and every reported event.
#[derive(Debug)]
pub(crate) struct Trace(u64);

impl Trace {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn hash(&self) -> u64 {
        self.0
    }

    /// Adds the numbers that describe one happening.
    pub(crate) fn add(&mut self, numbers: &[u64]) {
        for byte in numbers.iter().flat_map(|number| number.to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds an event that `rank` was told of at `now`.
    pub(crate) fn report(&mut self, now: u64, rank: Rank, event: &Event) {
        let (kind, detail) = match event {
            Event::Sent { token } => (1, token.0),
            Event::Received { token, .. } => (2, token.0),
            Event::Filled { token } => (3, token.0),
            Event::PeerDown { peer, .. } => (4, *peer as u64),
            Event::PeerClosed { peer } => (5, *peer as u64),
            Event::Closed => (6, 0),
            _ => (7, 0),
        };
        self.add(&[now, rank as u64, kind, detail]);
    }
}
