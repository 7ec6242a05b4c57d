//! One rank of a round of kills: checked operations, one after the other, until something fails.
//!
//! It says `begun`, `formed`, then one of `failed` (the call's error), `wrong` (a result); and `gone` when its world
//! has been dropped. Whether that is right, the judge decides.

use std::process::ExitCode;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use ringworld::{Communicator, Op, World};

use super::plan::Mode;
use crate::call::{Call, Way};
use crate::perform::repeat;
use crate::play::play;
use crate::program::{About, Making, Program, Round};
use crate::rng::{Rng, mix};
use crate::watch::{end_with_parent, flat, live_at_most, say};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    seed: u64,
    #[arg(long, value_enum)]
    mode: Mode,
    /// A launcher watches over it
    #[arg(long)]
    launched: bool,
    /// Ranks of each host, in its order; none where they are placed otherwise
    #[arg(long)]
    ranks_per_host: Option<usize>,
}

pub(crate) const NO_WORLD: u8 = 3;
pub(crate) const FAILED: u8 = 4;
pub(crate) const WRONG: u8 = 5;

/// Why a rank does not go on.
enum Trouble {
    Failed(String),
    Wrong(String),
}

impl From<ringworld::Error> for Trouble {
    fn from(error: ringworld::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    if !arguments.launched {
        end_with_parent();
    }
    live_at_most(Duration::from_secs(90));
    say("begun", &format!("rank={}", std::env::var("RANK").unwrap_or_default()));
    let world = match World::from_env() {
        Ok(world) => world,
        Err(error) => {
            say("refused", &format!("text={}", flat(&error.to_string())));
            return NO_WORLD.into();
        }
    };
    let rank = world.rank();
    say("formed", &format!("rank={rank}"));
    let (event, text, status) = match endlessly(&world, arguments) {
        Trouble::Failed(text) => ("failed", text, FAILED),
        Trouble::Wrong(text) => ("wrong", text, WRONG),
    };
    // Before the world is dropped: the time that counts is that of the error.
    say(event, &format!("rank={rank} text={}", flat(&text)));
    drop(world);
    say("gone", &format!("rank={rank}"));
    status.into()
}

fn endlessly(world: &World, arguments: &Arguments) -> Trouble {
    for number in 0.. {
        let seed = mix(arguments.seed, number);
        let done = match arguments.mode {
            Mode::Mixed => mixed(world, seed, arguments.ranks_per_host),
            Mode::Sync => ring(world, seed, true, Rng::new(seed).pick(&[0, 1, 100, 5_000, 300_000])),
            Mode::Collectives => collective(world, seed),
        };
        if let Err(trouble) = done {
            return trouble;
        }
    }
    Trouble::Wrong("a rank came to the end of all numbers".into())
}

fn mixed(world: &World, seed: u64, ranks_per_host: Option<usize>) -> Result<(), Trouble> {
    let rng = &mut Rng::new(seed);
    match rng.below(8) {
        0 => ring(world, seed, rng.chance(50), rng.pick(&[0, 70_000, 1 << 20, 3 << 20])),
        1 => long_all_reduce(world, seed, rng.pick(&[10_000, 100_000, 400_000])),
        2 => collective(world, seed),
        _ => program(world, seed, ranks_per_host),
    }
}

/// A program of the random tests that fits this world.
fn program(world: &World, seed: u64, ranks_per_host: Option<usize>) -> Result<(), Trouble> {
    let size = world.size();
    // Its ranks may stand otherwise than ours.
    let placed = |program: &Program| match ranks_per_host {
        Some(all) if all >= size => program.ranks_per_host >= size,
        ours => ours == Some(program.ranks_per_host),
    };
    let fits = |program: &Program| {
        program.size() == size
            && (placed(program)
                || !program
                    .rounds
                    .iter()
                    .any(|round| matches!(round, Round::Make { making: Making::SplitByHost, .. })))
    };
    let about = [About::Messages, About::Batches, About::Everything, About::Everything];
    let about = Rng::new(!seed).pick(&about);
    let mut program = (0..).map(|try_| Program::draw(mix(seed, try_), about)).find(fits).expect("one fits");
    program.rounds.iter_mut().for_each(hear_of_failures);
    let wrong = play(world, &program, &AtomicUsize::new(0));
    // Each says where in the program it was, then what.
    let failed = |what: &String| Some(what.split_once("the call failed: ")?.1.to_owned());
    if let Some(wrong) = wrong.iter().find(|what| failed(what).is_none()) {
        return Err(Trouble::Wrong(format!("{wrong}; {program:?}")));
    }
    wrong.iter().find_map(failed).map_or(Ok(()), |text| Err(Trouble::Failed(text)))
}

/// Whoever drops a running operation is not told that it failed, and finds half a result in its buffers. That is
/// documented; here it would look like a wrong result, so these operations are waited for.
fn hear_of_failures(round: &mut Round) {
    match round {
        Round::Repeat { call, .. } => wait_for_it(call),
        Round::Batch { calls, .. } => calls.iter_mut().for_each(wait_for_it),
        Round::Threads(both) => both.iter_mut().flatten().for_each(hear_of_failures),
        _ => {}
    }
}

fn wait_for_it(call: &mut Call) {
    for way in &mut call.ways {
        if *way == Way::Dropped {
            *way = Way::Prepared;
        }
    }
}

/// A collective of the random tests.
fn collective(world: &World, seed: u64) -> Result<(), Trouble> {
    let mut call = Call::draw(&mut Rng::new(seed), 0, world.size(), false);
    wait_for_it(&mut call);
    match repeat(world, &call, call.ways[world.rank()], 2)? {
        Some(wrong) => Err(Trouble::Wrong(format!("{wrong}; {call:?}"))),
        None => Ok(()),
    }
}

/// The bytes that `rank` sends.
fn payload(seed: u64, rank: usize, bytes: usize) -> Vec<u8> {
    let mut rng = Rng::new(mix(seed, rank as u64));
    let words = (0..bytes.div_ceil(8)).flat_map(|_| rng.draw().to_le_bytes());
    words.take(bytes).collect()
}

/// Each rank sends to the next and receives from the one before; even ranks send first.
fn ring(world: &Communicator, seed: u64, sync: bool, bytes: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let mine = payload(seed, rank, bytes);
    let send = || if sync { world.send_sync(&mine, next, 1) } else { world.send(&mine, next, 1) };
    let mut came = vec![0; bytes];
    let status = if rank % 2 == 0 {
        send()?;
        world.recv(&mut came, before, 1)?
    } else {
        let status = world.recv(&mut came, before, 1)?;
        send()?;
        status
    };
    let right = status.count == bytes && came == payload(seed, before, bytes);
    let wrong = || Trouble::Wrong(format!("{bytes} bytes of rank {before} arrived damaged: {status:?}"));
    if right { Ok(()) } else { Err(wrong()) }
}

fn long_all_reduce(world: &Communicator, seed: u64, count: usize) -> Result<(), Trouble> {
    let value = |rank: usize, index: usize| seed.rotate_left(rank as u32) >> 8 ^ index as u64;
    let mut data: Vec<u64> = (0..count).map(|index| value(world.rank(), index)).collect();
    world.all_reduce(&mut data, Op::Sum)?;
    let sum = |index: usize| (0..world.size()).fold(0u64, |sum, rank| sum.wrapping_add(value(rank, index)));
    match (0..count).find(|index| data[*index] != sum(*index)) {
        None => Ok(()),
        Some(at) => Err(Trouble::Wrong(format!("element {at} of {count} is {}, not {}", data[at], sum(at)))),
    }
}
