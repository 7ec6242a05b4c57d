//! A task farm: rank 0 hands out tasks one by one, the others work, and whoever is done gets the next. Workers
//! that are slow, or tasks that are long, hold up nobody.
//!
//! ```text
//! ringworld run -n 4 -- target/release/examples/task_farm
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "an example that shows its result")]

use ringworld::{Communicator, Result, Source, Tag, World};

/// A task, or an answer to one, carries its number as the tag; an idle worker says so, and so is sent home.
const IDLE: u32 = 1 << 20;
const TASKS: u32 = 1000;

fn main() -> Result<()> {
    let world = World::from_env()?;
    if let Some(longest) = run(&world)? {
        println!("{} ranks: of the numbers below {TASKS}, {longest} takes most steps", world.size());
    }
    world.finish()
}

/// The result on rank 0, and `None` elsewhere.
fn run(world: &Communicator) -> Result<Option<u32>> {
    if world.size() == 1 {
        return Ok((1..TASKS).max_by_key(|number| steps(*number)));
    }
    if world.rank() == 0 { farmer(world).map(Some) } else { worker(world).map(|()| None) }
}

fn farmer(world: &Communicator) -> Result<u32> {
    let (mut next, mut at_work, mut longest) = (1, world.size() - 1, (0, 0));
    while at_work > 0 {
        let mut steps = [0u32];
        let status = world.recv(&mut steps, Source::Any, Tag::Any)?;
        if status.tag != IDLE {
            longest = longest.max((steps[0], status.tag));
        }
        if next < TASKS {
            world.send(&[next], status.source, 0)?;
            next += 1;
        } else {
            world.send(&[IDLE], status.source, 0)?;
            at_work -= 1;
        }
    }
    Ok(longest.1)
}

fn worker(world: &Communicator) -> Result<()> {
    let mut answer = (0, IDLE);
    loop {
        world.send(&[answer.0], 0, answer.1)?;
        let mut task = [0u32];
        world.recv(&mut task, 0, 0)?;
        if task[0] == IDLE {
            return Ok(());
        }
        answer = (steps(task[0]), task[0]);
    }
}

/// The task: how often a number is halved, or tripled and increased, until it is 1.
fn steps(number: u32) -> u32 {
    let next = |n: &u64| (*n != 1).then(|| if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 });
    std::iter::successors(Some(u64::from(number)), next).map(|_| 1).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_number_of_workers_finds_the_same() {
        for size in [1, 2, 5] {
            let found = ringworld::testing::ranks(size, |world| super::run(&world).expect("a farm"));
            assert_eq!(found[0], Some(871), "{size} ranks");
        }
    }
}
