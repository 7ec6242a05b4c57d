//! The elastic trainer while ranks are killed: it goes on, loses nothing, and learns as well.
//!
//! Real processes, killed by signal 9 at random, whoever serves the rendezvous included; for each killed one another is
//! started. In the end all have the same weights and the accuracy of a run in peace; `--check` has compared the whole
//! state of all ranks after each step. The long runs, which also print how long it takes to go on:
//!
//! ```text
//! cargo test -p ringworld-trainer --test elastic -- --ignored --nocapture
//! ```
//!
//! `RINGWORLD_TEST_KILLS` says how many kills (200), all in one job; `RINGWORLD_TEST_SEED` repeats their times and
//! victims. Of a long pause all is printed that was said meanwhile.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::{Duration, Instant};

use ringworld_tests::clock;
use ringworld_tests::job::Job;
use ringworld_tests::line::Line;
use ringworld_tests::proc;
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::random::Random;

const RANKS: usize = 4;

/// A pause that is told of.
const LONG: Duration = Duration::from_millis(300);

/// What is to happen in one run of the trainer.
struct Plan {
    transport: &'static str,
    kills: usize,
    epochs: u64,
    /// Milliseconds from one kill to the next.
    pauses: std::ops::Range<u64>,
    /// So that a short test has ranks of all kinds among its victims.
    first_victim_serves: bool,
    /// Not after so many epochs, but when all kills are done.
    until_the_last: bool,
}

/// A kill: when, and of whom.
struct Kill {
    at: u64,
    /// The generation in which the victim had made a step, if it had.
    generation: Option<u64>,
}

#[derive(Default)]
struct Outcome {
    kills: Vec<Kill>,
    /// From a kill of a rank to the first step of a generation without it.
    pauses: Vec<Duration>,
    /// Kills that another one followed before that step: their pauses are several in one.
    overtaken: usize,
    generations: u64,
}

impl Outcome {
    fn report(&mut self, name: &str) {
        self.pauses.sort();
        let at = |share: usize| self.pauses.get(self.pauses.len().saturating_sub(1) * share / 100).copied();
        let joining = self.kills.iter().filter(|kill| kill.generation.is_none()).count();
        println!(
            "{name}: {} kills ({joining} of ranks that had made no step yet, {} overtaken by the next), {} \
             generations; kill to the first step of the next generation: median {:?}, 90 % {:?}, worst {:?}",
            self.kills.len(),
            self.overtaken,
            self.generations,
            at(50).unwrap_or_default(),
            at(90).unwrap_or_default(),
            at(100).unwrap_or_default()
        );
    }
}

/// What a process has told of the first step of each generation. The summary has lines that begin alike.
fn steps(process: &Process) -> impl Iterator<Item = Line> {
    process.events("step").into_iter().filter(|line| line.value("generation").is_some())
}

/// The generation of the last step that a process has told of, and how many steps there were then.
fn last_step(process: &Process) -> Option<(u64, u64)> {
    steps(process).last().map(|line| (line.number("generation"), line.number("step")))
}

/// What was said between a kill and the next step, for a pause that wants an explanation.
fn tell_of(kill: &Kill, next: u64, alive: &[Process], dead: &[Process]) {
    let lines = alive.iter().chain(dead).flat_map(Process::lines);
    // When it was said, or else when it was read.
    let at = |line: &Line| line.value("at").and_then(|at| at.parse::<u64>().ok()).unwrap_or(line.read);
    let mut said: Vec<_> = lines
        .map(|line| (at(&line), line.text))
        .filter(|(at, _)| (kill.at.saturating_sub(LONG.as_nanos() as u64)..=next).contains(at))
        .collect();
    said.sort();
    println!("  a long pause after a kill in generation {:?}:", kill.generation);
    for (at, text) in said {
        println!("    {:+9.1} ms  {text}", (at as f64 - kill.at as f64) / 1e6);
    }
}

fn all(processes: &[Process]) -> String {
    processes.iter().map(Process::transcript).collect()
}

/// Runs the trainer to its end, and kills meanwhile.
///
/// # Panics
///
/// When a promise is not kept, with all that has been said.
fn run(plan: &Plan, random: &mut Random) -> Outcome {
    let epochs = plan.epochs.to_string();
    let end =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("end-{}-{}", plan.transport, std::process::id()));
    let _ = std::fs::remove_file(&end);
    let mut arguments = vec!["--elastic", "--check", "--events", "--epochs", &epochs];
    // However fast the machine is: to the end of the epoch after the last kill.
    if plan.until_the_last {
        arguments.extend(["--until", end.to_str().unwrap()]);
    }
    let job = Job::new(env!("CARGO_BIN_EXE_trainer"), RANKS)
        .with("RINGWORLD_ELASTIC", Some("1"))
        .with("RINGWORLD_LOG", Some("warn,ringworld_bootstrap=debug,ringworld::world=debug"))
        .with("RINGWORLD_TRANSPORT", Some(plan.transport));
    let mut alive = job.start_ranks(RANKS, &arguments);
    let mut dead: Vec<Process> = Vec::new();
    let mut outcome = Outcome::default();
    for process in &alive {
        process.wait_event("step");
    }
    // 23 steps in an epoch; the last ones are made in peace, by whoever is there.
    let enough = plan.epochs * 23 * 8 / 10;
    while outcome.kills.len() < plan.kills {
        let pause = plan.pauses.start + random.below(plan.pauses.end - plan.pauses.start);
        std::thread::sleep(Duration::from_millis(pause));
        if !plan.until_the_last && alive.iter().filter_map(last_step).any(|(_, step)| step > enough) {
            break;
        }
        for process in &mut alive {
            assert!(process.ended().is_none(), "a rank has ended by itself: {}", process.transcript());
        }
        let drawn = random.below(RANKS as u64) as usize;
        let victim = if plan.first_victim_serves && dead.is_empty() { 0 } else { drawn };
        let generation = last_step(&alive[victim]).map(|(generation, _)| generation);
        let at = alive[victim].kill();
        outcome.kills.push(Kill { at, generation });
        let another = job.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
        dead.push(std::mem::replace(&mut alive[victim], another));
    }
    let last = Instant::now();
    if plan.until_the_last {
        // Those who were started last are to take part.
        alive.iter().for_each(|process| drop(process.wait_events("step", 1, PATIENCE * 3)));
        std::fs::write(&end, "").unwrap();
    }
    // As long as steps are made it may take.
    let (mut seen, mut since) = (0, Instant::now());
    while alive.iter_mut().any(|process| process.ended().is_none()) {
        let told = alive.iter().map(|process| process.lines().len()).sum();
        if told != seen {
            (seen, since) = (told, Instant::now());
        }
        assert!(since.elapsed() < PATIENCE * 3, "it hangs:\n{}{}", all(&alive), all(&dead));
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("  {} kills, ended {:.1} s after the last", outcome.kills.len(), last.elapsed().as_secs_f64());

    for process in &mut alive {
        let end = process.wait_end();
        assert_eq!(end.code, Some(0), "{}\n{}", process.transcript(), all(&dead));
    }
    for process in &mut dead {
        assert_eq!(process.wait_end().signal, Some(9), "{}", process.transcript());
    }
    let done: Vec<_> = alive.iter().map(|process| process.wait_event("done")).collect();
    let digests: Vec<_> = done.iter().map(|line| line.value("digest").unwrap().to_owned()).collect();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    for line in &done {
        assert!(line.number("correct") * 100 >= line.number("tested") * 95, "{}", line.text);
        match plan.until_the_last {
            true => assert!(line.number("step").is_multiple_of(23), "{}", line.text),
            false => assert_eq!(line.number("step"), plan.epochs * 23),
        }
        assert_eq!(line.number("size"), RANKS as u64, "{}", line.text);
    }
    let pids: Vec<u32> = alive.iter().chain(&dead).map(Process::pid).collect();
    proc::wait_gone(&pids, Duration::from_secs(1));

    let told: Vec<(u64, u64)> = alive
        .iter()
        .chain(&dead)
        .flat_map(steps)
        .map(|line| (line.number("generation"), line.number("at")))
        .collect();
    outcome.generations = told.iter().map(|(generation, _)| generation + 1).max().unwrap_or(0);
    for kill in &outcome.kills {
        let Some(generation) = kill.generation else { continue };
        let next = told.iter().filter(|(number, at)| *number > generation && *at > kill.at);
        let next = next.map(|(_, at)| *at).min();
        let next = next.unwrap_or_else(|| panic!("{}", all(&alive)));
        let pause = clock::between(kill.at, next);
        if outcome.kills.iter().any(|other| (kill.at + 1..next).contains(&other.at)) {
            outcome.overtaken += 1;
            continue;
        }
        if pause > LONG {
            tell_of(kill, next, &alive, &dead);
        }
        outcome.pauses.push(pause);
    }
    outcome
}

#[test]
fn it_goes_on_when_ranks_are_killed_and_learns_as_well() {
    let mut random = Random::new("elastic");
    let plan = Plan {
        transport: "tcp",
        kills: 4,
        epochs: 150,
        pauses: 300..800,
        first_victim_serves: true,
        until_the_last: false,
    };
    let mut outcome = run(&plan, &mut random);
    outcome.report("tcp");
    assert!(!outcome.kills.is_empty());
}

#[test]
fn a_world_grows_from_2_to_8_and_shrinks_to_3_while_it_trains() {
    let arguments = ["--elastic", "--check", "--events", "--epochs", "400"];
    let job = Job::new(env!("CARGO_BIN_EXE_trainer"), 2)
        .with("RINGWORLD_ELASTIC", Some("1"))
        .with("RINGWORLD_TRANSPORT", Some("tcp"));
    let mut ranks = job.start_ranks(2, &arguments);
    ranks[0].wait_event("step");
    ranks.extend((0..6).map(|_| job.start(&[("RINGWORLD_REJOIN", "1")], &arguments)));
    // All have made a step together.
    let together = |rank: &Process, size: u64| {
        let since = Instant::now();
        while !steps(rank).any(|line| line.number("size") == size) {
            assert!(since.elapsed() < PATIENCE, "never {size}: {}", rank.transcript());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    ranks.iter().for_each(|rank| together(rank, 8));
    // The one that serves and leads among them.
    let (stay, leave): (Vec<_>, Vec<_>) =
        ranks.iter_mut().enumerate().partition(|(place, _)| [1, 4, 6].contains(place));
    let (mut stay, mut leave): (Vec<_>, Vec<_>) =
        (stay.into_iter().map(|(_, rank)| rank).collect(), leave.into_iter().map(|(_, rank)| rank).collect());
    for rank in &mut leave {
        rank.signal(rustix::process::Signal::TERM);
    }
    for rank in &mut leave {
        rank.wait_event("leaving");
        rank.succeeds();
    }
    stay.iter().for_each(|rank| together(rank, 3));
    let mut digests = Vec::new();
    for rank in &mut stay {
        // As long as it takes beside other tests.
        assert_eq!(rank.wait_end_within(PATIENCE * 6).code, Some(0), "{}", rank.transcript());
        let done = rank.wait_event("done");
        assert_eq!((done.number("size"), done.number("step")), (3, 400 * 23), "{}", done.text);
        assert!(done.number("correct") * 100 >= done.number("tested") * 95, "{}", done.text);
        digests.push(done.value("digest").unwrap().to_owned());
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "{digests:?}");
}

#[test]
fn all_leave_at_once_and_none_waits_for_another() {
    let arguments = ["--elastic", "--check", "--events", "--epochs", "100000"];
    let job = Job::new(env!("CARGO_BIN_EXE_trainer"), 3).with("RINGWORLD_ELASTIC", Some("1"));
    let mut ranks = job.start_ranks(3, &arguments);
    for rank in &ranks {
        rank.wait_event("step");
    }
    let begun = Instant::now();
    ranks.iter_mut().for_each(|rank| rank.signal(rustix::process::Signal::TERM));
    ranks.iter_mut().for_each(Process::succeeds);
    // The one of them that the others saw leave first may have been alone; nobody waits for `recover_timeout`.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_full_world_passes_over_who_waits_at_its_door() {
    let arguments = ["--elastic", "--check", "--events", "--epochs", "100"];
    let job = Job::new(env!("CARGO_BIN_EXE_trainer"), 2)
        .with("RINGWORLD_ELASTIC", Some("1"))
        .with("RINGWORLD_MAX_RANKS", Some("2"))
        .with("RINGWORLD_TRANSPORT", Some("tcp"));
    let mut ranks = job.start_ranks(2, &arguments);
    ranks[0].wait_event("step");
    let waiting = job.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
    for rank in &mut ranks {
        assert_eq!(rank.wait_end_within(PATIENCE * 4).code, Some(0), "{}", rank.transcript());
        let done = rank.wait_event("done");
        assert_eq!((done.number("generation"), done.number("size")), (0, 2), "{}", done.text);
    }
    assert!(waiting.events("entered").is_empty(), "{}", waiting.transcript());
}

fn long(name: &str, transport: &'static str) {
    let kills = std::env::var("RINGWORLD_TEST_KILLS").ok().map_or(200, |text| text.parse().unwrap());
    let mut random = Random::new(name);
    let pauses = 300..2_000;
    let plan =
        Plan { transport, kills, epochs: 20, pauses, first_victim_serves: false, until_the_last: true };
    run(&plan, &mut random).report(name);
}

#[test]
#[ignore = "minutes: as many kills as RINGWORLD_TEST_KILLS says, 200 unless given"]
fn many_kills_over_tcp() {
    long("tcp", "tcp");
}

#[test]
#[ignore = "minutes: as many kills as RINGWORLD_TEST_KILLS says, 200 unless given"]
fn many_kills_over_shared_memory() {
    long("shared memory", "shm,tcp");
}
