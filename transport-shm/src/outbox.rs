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
//! A slot is taken for a piece of a payload and is free again when the ring that names it has been read so far. It is
//! the lowest free one: so memory that has been used is used again while it is in the caches, and a rank that sends
//! little at a time never touches the rest. That is why payloads do not lie in the rings: n ranks that all talk to each
//! other would need n times n long ones. Neighbours: `link.rs` fills and names slots, `transport.rs` sleeps.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use crate::board::{self, Board};
use crate::memory::{MapError, Mapping, Writers, stream};
use crate::pace::{self, Copy, Pace};

/// How many slots.
pub(crate) const SLOTS: usize = 32;
/// Bytes of a slot.
pub(crate) const SLOT: usize = 128 << 10;
/// Bytes of the whole.
const SIZE: usize = (FIRST + SLOTS * SLOT).next_multiple_of(4096);

const EPOCH: usize = 0;
/// Not at a page: slots would then begin a few bytes before or behind what programs send and receive, modulo a page,
/// which is where copies can be slow; see `memory/copy.rs`. Long vectors begin at a page or 16 bytes behind one.
const FIRST: usize = (Board::OF_OUTBOX.0 + board::SIZE).next_multiple_of(4096) + 64;

/// This rank's own.
#[derive(Debug)]
pub(crate) struct Outbox {
    memory: Mapping,
    fd: OwnedFd,
    epoch: u64,
    /// A bit for each free slot.
    free: u32,
    /// Where it matters how slots are filled.
    pace: Option<Pace>,
    /// How much of each slot has been written before: what has not is memory that the system has yet to find.
    written: [u32; SLOTS],
}

impl Outbox {
    pub(crate) fn new() -> Result<Self, MapError> {
        let (memory, fd) = Mapping::create(SIZE, Writers::Maker)?;
        let pace = stream::may_be_better().then(Pace::default);
        Ok(Self { memory, fd, epoch: 0, free: u32::MAX, pace, written: [0; SLOTS] })
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

    /// The lowest free slot.
    pub(crate) fn take(&mut self) -> Option<u8> {
        let slot = self.free.trailing_zeros();
        (slot < SLOTS as u32).then(|| {
            self.free &= !(1 << slot);
            slot as u8
        })
    }

    /// Fills the beginning of a slot that has been taken.
    pub(crate) fn fill(&mut self, slot: u8, bytes: &[u8]) {
        let Some(pace) = self.pace.as_mut().filter(|_| bytes.len() >= pace::SHORTEST) else {
            return self.memory.write(place(slot), bytes);
        };
        match pace.next() {
            Copy::Ordinary => self.memory.write(place(slot), bytes),
            Copy::PastCaches => self.memory.write_past_caches(place(slot), bytes),
            Copy::Timed => {
                let begin = Instant::now();
                self.memory.write(place(slot), bytes);
                if bytes.len() <= self.written[usize::from(slot)] as usize {
                    pace.took(bytes.len(), begin.elapsed());
                }
            }
        }
        let written = &mut self.written[usize::from(slot)];
        *written = (bytes.len() as u32).max(*written);
    }

    /// Nobody reads the slot any more.
    pub(crate) fn give(&mut self, slot: u8) {
        self.free |= 1 << slot;
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

const _: () = assert!(SLOTS == u32::BITS as usize);

fn place(slot: u8) -> usize {
    FIRST + usize::from(slot) * SLOT
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

    /// Whether a slot with so many bytes is possible.
    pub(crate) fn has(slot: u32, length: usize) -> bool {
        (slot as usize) < SLOTS && length <= SLOT
    }

    /// Copies bytes of a slot that [is possible](Self::has).
    pub(crate) fn read(&self, slot: u32, into: &mut [u8]) {
        self.0.read(place(slot as u8), into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_slot_is_taken_and_peers_read_it() {
        let mut outbox = Outbox::new().unwrap();
        let theirs = TheirOutbox::open(&outbox.fd.try_clone().unwrap()).unwrap();
        let all: Vec<u8> = std::iter::from_fn(|| outbox.take()).collect();
        assert!(all.iter().copied().eq(0..SLOTS as u8), "{all:?}");
        outbox.give(7);
        outbox.give(3);
        outbox.fill(31, &[9; SLOT]);
        let mut bytes = [0; SLOT];
        theirs.read(31, &mut bytes);
        assert!(bytes.iter().all(|byte| *byte == 9));
        assert_eq!((outbox.take(), outbox.take(), outbox.take()), (Some(3), Some(7), None));
        assert!(TheirOutbox::has(31, SLOT) && !TheirOutbox::has(32, 1) && !TheirOutbox::has(0, SLOT + 1));
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
