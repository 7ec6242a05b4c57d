//! The `ringworld` command: `run` starts ranks, here or on several hosts, and takes them all down together,
//! `info` explains what a rank started here would choose, `check` tries out every link of a job before it starts,
//! `status` says what a running job does, `trace` what one has done, `bench` measures, `simulate` and `explain` show
//! collectives without any network, `mpi`, `cc` and `c++` are for programs that are made for MPI.
//!
//! ```text
//!  ringworld run -n 4 -- prog          one process, one poll loop, no busy waiting
//!    ├─ rendezvous   serves the master for a job on this host (own thread)
//!    ├─ guard        ends the ranks' process groups should the launcher be killed with -9
//!    ├─ exec-rank 0 → prog             same pid before and after: asks the kernel to be killed
//!    ├─ exec-rank 1 → prog             with its parent, then becomes the program
//!    └─ …                              each rank leads its own process group
//!
//!  ringworld run --hosts a:2,b:2 -- prog
//!    ├─ rendezvous, guard              as above
//!    ├─ ssh a ringworld run-host       a launcher that does as it is told, over its standard input,
//!    │    ├─ guard                     and says over its output what its ranks write and how they end
//!    │    ├─ exec-rank 0 → prog
//!    │    └─ exec-rank 1 → prog
//!    └─ ssh b ringworld run-host …
//! ```
//!
//! Who decides and who acts are apart: `run::supervisor` decides from events and times alone,
//! `run::environment` and `hosts` are pure functions, `run::output` cuts bytes into lines;
//! `run::processes` owns the processes and pipes, `run::hosts` the connections, `run::job` waits for either.
//! Nothing of `run` knows messages or collectives; `bench` and `info` use the same public surface as any program,
//! `check` measures pairs of ranks one by one, and only `simulate` and `explain` look at schedules.
//!
//! Exit status of `run`: that of the first rank that failed (128 + signal when a signal killed it),
//! 0 when all succeed, 124 when `--timeout` passed, 128 + signal when the launcher was told to end,
//! 127 and 126 when the program is missing or cannot be executed, 2 for a wrong command line,
//! 1 when the system refused something. With `--restarts` or `--min-ranks` a failure that was mended, or that the job
//! bears, does not count.

#![forbid(unsafe_code)]

mod bench;
mod check;
mod cli;
mod exit;
mod explain;
mod hosts;
mod info;
mod mpi;
mod network;
mod picture;
mod progress;
mod run;
mod signals;
mod simulate;
mod status;
mod style;
mod trace;
mod units;

use clap::CommandFactory as _;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// Runs the command line of this process and returns its exit status.
///
/// `run` and `bench` start this same executable again (as `exec-rank`, `guard` and `run-host`), so a program that
/// calls this function must do so before anything else and leave its arguments alone.
#[must_use]
pub fn main() -> ExitCode {
    // The two internal roles take raw bytes and must start fast: 200 ranks pass through here.
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == run::EXEC_RANK => return run::exec_rank(arguments).into(),
        Some(first) if first == run::GUARD => return run::guard(arguments).into(),
        Some(first) if first == run::RUN_HOST => return run::run_host(arguments).into(),
        _ => {}
    }
    let command = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli.command,
        Err(error) => {
            return match error.print().and_then(|()| std::io::stdout().flush()) {
                // A closed standard output (`ringworld --help | head -1`) is no failure.
                Err(lost) if !error.use_stderr() && lost.kind() != ErrorKind::BrokenPipe => {
                    failed("", style::unwritable(lost))
                }
                _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
            };
        }
    };
    // Each of them may write files.
    signals::refuse_long_files();
    match command {
        cli::Command::Run(options) => run::run(&options).into(),
        cli::Command::Info(options) => info::info(&options).into(),
        cli::Command::Status(options) => status::status(&options).into(),
        cli::Command::Trace(options) => trace::trace(&options).into(),
        cli::Command::Bench(options) => bench::bench(&options).into(),
        cli::Command::Check(options) => check::check(&options).into(),
        cli::Command::Simulate(options) => simulate::simulate(&options).into(),
        cli::Command::Explain(options) => explain::explain(&options).into(),
        cli::Command::Mpi(options) => mpi::mpi(&options).into(),
        cli::Command::Cc(options) => mpi::compiler::compile(mpi::compiler::C, &options).into(),
        cli::Command::Cxx(options) => mpi::compiler::compile(mpi::compiler::CXX, &options).into(),
        cli::Command::Completions(options) => {
            let mut text = Vec::new();
            clap_complete::generate(options.shell, &mut cli::Cli::command(), "ringworld", &mut text);
            match style::out(&String::from_utf8_lossy(&text)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => failed("completions", failure),
            }
        }
    }
}

fn failed(command: &str, failure: exit::Failure) -> ExitCode {
    style::err(command, &failure.message);
    failure.status.into()
}
