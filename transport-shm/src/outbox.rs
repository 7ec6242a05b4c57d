//! What a rank shows to all its peers on this host: whether it sleeps, and the payloads that are too long for rings.
//!
//! One piece of shared memory per rank, which only its owner can write:
//!
//! ```text
//! EPOCH   word: odd while the owner sleeps, or is about to, and wants to be woken
//! BOARD   what is shown to several peers at once: see `board.rs`
//! SLOTS   pieces of SLOT bytes
//! ```
//!
//! Slots are taken for a piece of a payload, as many in a row as it needs, and are free again when the ring that names
//! them has been read so far. That is why payloads do not lie in the rings: n ranks that all talk to each other would
//! need n times n long ones. Neighbours: `slots.rs` says which ones, `pace.rs` how they are filled; `link.rs` names
//! them, `transport.rs` sleeps.

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use ringworld_transport::descriptor::Descriptor;

use crate::board::{self, Board, Place};
use crate::memory::{LINE, MapError, Mapping, Writers, stream, within_line};
use crate::pace::{self, Copy, Pace};
use crate::ring::ByWords;
use crate::slots::{self, Run, SLOTS, Slots};

/// Bytes of a slot.
pub(crate) const SLOT: usize = 4 << 10;
/// From one slot to the next: a piece begins as far [within a line](within_line) as it does where it comes from.
const STRIDE: usize = SLOT + LINE;
/// The longest piece of a payload.
pub(crate) const LONGEST: usize = slots::LONGEST * SLOT;
/// Bytes of all slots.
pub(crate) const ROOM: usize = SLOTS * SLOT;
/// Bytes of the slots that are taken in turn.
const WINDOW: usize = 2 << 20;
/// Pieces that may be on their way at once, to all peers: some for each of a few. What more of them would take is
/// memory, 4 MiB of it among 64 ranks that all send to all.
const PIECES: usize = 32;
/// Up to so many peers there is memory enough for slots in turn.
const FEW: usize = 8;
/// What is copied off the board of a near core word by word: less is not copied by `rep movsb` either, and with more it
/// is faster.
const BY_WORDS: Range<usize> = 2 << 10..24 << 10;
/// Bytes of the whole.
pub(crate) const SIZE: usize = (FIRST + SLOTS * STRIDE).next_multiple_of(4096);

const EPOCH: usize = 0;
/// Not at a page: slots would then begin a few bytes before or behind what programs send and receive, modulo a page,
/// which is where copies can be slow; see `memory/copy.rs`. Long vectors begin at a page or 16 bytes behind one.
const FIRST: usize = (Board::OF_OUTBOX.0 + board::SIZE).next_multiple_of(4096) + 64;

/// This rank's own.
#[derive(Debug)]
pub(crate) struct Outbox {
    memory: Mapping,
    fd: Descriptor<OwnedFd>,
    epoch: u64,
    slots: Slots,
    /// Pieces on their way.
    pieces: usize,
    has_few_peers: bool,
    /// Some have come back.
    got_back: bool,
    /// Where it matters how payloads are copied to where others read them.
    pace: Option<Pace>,
}

impl Outbox {
    pub(crate) fn new() -> Result<Self, MapError> {
        let (memory, fd) = Mapping::create(SIZE, Writers::Maker)?;
        let pace = stream::may_be_better().then(Pace::default);
        let slots = Slots::new(WINDOW / SLOT);
        let fd = Descriptor::new(fd);
        Ok(Self { memory, fd, epoch: 0, slots, pieces: 0, has_few_peers: true, got_back: false, pace })
    }

    /// What lies in it.
    #[inline]
    pub(crate) fn memory(&self) -> &Mapping {
        &self.memory
    }

    /// What peers map.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A second mapping of it as peers have it, of the size that theirs have: to keep room for one.
    pub(crate) fn map_again(&self) -> Result<TheirOutbox, MapError> {
        TheirOutbox::open(&self.fd)
    }

    /// With how many peers there is a connection.
    pub(crate) fn serves(&mut self, peers: usize) {
        self.has_few_peers = peers <= FEW;
    }

    /// Slots for a piece of at most [`LONGEST`] bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Run> {
        if self.pieces == PIECES {
            return None;
        }
        let slots = slots_of(bytes);
        let run = match self.takes_in_turn() {
            true => self.slots.take_in_turn(slots),
            false => self.slots.take_lowest(slots),
        };
        self.pieces += usize::from(run.is_some());
        run
    }

    /// Asks for the lines of the slots that will be filled next, if so many bytes are: between near cores messages of 4
    /// KiB to and fro take 0.93 of the time so, of 8 KiB 0.95.
    pub(crate) fn ask_ahead(&self, bytes: usize) {
        if !self.takes_in_turn() {
            return;
        }
        if let Some(slot) = self.slots.next_in_turn(slots_of(bytes)) {
            let first = FIRST + usize::from(slot) * STRIDE;
            (first..first + bytes).step_by(LINE).for_each(|line| self.memory.will_write(line));
        }
    }

    /// Whether memory is better used in turn.
    pub(crate) fn takes_in_turn(&self) -> bool {
        self.has_few_peers && self.pace.as_ref().is_none_or(Pace::is_near)
    }

    /// Gives back what is more than a piece needs after all.
    pub(crate) fn trim(&mut self, run: Run, bytes: usize) -> Run {
        self.slots.trim(run, slots_of(bytes))
    }

    /// Fills slots that have been taken for so many bytes, and says where in them they lie.
    pub(crate) fn fill(&mut self, run: Run, bytes: &[u8]) -> Piece {
        let piece = Piece { slot: run.first, within: within_line(bytes) as u16, length: bytes.len() as u32 };
        let at = piece.place();
        let way = self.way(bytes.len());
        // What has not been written before is memory that the system has yet to find.
        let is_used_again = self.slots.is_used_again(run, bytes.len().div_ceil(SLOT));
        match way {
            Copy::Ordinary => self.memory.write(at, bytes),
            Copy::PastCaches => self.memory.write_past_caches(at, bytes),
            Copy::Timed => self.timed(bytes.len(), is_used_again, |memory| memory.write(at, bytes)),
        }
        piece
    }

    /// Whether peers seem to be far.
    pub(crate) fn is_far(&self) -> bool {
        self.pace.as_ref().is_some_and(Pace::is_far)
    }

    /// How to copy so many bytes next, be it to slots, to a ring or to a board.
    #[inline]
    pub(crate) fn way(&mut self, bytes: usize) -> Copy {
        self.pace.as_mut().map_or(Copy::Ordinary, |pace| pace.next(bytes))
    }

    /// Does what copies so many bytes, and takes note of how long it took if it `tells`.
    pub(crate) fn timed<T>(&mut self, bytes: usize, tells: bool, copy: impl FnOnce(&Mapping) -> T) -> T {
        // What is still on its way out of this core counts for the copy only.
        fence(Ordering::SeqCst);
        let begin = Instant::now();
        let done = copy(&self.memory);
        fence(Ordering::SeqCst);
        if let Some(pace) = self.pace.as_mut().filter(|_| tells) {
            pace.took(bytes, begin.elapsed());
        }
        done
    }

    /// Gives back the last slots that were taken, of which none is needed after all.
    pub(crate) fn untake(&mut self, run: Run) {
        self.pieces -= 1;
        self.slots.untake(run);
    }

    /// Nobody knows whether the slots are read any more, so they are taken for good. That is so after a connection that
    /// this side has given up, which is mostly the end of all.
    pub(crate) fn lose(&mut self, _run: Run) {
        self.pieces -= 1;
    }

    /// Whether any slots have been given back since this was asked last: who waits for some may go on.
    pub(crate) fn has_got_back(&mut self) -> bool {
        std::mem::take(&mut self.got_back)
    }

    /// Nobody reads the slots any more.
    pub(crate) fn give(&mut self, run: Run) {
        self.pieces -= 1;
        self.got_back = true;
        self.slots.give(run);
    }

    /// Asks to be woken, or no more. To be followed by a fence where it asks.
    pub(crate) fn sleeps(&mut self, asleep: bool) {
        if asleep != (self.epoch % 2 == 1) {
            self.epoch += 1;
            self.memory.store(EPOCH, self.epoch);
        }
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.epoch % 2 == 1
    }
}

// There is room for all of them, whatever order they are given back in: a run of the longest is free unless each of its
// places has something of a piece.
const _: () = assert!(PIECES * slots::LONGEST <= SLOTS);

/// How many slots a piece takes.
fn slots_of(bytes: usize) -> usize {
    bytes.div_ceil(SLOT).next_power_of_two()
}

/// Where a part of a payload lies in an outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The first slot.
    slot: u16,
    /// How far behind the beginning of that.
    within: u16,
    length: u32,
}

impl Piece {
    /// As records name it: slot (2), within (2), length (4), little-endian.
    pub(crate) fn word(self) -> u64 {
        u64::from(self.slot) | u64::from(self.within) << 16 | u64::from(self.length) << 32
    }

    /// What a record names, if there can be such a piece: one of at least a byte that lies in an outbox, whoever has
    /// written the word.
    pub(crate) fn of(word: u64) -> Option<Self> {
        let piece = Self { slot: word as u16, within: (word >> 16) as u16, length: (word >> 32) as u32 };
        let (slot, within, length) = (usize::from(piece.slot), usize::from(piece.within), piece.length());
        let lies_inside = slot < SLOTS && within < LINE && within + length <= (SLOTS - slot) * STRIDE;
        (lies_inside && (1..=LONGEST).contains(&length)).then_some(piece)
    }

    pub(crate) fn length(self) -> usize {
        self.length as usize
    }

    fn place(self) -> usize {
        FIRST + usize::from(self.slot) * STRIDE + usize::from(self.within)
    }
}

/// That of a peer.
#[derive(Debug)]
pub(crate) struct TheirOutbox(Mapping);

impl TheirOutbox {
    pub(crate) fn open(fd: &OwnedFd) -> Result<Self, MapError> {
        Mapping::open(fd, SIZE, Writers::Maker).map(Self)
    }

    /// Where its board is.
    pub(crate) const BOARD: Board = Board::OF_OUTBOX;

    /// What lies in it.
    #[inline]
    pub(crate) fn memory(&self) -> &Mapping {
        &self.0
    }

    /// The sleep in which the peer wants to be woken, by number.
    #[inline]
    pub(crate) fn sleep(&self) -> Option<u64> {
        Some(self.0.load(EPOCH)).filter(|epoch| epoch % 2 == 1)
    }

    /// Copies what is shown on its board from `offset` on, as far as there is any.
    #[inline]
    pub(crate) fn read_shown(
        &self,
        (place, number): (Place, u32),
        offset: usize,
        into: &mut [u8],
        is_near: bool,
    ) {
        match is_near && BY_WORDS.contains(&into.len()) && stream::may_be_better() {
            true => Self::BOARD.copy(&ByWords(&self.0), place, number, offset, into),
            false => Self::BOARD.copy(&self.0, place, number, offset, into),
        }
    }

    /// Copies the beginning of a piece, as much as there is room for and no more than there is, of a payload that has
    /// `whole` bytes.
    pub(crate) fn read(&self, piece: Piece, into: &mut [u8], whole: usize) {
        let at = piece.place();
        let there = into.len().min(piece.length());
        let into = &mut into[..there];
        match stream::may_be_better() {
            true if pace::is_too_long_for_caches(whole) => self.0.read_past_caches(at, into),
            true => self.0.read_by_words(at, into),
            false => self.0.read(at, into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_read_what_was_put_into_the_last_slots() {
        let mut outbox = Outbox::new().unwrap();
        let theirs = TheirOutbox::open(&outbox.fd.try_clone().unwrap()).unwrap();
        let all: Vec<Run> = std::iter::from_fn(|| outbox.take(LONGEST)).collect();
        assert_eq!(all.len() * LONGEST, ROOM);
        let last = *all.iter().max_by_key(|run| run.first).unwrap();
        // Wherever within a line it begins.
        let bytes = [9; LONGEST + LINE];
        let from = LINE - 1 - within_line(&bytes);
        let piece = outbox.fill(last, &bytes[from..from + LONGEST]);
        assert_eq!((piece.within, Piece::of(piece.word())), (63, Some(piece)));
        for whole in [LONGEST, pace::TOO_LONG] {
            let mut bytes = [0; LONGEST];
            theirs.read(piece, &mut bytes, whole);
            assert!(bytes.iter().all(|byte| *byte == 9), "of a payload of {whole} bytes");
        }
    }

    #[test]
    fn as_many_pieces_as_may_be_on_their_way_and_not_one_more() {
        for bytes in [1, SLOT, SLOT + 1, LONGEST] {
            let mut outbox = Outbox::new().unwrap();
            let mut taken: Vec<Run> = std::iter::from_fn(|| outbox.take(bytes)).collect();
            assert_eq!(taken.len(), PIECES, "of {bytes} bytes");
            outbox.give(taken.swap_remove(9));
            assert!(outbox.take(bytes).is_some() && outbox.take(bytes).is_none());
        }
    }

    #[test]
    fn among_many_peers_the_lowest_slots_are_used_again() {
        let mut outbox = Outbox::new().unwrap();
        outbox.pace = None;
        let mut highest = |peers| {
            outbox.serves(peers);
            let mut turn = || {
                let run = outbox.take(SLOT).unwrap();
                outbox.give(run);
                run.first
            };
            (0..100).map(|_| turn()).max()
        };
        assert_eq!((highest(FEW + 1), highest(FEW) > Some(16), highest(FEW + 1)), (Some(0), true, Some(0)));
    }

    #[test]
    fn no_piece_lies_outside() {
        let last = SLOTS as u64 - 1;
        let word = |slot: u64, within: u64, length: usize| slot | within << 16 | (length as u64) << 32;
        for (slot, within, length) in
            [(0, 0, LONGEST), (last, 63, SLOT), (last - 1, 64 - 1, 2 * SLOT), (last, 0, 1)]
        {
            let piece = Piece::of(word(slot, within, length)).unwrap();
            assert!(piece.place() + piece.length() <= SIZE && piece.length() == length, "{piece:?}");
        }
        let impossible = [
            (0, 0, LONGEST + 1),
            (last, 0, STRIDE + 1),
            (last, 1, STRIDE),
            (last + 1, 0, 1),
            (u64::from(u16::MAX), 0, 1),
            (0, 64, 1),
            (0, u64::from(u16::MAX), 1),
            (0, 0, u32::MAX as usize),
            (0, 0, 0),
        ];
        for (slot, within, length) in impossible {
            assert_eq!(Piece::of(word(slot, within, length)), None, "{slot} {within} {length}");
        }
    }

    #[test]
    fn each_sleep_has_a_number() {
        let mut outbox = Outbox::new().unwrap();
        let theirs = TheirOutbox::open(&outbox.fd.try_clone().unwrap()).unwrap();
        let mut seen = Vec::new();
        for asleep in [false, true, true, false, true] {
            outbox.sleeps(asleep);
            seen.push(theirs.sleep());
        }
        assert_eq!(seen, [None, Some(1), Some(1), None, Some(3)]);
    }
}
