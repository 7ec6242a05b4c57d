//! One rank of an elastic job: counts steps with the others through deaths, departures and arrivals, and says what
//! happens.
//!
//! Events as those of the probe: `entered` with each generation, `step` now and then, `done` with the digest at the
//! end.
//! Exit status: 0 when it went well, 3 when no world was formed, 4 when an operation failed for good, 5 when a number
//! was wrong, 6 when it has left.

#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use ringworld::{Error, Op, World};
use ringworld_tests::clock;

#[derive(Parser)]
#[command(about = "One rank of an elastic test")]
struct Arguments {
    /// Steps in all
    #[arg(long)]
    steps: u64,
    /// Go on after those, in tens, until somebody sees this file
    #[arg(long)]
    until: Option<std::path::PathBuf>,
    /// A pause in each step, in milliseconds
    #[arg(long, default_value_t = 0)]
    pause: u64,
    /// Elements of the vector that all sum
    #[arg(long, default_value_t = 64)]
    elements: usize,
    /// Wait at the door of the world until so many ranks are there before the first step
    #[arg(long, default_value_t = 0)]
    wait_for: usize,
    /// Leave at this step, if the rank is at least this: STEP:RANK
    #[arg(long)]
    leave: Option<String>,
    /// A pause before the world is recovered, in milliseconds: a rank that computes
    #[arg(long, default_value_t = 0)]
    late: u64,
}

fn say(event: &str, world: &World, more: &str) {
    let line = format!(
        "{event} rank={} size={} generation={} at={} pid={} {more}\n",
        world.rank(),
        world.size(),
        world.generation(),
        clock::now(),
        std::process::id()
    );
    print(&line);
}

fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be listening any more.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

fn describe(error: &Error) -> String {
    format!("kind={} text={}", error.name(), error.to_string().replace('\n', " / "))
}

/// What all have done together: the steps, and a vector that follows from them alone.
struct State {
    step: u64,
    sums: Vec<f64>,
    /// Not before it has begun, or somebody has told.
    known: bool,
}

impl State {
    fn begin(&mut self) {
        (self.step, self.known) = (0, true);
        self.sums.fill(0.0);
    }

    /// What every rank gives in a step; the average over any ranks is the same.
    fn gives(step: u64, index: usize) -> f64 {
        (step % 1000 * 7 + index as u64 % 13) as f64
    }

    /// Whole numbers, all of them: what does not depend on the element is summed once.
    fn right(&self) -> bool {
        let common: f64 = (0..self.step).map(|step| Self::gives(step, 0)).sum();
        let expected = |index: usize| common + self.step as f64 * Self::gives(0, index);
        self.sums.iter().enumerate().all(|(index, sum)| *sum == expected(index))
    }
}

/// Everybody has the newest state that somebody has.
fn agree(world: &World, state: &mut State) -> Result<(), Error> {
    let mut version = state.known.then_some(state.step);
    let shared = world.share_state(&mut version, &mut state.step, &mut [&mut state.sums]);
    state.known = version.is_some();
    if shared?.source.is_none() {
        // At the beginning, or those who knew have died before they could tell anybody.
        state.begin();
    }
    Ok(())
}

enum End {
    Done(World),
    Left,
    Wrong(World),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut state = State { step: 0, sums: vec![0.0; arguments.elements], known: false };
    let world = match World::from_env() {
        Ok(world) => world,
        Err(error) => {
            print(&format!("refused at={} pid={} {}\n", clock::now(), std::process::id(), describe(&error)));
            return ExitCode::from(3);
        }
    };
    match run(world, &mut state, &arguments) {
        Ok(End::Done(world)) => {
            let digest = state.sums.iter().fold(0u64, |all, sum| all.rotate_left(5) ^ sum.to_bits());
            say("done", &world, &format!("step={} digest={digest:x}", state.step));
            match world.finish() {
                Ok(()) => ExitCode::SUCCESS,
                // All has been done; who died meanwhile is nobody's loss.
                Err(error) if error.is_recoverable() => ExitCode::SUCCESS,
                Err(error) => {
                    print(&format!("gone {}\n", describe(&error)));
                    ExitCode::from(4)
                }
            }
        }
        Ok(End::Left) => ExitCode::from(6),
        Ok(End::Wrong(world)) => {
            say("wrong", &world, &format!("step={}", state.step));
            ExitCode::from(5)
        }
        Err(error) => {
            print(&format!("gone at={} pid={} {}\n", clock::now(), std::process::id(), describe(&error)));
            ExitCode::from(4)
        }
    }
}

fn run(mut world: World, state: &mut State, arguments: &Arguments) -> Result<End, Error> {
    let leave = arguments.leave.as_deref().and_then(|text| text.split_once(':'));
    let leave: Option<(u64, usize)> =
        leave.and_then(|(step, rank)| Some((step.parse().ok()?, rank.parse().ok()?)));
    let mut entered = None;
    loop {
        match steps(&world, state, arguments, leave, &mut entered) {
            Ok(Wish::Done) => return Ok(End::Done(world)),
            Ok(Wish::Wrong) => return Ok(End::Wrong(world)),
            Ok(Wish::Leave) => {
                say("leaving", &world, "");
                world.leave()?;
                return Ok(End::Left);
            }
            Ok(Wish::Regroup) => world = world.regroup()?,
            Err(error) if error.is_recoverable() => {
                say("failed", &world, &describe(&error));
                std::thread::sleep(Duration::from_millis(arguments.late));
                world = world.recover()?;
            }
            Err(error) => return Err(error),
        }
    }
}

enum Wish {
    Done,
    Wrong,
    Regroup,
    Leave,
}

fn steps(
    world: &World,
    state: &mut State,
    arguments: &Arguments,
    leave: Option<(u64, usize)>,
    entered: &mut Option<u64>,
) -> Result<Wish, Error> {
    if *entered != Some(world.generation()) {
        let previous = world.previous_rank().map_or("none".to_owned(), |rank| rank.to_string());
        say("entered", world, &format!("previous={previous}"));
        *entered = Some(world.generation());
    }
    agree(world, state)?;
    if !state.right() {
        return Ok(Wish::Wrong);
    }
    let mut first = true;
    let mut over = arguments.until.is_none();
    while state.step < arguments.steps || !over {
        // All decide alike: to go on, to regroup for who waits, or because some leave.
        let leaves = leave.is_some_and(|(step, rank)| state.step == step && world.rank() >= rank);
        let seen = arguments.until.as_ref().is_some_and(|file| file.exists());
        let mut wishes = [world.waiting() as u64, u64::from(leaves), u64::from(seen)];
        if state.step.is_multiple_of(10) || leave.is_some() {
            world.all_reduce(&mut wishes, Op::Max)?;
            over |= wishes[2] > 0;
            if over && state.step >= arguments.steps {
                break;
            }
            if wishes[..2] != [0, 0] {
                return Ok(if leaves { Wish::Leave } else { Wish::Regroup });
            }
        }
        if state.step == 0 && world.size() < arguments.wait_for {
            std::thread::sleep(Duration::from_millis(5));
            world.barrier()?;
            continue;
        }
        let mut given: Vec<f64> =
            (0..arguments.elements).map(|index| State::gives(state.step, index)).collect();
        world.all_reduce(&mut given, Op::Average)?;
        for (sum, given) in state.sums.iter_mut().zip(given) {
            *sum += given;
        }
        state.step += 1;
        if first {
            say("step", world, &format!("step={}", state.step));
            first = false;
        }
        std::thread::sleep(Duration::from_millis(arguments.pause));
    }
    if !state.right() {
        return Ok(Wish::Wrong);
    }
    world.barrier()?;
    Ok(Wish::Done)
}
