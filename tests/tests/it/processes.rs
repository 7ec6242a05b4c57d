//! Worlds of real processes: how they form, and how they end when nobody is killed.
//!
//! Neighbours: `faults.rs` kills and stops ranks, `namespaces.rs` puts them on different hosts.

use std::time::Duration;

use ringworld_tests::clock;
use ringworld_tests::job::{Job, clean, formed};
use ringworld_tests::line::Line;
use ringworld_tests::proc;
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::random::Random;

use super::programs::{FAILED, LAUNCH, PROBE, REFUSED};

/// Errors of the other ranks after one rank has ended the world: all of them, each within the promise.
fn failures(processes: &[Process], except: usize, since: u64) -> Vec<Line> {
    let lines: Vec<Line> = processes
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != except)
        .map(|(_, p)| p.wait_event("failed"))
        .collect();
    for line in &lines {
        let late = clock::between(since, line.number("at"));
        println!("  rank {} after {:.1} ms: {}", line.rank(), late.as_secs_f64() * 1e3, line.text);
        assert!(late < Duration::from_secs(3), "rank {} heard of it after {late:?}", line.rank());
    }
    lines
}

/// The error names this rank, this host, and the operation with its sequence number.
fn names(line: &Line, rank: usize, operation: &str) {
    let text = line.value("text").unwrap();
    let host = hostname();
    for part in [&format!("rank {rank} on {host}"), operation, "#"] {
        assert!(text.contains(part), "no {part:?} in {text:?}");
    }
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

#[test]
fn two_shells_with_only_a_master_and_num_nodes_form_a_world_of_two() {
    let job = Job::new(PROBE, 2).with("WORLD_SIZE", None).with("NUM_NODES", Some("2"));
    let mut shells: Vec<Process> = (0..2).map(|_| job.start(&[], &["meet"])).collect();
    formed(&shells, 2);
    shells.iter_mut().for_each(Process::succeeds);
}

#[test]
fn ranks_that_leave_at_once_are_not_missed_by_those_that_look_for_them_later() {
    // More than there are cores: some come into the world when others have left it.
    for transport in ["shm", "tcp", "shm,tcp"] {
        for arguments in [&["pass"][..], &["pass", "--nothing"]] {
            let job = Job::new(PROBE, 8).with("RINGWORLD_TRANSPORT", Some(transport));
            job.start_ranks(8, arguments).iter_mut().for_each(Process::succeeds);
        }
    }
}

#[test]
fn whoever_waits_for_its_world_says_what_for() {
    let job = Job::new(PROBE, 3);
    let external = [("RINGWORLD_MASTER_EXTERNAL", "1")];
    let mut all = vec![job.start(&external, &["meet"])];
    let line = all[0].wait_text("waiting for the master 127.0.0.1").text;
    assert!(line.contains("Connection refused") && line.contains("RINGWORLD_TIMEOUT"), "{line}");
    all.push(job.start(&[], &["meet"]));
    let line = all[1].wait_text("waiting for 1 of 3 ranks").text;
    assert!(line.contains(&format!("{} (2 ranks) has joined", hostname())), "{line}");
    all.push(job.start(&[], &["meet"]));
    formed(&all, 3);
    all.iter_mut().for_each(Process::succeeds);
    let silent = all[2].lines().iter().all(|line| !line.text.contains("waiting for"));
    assert!(silent, "{}", all[2].transcript());
}

#[test]
fn nothing_set_is_a_world_of_one() {
    let mut command = clean(PROBE);
    command.arg("meet");
    let mut process = Process::start("alone", command);
    formed(std::slice::from_ref(&process), 1);
    process.succeeds();
}

#[test]
fn a_world_of_one_is_told_how_to_be_larger_and_refuses_what_a_larger_one_would() {
    let alone = |name: &str, value: &str| {
        let mut command = clean(PROBE);
        command.arg("meet").env(name, value);
        Process::start("alone", command)
    };
    let mut process = alone("RINGWORLD_LOG", "info");
    let line = process.wait_text("a world of one").text;
    assert!(line.contains("MASTER_NODE") && line.contains("ringworld run"), "{line}");
    process.succeeds();
    let mut process = alone("RINGWORLD_TRANSPORT", "pigeon");
    process.wait_text("transport \"pigeon\" was asked for");
    process.ends_with(REFUSED);
}

#[test]
fn log_lines_begin_with_the_time_and_the_rank() {
    let job = Job::new(PROBE, 2).with("RINGWORLD_LOG", Some("trace"));
    let mut ranks = job.start_ranks(2, &["meet"]);
    formed(&ranks, 2);
    ranks.iter_mut().for_each(Process::succeeds);
    for (rank, process) in ranks.iter().enumerate() {
        let (early, late): (Vec<_>, Vec<_>) = process
            .lines()
            .into_iter()
            .filter(|line| line.error && line.text.contains("ringworld"))
            .partition(|line| !line.text.contains(&format!("s rank {rank}] ")));
        assert!(
            early.iter().all(|line| line.text.starts_with('[') && line.text.contains("s] ")),
            "{early:?}"
        );
        assert!(!late.is_empty(), "no line names the rank: {}", process.transcript());
    }
}

#[test]
fn ranks_may_start_in_any_order_and_at_any_time() {
    let mut random = Random::new("ranks_may_start_in_any_order_and_at_any_time");
    let job = Job::new(PROBE, 4);
    let mut order = [0, 1, 2, 3];
    random.shuffle(&mut order);
    let mut processes = Vec::new();
    for rank in order {
        std::thread::sleep(Duration::from_millis(random.below(200)));
        processes.push(job.start(&[("RANK", &rank.to_string())], &["meet", "--elements", "100000"]));
    }
    let lines = formed(&processes, 4);
    for (process, rank) in processes.iter_mut().zip(order) {
        process.succeeds();
        assert_eq!(process.wait_event("formed").rank(), rank, "a given rank is kept");
    }
    assert!(
        lines.iter().all(|line| line.number("local_size") == 4 && line.value("host") == Some(&hostname()))
    );
}

#[test]
fn processes_without_ranks_get_ranks_and_local_ranks_that_agree() {
    let job = Job::new(PROBE, 4);
    let mut processes: Vec<Process> = (0..4).map(|_| job.start(&[], &["meet"])).collect();
    for line in formed(&processes, 4) {
        assert_eq!(line.number("local_rank"), line.number("rank"));
    }
    processes.iter_mut().for_each(Process::succeeds);
}

#[test]
fn a_rank_given_twice_is_an_error_that_names_it_and_the_job_goes_on() {
    let job = Job::new(PROBE, 2);
    let mut first = job.start(&[("RANK", "1")], &["meet"]);
    job.wait_served(&first);
    std::thread::sleep(Duration::from_millis(300));
    let mut second = job.start(&[("RANK", "1")], &["meet"]);
    second.ends_with(REFUSED);
    let text = second.wait_event("refused").text;
    assert!(text.contains("rank 1"), "{text}");
    let mut third = job.start(&[("RANK", "0")], &["meet"]);
    first.succeeds();
    third.succeeds();
}

#[test]
fn a_rank_beyond_the_world_is_an_error_that_names_both() {
    let mut process = Job::new(PROBE, 2).start(&[("RANK", "2")], &["meet"]);
    process.ends_with(REFUSED);
    let text = process.wait_event("refused").text;
    assert!(text.contains("RANK") && text.contains('2'), "{text}");
}

#[test]
fn a_wrong_or_missing_secret_is_an_error_at_the_joiner_and_the_job_goes_on() {
    let job = Job::new(PROBE, 2);
    let right = [("RINGWORLD_SECRET", "correct horse")];
    let mut first = job.start(&right, &["meet"]);
    job.wait_served(&first);
    for wrong in [&[("RINGWORLD_SECRET", "battery staple")][..], &[]] {
        let mut refused = job.start(wrong, &["meet"]);
        refused.ends_with(REFUSED);
        let text = refused.wait_event("refused").text;
        assert!(text.contains("RINGWORLD_SECRET"), "{text}");
        assert!(!text.contains("battery") && !text.contains("horse"), "a secret was printed: {text}");
    }
    assert!(first.wait_text("secret").error, "the other side has a log line");
    let mut second = job.start(&right, &["meet"]);
    first.succeeds();
    second.succeeds();
    for process in [&first, &second] {
        let all = process.transcript();
        assert!(!all.replace("RINGWORLD_SECRET\", \"correct horse", "").contains("horse"), "{all}");
    }
}

#[test]
fn a_size_without_a_master_is_an_error_and_never_a_world_of_one() {
    for variable in ["WORLD_SIZE", "NUM_NODES"] {
        let mut command = clean(PROBE);
        command.env(variable, "2").arg("meet");
        let mut process = Process::start("no master", command);
        process.ends_with(REFUSED);
        let text = process.wait_event("refused").text;
        assert!(text.contains("MASTER_NODE"), "{text}");
    }
}

#[test]
fn ranks_that_never_come_end_the_rendezvous_with_who_came_and_how_many_are_missing() {
    let job = Job::new(PROBE, 3).with("RINGWORLD_TIMEOUT", Some("2s"));
    let mut processes = [job.start(&[("RANK", "0")], &["meet"]), job.start(&[("RANK", "1")], &["meet"])];
    for process in &mut processes {
        process.ends_with(REFUSED);
        let text = process.wait_event("refused").text;
        println!("  {text}");
        assert!(text.contains('3') && text.contains('2'), "{text}");
    }
}

#[test]
fn processes_that_disagree_about_the_size_get_an_error_that_names_both() {
    let job = Job::new(PROBE, 3);
    let first = job.start(&[], &["meet"]);
    job.wait_served(&first);
    std::thread::sleep(Duration::from_millis(300));
    let mut second = job.start(&[("WORLD_SIZE", "4")], &["meet"]);
    second.ends_with(REFUSED);
    let text = second.wait_event("refused").text;
    assert!(text.contains('3') && text.contains('4'), "{text}");
}

#[test]
fn ranks_that_disagree_about_a_collective_all_get_an_error_that_says_who_asked_for_what() {
    let parts: [(&str, [&str; 2]); 9] = [
        ("count", ["100 x f32", "99 x f32"]),
        ("dtype", ["100 x f32", "100 x i32"]),
        ("op", ["sum", "max"]),
        ("root", ["root 0", "root 1"]),
        ("call", ["all_reduce", "barrier"]),
        ("order", ["all_reduce", "all_gather"]),
        ("user", ["user op", "called all_reduce"]),
        ("counts", ["120 x bytes in all", "132 x bytes in all"]),
        ("settings", ["100 x f32, sum", "other settings"]),
    ];
    for (kind, parts) in parts {
        let job = Job::new(PROBE, 3);
        let mut processes = job.start_ranks(3, &["mismatch", "--kind", kind]);
        for process in &mut processes {
            process.ends_with(FAILED);
            let line = process.wait_event("failed");
            let text = line.value("text").unwrap();
            println!("  {kind}: rank {}: {text}", line.rank());
            assert_eq!(line.value("kind"), Some("Mismatch"), "{kind}: {text}");
            for part in [parts[0], parts[1], "rank 1 on", "#"] {
                assert!(text.contains(part), "{kind}: no {part:?} in {text:?}");
            }
            // What this rank was doing, and both calls that disagree.
            assert!(text.matches("probe.rs:").count() >= 2, "{kind}: no file and line in {text:?}");
        }
    }
}

/// What they choose follows from what all of them have, not from the settings of one.
#[test]
fn ranks_of_one_host_of_which_some_do_without_memory_call_alike() {
    for apart in 0..3 {
        let job = Job::new(PROBE, 3);
        let start = |rank: usize| {
            let number = rank.to_string();
            let transport = if rank == apart { "tcp" } else { "shm,tcp" };
            job.start(&[("RANK", &number), ("RINGWORLD_TRANSPORT", transport)], &["exchange"])
        };
        (0..3).map(start).collect::<Vec<_>>().iter_mut().for_each(Process::succeeds);
    }
}

/// Whoever only sends looks at the end at the latest, and whoever has left is not called down for it.
#[test]
fn ranks_that_disagree_about_a_root_and_leave_are_told_so_and_nothing_else() {
    for call in ["broadcast", "broadcast-object", "scatter", "gather", "reduce"] {
        for size in [2, 3] {
            let mut processes = Job::new(PROBE, size).start_ranks(size, &["roots", "--call", call]);
            let ends: Vec<_> = processes.iter_mut().map(|process| process.wait_end().code).collect();
            assert!(ends.contains(&Some(FAILED)), "{call} on {size} ranks: {ends:?}");
            for line in processes.iter().flat_map(|process| process.events("failed")) {
                let text = line.value("text").unwrap();
                println!("  {call} on {size} ranks: rank {}: {text}", line.rank());
                assert_eq!(line.value("kind"), Some("Mismatch"), "{call}: {text}");
                for part in ["root 0", "root 1", &call.replace('-', "_"), "probe.rs:"] {
                    assert!(text.contains(part), "{call}: no {part:?} in {text:?}");
                }
            }
        }
    }
}

#[test]
fn a_wait_that_takes_too_long_is_a_time_out_on_every_rank_and_says_whose() {
    let job = Job::new(PROBE, 3).with("RINGWORLD_OP_TIMEOUT", Some("1s"));
    let mut processes = job.start_ranks(3, &["victim", "--rank", "1", "--act", "compute"]);
    for (rank, process) in processes.iter_mut().enumerate().filter(|(rank, _)| *rank != 1) {
        process.ends_with(FAILED);
        let line = process.wait_event("failed");
        let text = line.value("text").unwrap();
        assert_eq!(line.value("kind"), Some("TimedOut"), "rank {rank}: {text}");
        for part in ["while waiting for", ", in all_reduce(", "RINGWORLD_OP_TIMEOUT", "rank 1 on"] {
            assert!(text.contains(part), "rank {rank}: no {part:?} in {text:?}");
        }
    }
    processes[1].kill();
}

/// Its kernel accepts connections like that of a rank that computes, which must never be held against a rank.
#[test]
fn an_address_where_another_program_listens_is_warned_of_and_ends_with_the_time_of_an_operation() {
    // What rank 1 is told to the others as leads to this program, which never says anything.
    let mute = std::net::TcpListener::bind(("127.0.0.2", 0)).unwrap();
    let port = mute.local_addr().unwrap().port().to_string();
    let job = Job::new(PROBE, 2)
        .with("RINGWORLD_TRANSPORT", Some("tcp"))
        .with("RINGWORLD_TIMEOUT", Some("3s"))
        .with("RINGWORLD_OP_TIMEOUT", Some("6s"));
    let arguments = ["first", "--ms", "0", "--sender", "0"];
    let elsewhere = [("RANK", "1"), ("RINGWORLD_TCP_PORTS", &port), ("RINGWORLD_ADVERTISE", "127.0.0.2")];
    let mut processes = [job.start(&[("RANK", "0")], &arguments), job.start(&elsewhere, &arguments)];
    formed(&processes, 2);
    let warning = processes[0].wait_text("its address leads to somebody else");
    assert!(warning.text.contains(&format!("127.0.0.2:{port}")), "{warning:?}");
    for process in &mut processes {
        process.ends_with(FAILED);
        let line = process.wait_event("failed");
        let text = line.value("text").unwrap();
        assert_eq!(line.value("kind"), Some("TimedOut"), "{text}");
        for part in ["while waiting for", "RINGWORLD_OP_TIMEOUT"] {
            assert!(text.contains(part), "no {part:?} in {text:?}");
        }
    }
}

#[test]
fn a_panic_of_a_user_operation_ends_every_rank_and_names_who_and_what() {
    for who in [0, 2] {
        let job = Job::new(PROBE, 3);
        let mut processes = job.start_ranks(3, &["fragile-op", "--rank", &who.to_string()]);
        for process in &mut processes {
            // The panic is an error like others: the program goes on, and ends as it likes.
            process.ends_with(FAILED);
            let line = process.wait_event("failed");
            let text = line.value("text").unwrap();
            assert_eq!(line.value("kind"), Some("Panicked"), "{text}");
            for part in
                [&format!("panicked on rank {who} on"), "\"fragile\"", "the operation panics on purpose"]
            {
                assert!(text.contains(part), "no {part:?} in {text:?}");
            }
        }
    }
}

fn victim(size: usize, who: usize, act: &str, code: &str) -> (Vec<Process>, u64) {
    let job = Job::new(PROBE, size);
    let processes =
        job.start_ranks(size, &["victim", "--rank", &who.to_string(), "--act", act, "--code", code]);
    let since = processes[who].wait_event("acting").number("at");
    (processes, since)
}

#[test]
fn abort_ends_every_rank_and_names_who_and_the_code() {
    for who in [0, 2] {
        let (mut processes, since) = victim(3, who, "abort", "42");
        for line in failures(&processes, who, since) {
            assert_eq!(line.value("kind"), Some("Aborted"), "{line:?}");
            names(&line, who, "all_reduce");
            assert!(line.text.contains("42: the victim has seen enough"), "{line:?}");
        }
        for (rank, process) in processes.iter_mut().enumerate() {
            process.ends_with(if rank == who { 42 } else { FAILED });
        }
    }
}

#[test]
fn a_panic_ends_every_rank_and_names_who() {
    for who in [0, 2] {
        let (mut processes, since) = victim(3, who, "panic", "0");
        for line in failures(&processes, who, since) {
            names(&line, who, "all_reduce");
            assert!(line.text.contains("panicked: the victim panics on purpose ("), "{line:?}");
            assert!(line.text.contains("probe.rs:"), "{line:?}");
        }
        for (rank, process) in processes.iter_mut().enumerate() {
            process.ends_with(if rank == who { 101 } else { FAILED });
        }
    }
}

#[test]
fn a_panic_in_a_scope_ends_every_rank_and_names_who() {
    let who = 1;
    let (mut processes, since) = victim(3, who, "panic-in-scope", "0");
    for line in failures(&processes, who, since) {
        assert!(line.text.contains("all_reduce") && line.text.contains("rank 1"), "{line:?}");
        assert!(line.text.contains("a panic left a scope"), "{line:?}");
        assert!(line.text.contains("the victim panics in a scope on purpose"), "{line:?}");
    }
    for (rank, process) in processes.iter_mut().enumerate() {
        process.ends_with(if rank == who { 101 } else { FAILED });
    }
}

#[test]
fn an_exit_without_finalising_ends_every_rank_and_names_who() {
    for who in [0, 2] {
        let (mut processes, since) = victim(3, who, "exit", "0");
        for line in failures(&processes, who, since) {
            assert_eq!(line.value("kind"), Some("PeerFailed"), "{line:?}");
            names(&line, who, "all_reduce");
        }
        for (rank, process) in processes.iter_mut().enumerate() {
            process.ends_with(if rank == who { 0 } else { FAILED });
        }
    }
}

#[test]
fn whoever_exits_at_once_because_of_a_death_is_not_named_instead_of_it() {
    // Whichever of them serves the rendezvous may be done before many of the others have heard anything.
    let (size, who) = (16, 9);
    let arguments = ["victim", "--rank", &who.to_string(), "--act", "exit", "--hard"];
    let job = Job::new(PROBE, size).with("RINGWORLD_TRANSPORT", Some("tcp"));
    let processes = job.start_ranks(size, &arguments);
    let since = processes[who].wait_event("acting").number("at");
    for line in failures(&processes, who, since) {
        names(&line, who, "all_reduce");
    }
}

#[test]
fn a_rank_may_leave_early_in_good_order_and_only_who_still_counts_on_it_fails() {
    for who in [0, 3] {
        let mut processes = Job::new(PROBE, 4).start_ranks(4, &["leave", "--rank", &who.to_string()]);
        for (rank, process) in processes.iter_mut().enumerate() {
            if rank == who {
                process.succeeds();
                continue;
            }
            process.ends_with(FAILED);
            assert_eq!(process.events("stayed").len(), 1, "the others go on\n{}", process.transcript());
            let line = process.wait_event("failed");
            assert_eq!(line.value("kind"), Some("PeerFinished"), "{line:?}");
            names(&line, who, "recv");
        }
    }
}

fn launched(size: usize, arguments: &[&str]) -> Process {
    let mut command = clean(LAUNCH);
    command.args(["run", "-n", &size.to_string(), "--", PROBE]).args(arguments);
    Process::start("launch", command)
}

#[test]
fn the_launcher_forms_a_world_and_returns_the_code_of_an_abort() {
    let mut job = launched(3, &["meet"]);
    job.succeeds();
    assert_eq!((job.events("formed").len(), job.events("left").len()), (3, 3), "{}", job.transcript());

    let mut job = launched(3, &["victim", "--rank", "1", "--act", "abort", "--code", "42"]);
    job.ends_with(42);
    assert!(
        job.lines().iter().any(|line| line.error && line.text.contains("rank 1")),
        "{}",
        job.transcript()
    );
}

#[test]
fn killing_one_rank_of_a_launched_job_ends_all_with_137_and_its_name() {
    let mut job = launched(4, &["all-reduce", "--elements", "100000"]);
    let ranks = job.wait_events("looping", 4, PATIENCE);
    let pids: Vec<u32> = ranks.iter().map(|line| u32::try_from(line.number("pid")).unwrap()).collect();
    let victim = ranks.iter().position(|line| line.rank() == 2).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pids[victim]).unwrap()).unwrap();
    let start = std::time::Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    job.ends_with(137);
    println!("  the job ended {:?} after the kill", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(3));
    proc::wait_gone(&pids, Duration::from_secs(1));
    assert!(
        job.lines().iter().any(|line| line.error && line.text.contains("rank 2")),
        "{}",
        job.transcript()
    );
}
