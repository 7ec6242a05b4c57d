//! `ringworld run`: the ranks of this host, started and ended together.
//!
//! This file turns options into a job: it finds the program, opens the rendezvous and writes
//! each rank's environment (`rendezvous`, `environment`) and core (`cores`). What happens then is in `job` (processes,
//! pipes, signals), `supervisor` (decisions), `output`, `sink` and `input` (bytes), `shim` (the launcher's two small
//! roles).

mod complain;
mod cores;
mod descendants;
mod environment;
mod input;
mod job;
mod output;
mod rendezvous;
mod shim;
mod shortage;
mod sink;
mod supervisor;
mod tail;

use crate::cli::{BindTo, RunOptions, Stdin};
use crate::exit::{Failure, Status};
use complain::complain;
use environment::Rendezvous;
use job::{Job, JobSpec, RankSpec};
use output::Marks;
use ringworld_bootstrap::raise_descriptor_limit;
use rustix::process::Resource;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

pub(crate) use shim::{EXEC_RANK, GUARD, exec_rank, guard};

/// Runs the job to its end.
pub(crate) fn run(options: &RunOptions) -> Status {
    match try_run(options) {
        Ok(status) => status,
        Err(Failure { status, message }) => {
            complain(&message);
            status
        }
    }
}

fn try_run(options: &RunOptions) -> Result<Status, Failure> {
    environment::check(&options.env).map_err(Failure::usage)?;
    if let Stdin::Rank(rank) = options.stdin
        && rank >= options.n
    {
        let ranks = crate::units::counted(options.n, "rank");
        return Err(Failure::usage(format!(
            "there is no local rank {rank} for --stdin; {ranks} start here, from 0 on"
        )));
    }
    let path = options.env.iter().rev().find(|assignment| assignment.key == "PATH");
    let path = path.map(|assignment| OsString::from(&assignment.value)).or_else(|| std::env::var_os("PATH"));
    let found =
        find_program(options.program.first().map_or(OsStr::new(""), OsString::as_os_str), path.as_deref())?;
    let folder = options.wdir.as_deref().map(working_folder).transpose()?;
    let mut program = options.program.clone();
    if folder.is_some()
        && let Some(name) = program.first_mut()
    {
        // It is looked for from here, also where it is named by its way from here.
        *name = std::path::absolute(&found)
            .map_err(|error| Failure::system("cannot tell where this is", error))?
            .into();
    }
    let cores = match options.bind_to {
        BindTo::Core => cores::assign(options.n)?,
        BindTo::None => cores::unbound(options.n),
    };
    let nofile = raise_open_files();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();

    let libraries = if options.mpi { Some(library_path(options)?) } else { None };
    let (mut plan, witness) = rendezvous::open(options)?;
    plan.threads = threads(options);
    plan.folder.clone_from(&folder);
    let alone = matches!(plan.rendezvous, Rendezvous::Here { .. });
    let inherited: Vec<OsString> = std::env::vars_os().map(|(name, _)| name).collect();
    let ranks: Vec<RankSpec> = (0..options.n)
        .zip(cores)
        .map(|(local, cores)| RankSpec {
            // With several hosts, ranks are given out by the master; the launcher never learns them.
            label: if alone { local.to_string() } else { format!("{host}/{local}") },
            cores,
            environment: {
                let mut changes = plan.changes(local, inherited.iter().map(OsString::as_os_str));
                changes.extend(libraries.iter().map(|path| (LIBRARY_PATH.into(), Some(path.into()))));
                changes
            },
        })
        .collect();
    let files = match &options.output_dir {
        Some(folder) => files(folder, &ranks)?,
        None => Vec::new(),
    };
    let job = Job::start(JobSpec {
        files,
        program: &program,
        folder: folder.as_deref(),
        ranks,
        secret: plan.secret.take(),
        noun: if alone { "rank" } else { "local rank" },
        host: &host,
        marks: Marks { tag: options.tag_output, time: options.timestamp_output },
        grace: options.grace,
        timeout: options.timeout,
        stdin: options.stdin,
        nofile,
        witness,
    })?;
    job.wait()
}

/// How many threads each rank is to have: its share of the processors. One that is bound has processors of its own,
/// which libraries see themselves.
fn threads(options: &RunOptions) -> Option<usize> {
    let processors = std::thread::available_parallelism().ok()?.get();
    (options.bind_to == BindTo::None).then(|| (processors / options.n).max(1))
}

/// A file for each rank, empty.
fn files(folder: &Path, ranks: &[RankSpec]) -> Result<Vec<(String, File)>, Failure> {
    let failed = |path: &Path, error| Failure::system(format!("cannot make {}", path.display()), error);
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let file = |rank: &RankSpec| {
        // Ranks of several hosts may share a folder.
        let path = folder.join(format!("rank-{}.log", rank.label.replace('/', "-")));
        let file = File::create(&path).map_err(|error| failed(&path, error))?;
        Ok((path.display().to_string(), file))
    };
    ranks.iter().map(file).collect()
}

/// Where the ranks are to work.
fn working_folder(given: &Path) -> Result<PathBuf, Failure> {
    let shown = given.display();
    let folder = given.canonicalize().map_err(|error| {
        Failure::usage(format!("--wdir {shown}: {error}; give a folder that is there on this host"))
    })?;
    if !folder.is_dir() {
        return Err(Failure::usage(format!("--wdir {shown} is no folder")));
    }
    Ok(folder)
}

/// Where the system looks for libraries first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// That path for programs made for MPI: with the folder of our libraries in front.
fn library_path(options: &RunOptions) -> Result<String, Failure> {
    let given = options.env.iter().rev().find(|assignment| assignment.key == LIBRARY_PATH);
    let inherited = std::env::var(LIBRARY_PATH).ok();
    let path = given.map(|assignment| assignment.value.as_str()).or(inherited.as_deref());
    Ok(crate::mpi::in_front(&crate::mpi::folder()?, path))
}

/// Says so now and once, where each of 200 ranks would say it otherwise.
fn find_program(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Failure> {
    let shown = program.display();
    let direct = program.as_encoded_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = if direct {
        vec![PathBuf::from(program)]
    } else {
        let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
        std::env::split_paths(path).map(|folder| folder.join(program)).collect()
    };
    let is_file = |path: &&PathBuf| path.is_file();
    let executable =
        |path: &Path| path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    if let Some(found) = candidates.iter().filter(is_file).find(|path| executable(path)) {
        return Ok(found.clone());
    }
    let (status, message) = match candidates.iter().find(is_file) {
        Some(file) => {
            let file = file.display();
            (Status::NOT_EXECUTABLE, format!("{file} is not executable; `chmod +x {file}` makes it so"))
        }
        None if direct && Path::new(program).is_dir() => {
            (Status::NOT_EXECUTABLE, format!("{shown} is a folder, not a program"))
        }
        None if direct => (Status::NOT_FOUND, format!("there is no program {shown}")),
        None if Path::new(program).is_file() => {
            (Status::NOT_FOUND, format!("no {shown} in PATH; to start the one in this folder give ./{shown}"))
        }
        None => (Status::NOT_FOUND, format!("no {shown} in PATH; give the path of the program")),
    };
    Err(Failure { status, message })
}

/// Two pipes per rank may be more files than the usual limit allows. Returns the limit as it was.
fn raise_open_files() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // As far as it goes; if that is not enough, starting ranks says what is missing.
    let _ = raise_descriptor_limit(u64::MAX);
    limit.current.unwrap_or(u64::MAX)
}
