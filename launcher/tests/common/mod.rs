//! Runs `ringworld run` on small shell programs, with a bound on every wait.

#![allow(dead_code, reason = "each test file uses a part of this module")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// No wait of a test is longer; a healthy one ends in milliseconds, also on a busy machine.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// What a finished job left behind.
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

impl Finished {
    /// The lines of the output, sorted, since ranks write in any order.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// `ringworld run` with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    ringworld(&[&["run"], arguments].concat())
}

/// By these names, too, the caller may have said something about a job, of which the launcher would warn.
const COMMON: [&str; 6] =
    ["MASTER_NODE", "MASTER_ADDR", "MASTER_PORT", "NUM_NODES", "WORLD_SIZE", "LOCAL_WORLD_SIZE"];

/// `ringworld` with these arguments, without the caller's ringworld variables.
pub(crate) fn ringworld(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringworld"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("RINGWORLD_") || COMMON.contains(&&*name) {
            let name = &*name;
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// `ringworld run OPTIONS -- sh -c SCRIPT`.
pub(crate) fn script(options: &[&str], script: &str) -> Command {
    command(&[options, &["--", "sh", "-c", script]].concat())
}

/// The same command, but deaf to none of these signals (`TERM,HUP`): a test that was started in the background, or by
/// nohup(1), hands down that they are ignored, and the launcher respects that.
pub(crate) fn hearing(command: &Command, signals: &str) -> Command {
    let mut env = Command::new("env");
    env.arg(format!("--default-signal={signals}")).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => env.env(name, value),
            None => env.env_remove(name),
        };
    }
    env.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    env
}

/// Runs to the end.
pub(crate) fn finish(command: &mut Command) -> Finished {
    Running::start(command).finish()
}

/// A launcher at work. Killed when dropped, and with it, by its own promise, every rank.
pub(crate) struct Running {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
    err: Option<ChildStderr>,
    started: Instant,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let started = Instant::now();
        let mut child = command.spawn().unwrap();
        let (out, err) = (child.stdout.take().map(BufReader::new), child.stderr.take());
        Self { child, out, err, started }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The writing end of the launcher's input, if it was asked for.
    pub(crate) fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Whether the launcher has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends the launcher a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// The next lines that the job prints.
    pub(crate) fn lines(&mut self, count: usize) -> Vec<String> {
        let mut out = self.out.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = Vec::new();
            for _ in 0..count {
                let mut line = String::new();
                out.read_line(&mut line).unwrap();
                lines.push(line.trim_end().to_owned());
            }
            sender.send((lines, out)).ok();
        });
        let (lines, out) = receiver.recv_timeout(BOUND).expect("the job printed too little, too late");
        self.out = Some(out);
        lines
    }

    /// Like [`Self::lines`], for lines that are process ids.
    pub(crate) fn pids(&mut self, count: usize) -> Vec<i32> {
        self.lines(count).iter().map(|line| line.trim().parse().unwrap()).collect()
    }

    /// Exactly this many bytes of output.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut out = self.out.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = vec![0; count];
            out.read_exact(&mut bytes).unwrap();
            sender.send((bytes, out)).ok();
        });
        let (bytes, out) = receiver.recv_timeout(BOUND).expect("the job printed too little, too late");
        self.out = Some(out);
        bytes
    }

    /// Closes the reading end of the job's output.
    pub(crate) fn close_output(&mut self) {
        self.out = None;
    }

    pub(crate) fn status(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the launcher ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// Sends it SIGINT until it ends, which takes two of them at least where ranks are deaf. Signals of one kind merge
    /// until they are seen, so more may be needed.
    pub(crate) fn interrupted(mut self) -> Finished {
        wait_until("the launcher ends", || {
            let ended = self.has_ended();
            if !ended {
                self.signal(Signal::INT);
                std::thread::sleep(Duration::from_millis(200));
            }
            ended
        });
        self.finish()
    }

    pub(crate) fn finish(mut self) -> Finished {
        let (out, err) = (self.out.take(), self.err.take());
        let out = std::thread::spawn(move || {
            let mut text = Vec::new();
            out.map(|mut out| out.read_to_end(&mut text).unwrap());
            String::from_utf8_lossy(&text).into_owned()
        });
        let err = std::thread::spawn(move || {
            let mut text = Vec::new();
            err.map(|mut err| err.read_to_end(&mut text).unwrap());
            String::from_utf8_lossy(&text).into_owned()
        });
        let code = self.status().code();
        let took = self.started.elapsed();
        Finished { code, out: out.join().unwrap(), err: err.join().unwrap(), took }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits, with a bound, until `done`.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < BOUND, "waited {BOUND:?} in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The state letter of a process, as in ps(1); `None` when there is no such process.
pub(crate) fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether the process is gone, or merely waits to be reaped by somebody else.
pub(crate) fn is_gone(pid: i32) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}
