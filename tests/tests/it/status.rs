//! `ringworld status` of jobs that hang: by address and secret, and by process id; and askers that mean no good.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use ringworld_tests::job::{Job, clean, formed};
use ringworld_tests::process::{PATIENCE, Process};
use rustix::process::Signal;

use super::programs::{LAUNCH, PROBE};

const SECRET: &str = "known to those who belong to this job and to nobody else";

/// What `ringworld status` prints, and its exit status.
fn status(variables: &[(&str, &str)], arguments: &[&str]) -> (String, i32) {
    let mut command = clean(LAUNCH);
    command.envs(variables.iter().copied()).arg("status").args(arguments);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (text, output.status.code().unwrap())
}

/// Three ranks, of which rank 2 keeps the others waiting, and rank 0 serves.
fn hanging(ms: u64) -> (Job, Vec<Process>) {
    let job =
        Job::new(PROBE, 3).with("RINGWORLD_SECRET", Some(SECRET)).with("RINGWORLD_PEER_TIMEOUT", Some("10s"));
    let processes =
        job.start_ranks_served_by_the_first(3, &["sleep", "--rank", "2", "--ms", &ms.to_string()]);
    formed(&processes, 3);
    processes.iter().for_each(|process| drop(process.wait_event("looping")));
    (job, processes)
}

/// Asks until the others have gone to sleep, which takes them a moment.
fn until_late(variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let begun = Instant::now();
    loop {
        let (text, code) = status(variables, arguments);
        assert_eq!(code, 0, "{text}");
        if text.contains("ranks 0-1 wait for rank 2 on ") {
            return text;
        }
        assert!(begun.elapsed() < PATIENCE, "{text}");
    }
}

#[test]
fn a_job_that_hangs_says_what_each_rank_does_to_whoever_may_know() {
    let (job, mut processes) = hanging(9000);
    let place = format!("127.0.0.1:{}", job.port());
    let text = until_late(&[("RINGWORLD_SECRET", SECRET)], &["--master", &place]);
    for part in [
        "a world of 3 ranks, formed ",
        "3 are there",
        "late: ",
        "since all_reduce #0 at tests/src/bin/probe.rs:",
        "in barrier() #1 at tests/src/bin/probe.rs:",
        "ranks 0-2",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    // Rank 0 serves; the other ranks lead there, and so do the variables of whoever asks.
    for pid in [processes[0].pid(), processes[1].pid()] {
        let json = until_late(&[], &["--json", "--pid", &pid.to_string()]);
        assert!(
            json.starts_with('{') && json.trim_end().ends_with('}') && json.lines().count() == 1,
            "{json}"
        );
        for part in ["\"deadlock\":false", "\"late\":true", "\"standing\":\"present\"", "\"for_ranks\":[2]"] {
            assert!(json.contains(part), "no {part} in {json}");
        }
    }
    let (port, node) = (job.port().to_string(), "127.0.0.1");
    let of_the_job = [("MASTER_NODE", node), ("MASTER_PORT", &port), ("WORLD_SIZE", "3")];
    until_late(&[&of_the_job[..], &[("RINGWORLD_SECRET", SECRET)]].concat(), &[]);

    for variables in [&[][..], &[("RINGWORLD_SECRET", "another one, which nobody has given to this job")]] {
        let (text, code) = status(variables, &["--master", &place]);
        assert!(code != 0 && text.to_lowercase().contains("secret") && !text.contains("barrier"), "{text}");
    }
    let (text, code) = status(&[], &[]);
    assert!(code != 0 && text.contains("--master HOST:PORT"), "{text}");
    let (text, code) = status(&[], &["--pid", "999999999"]);
    assert!(code != 0 && text.contains("no process 999999999"), "{text}");
    processes.iter_mut().for_each(Process::succeeds);
    let (text, code) = status(&[("RINGWORLD_SECRET", SECRET)], &["--master", &place]);
    assert!(code != 0 && text.contains("nobody answers"), "{text}");
}

#[test]
fn a_job_of_the_launcher_is_asked_by_its_pid_and_a_deadlock_is_told() {
    let mut command = clean(LAUNCH);
    command.args(["run", "-n", "2", "--", PROBE, "recv"]);
    let launcher = Process::start("run", command);
    let begun = Instant::now();
    let text = loop {
        let (text, code) = status(&[], &["--pid", &launcher.pid().to_string()]);
        if code == 0 && text.contains("deadlock") {
            break text;
        }
        assert!(begun.elapsed() < PATIENCE, "{text}");
        std::thread::sleep(Duration::from_millis(50));
    };
    for rank in 0..2 {
        assert!(text.contains(&format!("in recv (from rank {}, tag 7) at tests/", 1 - rank)), "{text}");
    }
}

/// Who asks and does not listen, and who comes with other words, keeps nobody from asking and disturbs no rank.
#[test]
fn askers_that_mean_no_good_do_no_harm() {
    let (job, mut processes) = hanging(8000);
    let name = format!("ringworld-master-{}", processes[0].pid());
    let door = SocketAddr::from_abstract_name(name).unwrap();
    let mute: Vec<UnixStream> = (0..50).map(|_| UnixStream::connect_addr(&door).unwrap()).collect();
    let mut garbage: Vec<TcpStream> =
        (0..50).map(|_| TcpStream::connect(("127.0.0.1", job.port())).unwrap()).collect();
    for stream in &mut garbage {
        // The door may have closed already.
        let _ = stream.write_all(&[7; 4096]);
    }
    let place = format!("127.0.0.1:{}", job.port());
    until_late(&[("RINGWORLD_SECRET", SECRET)], &["--master", &place]);
    drop(mute);
    until_late(&[], &["--pid", &processes[0].pid().to_string()]);
    let mut words = UnixStream::connect_addr(&door).unwrap();
    let _ = words.write_all(&[0xff; 100_000]);
    let mut answer = Vec::new();
    let _ = words.read_to_end(&mut answer);
    until_late(&[], &["--pid", &processes[0].pid().to_string()]);
    processes.iter_mut().for_each(Process::succeeds);
}

/// Signals a process until it has said so on its standard error: it listens from when its world has formed.
fn signalled(process: &mut Process, parts: &[&str]) {
    let begun = Instant::now();
    loop {
        process.signal(Signal::USR1);
        std::thread::sleep(Duration::from_millis(50));
        let said: Vec<String> =
            process.lines().into_iter().filter(|line| line.error).map(|line| line.text).collect();
        if parts.iter().all(|part| said.iter().any(|line| line.contains(part))) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{parts:?} {}", process.transcript());
    }
}

#[test]
fn a_rank_that_is_signalled_says_what_it_does() {
    let (_job, mut processes) = hanging(4000);
    let pids: Vec<String> = processes.iter().map(|process| format!(", pid {}", process.pid())).collect();
    for (rank, process) in processes.iter_mut().enumerate().take(2) {
        let head = format!("rank {rank} of 3 on ");
        signalled(
            process,
            &[&head, &pids[rank], " s in barrier() #1 at tests/src/bin/probe.rs:", "routes: "],
        );
    }
    signalled(&mut processes[2], &["rank 2 of 3 on ", "since all_reduce #0 at tests/src/bin/probe.rs:"]);
    // And it has done nobody any harm.
    processes.iter_mut().for_each(Process::succeeds);
}

#[test]
fn whoever_wants_the_signal_for_something_else_has_it() {
    // It ends the process, as it does by default.
    let job = Job::new(PROBE, 2).with("RINGWORLD_STATUS_SIGNAL", Some("0"));
    let mut processes = job.start_ranks(2, &["sleep", "--rank", "1", "--ms", "20000"]);
    formed(&processes, 2);
    processes[0].signal(Signal::USR1);
    assert_eq!(processes[0].wait_end().signal, Some(Signal::USR1.as_raw()));
    drop(processes);
    // A program that ignores it goes on doing so: what is ignored stays so in what a shell becomes.
    let script = format!("trap '' USR1; exec {PROBE} sleep --rank 1 --ms 1500");
    let job = Job::new("/bin/sh", 2);
    let mut processes = job.start_ranks(2, &["-c", &script]);
    formed(&processes, 2);
    for _ in 0..5 {
        processes[0].signal(Signal::USR1);
        std::thread::sleep(Duration::from_millis(20));
    }
    processes.iter_mut().for_each(Process::succeeds);
    assert!(!processes[0].transcript().contains("rank 0 of 2 on "), "{}", processes[0].transcript());
}

#[test]
fn what_all_ranks_have_counted_is_told_at_the_end() {
    let run = |options: &[&str]| {
        let mut command = clean(LAUNCH);
        command
            .args(["run", "-n", "3"])
            .args(options)
            .args(["--", PROBE, "sleep", "--rank", "1", "--ms", "400"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let text = run(&["--statistics"]);
    for part in ["statistics of 3 ranks", "all_reduce ", "barrier ", "call, of all ranks", "mostly for"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert_eq!(text.matches("all_reduce").count(), 1, "one table for all: {text}");
    let text = run(&["-x", "RINGWORLD_STATISTICS=1"]);
    for rank in 0..3 {
        assert!(text.contains(&format!("rank {rank} of 3 on ")), "{text}");
    }
    assert_eq!(text.matches("all_reduce").count(), 3, "each its own: {text}");
    assert!(!run(&[]).contains("all_reduce"));
}
