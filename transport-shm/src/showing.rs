//! Showing: which peers may look at this rank's board, how far they have come, and where theirs are.
//!
//! Invariants: a place of the board is given to another channel only when all to whom something was shown there have
//! passed it or are gone; nothing is shown to a peer without a connection, so that whoever is shown something has the
//! board mapped, and keeps it mapped beyond the connection's end. Neighbours: `channels.rs` has what is known,
//! `board.rs` the words and bytes, `transport.rs` calls in.

use ringworld_transport::{Label, Rank, Showing, Shown};

use crate::board::{self, Board, Order, Place, Rooms};
use crate::channels::{Channel, Reader};
use crate::memory::stream;
use crate::outbox::{Outbox, TheirOutbox};
use crate::pace::{self, Copy};
use crate::peer::{Peer, State};
use crate::ring::{PastCaches, Shared as _};
use crate::transport::Shm;

impl Shm {
    /// See [`ringworld_transport::Transport::show`].
    #[inline]
    pub(crate) fn show_to(
        &mut self,
        to: &[Rank],
        channel: u64,
        number: u32,
        label: &Label,
        payload: &[u8],
    ) -> Showing {
        if !self.life.is_live() || payload.len() > board::LONGEST {
            return Showing::Not;
        }
        let Some(index) = self.channels.iter().position(|known| known.name == channel && !known.left) else {
            return Showing::Not;
        };
        let Self { channels, peers, outbox, .. } = self;
        let Channel { place, readers, last, rooms, .. } = &mut channels[index];
        if !to.iter().all(|rank| is_reader(readers, *rank, channel, peers)) {
            return Showing::Not;
        }
        // Who has gone looks at nothing any more, or has all of it mapped.
        readers.retain(|reader| !matches!(peers[reader.rank].state, State::Gone(_)));
        let order = order(readers.len(), outbox);
        let mut room = rooms.find(number, payload.len(), order, || behind(readers, number));
        // Looked at again only where it matters: mostly what is known is enough.
        if !room.is_known || !readers.iter().all(|reader| room.admits(number, reader.passed)) {
            for reader in readers.iter_mut() {
                let Some(theirs) = &peers[reader.rank].board else { return Showing::Not };
                // Who is no more on its board looks at nothing.
                reader.passed = theirs.passed_at_last(reader.place, channel).unwrap_or(number);
            }
            room = rooms.find(number, payload.len(), order, || behind(readers, number));
            if !readers.iter().all(|reader| room.admits(number, reader.passed)) {
                return Showing::Full;
            }
        }
        let is_new = rooms.take(room, number, payload.len());
        let at = (*place, number, room.place());
        if payload.len() < pace::SHORTEST {
            Board::OF_OUTBOX.show(outbox.memory(), at, label, payload);
        } else {
            // Memory that nobody has written before is slow for another reason.
            show_at_pace(outbox, at, label, payload, !is_new);
        }
        *last = Some(number);
        outbox.memory().fence();
        let mut showing = Showing::Done;
        for rank in to {
            if let Some(reader) = readers.iter_mut().find(|reader| reader.rank == *rank)
                && let Peer { board: Some(theirs), state: State::Open(link), .. } = &mut peers[*rank]
            {
                // Who has left meanwhile has mostly taken this before, and stays among the readers.
                let passed = theirs.passed(reader.place, channel);
                reader.passed = passed.unwrap_or(reader.passed);
                if passed.is_none_or(|passed| board::is_behind(number, passed)) {
                    showing = Showing::Unsure;
                }
                link.rouse();
            }
        }
        showing
    }

    /// See [`ringworld_transport::Transport::shown`].
    #[inline]
    pub(crate) fn shown_by(&mut self, from: Rank, channel: u64, number: u32) -> Option<Shown> {
        let theirs = self.peers.get_mut(from)?.board.as_mut()?;
        let place = theirs.place_of_shown(channel)?;
        TheirOutbox::BOARD.shown_in(theirs.outbox.memory(), (place, channel), number)
    }

    /// See [`ringworld_transport::Transport::copy_shown`].
    #[inline]
    pub(crate) fn copy_shown_by(
        &mut self,
        from: Rank,
        channel: u64,
        number: u32,
        offset: usize,
        into: &mut [u8],
    ) {
        if let Some(theirs) = self.peers.get_mut(from).and_then(|peer| peer.board.as_mut())
            && let Some(place) = theirs.place_of_shown(channel)
        {
            let is_near = !self.outbox.is_far();
            theirs.outbox.read_shown((place, number), offset, into, is_near);
        }
    }

    /// See [`ringworld_transport::Transport::pass`].
    pub(crate) fn pass_channel(&mut self, channel: u64, number: u32) -> bool {
        let memory = self.outbox.memory();
        if let Some(known) = self.channels.iter_mut().find(|known| known.name == channel) {
            Board::OF_OUTBOX.pass(memory, known.place, number);
            memory.fence();
            return !known.left;
        }
        let Some(place) = self.free_place() else { return false };
        Board::OF_OUTBOX.open(self.outbox.memory(), place, channel, number);
        self.outbox.memory().fence();
        self.channels.push(Channel {
            name: channel,
            place,
            readers: Vec::new(),
            last: None,
            rooms: Rooms::new(),
            left: false,
        });
        true
    }

    /// A place that no channel has, or one has no more.
    fn free_place(&mut self) -> Option<Place> {
        let Self { channels, peers, .. } = self;
        let is_done = |channel: &Channel| {
            let past = |reader: &Reader| match (&peers[reader.rank], channel.last) {
                (Peer { state: State::Gone(_), .. }, _) | (_, None) => true,
                (Peer { board: Some(theirs), .. }, Some(last)) => {
                    let passed = theirs.passed_at_last(reader.place, channel.name);
                    passed.is_none_or(|passed| board::is_behind(last, passed))
                }
                _ => true,
            };
            channel.left && channel.readers.iter().all(past)
        };
        channels.retain(|channel| !is_done(channel));
        Board::places().find(|place| channels.iter().all(|channel| channel.place != *place))
    }

    /// See [`ringworld_transport::Transport::leave`].
    pub(crate) fn leave_channel(&mut self, channel: u64) {
        let memory = self.outbox.memory();
        if let Some(known) = self.channels.iter_mut().find(|known| known.name == channel) {
            known.left = true;
            Board::OF_OUTBOX.leave(memory, known.place, channel);
            memory.fence();
        }
    }
}

/// In which order rooms are taken for so many readers: few where it is no matter which core has last written there,
/// which is so with other processors than AMD's, and for what is written past the caches.
fn order(readers: usize, outbox: &Outbox) -> Order {
    if !stream::may_be_better() || outbox.is_far() {
        Order::Few
    } else if readers == 1 && outbox.takes_in_turn() {
        Order::InTurn
    } else {
        // Among more, more pages are found for the first time, and two to a core gain nothing by it: 16 KiB shown to
        // three took five times as long for the first hundreds.
        Order::ByNumber
    }
}

/// How many numbers before this one some reader may still look at, as far as is known.
fn behind(readers: &[Reader], number: u32) -> u32 {
    readers.iter().map(|reader| board::distance(number, reader.passed)).max().unwrap_or(0)
}

/// Shows what is long enough for it to matter how it is copied.
#[inline(never)]
fn show_at_pace(
    outbox: &mut Outbox,
    at: (Place, u32, u32),
    label: &Label,
    payload: &[u8],
    is_used_again: bool,
) {
    let board = Board::OF_OUTBOX;
    match outbox.way(payload.len()) {
        Copy::Ordinary => board.show(outbox.memory(), at, label, payload),
        Copy::PastCaches => board.show(&PastCaches(outbox.memory()), at, label, payload),
        Copy::Timed => outbox.timed(payload.len(), is_used_again, |memory| {
            board.show(memory, at, label, payload);
        }),
    }
}

/// Whether something may be shown to a peer, who is then among the readers.
#[inline]
fn is_reader(readers: &mut Vec<Reader>, rank: Rank, channel: u64, peers: &mut [Peer]) -> bool {
    let Some(Peer { state: State::Open(_), board: Some(theirs), shutdown, .. }) = peers.get_mut(rank) else {
        return false;
    };
    if shutdown.is_peer_closed() {
        return false;
    }
    let Some(place) = theirs.place(channel) else { return false };
    if let Some(reader) = readers.iter_mut().find(|reader| reader.rank == rank) {
        // Its communicator may have gone, and be there anew.
        reader.place = place;
    } else {
        let Some(passed) = theirs.passed(place, channel) else { return false };
        readers.push(Reader { rank, place, passed });
    }
    true
}
