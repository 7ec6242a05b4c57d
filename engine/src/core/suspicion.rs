//! What is not certain yet, and until when to wait for a better word: a peer that may be dead, a rank that has left.

use std::time::Instant;

use super::super::runs::Called;

/// A peer whose connection has been lost: its death, or the echo of another's.
pub(super) struct Suspect {
    pub(super) rank: usize,
    pub(super) cause: String,
    pub(super) until: Instant,
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
pub(super) struct Doubts(pub(super) Vec<(usize, Instant)>);

impl Doubts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.0.iter().map(|(_, until)| *until).min()
    }
}
