//! Ranks of one host that share a network namespace and nothing else, as the containers of a pod do: each has process
//! ids, System V and POSIX memory, and files of its own. They share memory all the same.
//!
//! Neighbours: `socket_folder.rs` for ranks that share a folder and no network namespace.

use std::process::Command;
use std::sync::OnceLock;

use ringworld_tests::host::Network;
use ringworld_tests::job::formed;
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::{clock, proc, skipped};
use rustix::process::{Pid, Signal};

use super::faults::{PROMISE, SLACK};
use super::namespaces;
use super::programs::{FAILED, LAUNCH, PROBE};

const RANKS: usize = 3;

/// Namespaces that the network's are not among; nobody else sees what is under `/dev/shm` here.
const APART: [&str; 8] = [
    "unshare",
    "--pid",
    "--fork",
    "--ipc",
    "--mount-proc",
    "sh",
    "-c",
    r#"mount -t tmpfs none /dev/shm && exec "$@""#,
];

fn possible(test: &str) -> bool {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = || {
        let tried = Command::new(APART[0]).args(&APART[1..]).args(["sh", "true"]).output();
        match tried {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Some(format!("the command `unshare` (package util-linux) cannot be run: {error}")),
        }
    };
    match MISSING.get_or_init(missing) {
        _ if !namespaces::possible(test) => false,
        None => true,
        Some(reason) => {
            skipped(test, reason);
            false
        }
    }
}

/// Starts rank after rank on the one host of the network; those of which `is_apart` says so in namespaces of their own.
fn start(network: &Network, program: &str, arguments: &[&str], is_apart: fn(usize) -> bool) -> Vec<Process> {
    let (host, size) = (network.host(0), RANKS.to_string());
    let start = |rank: usize| {
        let mut command = if is_apart(rank) { host.command(APART[0]) } else { host.command(program) };
        if is_apart(rank) {
            command.args(&APART[1..]).args(["sh", program]);
        }
        command.args(arguments);
        command.envs([("MASTER_NODE", "127.0.0.1"), ("MASTER_PORT", "29500"), ("WORLD_SIZE", size.as_str())]);
        command.env("RANK", rank.to_string());
        Process::start(format!("rank {rank} of {arguments:?}"), command)
    };
    (0..RANKS).map(start).collect()
}

/// The process that is the rank, by the number that it has outside.
fn outside(process: &Process, is_apart: bool) -> u32 {
    if !is_apart {
        return process.pid();
    }
    let children = proc::children(process.pid());
    assert_eq!(children.len(), 1, "{}", process.transcript());
    children[0]
}

/// Sockets that processes of the host have bound to names, or have made of those.
fn sockets(network: &Network) -> Vec<String> {
    let output = network.host(0).command("cat").arg("/proc/net/unix").output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().skip(1).map(str::to_owned).collect()
}

/// All of them, and all but the first.
const WORLDS: [fn(usize) -> bool; 2] = [|_| true, |rank| rank > 0];

#[test]
fn ranks_of_several_process_namespaces_share_memory() {
    if !possible("ranks_of_several_process_namespaces_share_memory") {
        return;
    }
    let network = Network::new(1, 0);
    for is_apart in WORLDS {
        let arguments = ["family", "--elements", "1,5001,60013"];
        let mut processes = start(&network, PROBE, &arguments, is_apart);
        for line in formed(&processes, RANKS) {
            let rank = line.rank();
            let expected: Vec<_> = (0..RANKS).map(|peer| if peer == rank { "self" } else { "shm" }).collect();
            assert_eq!(line.value("transports"), Some(expected.join(",").as_str()), "from rank {rank}");
            // Else they were not apart.
            assert_eq!(line.number("pid") == 1, is_apart(rank), "{}", line.text);
        }
        processes.iter_mut().for_each(Process::succeeds);
        assert_eq!(sockets(&network), Vec::<String>::new());

        let mut processes = start(&network, LAUNCH, &["info", "--join"], is_apart);
        processes.iter_mut().for_each(Process::succeeds);
        let told = processes[0].transcript();
        assert_eq!(told.matches("shm (the best, and both ranks have it)").count(), RANKS, "{told}");
        assert!(!told.contains("tcp ("), "{told}");
    }
}

#[test]
fn a_rank_killed_in_another_process_namespace_is_named_and_leaves_nothing() {
    if !possible("a_rank_killed_in_another_process_namespace_is_named_and_leaves_nothing") {
        return;
    }
    let network = Network::new(1, 0);
    for (is_apart, victim) in WORLDS.into_iter().flat_map(|world| (0..RANKS).map(move |rank| (world, rank))) {
        // In the midst of copying, and asleep.
        for arguments in [&["all-reduce", "--elements", "400000"][..], &["recv"]] {
            let mut processes = start(&network, PROBE, arguments, is_apart);
            for process in &processes {
                process.wait_event("looping");
            }
            assert!(!sockets(&network).is_empty(), "which are what must be gone afterwards");
            std::thread::sleep(std::time::Duration::from_millis(50));
            let all: Vec<u32> = (0..RANKS).map(|rank| outside(&processes[rank], is_apart(rank))).collect();
            let killed = Pid::from_raw(i32::try_from(all[victim]).unwrap()).unwrap();
            let since = clock::now();
            rustix::process::kill_process(killed, Signal::KILL).unwrap();
            for (rank, process) in processes.iter_mut().enumerate() {
                if rank == victim {
                    // Whoever has made its namespace waits for it, and ends in its own way.
                    assert_ne!(process.wait_end().code, Some(0), "{}", process.transcript());
                    continue;
                }
                let line = process.wait_event("failed");
                let (text, late) = (line.value("text").unwrap(), clock::between(since, line.number("at")));
                let name = format!("rank {victim} on node0");
                assert!(
                    text.contains(&name),
                    "rank {rank}: no {name:?} in {text:?}\n{}",
                    process.transcript()
                );
                println!("  rank {rank} named rank {victim} after {:.1} ms", late.as_secs_f64() * 1e3);
                assert!(late < PROMISE + SLACK, "rank {rank} took {late:?}");
                process.ends_with(FAILED);
            }
            proc::wait_gone(&all, PATIENCE);
            assert_eq!(sockets(&network), Vec::<String>::new());
        }
    }
}
