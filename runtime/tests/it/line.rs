//! Receives that have begun and that nobody waits for yet: whatever else this rank does or the others send, they get
//! the messages that they would get if they were waited for at once, and none of them is forgotten.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{owned_world, small, wires, world};
use ringworld::{Communicator, Error, Pending, Source, Status, Tag};

type Begun = Pending<(Vec<u8>, Status)>;

/// Begins receives of up to 8 bytes.
fn begin<const N: usize>(rank: &Communicator, of: [(Source, Tag); N]) -> [Begun; N] {
    of.map(|(from, tag)| rank.start_recv(vec![0u8; 8], from, tag).unwrap())
}

fn value(begun: Begun) -> u8 {
    let (data, status) = begun.wait().unwrap();
    assert_eq!(status.count, 1);
    data[0]
}

/// Rank 0 sends these, all with their values as tags, and rank 1 does something.
fn sent_to(tags: &[u8], body: impl Fn(&Communicator) + Sync) {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            rank.barrier().unwrap();
            match rank.rank() {
                0 => {
                    // Not before the receives have begun.
                    rank.recv::<u8>(&mut [], 1, 99).unwrap();
                    tags.iter().for_each(|tag| rank.send(&[*tag], 1, u32::from(*tag)).unwrap());
                }
                _ => body(rank),
            }
            rank.barrier().unwrap();
        });
    }
}

const ANY: (Source, Tag) = (Source::Rank(0), Tag::Any);

fn tagged(tag: u32) -> (Source, Tag) {
    (Source::Rank(0), Tag::Value(tag))
}

fn go(rank: &Communicator) {
    rank.send::<u8>(&[], 0, 99).unwrap();
}

#[test]
fn they_come_in_the_order_in_which_they_were_begun() {
    sent_to(&[1, 2, 3, 2, 1], |rank| {
        let [second, any, third, last] = begin(rank, [tagged(2), ANY, tagged(1), (Source::Any, Tag::Any)]);
        go(rank);
        // One that waits comes after them.
        let mut data = [0u8];
        rank.recv(&mut data, Source::Any, Tag::Any).unwrap();
        assert_eq!((data[0], value(last), value(third), value(any), value(second)), (2, 3, 1, 1, 2));
    });
}

#[test]
fn a_probe_finds_what_they_leave() {
    sent_to(&[1, 2, 3], |rank| {
        let [first, third] = begin(rank, [tagged(1), tagged(3)]);
        go(rank);
        assert_eq!(rank.probe(Source::Any, Tag::Any).unwrap().tag, 2);
        let message = rank.probe_matched(Source::Any, Tag::Any).unwrap();
        assert_eq!(message.recv_vec::<u8>().unwrap().0, [2]);
        assert_eq!((value(third), value(first)), (3, 1));
    });
}

#[test]
fn one_that_is_cancelled_or_dropped_leaves_its_message_to_the_next() {
    sent_to(&[1, 1, 1, 2], |rank| {
        let [cancelled, dropped, next, after] = begin(rank, [tagged(1), tagged(1), ANY, ANY]);
        assert!(cancelled.cancel());
        assert!(matches!(cancelled.wait(), Err(Error::Cancelled { .. })));
        drop(dropped);
        go(rank);
        assert_eq!((value(next), value(after)), (1, 1));
        let [last, other] = begin(rank, [ANY, ANY]);
        assert_eq!((value(other), value(last)), (2, 1));
    });
}

#[test]
fn what_is_dropped_with_its_message_gives_it_to_one_that_has_begun() {
    sent_to(&[1, 5], |rank| {
        let [first, fifth] = begin(rank, [tagged(1), tagged(5)]);
        go(rank);
        // The first has its message by now.
        assert_eq!(value(fifth), 5);
        let [waits] = begin(rank, [ANY]);
        drop(first);
        assert_eq!(value(waits), 1);
    });
}

/// What has been taken in before somebody asked for it: behind the others, or nothing is known of it yet.
#[test]
fn one_whose_message_lies_here_gets_it_as_any_other_would() {
    sent_to(&[1, 2, 3, 3, 4, 5], |rank| {
        let short = rank.start_recv(Vec::<u8>::new(), 0, 4).unwrap();
        go(rank);
        // All before the fifth have come by now.
        assert_eq!(rank.probe(0, 5).unwrap().count, 1);
        let [second, first, third] = begin(rank, [tagged(2), ANY, tagged(3)]);
        assert!(!second.cancel(), "it has its message");
        drop(third);
        let mut ended = vec![second, first];
        let (at, taken) = ringworld::wait_any(&mut ended).unwrap();
        assert_eq!((at, taken.unwrap().0[0]), (0, 2));
        assert_eq!(ended.pop().map(value), Some(1));
        let too_short = rank.start_recv(Vec::<u8>::new(), 0, 3).unwrap();
        assert!(
            matches!(too_short.wait(), Err(Error::Truncated { .. })),
            "it was dropped, and is the first again"
        );
        assert!(matches!(short.wait(), Err(Error::Truncated { .. })));
        let wrong = rank.start_recv(vec![0u16; 4], 0, 3).unwrap();
        assert!(matches!(wrong.wait(), Err(Error::WrongElement { .. })));
        let mut data = [0u8; 8];
        rank.scope(|scope| {
            let (data, status) = scope.recv(&mut data, Source::Any, Tag::Any)?.wait()?;
            assert_eq!((data[0], status.tag), (5, 5));
            Ok(())
        })
        .unwrap();
    });
}

/// More of them than a message is offered to, from many ranks, in another order.
#[test]
fn many_of_them_get_theirs_in_any_order() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            let others: Vec<usize> = (0..4).filter(|other| *other != rank.rank()).collect();
            for round in 0..3 {
                let begun: Vec<(usize, u32, Begun)> = others
                    .iter()
                    .flat_map(|from| (0..20u32).map(move |tag| (*from, tag)))
                    .map(|(from, tag)| (from, tag, rank.start_recv(vec![0u8; 8], from, tag).unwrap()))
                    .collect();
                rank.barrier().unwrap();
                for tag in (0..20u32).rev() {
                    others
                        .iter()
                        .for_each(|to| rank.send(&[tag as u8 + round, rank.rank() as u8], *to, tag).unwrap());
                }
                for (from, tag, begun) in begun {
                    let (data, status) = begun.wait().unwrap();
                    assert_eq!(
                        (data[..2].to_vec(), status.source),
                        (vec![tag as u8 + round, from as u8], from)
                    );
                }
            }
        });
    }
}

/// More than may be in line.
#[test]
fn so_many_that_the_line_is_full() {
    const MANY: u32 = 1500;
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let other = 1 - rank.rank();
            let begin = |tag| rank.start_recv(vec![0u32], other, tag).unwrap();
            let begun: Vec<_> = (0..MANY).map(begin).collect();
            for tag in (0..MANY).map(|place| place * 7 % MANY) {
                rank.send(&[tag], other, tag).unwrap();
            }
            for (tag, begun) in (0..MANY).zip(begun) {
                assert_eq!(begun.wait().unwrap().0, [tag]);
            }
        });
    }
}

#[test]
fn a_message_that_is_too_long_ends_the_one_that_it_is_for() {
    for wire in wires() {
        for length in [9, 5000, 200_000] {
            world(wire, 2, &small(), |rank| match rank.rank() {
                0 => {
                    rank.recv::<u8>(&mut [], 1, 99).unwrap();
                    rank.send(&[3u8], 1, 3).unwrap();
                    // Its sender may hear that it was cut off, or not.
                    let _cut = rank.send(&vec![0u8; length], 1, 2);
                    rank.send(&[2u8], 1, 2).unwrap();
                }
                _ => {
                    let [cut, third, second] = begin(rank, [tagged(2), tagged(3), tagged(2)]);
                    go(rank);
                    let cut = cut.wait().unwrap_err();
                    assert!(
                        matches!(cut, Error::Truncated { needed, room: 8, tag: 2, .. } if needed == length),
                        "{cut}"
                    );
                    assert_eq!((value(second), value(third)), (2, 3));
                }
            });
        }
    }
}

/// Who waits for its receiver to have begun waits no longer because that one computes.
#[test]
fn a_synchronous_message_does_not_wait_for_a_receiver_that_computes() {
    for wire in wires() {
        let (arrived, computes) = (AtomicBool::new(false), AtomicBool::new(false));
        world(wire, 2, &small(), |rank| match rank.rank() {
            0 => {
                while !computes.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                rank.send_sync(&[2u8], 1, 2).unwrap();
                arrived.store(true, Ordering::Release);
                rank.recv::<u8>(&mut [], 1, 99).unwrap();
            }
            _ => {
                let [first, second] = begin(rank, [tagged(1), tagged(2)]);
                computes.store(true, Ordering::Release);
                let since = Instant::now();
                while !arrived.load(Ordering::Acquire) {
                    assert!(since.elapsed() < Duration::from_secs(20), "over {wire:?} it has not ended");
                    std::thread::yield_now();
                }
                assert_eq!(value(second), 2);
                assert!(first.cancel());
                go(rank);
            }
        });
    }
}

#[test]
fn they_end_when_their_peer_leaves() {
    for wire in wires() {
        owned_world(wire, 2, &small(), |rank| match rank.rank() {
            0 => {
                rank.recv::<u8>(&mut [], 1, 99).unwrap();
                rank.send(&[1u8], 1, 1).unwrap();
                rank.finish().unwrap();
            }
            _ => {
                let [first, second] = begin(&rank, [tagged(1), tagged(2)]);
                go(&rank);
                let why = second.wait().unwrap_err().to_string();
                assert!(why.contains("rank 0"), "{why}");
                assert_eq!(value(first), 1);
            }
        });
    }
}
