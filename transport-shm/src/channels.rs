//! What is known of channels: this rank's own, who has been shown something there, and where peers have theirs.
//!
//! Neighbours: `board.rs` has the words and bytes, `showing.rs` knows the peers.

use std::sync::Arc;

use ringworld_transport::Rank;

use crate::board::{Place, Rooms};
use crate::outbox::TheirOutbox;

/// A channel in which this rank takes part.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) name: u64,
    pub(crate) place: Place,
    /// All to whom anything was ever shown, and up to where each had passed when that was looked at last.
    pub(crate) readers: Vec<Reader>,
    /// The highest number under which something was shown.
    pub(crate) last: Option<u32>,
    pub(crate) rooms: Rooms,
    /// This rank takes part no more.
    pub(crate) left: bool,
}

#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) rank: Rank,
    pub(crate) place: Place,
    pub(crate) passed: u32,
}

/// The board of a peer, and where channels were found on it. Outlives the connection.
#[derive(Debug)]
pub(crate) struct TheirBoard {
    pub(crate) outbox: Arc<TheirOutbox>,
    places: Vec<(u64, Place)>,
}

impl TheirBoard {
    pub(crate) fn new(outbox: Arc<TheirOutbox>) -> Self {
        Self { outbox, places: Vec::new() }
    }

    /// Where a channel is. Asked each time, for a place may be given to another one.
    #[inline]
    pub(crate) fn place(&mut self, channel: u64) -> Option<Place> {
        let board = TheirOutbox::BOARD;
        let memory = self.outbox.memory();
        let known = self.places.iter().position(|(name, _)| *name == channel);
        if let Some(index) = known {
            let place = self.places[index].1;
            if board.has(memory, place, channel) {
                return Some(place);
            }
            self.places.swap_remove(index);
        }
        let place = board.find(memory, channel)?;
        self.places.push((channel, place));
        Some(place)
    }

    /// Up to where it has passed in a channel whose place this was; `None` where it takes no part any more.
    #[inline]
    pub(crate) fn passed(&self, place: Place, channel: u64) -> Option<u32> {
        let (board, memory) = (TheirOutbox::BOARD, self.outbox.memory());
        let passed = board.passed(memory, place);
        board.has(memory, place, channel).then_some(passed)
    }
}
