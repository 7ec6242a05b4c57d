//! Every fuzz target on seeded random input, for toolchains without libFuzzer.
//!
//! Weaker than libFuzzer, which learns from coverage; but it needs nothing, and half of its inputs are
//! grown from words that the parsers know. A panic is preceded by the seed that repeats it:
//! `smoke --seed N --target NAME`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ringworld_bootstrap::KNOBS;
use ringworld_fuzz::{TARGETS, Target};

/// Draws the same for the same seed.
struct Random(fastrand::Rng);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound.max(1))
    }
}

/// Says which input was in hand when a target panics.
struct Witness<'a> {
    target: &'a str,
    seed: u64,
}

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "target {} broke a promise; repeat with: --target {} --seed {}",
                self.target, self.target, self.seed
            );
        }
    }
}

fn main() -> ExitCode {
    let (mut seconds, mut seed, mut only) = (10, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let Some(value) = arguments.next() else {
            eprintln!("usage: smoke [--seconds N] [--target NAME] [--seed N]");
            return ExitCode::from(2);
        };
        match (option.as_str(), value.parse::<u64>()) {
            ("--seconds", Ok(n)) => seconds = n,
            ("--seed", Ok(n)) => seed = Some(n),
            ("--target", _) if TARGETS.iter().any(|(name, _)| *name == value) => only = Some(value),
            _ => {
                eprintln!(
                    "smoke: {option} {value} makes no sense; targets: {:?}",
                    TARGETS.map(|(name, _)| name)
                );
                return ExitCode::from(2);
            }
        }
    }
    if let Some(seed) = seed {
        for (target, run) in TARGETS.into_iter().filter(|(name, _)| is_wanted(only.as_deref(), name)) {
            let _witness = Witness { target, seed };
            run(&input(target, seed));
            println!("{target}: seed {seed} passes");
        }
        return ExitCode::SUCCESS;
    }
    // One target on each core at a time. A panic ends its thread, and in the end all of it.
    let next = AtomicUsize::new(0);
    let wanted: Vec<Target> =
        TARGETS.into_iter().filter(|(name, _)| is_wanted(only.as_deref(), name)).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(wanted.len()) {
            scope.spawn(|| {
                while let Some((target, run)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    fuzz(target, *run, Duration::from_secs(seconds));
                }
            });
        }
    });
    ExitCode::SUCCESS
}

fn is_wanted(only: Option<&str>, name: &str) -> bool {
    only.is_none_or(|only| only == name)
}

/// Runs a target for so long.
fn fuzz(target: &str, run: fn(&[u8]), time: Duration) {
    // Each run of CI looks elsewhere; the seed of a failing input is printed, not this one.
    let first = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
    let (begin, mut count) = (Instant::now(), 0u64);
    while begin.elapsed() < time {
        let seed = first.wrapping_add(count);
        let _witness = Witness { target, seed };
        run(&input(target, seed));
        count += 1;
    }
    println!("{target}: {count} inputs in {} s, seeds from {first}", time.as_secs());
}

/// Bytes for `target`: noise for the structured ones, words and noise for the readers of text.
fn input(target: &str, seed: u64) -> Vec<u8> {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    if !matches!(target, "settings" | "toml") {
        let length = random.below(600);
        return (0..length).map(|_| random.next() as u8).collect();
    }
    let mut text = String::new();
    for _ in 0..random.below(8) {
        let knob = &KNOBS[random.below(KNOBS.len())];
        let name = match (target, random.below(4)) {
            ("toml", _) => knob.key.to_owned(),
            (_, 0) => format!("+{}", knob.key),
            (_, 1) => [
                "MASTER_NODE",
                "NUM_NODES",
                "WORLD_SIZE",
                "RANK",
                "SLURM_PROCID",
                "PMI_SIZE",
                "SLURM_JOB_ID",
                "SLURM_STEP_ID",
                "SLURM_STEP_NUM_TASKS",
                "SLURM_NTASKS",
                "OMPI_COMM_WORLD_SIZE",
                "PMIX_NAMESPACE",
            ][random.below(12)]
            .into(),
            _ => format!("RINGWORLD_{}", knob.key.to_uppercase()),
        };
        let values = [
            "0",
            "1",
            "2",
            "4",
            "65536",
            "-1",
            "18446744073709551616",
            "64K",
            "1M",
            "500ms",
            "none",
            "",
            "n0",
            "::1",
            "[::1]:29500",
            "10.0.0.1:29500",
            "eth0,^docker*",
            "10.0.0.0/8",
            "^tcp",
            "tcp,shm",
            "true",
            "\u{1f600}",
            knob.default,
        ];
        let value = values[random.below(values.len())];
        let quote = if target == "toml" && random.below(2) == 0 { "\"" } else { "" };
        text.push_str(
            &format!("{name} = {quote}{value}{quote}\n")
                .replace(" = ", if target == "toml" { " = " } else { "=" }),
        );
    }
    let mut bytes = text.into_bytes();
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(3) {
            0 => bytes.insert(at, random.next() as u8),
            1 if at < bytes.len() => _ = bytes.remove(at),
            _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
    bytes
}
