//! Many ranks on one machine: they find one another, meet and leave, in bounded time and memory.
//!
//! Prints what a world costs; the bounds are far from what is measured and catch what grows wrongly.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which fail by a panic")]

use std::time::{Duration, Instant};

use ringworld_tests::job::clean;
use ringworld_tests::line::Line;
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

/// Runs a scenario on all ranks; what each says of it.
fn launched(scenario: &str) -> (Vec<Line>, Duration) {
    let start = Instant::now();
    let mut command = clean(LAUNCH);
    command.env("RINGWORLD_TIMEOUT", "50s");
    command.args(["run", "-n", &RANKS.to_string(), "--", PROBE, scenario]);
    let mut job = Process::start("launch", command);
    let met = job.wait_events("met", RANKS, BOUND);
    job.succeeds();
    (met, start.elapsed())
}

fn worst(met: &[Line], key: &str) -> u64 {
    met.iter().map(|line| line.number(key)).max().unwrap()
}

fn mean(met: &[Line], key: &str) -> u64 {
    met.iter().map(|line| line.number(key)).sum::<u64>() / met.len() as u64
}

fn memory(met: &[Line]) -> String {
    let (files, pss, rss) = (worst(met, "files"), mean(met, "pss_kib"), mean(met, "rss_kib"));
    format!("per rank: {files} files, {pss} KiB proportional, {rss} KiB resident")
}

/// For few bytes each rank talks to few others.
#[test]
fn two_hundred_ranks_exchange_few_bytes_all_with_all() {
    let (met, whole) = launched("exchange");
    let times = ["barrier", "all_reduce", "gather", "all_to_all"].map(|call| {
        let [first, again] = ["first", "again"].map(|turn| worst(&met, &format!("{turn}_{call}_us")));
        format!("{call} {first} and then {again} us")
    });
    report(&format!("{RANKS} ranks, all done in {whole:.2?}; {}; {}", times.join(", "), memory(&met)));
    assert!(whole < BOUND, "{whole:?}");
    assert!(worst(&met, "files") < 100, "{}", memory(&met));
    assert!(mean(&met, "pss_kib") < 4 << 10, "{}", memory(&met));
}

/// A connection between every two ranks.
#[test]
fn two_hundred_ranks_meet_every_other_in_bounded_memory() {
    let (met, whole) = launched("mesh");
    let mesh = worst(&met, "mesh_us");
    report(&format!("{RANKS} ranks, mesh in {mesh} us, all done in {whole:.2?}; {}", memory(&met)));
    assert!(whole < BOUND, "{whole:?}");
    assert!(met.iter().all(|line| line.number("files") >= RANKS as u64 - 1), "{}", memory(&met));
    // 40 KiB for each connection, all told.
    assert!(mean(&met, "pss_kib") < 8 << 10, "{}", memory(&met));
}
