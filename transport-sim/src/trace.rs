//! A running hash of everything that happened, to prove that a run was repeated exactly.

use std::hash::Hasher as _;

use fnv::FnvHasher;
use ringworld_transport::{Event, Rank};

/// FNV-1a over every delivery and every reported event.
pub(crate) struct Trace(FnvHasher);

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Trace").field(&self.hash()).finish()
    }
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self(FnvHasher::default())
    }

    pub(crate) fn hash(&self) -> u64 {
        self.0.finish()
    }

    /// Adds the numbers that describe one happening.
    pub(crate) fn add(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.0.write(&number.to_le_bytes());
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
