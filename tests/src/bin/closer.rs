//! A rank that closes descriptors which it has not opened, as daemons do: all from 3 on, when its world has formed; and
//! may then open files of its own, which get their numbers. Or it does so when it has left one world, and forms
//! another.
//!
//! Events and exit status as those of the probe.

#![allow(clippy::unwrap_used, reason = "a program of the tests fails by panicking")]

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
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
    /// Opens files in their place
    #[arg(long)]
    reopen: bool,
    /// Does so between two worlds, and no harm to either
    #[arg(long)]
    between: bool,
}

/// Files in the place of what was closed: this program, which nobody can write to.
fn reopened() -> Vec<File> {
    let own = std::env::current_exe().unwrap();
    (3..128).map(|_| File::open(&own).unwrap()).collect()
}

/// How many of them are not what they were.
fn lost(files: &[File]) -> usize {
    let inode = std::fs::metadata(std::env::current_exe().unwrap()).unwrap().ino();
    files.iter().filter(|file| file.metadata().map_or(true, |found| found.ino() != inode)).count()
}

/// Files that can be written, with something in them.
fn written() -> Vec<File> {
    let path = std::env::temp_dir().join(format!("closer-{}", std::process::id()));
    let one = |_| {
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&[0; 64]).unwrap();
        file.rewind().unwrap();
        file
    };
    (3..64).map(one).collect()
}

/// How many of them somebody has read or written.
fn touched(files: &mut [File]) -> usize {
    let is_as_it_was = |file: &mut File| {
        file.metadata().is_ok_and(|found| found.len() == 64) && file.stream_position().is_ok_and(|at| at == 0)
    };
    files.iter_mut().map(|file| !is_as_it_was(file)).filter(|touched| *touched).count()
}

fn close_all() {
    for fd in 3..1024 {
        // SAFETY: not at all, which is what is tried here: others own them.
        unsafe { close(fd) };
    }
}

/// A world in which this thread sleeps, and is woken.
fn sleep_in_a_world(rank: usize) -> Result<(), Error> {
    let world = World::from_env()?;
    for turn in 0..2 {
        if world.rank() == turn {
            std::thread::sleep(Duration::from_millis(200));
        }
        world.barrier()?;
    }
    if world.rank() != rank {
        std::thread::sleep(Duration::from_millis(200));
        return world.finish();
    }
    // The others leave, as the control plane says.
    let left = world.recv(&mut [0u8], (rank + 1) % world.size(), 9);
    assert!(matches!(left, Err(Error::PeerFinished { .. })), "{left:?}");
    world.finish()
}

/// Closes all between two worlds.
fn between(rank: usize) -> Result<usize, Error> {
    sleep_in_a_world(rank)?;
    // What runs in the background has ended by then.
    std::thread::sleep(Duration::from_millis(300));
    close_all();
    let mut files = written();
    sleep_in_a_world(rank)?;
    Ok(touched(&mut files))
}

fn say(event: &str, rank: usize, more: &str) {
    let line = format!("{event} rank={rank} at={} pid={} {more}\n", clock::now(), std::process::id());
    // Nobody may be listening any more.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

fn play(world: &World, arguments: &Arguments, files: &mut Vec<File>) -> Result<(), Error> {
    let (rank, mut x) = (world.rank(), [1u64]);
    world.all_reduce(&mut x, Op::Sum)?;
    if rank == arguments.rank {
        std::thread::sleep(Duration::from_millis(300));
        say("acting", rank, "");
        close_all();
        if arguments.reopen {
            *files = reopened();
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
    if arguments.between {
        return match between(arguments.rank) {
            Ok(touched) => {
                say("left", arguments.rank, &format!("touched={touched}"));
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{error}");
                4.into()
            }
        };
    }
    let world = match World::from_env() {
        Ok(world) => world,
        Err(error) => {
            eprintln!("{error}");
            return 3.into();
        }
    };
    let rank = world.rank();
    say("formed", rank, &format!("size={}", world.size()));
    let mut files = Vec::new();
    let played = play(&world, &arguments, &mut files);
    if let Err(error) = &played {
        say(
            "failed",
            rank,
            &format!("kind={} text={}", error.name(), error.to_string().replace('\n', " / ")),
        );
    }
    drop(world);
    say("left", rank, &format!("lost={}", lost(&files)));
    // Those that are lost must not be closed once more.
    std::mem::forget(files);
    if played.is_ok() { ExitCode::SUCCESS } else { 4.into() }
}
