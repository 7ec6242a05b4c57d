//! The types of messages: what was sent as one type is never received as another, in none of the ways to send and
//! receive, over the simulator and over TCP. It is the receiver's error alone, and everything goes on.

use std::fmt::Debug;

use crate::common::{small, wires, world};
use bytemuck::{Pod, Zeroable};
use ringworld::{Communicator, DType, Error, Raw, Result, Source, Status, Tag};

/// Lengths in elements of 4 bytes: one that goes with its header, and one that is asked for.
const LENGTHS: [usize; 2] = [2, 10_000];

#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Particle {
    place: [f32; 3],
    charge: f32,
}

/// One way to receive `length` elements from rank 0 with tag 1: what came and the error, or all of the buffer.
fn ways<T: Pod + Send + Debug>(rank: &Communicator, way: usize, length: usize) -> Option<Result<Vec<T>>> {
    let mut data = vec![T::zeroed(); length];
    let received = match way {
        0 => rank.recv(&mut data, 0, 1).map(|_| data),
        1 => rank.recv(&mut data, Source::Any, Tag::Any).map(|_| data),
        2 => rank.start_recv(data, 0, 1).unwrap().wait().map(|(data, _)| data),
        3 => rank.scope(|s| s.recv(&mut data, 0, 1)?.wait().map(drop)).map(|()| data),
        // Not waited for: the scope tells.
        4 => rank.scope(|s| s.recv(&mut data, 0, 1).map(drop)).map(|()| data),
        5 => rank.probe_matched(0, 1).unwrap().recv(&mut data).map(|_| data),
        6 => rank.prepare_recv(data, 0, 1).unwrap().run().map(|data| data.to_vec()),
        7 => rank.send_recv::<u8, T>(&[], None, 0, &mut data, 0, 1).map(|_| data),
        8 => rank.send_recv_replace(&mut data, None, 0, 0, 1).map(|_| data),
        9 => {
            rank.probe(0, 1).unwrap();
            rank.recv(&mut data, 0, 1).map(|_| data)
        }
        _ => return None,
    };
    Some(received)
}

/// One way to send to rank 1 with tag 1.
fn send<T: Pod + Send>(rank: &Communicator, way: usize, data: &[T]) {
    match way % 7 {
        0 => rank.send(data, 1, 1).unwrap(),
        1 => rank.send_sync(data, 1, 1).unwrap(),
        2 => drop(rank.start_send(data.to_vec(), 1, 1).unwrap().wait().unwrap()),
        3 => drop(rank.start_send_sync(data.to_vec(), 1, 1).unwrap().wait().unwrap()),
        4 => rank.scope(|s| s.send(data, 1, 1)?.wait()).unwrap(),
        5 => drop(rank.prepare_send(data.to_vec(), 1, 1).unwrap().run().unwrap()),
        _ => assert!(rank.send_recv::<T, u8>(data, 1, 1, &mut [], None, 0).unwrap().is_none()),
    }
}

#[test]
fn a_message_of_another_type_is_the_receivers_error_only() {
    for wire in wires() {
        for length in LENGTHS {
            world(wire, 2, &small(), |rank| {
                for way in 0..10 {
                    if rank.rank() == 0 {
                        send(rank, way, &vec![1.5f32; length]);
                        send(rank, way, &vec![1.5f32; length]);
                    } else {
                        let error = ways::<i32>(rank, way, length).unwrap().unwrap_err();
                        let Error::WrongElement { source_rank: 0, tag: 1, bytes, sent, wanted, .. } = &error
                        else {
                            panic!("{wire:?} {way}: {error}")
                        };
                        assert_eq!((*bytes, &**sent, &**wanted), (4 * length, "f32", "i32"));
                        let text = error.to_string();
                        assert!(text.contains("tag 1 from rank 0") && text.contains("Raw"), "{text}");
                        assert_eq!(ways::<f32>(rank, way, length).unwrap().unwrap(), vec![1.5; length]);
                    }
                }
            });
        }
    }
}

#[test]
fn nothing_of_another_type_reaches_the_buffer() {
    for wire in wires() {
        for length in LENGTHS {
            for early in [false, true] {
                world(wire, 2, &small(), |rank| {
                    if rank.rank() == 0 {
                        let data = vec![1.5f32; length];
                        let sending = early.then(|| rank.start_send(data.clone(), 1, 1).unwrap());
                        rank.barrier().unwrap();
                        match sending {
                            Some(sending) => drop(sending.wait().unwrap()),
                            None => rank.send(&data, 1, 1).unwrap(),
                        }
                    } else {
                        let mut data = vec![7i64; length / 2];
                        let error = rank.scope(|s| {
                            let receive = if early { None } else { Some(s.recv(&mut data, 0, 1)?) };
                            rank.barrier()?;
                            receive.map(|receive| receive.wait().map(drop)).transpose().map(drop)
                        });
                        let error = if early { rank.recv(&mut data, 0, 1).map(drop) } else { error };
                        assert!(matches!(error, Err(Error::WrongElement { .. })), "{wire:?}: {error:?}");
                        assert_eq!(data, vec![7; length / 2], "{wire:?}");
                    }
                });
            }
        }
    }
}

/// What rank 1 gets that receives as `R` what rank 0 sends as `S`.
fn cross<S: Pod + Send + Sync, R: Pod + Send>(sent: &[S], room: usize) -> Result<Status> {
    let mut results = world(wires()[0], 2, &small(), |rank| {
        if rank.rank() == 0 {
            rank.send(sent, 1, 1).map(|()| None)
        } else {
            rank.recv(&mut vec![R::zeroed(); room], 0, 1).map(Some)
        }
    });
    results.pop().unwrap().map(Option::unwrap)
}

#[test]
fn types_are_told_apart_by_name_and_others_by_size() {
    let differs = |result: Result<Status>, sent: &str, wanted: &str| {
        let error = result.unwrap_err();
        let text = format!("of type {sent}, but the receive is for type {wanted};");
        assert!(error.to_string().contains(&text), "{error}");
    };
    differs(cross::<u8, f32>(&[0; 8], 2), "u8", "f32");
    differs(cross::<f32, u8>(&[0.0; 2], 8), "f32", "u8");
    differs(cross::<u64, i64>(&[0], 1), "u64", "i64");
    differs(cross::<Particle, f32>(&[Particle::default()], 4), "opaque element of 16 bytes", "f32");
    differs(
        cross::<[u8; 3], [u8; 4]>(&[[0; 3]; 4], 3),
        "opaque element of 3 bytes",
        "opaque element of 4 bytes",
    );
    differs(cross::<Raw, u16>(&[Raw(0); 3], 2), "bytes", "u16");
    assert_eq!(cross::<Particle, Particle>(&[Particle::default(); 3], 5).unwrap().count, 3);
    assert_eq!(cross::<usize, u64>(&[1; 3], 5).unwrap().count, 3, "one name on a machine of 64 bits");
    assert_eq!(cross::<f32, i64>(&[], 5).unwrap().count, 0, "no elements are of no type");
}

#[test]
fn raw_bytes_go_both_ways() {
    assert_eq!(cross::<Raw, f32>(&[Raw(0); 8], 2).unwrap().count, 2);
    assert_eq!(cross::<f32, Raw>(&[0.0; 2], 8).unwrap().count, 8);
    assert_eq!(cross::<Raw, Raw>(&[Raw(0); 3], 8).unwrap().count, 3);
}

#[test]
fn a_status_counts_elements_whether_received_or_probed() {
    for wire in wires() {
        for length in LENGTHS {
            world(wire, 2, &small(), |rank| {
                if rank.rank() == 0 {
                    rank.send(&vec![1u16; length], 1, 1).unwrap();
                    rank.send(&[Particle::default()], 1, 1).unwrap();
                } else {
                    let check = |status: Status| {
                        assert_eq!((status.bytes(), status.element()), (2 * length, Some(DType::U16)));
                        assert_eq!(status.elements::<u16>(), Some(length));
                        assert_eq!(status.elements::<Raw>(), Some(2 * length));
                        assert_eq!((status.elements::<i16>(), status.elements::<u32>()), (None, None));
                    };
                    check(rank.probe(0, 1).unwrap());
                    let message = rank.probe_matched(0, 1).unwrap();
                    check(message.status());
                    check(message.recv(&mut vec![0u16; length]).unwrap());
                    let status = rank.probe(0, 1).unwrap();
                    assert_eq!((status.elements::<Particle>(), status.element()), (Some(1), None));
                    rank.recv(&mut [Particle::default()], 0, 1).unwrap();
                }
            });
        }
    }
}

#[test]
fn objects_and_numbers_are_not_mixed_up() {
    for wire in wires() {
        for length in LENGTHS {
            world(wire, 2, &small(), |rank| {
                if rank.rank() == 0 {
                    rank.send_object(&vec![1u8; length], 1, 1).unwrap();
                    rank.send(&vec![1u8; length], 1, 2).unwrap();
                    rank.send_object(&vec![1u8; length], 1, 3).unwrap();
                } else {
                    let error = rank.recv(&mut vec![0u8; 2 * length], 0, 1).unwrap_err().to_string();
                    assert!(error.contains("serialized object") && error.contains("recv_object"), "{error}");
                    let error = rank.recv_object::<Vec<u8>>(0, 2).unwrap_err().to_string();
                    assert!(error.contains("of type u8") && error.contains("send_object"), "{error}");
                    assert_eq!(rank.probe(0, 3).unwrap().element(), None);
                    assert_eq!(rank.recv_object::<Vec<u8>>(0, 3).unwrap(), vec![1; length]);
                }
            });
        }
    }
}
