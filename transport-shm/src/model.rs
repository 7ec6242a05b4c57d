//! The ring and the sleeps of both its sides, and boards, played through by a model checker under the memory model of
//! the language: every order of execution with few preemptions, and every value that a load may see where nothing
//! orders it.
//!
//! Producer and consumer are the real ones, over words that the checker watches; who sleeps, sleeps until it is woken,
//! so one that nobody wakes is a deadlock, and is found. What `transport.rs` and `link.rs` do around the ring is done
//! here by the same steps: the sleeper says that it sleeps, passes a fence and looks once more; the other writes,
//! passes a fence and looks whether somebody sleeps, for each record or for the first and the last of several, and
//! wakes it once for each sleep.
//!
//! Run by `ci/model.sh`: `RUSTFLAGS="--cfg ringworld_model" cargo test -p ringworld-transport-shm --lib model`.

use std::ops::Range;

use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use ringworld_transport::{Label, Shown};

use crate::board::{self, Board, Order, Place, Rooms, distance, has_room, is_behind};
use crate::ring::{Consumer, Producer, SIZE, Shared};

/// Where the two say that they sleep: behind the ring, as the outboxes are elsewhere.
const EPOCH_OF_CONSUMER: usize = SIZE;
const EPOCH_OF_PRODUCER: usize = SIZE + 8;

/// What is wrong with the memory: each must be found.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// A word may be seen before what was written earlier.
    Unordered,
    /// Who looks whether somebody sleeps may see what was so before its own words.
    Unfenced,
    /// Words are not cleared.
    Uncleared,
}

/// Words that both sides reach. Those of bodies are in no order by themselves, as in memory that is copied.
struct Memory {
    words: Vec<AtomicU64>,
    fault: Fault,
}

impl Memory {
    fn new(fault: Fault) -> Self {
        Self::with(SIZE + 16, fault)
    }

    fn with(bytes: usize, fault: Fault) -> Self {
        Self { words: (0..bytes / 8).map(|_| AtomicU64::new(0)).collect(), fault }
    }
}

impl Shared for Memory {
    fn load(&self, at: usize) -> u64 {
        self.words[at / 8].load(Ordering::Acquire)
    }

    fn store(&self, at: usize, value: u64) {
        if self.fault == Fault::Uncleared && value == 0 && at < SIZE {
            return;
        }
        let order = if self.fault == Fault::Unordered { Ordering::Relaxed } else { Ordering::Release };
        self.words[at / 8].store(value, order);
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        for (index, bytes) in into.chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&self.words[at / 8 + index].load(Ordering::Relaxed).to_le_bytes());
        }
    }

    fn write(&self, at: usize, from: &[u8]) {
        for (index, bytes) in from.chunks_exact(8).enumerate() {
            let word = bytes.first_chunk().copied().unwrap();
            self.words[at / 8 + index].store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
    }

    fn fence(&self) {
        if self.fault != Fault::Unfenced {
            fence(Ordering::SeqCst);
        }
    }

    fn order_writes(&self) {
        fence(Ordering::Release);
    }

    fn order_reads(&self) {
        fence(Ordering::Acquire);
    }
}

/// What wakes a sleeper: readable until it is read, as an event descriptor is.
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_one();
    }

    fn sleep(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.changed.wait(rung).unwrap();
        }
        *rung = false;
    }
}

struct World {
    memory: Memory,
    of_producer: Bell,
    of_consumer: Bell,
}

/// A side that sleeps at times, and says so by numbers, as `outbox.rs` does.
struct Sleeper {
    at: usize,
    epoch: u64,
}

impl Sleeper {
    fn new(at: usize) -> Self {
        Self { at, epoch: 0 }
    }

    fn turns(&mut self, memory: &Memory) {
        self.epoch += 1;
        memory.store(self.at, self.epoch);
    }
}

/// Who wakes such a side, as `link.rs` does.
struct Waker<'a> {
    at: usize,
    woken: u64,
    bell: &'a Bell,
}

impl<'a> Waker<'a> {
    fn new(at: usize, bell: &'a Bell) -> Self {
        Self { at, woken: 0, bell }
    }

    fn wake(&mut self, memory: &Memory) {
        memory.fence();
        let sleep = memory.load(self.at);
        if sleep % 2 == 1 && sleep != self.woken {
            self.woken = sleep;
            self.bell.ring();
        }
    }
}

/// How records are said.
#[derive(Clone, Copy, PartialEq)]
enum Saying {
    /// Each by itself.
    Each,
    /// As many at once as there are, the first of which begins something long.
    Together,
    /// Likewise, but wrongly so: nobody is woken for those behind the first.
    FirstOnly,
}

/// Bodies of records: a word, or nothing.
type Bodies = &'static [Option<u64>];

const NUMBERS: [Option<u64>; 5] = [Some(7), Some(8), Some(9), Some(10), Some(11)];

fn bytes_of(body: Option<u64>) -> Vec<u8> {
    body.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Sends records with these bodies, and sleeps while there is no room.
fn produce(world: &World, bodies: Bodies, saying: Saying) {
    let (memory, mut producer) = (&world.memory, Producer::new(0));
    let mut sleeper = Sleeper::new(EPOCH_OF_PRODUCER);
    let mut waker = Waker::new(EPOCH_OF_CONSUMER, &world.of_consumer);
    let mut next = 0;
    while next < bodies.len() {
        let (first, most) = (next, if saying == Saying::Each { 1 } else { bodies.len() });
        while next < bodies.len() && next - first < most {
            let (detail, body) = (next as u8, bytes_of(bodies[next]));
            let pushed = match saying != Saying::Each && next == first {
                true => producer.push_of::<_, true>(memory, 1, detail, &[&body]),
                false => producer.push(memory, 1, detail, &[&body]),
            };
            if !pushed {
                break;
            }
            if next == first {
                waker.wake(memory);
            }
            next += 1;
        }
        if next - first > 1 && saying != Saying::FirstOnly {
            waker.wake(memory);
        }
        if next < bodies.len() && next - first < most {
            sleeper.turns(memory);
            producer.want(memory);
            memory.fence();
            if !producer.has_been_read(memory) {
                world.of_producer.sleep();
            }
            sleeper.turns(memory);
            producer.want_no_more(memory);
        }
    }
}

/// Reads them, and sleeps while there are none.
fn consume(world: &World, bodies: Bodies) {
    let (memory, mut consumer) = (&world.memory, Consumer::new(0));
    let mut sleeper = Sleeper::new(EPOCH_OF_CONSUMER);
    let mut waker = Waker::new(EPOCH_OF_PRODUCER, &world.of_producer);
    let mut next = 0;
    while next < bodies.len() {
        let Some(record) = consumer.peek(memory).unwrap() else {
            consumer.rest(memory);
            sleeper.turns(memory);
            memory.fence();
            if consumer.peek(memory) == Ok(None) {
                world.of_consumer.sleep();
            }
            sleeper.turns(memory);
            continue;
        };
        let expected = bytes_of(bodies[next]);
        let mut body = vec![0; expected.len()];
        let what = (record.kind, record.detail, record.length);
        assert_eq!(what, (1, next as u8, expected.len()), "a record that nobody has written");
        consumer.read(memory, 0, &mut body);
        assert_eq!(body, expected, "a body that is not the record's");
        next += 1;
        if consumer.pop(record) && consumer.publish(memory) {
            waker.wake(memory);
        }
    }
}

fn check(bodies: Bodies, preemptions: usize, fault: Fault) {
    check_said(bodies, Saying::Each, preemptions, fault);
}

fn check_said(bodies: Bodies, saying: Saying, preemptions: usize, fault: Fault) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let bell = || Bell { rung: Mutex::new(false), changed: Condvar::new() };
        let world = World { memory: Memory::new(fault), of_producer: bell(), of_consumer: bell() };
        // Not the checker's own, which cannot be let go of once it has found that all sleep.
        let world = std::sync::Arc::new(world);
        let other = std::sync::Arc::clone(&world);
        let producer = thread::spawn(move || produce(&other, bodies, saying));
        consume(&world, bodies);
        producer.join().unwrap();
    });
}

#[test]
fn records_are_seen_whole_and_whoever_waits_for_one_is_woken() {
    check(&NUMBERS[..2], 3, Fault::None);
}

#[test]
fn a_full_ring_goes_on_when_it_is_read_and_whoever_waits_for_room_is_woken() {
    // Three fill it.
    check(&NUMBERS, 2, Fault::None);
}

#[test]
fn whoever_waits_for_the_last_of_several_records_is_woken() {
    check_said(&NUMBERS[..3], Saying::Together, 3, Fault::None);
}

#[test]
fn several_records_that_fill_the_ring_go_on_when_they_are_read() {
    check_said(&NUMBERS, Saying::Together, 2, Fault::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn waking_for_the_first_of_several_records_alone_is_found() {
    check_said(&NUMBERS[..3], Saying::FirstOnly, 3, Fault::None);
}

/// A word of the next round, as it would be where its body lies: the second one's then, when records before it are
/// shorter.
const FORGED: [Option<u64>; 8] =
    [None, Some(1 | 1 << 32), Some(1 | 1 << 32), Some(1 | 1 << 32), None, None, None, None];

#[test]
fn a_body_is_never_taken_for_a_record() {
    check(&FORGED, 1, Fault::None);
}

#[test]
#[should_panic(expected = "a record that nobody has written")]
fn bodies_that_are_taken_for_records_are_found() {
    check(&FORGED, 1, Fault::Uncleared);
}

#[test]
#[should_panic(expected = "a body that is not the record's")]
fn memory_without_order_is_found() {
    check(&NUMBERS[..2], 3, Fault::Unordered);
}

#[test]
#[should_panic(expected = "deadlock")]
fn looking_for_sleepers_without_a_fence_is_found() {
    check(&NUMBERS[..2], 3, Fault::Unfenced);
}

/// Where the two boards are in the model.
const BOARDS: [Board; 2] = [Board(0), Board(board::SIZE)];
const CHANNEL: u64 = 3;

/// What is shown under a number: some of it lies beside the word, and the rest in a room.
fn labelled(number: u32) -> (Label, [u8; board::LONGEST]) {
    let mut payload = [0; board::LONGEST];
    let words = payload.chunks_exact_mut(8).zip(u64::from(number) + 7..);
    words.for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
    ([number as u8 + 1; 24], payload)
}

/// Whether anything is shown under a number, which is then what it should be.
fn seen(memory: &Memory, place: Place, number: u32) -> bool {
    let Some(shown) = BOARDS[0].shown(memory, place, number) else { return false };
    let mut bytes = [0; board::LONGEST];
    BOARDS[0].copy(memory, place, number, 0, &mut bytes);
    let (label, payload) = labelled(number);
    assert_eq!((shown.label, shown.length), (label, board::LONGEST));
    assert_eq!(bytes, payload, "bytes that are not the number's");
    true
}

/// Where rooms are taken.
#[derive(Clone, Copy)]
struct Taking {
    /// It may change, as cores turn out to be near or far.
    order: fn(u32) -> Order,
    /// Whatever lies there, which is wrong.
    ruthless: bool,
}

const FEW: Taking = Taking { order: |_| Order::Few, ruthless: false };
const IN_TURN: Taking = Taking { order: |_| Order::InTurn, ..FEW };
/// The first room goes to number 1, and is what number 2 has by itself.
const FIRST_IN_TURN: Taking =
    Taking { order: |number| if number == 1 { Order::InTurn } else { Order::ByNumber }, ..FEW };

/// Shows numbers to the other, as far as there is room, and says of which it is not sure that they are seen.
fn show(memory: &Memory, numbers: Range<u32>, taking: Taking) -> Vec<u32> {
    let places = BOARDS.map(|board| board.find(memory, CHANNEL).unwrap());
    let (mut rooms, mut unsure) = (Rooms::new(), Vec::new());
    let mut next = numbers.start;
    while next < numbers.end {
        let passed = BOARDS[1].passed(memory, places[1]);
        if is_behind(next, passed) {
            unsure.push(next);
            next += 1;
            continue;
        }
        let room = rooms.find(next, board::LONGEST, (taking.order)(next), || distance(next, passed));
        let admits = if taking.ruthless { has_room(next, passed) } else { room.admits(next, passed) };
        if !admits {
            thread::yield_now();
            continue;
        }
        rooms.take(room, next, board::LONGEST);
        let (label, payload) = labelled(next);
        BOARDS[0].show(memory, (places[0], next, room.place()), &label, &payload);
        memory.fence();
        if is_behind(next, BOARDS[1].passed(memory, places[1])) {
            unsure.push(next);
        }
        next += 1;
    }
    unsure
}

/// Passes one number after the other without wanting any, and says which it has seen after that.
fn pass(memory: &Memory, numbers: u32) -> Vec<u32> {
    let places = BOARDS.map(|board| board.find(memory, CHANNEL).unwrap());
    let passed = (0..numbers).filter(|number| {
        BOARDS[1].pass(memory, places[1], number + 1);
        memory.fence();
        // The payload may be replaced now: nobody copies it once it is passed.
        let shown = BOARDS[0].shown(memory, places[0], *number);
        let expected = Shown { label: labelled(*number).0, length: board::LONGEST };
        shown.inspect(|shown| assert_eq!(*shown, expected)).is_some()
    });
    passed.collect()
}

/// One shows what the other passes: one of the two notices, and what is seen is whole.
fn passed_and_shown(numbers: u32, preemptions: usize, fault: Fault) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let memory = Arc::new(Memory::with(2 * board::SIZE, fault));
        for board in BOARDS {
            board.open(&*memory, Board::places().next().unwrap(), CHANNEL, 0);
        }
        let other = Arc::clone(&memory);
        let shows = thread::spawn(move || show(&other, 0..numbers, FEW));
        let seen = pass(&memory, numbers);
        let unsure = shows.join().unwrap();
        for number in 0..numbers {
            assert!(seen.contains(&number) || unsure.contains(&number), "{number} was noticed by nobody");
        }
    });
}

/// One shows something while the other leaves: it is seen by a last look, or finds that nobody will look.
fn left_and_shown(fault: Fault) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let memory = Arc::new(Memory::with(2 * board::SIZE, fault));
        let place = Board::places().next().unwrap();
        for board in BOARDS {
            board.open(&*memory, place, CHANNEL, 0);
        }
        let other = Arc::clone(&memory);
        let shows = thread::spawn(move || {
            BOARDS[0].show(&*other, (place, 0, 0), &[1; 24], &[]);
            other.fence();
            BOARDS[1].has(&*other, place, CHANNEL)
        });
        BOARDS[1].leave(&*memory, place, CHANNEL);
        memory.fence();
        let is_seen = BOARDS[0].shown(&*memory, place, 0).is_some();
        let is_there = shows.join().unwrap();
        assert!(is_seen || !is_there, "it was noticed by nobody");
    });
}

/// One leaves a channel and gives its place to another, in which it shows something under the same number, while the
/// other, who has passed that, looks once more at the first.
fn given_away_and_looked_at(look: fn(&Memory, Place) -> Option<Shown>) {
    const OTHER: u64 = CHANNEL + 1;
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let memory = Arc::new(Memory::with(2 * board::SIZE, Fault::None));
        let place = Board::places().next().unwrap();
        BOARDS[0].open(&*memory, place, CHANNEL, 0);
        BOARDS[0].show(&*memory, (place, 0, 0), &[1; 24], &[]);
        let other = Arc::clone(&memory);
        let leaves = thread::spawn(move || {
            BOARDS[0].leave(&*other, place, CHANNEL);
            other.fence();
            BOARDS[0].open(&*other, place, OTHER, 0);
            BOARDS[0].show(&*other, (place, 0, 0), &[2; 24], &[]);
        });
        if let Some(place) = BOARDS[0].find(&*memory, CHANNEL)
            && let Some(shown) = look(&memory, place)
        {
            assert_eq!(shown.label, [1; 24], "what is shown in another channel");
        }
        leaves.join().unwrap();
    });
}

#[test]
fn what_is_found_in_a_place_that_is_given_away_is_of_its_channel() {
    given_away_and_looked_at(|memory, place| BOARDS[0].shown_in(memory, (place, CHANNEL), 0));
}

#[test]
#[should_panic(expected = "what is shown in another channel")]
fn looking_without_a_second_look_at_the_name_is_found() {
    given_away_and_looked_at(|memory, place| BOARDS[0].shown(memory, place, 0));
}

#[test]
fn what_is_replaced_while_somebody_looks_is_seen_whole_or_not_at_all() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let memory = Arc::new(Memory::with(2 * board::SIZE, Fault::None));
        let place = Board::places().next().unwrap();
        BOARDS[0].open(&*memory, place, CHANNEL, 0);
        BOARDS[0].show(&*memory, (place, 0, 0), &[1; 24], &[]);
        let other = Arc::clone(&memory);
        let shows = thread::spawn(move || BOARDS[0].show(&*other, (place, board::CELLS, 0), &[2; 24], &[]));
        for (number, label) in [(0, 1), (board::CELLS, 2)] {
            if let Some(shown) = BOARDS[0].shown(&*memory, place, number) {
                assert_eq!(shown.label, [label; 24]);
            }
        }
        shows.join().unwrap();
    });
}

/// Cells and rooms are used again, and nothing is replaced that somebody still wants.
fn shown_and_wanted(numbers: Range<u32>, preemptions: usize, taking: Taking) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let memory = Arc::new(Memory::with(2 * board::SIZE, Fault::None));
        let place = Board::places().next().unwrap();
        for board in BOARDS {
            board.open(&*memory, place, CHANNEL, numbers.start);
        }
        let (other, shown) = (Arc::clone(&memory), numbers.clone());
        let shows = thread::spawn(move || show(&other, shown, taking));
        for number in numbers.clone() {
            while !seen(&memory, place, number) {
                thread::yield_now();
            }
            BOARDS[1].pass(&*memory, place, number + 1);
            memory.fence();
        }
        shows.join().unwrap();
    });
}

#[test]
fn what_is_wanted_stays_until_it_is_passed() {
    shown_and_wanted(0..board::CELLS + 1, 2, FEW);
}

#[test]
fn what_is_wanted_stays_where_rooms_and_their_parts_are_taken_in_turn() {
    // The first room's second part comes last.
    shown_and_wanted(0..board::CELLS + 1, 2, IN_TURN);
}

#[test]
fn what_is_wanted_stays_where_rooms_are_taken_in_turn_no_longer() {
    shown_and_wanted(1..3, 3, FIRST_IN_TURN);
}

#[test]
#[should_panic(expected = "bytes that are not the number's")]
fn taking_a_room_in_which_something_wanted_lies_is_found() {
    shown_and_wanted(1..3, 3, Taking { ruthless: true, ..FIRST_IN_TURN });
}

#[test]
fn what_one_shows_and_the_other_passes_is_noticed_by_one() {
    passed_and_shown(2, 3, Fault::None);
}

#[test]
fn what_one_shows_while_the_other_leaves_is_noticed_by_one() {
    left_and_shown(Fault::None);
}

#[test]
#[should_panic(expected = "noticed by nobody")]
fn leaving_without_a_fence_is_found() {
    left_and_shown(Fault::Unfenced);
}

#[test]
#[should_panic(expected = "noticed by nobody")]
fn passing_without_a_fence_is_found() {
    passed_and_shown(2, 3, Fault::Unfenced);
}

#[test]
#[should_panic]
fn showing_without_order_is_found() {
    passed_and_shown(2, 3, Fault::Unordered);
}
