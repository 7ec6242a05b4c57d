//! Collectives through the public calls, over the simulator and over TCP, against naive results.

use crate::common::{Wire, small, wires, world};
use ringworld::testing::{Choice, Hub};
use ringworld::{Error, Op};

const SIZES: [usize; 6] = [1, 2, 3, 4, 5, 8];

/// Counts around nothing, the number of ranks, and several segments of the small tuning.
fn counts(size: usize) -> Vec<usize> {
    vec![0, 1, size - 1, size, size + 1, 13, 1000, 20_011]
}

fn tuned() -> Choice {
    let mut choice = small();
    choice.tuning.segment = 4096;
    choice.tuning.shortest_segment = 512;
    choice
}

fn input(rank: usize, count: usize) -> Vec<i64> {
    (0..count).map(|i| (i as i64 * 7 + 3) * (rank as i64 + 1) % 1009).collect()
}

fn summed(size: usize, count: usize) -> Vec<i64> {
    let mut sum = vec![0; count];
    for rank in 0..size {
        sum.iter_mut().zip(input(rank, count)).for_each(|(sum, x)| *sum += x);
    }
    sum
}

#[test]
fn all_reduce_gives_every_rank_the_sum() {
    for wire in wires() {
        for size in SIZES {
            world(wire, size, &tuned(), |rank| {
                for count in counts(size) {
                    let mut data = input(rank.rank(), count);
                    rank.all_reduce(&mut data, Op::Sum).unwrap();
                    assert_eq!(data, summed(size, count), "{wire:?} {size} {count}");
                    let mut output = vec![0; count];
                    rank.all_reduce_into(&input(rank.rank(), count), &mut output, Op::Sum).unwrap();
                    assert_eq!(output, data);
                }
            });
        }
    }
}

#[test]
fn floats_are_the_same_bits_on_every_rank_and_on_every_run() {
    for count in [1, 1000, 30_000] {
        let run = |wire| {
            world(wire, 4, &tuned(), |rank| {
                let mut data: Vec<f32> =
                    (0..count).map(|i| ((i * 37 + rank.rank() * 101) as f32).sin() * 1e3).collect();
                rank.all_reduce(&mut data, Op::Sum).unwrap();
                data.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            })
        };
        let first = run(Wire::Sim(1));
        assert!(first.iter().all(|bits| *bits == first[0]));
        for wire in wires() {
            assert_eq!(run(wire), first, "{wire:?}");
        }
    }
}

#[test]
fn every_operation_and_type_reduces() {
    macro_rules! check {
        ($rank:expr, $($type:ty),*) => {$({
            let convert = |x: i32| <$type>::from(x as i8 as u8 as i8 as $type);
            for (op, expected) in [(Op::Sum, 6), (Op::Product, 6), (Op::Min, 1), (Op::Max, 3)] {
                let mut data = [convert($rank.rank() as i32 + 1); 5];
                $rank.all_reduce(&mut data, op).unwrap();
                assert_eq!(data, [convert(expected); 5], "{op} {}", stringify!($type));
            }
        })*};
    }
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            check!(rank, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
            for (op, expected) in [(Op::Sum, 6.0), (Op::Product, 6.0), (Op::Min, 1.0), (Op::Max, 3.0)] {
                let mine = rank.rank() as f32 + 1.0;
                let mut half = [ringworld::f16::from_f32(mine); 3];
                rank.all_reduce(&mut half, op).unwrap();
                assert_eq!(half, [ringworld::f16::from_f32(expected); 3]);
                let mut brain = [ringworld::bf16::from_f32(mine); 3];
                rank.all_reduce(&mut brain, op).unwrap();
                assert_eq!(brain, [ringworld::bf16::from_f32(expected); 3]);
            }
        });
    }
}

#[test]
fn the_others_agree_with_naive_results() {
    for wire in wires() {
        for size in SIZES {
            world(wire, size, &tuned(), |rank| {
                let me = rank.rank();
                for count in counts(size) {
                    rank.barrier().unwrap();
                    for root in [0, size - 1, size / 2] {
                        let mut data = input(if me == root { 50 } else { me }, count);
                        rank.broadcast(&mut data, root).unwrap();
                        assert_eq!(data, input(50, count), "broadcast {wire:?} {size} {count} {root}");

                        let mut data = input(me, count);
                        rank.reduce(&mut data, Op::Sum, root).unwrap();
                        let expected = if me == root { summed(size, count) } else { input(me, count) };
                        assert_eq!(data, expected, "reduce {wire:?} {size} {count} {root}");
                    }
                    let mut all = vec![0; count * size];
                    rank.all_gather(&input(me, count), &mut all).unwrap();
                    let expected: Vec<_> = (0..size).flat_map(|peer| input(peer, count)).collect();
                    assert_eq!(all, expected, "all_gather {wire:?} {size} {count}");

                    let mut block = vec![0; count];
                    rank.reduce_scatter(&input(me, count * size), &mut block, Op::Sum).unwrap();
                    let whole = summed(size, count * size);
                    assert_eq!(block, whole[me * count..][..count], "reduce_scatter {wire:?} {size} {count}");
                }
            });
        }
    }
}

#[test]
fn several_all_reduces_may_be_in_flight() {
    for wire in wires() {
        world(wire, 3, &tuned(), |rank| {
            let pending: Vec<_> = (0..6)
                .map(|i| rank.start_all_reduce(input(rank.rank(), 500 * i + 1), Op::Sum).unwrap())
                .collect();
            for (i, pending) in pending.into_iter().enumerate().rev() {
                assert_eq!(pending.wait().unwrap(), summed(3, 500 * i + 1));
            }
        });
    }
}

#[test]
fn communicators_are_apart() {
    for wire in wires() {
        world(wire, 5, &tuned(), |rank| {
            let me = rank.rank();
            // Odd and even ranks, in reverse order.
            let half = rank.split(Some(me % 2), 10 - me).unwrap().unwrap();
            let members: Vec<usize> = (0..5).rev().filter(|r| r % 2 == me % 2).collect();
            assert_eq!((half.size(), members[half.rank()]), (members.len(), me));
            let mut all = vec![0usize; half.size()];
            half.all_gather(&[me], &mut all).unwrap();
            assert_eq!(all, members);
            let twin = half.duplicate().unwrap();
            // The same tag in two communicators: received in the other order.
            let next = (half.rank() + 1) % half.size();
            let before = (half.rank() + half.size() - 1) % half.size();
            let sends =
                [half.start_send(vec![1u8], next, 7).unwrap(), twin.start_send(vec![2u8], next, 7).unwrap()];
            let mut buffer = [0u8];
            assert_eq!(twin.recv(&mut buffer, before, 7).unwrap().source, before);
            assert_eq!(buffer, [2]);
            half.recv(&mut buffer, before, 7).unwrap();
            assert_eq!(buffer, [1]);
            for send in sends {
                send.wait().unwrap();
            }
            assert!(rank.split((me == 0).then_some(3), 0).unwrap().is_some() == (me == 0));
        });
    }
}

/// Without a control plane only the ranks that meet the wrong message hear of it, so one is enough here;
/// that every rank hears is tested with processes.
fn disagreement(body: impl Fn(&ringworld::Communicator) -> ringworld::Result<()> + Sync) {
    for wire in wires() {
        let results = world(wire, 2, &tuned(), |rank| body(rank));
        let errors: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        assert!(!errors.is_empty(), "{wire:?}: somebody notices");
        let told = errors.iter().any(|error| {
            let text = error.to_string();
            matches!(error, Error::Mismatch { .. }) && text.contains("disagree") && text.contains("called")
        });
        assert!(told, "{wire:?}: {errors:?}");
    }
}

#[test]
fn ranks_that_disagree_about_the_count_hear_who_asked_for_what() {
    disagreement(|rank| rank.all_reduce(&mut vec![1f32; 5 + rank.rank()], Op::Sum));
}

#[test]
fn ranks_that_disagree_about_the_operation_hear_who_asked_for_what() {
    disagreement(|rank| rank.all_reduce(&mut [1f32; 5], if rank.rank() == 0 { Op::Sum } else { Op::Max }));
}

#[test]
fn ranks_that_disagree_about_the_type_hear_who_asked_for_what() {
    disagreement(|rank| match rank.rank() {
        0 => rank.all_reduce(&mut [1f32; 4], Op::Sum),
        _ => rank.all_reduce(&mut [1i32; 4], Op::Sum),
    });
}

#[test]
fn ranks_that_disagree_about_the_collective_hear_who_asked_for_what() {
    disagreement(|rank| match rank.rank() {
        0 => rank.barrier(),
        _ => rank.all_reduce(&mut [1i32; 100_000], Op::Sum),
    });
}

#[test]
fn ranks_that_disagree_about_the_root_hear_who_asked_for_what() {
    disagreement(|rank| {
        rank.broadcast(&mut [0u8; 10], rank.rank())?;
        rank.barrier()
    });
}

#[test]
fn ranks_with_different_tuning_hear_which_setting_differs() {
    for wire in wires() {
        let choice = |rank| {
            let mut choice = tuned();
            choice.tuning.segment <<= rank;
            choice
        };
        let results = crate::common::mixed_world(wire, 2, choice, |rank| {
            rank.all_reduce(&mut vec![1f32; 20_000], Op::Sum)
        });
        let mut errors = results.iter().filter_map(|result| result.as_ref().err());
        assert!(errors.any(|error| error.to_string().contains("RINGWORLD_SEGMENT")), "{wire:?}: {results:?}");
    }
}

#[test]
fn what_is_gathered_is_returned_where_it_belongs() {
    for wire in wires() {
        for size in [1, 2, 5] {
            world(wire, size, &Choice::default(), |rank| {
                for count in [0, 1, 1000] {
                    let mine = vec![rank.rank() as u32; count];
                    let all: Vec<u32> = (0..size as u32).flat_map(|rank| vec![rank; count]).collect();
                    assert_eq!(rank.all_gather_vec(&mine).unwrap(), all);
                    let root = size - 1;
                    let gathered = rank.gather_vec(&mine, root).unwrap();
                    assert_eq!(gathered, (rank.rank() == root).then_some(all));
                }
                let error = rank.gather_vec(&[1u8], size).unwrap_err();
                assert!(error.to_string().contains("gather_vec"), "{error}");
            });
        }
    }
}

#[test]
fn buckets_reduce_what_single_calls_reduce_and_are_filled_again() {
    for wire in wires() {
        for size in [1, 2, 4] {
            world(wire, size, &Choice::default(), |rank| {
                // Bytes below, at and above the capacity, and nothing.
                let lengths = [3, 0, 500, 499, 5000, 1, 250, 250, 251, 0];
                let tensor = |round: usize, number: usize, rank: usize| {
                    (0..lengths[number])
                        .map(|i| (round + number * 7 + rank * 3 + i) as u64)
                        .collect::<Vec<_>>()
                };
                let mut buckets = rank.all_reduce_buckets(Op::Sum).capacity(4000);
                for round in 0..3 {
                    // Each round another number of them, none in the second.
                    let count = [lengths.len(), 0, 4][round];
                    for number in 0..count {
                        assert_eq!(buckets.push(tensor(round, number, rank.rank())).unwrap(), number);
                    }
                    let sums = buckets.finish().unwrap();
                    assert_eq!(sums.len(), count);
                    for (number, sum) in sums.into_iter().enumerate() {
                        let mut expected = vec![0; lengths[number]];
                        for peer in 0..size {
                            let theirs = tensor(round, number, peer);
                            expected.iter_mut().zip(theirs).for_each(|(sum, x)| *sum += x);
                        }
                        assert_eq!(sum, expected, "{wire:?} {size} round {round} tensor {number}");
                    }
                }
            });
        }
    }
}

#[test]
fn buckets_that_could_not_be_sent_give_nothing_back() {
    let rank = ringworld::testing::alone();
    // An average of integers is refused as soon as a bucket is full; 32 bytes are.
    let mut buckets = rank.all_reduce_buckets(Op::Average).capacity(32);
    buckets.push(vec![1i32; 5]).unwrap();
    let error = buckets.push(vec![2i32; 5]).unwrap_err();
    assert!(matches!(error, Error::UnsupportedOp { .. }), "{error}");
    assert_eq!(buckets.finish().unwrap(), Vec::<Vec<i32>>::new());
    assert_eq!(buckets.push(vec![3i32; 5]).unwrap(), 0);
    assert!(matches!(buckets.finish(), Err(Error::UnsupportedOp { .. })));
    assert_eq!(buckets.finish().unwrap(), Vec::<Vec<i32>>::new());
}

#[test]
fn ranks_that_push_other_tensors_are_told() {
    for wire in wires() {
        // Whoever finds it first may be gone before the other has looked.
        let choice = Choice { hub: Some(Hub::new(2)), ..Choice::default() };
        let results = world(wire, 2, &choice, |rank| {
            let mut buckets = rank.all_reduce_buckets(Op::Sum);
            buckets.push(vec![1f32; 10 + rank.rank()]).unwrap();
            buckets.finish().map(drop)
        });
        assert!(results.iter().all(|result| matches!(result, Err(Error::Mismatch { .. }))), "{results:?}");
    }
}

#[test]
fn whoever_is_far_ahead_with_vectors_that_others_look_at_is_followed_by_messages() {
    // Around the longest that is shown, the longest message that lies in a ring, the longest that one record names, and
    // the eager limit of `Choice`.
    const LENGTHS: [usize; 8] = [8, 2048, 2049, 4096, 4097, 8191, 8192, 8193];
    // More than anybody may be ahead by showing.
    const ROUNDS: usize = 24;
    for wire in wires() {
        world(wire, 3, &Choice::default(), |rank| {
            for (turn, length) in LENGTHS.into_iter().enumerate() {
                rank.barrier().unwrap();
                // A root waits for nobody, and one of the others comes late.
                if rank.rank() == 1 + turn % 2 {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                for round in 0..ROUNDS {
                    let value = (round * 7 + turn) as u8;
                    let mut data = vec![if rank.rank() == 0 { value } else { 0 }; length];
                    rank.broadcast(&mut data, 0).unwrap();
                    assert!(data.iter().all(|byte| *byte == value), "{wire:?} {length} {round}");
                }
                let mut sum = vec![1u8; length];
                rank.all_reduce(&mut sum, Op::Sum).unwrap();
                assert_eq!(sum, vec![3; length], "{wire:?}");
            }
        });
    }
}
