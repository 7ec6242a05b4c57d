//! Ranks that are killed or fall silent, a launcher that is killed, and unauthenticated connections to every port.
//!
//! The promise: a dead process is named by every survivor within 1 s, a silent one within the time-out.
//! The bounds here leave room for a loaded machine; what was measured is printed.

use std::time::Duration;

use ringworld_tests::clock;
use ringworld_tests::job::{Job, clean};
use ringworld_tests::proc;
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::random::Random;
use ringworld_tests::scanner::Scanner;
use rustix::process::Signal;

use super::programs::{FAILED, LAUNCH, PROBE, REFUSED};

const RANKS: usize = 4;

/// What is promised for a dead process.
pub(crate) const PROMISE: Duration = Duration::from_secs(1);
/// What a machine that also builds and runs other tests may add.
pub(crate) const SLACK: Duration = Duration::from_secs(2);

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

/// Every survivor's error names the rank, its host, the operation and a sequence number, in time.
fn survivors_name(processes: &[Process], victim: usize, since: u64, operation: &str, bound: Duration) {
    let mut slowest = Duration::ZERO;
    for (rank, process) in processes.iter().enumerate().filter(|(rank, _)| *rank != victim) {
        let line = process.wait_event("failed");
        let text = line.value("text").unwrap();
        let sequence = text.find(operation).and_then(|at| text[at..].split_once('#'));
        let number = sequence.and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
        assert!(
            number.is_some_and(|n| !n.is_empty()),
            "rank {rank}: no operation with its number in {text:?}"
        );
        let name = format!("rank {victim} on {}", hostname());
        assert!(text.contains(&name), "rank {rank}: no {name:?} in {text:?}\n{}", process.transcript());
        slowest = slowest.max(clock::between(since, line.number("at")));
    }
    println!(
        "  rank {victim} in {operation}: the last survivor named it after {:.1} ms",
        slowest.as_secs_f64() * 1e3
    );
    assert!(slowest <= bound, "the last survivor took {slowest:?}, allowed are {bound:?}");
}

fn kill_each_in_turn(arguments: &[&str], operation: &str) {
    for (victim, transport) in (0..RANKS).flat_map(|victim| ["shm", "tcp"].map(|name| (victim, name))) {
        let job = Job::new(PROBE, RANKS).with("RINGWORLD_TRANSPORT", Some(transport));
        let mut processes = job.start_ranks(RANKS, arguments);
        for process in &processes {
            process.wait_event("looping");
        }
        std::thread::sleep(Duration::from_millis(50));
        let at = processes[victim].kill();
        survivors_name(&processes, victim, at, operation, PROMISE + SLACK);
        for (rank, process) in processes.iter_mut().enumerate() {
            if rank == victim {
                assert_eq!(process.wait_end().signal, Some(9));
            } else {
                process.ends_with(FAILED);
            }
        }
    }
}

#[test]
fn a_rank_killed_in_a_large_all_reduce_is_named_by_every_survivor() {
    kill_each_in_turn(&["all-reduce", "--elements", "4000000"], "all_reduce");
}

#[test]
fn a_rank_killed_while_all_wait_for_messages_is_named_by_every_survivor() {
    kill_each_in_turn(&["recv"], "recv");
}

/// Ranks 0 to 2 of 4 wait for the last; rank 0 came first and serves the rendezvous.
fn waiting_for_the_last(job: &Job) -> Vec<Process> {
    let processes = job.start_ranks_served_by_the_first(RANKS - 1, &["meet"]);
    std::thread::sleep(Duration::from_millis(300));
    assert!(processes.iter().all(|process| process.events("formed").is_empty()));
    processes
}

#[test]
fn a_rank_killed_in_the_rendezvous_can_be_started_again() {
    for victim in 1..RANKS - 1 {
        let job = Job::new(PROBE, RANKS);
        let mut processes = waiting_for_the_last(&job);
        processes[victim].kill();
        processes[victim].wait_end();
        let started = clock::now();
        processes[victim] = job.start(&[("RANK", &victim.to_string())], &["meet"]);
        processes.push(job.start(&[("RANK", &(RANKS - 1).to_string())], &["meet"]));
        for (rank, process) in processes.iter_mut().enumerate() {
            process.succeeds();
            assert_eq!(process.wait_event("formed").rank(), rank);
        }
        let formed = processes.iter().map(|p| p.wait_event("formed").number("at")).max().unwrap();
        println!(
            "  rank {victim} killed: the world formed {:?} after it was back",
            clock::between(started, formed)
        );
    }
}

#[test]
fn a_death_of_the_serving_rank_in_the_rendezvous_ends_the_waiting_with_its_address() {
    let job = Job::new(PROBE, RANKS);
    let mut processes = waiting_for_the_last(&job);
    let at = processes[0].kill();
    for process in &mut processes[1..] {
        process.ends_with(REFUSED);
        let line = process.wait_event("refused");
        let late = clock::between(at, line.number("at"));
        println!("  after {:.1} ms: {}", late.as_secs_f64() * 1e3, line.text);
        assert!(late <= PROMISE + SLACK, "noticed after {late:?}");
        assert!(line.text.contains(&format!("127.0.0.1:{}", job.port())), "{}", line.text);
    }
}

#[test]
fn a_stopped_rank_is_named_within_the_peer_timeout() {
    const SILENCE: Duration = Duration::from_secs(2);
    for victim in [0, 2] {
        let job = Job::new(PROBE, 3).with("RINGWORLD_PEER_TIMEOUT", Some("2s"));
        let mut processes = job.start_ranks(3, &["all-reduce", "--elements", "100000"]);
        for process in &processes {
            process.wait_event("looping");
        }
        let at = clock::now();
        processes[victim].signal(Signal::STOP);
        // Heartbeats go four times per time-out, so the last one may be that much younger.
        survivors_name(&processes, victim, at, "all_reduce", SILENCE + SILENCE / 4 + SLACK);
        for (rank, process) in processes.iter_mut().enumerate() {
            if rank != victim {
                process.ends_with(FAILED);
            }
        }
        // Back from its sleep, it finds itself alone and must not hang either.
        processes[victim].signal(Signal::CONT);
        processes[victim].ends_with(FAILED);
    }
}

#[test]
fn a_rank_that_only_computes_is_alive() {
    let job = Job::new(PROBE, 2).with("RINGWORLD_PEER_TIMEOUT", Some("1s"));
    let processes = job.start_ranks(2, &["victim", "--rank", "1", "--act", "compute"]);
    processes[1].wait_event("acting");
    std::thread::sleep(Duration::from_secs(3));
    assert!(
        processes.iter().all(|process| proc::is_alive(process.pid()) && process.events("failed").is_empty())
    );
}

#[test]
fn a_killed_launcher_leaves_no_orphan() {
    for arguments in
        [&["all-reduce", "--elements", "1000"][..], &["victim", "--rank", "1", "--act", "compute"]]
    {
        let mut command = clean(LAUNCH);
        command.args(["run", "-n", "4", "--", PROBE]).args(arguments);
        let mut job = Process::start("launch", command);
        let ranks = job.wait_events("looping", 4, PATIENCE);
        let pids: Vec<u32> = ranks.iter().map(|line| u32::try_from(line.number("pid")).unwrap()).collect();
        assert!(pids.iter().all(|&pid| proc::is_alive(pid)));
        job.kill();
        assert_eq!(job.wait_end().signal, Some(9));
        let took = proc::wait_gone(&pids, PROMISE + SLACK);
        println!("  all ranks were gone {took:?} after their launcher");
    }
}

#[test]
fn port_scanners_do_no_harm() {
    let random = Random::new("port_scanners_do_no_harm");
    visited(&Job::new(PROBE, RANKS).with("RINGWORLD_TRANSPORT", Some("tcp")), random);
}

#[test]
fn port_scanners_do_no_harm_to_a_job_with_a_secret() {
    let random = Random::new("port_scanners_do_no_harm_to_a_job_with_a_secret");
    let job = Job::new(PROBE, RANKS).with("RINGWORLD_TRANSPORT", Some("tcp"));
    visited(&job.with("RINGWORLD_SECRET", Some("open sesame")), random);
}

/// Runs a job whose ports are visited by scanners from its first moment to its end.
fn visited(job: &Job, random: Random) {
    let scanner = Scanner::start(&[], random);
    let mut processes = Vec::new();
    for rank in 0..RANKS {
        let rank = rank.to_string();
        processes.push(
            job.start(&[("RANK", &rank)], &["all-reduce", "--elements", "50000", "--iterations", "1500"]),
        );
        scanner.watch(processes.last().unwrap().pid());
        // Ranks come one by one, so that scanners are there during the rendezvous.
        std::thread::sleep(Duration::from_millis(200));
    }
    for process in &mut processes {
        process.succeeds();
        assert_eq!(process.events("left").len(), 1, "{}", process.transcript());
    }
    let visits = scanner.finish();
    println!("  {} connections to {} ports", visits.connections, visits.ports.len());
    // The rendezvous and the data listener of each rank.
    assert!(visits.ports.len() > RANKS, "{visits:?}");
    assert!(visits.ports.iter().any(|address| address.port() == job.port()), "{visits:?}");
    assert!(visits.connections > 50, "{visits:?}");
}
