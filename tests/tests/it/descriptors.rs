//! Ranks that talk to more others than they may have files open at first, or at all.

use std::process::Command;
use std::time::{Duration, Instant};

use ringworld_tests::clock;
use ringworld_tests::job::{Job, clean};
use ringworld_tests::process::Process;
use ringworld_tests::report;

use super::programs::{CLOSER, FAILED, LAUNCH, PROBE};

const RANKS: usize = 80;
/// Far from what is measured: a few seconds on an idle machine.
const BOUND: Duration = Duration::from_secs(60);

/// Each by itself: what one lacks, another one does not.
const TRANSPORTS: [&str; 2] = ["tcp", "shm"];

/// A script of the shell with the launcher as `$0` and the probe as `$1`.
fn shell(transport: &str, script: &str) -> Process {
    let mut command: Command = clean("sh");
    command.env("RINGWORLD_TRANSPORT", transport);
    // With this many processes on few cores, the last is started long after the first.
    command.env("RINGWORLD_TIMEOUT", "50s");
    command.args(["-c", script, LAUNCH, PROBE]);
    Process::start("sh", command)
}

#[test]
fn a_rank_raises_its_soft_limit_when_the_world_needs_it() {
    TRANSPORTS.into_iter().for_each(a_rank_raises_its_soft_limit);
}

fn a_rank_raises_its_soft_limit(transport: &str) {
    let start = Instant::now();
    let mut job = shell(transport, &format!("ulimit -Sn 64; exec \"$0\" run -n {RANKS} -- \"$1\" crowd"));
    let answered = job.wait_events("answered", RANKS, BOUND);
    job.succeeds();
    let center = answered.iter().find(|line| line.rank() == 0).unwrap();
    assert!(center.number("files") >= RANKS as u64, "the limit of 64 was never in the way: {center:?}");
    report(&format!("{RANKS} ranks with a soft limit of 64, {transport}: {:.2?}", start.elapsed()));
}

#[test]
fn a_hard_limit_below_the_need_is_an_error_on_the_rank_that_it_stops() {
    TRANSPORTS.into_iter().for_each(a_hard_limit_below_the_need_is_an_error);
}

fn a_hard_limit_below_the_need_is_an_error(transport: &str) {
    let start = Instant::now();
    let each = "ulimit -n 40; exec \"$0\" crowd";
    let mut job = shell(transport, &format!("exec \"$0\" run -n {RANKS} -- sh -c '{each}' \"$1\""));
    let end = job.wait_end_within(BOUND);
    assert_ne!(end.code, Some(0), "{}", job.transcript());
    let failed = job.events("failed");
    let center = failed.iter().find(|line| line.rank() == 0);
    let center = center.unwrap_or_else(|| panic!("rank 0 did not fail\n{}", job.transcript()));
    assert_eq!(center.value("kind"), Some("System"), "{center:?}");
    let text = center.value("text").unwrap_or_default();
    for part in ["RLIMIT_NOFILE", "40", "ulimit", &(RANKS - 1).to_string()] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    for line in failed.iter().filter(|line| line.rank() != 0) {
        let text = line.value("text").unwrap_or_default();
        assert_eq!(line.value("kind"), Some("System"), "{line:?}");
        assert!(text.contains("rank 0 ") && text.contains("RLIMIT_NOFILE"), "blames another: {text:?}");
    }
    // Once on each host, and once where it came to it, but not ten times a second. What the launcher says once more of
    // the rank that failed is not said by that.
    let lines = job.lines();
    let said = lines.iter().take_while(|line| !line.text.contains("ringworld run: the last lines of"));
    let warnings = said.filter(|line| line.text.contains("WARN")).count();
    assert!((1..=4).contains(&warnings), "{warnings} warnings\n{}", job.transcript());
    report(&format!(
        "{RANKS} ranks with a hard limit of 40, {transport}, ended after {:.2?}",
        start.elapsed()
    ));
}

/// Whatever it is that the last descriptor was wanted for.
#[test]
fn with_too_few_descriptors_to_start_a_rank_says_what_to_do() {
    let mut told = 0;
    for limit in 8..=18 {
        let each = format!("ulimit -n {limit}; exec \"$0\" crowd");
        let mut job =
            shell("^ibverbs", &format!("RINGWORLD_TIMEOUT=4s exec \"$0\" run -n 2 -- sh -c '{each}' \"$1\""));
        job.wait_end_within(BOUND);
        for line in job.lines() {
            // Of what may still pass nothing more is said.
            if line.text.contains("Too many open files") && !line.text.contains("for now") {
                told += 1;
                assert!(line.text.contains("ulimit -n"), "{limit}: {}", line.text);
                assert!(!line.text.contains("interfaces"), "{limit}: {}", line.text);
            }
        }
    }
    assert!(told > 10, "in none of them were there too few: {told}");
}

/// As daemons do it: what it can still be told it is told by name, and so are the others.
#[test]
fn a_rank_whose_descriptors_are_closed_under_it_ends_by_an_error_and_no_panic() {
    // The one that serves the rendezvous is one of the two.
    for (transport, rank, more) in
        [("tcp", 0, None), ("tcp", 1, Some("--recv")), ("shm", 1, None), ("shm", 0, Some("--recv"))]
    {
        let job = Job::new(CLOSER, 3).with("RINGWORLD_TRANSPORT", Some(transport));
        let text = rank.to_string();
        let arguments: Vec<&str> = ["--rank", &text].into_iter().chain(more).collect();
        let mut processes = job.start_ranks(3, &arguments);
        let since = processes[rank].wait_event("acting").number("at");
        for (other, process) in processes.iter_mut().enumerate() {
            let failed = process.wait_event("failed");
            let (kind, parts) = match other == rank {
                true => ("System", ["cannot go on: ", "closed"]),
                false => ("PeerFailed", ["is down", "gone"]),
            };
            let said = failed.value("text").unwrap();
            assert_eq!(failed.value("kind"), Some(kind), "{said}");
            assert!(said.contains(&format!("rank {rank} on ")), "{said}");
            assert!(parts.iter().any(|part| said.contains(part)), "{said}");
            let late = clock::between(since, failed.number("at"));
            assert!(late < Duration::from_secs(4), "rank {other} failed after {late:?}");
            process.ends_with(FAILED);
            assert!(!process.transcript().contains("panicked"), "{}", process.transcript());
        }
    }
}

/// What has the numbers of descriptors that were closed under a rank is the program's, and stays open.
#[test]
fn files_in_the_place_of_closed_descriptors_are_left_alone() {
    for transport in ["tcp", "shm"] {
        for rank in [0, 1] {
            let job = Job::new(CLOSER, 2).with("RINGWORLD_TRANSPORT", Some(transport));
            let mut processes = job.start_ranks(2, &["--rank", &rank.to_string(), "--reopen"]);
            processes[rank].wait_event("failed");
            let left = processes[rank].wait_event("left");
            assert_eq!(left.value("lost"), Some("0"), "{transport}, rank {rank}");
            processes.iter_mut().for_each(|process| process.ends_with(FAILED));
        }
    }
}

/// What a thread keeps from one world to the next is not taken for what it was, either.
#[test]
fn descriptors_may_be_closed_and_their_numbers_used_between_two_worlds() {
    for transport in ["tcp", "shm"] {
        let job = Job::new(CLOSER, 2).with("RINGWORLD_TRANSPORT", Some(transport));
        let mut processes = job.start_ranks(2, &["--rank", "0", "--between"]);
        for process in &mut processes {
            assert_eq!(process.wait_event("left").value("touched"), Some("0"), "{transport}");
            process.ends_with(0);
        }
    }
}
