//! The rules of point-to-point messages, over the simulator and over TCP.

use crate::common::{Wire, owned_world, small, wires, world};
use crate::log::Log;
use ringworld::testing::{Choice, Rank};
use ringworld::{Error, Op, Raw, Source, Tag, wait_all};

/// Lengths around the eager limit and the window of `small`, and a large one.
const LENGTHS: [usize; 9] = [0, 1, 7, 255, 256, 257, 1023, 5000, 300_000];

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + seed * 17) as u8).collect()
}

#[test]
fn every_length_arrives_intact() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            for (seed, length) in LENGTHS.into_iter().enumerate() {
                if rank.rank() == 0 {
                    rank.send(&pattern(length, seed), 1, seed as u32).unwrap();
                } else {
                    let mut buffer = vec![0u8; length + 3];
                    let status = rank.recv(&mut buffer, 0, seed as u32).unwrap();
                    assert_eq!((status.source, status.tag, status.count), (0, seed as u32, length));
                    assert_eq!(buffer[..length], pattern(length, seed), "{wire:?} {length}");
                    assert_eq!(buffer[length..], [0; 3], "nothing is written behind the message");
                }
            }
        });
    }
}

#[test]
fn messages_match_on_source_and_tag_only() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| match rank.rank() {
            0 => {
                let mut x = [0u32];
                // In an order of tags and sources that differs from the order of sending.
                for (from, tag) in [(2, 9), (1, 8), (2, 8), (1, 9)] {
                    rank.recv(&mut x, from, tag).unwrap();
                    assert_eq!(x[0], from as u32 * 100 + tag);
                }
            }
            me => {
                for tag in [8, 9] {
                    rank.send(&[me as u32 * 100 + tag], 0, tag).unwrap();
                }
            }
        });
    }
}

#[test]
fn a_small_message_does_not_overtake_a_large_one() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                let large = rank.start_send(pattern(100_000, 1), 1, 5).unwrap();
                let little = rank.start_send(vec![42u8], 1, 5).unwrap();
                large.wait().unwrap();
                little.wait().unwrap();
            } else {
                let mut buffer = vec![0u8; 100_000];
                assert_eq!(rank.recv(&mut buffer, Source::Any, Tag::Any).unwrap().count, 100_000);
                assert_eq!(rank.recv(&mut buffer, Source::Any, Tag::Any).unwrap().count, 1);
            }
        });
    }
}

#[test]
fn wildcard_and_specific_receives_are_ordered_together() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                let any = rank.start_recv(vec![0u32; 1], Source::Any, Tag::Any).unwrap();
                let specific = rank.start_recv(vec![0u32; 1], 1, 7).unwrap();
                let other = rank.start_recv(vec![0u32; 1], 1, Tag::Any).unwrap();
                rank.send::<u8>(&[], 1, 0).unwrap();
                assert_eq!(any.wait().unwrap().0, [1]);
                assert_eq!(specific.wait().unwrap().0, [2]);
                assert_eq!(other.wait().unwrap().0, [3]);
            } else {
                rank.recv::<u8>(&mut [], 0, 0).unwrap();
                for (value, tag) in [(1u32, 7), (2, 7), (3, 7)] {
                    rank.send(&[value], 0, tag).unwrap();
                }
            }
        });
    }
}

#[test]
fn a_posted_send_advances_in_any_blocking_call() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                let large = rank.start_send(pattern(200_000, 3), 1, 1).unwrap();
                // Waits in an unrelated receive, which rank 1 answers only after it has the large one.
                rank.recv::<u8>(&mut [], 1, 2).unwrap();
                large.wait().unwrap();
            } else {
                let mut buffer = vec![0u8; 200_000];
                rank.recv(&mut buffer, 0, 1).unwrap();
                assert_eq!(buffer, pattern(200_000, 3));
                rank.send::<u8>(&[], 0, 2).unwrap();
            }
        });
    }
}

#[test]
fn a_synchronous_send_waits_for_its_match() {
    for wire in wires() {
        for length in [0, 10, 10_000] {
            let matched = std::sync::atomic::AtomicBool::new(false);
            world(wire, 2, &small(), |rank| {
                if rank.rank() == 0 {
                    rank.send_sync(&pattern(length, 0), 1, 0).unwrap();
                    assert!(matched.load(std::sync::atomic::Ordering::SeqCst), "{wire:?} {length}");
                } else {
                    // The message is here, and still the sender waits.
                    rank.probe(0, 0).unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    matched.store(true, std::sync::atomic::Ordering::SeqCst);
                    rank.recv(&mut vec![0u8; length], 0, 0).unwrap();
                }
            });
        }
    }
}

#[test]
fn probes_see_a_message_and_a_matched_probe_takes_it() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                rank.send(&[1u16, 2, 3], 1, 4).unwrap();
                rank.send(&[9u16], 1, 4).unwrap();
            } else {
                let status = rank.probe(Source::Any, Tag::Any).unwrap();
                assert_eq!((status.source, status.tag, status.count), (0, 4, 6));
                let message = rank.probe_matched(0, 4).unwrap();
                let mut buffer = [0u16; 4];
                // The one set aside can no longer be received by others.
                assert_eq!(rank.recv(&mut buffer, 0, 4).unwrap().count, 1);
                assert_eq!(buffer[0], 9);
                assert_eq!(message.recv(&mut buffer).unwrap().count, 3);
                assert_eq!(buffer[..3], [1, 2, 3]);
                assert_eq!(rank.try_probe(Source::Any, Tag::Any).unwrap(), None);
            }
        });
    }
}

#[test]
fn messages_of_unknown_length_come_in_vectors() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                for length in [0usize, 1, 3, 5_000, 50_000] {
                    rank.send(&vec![length as u64; length], 1, 7).unwrap();
                }
                rank.send(&[1u8, 2, 3], 1, 8).unwrap();
                rank.send(Raw::of(&[1u8, 2, 3]), 1, 8).unwrap();
            } else {
                for length in [0usize, 1, 3, 5_000, 50_000] {
                    let (data, status) = rank.recv_vec::<u64>(0, 7).unwrap();
                    assert_eq!((data, status.count), (vec![length as u64; length], length), "{wire:?}");
                }
                // Of another type, and no whole number of elements.
                for _ in 0..2 {
                    let error = rank.recv_vec::<u16>(0, 8).unwrap_err();
                    assert!(matches!(error, Error::WrongElement { bytes: 3, .. }), "{wire:?}: {error}");
                    assert!(error.to_string().starts_with("recv_vec #"), "{error}");
                }
            }
        });
    }
}

#[test]
fn truncation_is_an_error_at_the_receiver_only() {
    for wire in wires() {
        for length in [100, 256, 257, 60_000] {
            world(wire, 2, &small(), |rank| {
                if rank.rank() == 0 {
                    rank.send(&pattern(length, 1), 1, 3).unwrap();
                    rank.send(&[5u8], 1, 3).unwrap();
                } else {
                    for room in [50, 1] {
                        let mut buffer = vec![0u8; room];
                        let result = rank.recv(&mut buffer, 0, 3);
                        if room == 50 {
                            let error = result.unwrap_err();
                            let Error::Truncated { needed, room: 50, source_rank: 0, tag: 3, .. } = error
                            else {
                                panic!("{wire:?}: {error}")
                            };
                            assert_eq!(needed, length);
                            assert_eq!(buffer, pattern(length, 1)[..50]);
                        } else {
                            assert_eq!(result.unwrap().count, 1);
                            assert_eq!(buffer, [5]);
                        }
                    }
                }
            });
        }
    }
}

#[test]
fn a_rank_can_send_to_itself_at_any_size() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            for (seed, length) in LENGTHS.into_iter().enumerate() {
                let me = rank.rank();
                let pending = rank.start_recv(vec![0u8; length], me, 1).unwrap();
                rank.send(&pattern(length, seed), me, 1).unwrap();
                assert_eq!(pending.wait().unwrap().0, pattern(length, seed));
            }
        });
    }
}

#[test]
fn cancelling_a_receive_is_local_and_loses_nothing() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 1 {
                let never = rank.start_recv(vec![0u8; 1], 0, 1).unwrap();
                assert!(never.cancel());
                assert!(matches!(never.wait(), Err(Error::Cancelled { .. })));
                rank.send::<u8>(&[], 0, 0).unwrap();
                let mut buffer = [0u8];
                rank.recv(&mut buffer, 0, 1).unwrap();
                assert_eq!(buffer, [7]);
            } else {
                rank.recv::<u8>(&mut [], 1, 0).unwrap();
                rank.send(&[7u8], 1, 1).unwrap();
            }
        });
    }
}

/// More than fit the window and the requests that this test grants.
const FLOOD: u32 = 1_000;

#[test]
fn collectives_go_on_behind_any_number_of_messages_that_nobody_receives() {
    let choice = Choice { requests: Some(400), ..small() };
    for wire in wires() {
        world(wire, 2, &choice, |rank| {
            let mut sum = vec![1u64; 5000];
            let collectives = |sum: &mut Vec<u64>| {
                rank.barrier().unwrap();
                rank.all_reduce(&mut sum[..1], Op::Sum).unwrap();
                rank.all_reduce(sum, Op::Max).unwrap();
            };
            if rank.rank() == 0 {
                let sends: Vec<_> =
                    (0..FLOOD).map(|number| rank.start_send(vec![number], 1, 5).unwrap()).collect();
                assert!(!sends[FLOOD as usize - 1].is_done(), "{wire:?}: the flood is no flood");
                collectives(&mut sum);
                wait_all(sends).unwrap();
            } else {
                collectives(&mut sum);
                let mut number = [0u32];
                for expected in 0..FLOOD {
                    rank.recv(&mut number, 0, 5).unwrap();
                    assert_eq!(number[0], expected, "nothing overtakes");
                }
            }
            assert_eq!(sum[..2], [2, 1]);
        });
    }
}

#[test]
fn tags_use_the_whole_range() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            for tag in [0, 1, 1 << 31, Tag::MAX - 1, Tag::MAX] {
                if rank.rank() == 0 {
                    rank.send(&[tag], 1, tag).unwrap();
                } else {
                    let mut buffer = [0u32];
                    assert_eq!(rank.recv(&mut buffer, 0, tag).unwrap().tag, tag);
                    assert_eq!(buffer, [tag]);
                }
            }
        });
    }
}

#[test]
fn what_was_sent_arrives_although_the_sender_leaves_at_once() {
    for wire in wires() {
        for length in [1, 200, 50_000] {
            world(wire, 2, &small(), |rank| {
                if rank.rank() == 0 {
                    // A large send of a leaving rank completes because the receiver asks for it.
                    drop(rank.start_send(pattern(length, 8), 1, 0).unwrap());
                } else {
                    std::thread::sleep(std::time::Duration::from_millis(30));
                    let mut buffer = vec![0u8; length];
                    rank.recv(&mut buffer, 0, 0).unwrap();
                    assert_eq!(buffer, pattern(length, 8), "{wire:?}");
                }
            });
        }
    }
}

#[test]
fn a_message_that_was_set_aside_holds_up_nobodys_end() {
    for wire in wires() {
        for length in [1, 200, 50_000] {
            owned_world(wire, 2, &small(), |rank| {
                let other = 1 - rank.rank();
                drop(rank.start_send(pattern(length, 8), other, 0).unwrap());
                let message = rank.probe_matched(other, 0).unwrap();
                drop(rank);
                let error = message.recv(&mut vec![0u8; length]).unwrap_err();
                assert!(matches!(error, Error::Finalized { .. }), "{wire:?}: {error}");
            });
        }
    }
}

#[test]
fn a_receive_from_a_rank_that_has_left_is_an_error() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                rank.send(&[1u8], 1, 0).unwrap();
            } else {
                let mut buffer = [0u8];
                rank.recv(&mut buffer, 0, 0).unwrap();
                let error = rank.recv(&mut buffer, 0, 0).unwrap_err();
                assert!(matches!(error, Error::PeerFinished { rank: 0, .. }), "{wire:?}: {error}");
            }
        });
    }
}

#[test]
fn a_sender_that_outruns_its_receiver_is_held_back_and_loses_nothing() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                for i in 0..2000u32 {
                    rank.send(&[i; 16], 1, 0).unwrap();
                }
            } else {
                std::thread::sleep(std::time::Duration::from_millis(50));
                let mut buffer = [0u32; 16];
                for i in 0..2000u32 {
                    rank.recv(&mut buffer, 0, 0).unwrap();
                    assert_eq!(buffer, [i; 16]);
                }
            }
        });
    }
}

#[test]
fn many_threads_of_one_rank_may_communicate_at_once() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            std::thread::scope(|scope| {
                for tag in 0..4u32 {
                    scope.spawn(move || {
                        let peer = 1 - rank.rank();
                        for round in 0..50u32 {
                            let length = (round as usize * 37) % 600;
                            let pending = rank.start_recv(vec![0u8; length], peer, tag).unwrap();
                            rank.send(&pattern(length, round as usize), peer, tag).unwrap();
                            assert_eq!(pending.wait().unwrap().0, pattern(length, round as usize));
                        }
                    });
                }
            });
        });
    }
}

#[test]
fn wrong_arguments_are_errors_that_say_what_was_given() {
    world(wires()[0], 2, &small(), |rank| {
        let error = rank.send(&[0u8], 2, 0).unwrap_err().to_string();
        assert!(error.contains("rank 2 does not exist") && error.contains("0 to 1"), "{error}");
        let error = rank.all_gather(&[0u8], &mut [0u8; 3]).unwrap_err().to_string();
        assert!(error.contains("output has 3 elements"), "{error}");
        if rank.rank() == 0 {
            rank.send(&[1u8; 3], 1, 0).unwrap();
        } else {
            let error = rank.recv(&mut [0u16; 4], 0, 0).unwrap_err().to_string();
            assert!(error.contains("3 bytes"), "{error}");
        }
    });
}

#[test]
fn objects_of_any_size_travel() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let value: (String, Vec<u64>) = ("hello".into(), (0..5000).collect());
            if rank.rank() == 0 {
                rank.send_object(&value, 1, 6).unwrap();
            } else {
                assert_eq!(rank.recv_object::<(String, Vec<u64>)>(0, 6).unwrap(), value);
            }
        });
    }
}

/// A rank that is done leaves, and cannot know that another has begun to receive what nobody sends.
#[test]
fn a_receive_can_be_withdrawn_after_whoever_could_have_sent_for_it_has_left() {
    for wire in wires() {
        owned_world(wire, 2, &small(), |rank| {
            rank.barrier().unwrap();
            if rank.rank() == 1 {
                return;
            }
            let begin = |source: Source| rank.start_recv(vec![0u8; 1], source, 1).unwrap();
            let [named, any, kept] = [begin(1.into()), begin(Source::Any), begin(Source::Any)];
            // Says that the other has left.
            assert!(matches!(rank.recv(&mut [0u8], 1, 5), Err(Error::PeerFinished { .. })), "{wire:?}");
            for withdrawn in [named, any] {
                assert!(withdrawn.cancel(), "{wire:?}");
                assert!(withdrawn.is_done() && !withdrawn.cancel(), "{wire:?}: it is withdrawn");
                assert!(matches!(withdrawn.wait(), Err(Error::Cancelled { .. })), "{wire:?}");
            }
            assert!(matches!(kept.wait(), Err(Error::PeerFinished { .. })), "{wire:?}");
        });
    }
}

/// Calls `body` for rank 0 of two, whose other rank leaves at once, over every wire, with a length that is eager and
/// one that is not.
fn left_alone(body: impl Fn(&Rank, Wire, usize) + Sync) {
    for wire in wires() {
        for length in [1, 100_000] {
            owned_world(wire, 2, &small(), |rank| {
                rank.barrier().unwrap();
                if rank.rank() == 0 {
                    body(&rank, wire, length);
                }
            });
        }
    }
}

/// Sent before this rank knows that it is alone, and after.
#[test]
fn a_message_to_oneself_comes_from_any_source_after_all_others_have_left() {
    left_alone(|rank, wire, length| {
        let before = rank.start_send(vec![8u8; length], 0, 2).unwrap();
        assert!(matches!(rank.recv(&mut [0u8], 1, 5), Err(Error::PeerFinished { .. })), "{wire:?}");
        let after = rank.start_send_sync(vec![9u8; length], 0, 2).unwrap();
        for (sent, expected) in [(before, 8), (after, 9)] {
            let mut buffer = vec![0u8; length];
            rank.recv(&mut buffer, Source::Any, 2).unwrap();
            assert!(buffer.iter().all(|byte| *byte == expected), "{wire:?}");
            sent.wait().unwrap();
        }
    });
}

/// Begun before this rank knows that it is alone, and after, and not asked for since: it may still send to itself.
#[test]
fn a_receive_from_any_source_that_has_begun_waits_for_what_this_rank_sends_to_itself() {
    left_alone(|rank, wire, length| {
        let begin = |tag: u32| rank.start_recv(vec![0u8; length], Source::Any, tag).unwrap();
        let before = [begin(1), begin(2)];
        assert!(matches!(rank.recv(&mut [0u8], 1, 5), Err(Error::PeerFinished { .. })), "{wire:?}");
        let after = [begin(3), begin(4), begin(5)];
        for tag in [2, 3] {
            rank.send(&vec![tag as u8; length], 0, tag).unwrap();
        }
        let sent = rank.start_send(vec![4u8; length], 0, 4).unwrap();
        let mut received = Vec::new();
        let mut refused = 0;
        for pending in before.into_iter().chain(after) {
            match pending.wait() {
                Ok((data, status)) => received.push((data, status.tag)),
                // Only this rank could send for it, and waits.
                Err(Error::PeerFinished { rank: 1, .. }) => refused += 1,
                Err(error) => panic!("{wire:?}: {error}"),
            }
        }
        sent.wait().unwrap();
        let expected: Vec<_> = [2, 3, 4].map(|tag| (vec![tag as u8; length], tag)).into();
        assert!(received == expected, "{wire:?}");
        assert_eq!(refused, 2, "{wire:?}");
        // Whoever asks whether one has ended hears that it has.
        let asked = begin(6);
        assert!(asked.is_done(), "{wire:?}");
        assert!(matches!(asked.wait(), Err(Error::PeerFinished { .. })), "{wire:?}");
    });
}

/// However much lies ahead of it, and whoever asks.
#[test]
fn what_this_rank_has_sent_to_itself_is_found_after_all_others_have_left() {
    left_alone(|rank, wire, length| {
        assert!(matches!(rank.recv(&mut [0u8], 1, 5), Err(Error::PeerFinished { .. })), "{wire:?}");
        let send = |tag: u32| rank.start_send(vec![tag as u8; length], 0, tag).unwrap();
        let mut sent = vec![send(2)];
        assert_eq!(rank.probe(Source::Any, 2).unwrap().tag, 2, "{wire:?}");
        sent.push(send(3));
        let mut buffer = vec![0u8; length];
        let message = rank.probe_matched(Source::Any, 3).unwrap();
        message.recv(&mut buffer).unwrap();
        sent.push(send(4));
        let matched = rank.start_probe_matched(Source::Any, 4).unwrap();
        crate::tasks::block_on(matched).unwrap().recv(&mut buffer).unwrap();
        rank.recv(&mut buffer, Source::Any, 2).unwrap();
        let ahead: Vec<_> = (0..3_000).map(|_| rank.start_send(vec![1u8], 0, 1).unwrap()).collect();
        sent.push(send(5));
        rank.recv(&mut buffer, Source::Any, 5).unwrap();
        assert!(buffer.iter().all(|byte| *byte == 5), "{wire:?}");
        ahead.iter().for_each(|_| _ = rank.recv(&mut [0u8], Source::Any, 1).unwrap());
        sent.into_iter().chain(ahead).for_each(|sent| _ = sent.wait().unwrap());
        for probed in [rank.probe(Source::Any, 6).map(drop), rank.probe_matched(Source::Any, 6).map(drop)] {
            assert!(matches!(probed, Err(Error::PeerFinished { rank: 1, .. })), "{wire:?}");
        }
    });
}

/// Threads and tasks that wait when the last of the others leaves.
#[test]
fn whoever_waits_for_any_source_hears_that_all_others_have_left() {
    use std::time::Duration;
    for wire in wires() {
        owned_world(wire, 2, &small(), |rank| {
            rank.barrier().unwrap();
            if rank.rank() == 1 {
                // The other one sleeps by now.
                std::thread::sleep(Duration::from_millis(30));
                return;
            }
            let finished =
                |ended: Result<(), Error>| matches!(ended, Err(Error::PeerFinished { rank: 1, .. }));
            std::thread::scope(|threads| {
                let blocking = threads.spawn(|| rank.recv(&mut [0u8], Source::Any, 1).map(drop));
                let begun = rank.start_recv(vec![0u8], Source::Any, 2).unwrap();
                let begun = threads.spawn(|| begun.wait().map(drop));
                let task = rank.start_recv(vec![0u8], Source::Any, 3).unwrap();
                let task = threads.spawn(|| crate::tasks::block_on(task).map(drop));
                for waits in [blocking, begun, task] {
                    assert!(finished(waits.join().unwrap()), "{wire:?}");
                }
            });
        });
    }
}

/// When all others have left the world, a receive from any rank cannot end; but on a communicator that the
/// others are not in, it never counted on them.
#[test]
fn a_wildcard_on_a_communicator_of_one_does_not_need_the_others() {
    for wire in wires() {
        owned_world(wire, 2, &small(), |rank| {
            let alone = rank.split(Some(rank.rank()), 0).unwrap().unwrap();
            if rank.rank() == 1 {
                return;
            }
            // Says that the other has left, too.
            assert!(matches!(rank.recv(&mut [0u8], 1, 5), Err(Error::PeerFinished { .. })), "{wire:?}");
            let pending = alone.start_recv(vec![0u8; 1], Source::Any, Tag::Any).unwrap();
            alone.send(&[7u8], 0, 5).unwrap();
            assert_eq!(pending.wait().unwrap().0, [7], "{wire:?}");
        });
    }
}

/// The first message of a pair takes a connection, and that the other side's answer. Neither side's program has to be
/// in a call for it: not the receiver's, which computes, nor the sender's, which has gone on to something else.
#[cfg(feature = "tcp")]
#[test]
fn the_first_message_waits_for_nobodys_program() {
    use std::sync::Barrier;
    use std::time::{Duration, Instant};
    let steps = Barrier::new(3);
    owned_world(crate::common::real_wire(), 3, &Choice::default(), |rank| {
        match rank.rank() {
            0 => {
                let begun = Instant::now();
                rank.send(&[1u8], 1, 7).unwrap();
                rank.send(&[2u8; 10_000], 1, 7).unwrap();
                rank.send(&[3u8], 2, 7).unwrap();
                assert!(
                    begun.elapsed() < crate::common::patient(Duration::from_millis(900)),
                    "{:?}",
                    begun.elapsed()
                );
                // From here on the receivers may go on, and this rank is in no call until they have their messages.
                steps.wait();
                steps.wait();
            }
            1 => {
                steps.wait();
                let mut data = [0u8; 10_000];
                assert_eq!(rank.recv(&mut data, 0, 7).unwrap().count, 1);
                assert_eq!(rank.recv(&mut data, 0, 7).unwrap().count, 10_000);
                assert_eq!(data, [2; 10_000]);
                steps.wait();
            }
            _ => {
                steps.wait();
                assert_eq!(rank.recv(&mut [0u8], 0, 7).unwrap().count, 1);
                steps.wait();
            }
        }
        rank.barrier().unwrap();
    });
}

/// What is logged while `act` runs.
fn logged(act: impl FnOnce()) -> String {
    let log = Log::default();
    log.hear(act);
    log.said()
}

#[test]
fn messages_that_nobody_has_received_are_named_at_the_end_of_their_receiver() {
    for wire in wires() {
        for length in [3, 100_000] {
            let said = owned_world(wire, 2, &small(), |rank| {
                if rank.rank() == 0 {
                    // The last one is longer than the window: its sender hears that nobody takes it.
                    for tag in [7, 8, 9] {
                        drop(rank.start_send(vec![1u8; length], 1, tag).unwrap());
                    }
                    rank.send(&[1u8], 1, 1).unwrap();
                    return logged(|| drop(rank));
                }
                rank.recv(&mut vec![0u8; length], 0, 8).unwrap();
                rank.recv(&mut [0u8], 0, 1).unwrap();
                logged(|| drop(rank))
            });
            assert_eq!(said[0], "", "{wire:?}");
            let expected =
                ": 2 messages were never received before this rank left; the first is from rank 0 on ";
            assert!(said[1].contains(" WARN ") && said[1].contains(expected), "{wire:?}: {}", said[1]);
            assert!(said[1].contains(&format!("tag 7, {length} bytes\n")), "{wire:?}: {}", said[1]);
        }
    }
}

#[test]
fn a_program_that_receives_everything_ends_without_a_word() {
    for wire in wires() {
        let said = owned_world(wire, 3, &small(), |rank| {
            let (size, me) = (rank.size(), rank.rank());
            rank.send(&[1u8], (me + 1) % size, 1).unwrap();
            rank.recv(&mut [0u8; 1], Source::Any, 1).unwrap();
            rank.all_reduce(&mut [1f32; 100], Op::Sum).unwrap();
            // Withdrawn, with its message: nobody has sent it.
            drop(rank.start_recv(vec![0u8; 1], Source::Any, 2).unwrap());
            logged(|| drop(rank))
        });
        assert_eq!(said, ["", "", ""], "{wire:?}");
    }
}

/// A ring of shared memory, a socket or the credit is full again and again, and its sender sleeps; the receiver is
/// content with one message each time.
#[test]
fn a_sender_that_is_far_ahead_of_a_receiver_that_takes_its_time_gets_on() {
    const MANY: u32 = 6_000;
    for wire in wires() {
        world(wire, 2, &Choice::default(), |rank| {
            let mut data = [0u32; 16];
            for number in 0..MANY {
                if rank.rank() == 0 {
                    rank.send(&[number; 16], 1, number % 3).unwrap();
                    continue;
                }
                if number % 600 == 0 {
                    // Longer than a sender looks for room by itself.
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                assert_eq!(rank.recv(&mut data, 0, Tag::Any).unwrap().tag, number % 3);
                assert_eq!(data, [number; 16]);
            }
            rank.barrier().unwrap();
        });
    }
}
