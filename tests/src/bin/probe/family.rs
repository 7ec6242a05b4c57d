//! Every collective, from every root and of several lengths, beside what one process computes of all ranks' values.
//!
//! Values are whole numbers and their sums exact, so that whatever the algorithms and the hosts, one result is right.
//! Neighbours: `tests/tests/it/two_levels.rs` puts the ranks on hosts.

use std::time::Duration;

use clap::ValueEnum;
use ringworld::{Communicator, Op, UserOp, World};
use ringworld_tests::clock;

use super::{Trouble, say};

type Play = fn(&Communicator, usize) -> Result<(), Trouble>;

/// A collective, as `ringworld_collectives` calls it.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Call {
    Barrier,
    Broadcast,
    Reduce,
    /// By an operation that does not commute
    OrderedReduce,
    AllReduce,
    OrderedAllReduce,
    AllGather,
    ReduceScatter,
    Gather,
    Scatter,
    AllToAll,
    Scan,
}

/// Makes the calls of the whole world, and with `halves` also among the even and the odd ranks, backwards: their hosts
/// have other ranks, in another order.
pub(crate) fn family(world: &World, only: &[Call], elements: &[usize], halves: bool) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let half = if halves { world.split(Some(rank % 2), size - rank)? } else { None };
    let calls = if only.is_empty() { Call::value_variants() } else { only };
    for communicator in [Some(&**world), half.as_ref()].into_iter().flatten() {
        for call in calls {
            let (lengths, play): (&[usize], Play) = match call {
                Call::Barrier => (&[0], barrier),
                Call::Broadcast => (elements, broadcast),
                Call::Reduce => (elements, reduce),
                Call::OrderedReduce => (elements, ordered_reduce),
                Call::AllReduce => (elements, all_reduce),
                Call::OrderedAllReduce => (elements, ordered_all_reduce),
                Call::AllGather => (elements, all_gather),
                Call::ReduceScatter => (elements, reduce_scatter),
                Call::Gather => (elements, gather),
                Call::Scatter => (elements, scatter),
                Call::AllToAll => (elements, all_to_all),
                Call::Scan => (elements, scan),
            };
            lengths.iter().try_for_each(|count| play(communicator, *count))?;
        }
    }
    say("compared", Some(rank), "");
    Ok(world.barrier()?)
}

/// What a rank contributes, which no other does anywhere near.
fn value(rank: usize, index: usize) -> u64 {
    (rank as u64 + 1) << 32 | (index as u64).wrapping_mul(2_654_435_761) & 0xffff_ffff
}

fn values(rank: usize, count: usize) -> Vec<u64> {
    (0..count).map(|index| value(rank, index)).collect()
}

/// Two maps `x -> a x + b`, one after the other; the order matters, parentheses do not.
fn compose(first: u64, second: u64) -> u64 {
    let [(a, b), (c, d)] = [first, second].map(|map| (map >> 32, map & 0xffff_ffff));
    c.wrapping_mul(a) << 32 | c.wrapping_mul(b).wrapping_add(d) & 0xffff_ffff
}

fn ordered() -> UserOp<u64> {
    UserOp::new("compose", compose)
}

fn folded(mut ranks: std::ops::Range<usize>, index: usize, combine: fn(u64, u64) -> u64) -> Option<u64> {
    let first = value(ranks.next()?, index);
    Some(ranks.fold(first, |sum, rank| combine(sum, value(rank, index))))
}

fn sum(ranks: usize, index: usize) -> u64 {
    folded(0..ranks, index, |a, b| a + b).unwrap_or(0)
}

fn composed(ranks: usize, index: usize) -> u64 {
    folded(0..ranks, index, compose).unwrap_or(0)
}

/// How many elements each rank has where ranks have not as many; one of them none.
fn uneven(size: usize, count: usize) -> Vec<usize> {
    (0..size).map(|rank| count * rank / size).collect()
}

/// The elements of all ranks one after the other, and whose they are.
fn blocks(counts: &[usize]) -> Vec<(usize, usize)> {
    counts.iter().enumerate().flat_map(|(rank, count)| (0..*count).map(move |index| (rank, index))).collect()
}

fn compare(
    world: &Communicator,
    what: &str,
    got: &[u64],
    expected: impl Fn(usize) -> u64,
) -> Result<(), Trouble> {
    match got.iter().enumerate().find(|(index, x)| **x != expected(*index)) {
        None => Ok(()),
        Some((index, x)) => {
            let (rank, size, expected) = (world.rank(), world.size(), expected(index));
            let length = got.len();
            let place = format!("element {index} of {length} of {what} on rank {rank} of {size}");
            Err(Trouble::Wrong(format!("{place} is {x:#x}, not {expected:#x}")))
        }
    }
}

/// Each is late once, and nobody leaves before it has come.
fn barrier(world: &Communicator, _count: usize) -> Result<(), Trouble> {
    for late in 0..world.size() {
        if world.rank() == late {
            std::thread::sleep(Duration::from_millis(10));
        }
        let came = clock::now();
        world.barrier()?;
        let left = clock::now();
        let all = world.all_gather_vec(&[came])?;
        if let Some(rank) = all.iter().position(|came| *came > left) {
            return Err(Trouble::Wrong(format!(
                "rank {} left a barrier before rank {rank} came",
                world.rank()
            )));
        }
    }
    Ok(())
}

fn broadcast(world: &Communicator, count: usize) -> Result<(), Trouble> {
    for root in 0..world.size() {
        let mut data = if world.rank() == root { values(root, count) } else { vec![0; count] };
        world.broadcast(&mut data, root)?;
        compare(world, &format!("broadcast from {root}"), &data, |index| value(root, index))?;
    }
    Ok(())
}

fn reduce(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    for root in 0..size {
        let mut data = values(rank, count);
        world.reduce(&mut data, Op::Sum, root)?;
        if rank == root {
            compare(world, &format!("reduce to {root}"), &data, |index| sum(size, index))?;
        }
    }
    Ok(())
}

fn ordered_reduce(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    for root in 0..size {
        let mut result = vec![0; if rank == root { count } else { 0 }];
        world.reduce_into(&values(rank, count), &mut result, ordered(), root)?;
        compare(world, &format!("ordered reduce to {root}"), &result, |index| composed(size, index))?;
    }
    Ok(())
}

fn all_reduce(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let mut data = values(rank, count);
    world.all_reduce(&mut data, Op::Sum)?;
    compare(world, "all_reduce", &data, |index| sum(size, index))
}

fn ordered_all_reduce(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let mut result = vec![0; count];
    world.all_reduce_into(&values(rank, count), &mut result, ordered())?;
    compare(world, "ordered all_reduce", &result, |index| composed(size, index))
}

fn all_gather(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let all = blocks(&vec![count; size]);
    let mut result = vec![0; all.len()];
    world.all_gather(&values(rank, count), &mut result)?;
    compare(world, "all_gather", &result, |index| value(all[index].0, all[index].1))?;

    let counts = uneven(size, count);
    let all = blocks(&counts);
    let mut result = vec![0; all.len()];
    world.all_gather_varied(&values(rank, counts[rank]), &mut result, &counts)?;
    compare(world, "all_gather_varied", &result, |index| value(all[index].0, all[index].1))
}

fn reduce_scatter(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let mut result = vec![0; count];
    world.reduce_scatter(&values(rank, size * count), &mut result, Op::Sum)?;
    compare(world, "reduce_scatter", &result, |index| sum(size, rank * count + index))?;

    let counts = uneven(size, count);
    let (before, total) = (counts[..rank].iter().sum::<usize>(), counts.iter().sum());
    let mut result = vec![0; counts[rank]];
    world.reduce_scatter_varied(&values(rank, total), &mut result, &counts, Op::Sum)?;
    compare(world, "reduce_scatter_varied", &result, |index| sum(size, before + index))
}

fn gather(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    for (what, counts) in [("gather", vec![count; size]), ("gather_varied", uneven(size, count))] {
        let all = blocks(&counts);
        for root in 0..size {
            let mut result = vec![0; if rank == root { all.len() } else { 0 }];
            let mine = values(rank, counts[rank]);
            if what == "gather" {
                world.gather(&mine, &mut result, root)?;
            } else {
                world.gather_varied(&mine, &mut result, &counts, root)?;
            }
            let expected = |index: usize| value(all[index].0, all[index].1);
            compare(world, &format!("{what} to {root}"), &result, expected)?;
        }
    }
    Ok(())
}

fn scatter(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    for (what, counts) in [("scatter", vec![count; size]), ("scatter_varied", uneven(size, count))] {
        let before: usize = counts[..rank].iter().sum();
        for root in 0..size {
            let all = values(root, if rank == root { counts.iter().sum() } else { 0 });
            let mut result = vec![0; counts[rank]];
            if what == "scatter" {
                world.scatter(&all, &mut result, root)?;
            } else {
                world.scatter_varied(&all, &counts, &mut result, root)?;
            }
            compare(world, &format!("{what} from {root}"), &result, |index| value(root, before + index))?;
        }
    }
    Ok(())
}

fn all_to_all(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let mut result = vec![0; size * count];
    world.all_to_all(&values(rank, size * count), &mut result)?;
    let all = blocks(&vec![count; size]);
    let expected = |index: usize| value(all[index].0, rank * count + all[index].1);
    compare(world, "all_to_all", &result, expected)?;

    // From each rank to each as many as both together count.
    let length = |from: usize, to: usize| count * ((from + 2 * to) % size) / size;
    let send: Vec<usize> = (0..size).map(|to| length(rank, to)).collect();
    let recv: Vec<usize> = (0..size).map(|from| length(from, rank)).collect();
    let mut result = vec![0; recv.iter().sum()];
    world.all_to_all_varied(&values(rank, send.iter().sum()), &send, &mut result, &recv)?;
    let all = blocks(&recv);
    let before: Vec<usize> = (0..size).map(|from| (0..rank).map(|other| length(from, other)).sum()).collect();
    let expected = |index: usize| value(all[index].0, before[all[index].0] + all[index].1);
    compare(world, "all_to_all_varied", &result, expected)
}

fn scan(world: &Communicator, count: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let mut data = values(rank, count);
    world.scan(&mut data, ordered())?;
    compare(world, &format!("scan of {size}"), &data, |index| composed(rank + 1, index))?;
    let mut data = values(rank, count);
    world.exclusive_scan(&mut data, Op::Sum)?;
    // Nobody is before rank 0, whose data stay.
    let before = |index| if rank == 0 { value(0, index) } else { sum(rank, index) };
    compare(world, "exclusive_scan", &data, before)
}
