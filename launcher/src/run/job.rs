//! The job's processes, pipes and signals, and the one loop that waits for all of them.
//!
//! Invariant: a rank that has ended stays a zombie until the whole job is over, so that its process id,
//! which names its process group, cannot be reused by another process while the group may still be signalled.
//! Decisions are `supervisor`'s, bytes are `output`'s; this file only carries out.

use super::descendants;
use super::environment::Changes;
use super::input::{Input, Interest};
use super::output::{Lines, Marks, Stream};
use super::rendezvous::Witness;
use super::shim;
use super::shortage::Shortage;
use super::sink::Sink;
use super::supervisor::{Action, Ending, Supervisor};
use super::tail::Tail;
use crate::cli::Stdin;
use crate::exit::{Failure, Status};
use crate::signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::{SIGCHLD, SIGKILL, SIGTSTP};
use signal_hook::iterator::{backend::SignalDelivery, exfiltrator::SignalOnly};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// This very program, also after its file was replaced by a newer build.
const SELF: &str = "/proc/self/exe";

/// How long output may trickle in once all ranks have ended: only what cannot be killed can delay it.
const LINGER: Duration = Duration::from_millis(250);

/// How often a launcher in the background looks whether it may read its terminal.
const TERMINAL_CHECK: Duration = Duration::from_millis(250);

/// How long ranks may take to end that are killed because another could not be started.
const BURIAL: Duration = Duration::from_secs(5);

/// Reads per look at a rank that has ended: enough for a full pipe, and an end to a grandchild's flood.
const LAST_READS: usize = 32;

/// One rank to start.
#[derive(Debug)]
pub(crate) struct RankSpec {
    /// Its tag in the output.
    pub(crate) label: String,
    pub(crate) environment: Changes,
    /// What it is bound to, in the words of [`cores`](super::cores).
    pub(crate) cores: String,
}

/// The job to run.
#[derive(Debug)]
pub(crate) struct JobSpec<'a> {
    pub(crate) program: &'a [OsString],
    /// Where the ranks work, if not here.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) ranks: Vec<RankSpec>,
    /// What the ranks inherit at the number that they are told.
    pub(crate) secret: Option<OwnedFd>,
    /// What messages call a rank, before its number: `rank` or `local rank`.
    pub(crate) noun: &'static str,
    pub(crate) host: &'a str,
    pub(crate) marks: Marks,
    /// Where the output goes of each rank, instead of to the launcher's own; none, or one for each.
    pub(crate) files: Vec<(String, File)>,
    pub(crate) grace: Duration,
    pub(crate) timeout: Option<Duration>,
    pub(crate) stdin: Stdin,
    /// Limit on open files to give back to the ranks.
    pub(crate) nofile: u64,
    /// Who may know which rank failed first.
    pub(crate) witness: Witness,
}

/// So many lines later, what a rank has said is no longer before one's eyes.
const BURIED: u64 = 10;

/// Index into a rank's pipes and the job's channels.
const OUT: usize = 0;
const ERR: usize = 1;

struct Pipe {
    file: File,
    lines: Lines,
}

struct Rank {
    label: String,
    child: Child,
    pid: Pid,
    pipes: [Option<Pipe>; 2],
    ended: bool,
    /// What it last wrote to standard error, and how many lines there were on both streams then.
    tail: Tail,
    last: u64,
}

struct Channel {
    /// As errors call it.
    name: String,
    sink: Sink,
    stream: Stream,
}

impl Channel {
    fn print(&mut self, rank: usize, label: &str, bytes: &[u8]) {
        self.sink.write(&self.stream.print(rank, label, bytes, SystemTime::now()));
    }
}

#[derive(Clone, Copy)]
enum Token {
    Signals,
    Waker,
    Input,
    InputOf(usize),
    Pipe(usize, usize),
}

/// A running job.
pub(crate) struct Job {
    ranks: Vec<Rank>,
    supervisor: Supervisor,
    channels: [Channel; 2],
    /// The ranks' own, if each has a file.
    files: Vec<Channel>,
    input: Option<Input>,
    signals: SignalDelivery<UnixStream, SignalOnly>,
    woken: UnixStream,
    guard: Child,
    /// Children of this process from before it was the launcher.
    foreign: Vec<Pid>,
    witness: Witness,
    shortage: Shortage,
    /// Lines that were printed.
    lines: u64,
}

impl Job {
    /// Starts every rank. When one cannot be started, those before it are killed.
    ///
    /// Must be called on the main thread: the kernel kills the ranks when the thread that started them ends.
    ///
    /// # Errors
    ///
    /// When the system has no process, descriptor or thread to give.
    pub(crate) fn start(mut spec: JobSpec<'_>) -> Result<Self, Failure> {
        let system = |error: io::Error| Failure::system("cannot prepare the job", error);
        let (read, write) = UnixStream::pair().map_err(system)?;
        let signals =
            SignalDelivery::with_pipe(read, write, SignalOnly, signals::listened_to()).map_err(system)?;
        let (woken, waker) = UnixStream::pair().map_err(system)?;
        woken.set_nonblocking(true).and_then(|()| waker.set_nonblocking(true)).map_err(system)?;
        let channels = [
            Channel {
                name: "standard output".to_owned(),
                sink: Sink::start(io::stdout(), &waker).map_err(system)?,
                stream: Stream::new(spec.marks),
            },
            Channel {
                name: "standard error".to_owned(),
                sink: Sink::start(io::stderr(), &waker).map_err(system)?,
                stream: Stream::new(spec.marks),
            },
        ];
        let mut files = Vec::with_capacity(spec.files.len());
        for (name, file) in std::mem::take(&mut spec.files) {
            let sink = Sink::start(file, &waker).map_err(system)?;
            // What tells ranks apart is not needed where each has a file of its own.
            let stream = Stream::new(Marks { tag: false, ..spec.marks });
            files.push(Channel { name, sink, stream });
        }
        let foreign = descendants::adopt();
        let guard = Command::new(SELF)
            .arg0("ringworld")
            .arg(shim::GUARD)
            .env_clear()
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Failure::system("cannot start the guard process", error))?;
        let mut job = Self {
            ranks: Vec::with_capacity(spec.ranks.len()),
            supervisor: Supervisor::new(Vec::new(), spec.grace, None, Instant::now()),
            channels,
            files,
            input: match spec.stdin {
                Stdin::None => None,
                Stdin::All | Stdin::Rank(_) => Some(Input::new(io::stdin()).map_err(system)?),
            },
            signals,
            woken,
            guard,
            foreign,
            witness: std::mem::take(&mut spec.witness),
            shortage: Shortage::watch(),
            lines: 0,
        };
        let count = spec.ranks.len();
        if let Some(secret) = &spec.secret {
            // Only now, since the guard has no use for it.
            rustix::io::fcntl_setfd(secret, FdFlags::empty()).map_err(|error| system(error.into()))?;
        }
        for (index, rank) in spec.ranks.iter().enumerate() {
            if let Err(error) = job.spawn(index, rank, &spec) {
                job.signal_all(SIGKILL);
                job.end_descendants();
                job.bury(BURIAL);
                let what = format!("cannot start {} {index} of {count} (fewer ranks may fit)", spec.noun);
                return Err(Failure::system(what, error));
            }
        }
        // It has been handed over; who looks into this process finds it no more.
        spec.secret = None;
        let names = job.ranks.iter().enumerate().map(|(index, rank)| {
            format!("{} {index} (pid {}) on {}", spec.noun, rank.pid.as_raw_pid(), spec.host)
        });
        job.supervisor = Supervisor::new(names.collect(), spec.grace, spec.timeout, Instant::now());
        Ok(job)
    }

    fn spawn(&mut self, index: usize, rank: &RankSpec, spec: &JobSpec<'_>) -> io::Result<()> {
        let mut command = Command::new(SELF);
        command
            .arg0("ringworld")
            .arg(shim::EXEC_RANK)
            .arg(std::process::id().to_string())
            .arg(spec.nofile.to_string())
            .arg(&rank.cores)
            .args(spec.program)
            .process_group(0)
            .stdin(if spec.stdin.is_for(index) { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &rank.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = spec.folder {
            command.current_dir(folder);
        }
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let stdin = child.stdin.take();
        // Listed before anything below can fail, so that a failure kills this one too.
        self.ranks.push(Rank {
            label: rank.label.clone(),
            child,
            pid,
            pipes: [None, None],
            ended: false,
            tail: Tail::default(),
            last: 0,
        });
        if let Some(guard) = &mut self.guard.stdin {
            // A guard that is gone costs one of two safety nets, not the job.
            let _ = writeln!(guard, "{}", pid.as_raw_pid());
        }
        let pipes = [out.map(OwnedFd::from), err.map(OwnedFd::from)];
        for (slot, pipe) in self.ranks.last_mut().map(|rank| &mut rank.pipes).into_iter().flatten().zip(pipes)
        {
            let Some(pipe) = pipe else { continue };
            rustix::io::ioctl_fionbio(&pipe, true)?;
            *slot = Some(Pipe { file: pipe.into(), lines: Lines::default() });
        }
        if let (Some(stdin), Some(input)) = (stdin, &mut self.input) {
            input.add(index, OwnedFd::from(stdin))?;
        }
        Ok(())
    }

    /// Waits until every rank has ended and all output is written; returns what the launcher must return.
    ///
    /// # Errors
    ///
    /// When waiting itself fails; the ranks are killed first.
    pub(crate) fn wait(mut self) -> Result<Status, Failure> {
        let result = self.supervise().and_then(|()| self.drain());
        self.signal_all(SIGKILL);
        self.end_descendants();
        // Unless waiting failed, all have ended or were given up.
        self.bury(if result.is_ok() { Duration::ZERO } else { BURIAL });
        result.map_err(|error| Failure::system("cannot wait for the ranks", error))?;
        Ok(self.supervisor.status())
    }

    fn supervise(&mut self) -> io::Result<()> {
        while !self.supervisor.finished() {
            let ready = self.poll(self.supervisor.deadline())?;
            self.move_bytes(&ready);
            let now = Instant::now();
            if ready.iter().any(|token| matches!(token, Token::Signals)) {
                let signals: Vec<i32> = self.signals.pending().collect();
                for &signal in signals.iter().filter(|&&signal| signal != SIGCHLD) {
                    let actions = self.supervisor.signalled(now, signal);
                    self.act(actions);
                }
                if signals.contains(&SIGCHLD) {
                    let ended = self.look_for_ended()?;
                    self.supervisor.ended(now, ended);
                    // As the first process of a container the launcher inherits them anyway, and nobody else reaps.
                    descendants::reap(&self.kept());
                }
            }
            self.look_for_lost_output(now);
            if self.supervisor.verdict_due(now) {
                let account = self.witness.account(self.supervisor.all_ended());
                let actions = self.supervisor.conclude(now, &account);
                self.act(actions);
            }
            let actions = self.supervisor.tick(now);
            self.act(actions);
        }
        Ok(())
    }

    /// Prints what the ranks left in their pipes, then waits for the launcher's own reader.
    fn drain(&mut self) -> io::Result<()> {
        if let Some(input) = &mut self.input {
            input.close();
        }
        // What is left of the groups, or has left them, holds the pipes open; nothing of a job outlives it.
        self.signal_all(SIGKILL);
        self.end_descendants();
        let until = Instant::now() + LINGER;
        while self.ranks.iter().any(|rank| rank.pipes.iter().any(Option::is_some)) && Instant::now() < until {
            let ready = self.poll(Some(until))?;
            self.move_bytes(&ready);
            self.signals.pending().for_each(drop);
        }
        for index in 0..self.ranks.len() {
            self.close(index, OUT);
            self.close(index, ERR);
        }
        self.repeat();
        while !self.channels.iter().chain(&self.files).all(|channel| channel.sink.is_empty()) {
            self.poll(None)?;
            let mut sink = [0; 64];
            // Non-blocking: empties the waker, whatever is in it.
            let _ = (&self.woken).read(&mut sink);
            // A reader that never reads must not keep Ctrl-C from working.
            if self.signals.pending().any(|signal| signals::ENDING.contains(&signal)) {
                break;
            }
        }
        self.look_for_lost_output(Instant::now());
        Ok(())
    }

    /// Waits for something to happen, no longer than until `deadline`, and says what.
    fn poll(&self, mut deadline: Option<Instant>) -> io::Result<Vec<Token>> {
        let mut earlier =
            |time: Instant| deadline = Some(deadline.map_or(time, |deadline| deadline.min(time)));
        let mut fds = vec![
            PollFd::new(self.signals.get_read(), PollFlags::IN),
            PollFd::new(&self.woken, PollFlags::IN),
        ];
        let mut tokens = vec![Token::Signals, Token::Waker];
        match self.input.as_ref().map_or(Interest::Nothing, Input::interest) {
            Interest::Nothing => {}
            Interest::Later => earlier(Instant::now() + TERMINAL_CHECK),
            Interest::Readable(from, to) => {
                fds.push(PollFd::from_borrowed_fd(from, PollFlags::IN));
                tokens.push(Token::Input);
                for (rank, to) in to {
                    fds.push(PollFd::from_borrowed_fd(to, PollFlags::empty()));
                    tokens.push(Token::InputOf(rank));
                }
            }
            Interest::Writable(to) => {
                for (rank, to) in to {
                    fds.push(PollFd::from_borrowed_fd(to, PollFlags::OUT));
                    tokens.push(Token::InputOf(rank));
                }
            }
        }
        let room =
            [OUT, ERR].map(|which| self.channels.get(which).is_some_and(|channel| channel.sink.has_room()));
        for (index, rank) in self.ranks.iter().enumerate() {
            let room = self.files.get(index).map_or(room, |file| [file.sink.has_room(); 2]);
            for (which, (pipe, room)) in rank.pipes.iter().zip(room).enumerate() {
                let Some(pipe) = pipe else { continue };
                pipe.lines.due().into_iter().for_each(&mut earlier);
                if room {
                    fds.push(PollFd::from_borrowed_fd(pipe.file.as_fd(), PollFlags::IN));
                    tokens.push(Token::Pipe(index, which));
                }
            }
        }
        let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // A time too long for the system's type is as good as none.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let ready = fds.iter().zip(tokens).filter(|(fd, _)| !fd.revents().is_empty());
        Ok(ready.map(|(_, token)| token).collect())
    }

    fn move_bytes(&mut self, ready: &[Token]) {
        for &token in ready {
            match token {
                Token::Signals => {}
                Token::Waker => {
                    let _ = (&self.woken).read(&mut [0; 64]);
                }
                Token::Input => self.input.iter_mut().for_each(Input::read),
                Token::InputOf(rank) => self.input.iter_mut().for_each(|input| input.write(rank)),
                Token::Pipe(index, which) => {
                    self.read(index, which);
                }
            }
        }
        let now = Instant::now();
        for index in 0..self.ranks.len() {
            for which in [OUT, ERR] {
                let Some(rank) = self.ranks.get_mut(index) else { continue };
                let Some(Some(open)) = rank.pipes.get_mut(which) else { continue };
                if open.lines.due().is_some_and(|due| now >= due) {
                    let bytes = open.lines.take();
                    self.print(index, which, &bytes);
                }
                if self.files.is_empty()
                    && self.channels.get(which).is_some_and(|channel| channel.sink.is_abandoned())
                    && let Some(pipe) = self.ranks.get_mut(index).and_then(|rank| rank.pipes.get_mut(which))
                {
                    // The rank learns of it as it would without a launcher: by SIGPIPE.
                    *pipe = None;
                }
            }
        }
    }

    /// Reads once; says whether there may be more.
    fn read(&mut self, index: usize, which: usize) -> bool {
        let mut buffer = [0; 64 * 1024];
        let Some(rank) = self.ranks.get_mut(index) else { return false };
        let Some(Some(pipe)) = rank.pipes.get_mut(which) else { return false };
        match pipe.file.read(&mut buffer) {
            Ok(0) => {
                self.close(index, which);
                false
            }
            Ok(n) => {
                let lines = pipe.lines.push(buffer.get(..n).unwrap_or_default(), Instant::now());
                self.print(index, which, &lines);
                true
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => false,
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted) => true,
            Err(_) => {
                self.close(index, which);
                false
            }
        }
    }

    /// Prints the unfinished line and forgets the pipe.
    fn close(&mut self, index: usize, which: usize) {
        let Some(rank) = self.ranks.get_mut(index) else { return };
        let Some(mut pipe) = rank.pipes.get_mut(which).and_then(Option::take) else { return };
        let bytes = pipe.lines.take();
        self.print(index, which, &bytes);
    }

    /// Prints what a rank has written to one of its streams.
    fn print(&mut self, index: usize, which: usize, bytes: &[u8]) {
        let (Some(rank), Some(channel)) = (self.ranks.get_mut(index), self.channels.get_mut(which)) else {
            return;
        };
        if bytes.is_empty() {
            return;
        }
        match self.files.get_mut(index) {
            Some(file) => file.print(index, &rank.label, bytes),
            None => channel.print(index, &rank.label, bytes),
        }
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        if which == ERR {
            rank.tail.push(bytes);
            rank.last = self.lines;
        }
    }

    /// Says again what the rank that failed first has said last, if others have said much since.
    fn repeat(&mut self) {
        let Some(index) = self.supervisor.accused() else { return };
        let Some(rank) = self.ranks.get(index) else { return };
        let lines = rank.tail.lines();
        let in_sight = self.files.is_empty() && self.lines - rank.last < BURIED;
        if lines.is_empty() || in_sight {
            return;
        }
        let label = rank.label.clone();
        self.say(&format!("the last lines of {}:", self.supervisor.name(index).to_owned()));
        let [_, errors] = &mut self.channels;
        errors.print(index, &label, &lines);
    }

    /// Which ranks have ended since the last look. They are not reaped yet.
    fn look_for_ended(&mut self) -> io::Result<Vec<(usize, Ending)>> {
        let mut ended = Vec::new();
        for index in 0..self.ranks.len() {
            let Some(rank) = self.ranks.get_mut(index) else { continue };
            if rank.ended {
                continue;
            }
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let Some(status) = waitid(WaitId::Pid(rank.pid), options)? else { continue };
            rank.ended = true;
            ended.push((
                index,
                match status.terminating_signal() {
                    Some(signal) => {
                        Ending::Killed { signal, core: status.dumped(), starved: self.shortage.has_struck() }
                    }
                    None => Ending::Exited(status.exit_status().unwrap_or(0)),
                },
            ));
            // Its last words come before the news of its end.
            for which in [OUT, ERR] {
                let _ = (0..LAST_READS).take_while(|_| self.read(index, which)).count();
            }
            self.input.iter_mut().for_each(|input| input.close_rank(index));
        }
        Ok(ended)
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Signal(signal) => self.signal_all(signal),
                Action::Say(sentence) => self.say(&sentence),
                Action::Suspend => {
                    // If it fails the launcher merely goes on while the ranks are stopped.
                    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
                }
            }
        }
    }

    fn say(&mut self, sentence: &str) {
        let [_, errors] = &mut self.channels;
        errors.sink.write(&errors.stream.say(sentence));
    }

    fn signal_all(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        for rank in &self.ranks {
            // Fails only for a group whose last member is gone or may not be signalled (set-user-id);
            // neither leaves anything to do.
            let _ = kill_process_group(rank.pid, signal);
        }
    }

    /// Output that could not be written makes the job fail.
    fn look_for_lost_output(&mut self, now: Instant) {
        let lost = |channel: &Channel| Some((channel.name.clone(), channel.sink.take_lost()?));
        let all: Vec<_> = self.channels.iter().chain(&self.files).filter_map(lost).collect();
        for (name, error) in all {
            let actions = self.supervisor.lost_output(now, &format!("cannot write to {name}: {error}"));
            self.act(actions);
        }
    }

    /// Processes that are no orphans of the job's, although children of this one.
    fn kept(&self) -> Vec<Pid> {
        let guard = i32::try_from(self.guard.id()).ok().and_then(Pid::from_raw);
        self.ranks.iter().map(|rank| rank.pid).chain(guard).collect()
    }

    fn end_descendants(&mut self) {
        let kept: Vec<Pid> = self.kept().into_iter().chain(self.foreign.iter().copied()).collect();
        for pid in descendants::end(&kept) {
            self.say(&format!("process {} of this job cannot be ended; it goes on", pid.as_raw_pid()));
        }
    }

    /// Reaps what is dead, or is about to be, and dismisses the guard.
    fn bury(&mut self, patience: Duration) {
        let until = Instant::now() + patience;
        for rank in &mut self.ranks {
            while matches!(rank.child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if let Some(mut stdin) = self.guard.stdin.take() {
            let _ = writeln!(stdin, "{}", shim::DONE);
        }
        let _ = self.guard.wait();
    }
}
