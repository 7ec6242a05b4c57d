//! Objects in collectives: of every size, in rank order, and a rank that has none to give leaves nobody
//! waiting.

use crate::common::{owned_world, small, wires, world};
use ringworld::{Communicator, Error, Raw, Result};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Something with parts of no fixed size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Shard {
    name: String,
    rows: Vec<(u64, f32)>,
    parent: Option<Box<Shard>>,
}

/// From nothing to more than any first message holds; another length on each rank.
fn shard(rank: usize, scale: usize) -> Shard {
    let rows = (0..rank * scale).map(|i| (i as u64 * 1_000_003, i as f32 / 3.0)).collect();
    let parent = Shard { name: String::new(), rows: vec![], parent: None };
    Shard { name: format!("shard of {rank}"), rows, parent: (rank % 2 == 1).then(|| Box::new(parent)) }
}

const SCALES: [usize; 4] = [0, 3, 200, 20_000];

#[test]
fn every_rank_gets_the_roots_object() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            for scale in SCALES {
                for root in 0..rank.size() {
                    let object = (rank.rank() == root).then(|| shard(root, scale));
                    assert_eq!(rank.broadcast_object(object, root).unwrap(), shard(root, scale));
                }
            }
            // What other ranks give is not looked at.
            assert_eq!(rank.broadcast_object(Some(rank.rank()), 2).unwrap(), 2);
            // Lengths around the end of the first message.
            for length in 230..250 {
                let text = rank.broadcast_object((rank.rank() == 1).then(|| "x".repeat(length)), 1).unwrap();
                assert_eq!(text.len(), length);
            }
        });
    }
}

#[test]
fn objects_are_gathered_in_rank_order() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            for scale in SCALES {
                let all: Vec<Shard> = (0..4).map(|r| shard(r, scale)).collect();
                let mine = &all[rank.rank()];
                assert_eq!(rank.all_gather_objects(mine).unwrap(), all);
                for root in 0..4 {
                    let gathered = rank.gather_objects(mine, root).unwrap();
                    assert_eq!(gathered, (rank.rank() == root).then(|| all.clone()));
                }
            }
            assert_eq!(rank.all_gather_objects(&()).unwrap(), [(); 4], "objects of no bytes");
        });
    }
}

#[test]
fn one_object_much_longer_than_the_others_is_gathered_too() {
    for wire in wires() {
        world(wire, 5, &small(), |rank| {
            let length = |rank: usize| if rank == 3 { 3 << 20 } else { rank };
            let all = rank.all_gather_objects(&"ab".repeat(length(rank.rank()))).unwrap();
            for (r, text) in all.iter().enumerate() {
                assert_eq!(*text, "ab".repeat(length(r)), "{wire:?}");
            }
        });
    }
}

#[test]
fn each_rank_gets_its_object_of_the_root() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            for scale in SCALES {
                for root in 0..4 {
                    let all: Vec<Shard> = (0..4).map(|r| shard(r + root, scale)).collect();
                    let mine = rank.scatter_objects((rank.rank() == root).then_some(&all[..]), root).unwrap();
                    assert_eq!(mine, all[rank.rank()]);
                }
            }
        });
    }
}

#[test]
fn objects_are_combined_from_left_to_right() {
    for wire in wires() {
        world(wire, 5, &small(), |rank| {
            let fold = |a: String, b: String| format!("({a}{b})");
            let mine = rank.rank().to_string();
            for root in [0, 3] {
                let result = rank.reduce_object(mine.clone(), fold, root).unwrap();
                assert_eq!(result, (rank.rank() == root).then(|| "((((01)2)3)4)".to_string()));
            }
            assert_eq!(rank.all_reduce_object(mine, fold).unwrap(), "((((01)2)3)4)");
            // Not the same wherever it runs; all get the same nevertheless.
            let salted = rank.all_reduce_object(0u64, |a, b| a + b + rank.rank() as u64).unwrap();
            assert_eq!(salted, 0, "rank 0 combines");
        });
    }
}

#[test]
fn parts_of_the_world_have_objects_of_their_own() {
    for wire in wires() {
        world(wire, 5, &small(), |rank| {
            let half = rank.split(Some(rank.rank() % 2), 10 - rank.rank()).unwrap().unwrap();
            let expected: &[usize] = if rank.rank() % 2 == 0 { &[4, 2, 0] } else { &[3, 1] };
            assert_eq!(half.all_gather_objects(&rank.rank()).unwrap(), expected);
            let first = half.broadcast_object((half.rank() == 0).then(|| rank.rank()), 0).unwrap();
            assert_eq!(first, expected[0]);
        });
    }
}

/// Cannot be written when it is 1, nor read when it is 2.
#[derive(Clone, Debug, PartialEq)]
struct Fragile(u8);

impl Serialize for Fragile {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 {
            1 => Err(serde::ser::Error::custom("does not like to be written")),
            other => serializer.serialize_u8(other),
        }
    }
}

impl<'de> Deserialize<'de> for Fragile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            2 => Err(D::Error::custom("does not like to be read")),
            other => Ok(Self(other)),
        }
    }
}

/// The call ends on every rank with an error of objects that has all of `parts`, and the world goes on.
fn refused<V: std::fmt::Debug>(rank: &Communicator, result: Result<V>, parts: &[&str]) {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Object { .. }), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
    rank.barrier().unwrap();
    assert_eq!(rank.all_gather_objects(&rank.rank()).unwrap(), (0..rank.size()).collect::<Vec<_>>());
}

#[test]
fn a_rank_whose_object_cannot_be_written_is_named_on_every_rank() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            let mine = || Fragile(if rank.rank() == 2 { 1 } else { 5 });
            let parts = |call| [call, "could not be serialized", "rank 2 on host2"];
            refused(rank, rank.gather_objects(&mine(), 1), &parts("gather_objects"));
            refused(rank, rank.gather_objects(&mine(), 2), &parts("gather_objects"));
            refused(rank, rank.all_gather_objects(&mine()), &parts("all_gather_objects"));
            refused(rank, rank.reduce_object(mine(), |a, _| a, 0), &parts("reduce_object"));
            refused(rank, rank.all_reduce_object(mine(), |a, _| a), &parts("all_reduce_object"));
            let root = (rank.rank() == 2).then_some(Fragile(1));
            refused(rank, rank.broadcast_object(root, 2), &parts("broadcast_object"));
            let objects = [Fragile(0), Fragile(0), Fragile(0), Fragile(1)];
            let parts = ["scatter_objects", "rank 2 on host2", "the object for rank 3"];
            refused(rank, rank.scatter_objects((rank.rank() == 2).then_some(&objects[..]), 2), &parts);
        });
    }
}

#[test]
fn a_root_that_gives_nothing_or_too_little_is_named_on_every_rank() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let none = rank.broadcast_object(None::<u32>, 1);
            let call = format!("broadcast_object(root 1) at runtime/tests/it/objects.rs:{}", line!() - 1);
            refused(rank, none, &[&call, "could not be given", "rank 1 on host1", "gave no object"]);
            refused(
                rank,
                rank.scatter_objects(None::<&[u32]>, 0),
                &["scatter_objects(root 0)", "gave no objects"],
            );
            let two = rank.scatter_objects(Some(&[1u32, 2][..]), 0);
            refused(rank, two, &["scatter_objects", "rank 0 on host0", "gave 2 objects for 3 ranks"]);
        });
    }
}

#[test]
fn an_object_that_cannot_be_read_is_an_error_where_it_is_read() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let mine = Fragile(if rank.rank() == 2 { 2 } else { 5 });
            let parts = ["could not be deserialized", "the object of rank 2"];
            refused(rank, rank.all_gather_objects(&mine), &parts);
            // Everybody waits for the result, so everybody hears.
            refused(rank, rank.all_reduce_object(mine.clone(), |a, _| a), &parts);
            match rank.gather_objects(&mine, 1) {
                Ok(None) => assert_ne!(rank.rank(), 1),
                other => assert!(rank.rank() == 1 && other.unwrap_err().to_string().contains(parts[1])),
            }
            // A result that cannot be written.
            let unwritten = rank.all_reduce_object(Fragile(0), |_, _| Fragile(1));
            refused(rank, unwritten, &["could not be serialized", "rank 0 on host0"]);
        });
    }
}

#[test]
fn what_is_no_such_object_is_refused_where_it_is_read() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                rank.send_object(&(1u8, 2u8), 1, 0).unwrap();
                rank.send_object("too short", 1, 0).unwrap();
                rank.send(&[Raw(0xff); 12], 1, 0).unwrap();
            } else {
                let error = rank.recv_object::<u8>(0, 0).unwrap_err().to_string();
                assert!(error.contains("the object of rank 0 on host0: invalid type: sequence"), "{error}");
                let error = rank.recv_object::<(String, u64)>(0, 0).unwrap_err().to_string();
                assert!(error.contains("recv_object (from rank 0, tag 0) failed"), "{error}");
                // A length that no message has.
                let error = rank.recv_object::<Vec<u64>>(0, 0).unwrap_err();
                assert!(matches!(error, Error::Object { .. }), "{error}");
            }
        });
    }
}

#[test]
fn calls_or_roots_that_differ_end_on_every_rank_by_name() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let error = match rank.rank() {
                2 => rank.reduce_object(1u8, |a, _| a, 1).unwrap_err(),
                _ => rank.gather_objects(&1u8, 1).unwrap_err(),
            };
            let text = error.to_string();
            assert!(matches!(error, Error::Mismatch { .. }), "{text}");
            assert!(
                text.contains(
                    "rank 0 on host0 called gather_objects with root 1 at runtime/tests/it/objects.rs:"
                ),
                "{text}"
            );
            assert!(text.contains("rank 2 on host2 called reduce_object with root 1"), "{text}");
            let text = rank.gather_objects(&1u8, rank.rank() / 2).unwrap_err().to_string();
            assert!(text.contains("gather_objects with root 0 at"), "{text}");
            assert!(text.contains("but rank 2 on host2 called gather_objects with root 1"), "{text}");
            let error = rank.gather_objects(&1u8, 3).unwrap_err();
            assert!(matches!(error, Error::InvalidRank { given: 3, .. }), "{error}");
            assert_eq!(rank.all_gather_objects(&1u8).unwrap(), [1; 3]);
        });
    }
}

#[test]
fn a_rank_that_dies_ends_the_call_on_the_others() {
    for wire in wires() {
        let met = std::sync::Barrier::new(3);
        owned_world(wire, 3, &small(), |rank| {
            rank.barrier().unwrap();
            met.wait();
            if rank.rank() == 2 {
                rank.vanish();
                return;
            }
            let error = rank.all_gather_objects(&shard(3, 1000)).unwrap_err();
            assert!(matches!(error, Error::PeerFailed { .. }), "{error}");
            // The call that the user made, and not the one that it is made of.
            let text = error.to_string();
            assert!(text.starts_with("all_gather_objects() at runtime/tests/it/objects.rs:"), "{text}");
        });
    }
}

#[test]
fn errors_of_messages_name_the_calls_on_objects() {
    for wire in wires() {
        // What rank 0 has sent in the barrier may be on its way when it is out of it.
        let met = std::sync::Barrier::new(2);
        owned_world(wire, 2, &small(), |rank| {
            rank.barrier().unwrap();
            met.wait();
            if rank.rank() == 0 {
                rank.vanish();
                return;
            }
            let text = rank.recv_object::<u8>(0, 3).unwrap_err().to_string();
            assert!(text.starts_with("recv_object (from rank 0, tag 3) failed: "), "{text}");
            let text = rank.send_object(&"x".repeat(1 << 20), 0, 4).unwrap_err().to_string();
            assert!(text.starts_with("send_object (to rank 0, tag 4) failed: "), "{text}");
        });
    }
}
