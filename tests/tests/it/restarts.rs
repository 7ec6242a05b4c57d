//! `ringworld run --restarts`: worlds that go on, and whose launcher starts the dead again.
//!
//! What the launcher decides is tested there, with scripts. Here are worlds, whose numbers are checked by their ranks.

use std::time::{Duration, Instant};

use ringworld_tests::job::clean;
use ringworld_tests::line::Line;
use ringworld_tests::proc;
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::random::Random;
use rustix::process::{Pid, Signal, kill_process};

use super::programs::{LAUNCH, MEMBER};

/// A job of so many ranks, with these options of the launcher and arguments of the program.
fn launched(size: usize, options: &[&str], arguments: &[&str]) -> Process {
    let mut command = clean(LAUNCH);
    command.args(["run", "-n", &size.to_string(), "--tag-output"]).args(options);
    command.args(["--", MEMBER]).args(arguments);
    command.env("RINGWORLD_RECOVER_TIMEOUT", "20s").env("RINGWORLD_TIMEOUT", "20s");
    Process::start("launch", command)
}

/// The same on two hosts of two ranks each, which are this one, reached by a command that stands in for ssh.
fn launched_on_hosts(options: &[&str], arguments: &[&str]) -> Process {
    let mut command = clean(LAUNCH);
    command.args(["run", "--hosts", "a:2,b:2", "--rsh", "env AT={host}", "--tag-output"]).args(options);
    command.args(["--", MEMBER]).args(arguments);
    command.env("RINGWORLD_RECOVER_TIMEOUT", "20s").env("RINGWORLD_TIMEOUT", "20s");
    Process::start("launch", command)
}

/// Those lines of the job that have the word, each with the place of its rank among the launcher's.
fn said(job: &Process, event: &str) -> Vec<(usize, Line)> {
    let place = |line: &Line| {
        let (place, text) = line.text.strip_prefix('[')?.split_once("] ")?;
        let line = Line { text: text.to_owned(), ..line.clone() };
        line.is(event).then_some((place.parse().ok()?, line))
    };
    job.lines().iter().filter_map(place).collect()
}

/// Waits for such a line that fits.
fn wait(job: &Process, event: &str, fits: impl Fn(usize, &Line) -> bool) -> Line {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some((_, line)) = said(job, event).into_iter().find(|(place, line)| fits(*place, line)) {
            return line;
        }
        assert!(Instant::now() < until, "no such {event}\n{}", job.transcript());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pid(line: &Line) -> Pid {
    Pid::from_raw(i32::try_from(line.number("pid")).unwrap()).unwrap()
}

/// The process that the rank of this place is now, once it is in a world of so many and has made a step there.
fn settled(job: &Process, place: usize, size: usize, not: Option<Pid>) -> Pid {
    let line = wait(job, "step", |other, line| {
        other == place && line.number("size") == size as u64 && Some(pid(line)) != not
    });
    pid(&line)
}

/// Ends well, with the same numbers everywhere, nothing left, and so many restarts.
fn ends_well(job: &mut Process, ranks: usize, restarts: usize) {
    job.succeeds();
    let mut ends: Vec<_> = said(job, "done");
    assert_eq!(ends.len(), ranks, "{}", job.transcript());
    ends.dedup_by_key(|(_, line)| (line.number("step"), line.value("digest").unwrap().to_owned()));
    assert_eq!(ends.len(), 1, "{ends:?}");
    let told = job.lines().iter().filter(|line| line.text.contains("; starting it again")).count();
    assert_eq!(told, restarts, "{}", job.transcript());
    let pids: Vec<u32> = said(job, "entered").iter().map(|(_, line)| line.number("pid") as u32).collect();
    proc::wait_gone(&pids, Duration::from_secs(1));
}

#[test]
fn every_rank_in_turn_is_killed_and_comes_back() {
    let mut job = launched(4, &["--restarts", "4", "--min-ranks", "3"], &["--steps", "1200", "--pause", "2"]);
    for place in 0..4 {
        let victim = settled(&job, place, 4, None);
        kill_process(victim, Signal::KILL).unwrap();
        settled(&job, place, 4, Some(victim));
    }
    ends_well(&mut job, 4, 4);
}

#[test]
fn two_that_are_killed_at_once_come_back() {
    let mut job = launched(5, &["--restarts", "2"], &["--steps", "800", "--pause", "2"]);
    let victims = [0, 3].map(|place| settled(&job, place, 5, None));
    victims.iter().for_each(|victim| kill_process(*victim, Signal::KILL).unwrap());
    settled(&job, 0, 5, Some(victims[0]));
    settled(&job, 3, 5, Some(victims[1]));
    ends_well(&mut job, 5, 2);
}

#[test]
fn a_rank_that_dies_before_the_world_has_formed_is_replaced() {
    let mut command = clean(LAUNCH);
    let body = format!("[ $LOCAL_RANK = 2 ] && [ -z $RINGWORLD_REJOIN ] && exit 3; exec {MEMBER} --steps 50");
    command.args(["run", "-n", "3", "--tag-output", "--restarts", "1", "--", "sh", "-c", &body]);
    let mut job = Process::start("launch", command);
    ends_well(&mut job, 3, 1);
}

#[test]
fn a_world_goes_on_without_those_that_are_not_started_again() {
    let mut job = launched(4, &["--min-ranks", "2"], &["--steps", "600", "--pause", "2"]);
    kill_process(settled(&job, 0, 4, None), Signal::KILL).unwrap();
    kill_process(settled(&job, 2, 3, None), Signal::KILL).unwrap();
    ends_well(&mut job, 2, 0);
    assert!(
        job.lines().iter().any(|line| line.text.ends_with("; 2 of 4 ranks go on")),
        "{}",
        job.transcript()
    );
}

#[test]
fn a_job_ends_once_too_few_are_left() {
    let mut job =
        launched(4, &["--restarts", "1", "--min-ranks", "3"], &["--steps", "100000", "--pause", "2"]);
    let first = settled(&job, 0, 4, None);
    kill_process(first, Signal::KILL).unwrap();
    settled(&job, 0, 4, Some(first));
    kill_process(settled(&job, 1, 4, None), Signal::KILL).unwrap();
    kill_process(settled(&job, 2, 3, None), Signal::KILL).unwrap();
    job.ends_with(137);
    let pids: Vec<u32> = said(&job, "entered").iter().map(|(_, line)| line.number("pid") as u32).collect();
    proc::wait_gone(&pids, Duration::from_secs(1));
}

#[test]
fn every_rank_of_two_hosts_is_killed_and_comes_back() {
    let mut job =
        launched_on_hosts(&["--restarts", "4", "--min-ranks", "3"], &["--steps", "1200", "--pause", "2"]);
    for place in 0..4 {
        let victim = settled(&job, place, 4, None);
        kill_process(victim, Signal::KILL).unwrap();
        settled(&job, place, 4, Some(victim));
    }
    ends_well(&mut job, 4, 4);
}

#[test]
fn a_world_of_two_hosts_goes_on_without_one_that_is_lost() {
    let mut job =
        launched_on_hosts(&["--restarts", "4", "--min-ranks", "2"], &["--steps", "900", "--pause", "2"]);
    let victim = settled(&job, 3, 4, None);
    let helper = proc::parent(u32::try_from(victim.as_raw_pid()).unwrap());
    kill_process(Pid::from_raw(i32::try_from(helper).unwrap()).unwrap(), Signal::KILL).unwrap();
    settled(&job, 0, 2, None);
    ends_well(&mut job, 2, 0);
}

#[test]
fn who_comes_when_all_have_finished_is_told_so_at_once() {
    // The second is killed while they work, and comes again when the first has finished alone.
    let mut command = clean(LAUNCH);
    let flag = format!("{}/finished-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let _ = std::fs::remove_file(&flag);
    let body = format!(
        "if [ $RINGWORLD_REJOIN ]; then until [ -e {flag} ]; do sleep 0.02; done; exec {MEMBER} --steps 300; fi
         {MEMBER} --steps 300 --pause 5 && : > {flag}"
    );
    command.args([
        "run",
        "-n",
        "2",
        "--tag-output",
        "--restarts",
        "1",
        "--min-ranks",
        "1",
        "--",
        "sh",
        "-c",
        &body,
    ]);
    command.env("RINGWORLD_RECOVER_TIMEOUT", "20s").env("RINGWORLD_TIMEOUT", "20s");
    let mut job = Process::start("launch", command);
    kill_process(settled(&job, 1, 2, None), Signal::KILL).unwrap();
    let begun = Instant::now();
    let ended = job.wait_text("the world has ended");
    assert!(ended.text.contains("no generation follows on generation"), "{}", ended.text);
    job.succeeds();
    let _ = std::fs::remove_file(flag);
    // Not only when RINGWORLD_TIMEOUT is over; the rest is what the first has still to do.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn nothing_outlives_the_launcher_that_decides_not_even_a_recovery() {
    let mut random = Random::new("arbiter");
    for _ in 0..4 {
        let mut job = launched(4, &["--restarts", "9"], &["--steps", "100000", "--pause", "2"]);
        let victim = settled(&job, 1, 4, None);
        kill_process(victim, Signal::KILL).unwrap();
        std::thread::sleep(Duration::from_millis(random.below(40)));
        job.signal(Signal::KILL);
        assert_eq!(job.wait_end().signal, Some(9));
        let pids: Vec<u32> =
            said(&job, "entered").iter().map(|(_, line)| line.number("pid") as u32).collect();
        proc::wait_gone(&pids, Duration::from_secs(5));
    }
}
