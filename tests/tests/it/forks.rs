//! A rank dies, and a child that it has forked lives on, with copies of all its descriptors: no connection of the rank
//! ends with it, and the kernel goes on answering for it.
//!
//! The copies are taken from outside, which to the kernel is the same as a fork(2) without an exec(2), such as that of
//! Python's `multiprocessing`.

#![allow(clippy::print_stdout, reason = "what was measured")]

use std::os::fd::OwnedFd;
use std::time::Duration;

use ringworld_tests::clock;
use ringworld_tests::job::{Job, formed};
use ringworld_tests::process::Process;
use rustix::process::{ForeignRawFd, Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::programs::{FAILED, PROBE};

/// What a child would have: all but its own copies of standard input and output, which the test reads to its end.
fn copies(process: &Process) -> rustix::io::Result<Vec<OwnedFd>> {
    let pid = Pid::from_raw(process.pid() as i32).unwrap();
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let listed = std::fs::read_dir(format!("/proc/{}/fd", process.pid())).unwrap();
    let numbers = listed.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap());
    numbers
        .filter(|number: &ForeignRawFd| *number > 2)
        .map(|number| pidfd_getfd(&pidfd, number, PidfdGetfdFlags::empty()))
        .collect()
}

/// Kills rank `who` of three, and says when the last of the others has learned of it; `None` if copies cannot be taken.
fn others_learn(who: usize, transport: &str) -> Option<Duration> {
    let job = Job::new(PROBE, 3).with("RINGWORLD_TRANSPORT", Some(transport));
    let mut ranks = job.start_ranks(3, &["all-reduce", "--elements", "100"]);
    formed(&ranks, 3);
    std::thread::sleep(Duration::from_millis(300));
    let child = match copies(&ranks[who]) {
        Ok(copies) => copies,
        Err(error) => {
            println!("SKIPPED: this system does not let a test have another process's descriptors: {error}");
            return None;
        }
    };
    assert!(child.len() > 4, "{child:?}");
    let since = ranks[who].kill();
    let others = || ranks.iter().enumerate().filter(|(rank, _)| *rank != who).map(|(_, process)| process);
    let mut last = Duration::ZERO;
    for other in others() {
        let line = other.wait_event("failed");
        last = last.max(clock::between(since, line.number("at")));
        println!("  {transport}: rank {} after {last:?}: {}", line.rank(), line.text);
        assert!(line.text.contains(&format!("rank {who} on ")), "{line:?}");
    }
    for (rank, process) in ranks.iter_mut().enumerate() {
        if rank != who {
            process.ends_with(FAILED);
        }
    }
    drop(child);
    Some(last)
}

#[test]
fn a_rank_whose_child_lives_on_is_missed_at_once_and_by_name() {
    for transport in ["tcp", "shm"] {
        for who in 0..3 {
            let Some(last) = others_learn(who, transport) else { return };
            assert!(last < Duration::from_secs(2), "{last:?}");
        }
    }
}
