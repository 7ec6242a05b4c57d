//! What the failure detector promises: whoever dies, falls silent, panics or aborts is named to all.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Rank, finish, free_port, join, settings, spawn, split_server, world};
use ringworld_bootstrap::{ControlEvent, Fault, Master, MasterConfig, MasterHandle, Outcome, Report};

const SOON: Duration = Duration::from_secs(1);

/// A world whose master is no rank's, as under a launcher.
fn served_apart(size: usize) -> (MasterHandle, Vec<Rank>) {
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let master = Master::serve(listener, MasterConfig::new(size, &settings(port, size, &[]))).unwrap();
    let ranks = common::world_at(port, size, &[("master_external", "1")]);
    (master, ranks)
}

#[test]
fn a_rank_that_ends_without_goodbye_is_named_to_all_within_a_second() {
    let (server, mut others) = split_server(world(4, &[]));
    let dead = others.pop().unwrap();
    let rank = dead.session.rank;
    drop(dead);
    for survivor in others.iter().chain([&server]) {
        let cause = survivor.hears_death(rank, SOON);
        assert!(cause.contains("without finishing"), "{cause}");
    }
    others.push(server);
    finish(others);
}

#[test]
fn goodbye_is_not_death() {
    let (server, mut others) = split_server(world(3, &[]));
    let leaver = others.pop().unwrap();
    let rank = leaver.session.rank;
    finish(vec![leaver]);
    for survivor in others.iter().chain([&server]) {
        survivor.hears(SOON, |event| *event == ControlEvent::PeerFinished { rank });
        assert!(survivor.events.recv_timeout(Duration::from_millis(300)).is_err());
    }
    others.push(server);
    finish(others);
}

#[test]
fn the_serving_process_stays_until_all_have_left() {
    let (server, mut others) = split_server(world(3, &[]));
    let begin = Instant::now();
    let server = std::thread::spawn(move || finish(vec![server]));
    let last = others.pop().unwrap();
    finish(others);
    std::thread::sleep(Duration::from_millis(400));
    assert!(!server.is_finished(), "one rank is still there");
    drop(last);
    server.join().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(3));
}

#[test]
fn abort_is_heard_by_all_before_it_returns() {
    let ranks = world(4, &[]);
    ranks[2].session.abort(42, "no more data".into());
    for survivor in [0, 1, 3] {
        let event = ranks[survivor].hears(SOON, |event| matches!(event, ControlEvent::Abort { .. }));
        assert_eq!(event, ControlEvent::Abort { rank: 2, code: 42, reason: "no more data".into() });
    }
    for rank in ranks {
        rank.session.leave();
    }
}

#[test]
fn a_panic_is_told_with_its_message() {
    let ranks = world(3, &[]);
    ranks[1].session.panicked("index out of bounds");
    for survivor in [0, 2] {
        let cause = ranks[survivor].hears_death(1, SOON);
        assert!(cause.contains("panicked: index out of bounds"), "{cause}");
    }
}

#[test]
fn what_a_rank_leaves_behind_is_told_to_those_who_ask_before_and_after() {
    // Who serves stays until the others have left.
    let (server, mut ranks) = split_server(world(3, &[]));
    let leaving = ranks.pop().unwrap();
    ranks.push(server);
    let rank = leaving.session.rank;
    ranks[0].session.ask_left(rank);
    std::thread::sleep(Duration::from_millis(50));
    leaving.session.leave_behind(vec![7; 100_000]);
    leaving.session.finish();
    for asking in [0, 1] {
        if asking == 1 {
            ranks[1].session.ask_left(rank);
        }
        let event = ranks[asking].hears(SOON, |event| matches!(event, ControlEvent::Left { .. }));
        assert_eq!(event, ControlEvent::Left { rank, left: vec![7; 16 << 10] }, "bounded");
    }
    ranks[0].session.ask_left(9);
    finish(ranks);
}

#[test]
fn what_a_rank_tells_another_arrives_there_alone_in_order_and_before_its_end() {
    let (server, mut ranks) = split_server(world(3, &[]));
    let speaking = ranks.pop().unwrap();
    let rank = speaking.session.rank;
    ranks.push(server);
    let longest = vec![5; 16 << 10];
    assert_eq!(speaking.session.tell(ranks[0].session.rank, vec![0; (16 << 10) + 1]), Err(16 << 10));
    speaking.session.tell(99, b"nobody".to_vec()).unwrap();
    for words in [b"first".to_vec(), longest.clone(), b"last".to_vec()] {
        speaking.session.tell(ranks[0].session.rank, words).unwrap();
    }
    speaking.session.finish();
    let mut heard = Vec::new();
    loop {
        match ranks[0].hears(SOON, |_| true) {
            ControlEvent::Told { rank: from, words } => {
                assert_eq!(from, rank);
                heard.push(words);
            }
            other => {
                assert_eq!(other, ControlEvent::PeerFinished { rank });
                break;
            }
        }
    }
    assert_eq!(heard, [b"first".to_vec(), longest, b"last".to_vec()]);
    assert_eq!(ranks[1].hears(SOON, |_| true), ControlEvent::PeerFinished { rank }, "told to one rank alone");
    finish(ranks);
}

#[test]
fn a_fault_is_told_to_all_others() {
    let ranks = world(3, &[]);
    let fault = Fault::TimedOut {
        waiter: "rank 0, in barrier()".into(),
        after: Duration::from_millis(1500),
        waiting_for: "rank 1".into(),
    };
    ranks[0].session.report(Report::Fault(fault.clone()));
    for other in [1, 2] {
        let event = ranks[other].hears(SOON, |event| matches!(event, ControlEvent::Fault { .. }));
        assert_eq!(event, ControlEvent::Fault { rank: 0, fault: fault.clone() });
    }
    finish(ranks);
}

#[test]
fn a_peer_lost_by_the_data_plane_is_declared_down_for_all_and_knows_it() {
    let (server, others) = split_server(world(4, &[]));
    let (suspect, reporter) = (&others[0], &others[1]);
    let lost = Report::PeerLost { rank: suspect.session.rank, cause: "connection reset".into() };
    reporter.session.report(lost);
    for survivor in [&server, reporter, &others[2]] {
        let (cause, link) = survivor.hears_death_and_link(suspect.session.rank, SOON);
        assert!(!link, "those who are told have lost nothing, and the reporter knows");
        let by = format!("rank {} on", reporter.session.rank);
        assert!(cause.contains("connection reset") && cause.contains(&by), "{cause}");
    }
    // Which of the two ends is at fault nobody knows: to the one that is given up, the other is out of reach.
    let (cause, link) = suspect.hears_death_and_link(reporter.session.rank, SOON);
    assert!(
        link && cause.contains("lost its connection to this rank") && cause.contains("connection reset"),
        "{cause}"
    );
    let event = suspect.hears(SOON, |event| matches!(event, ControlEvent::MasterLost { .. }));
    assert!(matches!(&event, ControlEvent::MasterLost { cause } if cause.contains("given this rank up")));
    assert!(suspect.events.try_recv().is_err(), "the serving rank is not blamed");
}

#[test]
fn a_rank_that_leaves_because_it_lost_a_peer_is_not_blamed_first() {
    let (server, others) = split_server(world(4, &[]));
    let (suspect, reporter) = (others[0].session.rank, others[1].session.rank);
    others[1].session.report(Report::PeerLost { rank: suspect, cause: "connection reset".into() });
    others[1].session.leave();
    for survivor in [&server, &others[2]] {
        let first = survivor.hears(SOON, |event| matches!(event, ControlEvent::PeerDown { .. }));
        assert!(matches!(first, ControlEvent::PeerDown { rank, .. } if rank == suspect), "{first:?}");
        assert!(survivor.hears_death(reporter, SOON).contains("left without finishing"));
    }
}

#[test]
fn a_rank_that_gives_the_world_up_because_it_lost_a_peer_is_not_blamed_first() {
    let (master, ranks) = served_apart(3);
    ranks[0].session.report(Report::PeerLost { rank: 1, cause: "connection reset".into() });
    ranks[0].session.abort(42, "a peer is lost".into());
    let first = ranks[2].hears(SOON, |event| matches!(event, ControlEvent::PeerDown { .. }));
    assert!(matches!(first, ControlEvent::PeerDown { rank: 1, .. }), "{first:?}");
    ranks[2].hears(SOON, |event| matches!(event, ControlEvent::Abort { rank: 0, code: 42, .. }));
    assert_eq!(master.aborted(), Some((0, 42)));
    let left: Vec<usize> = master.departures().iter().map(|left| left.rank).collect();
    assert_eq!(left, [1, 0]);
    for rank in ranks {
        rank.session.leave();
    }
}

#[test]
fn a_peer_that_really_died_is_named_once_with_the_better_cause() {
    let (server, mut others) = split_server(world(3, &[]));
    let dead = others.pop().unwrap();
    let rank = dead.session.rank;
    others[0].session.report(Report::PeerLost { rank, cause: "connection reset".into() });
    drop(dead);
    for survivor in [&server, &others[0]] {
        assert!(survivor.hears_death(rank, SOON).contains("without finishing"));
        assert!(survivor.events.recv_timeout(Duration::from_millis(400)).is_err(), "only once");
    }
    others.push(server);
    finish(others);
}

#[test]
fn a_master_that_goes_away_is_noticed_by_all() {
    let (master, ranks) = served_apart(3);
    master.shutdown();
    for rank in &ranks {
        rank.hears(SOON, |event| matches!(event, ControlEvent::MasterLost { .. }));
        // Nothing hangs without a master.
        rank.session.abort(1, "x".into());
        rank.session.finish();
    }
}

#[test]
fn the_outcome_tells_a_launcher_how_the_world_ended() {
    let run = |end: &dyn Fn(Vec<Rank>)| {
        let (master, ranks) = served_apart(2);
        end(ranks);
        master.wait(Some(Duration::from_secs(5))).expect("it ends")
    };
    assert_eq!(run(&finish), Outcome::Finished);
    let outcome = run(&|ranks| ranks[1].session.abort(3, "why".into()));
    assert_eq!(outcome, Outcome::Aborted { rank: 1, code: 3, reason: "why".into() });
    let outcome = run(&|mut ranks| {
        drop(ranks.remove(1));
        ranks[0].hears_death(1, SOON);
        finish(ranks);
    });
    assert!(matches!(outcome, Outcome::Died(dead) if dead.len() == 1 && dead[0].0 == 1));
}

#[test]
fn who_has_left_is_known_in_order_while_the_world_goes_on() {
    let (master, mut ranks) = served_apart(3);
    finish(vec![ranks.remove(2)]);
    drop(ranks.remove(0));
    ranks[0].hears_death(0, SOON);
    let left = || master.departures().iter().map(|left| (left.rank, left.finished)).collect::<Vec<_>>();
    assert_eq!((left(), master.outcome()), (vec![(2, true), (0, false)], None));
    finish(ranks);
    master.wait(Some(Duration::from_secs(5))).expect("it ends");
    assert_eq!(left(), [(2, true), (0, false), (1, true)]);
}

#[test]
fn heartbeats_keep_a_quiet_world_alive() {
    // Longer than threads wait for a processor where much else is done: a rank whose heartbeat is late is silent.
    let (silence, longer) = (Duration::from_secs(2), Duration::from_secs(5));
    let bounded = format!("{}ms", silence.as_millis());
    let worlds = [bounded.as_str(), "none"].map(|silence| (silence, world(3, &[("peer_timeout", silence)])));
    std::thread::sleep(longer);
    for (silence, ranks) in worlds {
        let heard: Vec<_> = ranks.iter().flat_map(|rank| rank.events.try_iter()).collect();
        assert!(heard.is_empty(), "{silence}: {heard:?}");
        finish(ranks);
    }
}

fn disagreement() -> Fault {
    Fault::Mismatch { detail: "they disagree".into() }
}

/// What a child process of this test binary does: join, say so, and wait to be killed.
#[test]
fn child() {
    let Ok(port) = std::env::var("RINGWORLD_TEST_CHILD_PORT") else { return };
    let mut more = vec![("master_external", "1"), ("rank", "1"), ("peer_timeout", "700ms")];
    let parent = std::env::var("RINGWORLD_TEST_CHILD_PARENT");
    if let Ok(parent) = &parent {
        more.push(("parent_pid", parent));
    }
    let rank = join(&settings(port.parse().unwrap(), 2, &more), "child").unwrap();
    let event = rank.hears(Duration::from_secs(60), |_| true);
    // The parent's test looks at what a rank hears that was given up.
    if let Ok(path) = std::env::var("RINGWORLD_TEST_CHILD_SAYS") {
        std::fs::write(path, format!("{event:?}")).unwrap();
    }
    std::thread::sleep(Duration::from_secs(if parent.is_ok() { 60 } else { 0 }));
}

fn start_child(port: u16, more: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env("RINGWORLD_TEST_CHILD_PORT", port.to_string())
        .envs(more.iter().copied())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a child process of this test binary does: serve a world of three, say its last words, and be gone.
#[test]
fn child_that_serves() {
    let Ok(port) = std::env::var("RINGWORLD_TEST_SERVER_PORT") else { return };
    let rank = join(&settings(port.parse().unwrap(), 3, &[]), "server").unwrap();
    assert!(rank.session.serves());
    let says = std::env::var("RINGWORLD_TEST_SERVER_SAYS").unwrap();
    match says.as_str() {
        "fault" => rank.session.report(Report::Fault(disagreement())),
        "loss" => {
            let lost = (rank.session.rank + 1) % 3;
            rank.session.report(Report::PeerLost { rank: lost, cause: "connection reset".into() });
        }
        "abort" => rank.session.abort(7, "no more data".into()),
        other => panic!("{other}"),
    }
    if says != "abort" {
        rank.session.leave();
    }
    // As a process ends, with all its threads wherever they are.
    std::process::exit(0);
}

/// Threads that take the processors away at the worst moments.
struct Burners(Arc<AtomicBool>, Vec<std::thread::JoinHandle<()>>);

impl Burners {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let burn = |over: Arc<AtomicBool>| while !over.load(Ordering::Relaxed) {};
        let count = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        let threads =
            (0..count).map(|_| Arc::clone(&over)).map(|over| std::thread::spawn(move || burn(over)));
        Self(Arc::clone(&over), threads.collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        for thread in self.1.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The serving process says `last` and ends: what each of the others hears first must be `wanted`.
fn first_words_of_a_server_that_ends(last: &str, wanted: impl Fn(&ControlEvent) -> bool) {
    let _burners = Burners::start();
    for round in 0..40 {
        let port = free_port();
        let mut server = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_serves", "--nocapture"])
            .env("RINGWORLD_TEST_SERVER_PORT", port.to_string())
            .env("RINGWORLD_TEST_SERVER_SAYS", last)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let external = [("master_external", "1")];
        let joining = [0, 1].map(|index| spawn(settings(port, 3, &external), &format!("joiner {index}")));
        for rank in joining.map(|thread| thread.join().unwrap().unwrap()) {
            let first = rank.hears(Duration::from_secs(10), |_| true);
            assert!(wanted(&first), "round {round}: rank {} heard {first:?} first", rank.session.rank);
        }
        assert!(server.wait().unwrap().success());
    }
}

#[test]
fn a_fault_that_the_serving_process_found_is_heard_before_its_end() {
    first_words_of_a_server_that_ends(
        "fault",
        |first| matches!(first, ControlEvent::Fault { fault, .. } if *fault == disagreement()),
    );
}

#[test]
fn a_loss_that_the_serving_process_saw_is_heard_before_its_end() {
    first_words_of_a_server_that_ends("loss", |first| match first {
        // The first is what the rank hears that was lost, the second what the other does.
        ControlEvent::MasterLost { cause } | ControlEvent::PeerDown { cause, .. } => {
            cause.contains("connection reset")
        }
        _ => false,
    });
}

#[test]
fn an_abort_of_the_serving_process_is_heard_before_its_end() {
    first_words_of_a_server_that_ends("abort", |first| matches!(first, ControlEvent::Abort { code: 7, .. }));
}

fn with_child(more: &[(&str, &str)]) -> (Rank, Child, MasterHandle) {
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let quick = settings(port, 2, &[("peer_timeout", "700ms"), ("master_external", "1")]);
    let master = Master::serve(listener, MasterConfig::new(2, &quick)).unwrap();
    let child = start_child(port, more);
    (join(&quick, "parent").unwrap(), child, master)
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn a_process_killed_with_9_is_named_within_a_second() {
    let (rank, mut child, _master) = with_child(&[]);
    child.kill().unwrap();
    let cause = rank.hears_death(1, SOON);
    assert!(cause.contains("ended") || cause.contains("lost"), "{cause}");
    child.wait().unwrap();
}

#[test]
fn a_process_that_stops_answering_is_named_after_the_timeout_and_learns_of_it() {
    let says = tempfile::NamedTempFile::new().unwrap();
    let (rank, mut child, _master) =
        with_child(&[("RINGWORLD_TEST_CHILD_SAYS", says.path().to_str().unwrap())]);
    signal(&child, rustix::process::Signal::STOP);
    let begin = Instant::now();
    let cause = rank.hears_death(1, Duration::from_secs(3));
    assert!(begin.elapsed() > Duration::from_millis(400), "silence is not death at once");
    assert!(cause.contains("silent for 0.7 s"), "{cause}");
    signal(&child, rustix::process::Signal::CONT);
    child.wait().unwrap();
    let heard = std::fs::read_to_string(says.path()).unwrap();
    assert!(heard.contains("MasterLost") && heard.contains("silent"), "{heard}");
}

#[test]
fn a_process_ends_when_its_parent_is_gone() {
    let mut parent = Command::new("sleep").arg("60").spawn().unwrap();
    let (rank, mut child, _master) = with_child(&[("RINGWORLD_TEST_CHILD_PARENT", &parent.id().to_string())]);
    parent.kill().unwrap();
    parent.wait().unwrap();
    let begin = Instant::now();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(begin.elapsed() < Duration::from_secs(3));
    rank.hears_death(1, SOON);
}
