//! Worlds of processes over a verbs device: which transport is chosen, how they end when ranks are killed or the
//! link goes down, and that nothing is left in the kernel.
//!
//! Needs a device, such as the one that `tests/soft-roce` makes; without one each test says that it is skipped,
//! and fails where `RINGWORLD_TEST_TRANSPORT=ibverbs` promises one. Neighbours: `faults.rs` and `processes.rs`,
//! which run over verbs as well when that variable says so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which fail by a panic"
)]

use std::process::Command;
use std::time::{Duration, Instant};

use ringworld_tests::job::{Job, formed};
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::random::Random;
use ringworld_tests::{clock, report, skipped};

const PROBE: &str = env!("CARGO_BIN_EXE_probe");
const MEMBER: &str = env!("CARGO_BIN_EXE_member");

const REFUSED: i32 = 3;
const FAILED: i32 = 4;
const RANKS: usize = 4;

/// How soon every survivor must know who died: the promised second, and what a machine with fewer processors than
/// ranks adds to it when they are emulated.
const BOUND: Duration = Duration::from_secs(4);

/// Whether there is a device to test.
fn device(test: &str) -> bool {
    let any = std::fs::read_dir("/sys/class/infiniband").is_ok_and(|mut devices| devices.next().is_some());
    let promised = std::env::var("RINGWORLD_TEST_TRANSPORT").is_ok_and(|transport| transport == "ibverbs");
    assert!(any || !promised, "{test}: RINGWORLD_TEST_TRANSPORT=ibverbs, but this host has no verbs device");
    if !any {
        skipped(test, "this host has no verbs device; run tests/soft-roce/run");
    }
    any
}

/// What the kernel holds for verbs: queue pairs, memory regions and so on, of all processes.
fn resources() -> String {
    let output =
        Command::new("rdma").args(["resource", "show"]).output().expect("iproute2 has the tool rdma");
    assert!(output.status.success(), "rdma resource show: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("qp "), "the kernel counts queue pairs: {text}");
    text
}

/// Fails unless the kernel soon holds what it held before.
fn nothing_is_left(before: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let now = resources();
        if now == before {
            return;
        }
        assert!(Instant::now() < until, "the kernel still holds\n{now}\nand held before\n{before}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ranks that must use verbs.
fn verbs(size: usize) -> Job {
    Job::new(PROBE, size).with("RINGWORLD_TRANSPORT", Some("ibverbs"))
}

/// The transports of each rank to each other.
fn transports(processes: &[Process]) -> Vec<String> {
    let lines = formed(processes, processes.len());
    lines.iter().map(|line| line.value("transports").unwrap().to_owned()).collect()
}

#[test]
fn verbs_are_chosen_by_themselves_and_leave_nothing_behind() {
    if !device("verbs_are_chosen_by_themselves_and_leave_nothing_behind") {
        return;
    }
    let before = resources();
    // One host's ranks would share memory.
    let job = Job::new(PROBE, 3).with("RINGWORLD_TRANSPORT", Some("^shm"));
    let mut processes = job.start_ranks(3, &["meet", "--elements", "300000"]);
    assert_eq!(
        transports(&processes),
        ["self,ibverbs,ibverbs", "ibverbs,self,ibverbs", "ibverbs,ibverbs,self"]
    );
    processes.iter_mut().for_each(Process::succeeds);
    nothing_is_left(&before);
}

#[test]
fn a_rank_without_verbs_is_reached_by_tcp_and_the_others_by_verbs() {
    if !device("a_rank_without_verbs_is_reached_by_tcp_and_the_others_by_verbs") {
        return;
    }
    let job = Job::new(PROBE, RANKS).with("RINGWORLD_TRANSPORT", Some("^shm"));
    let start = |rank: usize| {
        let (without, none) = ([("RINGWORLD_TRANSPORT", "tcp")], []);
        let more: &[(&str, &str)] = if rank == 2 { &without } else { &none };
        let rank = rank.to_string();
        job.start(&[&[("RANK", rank.as_str())], more].concat(), &["meet", "--elements", "300000"])
    };
    let mut processes: Vec<Process> = (0..RANKS).map(start).collect();
    let expected = [
        "self,ibverbs,tcp,ibverbs",
        "ibverbs,self,tcp,ibverbs",
        "tcp,tcp,self,tcp",
        "ibverbs,ibverbs,tcp,self",
    ];
    assert_eq!(transports(&processes), expected);
    processes.iter_mut().for_each(Process::succeeds);
}

#[test]
fn what_cannot_be_honoured_is_refused_in_words_that_say_what_to_change() {
    if !device("what_cannot_be_honoured_is_refused_in_words_that_say_what_to_change") {
        return;
    }
    let name = std::fs::read_dir("/sys/class/infiniband").unwrap().next().unwrap().unwrap().file_name();
    let name = name.to_str().unwrap();
    let port = format!("{name}:9");
    let cases: [(&str, &str, &[&str]); 4] = [
        ("RINGWORLD_IB_HCA", "nosuch0", &["nosuch0", name]),
        ("RINGWORLD_IB_HCA", &port, &[&port]),
        ("NCCL_IB_HCA", "=mlx5", &["mlx5", name]),
        ("RINGWORLD_IB_GID_INDEX", "200", &["200", "GID"]),
    ];
    for (variable, value, parts) in cases {
        let job = verbs(2).with(variable, Some(value));
        // The other rank waits for one that never comes.
        let _other = job.start(&[("RANK", "0")], &["meet"]);
        let mut process = job.start(&[("RANK", "1")], &["meet"]);
        process.ends_with(REFUSED);
        let text = process.wait_event("refused").text;
        println!("  {variable}={value}: {text}");
        for part in parts {
            assert!(text.contains(part), "{variable}={value}: no {part:?} in {text:?}");
        }
    }
}

#[test]
fn the_device_and_the_gid_index_that_are_named_are_used() {
    if !device("the_device_and_the_gid_index_that_are_named_are_used") {
        return;
    }
    let name = std::fs::read_dir("/sys/class/infiniband").unwrap().next().unwrap().unwrap().file_name();
    for (device, index) in
        [("RINGWORLD_IB_HCA", "RINGWORLD_IB_GID_INDEX"), ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX")]
    {
        let job = verbs(2).with(device, name.to_str()).with(index, Some("1"));
        let mut processes = job.start_ranks(2, &["meet"]);
        assert_eq!(transports(&processes), ["self,ibverbs", "ibverbs,self"]);
        processes.iter_mut().for_each(Process::succeeds);
    }
}

/// Every survivor's error names the victim and the operation, in time; returns the slowest.
fn survivors_name(processes: &[Process], victim: usize, since: u64) -> Duration {
    let mut slowest = Duration::ZERO;
    for (rank, process) in processes.iter().enumerate().filter(|(rank, _)| *rank != victim) {
        let line = process.wait_event("failed");
        let text = line.value("text").unwrap();
        let named = text.contains(&format!("rank {victim} on ")) && text.contains("all_reduce");
        assert!(named, "rank {rank} does not name rank {victim} in {text:?}\n{}", process.transcript());
        slowest = slowest.max(clock::between(since, line.number("at")));
    }
    assert!(
        slowest <= BOUND,
        "the last survivor named rank {victim} after {slowest:?}, allowed are {BOUND:?}"
    );
    slowest
}

#[test]
fn a_rank_killed_in_an_all_reduce_is_named_by_every_survivor_again_and_again() {
    let test = "a_rank_killed_in_an_all_reduce_is_named_by_every_survivor_again_and_again";
    if !device(test) {
        return;
    }
    let times = std::env::var("RINGWORLD_TEST_KILLS").map_or(50, |text| text.parse().expect("a number"));
    let mut random = Random::new(test);
    let before = resources();
    let mut all = Vec::new();
    for time in 0..times {
        let victim = usize::try_from(random.below(RANKS as u64)).unwrap();
        // Some in the midst of puts, some in small messages.
        let elements = ["1000", "30000", "400000"][usize::try_from(random.below(3)).unwrap()];
        let mut processes = verbs(RANKS).start_ranks(RANKS, &["all-reduce", "--elements", elements]);
        for process in &processes {
            process.wait_event("looping");
        }
        std::thread::sleep(Duration::from_micros(random.below(100_000)));
        let at = processes[victim].kill();
        let slowest = survivors_name(&processes, victim, at);
        for (rank, process) in processes.iter_mut().enumerate() {
            if rank == victim {
                assert_eq!(process.wait_end().signal, Some(9));
            } else {
                process.ends_with(FAILED);
            }
        }
        nothing_is_left(&before);
        println!(
            "  {time}: rank {victim}, {elements} elements: all knew after {:.0} ms",
            slowest.as_secs_f64() * 1e3
        );
        all.push(slowest);
    }
    all.sort_unstable();
    report(&format!(
        "{times} kills: every survivor named the victim, the last one after {:.0} ms (median), {:.0} ms (worst)",
        all[all.len() / 2].as_secs_f64() * 1e3,
        all[all.len() - 1].as_secs_f64() * 1e3
    ));
}

/// Takes the interface of the device down, and up again when dropped.
struct Down(String);

impl Down {
    fn set(interface: &str, state: &str) {
        let status = Command::new("ip").args(["link", "set", interface, state]).status().expect("iproute2");
        assert!(status.success(), "ip link set {interface} {state}: {status}");
    }

    fn new(interface: &str) -> Self {
        Self::set(interface, "down");
        Self(interface.to_owned())
    }
}

impl Drop for Down {
    fn drop(&mut self) {
        Self::set(&self.0, "up");
        // The GID of an IPv4 address is there as soon as the address is, which a dummy interface keeps.
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn a_link_that_goes_down_ends_every_rank() {
    if !device("a_link_that_goes_down_ends_every_rank") {
        return;
    }
    // Never a link that somebody needs.
    let Some(interface) = std::env::var("LINK").ok().filter(|link| link.starts_with("dummy")) else {
        skipped("a_link_that_goes_down_ends_every_rank", "the variable LINK names no dummy interface");
        return;
    };
    let before = resources();
    let mut processes = verbs(RANKS).start_ranks(RANKS, &["all-reduce", "--elements", "100000"]);
    for process in &processes {
        process.wait_event("looping");
    }
    let at = clock::now();
    let down = Down::new(&interface);
    for process in &mut processes {
        let line = process.wait_event("failed");
        let text = line.value("text").unwrap();
        println!("  {:.0} ms: {text}", clock::between(at, line.number("at")).as_secs_f64() * 1e3);
        // With the link down every rank accuses another, and whoever is accused first learns that the others
        // have given it up. Either way the error says which rank lost which device.
        let kind = line.value("kind").unwrap();
        assert!(["PeerFailed", "MasterLost"].contains(&kind), "{kind}: {text}");
        assert!(text.contains("rank ") && text.contains("all_reduce"), "{text}");
        process.ends_with(FAILED);
    }
    drop(down);
    nothing_is_left(&before);
}

/// The first step of a generation without that rank, of all who are left.
fn next_step(alive: &[Process], victim: usize, killed: u64) -> Duration {
    let until = Instant::now() + PATIENCE;
    loop {
        let survivors = alive.iter().enumerate().filter(|(place, _)| *place != victim);
        let mut steps = survivors.map(|(_, process)| process.first_after("step", killed));
        if let Some(times) = steps.by_ref().collect::<Option<Vec<u64>>>() {
            return clock::between(killed, times.into_iter().max().unwrap_or(killed));
        }
        let all = || alive.iter().map(Process::transcript).collect::<String>();
        assert!(Instant::now() < until, "no step after rank {victim} was killed:\n{}", all());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_elastic_world_goes_on_over_verbs_whoever_is_killed() {
    if !device("an_elastic_world_goes_on_over_verbs_whoever_is_killed") {
        return;
    }
    let mut random = Random::new("elastic over verbs");
    let kills = std::env::var("RINGWORLD_TEST_KILLS").ok().map_or(4, |text| text.parse().unwrap());
    let before = resources();
    let end =
        std::path::PathBuf::from(format!("{}/until-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id()));
    let end = if end.parent().is_some_and(std::path::Path::exists) { end } else { "/tmp/until".into() };
    let _ = std::fs::remove_file(&end);
    let arguments = ["--steps", "10", "--until", end.to_str().unwrap(), "--pause", "5", "--elements", "4000"];
    let job = Job::new(MEMBER, RANKS)
        .with("RINGWORLD_ELASTIC", Some("1"))
        .with("RINGWORLD_RECOVER_TIMEOUT", Some("60s"))
        .with("RINGWORLD_TRANSPORT", Some("ibverbs"));
    let mut alive = job.start_ranks(RANKS, &arguments);
    let (mut dead, mut pauses) = (Vec::new(), Vec::new());
    for process in &alive {
        process.wait_event("step");
    }
    for kill in 0..kills {
        std::thread::sleep(Duration::from_millis(random.below(200)));
        let victim = random.below(RANKS as u64) as usize;
        let killed = alive[victim].kill();
        let pause = next_step(&alive, victim, killed);
        pauses.push(pause);
        let another = job.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
        dead.push(std::mem::replace(&mut alive[victim], another));
        // All four again.
        alive[victim].wait_events("step", 1, PATIENCE);
        let whole = clock::between(killed, clock::now());
        println!("  {kill}: rank {victim}: the others went on after {pause:?}, all four after {whole:?}");
    }
    std::fs::write(&end, "").unwrap();
    let mut digests = Vec::new();
    for process in &mut alive {
        let line = process.wait_event("done");
        assert_eq!(line.number("size"), RANKS as u64, "{}", process.transcript());
        digests.push((line.number("step"), line.value("digest").unwrap().to_owned()));
        process.succeeds();
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "{digests:?}");
    let _ = std::fs::remove_file(&end);
    nothing_is_left(&before);
    pauses.sort();
    println!(
        "{} kills over verbs; kill to the next step of all: median {:?}, worst {:?}; {} steps in all",
        pauses.len(),
        pauses[pauses.len() / 2],
        pauses[pauses.len() - 1],
        digests[0].0
    );
}
