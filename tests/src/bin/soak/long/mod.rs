//! Long rounds: what only shows after a while. Nothing fails in them, so everything must go well, and memory must not
//! grow.

pub(crate) mod rank;

use std::time::Duration;

use ringworld_tests::job::Job;
use ringworld_tests::line::Line;
use ringworld_tests::process::{End, Process};

use crate::rng::Rng;
use crate::round::{Finding, Frame, Outcome};
use crate::watch;
use rank::Mode;

/// What memory may grow by between a quarter of the time and the end, in KiB: the heaps of threads fill slowly.
const GROWTH: u64 = 8 << 10;

/// Runs the round of this seed.
pub(crate) fn run(seed: u64, frame: &Frame<'_>) -> Outcome {
    let rng = &mut Rng::new(seed);
    let drawn = rng.pick(&Mode::ALL);
    let mode = frame.mode.and_then(Mode::named).unwrap_or(drawn);
    let size = if mode == Mode::Incast { rng.between(3, 12) } else { rng.between(2, 4) };
    let myself = watch::myself();
    let mut job = Job::new(myself.to_str().expect("a path of text"), size);
    for (name, value) in rng.pick::<&[(&str, &str)]>(&[
        &[],
        &[],
        &[("RINGWORLD_WINDOW", "4096"), ("RINGWORLD_EAGER_LIMIT", "1024")],
        &[("RINGWORLD_TCP_LANES", "4"), ("RINGWORLD_EAGER_LIMIT", "0")],
    ]) {
        job = job.with(name, Some(value));
    }
    let (seed_text, ms) = (seed.to_string(), frame.length.as_millis().to_string());
    let name = mode.name();
    let arguments = ["long", "--seed", &seed_text, "--mode", &name, "--ms", &ms];
    let mut processes = job.start_ranks(size, &arguments);
    let ends = watch::ends(&mut processes, frame.length + frame.patience + Duration::from_secs(20));
    let mut findings = Vec::new();
    let mut rounds = 0;
    for (rank, (process, end)) in processes.iter().zip(&ends).enumerate() {
        let mut find = |class: &str, detail: String| {
            findings.push(Finding::new(class, format!("rank {rank}: {detail}")));
        };
        match end {
            None => find("hang", process.transcript()),
            Some(End { signal: Some(signal), .. }) => {
                find(&format!("crash by signal {signal}"), process.transcript())
            }
            Some(End { code: Some(0), .. }) => {}
            Some(end) => find("failure", format!("{end:?} {}", process.transcript())),
        }
        let lines = process.lines();
        let memory: Vec<u64> =
            lines.iter().filter(|line| line.is("memory")).map(|line| line.number("rss")).collect();
        if let (Some(first), Some(last)) = (memory.get(memory.len() / 4), memory.last())
            && *last > first + GROWTH
        {
            find("memory grows", format!("KiB, in equal times: {memory:?}"));
        }
        rounds += lines.iter().find(|line| line.is("over")).map_or(0, |line: &Line| line.number("rounds"));
    }
    let transcripts: String = processes.iter().map(Process::transcript).collect();
    let story = format!("{size} ranks made {rounds} rounds\n{transcripts}");
    Outcome { seed, mode: name, findings, story }
}
