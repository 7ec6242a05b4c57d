//! Traces of processes: whole jobs, ranks that are killed, folders that cannot be written or are shared, and rings that
//! are full.

use std::path::Path;
use std::time::Duration;

use ringworld_tests::job::{Job, clean, formed};
use ringworld_tests::process::Process;
use serde_json::Value;

use super::programs::{LAUNCH, PROBE, REFUSED};

/// What `ringworld trace` prints, and its exit status.
fn trace(arguments: &[&str]) -> (String, i32) {
    let output = clean(LAUNCH).arg("trace").args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (text, output.status.code().unwrap())
}

fn summary(folder: &Path) -> Value {
    let (text, code) = trace(&["--json", folder.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// A job whose ranks leave their traces in the folder.
fn traced(size: usize, folder: &Path) -> Job {
    Job::new(PROBE, size).with("RINGWORLD_TRACE", folder.to_str())
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_rank_that_comes_late_is_seen_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, merged) = (folder.path().join("traces"), folder.path().join("job.json"));
    let picture = folder.path().join("job.svg");
    let job = traced(3, &traces);
    let mut processes = job.start_ranks(3, &["sleep", "--rank", "2", "--ms", "900"]);
    processes.iter_mut().for_each(Process::succeeds);
    assert_eq!(files(&traces).len(), 3, "one for each rank, and nothing else");

    let [from, to, svg] = [&traces, &merged, &picture].map(|path| path.to_str().unwrap());
    let (text, code) = trace(&[from, "--output", to, "--svg", svg]);
    assert_eq!(code, 0, "{text}");
    for part in [
        "3 ranks, ",
        "barrier",
        "all_reduce",
        "rank 0 for rank 2: ",
        " mostly barrier at tests/src/bin/probe.rs:",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("have gone") && !text.contains("not ended"), "{text}");
    let debts = summary(&traces)["debts"].as_array().unwrap().clone();
    for waiter in [0, 1] {
        let debt = debts.iter().find(|debt| debt["waiter"] == waiter && debt["late"] == 2).unwrap();
        let time = Duration::from_nanos(debt["time"].as_u64().unwrap());
        assert!(time > Duration::from_millis(500) && time < Duration::from_secs(20), "{time:?}");
    }
    let whole: Value = serde_json::from_slice(&std::fs::read(&merged).unwrap()).unwrap();
    let events = whole["traceEvents"].as_array().unwrap();
    let barriers = events.iter().filter(|event| event["name"] == "barrier" && event["ph"] == "X");
    assert_eq!(barriers.count(), 3);
    assert!(events.iter().any(|event| event["args"]["algorithm"].is_string()), "which algorithm");
    assert!(
        events.iter().any(|event| event["name"].as_str().unwrap().starts_with("waits for ")),
        "{events:#?}"
    );
    assert!(events.iter().any(|event| event["ph"] == "s") && events.iter().any(|event| event["ph"] == "f"));
    assert!(std::fs::read_to_string(&picture).unwrap().contains("rank 2 on "));
    // And the merged file says the same again.
    let (again, code) = trace(&[to]);
    assert_eq!(
        (code, again.lines().next()),
        (0, text.lines().find(|line| line.contains("3 ranks, "))),
        "{again}"
    );
}

#[test]
fn what_a_killed_rank_has_noted_survives_it() {
    let folder = tempfile::tempdir().unwrap();
    let job = traced(2, folder.path());
    let mut processes = job.start_ranks(2, &["recv"]);
    formed(&processes, 2);
    // Both go to sleep within milliseconds; the trace says when they have.
    let begun = std::time::Instant::now();
    let asleep = || {
        let text = trace(&["--json", folder.path().to_str().unwrap()]).0;
        serde_json::from_str::<Value>(&text)
            .is_ok_and(|summary| summary["ranks"].as_array().unwrap().len() == 2)
            && text.contains("\"lost\":0")
    };
    while !asleep() {
        assert!(begun.elapsed() < ringworld_tests::process::PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    processes[1].kill();
    for process in &mut processes {
        process.wait_end();
    }
    let (text, code) = trace(&[folder.path().to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("rank 1 has not ended: killed, or still at work"), "{text}");
    let merged = folder.path().join("job.json");
    let (text, code) = trace(&[folder.path().to_str().unwrap(), "-o", merged.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    let whole: Value = serde_json::from_slice(&std::fs::read(&merged).unwrap()).unwrap();
    let open =
        whole["traceEvents"].as_array().unwrap().iter().find(|event| {
            event["pid"] == 1 && event["args"]["in"] == "recv" && event["args"]["end"].is_string()
        });
    assert!(open.is_some(), "the receive in which it was killed: {whole:#}");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let job = traced(1, &folder.path().join("no/such"));
    let mut process = job.start(&[("RANK", "0")], &["meet"]);
    assert_eq!(process.wait_end().code, Some(REFUSED), "{}", process.transcript());
    let text = process.transcript();
    assert!(text.contains("no/such") && text.contains("RINGWORLD_TRACE"), "{text}");
    // A file cannot be a folder either.
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let mut process = traced(1, &file).start(&[("RANK", "0")], &["meet"]);
    assert_eq!(process.wait_end().code, Some(REFUSED), "{}", process.transcript());
    assert_eq!(std::fs::read(&file).unwrap(), b"x");
    // And what has no room is told before anything begins, and leaves nothing.
    let full = folder.path().join("full");
    let job = traced(1, &full).with("RINGWORLD_TRACE_SIZE", Some("900000G"));
    let mut process = job.start(&[("RANK", "0")], &["meet"]);
    assert_eq!(process.wait_end().code, Some(REFUSED), "{}", process.transcript());
    assert!(process.transcript().contains("RINGWORLD_TRACE_SIZE"), "{}", process.transcript());
    assert_eq!(files(&full), Vec::<String>::new());
}

#[test]
fn jobs_that_share_a_folder_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut processes = traced(2, folder.path()).start_ranks(2, &["meet"]);
        processes.iter_mut().for_each(Process::succeeds);
    }
    let files = files(folder.path());
    assert_eq!(files.len(), 4, "{files:?}");
    let place = folder.path().to_str().unwrap();
    let (text, code) = trace(&[place]);
    assert!(code == 2 && text.contains("traces of 2 worlds") && text.contains("--world"), "{text}");
    let world = files[0].split('-').next().unwrap();
    let (text, code) = trace(&[place, "--world", world]);
    assert!(code == 0 && text.contains("2 ranks, "), "{text}");
    let (text, code) = trace(&[place, "--world", "xyz"]);
    assert!(code == 2 && text.contains("no trace of a world xyz"), "{text}");
}

#[test]
fn a_full_ring_loses_the_oldest_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let job = traced(2, folder.path()).with("RINGWORLD_TRACE_SIZE", Some("96K"));
    let mut processes = job.start_ranks(2, &["all-reduce", "--elements", "4", "--iterations", "3000"]);
    processes.iter_mut().for_each(Process::succeeds);
    for file in files(folder.path()) {
        assert_eq!(std::fs::metadata(folder.path().join(&file)).unwrap().len(), 96 << 10, "{file}");
    }
    let summary = summary(folder.path());
    let lost = summary["ranks"][0]["lost"].as_u64().unwrap();
    assert!(lost > 3_000, "{lost}");
    let (text, _) = trace(&[folder.path().to_str().unwrap()]);
    assert!(text.contains("the oldest records of 2 ranks have gone"), "{text}");
}

#[test]
fn the_launcher_puts_a_job_together_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.json");
    let run = |program: &[&str]| {
        let output = clean(LAUNCH)
            .args(["run", "-n", "3", "--trace"])
            .arg(&file)
            .arg("--")
            .args(program)
            .output()
            .unwrap();
        (String::from_utf8(output.stderr).unwrap(), output.status.code())
    };
    let (text, code) = run(&[PROBE, "sleep", "--rank", "1", "--ms", "50"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("job.json") && text.contains("ui.perfetto.dev"), "{text}");
    assert_eq!(files(folder.path()), ["job.json"]);
    let whole: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(whole["otherData"]["ranks"].as_array().unwrap().len(), 3);
    // Of a program that joins no world there is none, and nothing is left behind.
    let (text, code) = run(&["true"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("no trace") && files(folder.path()).is_empty(),
        "{text} {:?}",
        files(folder.path())
    );
    // A path that cannot be is told before anything starts.
    let output = clean(LAUNCH).args(["run", "--trace", "/no/such/job.json", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_folder_of_a_launcher_with_the_same_number_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    // As it stays after a job that has left something on another host, or was killed.
    let line = format!(
        "mkdir job.json.$$.ranks && touch job.json.$$.ranks/mine && \
         exec {LAUNCH} run -n 1 --trace job.json -- {PROBE} meet"
    );
    let output = clean("sh").args(["-c", &line]).current_dir(&folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("the trace is in "), "{text}");
    let mut left = files(folder.path());
    left.sort();
    assert_eq!(left.len(), 2, "the trace, and what was there before: {left:?}");
    assert_eq!(files(&folder.path().join(&left[1])), ["mine"]);
}
