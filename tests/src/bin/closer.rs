//! A rank that closes descriptors which it has not opened, as daemons do: all from 3 on, when its world has formed.
//!
//! Events and exit status as those of the probe.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use ringworld::{Error, Op, World};
use ringworld_tests::clock;

unsafe extern "C" {
    fn close(fd: i32) -> i32;
}

#[derive(Parser)]
#[command(about = "A rank that closes all descriptors")]
struct Arguments {
    /// Which one does
    #[arg(long)]
    rank: usize,
    /// What it does then, instead of one all-reduce after the other: wait for a message that nobody sends
    #[arg(long)]
    recv: bool,
}

fn say(event: &str, rank: usize, more: &str) {
    let line = format!("{event} rank={rank} at={} pid={} {more}\n", clock::now(), std::process::id());
    // Nobody may be listening any more.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

fn play(world: &World, arguments: &Arguments) -> Result<(), Error> {
    let (rank, mut x) = (world.rank(), [1u64]);
    world.all_reduce(&mut x, Op::Sum)?;
    if rank == arguments.rank {
        std::thread::sleep(Duration::from_millis(300));
        say("acting", rank, "");
        for fd in 3..1024 {
            // SAFETY: not at all, which is what is tried here: others own them.
            unsafe { close(fd) };
        }
    }
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(20) {
        match arguments.recv {
            true => _ = world.recv(&mut x, (rank + 1) % world.size(), 9)?,
            false => world.all_reduce(&mut x, Op::Max)?,
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let world = match World::from_env() {
        Ok(world) => world,
        Err(error) => {
            eprintln!("{error}");
            return 3.into();
        }
    };
    let rank = world.rank();
    say("formed", rank, &format!("size={}", world.size()));
    let played = play(&world, &arguments);
    if let Err(error) = &played {
        say(
            "failed",
            rank,
            &format!("kind={} text={}", error.name(), error.to_string().replace('\n', " / ")),
        );
    }
    drop(world);
    say("left", rank, "");
    if played.is_ok() { ExitCode::SUCCESS } else { 4.into() }
}
