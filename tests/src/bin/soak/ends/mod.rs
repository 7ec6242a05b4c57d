//! Worlds that end in every disorderly way that safe code can write: as threads of one process, for their number, and
//! as processes, for the ends that only those have.

pub(crate) mod alone;
pub(crate) mod judge;
pub(crate) mod play;
pub(crate) mod script;
pub(crate) mod worlds;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ringworld_tests::job::{Job, clean};
use ringworld_tests::line::Line;
use ringworld_tests::process::{End, Process};

use crate::round::{Finding, Frame, Outcome};
use crate::watch;
use judge::{Manner, judge, manner};
use play::{Met, Report};
use script::{Last, Mode, Plan, Script};

/// So many worlds share a process.
pub(crate) const BATCH: u64 = 50;

/// How the C library is to treat memory, in turns. With the first, everything longer than a page is unmapped when it is
/// freed, so that any use of it afterwards is a crash. With the second all threads share one heap, where what one frees
/// another takes, and freed bytes are overwritten at once.
const MEMORY: [&[(&str, &str)]; 2] = [
    &[("MALLOC_MMAP_THRESHOLD_", "4096"), ("MALLOC_MMAP_MAX_", "1000000"), ("MALLOC_TOP_PAD_", "0")],
    &[("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "33554432"), ("MALLOC_PERTURB_", "219")],
];

/// Runs worlds of these seeds, each in a thread per rank; not all when the time is over.
pub(crate) fn run(seeds: &[u64], frame: &Frame<'_>) -> Vec<Outcome> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let mut outcomes = Vec::new();
    while outcomes.len() < seeds.len() && !watch::interrupted() {
        if !outcomes.is_empty() && frame.until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        let memory = MEMORY[TURN.fetch_add(1, Ordering::Relaxed) % MEMORY.len()];
        let played = batch(&seeds[outcomes.len()..], memory, frame);
        if played.is_empty() {
            break;
        }
        outcomes.extend(played);
    }
    outcomes
}

/// Runs one process until its end, and says what became of each world that it began.
fn batch(seeds: &[u64], memory: &[(&str, &str)], frame: &Frame<'_>) -> Vec<Outcome> {
    let mut command = clean(watch::myself());
    command.envs(memory.iter().copied());
    let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
    command.args(["worlds", "--seeds", &list.join(","), "--patience", &frame.patience.as_secs().to_string()]);
    if let Some(mode) = frame.mode.and_then(Mode::named) {
        command.args(["--mode", &mode.name()]);
    }
    let mut all = [Process::start("worlds", command)];
    // As long as it goes on from world to world; each is bounded by the process itself.
    let mut news = (0, Instant::now());
    let bound = frame.patience * 2 + Duration::from_secs(10);
    watch::wait(Duration::from_secs(3600), || {
        let lines = all[0].lines().len();
        if lines != news.0 {
            news = (lines, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(10));
        all[0].ended().is_some() || news.1.elapsed() > bound
    });
    let end = watch::ends(&mut all, Duration::from_millis(1))[0];
    let lines = all[0].lines();
    let mut outcomes: Vec<Outcome> = Vec::new();
    for line in &lines {
        if line.is("world") {
            let seed = line.number("seed");
            let mode = line.value("text").unwrap_or_default().to_owned();
            let story = format!("{memory:?} {:?}", Plan::draw(seed, Mode::named(&mode)));
            outcomes.push(Outcome { seed, mode, findings: Vec::new(), story });
        } else if line.is("finding") {
            let text = line.value("text").unwrap_or_default();
            let (class, detail) = text.split_once(" | ").unwrap_or((text, ""));
            if let Some(outcome) = outcomes.last_mut() {
                outcome.findings.push(Finding::new(class, detail));
            }
        }
    }
    let done = lines.iter().filter(|line| line.is("done")).count();
    let Some(last) = outcomes.last_mut() else {
        let findings =
            vec![Finding::new("the process did nothing", format!("{end:?}\n{}", all[0].transcript()))];
        return vec![Outcome { seed: seeds[0], mode: "none".into(), findings, story: String::new() }];
    };
    let bad = match end {
        None => Some(("hang of the process".to_owned(), "it was ended".to_owned())),
        Some(End { signal: Some(signal), .. }) => Some((format!("crash by signal {signal}"), String::new())),
        Some(End { code: Some(0 | worlds::HANGS), .. }) => None,
        Some(end) => Some(("the process failed".to_owned(), format!("{end:?}"))),
    };
    // An orderly end has its own finding already.
    if let Some((class, detail)) = bad {
        let errors: Vec<String> =
            lines.iter().filter(|line| line.error).map(|line| line.text.clone()).collect();
        let where_ = if done < seeds.len() { "" } else { "after the last world; " };
        last.findings.push(Finding::new(class, format!("{where_}{detail} {}", errors.join("\n  "))));
    }
    let panics = lines.iter().filter(|line| line.error && line.text.contains("panicked at"));
    for panic in panics {
        last.findings.push(Finding::new("a thread of the library panicked", panic.text.clone()));
    }
    outcomes
}

/// Runs one world of processes.
pub(crate) fn run_alone(seed: u64, frame: &Frame<'_>) -> Outcome {
    let mode = frame.mode.and_then(Mode::named);
    let plan = Plan::draw_for_processes(seed, mode);
    let size = plan.scripts.len();
    let myself = watch::myself();
    let job = Job::new(myself.to_str().expect("a path of text"), size);
    let seed_text = seed.to_string();
    let mut arguments = vec!["ending", "--seed", &seed_text];
    let name = mode.map(Mode::name);
    if let Some(name) = &name {
        arguments.extend(["--mode", name]);
    }
    let mut processes = job.start_ranks(size, &arguments);
    let ends = watch::ends(&mut processes, frame.patience);
    let mut findings = Vec::new();
    let (mut reports, mut stuck) = (Vec::new(), Vec::new());
    // It may have been the one that serves the rendezvous, and gone before all had heard of the world.
    let dies = plan.scripts.iter().any(|script| manner(script) != Manner::Order);
    for (rank, (process, end)) in processes.iter().zip(&ends).enumerate() {
        let lines = process.lines();
        let mut find = |class: &str, detail: String| {
            findings.push(Finding::new(class, format!("rank {rank}: {detail}")));
        };
        reports.push(report(&lines, &plan.scripts[rank]));
        let own = plan.scripts[rank].last == Last::Crash;
        match end {
            None => {
                let stage =
                    lines.iter().rev().find(|line| line.is("stage")).and_then(|line| line.value("text"));
                stuck.push(format!("rank {rank}: {}", stage.unwrap_or("joining")));
            }
            Some(End { signal: Some(signal), .. }) if !(own && *signal == 6) => {
                find(&format!("crash by signal {signal}"), process.transcript());
            }
            Some(_) => {}
        }
        for line in &lines {
            if line.is("refused") && !dies {
                find("no world", line.text.clone());
            } else if line.is("touched") {
                find("memory was written after it was freed", line.text.clone());
            } else if line.error && line.text.contains("panicked at") && !meant(&lines) {
                find("a call panicked", line.text.clone());
            }
        }
    }
    if !stuck.is_empty() {
        findings.push(Finding::new("hang", format!("after {:?} {}", frame.patience, stuck.join("; "))));
    }
    findings.extend(judge(&plan, &reports, true));
    let transcripts: String = processes.iter().map(Process::transcript).collect();
    Outcome { seed, mode: plan.mode.name(), findings, story: format!("{plan:?}\n{transcripts}") }
}

fn meant(lines: &[Line]) -> bool {
    lines.iter().any(|line| line.error && line.text.contains(play::ON_PURPOSE))
}

/// What a process said of itself.
fn report(lines: &[Line], script: &Script) -> Report {
    let text = |line: &Line| line.value("text").unwrap_or_default().to_owned();
    let met = |line: &Line| {
        let text = text(line);
        let (call, text) = text.split_once(" | ").unwrap_or(("", &text));
        Met {
            at: line.number("since"),
            call: call.to_owned(),
            variant: line.value("variant").unwrap_or_default().to_owned(),
            named: line.value("named").and_then(|rank| rank.parse().ok()),
            text: text.to_owned(),
        }
    };
    let leaving = lines.iter().find(|line| line.is("leaving")).map(|line| line.number("since"));
    Report {
        stage: String::new(),
        errors: lines.iter().filter(|line| line.is("met")).map(met).collect(),
        wrong: lines.iter().filter(|line| line.is("wrong")).map(text).collect(),
        // One that dies may not have had the time to say so.
        leaving: leaving.or((manner(script) != Manner::Order).then_some(0)),
        done: lines.iter().any(|line| line.is("over")),
    }
}
