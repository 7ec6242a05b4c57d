//! What a rank says of itself to those who ask: which call it waits in, where that stands, for whom and since when; and
//! how many messages have gone and come, from which others conclude whether any is on its way.

use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Wire, patient, small, wires, world};
use ringworld::testing::Rank;
use ringworld::{Op, Source};
use ringworld_engine::{Waiting, Whereabouts};

/// Waits until one call of the rank sleeps, which begins with this word.
fn asleep(rank: &Rank, word: &str) -> (Whereabouts, Waiting) {
    let begun = Instant::now();
    loop {
        let seen = rank.whereabouts();
        if let [waits] = &seen.waits[..]
            && waits.call.starts_with(word)
        {
            let waits = waits.clone();
            return (seen, waits);
        }
        assert!(begun.elapsed() < patient(Duration::from_secs(20)), "no {word}: {seen:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_call_that_waits_is_told_with_its_number_its_place_and_whom_it_waits_for() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let leave = |tag| rank.recv(&mut [0u8], 0, tag).unwrap();
            if rank.rank() == 0 {
                let first = line!() + 3;
                thread::scope(|scope| {
                    scope.spawn(|| {
                        rank.recv(&mut [0u8], 1, 5).unwrap();
                        rank.recv_object::<String>(Source::Any, 6).unwrap();
                        rank.all_reduce(&mut [1f32; 4], Op::Sum).unwrap();
                    });
                    looks_on(rank, first);
                });
            } else {
                if rank.rank() == 1 {
                    leave(11);
                    rank.send(&[1u8], 0, 5).unwrap();
                    leave(12);
                    rank.send_object(&"here", 0, 6).unwrap();
                }
                leave(13);
                rank.all_reduce(&mut [1f32; 4], Op::Sum).unwrap();
            }
        });
    }
}

/// Looks at three calls of another thread of this rank, of which the first stands on line `first`.
fn looks_on(rank: &Rank, first: u32) {
    let place = |line: u32| format!("at {}:{line}", file!());
    let (seen, waits) = asleep(rank, "recv");
    assert_eq!(waits.call, format!("recv (from rank 1, tag 5) {}", place(first)));
    assert_eq!((&waits.peers[..], waits.any), (&[1][..], false));
    assert_eq!(seen.last, Some(format!("recv {}", place(first))));
    assert!(!seen.moves && !seen.leaves && !seen.over, "{seen:?}");
    thread::sleep(Duration::from_millis(20));
    let (_, later) = asleep(rank, "recv");
    assert_eq!(later.number, waits.number, "it has waited all the time");
    assert!(later.waited >= waits.waited + Duration::from_millis(20));

    rank.send(&[0u8], 1, 11).unwrap();
    let (_, waits) = asleep(rank, "probe");
    assert_eq!(waits.call, format!("probe (from any rank, tag 6) {}", place(first + 1)));
    assert!(waits.any && waits.peers.is_empty() && waits.number != later.number, "{waits:?}");

    rank.send(&[0u8], 1, 12).unwrap();
    let (seen, waits) = asleep(rank, "all_reduce");
    assert_eq!(waits.call, format!("all_reduce(4 x f32, sum) #0 {}", place(first + 2)));
    assert!(!waits.peers.is_empty() && !waits.peers.contains(&0), "{waits:?}");
    assert!(seen.begun > 4, "{seen:?}");

    for peer in 1..3 {
        rank.send(&[0u8], peer, 13).unwrap();
    }
}

/// Three ranks that are asked at a moment when nobody moves.
struct Asked {
    counts: Mutex<[(u64, u64); 3]>,
    met: Barrier,
}

impl Asked {
    fn new() -> Self {
        Self { counts: Mutex::default(), met: Barrier::new(3) }
    }

    /// How many messages all have sent, and how many have come. Every rank asks.
    fn all(&self, rank: &Rank) -> (u64, u64) {
        rank.try_probe(Source::Any, 7).unwrap();
        let seen = rank.whereabouts();
        self.counts.lock().unwrap()[rank.rank()] = (seen.sent, seen.received);
        self.met.wait();
        let counts = *self.counts.lock().unwrap();
        self.met.wait();
        counts.iter().fold((0, 0), |sum, rank| (sum.0 + rank.0, sum.1 + rank.1))
    }
}

/// Whoever asks all ranks at a moment when nobody moves finds as many messages sent as have come, if none is on its
/// way; and fewer, if one is.
#[test]
fn what_has_been_sent_and_has_come_adds_up_when_nothing_is_on_its_way() {
    for wire in wires() {
        let asked = Asked::new();
        world(wire, 3, &small(), |rank| {
            let (me, size) = (rank.rank(), rank.size());
            let large = vec![me as u8; 100_000];
            for peer in 0..size {
                let mut came = vec![0u8; large.len()];
                rank.send_recv(&large, (me + peer) % size, 1, &mut came, (me + size - peer) % size, 1)
                    .unwrap();
            }
            rank.all_reduce(&mut vec![1f64; 5_000], Op::Sum).unwrap();
            // Of the protocol's own messages, such as credit, some may come without being waited for.
            let begun = Instant::now();
            loop {
                let (sent, received) = asked.all(rank);
                assert!(received <= sent && sent > 9, "{sent} sent and {received} received");
                if received == sent {
                    break;
                }
                assert!(
                    begun.elapsed() < patient(Duration::from_secs(10)),
                    "{sent} sent, {received} received"
                );
            }
        });
    }
}

/// What lies where its ranks would look for it, and they do something else, is on no way either: they wait for one
/// another, and nothing comes.
#[test]
fn what_nobody_looks_for_is_not_on_its_way() {
    for wire in wires() {
        let asked = Asked::new();
        world(wire, 3, &small(), |rank| {
            let (me, other) = (rank.rank(), rank.duplicate().unwrap());
            rank.barrier().unwrap();
            // In another order on each, as in a deadlock.
            let (first, second) = if me == 0 { (&**rank, &other) } else { (&other, &**rank) };
            let ahead = first.start_all_reduce(vec![1u32; 4], Op::Sum).unwrap();
            let begun = Instant::now();
            loop {
                let (sent, received) = asked.all(rank);
                if received == sent {
                    break;
                }
                let in_time = begun.elapsed() < patient(Duration::from_secs(5));
                assert!(in_time, "{wire:?}: {sent} sent, {received} received");
            }
            let behind = second.start_all_reduce(vec![1u32; 4], Op::Sum).unwrap();
            assert_eq!((ahead.wait().unwrap(), behind.wait().unwrap()), (vec![3; 4], vec![3; 4]));
        });
    }
}

/// What a call waits for, and what is there, is on its way to it until it has been taken.
#[test]
fn what_a_call_looks_for_and_has_not_taken_moves() {
    for wire in wires() {
        let met = Barrier::new(2);
        world(wire, 2, &small(), |rank| {
            // The very first may go as messages, before their memory is there: those are counted as sent.
            rank.barrier().unwrap();
            for _ in 0..100 {
                let (early, late) = (rank.rank() == 0, || rank.start_barrier().unwrap());
                let pending = early.then(late);
                met.wait();
                let pending = pending.unwrap_or_else(late);
                met.wait();
                let seen = rank.whereabouts();
                if matches!(wire, Wire::Shm) && early {
                    assert!(seen.moves || pending.is_done(), "{seen:?}");
                }
                pending.wait().unwrap();
            }
        });
    }
}
