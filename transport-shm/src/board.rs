//! A rank's board: short payloads that it shows to several peers at once. Pure, over whatever keeps its words and
//! bytes.
//!
//! The board is a part of the outbox, which only its owner writes and all its peers may read. It has a place for each
//! of a few channels:
//!
//! ```text
//! NAMES     a word for each place: the channel that has it, 0 for none; left (1) channel + 1 (63)
//! place     PASSED  word: all before this number is not needed by the owner any more
//!           CELLS   lines:  word | label (24) | the first bytes     word: there (1) where (13) length (18) number (32)
//!           REST    as many rooms for what is longer
//! ```
//!
//! A payload of number k lies in cell k modulo [`CELLS`], and its word is written last; the rest of it lies in the room
//! that the word names. Both are replaced when all to whom anything was ever shown in the channel have PASSED beyond
//! what was there, which they say on boards of their own: so nobody reads while it is replaced, but for whoever does
//! not keep to that, and gets bytes that are checked like all that comes from others. Who has never been shown anything
//! is not asked. Which room is taken is [`Rooms`]'s to say: a long one mostly takes one of few.
//!
//! **One of two notices.** Who shows something under k passes a fence and looks whether anybody has PASSED beyond k,
//! which is mostly somebody who has looked already; who passes a number passes a fence and then looks what is shown
//! before it. So it cannot be that both see nothing.
//!
//! **Who looks late**, at a number that it has passed, may find that the place has been given to another channel since
//! it was found, and something is shown there under that number. So the name is looked at once more behind what is
//! shown ([`Board::shown_in`]): that of the other channel was written before anything was shown in it.
//!
//! **Who leaves a channel** marks its name, passes a fence and looks at all that is shown there, before it says that it
//! has passed that. Nothing is shown to whoever has that mark; who finds it only after showing something has been seen,
//! or is not sure of it.
//! Neighbours: `outbox.rs` has the memory, `showing.rs` knows the peers.

use ringworld_transport::{Label, Shown};

use crate::memory::{LINE, within_line};
use crate::ring::Shared;

/// How many channels have a place. A communicator has one.
pub(crate) const PLACES: usize = if cfg!(ringworld_model) { 1 } else { 8 };
/// How far a rank may be ahead of whoever looks.
pub(crate) const CELLS: u32 = if cfg!(ringworld_model) { 2 } else { 32 };
/// The longest payload.
pub(crate) const LONGEST: usize = if cfg!(ringworld_model) { 40 } else { 128 << 10 };
/// From one room for the rest of a payload to the next. Were it a power of two, short ones would all fall into the same
/// few places of the caches.
const STRIDE: usize = if cfg!(ringworld_model) { 2 * PART_STRIDE } else { LONGEST + (8 << 10) };
/// A room has so many parts, for payloads that fill no more than one; the others begin where it begins.
const PARTS: u32 = if cfg!(ringworld_model) { 2 } else { 4 };
const PART: usize = if cfg!(ringworld_model) { LONGEST } else { 32 << 10 };
/// From one part to the next.
const PART_STRIDE: usize = if cfg!(ringworld_model) { PART } else { PART + LINE };
/// Bytes of the whole.
pub(crate) const SIZE: usize = LINE + PLACES * PLACE;

const WORD: usize = 8;
const LABEL: usize = size_of::<Label>();
/// So long a rest begins as far [within a line](within_line) as it does where it comes from.
const ALIGNED: usize = 4 << 10;
/// How many bytes of a payload lie beside its word.
const BESIDE: usize = LINE - WORD - LABEL;
const CELL: usize = 2 * LINE;
const REST: usize = CELL + CELLS as usize * LINE;
const PLACE: usize = (REST + CELLS as usize * STRIDE).next_multiple_of(LINE);

const LEFT: u64 = 1 << 63;
const THERE: u64 = 1 << 63;
/// Where the rest is: the room and its part, and how far within a line it begins.
const ROOM_AT: u32 = 56;
const WITHIN_AT: u32 = 50;
const LENGTH: u64 = (1 << 18) - 1;
const _: () = assert!(128 % (CELLS * PARTS) == 0 && LONGEST as u64 <= LENGTH);
const _: () = assert!(PARTS as usize * PART_STRIDE <= STRIDE);

/// Where a channel is on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

/// A board in memory, from `base` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Board(pub(crate) usize);

impl Board {
    /// The one in an outbox.
    pub(crate) const OF_OUTBOX: Self = Self(4096);

    fn name(self, place: Place) -> usize {
        self.0 + place.0 * WORD
    }

    fn passed_word(self, place: Place) -> usize {
        self.0 + LINE + place.0 * PLACE
    }

    fn cell(self, place: Place, number: u32) -> usize {
        self.passed_word(place) + CELL + (number % CELLS) as usize * LINE
    }

    /// Where the rest of a payload of so many bytes is. Whatever `room` and `within` say, it is one of the rooms, and
    /// all of the payload is within it.
    fn rest(self, place: Place, (room, within): (u32, usize), length: usize) -> usize {
        let part = if length <= PART { (room / CELLS % PARTS) as usize * PART_STRIDE } else { 0 };
        self.passed_word(place) + REST + (room % CELLS) as usize * STRIDE + part + within % LINE
    }

    /// All places.
    pub(crate) fn places() -> impl Iterator<Item = Place> {
        (0..PLACES).map(Place)
    }

    /// Where a channel is, if it has a place, also where the owner takes no part any more. Channels are not numbered
    /// beyond half of all numbers.
    pub(crate) fn find(self, memory: &impl Shared, channel: u64) -> Option<Place> {
        Self::places().find(|place| self.keeps(memory, *place, channel))
    }

    /// Whether a channel in which the owner takes part has this place.
    #[inline]
    pub(crate) fn has(self, memory: &impl Shared, place: Place, channel: u64) -> bool {
        memory.load(self.name(place)) == channel.wrapping_add(1)
    }

    /// Whether a channel has this place, or had it last.
    #[inline]
    pub(crate) fn keeps(self, memory: &impl Shared, place: Place, channel: u64) -> bool {
        memory.load(self.name(place)) & !LEFT == channel.wrapping_add(1)
    }

    /// Gives a place, which nobody else uses, to a channel that begins with this number.
    pub(crate) fn open(self, memory: &impl Shared, place: Place, channel: u64, number: u32) {
        for cell in 0..CELLS {
            memory.store(self.cell(place, cell), 0);
        }
        memory.store(self.passed_word(place), u64::from(number));
        memory.store(self.name(place), channel.wrapping_add(1));
    }

    /// The owner takes part in the channel of a place no more. What is shown there stays. To be followed by a fence.
    pub(crate) fn leave(self, memory: &impl Shared, place: Place, channel: u64) {
        memory.store(self.name(place), LEFT | channel.wrapping_add(1));
    }

    /// All before this number is not needed any more. To be followed by a fence.
    #[inline]
    pub(crate) fn pass(self, memory: &impl Shared, place: Place, number: u32) {
        memory.store(self.passed_word(place), u64::from(number));
    }

    /// Which number the owner has passed up to.
    #[inline]
    pub(crate) fn passed(self, memory: &impl Shared, place: Place) -> u32 {
        memory.load(self.passed_word(place)) as u32
    }

    /// Writes a payload into its cell and a room, which must be free. To be followed by a fence.
    #[inline]
    pub(crate) fn show(
        self,
        memory: &impl Shared,
        (place, number, room): (Place, u32, u32),
        label: &Label,
        payload: &[u8],
    ) {
        debug_assert!(payload.len() <= LONGEST);
        let cell = self.cell(place, number);
        let (beside, rest) = payload.split_at(payload.len().min(BESIDE));
        // Whoever looks although it has passed what was here sees either of the two, or nothing.
        memory.store(cell, 0);
        memory.order_writes();
        memory.write(cell + WORD, label);
        memory.write(cell + WORD + LABEL, beside);
        // What is short takes as few lines as it can.
        let within = if rest.len() < ALIGNED { 0 } else { within_line(rest) };
        if !rest.is_empty() {
            memory.write(self.rest(place, (room, within), payload.len()), rest);
        }
        let at = u64::from(room % (CELLS * PARTS)) << ROOM_AT | (within as u64) << WITHIN_AT;
        memory.store(cell, THERE | at | (payload.len() as u64) << 32 | u64::from(number));
    }

    /// What is shown under a number in a channel that had this place a moment ago, if it is: to look is allowed after
    /// it was passed, too, when it may be replaced, and the place be given away, meanwhile.
    #[inline]
    pub(crate) fn shown_in(
        self,
        memory: &impl Shared,
        (place, channel): (Place, u64),
        number: u32,
    ) -> Option<Shown> {
        let shown = self.shown(memory, place, number)?;
        self.keeps(memory, place, channel).then_some(shown)
    }

    /// The same, in whatever channel has the place.
    #[inline]
    pub(crate) fn shown(self, memory: &impl Shared, place: Place, number: u32) -> Option<Shown> {
        let cell = self.cell(place, number);
        let word = memory.load(cell);
        if word & THERE == 0 || word as u32 != number {
            return None;
        }
        let mut label = [0; LABEL];
        memory.read(cell + WORD, &mut label);
        memory.order_reads();
        if memory.load(cell) != word {
            return None;
        }
        Some(Shown { label, length: length_of(word) })
    }

    /// Copies what is shown from `offset` on, as far as there is any.
    #[inline]
    pub(crate) fn copy(
        self,
        memory: &impl Shared,
        place: Place,
        number: u32,
        offset: usize,
        into: &mut [u8],
    ) {
        let word = memory.load(self.cell(place, number));
        let room = into.len().min(length_of(word).saturating_sub(offset));
        let here = BESIDE.saturating_sub(offset).min(room);
        let (beside, rest) = into[..room].split_at_mut(here);
        if !beside.is_empty() {
            memory.read(self.cell(place, number) + WORD + LABEL + offset, beside);
        }
        if !rest.is_empty() {
            let room = ((word & !THERE) >> ROOM_AT) as u32;
            let at = self.rest(place, (room, (word >> WITHIN_AT) as usize), length_of(word));
            memory.read(at + (offset + here - BESIDE), rest);
        }
    }
}

/// The length of a payload, as far as it can be.
#[inline]
fn length_of(word: u64) -> usize {
    ((word >> 32 & LENGTH) as usize).min(LONGEST)
}

/// In which order rooms are taken for payloads that do not lie beside their word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// By number, all round the cells.
    ByNumber,
    /// All round the rooms, and for payloads that fill no more than one all round their parts. For one other rank.
    ///
    /// To write again what another core still keeps takes AMD's processors three times as long as what it keeps no more
    /// (see `slots.rs`), and 32 rooms of 16 KiB are less than such a cache, as are every second of 64, by which two
    /// roots in turn broadcast. Two ranks all-reduce 16 KiB in 1.8 us so instead of 2.9, broadcasts of 64 KiB take 4.3
    /// instead of 5.5, and to all to all 16 KiB 1.1 instead of 1.8 (near cores of a Zen 4 EPYC).
    InTurn,
    /// One that was used before and that all have passed where there is one, if a payload is long: those are few where
    /// ranks wait for one another, and more as whoever shows gets ahead.
    ///
    /// A room that was never used is memory that the system has yet to find, for its owner and for all who look: four
    /// ranks that were shown 64 KiB took 71 us for each of the first 32, instead of 11.
    Few,
}

/// Which rooms of a place are taken, and up to when; of whoever shows.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// Under which number each was used last.
    used: [Option<u32>; CELLS as usize],
    /// How many bytes of each part of each were ever written.
    written: [[usize; PARTS as usize]; CELLS as usize],
    /// Where to begin to look, and how often all have been gone round.
    next: u32,
    rounds: u32,
}

/// A room for a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) index: u32,
    part: u32,
    /// What lies there is not to be replaced before all have passed this.
    used: Option<u32>,
    /// All of it has been written before, or nobody minds.
    pub(crate) is_known: bool,
}

impl Room {
    /// Whether what is to be shown there under `number` replaces nothing that somebody who has passed up to `passed`
    /// may still look at, who may be ahead.
    #[inline]
    pub(crate) fn admits(self, number: u32, passed: u32) -> bool {
        has_room(number, passed) && self.used.is_none_or(|used| is_behind(used, passed))
    }

    /// The room and its part, as [`Board::show`] takes it.
    #[inline]
    pub(crate) fn place(self) -> u32 {
        self.index + self.part * CELLS
    }
}

impl Rooms {
    /// Shorter payloads take few pages, of which all rooms have some soon enough, and gain nothing.
    const LONG: usize = if cfg!(ringworld_model) { 0 } else { 16 << 10 };

    /// Shorter ones begin where a room does.
    const PARTED: usize = if cfg!(ringworld_model) { 0 } else { ALIGNED };

    pub(crate) fn new() -> Self {
        let (used, written) = ([None; CELLS as usize], [[0; PARTS as usize]; CELLS as usize]);
        Self { used, written, next: 0, rounds: 0 }
    }

    /// The room for a payload of so many bytes; `behind`: what is so much older than `number` is known to be passed. A
    /// payload that lies beside its word needs none.
    #[inline]
    pub(crate) fn find(
        &self,
        number: u32,
        length: usize,
        order: Order,
        behind: impl FnOnce() -> u32,
    ) -> Room {
        if length <= BESIDE {
            return Room { index: 0, part: 0, used: None, is_known: true };
        }
        let (index, part) = match order {
            Order::Few if length > Self::LONG || self.used(number, number % CELLS).is_some() => {
                return self.search(number, length, behind());
            }
            Order::InTurn => {
                let has_parts = (Self::PARTED..=PART).contains(&length);
                (self.next, if has_parts { self.rounds % PARTS } else { 0 })
            }
            Order::Few | Order::ByNumber => (number % CELLS, 0),
        };
        Room { index, part, used: self.used(number, index), is_known: true }
    }

    /// When a room was used, if somebody may not have passed that: what is older than a round of the cells is passed,
    /// or there would be no cell.
    #[inline]
    fn used(&self, number: u32, room: u32) -> Option<u32> {
        self.used[room as usize].filter(|used| number.wrapping_sub(*used) < CELLS)
    }

    /// Whether something has lain before wherever a payload of so many bytes will lie.
    fn is_written(&self, place: u32, length: usize) -> bool {
        let written = &self.written[(place % CELLS) as usize];
        parts(place / CELLS, length).all(|(part, bytes)| written[part] >= bytes)
    }

    #[inline(never)]
    fn search(&self, number: u32, length: usize, behind: u32) -> Room {
        let own = number % CELLS;
        let is_free =
            |room: &u32| self.used(number, *room).is_none_or(|used| number.wrapping_sub(used) > behind);
        let known = match length <= Self::LONG && is_free(&own) {
            true => Some(own),
            false => {
                let is_known = |room: &u32| self.is_written(*room, length);
                (self.next..CELLS).chain(0..self.next).find(|room| is_known(room) && is_free(room))
            }
        };
        let index = known.or_else(|| (0..CELLS).find(is_free)).unwrap_or(own);
        Room { index, part: 0, used: self.used(number, index), is_known: known.is_some() }
    }

    /// Takes a room for a payload; whether it is the first time for some of it.
    #[inline]
    pub(crate) fn take(&mut self, room: Room, number: u32, length: usize) -> bool {
        if length <= BESIDE {
            return false;
        }
        let is_new = !self.is_written(room.place(), length);
        self.used[room.index as usize] = Some(number);
        for (part, bytes) in parts(room.part, length) {
            let written = &mut self.written[room.index as usize][part];
            *written = bytes.max(*written);
        }
        self.next = (room.index + 1) % CELLS;
        self.rounds = self.rounds.wrapping_add(u32::from(self.next == 0));
        is_new
    }
}

/// In which parts of a room a payload lies that begins in this one, and up to where in each.
fn parts(first: u32, length: usize) -> impl Iterator<Item = (usize, usize)> {
    (first as usize..PARTS as usize).zip((0..length).step_by(PART_STRIDE)).map(move |(part, at)| {
        let bytes = if part + 1 == PARTS as usize { length - at } else { PART_STRIDE.min(length - at) };
        (part, bytes)
    })
}

/// How many numbers before `number` somebody may still look at who has passed up to `passed`, and may be ahead.
#[inline]
pub(crate) fn distance(number: u32, passed: u32) -> u32 {
    if is_behind(number, passed) { 0 } else { number.wrapping_sub(passed) }
}

/// Whether what is to be shown under `number` replaces nothing that somebody who has passed up to `passed` may still
/// look at, who may be ahead.
#[inline]
pub(crate) fn has_room(number: u32, passed: u32) -> bool {
    is_behind(number, passed) || number.wrapping_sub(passed) < CELLS
}

/// Whether somebody who has passed up to `passed` will look for this number no more. Half of the circle lies ahead,
/// half behind.
#[inline]
pub(crate) fn is_behind(number: u32, passed: u32) -> bool {
    number.wrapping_sub(passed) > u32::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Mapping, Writers};

    fn memory() -> (Mapping, Board) {
        let (memory, _fd) = Mapping::create((64 + SIZE).next_multiple_of(4096), Writers::Both).unwrap();
        (memory, Board(64))
    }

    fn payload(number: u32, length: usize) -> Vec<u8> {
        (0..length).map(|index| (number as usize * 31 + index * 7) as u8).collect()
    }

    #[test]
    fn what_is_replaced_while_somebody_looks_is_seen_whole_or_not_at_all() {
        use std::sync::atomic::{AtomicU32, Ordering};

        const LAST: u32 = 200_000 * CELLS;
        let (memory, board) = memory();
        let place = Board::places().next().unwrap();
        board.open(&memory, place, 5, 0);
        // All in the same cell, and each number once, as it is for two to the 32nd collectives.
        let newest = AtomicU32::new(0);
        let label = |number: u32| [(number / CELLS) as u8; LABEL];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in (0..=LAST).step_by(CELLS as usize) {
                    newest.store(number, Ordering::Relaxed);
                    board.show(&memory, (place, number, 0), &label(number), &[]);
                }
            });
            let mut number = 0;
            while number < LAST {
                number = newest.load(Ordering::Relaxed);
                for number in [number.saturating_sub(CELLS), number] {
                    let Some(shown) = board.shown(&memory, place, number) else { continue };
                    assert_eq!(shown.label, label(number), "{number}");
                }
            }
        });
    }

    #[test]
    fn what_is_shown_is_found_under_its_number_alone_at_all_lengths() {
        let (memory, board) = memory();
        let places: Vec<Place> = Board::places().collect();
        for (channel, place) in (100..).zip(&places) {
            assert_eq!(board.find(&memory, channel), None);
            board.open(&memory, *place, channel, u32::MAX - 3);
            assert_eq!(board.find(&memory, channel), Some(*place));
        }
        let lengths = [0, 1, BESIDE - 1, BESIDE, BESIDE + 1, 100, PART, PART + 1, LONGEST - 1, LONGEST];
        // Past the end of the circle.
        for (step, length) in lengths.into_iter().cycle().take(150).enumerate() {
            let number = (u32::MAX - 3).wrapping_add(step as u32);
            for place in &places {
                assert_eq!(board.shown(&memory, *place, number), None);
                let (label, bytes) = ([place.0 as u8; LABEL], payload(number, length));
                board.show(&memory, (*place, number, number.wrapping_mul(7)), &label, &bytes);
                assert_eq!(board.shown(&memory, *place, number), Some(Shown { label, length }));
                let mut read = vec![0; length];
                board.copy(&memory, *place, number, 0, &mut read);
                assert_eq!(read, bytes);
                for offset in
                    [1, BESIDE - 1, BESIDE, BESIDE + 1, 77].into_iter().filter(|offset| *offset < length)
                {
                    for end in [offset + 1, length] {
                        let mut part = vec![0; end - offset];
                        board.copy(&memory, *place, number, offset, &mut part);
                        assert_eq!(part, bytes[offset..end]);
                    }
                }
                for other in [number.wrapping_add(1), number.wrapping_add(CELLS), number.wrapping_sub(CELLS)]
                {
                    assert_eq!(board.shown(&memory, *place, other), None);
                }
            }
        }
    }

    /// Whatever is shown, and however far the others are behind: what one of them may still look at stays.
    #[test]
    fn no_room_is_taken_before_all_have_passed_what_is_there() {
        const ORDERS: [Order; 3] = [Order::ByNumber, Order::InTurn, Order::Few];
        for seed in 0..300u64 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut rooms = Rooms::new();
            // Once, or each time anew.
            let (flips, mut order) = (random.bool(), ORDERS[seed as usize % 3]);
            // Across the end of the circle.
            let (mut number, mut passed) = (u32::MAX - 200, u32::MAX - 200);
            let mut there: Vec<(u32, u32)> = Vec::new();
            let (mut shown, mut widest) = (0, 0);
            for _ in 0..1000 {
                let length = [0, 100, 8 << 10, 20 << 10, 64 << 10, LONGEST][random.usize(..6)];
                if flips && random.bool() {
                    order = ORDERS[random.usize(..3)];
                }
                // What is known may be older than what is.
                let known = passed.wrapping_sub(random.u32(..4));
                let room = rooms.find(number, length, order, || distance(number, known));
                if !room.admits(number, passed) {
                    // As a rank does it: what is known is looked at once more.
                    let found = rooms.find(number, length, order, || distance(number, passed));
                    // There is room, but perhaps not where it is taken next where that has just changed.
                    let (admits, has_room) = (found.admits(number, passed), has_room(number, passed));
                    assert!(admits == has_room || flips && has_room, "seed {seed}: {number}");
                    passed = passed.wrapping_add(1);
                    continue;
                }
                there.retain(|(_, at)| !is_behind(*at, passed));
                rooms.take(room, number, length);
                if length > BESIDE {
                    let index = room.index;
                    assert!(there.iter().all(|(taken, _)| *taken != index), "seed {seed}: {number} {passed}");
                    there.push((index, number));
                }
                (shown, widest) = (shown + 1, widest.max(there.len()));
                number = number.wrapping_add(1);
            }
            assert!(shown > 400 && widest > 4, "seed {seed}: {shown} shown, {widest} at once");
        }
    }

    #[test]
    fn long_payloads_take_as_few_rooms_as_they_can_and_short_ones_go_round_all() {
        let mut rooms = Rooms::new();
        let mut numbers = 0..;
        let mut firsts = |length, ahead| {
            let new = numbers.by_ref().take(100).filter(|number| {
                let room = rooms.find(*number, length, Order::Few, || ahead);
                rooms.take(room, *number, length)
            });
            new.count()
        };
        assert_eq!((firsts(LONGEST, 0), firsts(LONGEST, 2), firsts(20 << 10, 5)), (1, 2, 3));
        assert_eq!((firsts(1000, 0), firsts(LONGEST, 40), firsts(LONGEST, 9)), (26, 29, 0));
    }

    /// Whoever shows only some of the numbers, as the roots of broadcasts do in turn, goes round as many.
    #[test]
    fn rooms_and_their_parts_are_taken_in_turn() {
        for (length, all) in
            [(16 << 10, CELLS * PARTS), (PART, CELLS * PARTS), (PART + 1, CELLS), (100, CELLS)]
        {
            for step in [1, 2, 7] {
                let mut rooms = Rooms::new();
                let places: Vec<u32> = (0..2 * all)
                    .map(|turn| {
                        let room = rooms.find(turn * step, length, Order::InTurn, || 0);
                        assert!(room.admits(turn * step, turn * step), "{turn}");
                        rooms.take(room, turn * step, length);
                        room.place()
                    })
                    .collect();
                let (first, second) = places.split_at(all as usize);
                assert_eq!(first, second, "{length} {step}");
                let mut apart = first.to_vec();
                apart.sort_unstable();
                apart.dedup();
                assert_eq!(apart.len(), all as usize, "{length} {step}");
            }
        }
    }

    #[test]
    fn room_is_told_across_the_end_of_the_circle() {
        for passed in [0, 7, u32::MAX - 3, u32::MAX] {
            let at = |distance: u32| passed.wrapping_add(distance);
            assert!((0..CELLS).all(|distance| has_room(at(distance), passed)));
            assert!(!has_room(at(CELLS), passed) && !has_room(at(1000), passed));
            assert!(has_room(passed.wrapping_sub(1), passed) && has_room(passed.wrapping_sub(1000), passed));
            assert!(is_behind(passed.wrapping_sub(1), passed) && !is_behind(passed, passed));
            assert!(!is_behind(at(1000), passed));
        }
    }

    #[test]
    fn a_place_that_is_given_away_shows_nothing_of_its_last_channel() {
        let (memory, board) = memory();
        let place = Place(2);
        board.open(&memory, place, 5, 0);
        board.show(&memory, (place, 0, 0), &[1; LABEL], b"old");
        board.leave(&memory, place, 5);
        assert!(!board.has(&memory, place, 5) && board.keeps(&memory, place, 5));
        assert_eq!(board.find(&memory, 5), Some(place));
        assert!(board.shown(&memory, place, 0).is_some(), "it stays");
        board.open(&memory, place, 6, 0);
        assert_eq!((board.find(&memory, 5), board.find(&memory, 6)), (None, Some(place)));
        assert_eq!(board.shown(&memory, place, 0), None);
    }

    /// Whoever writes there may write anything.
    #[test]
    fn words_that_cannot_be_do_no_harm() {
        let (memory, board) = memory();
        let last = Board::places().last().unwrap();
        for place in [Place(0), last] {
            board.open(&memory, place, 1, 0);
            for length in [LENGTH, PART as u64, PART as u64 + 1, 0] {
                // The last room, its last part, and as far within it as can be said.
                let at = 127 << ROOM_AT | 63 << WITHIN_AT;
                memory.store(board.cell(place, 3), THERE | at | length << 32 | 3);
                let shown = board.shown(&memory, place, 3).unwrap();
                assert_eq!(shown.length, LONGEST.min(length as usize));
                for offset in [0, BESIDE + 1, LONGEST, 2 * LONGEST, usize::MAX] {
                    board.copy(&memory, place, 3, offset, &mut vec![0; 2 * LONGEST]);
                }
                let end = board.rest(place, (127, 63), shown.length) + shown.length;
                assert!(end <= board.passed_word(place) + PLACE, "{length} {end}");
            }
        }
    }

    /// A room, or some of its parts, that nobody has written before takes its time for another reason than cores that
    /// are far: whatever came before.
    #[test]
    fn what_was_never_written_is_new() {
        for seed in 0..100 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut rooms = Rooms::new();
            let mut written = vec![vec![false; STRIDE]; CELLS as usize];
            for number in 0..600 {
                let length = [100, 1000, ALIGNED, 16 << 10, PART, PART + 1, LONGEST][random.usize(..7)];
                let order = if random.u32(..8) > 0 { Order::InTurn } else { Order::ByNumber };
                let room = rooms.find(number, length, order, || 0);
                let begin = (room.place() / CELLS) as usize * PART_STRIDE;
                let there = &mut written[room.index as usize][begin..begin + length];
                let is_new = there.iter().any(|byte| !byte);
                assert!(rooms.take(room, number, length) || !is_new, "seed {seed}: {number} {room:?}");
                there.fill(true);
            }
            let known = (600..700).filter(|number| {
                let room = rooms.find(*number, 16 << 10, Order::InTurn, || 0);
                !rooms.take(room, *number, 16 << 10)
            });
            assert!(known.count() > 50, "seed {seed}");
        }
    }
}
