//! The exchange: a send and a receive in one call, which cannot deadlock and leaves nothing behind.

use crate::common::{owned_world, small, wires, world};
use ringworld::{Error, Source, Tag};

/// Lengths around the eager limit and the window of `small`, and one that no socket buffers.
const LENGTHS: [usize; 6] = [0, 1, 256, 257, 5000, 8 << 20];

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + seed * 17) as u8).collect()
}

#[test]
fn a_ring_of_exchanges_moves_at_any_size() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let (me, size) = (rank.rank(), rank.size());
            let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
            for length in LENGTHS {
                let sent = pattern(length, me);
                let mut came = vec![0u8; length + 3];
                let status = rank.send_recv(&sent, next, 1, &mut came, previous, 1).unwrap().unwrap();
                assert_eq!((status.source, status.tag, status.count), (previous, 1, length));
                assert_eq!(came[..length], pattern(length, previous), "{wire:?} {length}");
                assert_eq!(came[length..], [0; 3], "nothing is written behind the message");

                let mut data = pattern(length, me);
                let status = rank.send_recv_replace(&mut data, next, 2, previous, 2).unwrap().unwrap();
                assert_eq!((status.source, status.count), (previous, length));
                assert_eq!(data, pattern(length, previous), "{wire:?} {length}");
            }
        });
    }
}

#[test]
fn an_exchange_with_oneself_moves_at_any_size() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let me = rank.rank();
            for length in LENGTHS {
                let mut came = vec![0u8; length];
                rank.send_recv(&pattern(length, 1), me, 1, &mut came, me, 1).unwrap();
                assert_eq!(came, pattern(length, 1));
                rank.send_recv_replace(&mut came, me, 1, Source::Any, Tag::Any).unwrap();
                assert_eq!(came, pattern(length, 1));
            }
        });
    }
}

#[test]
fn an_exchange_matches_separate_calls_of_other_types_and_tags() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                let mut came = [0u16; 4];
                let status = rank.send_recv(&[1.5f64], 1, 3, &mut came, Source::Any, Tag::Any).unwrap();
                let status = status.unwrap();
                assert_eq!((status.source, status.tag, status.count), (1, 4, 2));
                assert_eq!(came, [7, 8, 0, 0]);
            } else {
                let mut x = [0f64];
                rank.recv(&mut x, 0, 3).unwrap();
                assert_eq!(x, [1.5]);
                rank.send(&[7u16, 8], 0, 4).unwrap();
            }
        });
    }
}

#[test]
fn nobody_on_one_side_leaves_that_half_out() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let me = rank.rank();
            let (next, previous) = ((me < 2).then_some(me + 1), me.checked_sub(1));
            let mut came = [99u32];
            let status = rank.send_recv(&[me as u32], next, 1, &mut came, previous, 1).unwrap();
            assert_eq!(status.map(|status| status.source), previous);
            assert_eq!(came[0], previous.map_or(99, |previous| previous as u32));
            let mut data = [me as u32];
            let status = rank.send_recv_replace(&mut data, next, 1, previous, 1).unwrap();
            assert_eq!(status.map(|status| status.source), previous);
            assert_eq!(data[0], previous.unwrap_or(me) as u32, "with nobody to hear from it stays");
        });
    }
}

#[test]
fn the_failure_of_one_half_leaves_the_other_whole() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let peer = 1 - rank.rank();
            for length in [10usize, 5000] {
                let mut short = [0u8; 4];
                let error = rank.send_recv(&pattern(length, 5), peer, 1, &mut short, peer, 1).unwrap_err();
                assert!(matches!(error, Error::Truncated { room: 4, .. }), "{error}");
                for part in ["send_recv #", &format!("to rank {peer}, tag 1"), &format!("from rank {peer}")] {
                    assert!(error.to_string().contains(part), "{part:?} is missing in: {error}");
                }
                assert_eq!(short, pattern(length, 5)[..4], "the beginning is there");
            }
            let error = rank.send_recv(&[1u8, 2, 3], peer, 1, &mut [0u16; 2], peer, 1).unwrap_err();
            assert!(matches!(error, Error::WrongElement { bytes: 3, .. }), "{error}");
            // All of it has been consumed, and the world goes on.
            let mut data = [rank.rank() as u8];
            rank.send_recv_replace(&mut data, peer, 1, peer, 1).unwrap();
            assert_eq!(data, [peer as u8]);
        });
    }
}

#[test]
fn an_invalid_rank_is_refused_before_anything_is_sent() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let peer = 1 - rank.rank();
            let mut x = [0u8];
            let error = rank.send_recv(&[1u8], peer, 1, &mut x, 2, 1).unwrap_err();
            assert!(matches!(error, Error::InvalidRank { given: 2, size: 2, .. }), "{error}");
            let error = rank.send_recv_replace(&mut x, 5, 1, peer, 1).unwrap_err();
            assert!(matches!(error, Error::InvalidRank { given: 5, .. }), "{error}");
            rank.barrier().unwrap();
            assert!(rank.try_probe(Source::Any, Tag::Any).unwrap().is_none(), "nothing came");
        });
    }
}

#[test]
fn an_exchange_with_a_rank_that_dies_ends_with_its_name_and_frees_both_buffers() {
    for wire in wires() {
        let met = std::sync::Barrier::new(2);
        owned_world(wire, 2, &small(), |rank| {
            rank.barrier().unwrap();
            met.wait();
            if rank.rank() == 1 {
                std::thread::sleep(std::time::Duration::from_millis(30));
                rank.vanish();
                return;
            }
            // Too long to be sent without being received.
            let (mut data, mut came) = (pattern(1 << 20, 1), vec![0u8; 10]);
            let error = rank.send_recv(&data, 1, 1, &mut came, 1, 2).unwrap_err();
            assert!(matches!(error, Error::PeerFailed { rank: 1, .. }), "{error}");
            // They are this rank's again, to do with what it likes; and the world is over.
            came.fill(7);
            let error = rank.send_recv_replace(&mut data, 1, 1, 1, 2).unwrap_err();
            assert!(matches!(error, Error::PeerFailed { rank: 1, .. }), "{error}");
        });
    }
}

#[test]
fn threads_may_exchange_at_once() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let peer = 1 - rank.rank();
            std::thread::scope(|scope| {
                for tag in 0..4u32 {
                    scope.spawn(move || {
                        for round in 0..20usize {
                            let length = 97 * (round + 1) * (tag as usize + 1);
                            let mut data = pattern(length, rank.rank() + round);
                            rank.send_recv_replace(&mut data, peer, tag, peer, tag).unwrap();
                            assert_eq!(data, pattern(length, peer + round));
                        }
                    });
                }
            });
        });
    }
}
