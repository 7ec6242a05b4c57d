//! Which round comes next, with which seed, and what all of them have found.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::rng::mix;
use crate::{ends, kills, long, watch};

/// What a round is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Kind {
    /// Ranks are killed amid checked operations
    Kills,
    /// Worlds of threads end in disorder
    Ends,
    /// Worlds of processes end in disorder
    Exits,
    /// Threads, crowds and communicators for long; memory is watched
    Long,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Kills, Self::Ends, Self::Exits, Self::Long];

    /// The share of the time, in parts.
    fn share(self) -> f64 {
        match self {
            Self::Kills | Self::Ends => 4.0,
            Self::Exits | Self::Long => 1.0,
        }
    }

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) rounds: Option<u64>,
    pub(crate) seed: u64,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) mode: Option<String>,
    /// One round's own seed, and how often.
    pub(crate) repeat: Option<(u64, u64)>,
    pub(crate) first: bool,
    pub(crate) verbose: bool,
    pub(crate) patience: Duration,
}

/// What is wrong, in a few words that are the same whenever it happens, and in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) class: String,
    pub(crate) detail: String,
}

impl Finding {
    pub(crate) fn new(class: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { class: class.into(), detail: detail.into() }
    }
}

/// What became of one round.
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) mode: String,
    pub(crate) findings: Vec<Finding>,
    /// What happened, for whoever looks into a finding.
    pub(crate) story: String,
}

/// How rounds of one kind are to be run.
pub(crate) struct Frame<'a> {
    pub(crate) mode: Option<&'a str>,
    pub(crate) patience: Duration,
    /// How long a long round takes.
    pub(crate) length: Duration,
    /// When no new round shall begin.
    pub(crate) until: Option<Instant>,
}

#[derive(Default)]
struct Tally {
    /// By mode.
    rounds: BTreeMap<String, u64>,
    spent: Duration,
    /// With their seeds.
    findings: BTreeMap<String, Vec<u64>>,
}

/// Runs rounds, and says what they found.
pub(crate) fn run(options: &Options) -> ExitCode {
    watch::end_on_signals();
    // A process that crashes shall leave no file behind.
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let start = Instant::now();
    if let Some((seed, times)) = options.repeat {
        let [kind] = options.kinds[..] else {
            println!("soak: --repeat needs the kind of the round: --only KIND");
            return ExitCode::from(2);
        };
        println!("soak: the {} round {seed}, {times} times", kind.name());
    } else {
        let kinds: Vec<String> = options.kinds.iter().map(|kind| kind.name()).collect();
        println!("soak: --seed {} of {}", options.seed, kinds.join(", "));
    }
    let mut tallies: BTreeMap<Kind, Tally> =
        options.kinds.iter().map(|kind| (*kind, Tally::default())).collect();
    let until = (options.rounds.is_none() && options.repeat.is_none()).then(|| start + options.time);
    while !watch::interrupted() && until.is_none_or(|until| Instant::now() < until) {
        let wanted = options.repeat.map_or(options.rounds, |(_, times)| Some(times));
        let done = |tally: &Tally| tally.rounds.values().sum::<u64>();
        let left = |tally: &Tally| wanted.map_or(u64::MAX, |wanted| wanted.saturating_sub(done(tally)));
        // The one that has had least of its share.
        let next = tallies.iter().filter(|(_, tally)| left(tally) > 0).min_by(|a, b| {
            let had = |(kind, tally): &(&Kind, &Tally)| tally.spent.as_secs_f64() / kind.share();
            had(a).total_cmp(&had(b))
        });
        let Some((&kind, tally)) = next else { break };
        let first = done(tally);
        let seed = |index| match options.repeat {
            Some((seed, _)) => seed,
            None => mix(mix(options.seed, kind as u64), index),
        };
        let batch = if kind == Kind::Ends { ends::BATCH.min(left(tally)) } else { 1 };
        let seeds: Vec<u64> = (first..first + batch).map(seed).collect();
        let frame = Frame {
            mode: options.mode.as_deref(),
            patience: options.patience,
            length: (options.time / 12).clamp(Duration::from_secs(3), Duration::from_secs(60)),
            until,
        };
        let began = Instant::now();
        let outcomes = match kind {
            Kind::Kills => vec![kills::run(seeds[0], &frame)],
            Kind::Ends => ends::run(&seeds, &frame),
            Kind::Exits => vec![ends::run_alone(seeds[0], &frame)],
            Kind::Long => vec![long::run(seeds[0], &frame)],
        };
        // What was cut short says nothing.
        if watch::interrupted() {
            break;
        }
        let tally = tallies.get_mut(&kind).expect("chosen among them");
        tally.spent += began.elapsed();
        for outcome in outcomes {
            tell(options, kind, &outcome);
            for finding in &outcome.findings {
                tally.findings.entry(finding.class.clone()).or_default().push(outcome.seed);
            }
            *tally.rounds.entry(outcome.mode).or_default() += 1;
        }
        if options.first && tallies.values().any(|tally| !tally.findings.is_empty()) {
            break;
        }
    }
    summary(&tallies, start.elapsed())
}

fn tell(options: &Options, kind: Kind, outcome: &Outcome) {
    if options.verbose {
        println!("{} {} {}: {}", kind.name(), outcome.mode, outcome.seed, outcome.story);
    } else if !outcome.findings.is_empty() {
        println!("\n{}", outcome.story);
    }
    for finding in &outcome.findings {
        println!("FAILED {} {}: {}\n  {}", kind.name(), outcome.mode, finding.class, finding.detail);
    }
    if !outcome.findings.is_empty() {
        let mode = options.mode.as_ref().map(|mode| format!(" --mode {mode}")).unwrap_or_default();
        println!(
            "  repeat it with: tests/soak/run --only {}{mode} --repeat {} --times 100",
            kind.name(),
            outcome.seed
        );
    }
}

fn summary(tallies: &BTreeMap<Kind, Tally>, took: Duration) -> ExitCode {
    println!();
    let mut bad = 0;
    for (kind, tally) in tallies {
        let rounds: u64 = tally.rounds.values().sum();
        let modes: Vec<String> =
            tally.rounds.iter().map(|(mode, rounds)| format!("{rounds} {mode}")).collect();
        println!(
            "{:<6} {rounds:>6} rounds in {:>5.1} s: {}",
            kind.name(),
            tally.spent.as_secs_f64(),
            modes.join(", ")
        );
        for (class, seeds) in &tally.findings {
            bad += seeds.len();
            let some: Vec<String> = seeds.iter().take(3).map(u64::to_string).collect();
            println!("  {:>5} x {class} (seed {})", seeds.len(), some.join(", "));
        }
    }
    let verdict = if bad > 0 { format!("{bad} findings") } else { "nothing found".to_owned() };
    let cut = if watch::interrupted() { ", interrupted" } else { "" };
    println!("soak: {verdict} in {:.0} s{cut}", took.as_secs_f64());
    if bad > 0 {
        ExitCode::FAILURE
    } else if watch::interrupted() {
        ExitCode::from(130)
    } else {
        ExitCode::SUCCESS
    }
}
