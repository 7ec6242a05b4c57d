//! Many small worlds, one after the other, each with its ranks as threads of this process.
//!
//! Says `world` when one begins, `finding` for whatever is wrong with it, and `done`. A world that hangs is the last of
//! its process; a crash is seen by whoever started it.

use std::any::Any;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringworld::World;
use ringworld_tests::port::Port;

use super::judge::judge;
use super::play::{Canaries, ON_PURPOSE, Shared, play};
use super::script::{Act, Fate, Leave, Mode, Plan};
use crate::round::Finding;
use crate::watch::{end_with_parent, flat, live_at_most, say};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Each world's seed
    #[arg(long, value_delimiter = ',')]
    seeds: Vec<u64>,
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Seconds that a world may take
    #[arg(long)]
    patience: u64,
}

/// The most descriptors and threads that a leaked operation keeps.
const LEAKED: (usize, usize) = (16, 1);

/// A process in which a world hangs ends with this.
pub(crate) const HANGS: i32 = 98;

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    end_with_parent();
    let patience = Duration::from_secs(arguments.patience);
    live_at_most(Duration::from_secs(300) + patience * 2);
    quiet_panics();
    let stop = Arc::<AtomicBool>::default();
    let canary = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || keep_canaries(&stop)
    });
    let usual = usage();
    let mut leaking = 0;
    for seed in &arguments.seeds {
        let plan = Plan::draw(*seed, arguments.mode);
        say("world", &format!("seed={seed} text={}", plan.mode.name()));
        for Finding { class, detail } in one(*seed, &plan, patience) {
            say("finding", &format!("seed={seed} text={} | {}", flat(&class), flat(&detail)));
        }
        let leaks = |act: &&Act| matches!(act, Act::Start { fate: Fate::Forget, .. });
        leaking += plan.scripts.iter().flat_map(|script| &script.acts).filter(leaks).count();
        say("done", &format!("seed={seed}"));
    }
    // What was leaked on purpose keeps an engine of its world.
    let usual = (usual.0 + leaking * LEAKED.0, usual.1 + leaking * LEAKED.1);
    if let Err(now) = settled(usual) {
        let text = format!(
            "{} descriptors and {} threads, {} and {} at most are usual; the threads: {}",
            now.0,
            now.1,
            usual.0,
            usual.1,
            threads()
        );
        say("finding", &format!("seed=0 text=descriptors or threads are left over | {text}"));
    }
    stop.store(true, Ordering::Relaxed);
    if let Ok(Some(touched)) = canary.join() {
        say("finding", &format!("seed=0 text=memory was written after it was freed | {touched}"));
    }
    ExitCode::SUCCESS
}

/// Panics on purpose shall not fill the output.
fn quiet_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !said(info.payload()).contains(ON_PURPOSE) {
            usual(info);
        }
    }));
}

/// What a panic says.
fn said(panic: &dyn Any) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default()
}

/// Plays one world; does not return when it hangs.
fn one(seed: u64, plan: &Plan, patience: Duration) -> Vec<Finding> {
    let size = plan.scripts.len();
    let port = Port::free();
    let shared: Vec<Shared> = (0..size).map(|_| Shared::default()).collect();
    let ranks: Vec<_> = (0..size)
        .map(|rank| {
            let (shared, script) = (shared[rank].clone(), plan.scripts[rank].clone());
            let mut builder = World::builder().master_node("127.0.0.1").master_port(port.number());
            builder = builder.world_size(size).rank(rank);
            for (key, value) in &plan.settings {
                builder = builder.set(*key, *value);
            }
            std::thread::spawn(move || -> Result<Canaries, String> {
                shared.with(|report| report.stage = "joining".into());
                let world = builder.build().map_err(|error| error.to_string())?;
                Ok(play(world, &script, &shared))
            })
        })
        .collect();
    let start = Instant::now();
    while !ranks.iter().all(std::thread::JoinHandle::is_finished) {
        if start.elapsed() > patience {
            let stage = |(rank, shared): (usize, &Shared)| format!("rank {rank}: {}", shared.get().stage);
            let stages: Vec<String> = shared.iter().enumerate().map(stage).collect();
            let text = format!("hang | after {patience:?} {}", stages.join("; "));
            say("finding", &format!("seed={seed} text={}", flat(&text)));
            say("done", &format!("seed={seed}"));
            std::process::exit(HANGS);
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    let mut findings = Vec::new();
    let mut canaries = Vec::new();
    for (rank, outcome) in ranks.into_iter().map(std::thread::JoinHandle::join).enumerate() {
        match outcome {
            Ok(Ok(kept)) => canaries.push((rank, kept)),
            Ok(Err(text)) => findings.push(Finding::new("no world", format!("rank {rank}: {text}"))),
            Err(panic) => {
                let text = said(&*panic);
                let meant = |act: &Act| matches!(act, Act::Panic | Act::Scope { leave: Leave::Panic, .. });
                if !text.contains(ON_PURPOSE) || !plan.scripts[rank].acts.iter().any(meant) {
                    findings.push(Finding::new("a call panicked", format!("rank {rank}: {text}")));
                }
            }
        }
    }
    for (rank, kept) in &canaries {
        if let Some(touched) = kept.touched() {
            findings.push(Finding::new(
                "memory was written after it was freed",
                format!("rank {rank}: {touched}"),
            ));
        }
    }
    let reports: Vec<_> = shared.iter().map(Shared::get).collect();
    findings.extend(judge(plan, &reports, false));
    findings
}

/// Takes the places of what other threads free, all the time, and looks whether somebody writes there.
fn keep_canaries(stop: &AtomicBool) -> Option<String> {
    let mut first = None;
    while !stop.load(Ordering::Relaxed) {
        let mut canaries = Canaries::default();
        for bytes in [1 << 20, 524_288, 400_000, 300_000, 70_000, 5_000, 256] {
            canaries.settle(bytes);
        }
        std::thread::sleep(Duration::from_micros(500));
        first = first.or(canaries.touched());
    }
    first
}

/// Descriptors and threads of this process.
fn usage() -> (usize, usize) {
    let count = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
    (count("/proc/self/fd"), count("/proc/self/task"))
}

/// The names of this process's threads.
fn threads() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let mut names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
    names.sort();
    names.join(", ")
}

/// Waits until both have come back to what is usual, for some threads of a world end a little later than it; the error
/// is what they are instead.
fn settled(usual: (usize, usize)) -> Result<(usize, usize), (usize, usize)> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let now = usage();
        if now.0 <= usual.0 && now.1 <= usual.1 {
            return Ok(now);
        }
        if Instant::now() > until {
            return Err(now);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
