//! One rank of `benches/elastic/run`: all-reduces without end, which go on without those that die.
//!
//! Says what happens on the monotonic clock: `begun` after the first all-reduce, `failed`, and `again` after the first
//! one of the next generation. Its counterpart over Open MPI is `benches/elastic/ulfm.c`.

#![forbid(unsafe_code)]

use std::io::Write as _;
use std::process::ExitCode;

use ringworld::{Op, World};

fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn say(event: &str, world: &World) {
    let (rank, size, at) = (world.rank(), world.size(), now());
    let mut out = std::io::stdout().lock();
    // Nobody may be listening any more.
    let _ = writeln!(out, "{event} rank={rank} size={size} pid={} at={at}", std::process::id())
        .and_then(|()| out.flush());
}

fn run(elements: usize) -> ringworld::Result<()> {
    let mut world = World::from_env()?;
    let mut vector = vec![0.0f64; elements];
    let mut next_event = Some("begun");
    loop {
        vector.fill(1.0);
        match world.all_reduce(&mut vector, Op::Sum) {
            Ok(()) => {
                let size = world.size() as f64;
                if vector.iter().any(|sum| *sum != size) {
                    say("wrong", &world);
                    return Ok(());
                }
                if let Some(event) = next_event.take() {
                    say(event, &world);
                }
            }
            Err(error) if error.is_recoverable() => {
                say("failed", &world);
                world = world.recover()?;
                next_event = Some("again");
            }
            Err(error) => return Err(error),
        }
    }
}

fn main() -> ExitCode {
    let given = std::env::args().nth(1);
    let Some(elements) = given.as_deref().unwrap_or("1024").parse().ok().filter(|elements| *elements > 0)
    else {
        eprintln!("recover: {:?} is no number of elements", given.unwrap_or_default());
        return ExitCode::from(2);
    };
    match run(elements) {
        // It ends only when a sum was wrong.
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("recover: {error}");
            ExitCode::FAILURE
        }
    }
}
