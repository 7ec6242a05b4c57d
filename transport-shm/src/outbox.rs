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

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use crate::board::{self, Board};
use crate::memory::{MapError, Mapping, Writers, stream};
use crate::pace::{self, Copy, Pace};
use crate::slots::{self, Run, SLOTS, Slots};

/// Bytes of a slot.
pub(crate) const SLOT: usize = 8 << 10;
/// The longest piece of a payload.
pub(crate) const LONGEST: usize = slots::LONGEST * SLOT;
/// Bytes of all slots.
pub(crate) const ROOM: usize = SLOTS * SLOT;
/// Bytes of the slots that are taken in turn.
const WINDOW: usize = 2 << 20;
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
    slots: Slots,
    /// Where it matters how slots are filled.
    pace: Option<Pace>,
}

impl Outbox {
    pub(crate) fn new() -> Result<Self, MapError> {
        let (memory, fd) = Mapping::create(SIZE, Writers::Maker)?;
        let pace = stream::may_be_better().then(Pace::default);
        Ok(Self { memory, fd, epoch: 0, slots: Slots::new(WINDOW / SLOT), pace })
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

    /// Slots for a piece of at most [`LONGEST`] bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Run> {
        let slots = slots_of(bytes);
        // Past the caches it does not matter what they hold.
        if self.pace.as_ref().is_some_and(Pace::is_far) {
            return self.slots.take_lowest(slots);
        }
        self.slots.take_in_turn(slots)
    }

    /// Gives back what is more than a piece needs after all.
    pub(crate) fn trim(&mut self, run: Run, bytes: usize) -> Run {
        self.slots.trim(run, slots_of(bytes))
    }

    /// Fills slots that have been taken for so many bytes.
    pub(crate) fn fill(&mut self, run: Run, bytes: &[u8]) {
        let at = place(run.first);
        let Some(pace) = self.pace.as_mut().filter(|_| bytes.len() >= pace::SHORTEST) else {
            return self.memory.write(at, bytes);
        };
        // What has not been written before is memory that the system has yet to find.
        let is_used_again = self.slots.is_used_again(run);
        match pace.next() {
            Copy::Ordinary => self.memory.write(at, bytes),
            Copy::PastCaches => self.memory.write_past_caches(at, bytes),
            Copy::Timed => {
                let begin = Instant::now();
                self.memory.write(at, bytes);
                if is_used_again {
                    pace.took(bytes.len(), begin.elapsed());
                }
            }
        }
    }

    /// Nobody reads the slots any more.
    pub(crate) fn give(&mut self, run: Run) {
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

/// How many slots a piece takes.
fn slots_of(bytes: usize) -> usize {
    bytes.div_ceil(SLOT).next_power_of_two()
}

fn place(slot: u16) -> usize {
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

    /// The first slot of a piece of so many bytes, if there can be such a piece.
    pub(crate) fn piece(slot: u32, length: usize) -> Option<u16> {
        let is_possible =
            (slot as usize) < SLOTS && length <= LONGEST && length <= ROOM - slot as usize * SLOT;
        is_possible.then_some(slot as u16)
    }

    /// Copies bytes of a piece that [is possible](Self::piece), of a payload that has `whole` bytes.
    pub(crate) fn read(&self, slot: u16, into: &mut [u8], whole: usize) {
        if pace::is_too_long_for_caches(whole) && stream::may_be_better() {
            return self.0.read_past_caches(place(slot), into);
        }
        self.0.read(place(slot), into);
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
        assert_eq!(all.len(), ROOM / LONGEST);
        let last = *all.iter().max_by_key(|run| run.first).unwrap();
        outbox.fill(last, &[9; LONGEST]);
        let slot = TheirOutbox::piece(last.first.into(), LONGEST).unwrap();
        for whole in [LONGEST, pace::TOO_LONG] {
            let mut bytes = [0; LONGEST];
            theirs.read(slot, &mut bytes, whole);
            assert!(bytes.iter().all(|byte| *byte == 9), "of a payload of {whole} bytes");
        }
    }

    #[test]
    fn no_piece_lies_outside() {
        let last = SLOTS as u32 - 1;
        for (slot, length) in [(0, LONGEST), (last, SLOT), (last - 1, 2 * SLOT), (last, 0)] {
            assert_eq!(TheirOutbox::piece(slot, length).map(u32::from), Some(slot), "{length}");
        }
        for (slot, length) in
            [(0, LONGEST + 1), (last, SLOT + 1), (last + 1, 0), (u32::MAX, 1), (0, usize::MAX)]
        {
            assert_eq!(TheirOutbox::piece(slot, length), None, "{slot} {length}");
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
