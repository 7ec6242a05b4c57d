//! Meeting through the launcher's process manager, PMI-1. Each rank is a process, for it is given one conversation;
//! what they speak with is a stand-in for `mpiexec`, which says odd things on request. The real ones are in
//! `tests/mpiexec`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use common::free_port;
use ringworld_bootstrap::{Joining, Settings};
use rustix::io::{FdFlags, fcntl_setfd};

const JOB: &str = "kvs_7_0_host";

/// What the tests start as other processes: a rank. It says what it has found, and what has gone wrong.
#[test]
#[ignore = "started by the other tests"]
fn rank() {
    let given = |name: &str| std::env::var(name).unwrap_or_default();
    let number: i32 = given("PMI_FD").parse().unwrap_or(-1);
    let worlds = given("WORLDS").parse().unwrap_or(1);
    let mut overrides = Vec::new();
    if given("REVERSED") == "1" {
        let (rank, size): (usize, usize) =
            (given("PMI_RANK").parse().unwrap(), given("PMI_SIZE").parse().unwrap());
        overrides.push(("rank".to_string(), (size - 1 - rank).to_string()));
    }
    for _ in 0..worlds {
        let joined =
            Settings::from_env_with(&overrides).map_err(|error| error.to_string()).and_then(|settings| {
                let joining = Joining::begin(&settings).map_err(|error| error.to_string())?;
                if given("LOOK") == "inherited" {
                    let seen =
                        Command::new("readlink").arg(format!("/proc/self/fd/{number}")).output().unwrap();
                    println!("a child has {:?}", String::from_utf8_lossy(&seen.stdout));
                }
                if given("DIE") == given("PMI_RANK") {
                    std::process::exit(9);
                }
                joining.join(Vec::new(), Box::new(|_| {})).map_err(|error| error.to_string())
            });
        match joined {
            Ok(session) => {
                println!("rank {} of {}", session.rank, session.size);
                session.finish();
            }
            Err(error) => {
                println!("error: {error}");
                if given("LINGER") == "1" {
                    std::thread::sleep(Duration::from_millis(300));
                    println!("still here");
                }
                std::process::exit(3);
            }
        }
    }
}

/// What the stand-in says to a line.
enum Reply {
    Say(Vec<u8>),
    /// Say this, and close.
    Last(Vec<u8>),
    Nothing,
}

/// Changes what is said: rank, line, the proper answer.
type Twist = fn(usize, &str, &str) -> Option<Reply>;

fn properly(_: usize, _: &str, _: &str) -> Option<Reply> {
    None
}

#[derive(Default)]
struct Shared {
    values: Mutex<BTreeMap<String, String>>,
    waiting: Mutex<usize>,
    /// How many have gone, for whom nobody need wait.
    gone: AtomicUsize,
    passed: Condvar,
}

/// A stand-in for `mpiexec` with ranks of this test's.
struct Mpiexec {
    ranks: Vec<Child>,
    listeners: Vec<std::thread::JoinHandle<Vec<String>>>,
}

/// How one rank has ended: its status, what it said, and what it said to the launcher.
#[derive(Debug)]
struct Ended {
    status: Option<i32>,
    output: String,
    lines: Vec<String>,
}

impl Mpiexec {
    fn start(size: usize, twist: Twist, env: &[(&str, &str)]) -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let shared = Arc::new(Shared::default());
        let (mut ranks, mut listeners) = (Vec::new(), Vec::new());
        for rank in 0..size {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "rank", "--ignored", "--nocapture", "--test-threads=1"]);
            command.env("PMI_FD", theirs.as_raw_fd().to_string()).env("PMI_RANK", rank.to_string());
            command.env("PMI_SIZE", size.to_string()).env("RINGWORLD_TIMEOUT", "20s");
            command.env("RINGWORLD_IF_INCLUDE", "lo").envs(env.iter().copied());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
            {
                // No other child is to have it, or nobody would see it closed.
                let _lock = ONE_AT_A_TIME.lock().unwrap();
                fcntl_setfd(&theirs, FdFlags::empty()).unwrap();
                ranks.push(command.spawn().unwrap());
                fcntl_setfd(&theirs, FdFlags::CLOEXEC).unwrap();
            }
            let shared = Arc::clone(&shared);
            listeners.push(std::thread::spawn(move || {
                let lines = serve(ours, rank, size, &shared, twist);
                let _waiting = shared.waiting.lock().unwrap();
                shared.gone.fetch_add(1, Ordering::Relaxed);
                shared.passed.notify_all();
                lines
            }));
        }
        Self { ranks, listeners }
    }

    fn end(self) -> Vec<Ended> {
        let ended = self.ranks.into_iter().map(|child| child.wait_with_output().unwrap()).collect::<Vec<_>>();
        let lines = self.listeners.into_iter().map(|thread| thread.join().unwrap());
        ended
            .into_iter()
            .zip(lines)
            .map(|(ended, lines)| {
                let output = [ended.stdout, ended.stderr].concat();
                let output = String::from_utf8_lossy(&output).into_owned();
                Ended { status: ended.status.code(), output, lines }
            })
            .collect()
    }
}

/// One rank's conversation; returns what it has said, and `end` where it has closed.
fn serve(stream: UnixStream, rank: usize, size: usize, shared: &Shared, twist: Twist) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reading = BufReader::new(stream.try_clone().unwrap());
    let mut writing = stream;
    loop {
        let mut line = String::new();
        match reading.read_line(&mut line) {
            Ok(0) | Err(_) => {
                lines.push("end".into());
                return lines;
            }
            Ok(_) => {}
        }
        let line = line.trim_end();
        lines.push(line.to_string());
        let of = |key: &str| {
            let word = line.split(' ').find_map(|word| word.strip_prefix(&format!("{key}=")));
            word.unwrap_or_default().to_string()
        };
        let proper = match of("cmd").as_str() {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".into(),
            "get_maxes" => "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024".into(),
            "get_my_kvsname" => format!("cmd=my_kvsname rc=0 kvsname={JOB}"),
            "put" => {
                assert_eq!(of("kvsname"), JOB);
                shared.values.lock().unwrap().insert(of("key"), of("value"));
                "cmd=put_result rc=0".into()
            }
            "get" => match shared.values.lock().unwrap().get(&of("key")) {
                Some(value) => format!("cmd=get_result rc=0 value={value}"),
                None => "cmd=get_result rc=-1 msg=key_not_found value=unknown".into(),
            },
            "barrier_in" => {
                let mut waiting = shared.waiting.lock().unwrap();
                *waiting += 1;
                shared.passed.notify_all();
                let alone = |waiting: &mut usize| *waiting < size && shared.gone.load(Ordering::Relaxed) == 0;
                let waiting = shared.passed.wait_while(waiting, alone).unwrap();
                // Whoever waits for one that never comes is not answered.
                if *waiting < size {
                    continue;
                }
                "cmd=barrier_out tag=0".into()
            }
            "finalize" => "cmd=finalize_ack rc=0".to_string(),
            other => panic!("rank {rank} says {other:?}"),
        };
        // A rank that has gone does not hear the answer.
        match twist(rank, line, &proper).unwrap_or_else(|| Reply::Say(format!("{proper}\n").into())) {
            Reply::Say(bytes) => drop(writing.write_all(&bytes)),
            Reply::Last(bytes) => {
                let _ = writing.write_all(&bytes);
                lines.push("closed".into());
                return lines;
            }
            Reply::Nothing => {}
        }
    }
}

fn first_words(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.split(' ').next().unwrap().trim_start_matches("cmd=")).collect()
}

#[test]
fn nothing_but_the_launcher_says_where_the_ranks_meet() {
    let ended = Mpiexec::start(3, properly, &[]).end();
    for (rank, ended) in ended.iter().enumerate() {
        assert_eq!(ended.status, Some(0), "{ended:?}");
        assert!(ended.output.contains(&format!("rank {rank} of 3")), "{ended:?}");
        let expected: &[&str] = match rank {
            0 => &["init", "get_my_kvsname", "get_maxes", "put", "barrier_in", "finalize", "end"],
            _ => &["init", "get_my_kvsname", "barrier_in", "get", "finalize", "end"],
        };
        assert_eq!(first_words(&ended.lines), expected);
    }
    let put = &ended[0].lines[3];
    let value = put.strip_prefix(&format!("cmd=put kvsname={JOB} key=ringworld_master value=1;")).unwrap();
    assert!(value.contains("127.0.0.1"), "{value}");
}

#[test]
fn what_is_set_by_hand_wins() {
    let port = free_port().to_string();
    let by_hand = [("MASTER_NODE", "127.0.0.1"), ("MASTER_PORT", port.as_str())];
    for ended in Mpiexec::start(2, properly, &by_hand).end() {
        assert_eq!((ended.status, &ended.lines[..]), (Some(0), &["end".to_string()][..]), "{ended:?}");
    }
    // The port alone: rank 0 serves there.
    let ended = Mpiexec::start(2, properly, &[("RINGWORLD_MASTER_PORT", &port)]).end();
    assert!(ended.iter().all(|ended| ended.status == Some(0)), "{ended:?}");
    assert!(ended[0].lines[3].contains(&format!(";{port};")), "{ended:?}");
    // Ranks by hand: who serves is the launcher's first process all the same.
    let ended = Mpiexec::start(2, properly, &[("REVERSED", "1"), ("RINGWORLD_JOB", "mine")]).end();
    for (rank, ended) in ended.iter().rev().enumerate() {
        assert!(ended.output.contains(&format!("rank {rank} of 2")), "{ended:?}");
    }
    assert!(first_words(&ended[0].lines).contains(&"put"), "{ended:?}");
    // A world of one asks nobody.
    for ended in Mpiexec::start(2, properly, &[("RINGWORLD_WORLD_SIZE", "1")]).end() {
        assert!(ended.output.contains("rank 0 of 1"), "{ended:?}");
        assert_eq!(ended.lines, ["end"]);
    }
}

#[test]
fn worlds_after_the_first_meet_where_that_did() {
    for ended in Mpiexec::start(2, properly, &[("WORLDS", "3")]).end() {
        assert_eq!(ended.status, Some(0), "{ended:?}");
        assert_eq!(ended.output.matches("of 2").count(), 3, "{ended:?}");
        assert_eq!(first_words(&ended.lines).iter().filter(|word| **word == "init").count(), 1);
    }
}

#[test]
fn what_a_rank_starts_does_not_inherit_the_descriptor() {
    for ended in Mpiexec::start(2, properly, &[("LOOK", "inherited")]).end() {
        assert!(ended.output.contains("a child has \"\""), "{ended:?}");
    }
}

#[test]
fn the_launcher_hears_of_the_world_only_once_it_has_formed() {
    // Rank 1 dies between the launcher's barrier and its word that it is ready.
    let ended = Mpiexec::start(2, properly, &[("DIE", "1"), ("RINGWORLD_TIMEOUT", "2s")]).end();
    assert_eq!((ended[0].status, ended[1].status), (Some(3), Some(9)), "{ended:?}");
    for ended in ended {
        assert!(!first_words(&ended.lines).contains(&"finalize"), "{ended:?}");
    }
}

#[test]
fn who_has_to_say_why_it_failed_is_not_gone_before() {
    // The launcher kills whoever closes the connection without a goodbye, and all others.
    fn wrong(rank: usize, line: &str, _: &str) -> Option<Reply> {
        (rank == 0 && line.contains("get_maxes")).then(|| says(b"cmd=maxes rc=1"))
    }
    let begin = Instant::now();
    let mpiexec = Mpiexec::start(2, wrong, &[("LINGER", "1"), ("RINGWORLD_TIMEOUT", "2s")]);
    let ended = mpiexec.end();
    assert!(ended[0].output.contains("error 1") && ended[0].output.contains("still here"), "{ended:?}");
    assert!(ended[1].output.contains("not all of the 2 ranks have come"), "{ended:?}");
    assert!(begin.elapsed() < Duration::from_secs(15));
}

/// A rank that hears this at this point says that, and ends at once.
fn refused(twist: Twist, expected: &str) {
    let begin = Instant::now();
    let ended = Mpiexec::start(2, twist, &[("RINGWORLD_TIMEOUT", "1s")]).end();
    let text = &ended.iter().find(|ended| ended.output.contains(expected));
    let ended = text.unwrap_or_else(|| panic!("nobody says {expected:?}: {ended:?}"));
    assert_eq!(ended.status, Some(3), "{ended:?}");
    assert!(ended.output.contains("set MASTER_NODE"), "{ended:?}");
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}

/// A line of exactly this.
fn says(text: &[u8]) -> Reply {
    Reply::Say([text, b"\n"].concat())
}

macro_rules! hostile {
    ($($name:ident: $command:literal => $reply:expr, $expected:literal;)*) => { $(
        #[test]
        fn $name() {
            fn twist(_: usize, line: &str, proper: &str) -> Option<Reply> {
                let answer: fn(&str) -> Reply = $reply;
                line.starts_with(concat!("cmd=", $command)).then(|| answer(proper))
            }
            refused(twist, $expected);
        }
    )* };
}

hostile! {
    a_launcher_that_has_gone: "init" => |_| Reply::Last(Vec::new()),
        "it no longer listens to this process";
    a_launcher_that_says_nothing: "init" => |_| Reply::Nothing,
        "no answer to \"cmd=init pmi_version=1 pmi_subversion=1\" within 1.0 s";
    a_launcher_that_ends_within_a_line: "init" => |proper| Reply::Last(proper[..9].into()),
        "within its answer, after \"cmd=respo\"";
    a_launcher_that_stops_within_a_line: "init" => |proper| Reply::Say(proper.into()),
        "half an answer to \"cmd=init";
    a_launcher_that_never_ends_a_line: "init" => |_| Reply::Say(vec![b'x'; 100_000]),
        "has more than 16384 bytes and no end";
    a_launcher_that_talks: "init" => |proper| Reply::Say(format!("{proper}\ncmd=more\n").into()),
        "more than it was asked for: \"cmd=more\\n\"";
    a_launcher_of_another_kind: "init" => |_| says(b"HTTP/1.1 400 Bad Request"),
        "heard \"HTTP/1.1 400 Bad Request\"";
    a_launcher_that_is_no_text: "init" => |_| says(b"cmd=\xff\xfe"),
        "expected cmd=response_to_init, heard";
    a_launcher_of_another_version: "init" => |_| says(b"cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0"),
        "it speaks PMI-2";
    a_launcher_that_refuses: "init" => |_| says(b"cmd=response_to_init rc=-1 msg=no"),
        "response_to_init with error -1, no";
    a_job_without_a_name: "get_my" => |_| says(b"cmd=my_kvsname rc=0"),
        "expected kvsname=";
    a_job_whose_name_has_no_end: "get_my" => |_| says(&[b"cmd=my_kvsname kvsname=", &[b'k'; 5000][..]].concat()),
        "at most 256 letters";
    a_job_whose_name_is_odd: "get_my" => |_| says("cmd=my_kvsname kvsname=käse".as_bytes()),
        "at most 256 letters";
    values_that_are_too_short: "get_maxes" => |_| says(b"cmd=maxes vallen_max=8"),
        "which is too short for an address";
    values_of_no_length: "get_maxes" => |_| says(b"cmd=maxes vallen_max=-8"),
        "vallen_max=NUMBER";
    a_value_that_is_not_taken: "put" => |_| says(b"cmd=put_result rc=-1 msg=duplicate_key"),
        "put_result with error -1, duplicate_key";
    a_barrier_that_fails: "barrier_in" => |_| says(b"cmd=barrier_out rc=1"),
        "barrier_out with error 1";
    a_value_that_nobody_has_put: "get " => |_| says(b"cmd=get_result rc=-1 msg=key_not_found value=unknown"),
        "get_result with error -1, key_not_found";
    a_value_of_somebody_elses: "get " => |_| says(b"cmd=get_result rc=0 value=10.0.0.1:80"),
        "where rank 0 serves, as 1;HOST;PORT;ADDRESSES";
}

#[test]
fn a_goodbye_that_is_not_heard_is_a_warning() {
    fn twist(_: usize, line: &str, _: &str) -> Option<Reply> {
        (line == "cmd=finalize").then(|| Reply::Last(Vec::new()))
    }
    for ended in Mpiexec::start(2, twist, &[]).end() {
        assert_eq!(ended.status, Some(0), "{ended:?}");
    }
}

#[test]
fn a_descriptor_that_is_not_the_launchers_is_left_alone() {
    let file = std::fs::File::open("/dev/null").unwrap();
    let datagrams = std::os::unix::net::UnixDatagram::unbound().unwrap();
    for (number, expected) in [
        ("777".to_string(), "descriptor 777, which PMI_FD names, is not the launcher's"),
        (file.as_raw_fd().to_string(), "is not the launcher's"),
        (datagrams.as_raw_fd().to_string(), "is not the launcher's"),
        ("-1".to_string(), "environment PMI_FD is \"-1\""),
        ("nine".to_string(), "environment PMI_FD is \"nine\""),
    ] {
        for ended in Mpiexec::start(2, properly, &[("PMI_FD", &number)]).end() {
            assert_eq!(ended.status, Some(3), "{number}: {ended:?}");
            assert!(ended.output.contains(expected) && ended.output.contains("MASTER_NODE"), "{ended:?}");
        }
    }
}
