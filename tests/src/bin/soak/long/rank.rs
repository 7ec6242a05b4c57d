//! One rank of a long round.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use ringworld::{Communicator, Op, Result, Source, World};
use ringworld_tests::proc;

use crate::rng::{Rng, mix};
use crate::watch::{end_with_parent, flat, live_at_most, say};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Threads with communicators of their own
    Threads,
    /// All send to one, who takes from anybody
    Incast,
    /// Communicators are made and dropped
    Communicators,
}

impl Mode {
    pub(crate) const ALL: [Self; 3] = [Self::Threads, Self::Incast, Self::Communicators];

    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Called so on the command line.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::from_str(name, true).ok()
    }
}

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    seed: u64,
    #[arg(long, value_enum)]
    mode: Mode,
    #[arg(long)]
    ms: u64,
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    end_with_parent();
    let time = Duration::from_millis(arguments.ms);
    live_at_most(time + Duration::from_secs(120));
    let played = World::from_env().and_then(|world| {
        let watched = std::thread::spawn(move || watch_memory(time));
        let rounds = match arguments.mode {
            Mode::Threads => threads(&world, arguments.seed, time),
            Mode::Incast => incast(&world, arguments.seed, time),
            Mode::Communicators => communicators(&world, arguments.seed, time),
        }?;
        world.barrier()?;
        drop(world);
        let _ = watched.join();
        Ok(rounds)
    });
    match played {
        Ok(rounds) => {
            say("over", &format!("rounds={rounds}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            say("failed", &format!("text={}", flat(&error.to_string())));
            ExitCode::FAILURE
        }
    }
}

fn watch_memory(time: Duration) {
    const LOOKS: u32 = 12;
    for _ in 0..LOOKS {
        std::thread::sleep(time / LOOKS);
        say("memory", &format!("rss={}", proc::own_memory().1));
    }
}

/// Rank 0 says whether there is another round: all must agree.
fn goes_on(world: &Communicator, until: Instant) -> Result<bool> {
    let mut flag = [u8::from(Instant::now() < until)];
    world.broadcast(&mut flag, 0)?;
    Ok(flag[0] == 1)
}

fn wrong(what: &str) -> ringworld::Error {
    ringworld::Error::System { operation: "checking".into(), cause: what.into() }
}

fn threads(world: &World, seed: u64, time: Duration) -> Result<u64> {
    let until = Instant::now() + time;
    let threads = Rng::new(seed).between(2, 8);
    let own = (0..threads).map(|_| world.duplicate()).collect::<Result<Vec<_>>>()?;
    let counts: Vec<Result<u64>> = std::thread::scope(|scope| {
        let run = |(thread, own): (usize, &Communicator)| {
            let own = own.clone();
            scope.spawn(move || {
                let mut rounds = 0;
                while goes_on(&own, until)? {
                    checked_round(&own, mix(seed, (thread as u64) << 32 | rounds))?;
                    rounds += 1;
                }
                Ok(rounds)
            })
        };
        let running: Vec<_> = own.iter().enumerate().map(run).collect();
        running.into_iter().map(|thread| thread.join().expect("threads of this file do not panic")).collect()
    });
    counts.into_iter().sum()
}

/// One exchange in a ring and one all-reduce, both compared.
fn checked_round(on: &Communicator, seed: u64) -> Result<()> {
    let rng = &mut Rng::new(seed);
    let (rank, size) = (on.rank(), on.size());
    let length = rng.pick(&[0, 1, 100, 1_000, 20_000]);
    let of =
        |rank: usize| (0..length).map(|index| mix(seed, rank as u64) ^ index as u64).collect::<Vec<u64>>();
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut came = vec![0; length];
    on.send_recv(&of(rank), next, 3, &mut came, before, 3)?;
    if came != of(before) {
        return Err(wrong("the message of the rank before arrived damaged"));
    }
    on.all_reduce(&mut came, Op::BitXor)?;
    let mut all = vec![0; length];
    for other in 0..size {
        all.iter_mut().zip(of(other)).for_each(|(all, one)| *all ^= one);
    }
    if came != all { Err(wrong("the all-reduce gave something else")) } else { Ok(()) }
}

fn incast(world: &World, seed: u64, time: Duration) -> Result<u64> {
    let until = Instant::now() + time;
    let (rank, size) = (world.rank(), world.size());
    let mut rounds = 0;
    while goes_on(world, until)? {
        let seed = mix(seed, rounds);
        let (count, length) = (Rng::new(seed).between(1, 200), Rng::new(!seed).pick(&[1, 512, 8_192]));
        let word = |from: usize, number: usize| mix(seed, (from << 16 | number) as u64);
        if rank == 0 {
            let mut next = vec![0; size];
            let mut buffer = vec![0u64; length];
            for _ in 0..count * (size - 1) {
                let status = world.recv(&mut buffer, Source::Any, 4)?;
                let expected = word(status.source, next[status.source]);
                if status.count != length || buffer.iter().any(|word| *word != expected) {
                    return Err(wrong("a message is damaged, or came before its turn"));
                }
                next[status.source] += 1;
            }
        } else {
            for number in 0..count {
                world.send(&vec![word(rank, number); length], 0, 4)?;
            }
        }
        rounds += 1;
    }
    Ok(rounds)
}

fn communicators(world: &World, seed: u64, time: Duration) -> Result<u64> {
    let until = Instant::now() + time;
    let mut rounds = 0;
    while goes_on(world, until)? {
        let seed = mix(seed, rounds);
        let color = Rng::new(mix(seed, world.rank() as u64)).below(2);
        let made = world.split(Some(color), 0)?;
        let twin = world.duplicate()?;
        if let Some(made) = &made {
            checked_round(made, seed)?;
        }
        checked_round(&twin, !seed)?;
        rounds += 1;
    }
    Ok(rounds)
}
