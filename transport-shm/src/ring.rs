//! A ring of records in shared memory, from one producer to one consumer. Pure, over whatever keeps its words and
//! bytes.
//!
//! ```text
//! HEAD    word of the consumer: all records before are read, and what they name is free
//! READ    the same, when it has found nothing more
//! WANTS   word of the producer: it will sleep until there is room, and is to be woken
//! DATA    CAPACITY bytes, used round and round:  word | body, rounded up to lines | word | body | no such word
//! ```
//!
//! The word before a body is its kind, its length, the round in which it was written, and whether that round ends with
//! it. Invariants: what lies behind the last record is not a word of the round in which the next one will be written
//! there. Mostly that is so by itself, for it is of a round before, and the producer makes sure of it before it
//! publishes the record in front, by that record's word, which it writes last. So the consumer looks at one word to see
//! whether there is something, and that word comes with the first bytes of the record; what a producer has half written
//! when it dies is never seen. The consumer believes of a record that it is not longer than [`LONGEST`], once it has
//! checked that, and nothing else: places are taken modulo the capacity by both.
//!
//! **One line for each line.** A producer writes to no line but the record's own, and a consumer looks at none behind
//! it before it has to: each line that one core has written and the other reads, or the other way round, costs a trip
//! between them (EPYC, 40 to 60 bytes to and fro by two loops that do nothing else: 80 ns between near cores and 260
//! between far ones, where the word behind is written as well 110 and 500, where it is looked at 120 and 480).
//!
//! **Short rounds.** Who exchanges one message after the other never has more than a few KiB on their way. To go round
//! the whole ring for them is slow: each line is in a cache of the second level by then, on both sides, instead of the
//! first (EPYC, near cores, both directions: 1 KiB to and fro in a loop that does nothing else 335 ns all round 8 KiB,
//! 447 all round 64; 4 KiB 850 and 1,220). So a record that crosses a multiple of [`EARLY`] ends its round if all
//! before it has been read: the next record stands at the beginning, and what lies between counts as taken until the
//! consumer has come there. READ says whether all has been read; for such records a producer looks there once for each
//! multiple, so that a consumer mostly writes to it without a trip, and that one does so only when it has nothing else
//! to do. A record that begins a long message, or names where one or a part of a put lies, may end its round anywhere
//! behind the first of these multiples: so of a ring through which only such go, and are read in time, a part is all
//! that the system has to find memory for. Until the last record of a round has been read, there is room for as much as
//! stands before it, which is little ([`Producer::is_cramped`]): a producer that finds it too little goes round the
//! whole ring for a while ([`FULL`]).
//!
//! **Nobody sleeps for ever.** A producer that finds no room sets WANTS before it sleeps, and then looks at HEAD once
//! more; the consumer looks at WANTS after it has moved HEAD ([`Consumer::publish`] says whether). It moves HEAD for
//! each quarter of the ring only, or when asked: a producer that finds no room for a record finds more than half of the
//! ring unread, free or left out, so reading on moves HEAD. Neighbours: `link.rs` gives records a meaning, `memory` is
//! what they lie in.

use std::sync::atomic::{Ordering, fence};

use crate::memory::Mapping;

/// Bytes for records. The model checker fills a small one sooner.
pub(crate) const CAPACITY: usize = if cfg!(ringworld_model) { 64 } else { 64 << 10 };
/// The longest body.
pub(crate) const LONGEST: usize = CAPACITY / 8;
/// Where a round may end.
const EARLY: usize = CAPACITY / if cfg!(ringworld_model) { 2 } else { 8 };
/// Shorter records end no round: those of one or two lines take a few nanoseconds less all round the whole ring.
const LEAST: u64 = if cfg!(ringworld_model) { 0 } else { 4 * LINE as u64 };
/// For so many bytes no round is short once there was no room: whoever is ahead now will be again.
const FULL: usize = 64 * CAPACITY;
/// Bytes of a whole ring.
pub(crate) const SIZE: usize = DATA + CAPACITY;

// Words of the two sides are on cache lines of their own, two apart because processors fetch pairs.
const HEAD: usize = 0;
const READ: usize = 128;
const WANTS: usize = 256;
const DATA: usize = 384;
const WORD: usize = 8;
/// Records begin at cache lines: most are no longer than one, and every line that a message lies in more costs its
/// receiver another turn of the cores' caches (175 ns for one of 40 bytes, 160 so; an Intel Xeon). The model checker
/// wants few bytes.
const LINE: usize = if cfg!(ringworld_model) { WORD } else { 64 };

/// So many bytes a producer asks for ahead at most: there is no room for more that are on their way at once.
const AHEAD: u64 = 8 * LINE as u64;

/// Words and bytes that both sides reach; see [`Mapping`], which is what it is but in the model, as it is or by way of
/// [`PastCaches`].
pub(crate) trait Shared {
    /// Whether long parts are copied in past the caches.
    const PAST_CACHES: bool = false;
    /// A word; what was written before it was stored has happened before.
    fn load(&self, at: usize) -> u64;
    /// Stores a word, after everything that was written before.
    fn store(&self, at: usize, value: u64);
    /// Copies bytes out.
    fn read(&self, at: usize, into: &mut [u8]);
    /// Copies bytes in.
    fn write(&self, at: usize, from: &[u8]);
    /// What was stored before is seen by whoever has not yet passed such a fence itself.
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
    /// What is written after this, but past the caches, is not seen before what was stored before it.
    #[inline]
    fn order_writes(&self) {
        fence(Ordering::Release);
    }
    /// What is loaded after this is not older than what was read before it.
    #[inline]
    fn order_reads(&self) {
        fence(Ordering::Acquire);
    }
}

impl Shared for Mapping {
    #[inline]
    fn load(&self, at: usize) -> u64 {
        Self::load(self, at)
    }

    #[inline]
    fn store(&self, at: usize, value: u64) {
        Self::store(self, at, value);
    }

    #[inline]
    fn read(&self, at: usize, into: &mut [u8]) {
        Self::read(self, at, into);
    }

    #[inline]
    fn write(&self, at: usize, from: &[u8]) {
        Self::write(self, at, from);
    }
}

/// The same memory; what fills lines is written past the caches.
pub(crate) struct PastCaches<'a>(pub(crate) &'a Mapping);

impl Shared for PastCaches<'_> {
    const PAST_CACHES: bool = true;

    fn load(&self, at: usize) -> u64 {
        self.0.load(at)
    }

    fn store(&self, at: usize, value: u64) {
        self.0.store(at, value);
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        self.0.read(at, into);
    }

    fn write(&self, at: usize, from: &[u8]) {
        if from.len() < LINE { self.0.write(at, from) } else { self.0.write_past_caches(at, from) }
    }
}

/// The same memory; what is long is copied out word by word.
pub(crate) struct ByWords<'a>(pub(crate) &'a Mapping);

impl Shared for ByWords<'_> {
    fn load(&self, at: usize) -> u64 {
        self.0.load(at)
    }

    fn store(&self, at: usize, value: u64) {
        self.0.store(at, value);
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        if into.len() < LINE { self.0.read(at, into) } else { self.0.read_by_words(at, into) }
    }

    fn write(&self, at: usize, from: &[u8]) {
        self.0.write(at, from);
    }
}

/// In which round of the ring a position is, as far as words tell.
#[inline]
fn round(position: u64) -> u32 {
    (position / CAPACITY as u64) as u32
}

/// The word of a record at `position`.
#[inline]
fn word_of(record: Record, position: u64) -> u64 {
    let Record { kind, detail, length, is_last } = record;
    let length = length as u64 | if is_last { LAST } else { 0 };
    u64::from(kind) | u64::from(detail) << 8 | length << 16 | u64::from(round(position)) << 32
}

/// The record that a word at `position` stands for, if it is one.
#[inline]
fn record_of(word: u64, position: u64) -> Option<Record> {
    let (kind, detail, length) = (word as u8, (word >> 8) as u8, u64::from((word >> 16) as u16));
    let (length, is_last) = ((length & !LAST) as usize, length & LAST != 0);
    ((word >> 32) as u32 == round(position) && kind != 0).then_some(Record { kind, detail, length, is_last })
}

/// In the length of a record that is the last of its round.
const LAST: u64 = 1 << 15;
const _: () = assert!(LONGEST < LAST as usize);

/// Where a byte of the ring lies, and how many follow it before the ring begins anew.
#[inline]
fn place(base: usize, position: u64) -> (usize, usize) {
    let offset = (position % CAPACITY as u64) as usize;
    (base + DATA + offset, CAPACITY - offset)
}

/// Bytes of the ring that a record with a body of `length` bytes takes.
#[inline]
fn taken(length: usize) -> u64 {
    (WORD + length).next_multiple_of(LINE) as u64
}

/// Where the record behind this one stands, which begins at `position`.
#[inline]
fn behind(record: Record, position: u64) -> u64 {
    let next = position + taken(record.length);
    if record.is_last { next.next_multiple_of(CAPACITY as u64) } else { next }
}

/// The side that writes.
#[derive(Debug)]
pub(crate) struct Producer {
    base: usize,
    tail: u64,
    /// Everything before has been read, as far as is known.
    head: u64,
    wants: bool,
    /// Where the last short round has ended, and from where on others may be short.
    early: u64,
    early_from: u64,
    /// Up to which of its bytes the ring is known to have been written.
    used: u64,
}

impl Producer {
    /// Of the ring at `base`, in zeroed memory.
    pub(crate) fn new(base: usize) -> Self {
        Self { base, tail: 0, head: 0, wants: false, early: 0, early_from: 0, used: 0 }
    }

    /// Writes a record with a body of all `parts`, and publishes it; `false` when there is no room. The body must be at
    /// most [`LONGEST`] bytes long; `kind` is not 0.
    #[inline(always)]
    pub(crate) fn push<M: Shared>(&mut self, memory: &M, kind: u8, detail: u8, parts: &[&[u8]]) -> bool {
        self.push_of::<M, false>(memory, kind, detail, parts)
    }

    /// The same for a record that begins something long, next to which it costs nothing to look whether the round may
    /// end here.
    pub(crate) fn push_first(&mut self, memory: &Mapping, kind: u8, detail: u8, parts: &[&[u8]]) -> bool {
        self.push_of::<Mapping, true>(memory, kind, detail, parts)
    }

    /// Either of the two.
    #[inline(always)]
    pub(crate) fn push_of<M: Shared, const FIRST: bool>(
        &mut self,
        memory: &M,
        kind: u8,
        detail: u8,
        parts: &[&[u8]],
    ) -> bool {
        let length = parts.iter().map(|part| part.len()).sum();
        debug_assert!(length <= LONGEST && kind != 0);
        if !self.has_room(memory, length) {
            return false;
        }
        let mut record = Record { kind, detail, length, is_last: false };
        let mut next = behind(record, self.tail);
        // Past the caches, lines that nobody has in one are better: 4 KiB to and fro between far cores 1.8 us instead
        // of 2.3.
        let crosses =
            if FIRST { next % CAPACITY as u64 > EARLY as u64 } else { (self.tail ^ next) >= EARLY as u64 };
        if crosses && !M::PAST_CACHES && self.ends_early::<FIRST>(memory, next) {
            record.is_last = true;
            next = behind(record, self.tail);
            self.early = next;
        }
        let word_behind = place(self.base, next).0;
        if record_of(memory.load(word_behind), next).is_some() {
            memory.store(word_behind, 0);
        }
        let mut at = self.tail + WORD as u64;
        for part in parts {
            let (start, straight) = place(self.base, at);
            let (first, rest) = part.split_at(straight.min(part.len()));
            memory.write(start, first);
            if !rest.is_empty() {
                memory.write(self.base + DATA, rest);
            }
            at += part.len() as u64;
        }
        memory.store(place(self.base, self.tail).0, word_of(record, self.tail));
        self.tail = next;
        true
    }

    /// Writes what nobody writes who keeps to the rules: a record of any kind and length, whether there is room or not.
    /// Its body is what it is said to be, as far as the ring goes straight on, and whatever lies there.
    #[cfg(fuzzing)]
    pub(crate) fn forge(&mut self, memory: &Mapping, record: Record, body: &[u8]) {
        let (at, straight) = place(self.base, self.tail);
        memory.write(at + WORD, &body[..body.len().min(straight - WORD)]);
        memory.store(at, word_of(record, self.tail));
        self.tail = behind(record, self.tail);
    }

    /// Asks for the lines of the record behind the next one, if both are as long as one with a body of `length` bytes.
    /// The next one's are looked at by the consumer meanwhile, and are left alone.
    ///
    /// Lines that will be written: the consumer has read them a round before, so to write there takes a trip, and the
    /// next fence or locked instruction waits for its end.
    #[inline]
    pub(crate) fn ask_ahead(&self, memory: &Mapping, length: usize) {
        self.lines_ahead(length).for_each(|line| memory.will_write(line));
    }

    /// Where those lines are.
    #[inline]
    fn lines_ahead(&self, length: usize) -> impl Iterator<Item = usize> {
        let (base, each) = (self.base, taken(length));
        let first = self.tail + each;
        (first..first + each.min(AHEAD)).step_by(LINE).map(move |line| place(base, line).0)
    }

    /// Whether the next record, of so many bytes, stands where others have stood before, as far as this was asked.
    pub(crate) fn is_used_again(&mut self, length: usize) -> bool {
        let end = self.tail % CAPACITY as u64 + taken(length);
        let is_used_again = end <= self.used;
        self.used = self.used.max(end.min(CAPACITY as u64));
        is_used_again
    }

    /// Whether the round ends with a record that is about to be written, up to `end`.
    #[cold]
    fn ends_early<const FIRST: bool>(&mut self, memory: &impl Shared, end: u64) -> bool {
        if end - self.tail < LEAST && !FIRST {
            return false;
        }
        let capacity = CAPACITY as u64;
        // The first of a round does not end it: where the next one would stand is where it stands itself.
        let (begins, is_one_round) =
            (self.tail.is_multiple_of(capacity), self.tail / capacity == end / capacity);
        if self.tail < self.early_from || begins || !is_one_round {
            return false;
        }
        let read = memory.load(self.base + READ);
        if read == self.tail {
            self.head = read;
        }
        read == self.tail
    }

    /// Whether there is room for a record with a body of `length` bytes. It stays so until the next record.
    #[inline]
    pub(crate) fn has_room(&mut self, memory: &impl Shared, length: usize) -> bool {
        // The word behind it may have to be cleared, so it needs room as well.
        let end = self.tail + taken(length) + WORD as u64;
        if end - self.head <= CAPACITY as u64 {
            return true;
        }
        self.head = self.published_head(memory);
        let has_room = end - self.head <= CAPACITY as u64;
        if !has_room {
            self.early_from = self.tail + FULL as u64;
        }
        has_room
    }

    /// HEAD, as far as it can be: the other side may write anything there.
    #[inline]
    fn published_head(&self, memory: &impl Shared) -> u64 {
        let head = memory.load(self.base + HEAD);
        if head > self.tail { self.head } else { head.max(self.head) }
    }

    /// Whether there is little room, though little is unread: the last record of a short round is not known to be read.
    pub(crate) fn is_cramped(&self) -> bool {
        self.head < self.early
    }

    /// Where the next record will be.
    #[inline]
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }

    /// Everything before this position has been read.
    #[inline]
    pub(crate) fn read_up_to(&mut self, memory: &impl Shared) -> u64 {
        self.head = self.published_head(memory);
        self.head
    }

    /// The same, as far as is known without looking.
    pub(crate) fn known_to_be_read(&self) -> u64 {
        self.head
    }

    /// Whether anything has been read that was not known to be. Asked by who is about to sleep, after
    /// [`want`](Self::want) and a fence.
    pub(crate) fn has_been_read(&self, memory: &impl Shared) -> bool {
        self.published_head(memory) != self.head
    }

    /// Says that the consumer is to wake this side when it has read something. To be followed by a fence.
    pub(crate) fn want(&mut self, memory: &impl Shared) {
        if !self.wants {
            self.wants = true;
            memory.store(self.base + WANTS, 1);
        }
    }

    /// Takes that back.
    #[inline]
    pub(crate) fn want_no_more(&mut self, memory: &impl Shared) {
        if self.wants {
            self.wants = false;
            memory.store(self.base + WANTS, 0);
        }
    }
}

/// What stands in front of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: u8,
    pub(crate) detail: u8,
    /// Bytes of the body.
    pub(crate) length: usize,
    /// The next one stands at the beginning of the ring.
    pub(crate) is_last: bool,
}

/// The side that reads.
#[derive(Debug)]
pub(crate) struct Consumer {
    base: usize,
    head: u64,
    published: u64,
    /// What READ says.
    rested: u64,
}

impl Consumer {
    /// Of the ring at `base`.
    pub(crate) fn new(base: usize) -> Self {
        Self { base, head: 0, published: 0, rested: 0 }
    }

    /// The next record, if there is one.
    ///
    /// # Errors
    ///
    /// Its length, when that cannot be.
    #[inline]
    pub(crate) fn peek(&self, memory: &impl Shared) -> Result<Option<Record>, usize> {
        let record = record_of(memory.load(place(self.base, self.head).0), self.head);
        match record {
            Some(Record { length, .. }) if length > LONGEST => Err(length),
            record => Ok(record),
        }
    }

    /// Copies bytes of the next record's body, from `offset` on. `into` must end within the body.
    #[inline]
    pub(crate) fn read(&self, memory: &impl Shared, offset: usize, into: &mut [u8]) {
        debug_assert!(offset + into.len() <= LONGEST);
        let (start, straight) = place(self.base, self.head + (WORD + offset) as u64);
        let (first, rest) = into.split_at_mut(straight.min(into.len()));
        memory.read(start, first);
        if !rest.is_empty() {
            memory.read(self.base + DATA, rest);
        }
    }

    /// Goes on behind `record`, which was the next. A producer without room hears of it when it is
    /// [published](Self::publish), which is due if this says so.
    #[inline]
    #[must_use]
    pub(crate) fn pop(&mut self, record: Record) -> bool {
        self.head = behind(record, self.head);
        self.head - self.published >= CAPACITY as u64 / 4
    }

    /// Behind all that can stand here now: nobody is ahead by more than the ring.
    pub(crate) fn farthest(&self) -> u64 {
        self.head + CAPACITY as u64
    }

    /// Whether all before that position has been read.
    pub(crate) fn is_behind(&self, position: u64) -> bool {
        self.head >= position
    }

    /// Lets the producer know, should it look, that everything has been read. For when there is nothing else to do:
    /// what a rank answers is not to wait for this.
    #[inline]
    pub(crate) fn rest(&mut self, memory: &impl Shared) {
        if self.rested != self.head {
            self.rested = self.head;
            memory.store(self.base + READ, self.head);
        }
    }

    /// Lets the producer know how far this side has read; whether it waits to be woken.
    #[inline]
    pub(crate) fn publish(&mut self, memory: &impl Shared) -> bool {
        self.published = self.head;
        memory.store(self.base + HEAD, self.head);
        memory.fence();
        memory.load(self.base + WANTS) != 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::memory::Writers;

    fn ring() -> (Mapping, Producer, Consumer) {
        let (memory, _fd) = Mapping::create(2 * SIZE.next_multiple_of(4096), Writers::Both).unwrap();
        (memory, Producer::new(SIZE), Consumer::new(SIZE))
    }

    fn body(seed: u64, length: usize) -> Vec<u8> {
        (0..length).map(|index| (seed as usize * 31 + index * 7) as u8).collect()
    }

    #[test]
    fn records_of_all_lengths_arrive_in_order_at_every_place_of_the_ring() {
        let (memory, mut producer, mut consumer) = ring();
        let mut under_way = VecDeque::new();
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let (mut sent, mut full) = (0u64, 0);
        while sent < 20_000 {
            if random() % 3 != 0 {
                let length = if random() % 20 == 0 { LONGEST - random() % 9 } else { random() % 300 };
                let bytes = body(sent, length);
                let (one, two) = bytes.split_at(random() % (length + 1));
                let (kind, detail) = (1 + (sent % 255) as u8, sent as u8);
                let pushed = match random() % 3 {
                    0 => producer.push_first(&memory, kind, detail, &[one, two]),
                    _ => producer.push(&memory, kind, detail, &[one, two]),
                };
                if pushed {
                    under_way.push_back((sent, bytes));
                    sent += 1;
                } else {
                    full += 1;
                    assert!(!under_way.is_empty(), "an empty ring has no room");
                }
            } else if let Some(record) = consumer.peek(&memory).unwrap() {
                let (number, bytes) = under_way.pop_front().expect("nobody has sent that");
                assert_eq!((record.kind, record.detail), (1 + (number % 255) as u8, number as u8));
                let mut read = vec![0; record.length];
                consumer.read(&memory, 0, &mut read);
                assert_eq!(read, bytes);
                if consumer.pop(record) {
                    consumer.publish(&memory);
                }
            } else {
                consumer.rest(&memory);
                assert!(under_way.is_empty(), "a record has not arrived");
            }
        }
        assert!(full > 10, "the ring was never full");
    }

    #[test]
    fn what_is_asked_for_ahead_is_written_but_not_next() {
        for (length, lines) in [(8, 1), (WORD + LINE, 2), (2 * LINE, 3), (LONGEST, AHEAD as usize / LINE)] {
            let (memory, mut producer, _) = ring();
            let bytes = body(1, length);
            // Until it goes round: no room, but for what is read.
            while producer.push(&memory, 1, 0, &[&bytes]) {
                producer.ask_ahead(&memory, length);
                let asked: Vec<_> = producer.lines_ahead(length).collect();
                let behind = producer.tail() + taken(length);
                let record = (0..lines).map(|line| place(SIZE, behind + (line * LINE) as u64).0);
                assert_eq!(asked, record.collect::<Vec<_>>(), "of {length} bytes");
            }
        }
    }

    #[test]
    fn rounds_are_short_while_nobody_is_ahead() {
        for past_caches in [false, true] {
            let (memory, mut producer, mut consumer) = ring();
            let offset = |position: u64| position as usize % CAPACITY;
            let mut state = 5u64;
            let mut random = move || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize
            };
            let mut exchange = |producer: &mut Producer, sent: u64, ahead: usize| {
                let bodies: Vec<_> =
                    (0..ahead as u64).map(|more| body(sent + more, 300 + random() % 2_700)).collect();
                let pushed = |producer: &mut Producer, body: &[u8]| {
                    let parts: &[&[u8]] = &[&[7], body];
                    match past_caches {
                        true => producer.push(&PastCaches(&memory), 1, 2, parts),
                        false => producer.push(&memory, 1, 2, parts),
                    }
                };
                assert!(bodies.iter().all(|body| pushed(producer, body)), "{sent}");
                for expected in bodies {
                    let record = consumer.peek(&memory).unwrap().expect("a record has not arrived");
                    let mut read = vec![0; record.length - 1];
                    consumer.read(&memory, 1, &mut read);
                    assert_eq!(read, expected, "{sent}");
                    if consumer.pop(record) {
                        consumer.publish(&memory);
                    }
                }
                consumer.rest(&memory);
                offset(producer.tail())
            };
            // One by one; then sometimes two, of which the second finds the first unread.
            let highest = (0..2_000).map(|sent| exchange(&mut producer, sent, 1)).max().unwrap();
            assert_eq!(highest < EARLY, !past_caches, "{highest}");
            let exchange_two =
                |sent: &u64| exchange(&mut producer, *sent, 1 + *sent as usize % 2) < 2 * EARLY;
            let low = (0..2_000).filter(exchange_two).count();
            assert_eq!(low > 1_500, !past_caches, "{low} of 2000");
        }
    }

    #[test]
    fn whoever_was_ahead_has_the_whole_ring_for_a_while() {
        let (memory, mut producer, mut consumer) = ring();
        let push = |producer: &mut Producer| producer.push(&memory, 1, 0, &[&[0; 1_000]]);
        let drain = |consumer: &mut Consumer| {
            while let Some(record) = consumer.peek(&memory).unwrap() {
                if consumer.pop(record) {
                    consumer.publish(&memory);
                }
            }
            consumer.rest(&memory);
        };
        // How far records reach while they are sent one by one, through so many bytes.
        let highest = |producer: &mut Producer, consumer: &mut Consumer, bytes: usize| {
            let (end, mut highest) = (producer.tail() + bytes as u64, 0);
            while producer.tail() < end {
                assert!(push(producer));
                drain(consumer);
                highest = highest.max(producer.tail() as usize % CAPACITY);
            }
            highest
        };
        assert!(highest(&mut producer, &mut consumer, 4 * CAPACITY) < EARLY);
        while push(&mut producer) {}
        drain(&mut consumer);
        assert!(highest(&mut producer, &mut consumer, FULL / 2) > CAPACITY - 2 * EARLY);
        highest(&mut producer, &mut consumer, FULL);
        assert!(highest(&mut producer, &mut consumer, 4 * CAPACITY) < EARLY);
    }

    #[test]
    fn long_messages_touch_a_part_of_the_ring_as_long_as_they_are_read_in_time() {
        let (memory, mut producer, mut consumer) = ring();
        let (mut highest, mut unread) = (0, 0);
        for message in 0..5_000 {
            assert!(producer.push_first(&memory, 1, 0, &[&[0; 40]]));
            for _ in 0..8 {
                highest = highest.max(producer.tail() as usize % CAPACITY);
                assert!(producer.push(&memory, 2, 0, &[&[0; 8]]));
            }
            unread += 9;
            // Two at once, now and then.
            if message % 5 != 0 {
                while let Some(record) = consumer.peek(&memory).unwrap() {
                    unread -= 1;
                    if consumer.pop(record) || record.kind == 2 {
                        consumer.publish(&memory);
                    }
                }
                assert_eq!(unread, 0);
                consumer.rest(&memory);
            }
        }
        assert!((EARLY..EARLY + EARLY / 4).contains(&highest), "{highest}");
    }

    /// Whoever sends may send words of rings, too.
    #[test]
    fn a_body_is_never_taken_for_a_record() {
        let (memory, mut producer, mut consumer) = ring();
        let mut state = 3u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let one = Record { kind: 1, detail: 0, length: 8, is_last: false };
        let mut cleared = 0;
        for number in 0..50_000u32 {
            // As it would stand there a round later, which is when somebody may come across it.
            let forged = word_of(one, producer.tail + CAPACITY as u64);
            let body = forged.to_le_bytes().repeat(random() % 60);
            assert!(producer.push(&memory, 2, number as u8, &[&body]));
            cleared += usize::from(memory.load(place(SIZE, producer.tail).0) == 0);
            let record = consumer.peek(&memory).unwrap().unwrap();
            assert_eq!((record.kind, record.detail, record.length), (2, number as u8, body.len()));
            if consumer.pop(record) {
                consumer.publish(&memory);
            }
            assert_eq!(consumer.peek(&memory), Ok(None), "{number}");
            if number % 3 == 0 {
                consumer.rest(&memory);
            }
        }
        assert!(cleared > 10_000, "nothing was forged");
    }

    #[test]
    fn a_producer_without_room_is_heard_once_the_consumer_reads() {
        let (memory, mut producer, mut consumer) = ring();
        for length in [0, 1, 500, LONGEST] {
            let bytes = body(0, length);
            // Some are read, and not told of.
            for _ in 0..3 {
                assert!(producer.push(&memory, 1, 0, &[&bytes]));
                let record = consumer.peek(&memory).unwrap().unwrap();
                if consumer.pop(record) {
                    consumer.publish(&memory);
                }
            }
            while producer.push(&memory, 1, 0, &[&bytes]) {}
            producer.want(&memory);
            assert!(!producer.has_been_read(&memory));
            let mut woken = false;
            while let Some(record) = consumer.peek(&memory).unwrap() {
                woken |= consumer.pop(record) && consumer.publish(&memory);
            }
            assert!(woken && producer.has_been_read(&memory), "{length}");
            producer.want_no_more(&memory);
        }
    }

    #[test]
    fn words_that_cannot_be_are_refused_or_do_no_harm() {
        let (memory, mut producer, consumer) = ring();
        memory.store(SIZE + DATA, 1 | (LONGEST as u64 + 1) << 16);
        assert_eq!(consumer.peek(&memory), Err(LONGEST + 1));
        memory.store(SIZE + DATA, u64::from(u32::MAX));
        assert_eq!(consumer.peek(&memory), Err(LAST as usize - 1));
        // One of another round stands for nothing.
        memory.store(SIZE + DATA, u64::MAX);
        assert_eq!(consumer.peek(&memory), Ok(None));
        memory.store(SIZE + DATA, 0);
        // A head that nobody can have reached gives no room.
        while producer.push(&memory, 1, 0, &[&[0; LONGEST]]) {
            memory.store(SIZE + HEAD, u64::MAX);
        }
        assert!(producer.tail() < CAPACITY as u64);
    }
}
