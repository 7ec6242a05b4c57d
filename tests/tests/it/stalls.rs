//! Calls that wait for too long: one line says who is late, or that nobody can move, and the errors of time-outs say it
//! too.

use std::time::Duration;

use ringworld_tests::job::{Job, formed};
use ringworld_tests::line::Line;
use ringworld_tests::process::{PATIENCE, Process};
use rustix::process::Signal;

use super::programs::{FAILED, PROBE};

/// What the ranks have logged of calls that wait, by rank.
fn lines(processes: &[Process]) -> Vec<(usize, String)> {
    let logs = |(rank, process): (usize, &Process)| {
        let log =
            |line: &Line| line.error && [" wait", "deadlock"].iter().any(|word| line.text.contains(word));
        process.lines().into_iter().filter(log).map(|line| (rank, line.text)).collect::<Vec<_>>()
    };
    processes.iter().enumerate().flat_map(logs).collect()
}

/// Waits until a rank has logged such a line.
fn wait_line(processes: &[Process], part: &str) -> String {
    let begun = std::time::Instant::now();
    loop {
        if let Some((_, line)) = lines(processes).into_iter().find(|(_, line)| line.contains(part)) {
            return line;
        }
        let all: Vec<String> = processes.iter().map(Process::transcript).collect();
        assert!(begun.elapsed() < PATIENCE, "no line with {part:?}\n{}", all.join("\n"));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_rank_that_sleeps_is_named_by_one_line_of_one_rank() {
    let job = Job::new(PROBE, 4).with("RINGWORLD_STALL_WARNING", Some("700ms"));
    let mut processes = job.start_ranks(4, &["sleep", "--rank", "2", "--ms", "3500"]);
    formed(&processes, 4);
    processes.iter_mut().for_each(Process::succeeds);
    let said = lines(&processes);
    let [(rank, line)] = &said[..] else { panic!("not one line: {said:#?}") };
    assert_eq!(*rank, 0, "the first that waits");
    for part in [
        "ranks 0-1, 3 wait for rank 2 on ",
        "which has been computing for at least",
        "since all_reduce #0 at tests/src/bin/probe.rs:",
        "; longest rank ",
        " in barrier() #1 at tests/src/bin/probe.rs:",
    ] {
        assert!(line.contains(part), "no {part:?} in {line}");
    }
}

#[test]
fn nothing_is_said_when_nobody_wants_to_hear() {
    let job = Job::new(PROBE, 2).with("RINGWORLD_STALL_WARNING", Some("none"));
    let mut processes = job.start_ranks(2, &["sleep", "--rank", "1", "--ms", "1500"]);
    processes.iter_mut().for_each(Process::succeeds);
    assert_eq!(lines(&processes), []);
}

#[test]
fn ranks_that_all_wait_for_the_next_are_a_deadlock_with_the_call_of_each() {
    for size in [2, 3] {
        let job = Job::new(PROBE, size).with("RINGWORLD_STALL_WARNING", Some("500ms"));
        let processes = job.start_ranks(size, &["recv"]);
        let line = wait_line(&processes, "deadlock");
        assert!(line.contains("no message is on its way, so nobody will ever go on"), "{line}");
        for rank in 0..size {
            let waits =
                format!("in recv (from rank {}, tag 7) at tests/src/bin/probe.rs:", (rank + 1) % size);
            assert!(line.contains(&format!("rank {rank} on ")) && line.contains(&waits), "{line}");
        }
        // It is said once, however long it lasts.
        std::thread::sleep(Duration::from_millis(1800));
        assert_eq!(lines(&processes).len(), 1, "{:#?}", lines(&processes));
    }
}

#[test]
fn where_another_thread_can_still_answer_no_deadlock_is_certain() {
    let job = Job::new(PROBE, 3).with("RINGWORLD_STALL_WARNING", Some("500ms"));
    let mut processes = job.start_ranks(3, &["recv", "--answer", "1", "--ms", "2500"]);
    let line = wait_line(&processes, "deadlock");
    assert!(line.contains("deadlock, unless rank 1 makes a call in another of its threads"), "{line}");
    processes.iter_mut().for_each(Process::succeeds);
}

#[test]
fn the_error_of_a_time_out_says_who_is_late_or_that_nobody_can_move() {
    let job = Job::new(PROBE, 3).with("RINGWORLD_OP_TIMEOUT", Some("6s"));
    let mut processes = job.start_ranks(3, &["sleep", "--rank", "1", "--ms", "20000"]);
    let error = |process: &Process| {
        let line = process.wait_event("failed");
        assert_eq!(line.value("kind"), Some("TimedOut"));
        line.value("text").unwrap().to_owned()
    };
    for rank in [0, 2] {
        let text = error(&processes[rank]);
        for part in
            ["(ranks 0, 2 wait for rank 1 on ", "has been computing for at least", "since all_reduce #0 at"]
        {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        processes[rank].ends_with(FAILED);
    }
    processes[1].kill();

    let processes = job.start_ranks(3, &["recv"]);
    let text = error(&processes[0]);
    assert!(text.contains("(deadlock: all ranks wait and no message is on its way"), "{text}");
}

#[test]
fn a_rank_that_is_stopped_is_one_that_does_not_answer() {
    let job = Job::new(PROBE, 3).with("RINGWORLD_STALL_WARNING", Some("500ms"));
    // The one that serves is the one that asks, and must not be the one that is stopped.
    let mut processes = job.start_ranks_served_by_the_first(3, &["sleep", "--rank", "2", "--ms", "2000"]);
    processes.iter().for_each(|process| drop(process.wait_event("looping")));
    processes[2].signal(Signal::STOP);
    let line = wait_line(&processes, "wait for rank 2");
    assert!(line.contains("which does not answer: it is stopped"), "{line}");
    processes[2].signal(Signal::CONT);
    processes.iter_mut().for_each(Process::succeeds);
}
