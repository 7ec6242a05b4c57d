//! Waiting costs no core: what a rank uses while it waits for one that comes a second late.
//!
//! The whole process is counted, so the helper thread, the control plane's and the master's are too.
//! Neighbours: `processes.rs` has what worlds of processes do otherwise.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by a panic and prints what it measures"
)]

use std::time::Duration;

use ringworld_tests::job::{Job, formed};
use ringworld_tests::process::{PATIENCE, Process};

const PROBE: &str = env!("CARGO_BIN_EXE_probe");

const LATE: Duration = Duration::from_secs(1);
/// What may be used in that second.
const PROMISE: Duration = Duration::from_millis(20);
/// How many ways of waiting the probe tries.
const CALLS: usize = 6;

fn waiting_costs_at_most_the_promise(ranks: usize) {
    let job = Job::new(PROBE, ranks);
    let mut processes = job.start_ranks(ranks, &["late", "--ms", &LATE.as_millis().to_string()]);
    formed(&processes, ranks);
    let mut dear = Vec::new();
    for (rank, process) in processes.iter().enumerate() {
        for line in process.wait_events("waited", CALLS, PATIENCE) {
            let (took, cpu) = (line.number("us"), Duration::from_micros(line.number("cpu_us")));
            // Rank 0 sleeps, and serves the rendezvous meanwhile.
            let report = format!("rank {rank} of {ranks}: {}: {cpu:?}", line.value("call").unwrap());
            println!("  {report}");
            assert!(took >= LATE.as_micros() as u64 * 9 / 10, "it did not wait: {}", line.text);
            if cpu > PROMISE {
                dear.push(report);
            }
        }
    }
    processes.iter_mut().for_each(Process::succeeds);
    assert!(dear.is_empty(), "more than {PROMISE:?} of processor time in {LATE:?}: {dear:#?}");
}

#[test]
fn a_rank_that_waits_a_second_uses_next_to_nothing_with_a_core_for_every_rank() {
    waiting_costs_at_most_the_promise(2);
}

#[test]
fn a_rank_that_waits_a_second_uses_next_to_nothing_with_more_ranks_than_cores() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    waiting_costs_at_most_the_promise((2 * cores).min(16));
}
