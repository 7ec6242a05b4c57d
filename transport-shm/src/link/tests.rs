//! Both sides of a link, in one process.

use ringworld_transport::watched::EpollSet;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::*;
use crate::memory::Writers;

struct Side {
    link: Link,
    outbox: Outbox,
}

/// Both sides of a link, and the memory between them.
fn pair() -> ([Side; 2], Mapping) {
    let (memory, fd) = Mapping::create(SIZE, Writers::Both).unwrap();
    let (one, other) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let outboxes = [Outbox::new().unwrap(), Outbox::new().unwrap()];
    let link = |socket, theirs: &Outbox, first| {
        let memory = Mapping::open(&fd, SIZE, Writers::Both).unwrap();
        let theirs = TheirOutbox::open(&theirs.fd().try_clone_to_owned().unwrap()).unwrap();
        let bell = TheirBell::new(eventfd(0, EventfdFlags::NONBLOCK).unwrap()).unwrap();
        let socket = Watched::new(socket, &EpollSet::new().unwrap());
        Link::new(Parts { socket, memory, theirs: Arc::new(theirs), bell, process: None, first })
    };
    let links = [link(one, &outboxes[1], true), link(other, &outboxes[0], false)];
    let mut sides = links.into_iter().zip(outboxes).map(|(link, outbox)| Side { link, outbox });
    (std::array::from_fn(|_| sides.next().unwrap()), memory)
}

/// Takes every message there is into memory of its own.
struct Taker(Vec<(Vec<u8>, usize)>);

/// Has enough of each.
struct Content(usize);

impl Placer for Content {
    fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Result<Placement, String> {
        self.0 += 1;
        Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
    }

    fn has_enough(&self) -> bool {
        true
    }
}

/// Has enough once a message has come in pieces.
#[derive(Default)]
struct Waiting {
    placed: usize,
    came: usize,
}

impl Placer for Waiting {
    fn place(&mut self, _: Rank, _: &[u8], length: usize) -> Result<Placement, String> {
        self.placed += 1;
        Ok(Placement { token: Token(length as u64), memory: RecvMemory::empty() })
    }

    fn arrived(&mut self, _: Rank, token: Token, events: &mut Vec<Event>) {
        assert!(events.is_empty() && token == Token(IN_TWO as u64));
        self.came += 1;
    }

    fn has_enough(&self) -> bool {
        self.came > 0
    }
}

impl Placer for Taker {
    fn place(&mut self, _: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        self.0.push((header.to_vec(), length));
        Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
    }
}

/// Receives once, from the first record on: what has been told.
fn take_in_from(
    side: &mut Side,
    first: Record,
    exposures: &mut Exposures,
    placer: &mut dyn Placer,
) -> Result<Vec<Event>, String> {
    let (mut events, mut ends) = (Vec::new(), Ends::default());
    let room = &mut [0; ROOM];
    let inward = &mut Inward { rank: 1, exposures, ends: &mut ends, room, placer, events: &mut events };
    side.link.receive(first, inward)?;
    Ok(events)
}

/// The same where something has come, and as it should be.
fn take_in(side: &mut Side, exposures: &mut Exposures, placer: &mut dyn Placer) -> Vec<Event> {
    let first = side.link.next().unwrap().unwrap();
    take_in_from(side, first, exposures, placer).unwrap()
}

/// Receives all.
fn receive(side: &mut Side, exposures: &mut Exposures) -> Result<(Taker, usize), String> {
    let (mut taker, mut told) = (Taker(Vec::new()), 0);
    while let Some(first) = side.link.next()? {
        told += take_in_from(side, first, exposures, &mut taker)?.len();
    }
    side.link.rest();
    Ok((taker, told))
}

#[test]
fn whatever_stands_in_a_ring_is_refused_or_harmless() {
    let mut state = 7u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 24
    };
    let (mut refused, mut taken) = (0, 0);
    for _ in 0..3_000 {
        let ([_, mut reader], memory) = pair();
        let mut exposures = Exposures::default();
        let key = exposures.open(RecvMemory::empty(), Token(1));
        // Records as they should be, each with something wrong, one behind the other.
        let mut producer = Producer::new(0);
        for _ in 0..1 + random() % 4 {
            let kind = 1 + (random() % 9) as u8;
            let mut body = vec![0; (random() % 64) as usize];
            body.fill_with(|| if random() % 3 == 0 { random() as u8 } else { 0 });
            if random() % 2 == 0 {
                let words =
                    [key, random() % 3, (random() % 600) | (random() % 70) << 16 | (random() % 2_000) << 32];
                body = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                body.rotate_left(8 * (random() % 3) as usize);
                body.truncate(24 - 4 * (random() % 5) as usize);
            }
            assert!(producer.push(&memory, kind, (random() % 70) as u8, &[&body]));
        }
        match receive(&mut reader, &mut exposures) {
            Ok((_, events)) => taken += events,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 1_000 && taken > 20, "{refused} refused, {taken} taken");
}

/// Whoever waits for a message that has begun would wait for ever, and nobody waits for one of a peer that has closed.
#[test]
fn last_words_come_behind_all_messages() {
    const HEADER: (u8, &[u8]) = (MESSAGE, &[]);
    const LONG: (u8, &[u8]) = (BEGIN, &9u64.to_le_bytes());
    let said = |records: &[(u8, &[u8])]| {
        let ([_, mut reader], memory) = pair();
        let mut producer = Producer::new(0);
        assert!(records.iter().all(|(kind, body)| producer.push(&memory, *kind, 0, &[body])));
        receive(&mut reader, &mut Exposures::default()).map(|(taken, _)| taken.0.len())
    };
    let (fin, fin_ack) = ((FIN, &[][..]), (FIN_ACK, &[][..]));
    assert_eq!(said(&[HEADER, HEADER, fin, fin_ack]), Ok(2));
    for word in [fin, fin_ack] {
        for impossible in [[LONG, word], [word, HEADER], [word, LONG]] {
            assert!(said(&impossible).is_err(), "{impossible:?}");
        }
    }
}

/// Takes messages that bring nothing, of which another is written as soon as one is taken.
struct Flooded<'a>(Producer, &'a Mapping, usize);

impl Placer for Flooded<'_> {
    fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Result<Placement, String> {
        self.2 += 1;
        assert!(self.2 < 100_000, "it does nothing else any more");
        self.0.push(self.1, MESSAGE, 0, &[]);
        Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
    }
}

#[test]
fn a_peer_that_goes_on_writing_nothing_keeps_nobody_from_the_others() {
    let ([_, mut reader], memory) = pair();
    let mut flooded = Flooded(Producer::new(0), &memory, 0);
    assert!(flooded.0.push(&memory, MESSAGE, 0, &[]));
    take_in(&mut reader, &mut Exposures::default(), &mut flooded);
    assert!(flooded.2 > 1_000);
}

/// How many messages there is room for, and how many of them are taken in each time by somebody who is content with
/// one, whether their sender waits for room or not.
fn taken_by_who_is_content(waits: bool) -> (usize, Vec<usize>) {
    let ([mut sender, mut reader], _memory) = pair();
    let mut exposures = Exposures::default();
    let mut sent = 0;
    while sender.link.send_now(b"h", b"x", &mut sender.outbox) {
        sent += 1;
    }
    if waits {
        sender.link.want();
    }
    let mut taken = Vec::new();
    while taken.iter().sum::<usize>() < sent {
        let mut content = Content(0);
        take_in(&mut reader, &mut exposures, &mut content);
        taken.push(content.0);
    }
    assert!(sender.link.send_now(b"h", b"x", &mut sender.outbox), "there is room again");
    (sent, taken)
}

#[test]
fn who_is_content_with_one_message_leaves_the_others() {
    let (sent, taken) = taken_by_who_is_content(false);
    assert_eq!(taken, vec![1; sent]);
}

#[test]
fn who_is_content_with_one_message_makes_room_for_a_sender_that_waits_for_it() {
    let (sent, taken) = taken_by_who_is_content(true);
    // One at a time, until there is room for a quarter of a ring.
    let single = taken.iter().take_while(|count| **count == 1).count();
    assert!((sent / 5..sent / 3).contains(&single), "{sent}: {single} times one");
    assert_eq!(taken[single..], [sent - single]);
}

/// Bytes of a message in two pieces.
const IN_TWO: usize = WHOLE + 1;

fn long(length: usize) -> Outgoing {
    Outgoing::new(Header::new(b"h").unwrap(), Payload::Kept(vec![7; length]))
}

#[test]
fn what_comes_behind_a_long_message_that_was_waited_for_is_left() {
    let ([mut sender, mut reader], _memory) = pair();
    let mut exposures = Exposures::default();
    for _ in 0..2 {
        assert!(sender.link.send(&mut long(IN_TWO), &mut sender.outbox));
    }
    for _ in 0..2 {
        let mut waiting = Waiting::default();
        let events = take_in(&mut reader, &mut exposures, &mut waiting);
        assert_eq!((waiting.placed, waiting.came, events.len()), (1, 1, 0));
    }
    assert!(!reader.link.has_come());
}

#[test]
fn now_and_then_all_that_lies_behind_a_long_message_is_taken_in() {
    let ([mut sender, mut reader], _memory) = pair();
    let mut exposures = Exposures::default();
    let mut taken = Vec::new();
    for _ in 0..3 * CONTENT {
        // The sender is ahead by as much as it may be.
        while sender.link.slots.len() + 3 <= DEPTH {
            assert!(sender.link.send(&mut long(IN_TWO), &mut sender.outbox));
        }
        let mut waiting = Waiting::default();
        take_in(&mut reader, &mut exposures, &mut waiting);
        taken.push(waiting.came);
        sender.link.reclaim(&mut sender.outbox);
    }
    let (one, more): (Vec<usize>, Vec<usize>) = taken.iter().partition(|came| **came == 1);
    assert!(one.len() > 4 * more.len() && more.len() >= 2, "{taken:?}");
}

#[test]
fn pieces_are_longer_while_both_send() {
    const LENGTH: usize = 64 << 10;
    let ([mut one, mut other], _memory) = pair();
    let mut exposures = Exposures::default();
    let mut pieces = |from: &mut Side, to: &mut Side| {
        assert!(from.link.send(&mut long(LENGTH), &mut from.outbox));
        let pieces = from.link.slots.len();
        assert_eq!(receive(to, &mut exposures).unwrap().0.0, [(b"h".to_vec(), LENGTH)]);
        from.link.reclaim(&mut from.outbox);
        pieces
    };
    assert_eq!(pieces(&mut one, &mut other), LENGTH / piece(LENGTH));
    // Something has come that this side has not looked at yet.
    assert!(other.link.send_now(b"h", b"x", &mut other.outbox));
    assert_eq!(pieces(&mut one, &mut other), LENGTH / EXCHANGED);
    assert_eq!(receive(&mut one, &mut Exposures::default()).unwrap().0.0.len(), 1);
    // Half a message has come.
    other.link.announce(b"h", 100);
    receive(&mut one, &mut Exposures::default()).unwrap();
    assert_eq!(pieces(&mut one, &mut other), LENGTH / EXCHANGED);
}

#[test]
fn messages_of_all_lengths_arrive_and_all_slots_come_back() {
    let ([mut sender, mut reader], _memory) = pair();
    let mut exposures = Exposures::default();
    for length in [0, 1, INLINE, INLINE + 1, WHOLE, WHOLE + 1, 64 << 10, (64 << 10) + 1, 3 << 20] {
        let mut outgoing = long(length);
        let mut placed = Vec::new();
        let mut done = false;
        while !done {
            done = sender.link.send(&mut outgoing, &mut sender.outbox);
            placed.extend(receive(&mut reader, &mut exposures).unwrap().0.0);
        }
        assert_eq!(placed, [(b"h".to_vec(), length)]);
    }
    sender.link.reclaim(&mut sender.outbox);
    assert!(!sender.link.holds_slots());
    let free = std::iter::from_fn(|| sender.outbox.take(outbox::LONGEST)).count();
    assert_eq!(free * outbox::LONGEST, outbox::ROOM);
}

#[test]
fn a_short_round_that_is_unread_does_not_keep_long_messages_back() {
    let ([mut sender, mut reader], _memory) = pair();
    let mut exposures = Exposures::default();
    let send = |sender: &mut Side, length: usize| sender.link.send(&mut long(length), &mut sender.outbox);
    while !sender.link.producer.is_cramped() {
        receive(&mut reader, &mut exposures).unwrap();
        assert!(send(&mut sender, INLINE) && sender.link.producer.tail() <= ring::CAPACITY as u64);
    }
    // Nobody reads meanwhile. Nothing is begun that waits for slots, which others may hold.
    let held: Vec<Run> = std::iter::from_fn(|| sender.outbox.take(1)).collect();
    let in_the_ring = std::iter::repeat_with(|| send(&mut sender, INLINE)).take_while(|sent| *sent).count();
    assert!(in_the_ring * INLINE < ring::CAPACITY / 4, "{in_the_ring}");
    held.into_iter().for_each(|run| sender.outbox.give(run));
    assert!((0..DEPTH).all(|_| send(&mut sender, INLINE)));
    assert!((0..10).all(|_| send(&mut sender, 100)));
    assert_eq!(receive(&mut reader, &mut exposures).unwrap().0.0.len(), 1 + in_the_ring + DEPTH + 10);
}

#[test]
fn whoever_waits_for_slots_does_not_sleep_while_some_are_to_be_taken_back() {
    let ([mut sender, mut reader], _memory) = pair();
    let mut exposures = Exposures::default();
    assert!(sender.link.send(&mut long(INLINE + 1), &mut sender.outbox));
    // The last of these ends the round early, for which the sender has looked how far it has been read.
    while sender.link.producer.tail() < ring::CAPACITY as u64 / 2 {
        receive(&mut reader, &mut exposures).unwrap();
        assert!(sender.link.send_now(b"h", &[7; INLINE], &mut sender.outbox));
    }
    assert!(sender.link.producer.tail() == ring::CAPACITY as u64 && sender.link.holds_slots());
    sender.link.want();
    assert!(sender.link.has_been_read(), "the slot is free, and nothing more will be heard of it");
    assert!(sender.link.reclaim(&mut sender.outbox) && !sender.link.has_been_read());
}

#[test]
fn a_sleeper_is_woken_once_for_each_sleep() {
    let ([mut sender, mut reader], _memory) = pair();
    let mut count = [0; 8];
    let mut wakes =
        |link: &Link| rustix::io::read(&link.bell, &mut count).map_or(0, |_| u64::from_ne_bytes(count));
    for expected in [1, 1] {
        reader.outbox.sleeps(true);
        for _ in 0..5 {
            assert!(sender.link.send_now(b"h", b"x", &mut sender.outbox));
        }
        assert_eq!(wakes(&sender.link), expected);
        reader.outbox.sleeps(false);
        assert!(sender.link.send_now(b"h", b"x", &mut sender.outbox));
        assert_eq!(wakes(&sender.link), 0);
    }
}
