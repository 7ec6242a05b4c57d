//! Many ranks on one machine: they find one another, meet and leave, in bounded time and memory.
//!
//! Prints what a world costs; the bounds are far from what is measured and catch what grows wrongly.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which fail by a panic")]

use std::time::{Duration, Instant};

use ringworld_tests::job::clean;
use ringworld_tests::process::Process;
use ringworld_tests::report;

const PROBE: &str = env!("CARGO_BIN_EXE_probe");
const LAUNCH: &str = env!("CARGO_BIN_EXE_launch");

const RANKS: usize = 200;
const BOUND: Duration = Duration::from_secs(60);

#[test]
fn two_hundred_ranks_on_one_machine_form_a_world_and_compute() {
    let start = Instant::now();
    let mut command = clean(LAUNCH);
    // With this many processes on few cores, the last is started long after the first.
    command.env("RINGWORLD_TIMEOUT", "50s");
    command.args(["run", "-n", &RANKS.to_string(), "--", PROBE, "meet", "--elements", "1000"]);
    let mut job = Process::start("launch", command);
    let formed = job.wait_events("formed", RANKS, BOUND);
    let forming = start.elapsed();
    let met = job.wait_events("met", RANKS, BOUND.saturating_sub(start.elapsed()));
    job.succeeds();
    let whole = start.elapsed();

    let mut ranks: Vec<usize> = formed.iter().map(|line| line.rank()).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..RANKS).collect::<Vec<_>>());
    assert!(formed.iter().all(|line| line.number("size") == RANKS as u64));
    assert_eq!(job.events("left").len(), RANKS, "{}", job.transcript());

    let worst = |key: &str| met.iter().map(|line| line.number(key)).max().unwrap();
    let mean = |key: &str| met.iter().map(|line| line.number(key)).sum::<u64>() / RANKS as u64;
    report(&format!(
        "{RANKS} ranks: formed in {forming:.2?}, all done in {whole:.2?}; slowest rank: barrier {} us, all_reduce \
         of 1000 f32 {} us; memory per rank: {} KiB proportional, {} KiB resident",
        worst("barrier_us"),
        worst("all_reduce_us"),
        mean("pss_kib"),
        mean("rss_kib")
    ));
    assert!(whole < BOUND, "{whole:?}");
    assert!(mean("pss_kib") < 64 * 1024, "a rank of {RANKS} uses {} KiB", mean("pss_kib"));
}
