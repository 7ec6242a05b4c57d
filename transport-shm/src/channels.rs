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

    /// Where a channel is in which the peer takes part. Asked each time, for a place may be given to another one.
    #[inline]
    pub(crate) fn place(&mut self, channel: u64) -> Option<Place> {
        self.known(channel).or_else(|| {
            let place = self.find(channel)?;
            TheirOutbox::BOARD.has(self.outbox.memory(), place, channel).then_some(place)
        })
    }

    /// Where the peer shows what it has shown in a channel, also if it takes no part any more.
    #[inline]
    pub(crate) fn place_of_shown(&mut self, channel: u64) -> Option<Place> {
        self.known(channel).or_else(|| self.find(channel))
    }

    #[inline]
    fn known(&self, channel: u64) -> Option<Place> {
        let (_, place) = *self.places.iter().find(|(name, _)| *name == channel)?;
        TheirOutbox::BOARD.has(self.outbox.memory(), place, channel).then_some(place)
    }

    /// Where a channel is that is not where it was, or is new. Its place is remembered for as long as no other channel
    /// is found there: nobody asks again for one that is no more, so nothing else would ever remove it.
    fn find(&mut self, channel: u64) -> Option<Place> {
        let place = TheirOutbox::BOARD.find(self.outbox.memory(), channel)?;
        self.places.retain(|(name, other)| *name != channel && *other != place);
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

    /// The same of one that may have left, who looks once more before it has passed all; `None` where another channel
    /// has its place.
    pub(crate) fn passed_at_last(&self, place: Place, channel: u64) -> Option<u32> {
        let (board, memory) = (TheirOutbox::BOARD, self.outbox.memory());
        let passed = board.passed(memory, place);
        board.keeps(memory, place, channel).then_some(passed)
    }
}

#[cfg(test)]
mod tests {
    use ringworld_transport::{
        Header, Operation, Placement, Placer, Rank, RecvMemory, SendMemory, Showing, Token, Transport as _,
    };

    use crate::board::Board;
    use crate::{Config, Shm};

    struct Nowhere;

    impl Placer for Nowhere {
        fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Result<Placement, String> {
            Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
        }
    }

    /// Two that are connected.
    fn pair() -> [Shm; 2] {
        let mut pair = [0, 1].map(|rank| Shm::bind(Config::new(rank, 2, 3)).unwrap());
        let addresses = pair.each_ref().map(|shm| shm.address());
        pair[0].connect(1, &addresses[1]).unwrap();
        pair[1].connect(0, &addresses[0]).unwrap();
        let (header, payload) = (Header::new(b"h").unwrap(), SendMemory::empty());
        let _posted = pair[1].post(Operation::Message { peer: 0, header, payload, token: Token(0) }).unwrap();
        let mut events = Vec::new();
        for _ in 0..20 {
            for shm in pair.iter_mut().rev() {
                shm.poll(&mut Nowhere, &mut events);
            }
        }
        pair
    }

    /// Channels whose names are never asked for again, as are those of communicators.
    #[test]
    fn what_is_known_of_a_peers_board_has_no_more_than_its_places() {
        let [mut one, mut other] = pair();
        for channel in 100..300 {
            assert!(one.pass(channel, 0) && other.pass(channel, 0), "{channel}");
            assert_eq!(one.show(&[1], channel, 0, &[0; 24], b"x"), Showing::Done);
            assert_eq!(other.show(&[0], channel, 0, &[0; 24], b"x"), Showing::Done);
            for (shm, peer) in [(&mut one, 1), (&mut other, 0)] {
                assert!(shm.shown(peer, channel, 0).is_some());
                shm.pass(channel, 1);
                shm.leave(channel);
                let known = shm.peers[peer].board.as_ref().unwrap().places.len();
                assert!(known <= Board::places().count(), "{known} after channel {channel}");
            }
        }
    }
}
