//! What is not certain yet, and until when to wait for a better word: a peer that may be dead, a rank that has left.

use std::fmt::Display;
use std::time::Instant;

use ringworld_protocol::Envelope;

use super::super::runs::Called;

/// A peer whose connection has been lost: its death, or the echo of another's.
pub(super) struct Suspect {
    pub(super) rank: usize,
    pub(super) cause: String,
    pub(super) until: Instant,
}

/// All suspects, in the order in which they came under suspicion. Each waits for its own verdict: when many leave at
/// once, several connections may be found lost before the control plane has spoken of the first.
#[derive(Default)]
pub(super) struct Suspects(Vec<Suspect>);

impl Suspects {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A connection has been lost; what is known of that rank already stays.
    pub(super) fn add(&mut self, rank: usize, cause: &dyn Display, until: Instant) {
        if !self.include(rank) {
            self.0.push(Suspect { rank, cause: cause.to_string(), until });
        }
    }

    /// Whether the connection to that rank is one that has been lost.
    pub(super) fn include(&self, rank: usize) -> bool {
        self.0.iter().any(|suspect| suspect.rank == rank)
    }

    /// That rank has left in good order; whether it was suspected.
    pub(super) fn clear(&mut self, rank: usize) -> bool {
        let before = self.0.len();
        self.0.retain(|suspect| suspect.rank != rank);
        self.0.len() < before
    }

    /// Until when a verdict on the first is waited for.
    pub(super) fn until(&self) -> Option<Instant> {
        self.0.first().map(|suspect| suspect.until)
    }

    /// The first, if no verdict has come in time. It is the one that is taken for dead: of the later ones some may have
    /// given up because of it.
    pub(super) fn convicted(&mut self) -> Option<Suspect> {
        let in_vain = self.until().is_some_and(|until| Instant::now() >= until);
        in_vain.then(|| self.0.remove(0))
    }
}

/// A collective that needs a rank which has left in good order. What ended it is that ranks did not call the same: for
/// a moment the others may still say so, as may what that rank has left behind.
pub(super) struct Desertion {
    pub(super) peer: usize,
    pub(super) context: u64,
    pub(super) called: Called,
    pub(super) until: Instant,
}

impl Desertion {
    pub(super) fn until(&self) -> Instant {
        self.until
    }
}

/// Ranks that have left without having read everything that this rank had sent: whoever only sends would never hear
/// that they have called something else. So they are asked what they have called, and until when an answer is waited
/// for.
#[derive(Default)]
pub(super) struct Doubts(pub(super) Vec<Doubt>);

/// One of them.
pub(super) struct Doubt {
    pub(super) peer: usize,
    pub(super) until: Instant,
    /// The first that a collective of this rank has sent there, where it is known that it was not read.
    pub(super) unread: Option<Envelope>,
}

impl Doubts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.0.iter().map(|doubt| doubt.until).min()
    }
}
