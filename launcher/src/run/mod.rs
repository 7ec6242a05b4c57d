//! `ringworld run`: ranks that are started and ended together, on this host or on several.
//!
//! This file turns options into a job: it opens the rendezvous and has the ranks started here (`parts`, `environment`,
//! `unheard`, `cores`, then `processes`) or on other hosts (`hosts`). What happens then is in `job` (signals, output),
//! `supervisor` and `restart` (decisions), `output`, `sink` and `input` (bytes), `shim` (the launcher's two small
//! roles).

mod complain;
mod cores;
mod crew;
mod descendants;
mod environment;
mod hosts;
mod input;
mod job;
mod output;
mod parts;
mod processes;
mod rendezvous;
mod restart;
mod shim;
mod shortage;
mod sink;
mod statistics;
mod supervisor;
mod tail;
mod unheard;

use crate::cli::{Assignment, Part, RunOptions, Stdin};
use crate::exit::{Failure, Status};
use crate::hosts::{Slots, alike};
use crate::trace::Collecting;
use complain::complain;
use crew::Crew as _;
use environment::Rendezvous;
use hosts::Hosts;
use job::Job;
use output::Marks;
use processes::{Processes, Spec, raise_open_files};
use statistics::Accounts;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Instant;
use supervisor::Supervisor;

pub(crate) use hosts::{RUN_HOST, run_host};
pub(crate) use shim::{EXEC_RANK, GUARD, exec_rank, guard};

/// Runs the job to its end.
pub(crate) fn run(options: &RunOptions) -> Status {
    match observed(options) {
        Ok((options, collecting, accounts)) => {
            let status = run_plain(&options);
            if let Some(accounts) = accounts {
                accounts.end();
            }
            if let Some(collecting) = collecting {
                collecting.end();
            }
            status
        }
        Err(Failure { status, message }) => {
            complain(&message);
            status
        }
    }
}

/// The same job, whose ranks know where to leave what is put together at the end.
fn observed(options: &RunOptions) -> Result<(RunOptions, Option<Collecting>, Option<Accounts>), Failure> {
    let mut options = options.clone();
    let collecting = options.trace.as_deref().map(Collecting::begin).transpose()?;
    let accounts = options.statistics.then(Accounts::begin).transpose()?;
    let folders = [
        ("RINGWORLD_TRACE", collecting.as_ref().map(Collecting::folder)),
        ("RINGWORLD_STATISTICS", accounts.as_ref().map(Accounts::folder)),
    ];
    for (key, folder) in folders {
        let Some(folder) = folder else { continue };
        let Some(value) = folder.to_str() else {
            return Err(Failure::usage(format!("{} is not UTF-8, as {key} must be", folder.display())));
        };
        for part in [&mut options.first].into_iter().chain(&mut options.more) {
            part.env.push(Assignment { key: key.into(), value: value.into() });
        }
    }
    Ok((options, collecting, accounts))
}

fn run_plain(options: &RunOptions) -> Status {
    let hosts = options.hosts.is_some() || options.hostfile.is_some();
    match if hosts { run_on_hosts(options) } else { run_here(options) } {
        Ok(status) => status,
        Err(Failure { status, message }) => {
            complain(&message);
            status
        }
    }
}

/// All parts of the job, in the order of their ranks.
fn parts(options: &RunOptions) -> Vec<Part> {
    [&options.first].into_iter().chain(&options.more).cloned().collect()
}

/// The part of each of so many ranks; the last part has those that are left.
fn part_of_each(parts: &[Part], ranks: usize) -> Vec<usize> {
    let counted =
        parts.iter().enumerate().flat_map(|(index, part)| std::iter::repeat_n(index, part.n.unwrap_or(1)));
    counted.chain(std::iter::repeat(parts.len().saturating_sub(1))).take(ranks).collect()
}

/// Refuses what cannot be meant; `ranks` start by this launcher.
fn check(options: &RunOptions, parts: &[Part], ranks: usize, noun: &str) -> Result<(), Failure> {
    for part in parts {
        environment::check(&part.env).map_err(Failure::usage)?;
    }
    if let Stdin::Rank(rank) = options.stdin
        && rank >= ranks
    {
        let ranks = crate::units::counted(ranks, "rank");
        return Err(Failure::usage(format!(
            "there is no {noun} {rank} for --stdin; {ranks} start here, from 0 on"
        )));
    }
    Ok(())
}

fn marks(options: &RunOptions) -> Marks {
    Marks { tag: options.tag_output, time: options.timestamp_output }
}

fn run_here(options: &RunOptions) -> Result<Status, Failure> {
    let parts = parts(options);
    if parts.len() > 1 && options.master.is_some() {
        return Err(Failure::usage(
            "parts with `:` between them are started by one launcher: use --hosts in place of --master and --nnodes",
        ));
    }
    let count: usize = parts.iter().map(|part| part.n.unwrap_or(1)).sum();
    check(options, &parts, count, "local rank")?;
    let of = part_of_each(&parts, count);
    let nofile = raise_open_files();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();

    let (mut plan, witness) = rendezvous::open(options, count)?;
    let mending = match plan.elastic {
        Some(_) => {
            Some(restart::Limits::new(options, count, &rendezvous::settings(&plan, &options.first.env)?))
        }
        None => None,
    };
    plan.threads = parts::threads(count, options.bind_to);
    let ranks = parts::prepare(&parts, &of, &plan, options.bind_to)?;
    let alone = matches!(plan.rendezvous, Rendezvous::Here { .. });
    // With several launchers, ranks are given out by the master; they never learn them.
    let label = |local: usize| if alone { local.to_string() } else { format!("{host}/{local}") };
    let labels: Vec<String> = (0..count).map(label).collect();
    let files = files(options.output_dir.as_deref(), &labels)?;
    let job = Job::open(labels, marks(options), files)?;
    let noun = if alone { "rank" } else { "local rank" };
    let input = io::stdin();
    // Without restarts the secret is handed over once, and who looks into this process finds it no more.
    let again = mending.is_some_and(|limits| limits.restarts > 0);
    let mut processes = Processes::start(Spec {
        ranks,
        secret: plan.secret.take(),
        noun,
        stdin: options.stdin,
        input: input.as_fd(),
        nofile,
        again,
    })?;
    let names = (0..count).map(|rank| processes.name(rank)).collect();
    let now = Instant::now();
    let mut supervisor = Supervisor::new(names, options.grace, options.timeout, now);
    if let Some(limits) = mending {
        supervisor = supervisor.mending(limits, now);
    }
    job.run(&mut processes, supervisor, &witness)
}

fn run_on_hosts(options: &RunOptions) -> Result<Status, Failure> {
    let slots = match (&options.hosts, &options.hostfile) {
        (Some(slots), _) => slots.clone(),
        (None, Some(file)) => hosts_of_file(file)?,
        (None, None) => Slots::default(),
    };
    let parts = parts(options);
    let asked = match &parts[..] {
        [only] => only.n,
        several => Some(several.iter().map(|part| part.n.unwrap_or(1)).sum()),
    };
    let shares = slots.share(asked).map_err(Failure::usage)?;
    let count: usize = shares.iter().map(|share| share.count).sum();
    check(options, &parts, count, "rank")?;
    let of = part_of_each(&parts, count);
    let nofile = raise_open_files();

    let (rendezvous, witness) = rendezvous::open_for_hosts(options, count, alike(&shares))?;
    let labels: Vec<String> = (0..count).map(|rank| rank.to_string()).collect();
    let files = files(options.output_dir.as_deref(), &labels)?;
    let mut job = Job::open(labels, marks(options), files)?;
    let (mut hosts, ended) = Hosts::start(&mut job, options, shares, &of, &rendezvous, nofile)?;
    // The hosts have the secret now; the master keeps its own.
    let mending = rendezvous.mending;
    drop(rendezvous);
    let names = (0..count).map(|rank| hosts.name(rank)).collect();
    let now = Instant::now();
    let mut supervisor = Supervisor::new(names, options.grace, options.timeout, now);
    if let Some(limits) = mending {
        supervisor = supervisor.mending(limits, now);
    }
    supervisor.ended(Instant::now(), ended);
    job.run(&mut hosts, supervisor, &witness)
}

/// What a host file lists.
fn hosts_of_file(path: &Path) -> Result<Slots, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read the host file {shown}: {error}")))?;
    Slots::of_file(&text).map_err(|(line, why)| match line {
        0 => Failure::usage(format!("{shown}: {why}")),
        line => Failure::usage(format!("{shown}:{line}: {why}")),
    })
}

/// A file for each rank, empty, if they are to have some.
fn files(folder: Option<&Path>, labels: &[String]) -> Result<Vec<(String, File)>, Failure> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let failed = |path: &Path, error| Failure::system(format!("cannot make {}", path.display()), error);
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let file = |label: &String| {
        // Ranks of several hosts may share a folder.
        let path = folder.join(format!("rank-{}.log", label.replace('/', "-")));
        let file = File::create(&path).map_err(|error| failed(&path, error))?;
        Ok((path.display().to_string(), file))
    };
    labels.iter().map(file).collect()
}
