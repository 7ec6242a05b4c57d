//! Several ranks on this machine, started one by one like from so many shells.
//!
//! The environment of the ranks holds nothing but what the job gives them, so that the variables of
//! whoever runs the tests play no part; but for `RINGWORLD_TEST_TRANSPORT`, the transport that all must use.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::line::Line;
use crate::port::Port;
use crate::proc;
use crate::process::{PATIENCE, Process};

/// A command that inherits nothing but where programs are found.
#[must_use]
pub fn clean(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env_clear();
    for kept in ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    if let Some(transport) = std::env::var_os("RINGWORLD_TEST_TRANSPORT") {
        command.env("RINGWORLD_TRANSPORT", transport);
    }
    // Ranks wait for one another no longer than a test may take.
    command.env("RINGWORLD_TIMEOUT", "25s");
    command
}

/// What all ranks of a job have in common.
#[derive(Debug)]
pub struct Job {
    program: String,
    port: Port,
    /// `None`: not even what all processes under test get.
    variables: Vec<(String, Option<String>)>,
}

impl Job {
    /// A job of `size` ranks of `program`, which meet on the loopback interface.
    #[must_use]
    pub fn new(program: &str, size: usize) -> Self {
        let port = Port::free();
        let job = Self { program: program.to_owned(), port, variables: Vec::new() };
        let port = job.port().to_string();
        job.with("MASTER_NODE", Some("127.0.0.1"))
            .with("MASTER_PORT", Some(&port))
            .with("WORLD_SIZE", Some(&size.to_string()))
    }

    /// Sets a variable for every rank, or takes it away.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<&str>) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.map(ToOwned::to_owned)));
        self
    }

    /// The port of the rendezvous.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The command of one rank, with more variables of its own.
    #[must_use]
    pub fn command(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
        self.dressed(clean(&self.program), variables, arguments)
    }

    /// Likewise, of a command that another place was found for, such as [`crate::host::Host::command`].
    #[must_use]
    pub fn dressed(&self, mut command: Command, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.envs(variables.iter().copied());
        command.args(arguments);
        command
    }

    /// Starts one process of the job.
    #[must_use]
    pub fn start(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Process {
        Process::start(format!("{variables:?} {arguments:?}"), self.command(variables, arguments))
    }

    /// Starts `size` processes with the ranks 0 to `size` - 1 given; process `i` is rank `i`. Any of them serves the
    /// rendezvous.
    #[must_use]
    pub fn start_ranks(&self, size: usize, arguments: &[&str]) -> Vec<Process> {
        (0..size).map(|rank| self.start_rank(rank, arguments)).collect()
    }

    /// Likewise, for tests in which it matters who serves: rank 0 does.
    #[must_use]
    pub fn start_ranks_served_by_the_first(&self, size: usize, arguments: &[&str]) -> Vec<Process> {
        let start = |rank| {
            let process = self.start_rank(rank, arguments);
            if rank == 0 {
                self.wait_served(&process);
            }
            process
        };
        (0..size).map(start).collect()
    }

    fn start_rank(&self, rank: usize, arguments: &[&str]) -> Process {
        self.start(&[("RANK", &rank.to_string())], arguments)
    }

    /// Waits until `process` serves the rendezvous, without connecting to it.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn wait_served(&self, process: &Process) {
        let (port, begun) = (self.port(), Instant::now());
        while !proc::listening(process.pid()).iter().any(|address| address.port() == port) {
            assert!(begun.elapsed() < PATIENCE, "nobody serves port {port}\n{}", process.transcript());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Checks that every rank has formed a world of `size`, and returns their lines by rank.
///
/// # Panics
///
/// When one has not.
pub fn formed(processes: &[Process], size: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = processes.iter().map(|process| process.wait_event("formed")).collect();
    lines.sort_by_key(Line::rank);
    let ranks: Vec<usize> = lines.iter().map(Line::rank).collect();
    assert_eq!(ranks, (0..size).collect::<Vec<_>>(), "the ranks are not 0 to {}", size - 1);
    assert!(lines.iter().all(|line| line.number("size") == size as u64), "{lines:?}");
    lines
}
