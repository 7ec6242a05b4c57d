//! One process under test: its output by lines, its end, and its certain death.
//!
//! Invariant: a process started here does not outlive its [`Process`]: dropping kills its process group.
//! Every wait is bounded, and a wait that fails shows all that the process has printed.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::line::Line;

/// How long anything that should happen soon may take on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running process, or one that has ended.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    ended: Option<ExitStatus>,
    output: Arc<Output>,
}

#[derive(Debug, Default)]
struct Output {
    lines: Mutex<Lines>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    lines: Vec<Line>,
    /// Streams that have ended, of two.
    closed: usize,
}

impl Output {
    fn follow(self: &Arc<Self>, stream: impl Read + Send + 'static, error: bool) {
        let output = Arc::clone(self);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut bytes = Vec::new();
            while matches!(reader.read_until(b'\n', &mut bytes), Ok(1..)) {
                let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
                bytes.clear();
                let line = Line { text, error, read: crate::clock::now() };
                output.update(|lines| lines.lines.push(line));
            }
            output.update(|lines| lines.closed += 1);
        });
    }

    fn update(&self, change: impl FnOnce(&mut Lines)) {
        change(&mut self.lines.lock().unwrap_or_else(PoisonError::into_inner));
        self.news.notify_all();
    }
}

impl Process {
    /// Starts `command` in a process group of its own, with its output captured.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    #[must_use]
    pub fn start(name: impl Into<String>, mut command: Command) -> Self {
        let name = name.into();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        let output = Arc::<Output>::default();
        output.follow(child.stdout.take().expect("standard output is piped"), false);
        output.follow(child.stderr.take().expect("standard error is piped"), true);
        Self { name, child, ended: None, output }
    }

    /// The id; that of the process group, too.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to this process only; nothing happens when it has ended.
    pub fn signal(&mut self, signal: Signal) {
        if self.poll().is_none() {
            let _ = rustix::process::kill_process(self.handle(), signal);
        }
    }

    /// Kills it with signal 9, and says when, on [`crate::clock`].
    pub fn kill(&mut self) -> u64 {
        let at = crate::clock::now();
        self.signal(Signal::KILL);
        at
    }

    fn handle(&self) -> Pid {
        i32::try_from(self.pid()).ok().and_then(Pid::from_raw).expect("process ids are positive")
    }

    fn poll(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap_or_default();
        }
        self.ended
    }

    /// Everything printed so far.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.output.lines.lock().unwrap_or_else(PoisonError::into_inner).lines.clone()
    }

    /// The lines of standard output that report `event`.
    #[must_use]
    pub fn events(&self, event: &str) -> Vec<Line> {
        self.lines().into_iter().filter(|line| line.is(event)).collect()
    }

    /// When the first `event` after `since` was, on [`crate::clock`] and by what its lines say `at`. Looks at no more
    /// than the latest lines, so that it can be asked again and again of a process that has printed many.
    #[must_use]
    pub fn first_after(&self, event: &str, since: u64) -> Option<u64> {
        let lines = self.output.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = lines.lines.iter().rev().filter(|line| line.is(event)).map(|line| line.number("at"));
        latest.take_while(|at| *at > since).last()
    }

    /// Waits for `count` lines that report `event` and returns all there are.
    ///
    /// # Panics
    ///
    /// When they do not come within `patience`, or the output ends before.
    pub fn wait_events(&self, event: &str, count: usize, patience: Duration) -> Vec<Line> {
        self.wait_lines(&format!("{count} x {event:?}"), count, patience, |line| line.is(event))
    }

    /// Waits for a line that reports `event`.
    ///
    /// # Panics
    ///
    /// As for [`Self::wait_events`].
    pub fn wait_event(&self, event: &str) -> Line {
        self.wait_events(event, 1, PATIENCE).remove(0)
    }

    /// Waits for a line, of either stream, that contains `part`.
    ///
    /// # Panics
    ///
    /// As for [`Self::wait_events`].
    pub fn wait_text(&self, part: &str) -> Line {
        self.wait_lines(&format!("a line with {part:?}"), 1, PATIENCE, |line| line.text.contains(part))
            .remove(0)
    }

    fn wait_lines(
        &self,
        what: &str,
        count: usize,
        patience: Duration,
        wanted: impl Fn(&Line) -> bool,
    ) -> Vec<Line> {
        let until = Instant::now() + patience;
        let mut lines = self.output.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let found: Vec<Line> = lines.lines.iter().filter(|line| wanted(line)).cloned().collect();
            if found.len() >= count {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || lines.closed == 2 {
                let why =
                    if left.is_zero() { format!("within {patience:?}") } else { "before its end".to_owned() };
                drop(lines);
                panic!("{}: no {what} {why}; {} came\n{}", self.name, found.len(), self.transcript());
            }
            lines = self.output.news.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How it ended, if it has. Its last lines may still be on their way.
    pub fn ended(&mut self) -> Option<End> {
        self.poll().map(|status| End { code: status.code(), signal: status.signal() })
    }

    /// Whether nobody holds its output open any more, so that all of it is in [`Self::lines`].
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.output.lines.lock().unwrap_or_else(PoisonError::into_inner).closed == 2
    }

    /// Waits for the end and for the last line of output.
    ///
    /// # Panics
    ///
    /// When it does not end within `patience`.
    pub fn wait_end_within(&mut self, patience: Duration) -> End {
        let until = Instant::now() + patience;
        let status = loop {
            if let Some(status) = self.poll() {
                break status;
            }
            assert!(
                Instant::now() < until,
                "{} has not ended within {patience:?}\n{}",
                self.name,
                self.transcript()
            );
            std::thread::sleep(Duration::from_millis(2));
        };
        // A descendant may hold the pipes open; the process itself cannot print any more.
        let mut lines = self.output.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Instant::now() + Duration::from_millis(500);
        while lines.closed < 2 && Instant::now() < last {
            let left = last.saturating_duration_since(Instant::now());
            lines = self.output.news.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        End { code: status.code(), signal: status.signal() }
    }

    /// Waits for the end, for as long as that may take on a loaded machine.
    ///
    /// # Panics
    ///
    /// As for [`Self::wait_end_within`].
    pub fn wait_end(&mut self) -> End {
        self.wait_end_within(PATIENCE)
    }

    /// Waits for the end and checks that it was a success.
    ///
    /// # Panics
    ///
    /// When it was not, with everything that was printed.
    pub fn succeeds(&mut self) {
        self.ends_with(0);
    }

    /// Waits for the end and checks the exit status.
    ///
    /// # Panics
    ///
    /// When it is another, with everything that was printed.
    pub fn ends_with(&mut self, code: i32) {
        let end = self.wait_end();
        assert_eq!(end.code, Some(code), "{} ended with {end:?}\n{}", self.name, self.transcript());
    }

    /// Everything printed, for the message of a failing test.
    #[must_use]
    pub fn transcript(&self) -> String {
        let mut text = format!("--- output of {} (pid {}):\n", self.name, self.pid());
        for line in self.lines() {
            text.push_str(if line.error { "  ! " } else { "  | " });
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.poll().is_none() {
            // Not reaped yet, so the id still names this group and no other.
            let _ = rustix::process::kill_process_group(self.handle(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its exit status, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("sh", command)
    }

    #[test]
    fn lines_of_both_streams_and_the_status_are_kept() {
        let mut process = shell("echo one x=1; echo two >&2; exit 3");
        assert_eq!(process.wait_end(), End { code: Some(3), signal: None });
        assert_eq!(process.wait_event("one").number("x"), 1);
        assert!(process.wait_text("two").error);
    }

    #[test]
    fn the_first_event_after_a_moment_is_found_from_the_end() {
        let mut process = shell("echo step at=3; echo other; echo step at=7; echo step at=9");
        process.wait_end();
        let after = |since| process.first_after("step", since);
        assert_eq!([0, 3, 6, 7, 9].map(after), [Some(3), Some(7), Some(7), Some(9), None]);
    }

    #[test]
    fn dropping_kills_the_whole_group() {
        let process = shell("sleep 100 & echo child pid=$!; wait");
        let child = u32::try_from(process.wait_event("child").number("pid")).unwrap();
        assert!(crate::proc::is_alive(child));
        drop(process);
        crate::proc::wait_gone(&[child], PATIENCE);
    }

    #[test]
    #[should_panic(expected = "no 1 x \"never\"")]
    fn waiting_for_what_never_comes_fails_with_the_output() {
        shell("echo something").wait_event("never");
    }
}
