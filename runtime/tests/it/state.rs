//! The newest state reaches every rank, whole, or nobody: `Communicator::share_state`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use ringworld::{Communicator, Error, Op, testing};
use serde::{Deserialize, Serialize};

use crate::common::{Wire, owned_world, wires, world};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Value {
    name: String,
    rates: BTreeMap<u32, Option<f64>>,
}

/// The state after so many steps; lengths and values change with the version.
#[derive(Clone, Debug, PartialEq)]
struct State {
    version: Option<u64>,
    value: Value,
    weights: Vec<f32>,
    order: Vec<u16>,
    pairs: Vec<[u64; 3]>,
}

impl State {
    fn after(version: u64) -> Self {
        let length = 1_000 + 300 * version as usize;
        Self {
            version: Some(version),
            value: Value {
                name: format!("version {version}"),
                rates: [(1, None), (2, Some(version as f64))].into(),
            },
            weights: (0..length).map(|index| (index as f32).sin() + version as f32).collect(),
            order: (0..version as u16).collect(),
            pairs: vec![[version, 1, 2]; (version % 3) as usize],
        }
    }

    /// Of one who has none, with remains of something else.
    fn none(length: usize) -> Self {
        let value = Value { name: String::new(), rates: BTreeMap::new() };
        Self {
            version: None,
            value,
            weights: vec![f32::NAN; length],
            order: vec![7; length],
            pairs: Vec::new(),
        }
    }

    fn of(version: Option<u64>) -> Self {
        version.map_or_else(|| Self::none(7_000), Self::after)
    }

    fn share(&mut self, world: &Communicator) -> ringworld::Result<ringworld::SharedState> {
        world.share_state(
            &mut self.version,
            &mut self.value,
            &mut [&mut self.weights, &mut self.order, &mut self.pairs],
        )
    }
}

#[test]
fn every_order_of_versions_ends_with_the_newest_everywhere() {
    let choices = [None, Some(0), Some(4), Some(5)];
    for wire in wires() {
        // Over the simulator all orders, over real wires some: they carry the same messages.
        let each = if matches!(wire, Wire::Sim(_)) { 1 } else { 7 };
        for number in (0..64).step_by(each) {
            let versions = [choices[number % 4], choices[number / 4 % 4], choices[number / 16]];
            let newest = versions.iter().copied().max().flatten();
            let ended = world(wire, 3, &crate::common::small(), |world| {
                let mut state = State::of(versions[world.rank()]);
                let shared = state.share(world).unwrap();
                // Once more: all are the same now, and nothing is left to do.
                let again = state.share(world).unwrap();
                (state, shared, again)
            });
            for (rank, (state, shared, again)) in ended.into_iter().enumerate() {
                let place = || format!("{wire:?}, rank {rank} of {versions:?}");
                assert_eq!(shared.version, newest, "{}", place());
                match newest {
                    Some(newest) => assert_eq!(state, State::after(newest), "{}", place()),
                    None => {
                        assert_eq!((state.version, shared.source), (None, None), "{}", place());
                        assert_eq!(state.order, vec![7; 7_000], "{}", place());
                    }
                }
                assert_eq!(again.digest, shared.digest, "{}", place());
                assert!(again.older.is_empty(), "{}", place());
            }
        }
    }
}

#[test]
fn vectors_of_nothing_and_no_vectors_at_all_are_states_too() {
    for wire in wires() {
        let ended = world(wire, 3, &testing::Choice::default(), |world| {
            let has = world.rank() == 2;
            let (mut version, mut value) = (has.then_some(1), u8::from(has));
            let shared = world.share_state(&mut version, &mut value, &mut []).unwrap();
            assert_eq!((version, value, shared.source), (Some(1), 1, Some(2)));

            let mut nothing: Vec<f64> = if has { Vec::new() } else { vec![1.0; 9] };
            let mut units = vec![[0u8; 0]; if has { 3 } else { 0 }];
            let mut version = has.then_some(2);
            world.share_state(&mut version, &mut (), &mut [&mut nothing, &mut units]).unwrap();
            (nothing.len(), units.len())
        });
        assert_eq!(ended, [(0, 3); 3], "{wire:?}");
    }
}

#[test]
fn ranks_of_one_version_with_other_states_are_named_on_every_rank_and_the_world_goes_on() {
    for wire in wires() {
        let errors = world(wire, 4, &testing::Choice::default(), |world| {
            let mut state = State::of([Some(3), Some(3), None, Some(3)][world.rank()]);
            let before = state.clone();
            if world.rank() == 1 {
                // One bit of all.
                state.weights[1_700] = f32::from_bits(state.weights[1_700].to_bits() ^ 1);
            }
            let error = state.share(world).unwrap_err();
            assert!(matches!(error, Error::StateDiffers { .. }) && !error.is_recoverable(), "{error:#?}");
            if world.rank() != 1 && world.rank() != 2 {
                assert_eq!(state, before);
            }
            assert_eq!(world.all_reduce_one(1u32, Op::Sum).unwrap(), 4);
            error.to_string()
        });
        assert!(errors[0].contains("version 3 differ: ranks 0, 3 have "), "{}", errors[0]);
        assert!(
            errors[0].contains(", rank 1 has ") && errors[0].contains("share_state() at "),
            "{}",
            errors[0]
        );
        assert_eq!(errors, vec![errors[0].clone(); 4]);
    }
}

#[test]
fn other_vectors_are_an_error_on_every_rank() {
    let errors = world(Wire::Sim(3), 3, &testing::Choice::default(), |world| {
        let (mut floats, mut words) = (vec![1f32], vec![1u32]);
        let mut version = Some(1);
        match world.rank() {
            2 => world.share_state(&mut version, &mut (), &mut [&mut words]),
            _ => world.share_state(&mut version, &mut (), &mut [&mut floats]),
        }
        .unwrap_err()
    });
    for error in errors {
        assert!(matches!(error, Error::InvalidCount { .. }), "{error:#?}");
        assert!(error.to_string().contains("but rank 2 gives vectors of elements of 4 bytes"), "{error}");
    }
}

/// Written as one thing, read as another.
#[derive(Debug, PartialEq)]
struct Fickle(u32);

impl Serialize for Fickle {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => Err(serde::ser::Error::custom("it is shy")),
            number => to.serialize_u32(number),
        }
    }
}

impl<'de> Deserialize<'de> for Fickle {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u32::deserialize(from)? {
            13 => Err(serde::de::Error::custom("it is unlucky")),
            number => Ok(Self(number)),
        }
    }
}

#[test]
fn values_that_cannot_be_written_or_read_are_an_error_on_every_rank_and_nothing_is_lost() {
    for (number, action, says) in [(0, "serialized", "it is shy"), (13, "deserialized", "it is unlucky")] {
        let ended = world(Wire::Sim(3), 3, &testing::Choice::default(), |world| {
            // Of rank 0 comes the newest, rank 1 has something, rank 2 nothing.
            let (mut version, mut value) = match world.rank() {
                0 => (Some(2), Fickle(number)),
                1 => (Some(1), Fickle(1)),
                _ => (None, Fickle(1)),
            };
            let mut vector = vec![world.rank(); 5];
            let error = world.share_state(&mut version, &mut value, &mut [&mut vector]).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert_eq!(world.all_reduce_one(1u32, Op::Sum).unwrap(), 3);
            if world.rank() < 2 {
                assert_eq!(vector, [world.rank(); 5]);
            }
            let Error::Object { action, .. } = error else { panic!("{error:#?}") };
            (action, version)
        });
        assert_eq!(ended, [(action, Some(2)), (action, Some(1)), (action, None)]);
    }
}

thread_local! {
    /// Whether the rank of this thread dies of what it reads.
    static DIES: Cell<bool> = const { Cell::new(false) };
}

/// A value in the middle of whose reading a rank may end.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Deadly(u32);

impl<'de> Deserialize<'de> for Deadly {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = u32::deserialize(from)?;
        assert!(!DIES.get(), "this rank dies");
        Ok(Self(value))
    }
}

#[test]
fn a_rank_that_dies_in_the_middle_leaves_the_others_a_whole_state_and_the_next_world_has_the_newest() {
    let left = owned_world(Wire::Sim(5), 4, &testing::Choice::default(), |world| {
        // What is small has come to ranks 0, 2 and 3, and the vectors are about to.
        let (mut version, mut vector) = match world.rank() {
            0 | 3 => (None, Vec::new()),
            1 => (Some(8), vec![8u64; 10_000]),
            _ => (Some(7), vec![7u64; 9_000]),
        };
        let mut value = Deadly(version.unwrap_or(0) as u32);
        DIES.set(world.rank() == 0);
        let share = || world.share_state(&mut version, &mut value, &mut [&mut vector]);
        match catch_unwind(AssertUnwindSafe(share)) {
            Ok(shared) => {
                let error = shared.unwrap_err();
                assert!(matches!(error, Error::PeerFailed { rank: 0, .. }), "{error:#?}");
                assert!(error.to_string().contains("share_state() at "), "{error}");
            }
            Err(_) => world.vanish(),
        }
        (version, value, vector)
    });
    assert_eq!(left[3].0, None);
    assert_eq!(left[0].0, None);
    assert_eq!(left[1], (Some(8), Deadly(8), vec![8; 10_000]));
    assert_eq!(left[2], (Some(7), Deadly(7), vec![7; 9_000]));

    let left = Mutex::new(left.into_iter().map(Some).collect::<Vec<_>>());
    let ended = testing::ranks(4, |world| {
        let (mut version, mut value, mut vector) = left.lock().unwrap()[world.rank()].take().unwrap();
        let shared = world.share_state(&mut version, &mut value, &mut [&mut vector]).unwrap();
        assert_eq!((shared.source, shared.older, shared.newcomers), (Some(1), vec![2], vec![0, 3]));
        (version, value, vector)
    });
    assert_eq!(ended, vec![(Some(8), Deadly(8), vec![8; 10_000]); 4]);
}

#[test]
fn whenever_the_world_fails_a_state_is_whole_or_none() {
    const LENGTH: usize = 1 << 20;
    let (mut intact, mut torn) = (0, 0);
    for delay in 0..10 {
        let left = testing::ranks(3, |world| {
            let (mut version, mut vector) = match world.rank() {
                0 => (Some(7), vec![7u64; LENGTH]),
                1 => (Some(8), vec![8u64; LENGTH + 1]),
                _ => (None, Vec::new()),
            };
            let mut value = version.unwrap_or(0);
            world.barrier().unwrap();
            let result = std::thread::scope(|scope| {
                if world.rank() == 2 {
                    let world = Communicator::clone(&world);
                    _ = scope.spawn(move || {
                        std::thread::sleep(Duration::from_millis(2 * delay));
                        // Not what the others call there.
                        world.barrier()
                    });
                }
                world.share_state(&mut version, &mut value, &mut [&mut vector])
            });
            (result.is_ok(), version, value, vector)
        });
        for (rank, (well, version, value, vector)) in left.into_iter().enumerate() {
            let newest = (value, vector.len()) == (8, LENGTH + 1) && vector.iter().all(|one| *one == 8);
            match version {
                Some(8) => assert!(newest, "rank {rank}, after {delay}"),
                Some(7) => {
                    assert_eq!((rank, value, vector.len()), (0, 7, LENGTH), "after {delay}");
                    assert!(vector.iter().all(|one| *one == 7), "after {delay}");
                }
                other => assert_eq!((rank, other), (2, None), "after {delay}"),
            }
            assert!(!well || version == Some(8), "rank {rank}, after {delay}");
            *(if version == Some(8) { &mut intact } else { &mut torn }) += 1;
        }
    }
    // Rank 1 has had it from the beginning.
    println!("{intact} had the newest state, {torn} had not");
    assert!(intact >= 10);
}
