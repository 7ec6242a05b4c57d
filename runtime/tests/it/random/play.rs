//! One rank's part in a whole program.
//!
//! A wrong result is noted and the program goes on: a rank that stopped would leave the others waiting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringworld::{Communicator, Group, Result};
use serde::{Deserialize, Serialize};

use super::exchange;
use super::perform::{begin, repeat};
use super::program::{Making, Objects, Program, Round};
use super::rng::{Rng, mix};

/// Plays a rank's part in `program`, and says what went wrong. `at` counts its rounds.
pub(crate) fn play(world: &Communicator, program: &Program, at: &AtomicUsize) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut have = HashMap::from([(0, world.clone())]);
    for (index, round) in program.rounds.iter().enumerate() {
        at.store(index, Ordering::Relaxed);
        let result = match round {
            Round::Make { from, making, made } => match have.get(from).cloned() {
                Some(from) => make(program, &from, making, made.clone(), &mut have),
                None => Ok(None),
            },
            round => part(&have, round),
        };
        let say = |what: String| format!("rank {}, round {index}: {what}", world.rank());
        match result {
            Ok(None) => {}
            Ok(Some(what)) => wrong.push(say(what)),
            Err(error) => {
                // The world has failed: nothing after this can go well.
                wrong.push(say(format!("the call failed: {error}")));
                return wrong;
            }
        }
    }
    at.store(usize::MAX, Ordering::Relaxed);
    wrong
}

type Have = HashMap<usize, Communicator>;

fn make(
    program: &Program,
    from: &Communicator,
    making: &Making,
    made: std::ops::Range<usize>,
    have: &mut Have,
) -> Result<Option<String>> {
    let new = match making {
        Making::Split(parts) => {
            let (color, key) = parts[from.rank()];
            from.split(color, key)?
        }
        Making::SplitByHost => Some(from.split_by_host()?),
        Making::Duplicate => Some(from.duplicate()?),
        Making::Create(ranks) => {
            let group: Group = from.group().include(ranks)?;
            from.create(&group)?
        }
    };
    let me = from.group().ranks()[from.rank()];
    let mine = made.into_iter().find(|id| program.communicators[*id].contains(&me));
    match (new, mine) {
        (None, None) => Ok(None),
        (Some(new), Some(id)) => {
            let members = &program.communicators[id];
            let right =
                new.group().ranks() == members && new.size() == members.len() && members[new.rank()] == me;
            let wrong = format!("{making:?} made {new:?} of {:?} instead of {members:?}", new.group());
            have.insert(id, new);
            Ok((!right).then_some(wrong))
        }
        (new, mine) => Ok(Some(format!("{making:?} gave {new:?} where {mine:?} was expected"))),
    }
}

fn part(have: &Have, round: &Round) -> Result<Option<String>> {
    match round {
        Round::Make { .. } => Ok(Some("communicators are made outside of threads".into())),
        Round::Repeat { call, times } => {
            let Some(on) = have.get(&call.on) else { return Ok(None) };
            repeat(on, call, call.ways[on.rank()], *times)
        }
        Round::Batch { calls, threads, seed } => {
            let me = have[&0].rank();
            let mut under_way = Vec::new();
            for (index, call) in calls.iter().enumerate() {
                if let Some(on) = have.get(&call.on) {
                    under_way.push((index, begin(on, call, call.ways[on.rank()])?));
                }
            }
            Rng::new(mix(*seed, me as u64)).shuffle(&mut under_way);
            let wait = |rests: Vec<(usize, super::perform::Rest<'_>)>| {
                let mut first = None;
                for (index, rest) in rests {
                    let wrong = rest()?.map(|wrong| format!("call {index}: {wrong}"));
                    first = first.or(wrong);
                }
                Ok(first)
            };
            if !threads[me] {
                return wait(under_way);
            }
            let others = under_way.split_off(under_way.len() / 2);
            let (here, there) = std::thread::scope(|scope| {
                let there = scope.spawn(|| wait(others));
                (wait(under_way), there.join())
            });
            let there = there.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(here?.or(there?))
        }
        Round::Messages(messages) => match have.get(&messages.on) {
            Some(on) => exchange::play(on, messages),
            None => Ok(None),
        },
        &Round::Objects { ref on, ref pairs, then, root, seed } => match have.get(on) {
            Some(on) => {
                let wrong = pass_objects(on, pairs, seed)?;
                Ok(wrong.or(all_objects(on, then, root, !seed)?))
            }
            None => Ok(None),
        },
        Round::Shift { on, .. } => match have.get(on) {
            Some(on) => shift(on, round),
            None => Ok(None),
        },
        Round::Threads(both) => {
            let rounds = |rounds: &[Round]| {
                let mut first = None;
                for (index, round) in rounds.iter().enumerate() {
                    let wrong = part(have, round)?;
                    first = first.or(wrong.map(|wrong| format!("in a thread, its round {index}: {wrong}")));
                }
                Ok(first)
            };
            let (one, other) = std::thread::scope(|scope| {
                let other = scope.spawn(|| rounds(&both[1]));
                (rounds(&both[0]), other.join())
            });
            let other = other.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(one?.or(other?))
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Object {
    from: usize,
    name: Option<String>,
    numbers: Vec<u32>,
}

impl Object {
    fn of(rank: usize, seed: u64) -> Self {
        let mut rng = Rng::new(mix(seed, rank as u64));
        let length = rng.pick(&[0, 3, 100, 3000]);
        let name = rng.chance(50).then(|| "ringworld ".repeat(rng.below(40)));
        Self { from: rank, name, numbers: (0..length).map(|_| rng.draw() as u32).collect() }
    }
}

fn pass_objects(on: &Communicator, pairs: &[(usize, usize)], seed: u64) -> Result<Option<String>> {
    let me = on.rank();
    let Some(&(first, second)) = pairs.iter().find(|pair| pair.0 == me || pair.1 == me) else {
        return Ok(None);
    };
    let other = if me == first { second } else { first };
    let (mine, theirs) = (Object::of(me, seed), Object::of(other, seed));
    let came: Object = if me == first {
        on.send_object(&mine, other, 3)?;
        on.recv_object(other, 3)?
    } else {
        let came = on.recv_object(other, 3)?;
        on.send_object(&mine, other, 3)?;
        came
    };
    Ok((came != theirs).then(|| format!("the object of rank {other} is {came:?} instead of {theirs:?}")))
}

fn all_objects(on: &Communicator, then: Objects, root: usize, seed: u64) -> Result<Option<String>> {
    let (me, size) = (on.rank(), on.size());
    let (mine, at_root) = (Object::of(me, seed), me == root);
    let all = || (0..size).map(|rank| Object::of(rank, seed)).collect::<Vec<_>>();
    // Associative, and the order shows.
    let join = |mut left: Vec<usize>, right: Vec<usize>| {
        left.extend(right);
        left
    };
    let ranks = || (0..size).collect::<Vec<usize>>();
    let right = match then {
        Objects::Broadcast => on.broadcast_object(at_root.then_some(mine), root)? == Object::of(root, seed),
        Objects::Gather => on.gather_objects(&mine, root)? == at_root.then(all),
        Objects::AllGather => on.all_gather_objects(&mine)? == all(),
        Objects::Scatter => on.scatter_objects(at_root.then(all).as_deref(), root)? == mine,
        Objects::Reduce => on.reduce_object(vec![me], join, root)? == at_root.then(ranks),
        Objects::AllReduce => on.all_reduce_object(vec![me], join)? == ranks(),
    };
    Ok((!right).then(|| format!("{then:?} of objects brought something else, root {root}")))
}

fn shift(on: &Communicator, round: &Round) -> Result<Option<String>> {
    let Round::Shift { distance, open, replace, length, seed, .. } = *round else { return Ok(None) };
    let (me, size) = (on.rank(), on.size());
    let within = |inside: bool, rank: usize| (inside || !open).then_some(rank % size);
    let to = within(me + distance < size, me + distance);
    let from = within(me >= distance, me + 2 * size - distance);
    let of = |rank: usize| {
        let mut rng = Rng::new(mix(seed, rank as u64));
        (0..length).map(|_| rng.draw()).collect::<Vec<u64>>()
    };
    let mut came = of(me);
    let status = if replace {
        on.send_recv_replace(&mut came, to, 9, from, 9)?
    } else {
        on.send_recv(&of(me), to, 9, &mut came, from, 9)?
    };
    let expected = from.map_or_else(|| of(me), of);
    let right = came == expected
        && status.map(|status| (status.source, status.count)) == from.map(|from| (from, length));
    Ok((!right).then(|| format!("the shift brought something else than the data of {from:?}; {status:?}")))
}
