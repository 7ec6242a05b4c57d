//! Calls of other languages: memory that Rust does not know, types that are known only at run time, and communicators
//! made by their members alone.

use std::borrow::Borrow;
use std::cell::Cell;
use std::num::NonZeroU32;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringworld::foreign::{Blocks, Call, Foreign, Pending, Reducer, wait_any};
use ringworld::{Communicator, DType, Error, Op, Source, Tag, testing};

/// No wait is longer, but one that never ends.
const BOUND: Duration = Duration::from_secs(30);

fn memory<T>(data: &mut [T]) -> Foreign {
    // SAFETY: every operation of these tests has ended before the array that it was given is touched again or dropped.
    unsafe { Foreign::new(data.as_mut_ptr().cast(), size_of_val(data)) }
}

#[test]
fn every_collective_does_on_bytes_what_it_does_on_elements() {
    testing::ranks(3, |world| {
        let rank = world.rank() as u32;
        let run = |call: Call, input: Option<&mut [u32]>, output: Option<&mut [u32]>| {
            world.run_foreign(&call, input.map(memory), output.map(memory)).unwrap();
        };
        run(Call::Barrier, None, None);
        let mut x = [rank + 1];
        run(Call::Broadcast { root: 1 }, None, Some(&mut x));
        assert_eq!(x, [2]);

        let sum = || Reducer::new(DType::U32, Op::Sum).unwrap();
        let (mut mine, mut all) = ([rank, 10], [0; 2]);
        run(Call::AllReduce { op: sum() }, Some(&mut mine), Some(&mut all));
        assert_eq!((mine, all), ([rank, 10], [3, 30]));
        run(Call::AllReduce { op: sum() }, None, Some(&mut mine));
        assert_eq!(mine, [3, 30]);

        let (mut mine, mut all) = ([rank + 1], [0; 3]);
        let whole = (rank == 2).then_some(&mut all[..]);
        run(Call::Gather { root: 2, blocks: Blocks::Same }, Some(&mut mine), whole);
        assert_eq!(all, if rank == 2 { [1, 2, 3] } else { [0; 3] });
        run(Call::AllGather { blocks: Blocks::Same }, Some(&mut mine), Some(&mut all));
        assert_eq!(all, [1, 2, 3]);
        let given = (rank == 0).then_some(&mut all[..]);
        run(Call::Scatter { root: 0, blocks: Blocks::Same }, given, Some(&mut mine));
        assert_eq!(mine, [rank + 1]);

        let counts: Arc<[usize]> = [0, 4, 8].into();
        let (mut few, mut three) = (vec![rank; rank as usize], [9; 3]);
        run(Call::AllGather { blocks: Blocks::Each(Arc::clone(&counts)) }, Some(&mut few), Some(&mut three));
        assert_eq!(three, [1, 2, 2]);
        let mut part = vec![0; rank as usize];
        let blocks = Blocks::Each(Arc::clone(&counts));
        run(Call::ReduceScatter { blocks, op: sum() }, Some(&mut three), Some(&mut part));
        assert_eq!(part, [vec![], vec![3], vec![6, 6]][rank as usize]);

        let mut blocks = [10 * rank, 10 * rank + 1, 10 * rank + 2];
        run(Call::AllToAll, None, Some(&mut blocks));
        assert_eq!(blocks, [rank, 10 + rank, 20 + rank]);
        let mut scanned = [rank + 1];
        run(Call::Scan { exclusive: false, op: sum() }, None, Some(&mut scanned));
        assert_eq!(scanned, [[1], [3], [6]][rank as usize]);
        let mut reduced = [0];
        let result = (rank == 1).then_some(&mut reduced[..]);
        run(Call::Reduce { root: 1, op: sum() }, Some(&mut [rank][..]), result);
        assert_eq!(reduced, if rank == 1 { [3] } else { [0] });
        let mut three = [rank; 3];
        run(Call::ReduceScatter { blocks: Blocks::Same, op: sum() }, None, Some(&mut three));
        assert_eq!(three[0], 3);
    });
}

#[test]
fn functions_on_bytes_keep_the_order_of_ranks() {
    let results = testing::ranks(4, |world| {
        // Appends digits: neither commutative nor of a type that has a name.
        let digits = Reducer::from_fn(
            "digits",
            8,
            8,
            false,
            Arc::new(|left, right| {
                for (left, right) in left.chunks_exact(8).zip(right.chunks_exact_mut(8)) {
                    let (a, b) = (u64::from_le_bytes(left.try_into().unwrap()), &*right);
                    let b = u64::from_le_bytes(b.try_into().unwrap());
                    let width = 10u64.pow(b.checked_ilog10().unwrap_or(0) + 1);
                    right.copy_from_slice(&(a * width + b).to_le_bytes());
                }
            }),
        );
        let mut data = [world.rank() as u64 + 1; 5];
        world.run_foreign(&Call::AllReduce { op: digits }, None, Some(memory(&mut data))).unwrap();
        data
    });
    assert_eq!(results, [[1234; 5]; 4]);
}

#[test]
fn operations_under_way_are_waited_for_withdrawn_and_left() {
    testing::ranks(2, |world| {
        let other = 1 - world.rank();
        let mut came = [[0u8; 1]; 3];
        let [first, second, third] = &mut came;
        let receive = |tag| Call::Receive { from: Source::Any, tag: Tag::Value(tag) };
        let mut pending = [(1, first), (2, second), (3, third)]
            .map(|(tag, data)| world.begin_foreign(&receive(tag), None, Some(memory(data))).unwrap());
        let mut sent = [7u8];
        let send = Call::Send { to: other, tag: 2, synchronous: false };
        world.begin_foreign(&send, Some(memory(&mut sent)), None).unwrap().wait().unwrap();
        assert_eq!(wait_any(&pending.each_ref()), Some(1));
        let status = pending[1].wait().unwrap().unwrap();
        assert_eq!((status.source, status.tag, status.bytes()), (other, 2, 1));
        assert!(pending[0].cancel());
        assert!(matches!(pending[0].wait(), Err(Error::Cancelled { .. })));
        world.barrier().unwrap();
        // Nobody hears of the third one's end, and it ends nevertheless.
        drop(pending);
        world.send(&[9u8], other, 3).unwrap();
        world.barrier().unwrap();
        assert!(world.try_probe(Source::Any, Tag::Any).unwrap().is_none());
        assert_eq!(came[1], [7]);
    });
}

#[test]
fn memory_that_an_operation_cannot_use_is_refused() {
    let world = testing::alone();
    let op = Reducer::new(DType::F64, Op::Sum).unwrap();
    let mut bytes = [0u64; 3];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut bytes);
    for (range, said) in [(1..9, "aligned"), (0..9, "whole number")] {
        let call = Call::AllReduce { op: op.clone() };
        let error = world.run_foreign(&call, None, Some(memory(&mut bytes[range]))).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// Those that are asked for first were sent last; of one lane they come in the order in which they were sent, short
/// ones and long ones.
#[test]
fn messages_of_one_tag_are_told_apart_by_lanes() {
    const LENGTHS: [usize; 3] = [300_000, 8, 40_000];
    testing::ranks(2, |world| {
        let (twin, peer) = (world.twin().unwrap(), 1 - world.rank());
        let lanes = [1, 2, 0x8000_0000, u32::MAX].map(|lane| NonZeroU32::new(lane).unwrap());
        let mut messages: Vec<Vec<u8>> =
            LENGTHS.iter().flat_map(|len| (0..lanes.len()).map(|place| vec![place as u8; *len])).collect();
        let mut sends: Vec<_> = messages
            .iter_mut()
            .enumerate()
            .map(|(at, data)| twin.begin_send_in_lane(memory(data), peer, u32::MAX, lanes[at % lanes.len()]))
            .collect();
        let ordinary = twin.start_send(vec![9u8], peer, u32::MAX).unwrap();
        assert_eq!(twin.recv_vec::<u8>(peer, u32::MAX).unwrap().0, [9]);
        for (place, lane) in lanes.iter().enumerate().rev() {
            for len in LENGTHS {
                let message = loop {
                    let found = twin.try_probe_matched_in_lane(peer, u32::MAX, *lane).unwrap();
                    if let Some(message) = found {
                        break message;
                    }
                    std::thread::yield_now();
                };
                assert_eq!(message.status().tag, u32::MAX);
                assert_eq!(message.recv_vec::<u8>().unwrap().0, vec![place as u8; len]);
            }
        }
        for send in &mut sends {
            send.as_mut().unwrap().wait().unwrap();
        }
        ordinary.wait().unwrap();
        assert!(twin.try_probe(peer, Tag::Any).unwrap().is_none());
    });
}

/// A word of each member, by messages of the twin.
fn exchange(on: &Communicator, members: &[usize], word: [u8; 8]) -> ringworld::Result<Vec<[u8; 8]>> {
    let twin = on.twin()?;
    members
        .iter()
        .map(|member| twin.start_send(vec![word], *member, 5))
        .collect::<ringworld::Result<Vec<_>>>()?;
    members
        .iter()
        .map(|member| {
            let mut word = [[0u8; 8]];
            twin.recv(&mut word, *member, 5)?;
            Ok(word[0])
        })
        .collect()
}

#[test]
fn members_make_a_communicator_without_the_others() {
    testing::ranks(4, |world| {
        if world.rank() == 3 {
            let members = world.group().include([0]).unwrap();
            let error = world.create_among(&members, |word| Ok::<_, Error>(vec![word])).unwrap_err();
            assert!(matches!(error, Error::InvalidGroup { .. }), "{error}");
        } else {
            let members = [2, 0, 1];
            let group = world.group().include(members).unwrap();
            let made: Vec<Communicator> = (0..3)
                .map(|_| world.create_among(&group, |word| exchange(&world, &members, word)).unwrap())
                .collect();
            for made in &made {
                assert_eq!(members[made.rank()], world.rank());
                assert_eq!(made.all_gather_vec(&[world.rank()]).unwrap(), members);
            }
        }
        world.barrier().unwrap();
    });
}

/// Says which communicator it keeps, and another one of another world later.
struct Liar {
    kept: Communicator,
    other: Communicator,
    lies: Cell<bool>,
}

impl Borrow<Communicator> for Liar {
    fn borrow(&self) -> &Communicator {
        if self.lies.get() { &self.other } else { &self.kept }
    }
}

/// Which way the process that runs the test below alone is to take.
const WAY: &str = "RINGWORLD_TEST_LIAR";

fn be_lied_to(way: &str) {
    let worlds = [testing::alone(), testing::alone()];
    let [kept, other] = [&worlds[0], &worlds[1]].map(|world| Communicator::clone(world));
    let liar = Liar { kept, other, lies: Cell::new(false) };
    let receive = Call::Receive { from: Source::Any, tag: 1.into() };
    let mut pending = Pending::begin(liar, &receive, None, None).unwrap();
    if way != "nothing" {
        pending.communicator().lies.set(true);
    }
    match way {
        "wait" => drop(pending.wait()),
        "done" => drop(pending.is_done()),
        "cancel" => drop(pending.cancel()),
        "pass" => drop(pending.into_owned()),
        _ => drop(pending),
    }
}

#[test]
fn who_borrows_for_an_operation_cannot_send_it_to_another_world() {
    if let Ok(way) = std::env::var(WAY) {
        return be_lied_to(&way);
    }
    for (way, signal) in [
        ("nothing", None),
        ("wait", Some(6)),
        ("done", Some(6)),
        ("cancel", Some(6)),
        ("pass", Some(6)),
        ("drop", Some(6)),
    ] {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "foreign::who_borrows_for_an_operation_cannot_send_it_to_another_world"]);
        let mut alone = alone.env(WAY, way).stdout(Stdio::null()).spawn().unwrap();
        let begin = Instant::now();
        let ended = loop {
            match alone.try_wait().unwrap() {
                None if begin.elapsed() > BOUND => {
                    alone.kill().unwrap();
                    panic!("{way}: it waits for ever");
                }
                None => std::thread::sleep(Duration::from_millis(5)),
                Some(status) => break status,
            }
        };
        assert_eq!(ended.signal(), signal, "{way}: {ended}");
        assert!(signal.is_some() || ended.success(), "{way}: {ended}");
    }
}
