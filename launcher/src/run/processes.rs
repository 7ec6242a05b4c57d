//! The ranks of this host: their processes, pipes and input, and whatever they have started.
//!
//! Invariant: a rank that has ended stays a zombie until the whole job is over, or until another process takes its
//! place, so that its process id, which names its process group, cannot be reused by another process while the group
//! may still be signalled. Before it is reaped, its group is killed and struck off the guard's list.
//! Neighbours: `job` prints what they write and decides; or `hosts::agent` does, for a job that runs from elsewhere.

use super::crew::{Crew, ERR, News, OUT, Room, Token, Watch};
use super::descendants;
use super::environment::Changes;
use super::input::{Input, Interest};
use super::restart::REJOIN;
use super::shim;
use super::shortage::Shortage;
use super::supervisor::Ending;
use crate::cli::Stdin;
use crate::exit::Failure;
use ringworld_auth::Secret;
use ringworld_bootstrap::{hand_over, raise_descriptor_limit};
use rustix::event::PollFlags;
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, Resource, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::SIGKILL;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// This very program, also after its file was replaced by a newer build.
pub(super) const SELF: &str = "/proc/self/exe";

/// How long output may trickle in once all ranks have ended: only what cannot be killed can delay it.
const LINGER: Duration = Duration::from_millis(250);

/// How often a launcher in the background looks whether it may read its terminal.
const TERMINAL_CHECK: Duration = Duration::from_millis(250);

/// How long ranks may take to end that are killed because another could not be started.
pub(super) const BURIAL: Duration = Duration::from_secs(5);

/// Room for what a launcher has open before it has ranks, and for the number of the secret, which is past those that
/// scripts use.
const FILES: u64 = 64;

/// Those that it has open for each: two outputs, an input, and a connection to the master.
const FILES_PER_RANK: u64 = 4;

/// Reads per look at a rank that has ended: enough for a full pipe, and an end to a grandchild's flood.
const LAST_READS: usize = 32;

/// One rank to start.
#[derive(Debug)]
pub(crate) struct RankSpec {
    pub(crate) program: Arc<[OsString]>,
    /// Where it works, if not here.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) environment: Changes,
    /// What it is bound to, in the words of [`cores`](super::cores).
    pub(crate) cores: String,
}

/// What to start.
#[derive(Debug)]
pub(crate) struct Spec<'a> {
    pub(crate) ranks: Vec<RankSpec>,
    /// What the ranks inherit at the number that they are told.
    pub(crate) secret: Option<OwnedFd>,
    /// What messages call a rank, before its number: `rank` or `local rank`.
    pub(crate) noun: &'static str,
    pub(crate) stdin: Stdin,
    /// What those read who get it.
    pub(crate) input: BorrowedFd<'a>,
    /// Limit on open files to give back to the ranks.
    pub(crate) nofile: u64,
    /// Ranks may be started again: what that takes is kept, the secret too.
    pub(crate) again: bool,
}

/// What it takes to start ranks again.
struct Again {
    ranks: Vec<RankSpec>,
    nofile: u64,
    /// At the number that the ranks are told; it only has to stay open.
    _secret: Option<OwnedFd>,
}

struct Process {
    child: Child,
    pid: Pid,
    pipes: [Option<File>; 2],
    ended: bool,
}

/// Ends what a launcher has started should it be killed itself.
pub(super) struct Guard(Child);

impl Guard {
    pub(super) fn start() -> Result<Self, Failure> {
        let child = Command::new(SELF)
            .arg0("ringworld")
            .arg(shim::GUARD)
            .arg(std::process::id().to_string())
            .env_clear()
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Failure::system("cannot start the guard process", error))?;
        Ok(Self(child))
    }

    /// This group is the job's. A guard that is gone costs one of two safety nets, not the job.
    pub(super) fn add(&mut self, group: Pid) {
        if let Some(guard) = &mut self.0.stdin {
            let _ = writeln!(guard, "{}", group.as_raw_pid());
        }
    }

    /// This group, which the guard was told of, is not the job's any more.
    fn forget(&mut self, group: Pid) {
        if let Some(guard) = &mut self.0.stdin {
            let _ = writeln!(guard, "{}{}", shim::FORGET, group.as_raw_pid());
        }
    }

    pub(super) fn pid(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
    }

    pub(super) fn dismiss(&mut self) {
        if let Some(mut stdin) = self.0.stdin.take() {
            let _ = writeln!(stdin, "{}", shim::DONE);
        }
        let _ = self.0.wait();
    }
}

/// A command that becomes `program` in a process group of its own, and is killed with this process.
pub(super) fn tied(program: &[OsString], nofile: u64, cores: &str) -> Command {
    let mut command = Command::new(SELF);
    command
        .arg0("ringworld")
        .arg(shim::EXEC_RANK)
        .arg(std::process::id().to_string())
        .arg(nofile.to_string())
        .arg(cores)
        .args(program)
        .process_group(0);
    command
}

/// Ranks at work.
pub(crate) struct Processes {
    ranks: Vec<Process>,
    input: Option<Input>,
    guard: Guard,
    /// Children of this process from before it was the launcher.
    foreign: Vec<Pid>,
    shortage: Shortage,
    noun: &'static str,
    /// How to start a rank again, where that may be.
    again: Option<Again>,
}

impl Processes {
    /// Starts every rank. When one cannot be started, those before it are killed.
    ///
    /// Must be called on the main thread: the kernel kills the ranks when the thread that started them ends.
    ///
    /// # Errors
    ///
    /// When the system has no process or descriptor to give.
    pub(crate) fn start(spec: Spec<'_>) -> Result<Self, Failure> {
        let system = |error: io::Error| Failure::system("cannot prepare the job", error);
        let foreign = descendants::adopt();
        let mut job = Self {
            ranks: Vec::with_capacity(spec.ranks.len()),
            guard: Guard::start()?,
            input: match spec.stdin {
                Stdin::None => None,
                Stdin::All | Stdin::Rank(_) => Some(Input::new(spec.input).map_err(system)?),
            },
            foreign,
            shortage: Shortage::watch(),
            noun: spec.noun,
            again: None,
        };
        let count = spec.ranks.len();
        if let Some(secret) = &spec.secret {
            // Only now, since the guard has no use for it.
            rustix::io::fcntl_setfd(secret, FdFlags::empty()).map_err(|error| system(error.into()))?;
        }
        for (index, rank) in spec.ranks.iter().enumerate() {
            if let Err(error) = job.spawn(index, rank, spec.stdin.is_for(index), spec.nofile) {
                job.signal(SIGKILL);
                job.end_descendants();
                job.bury(BURIAL);
                let what = format!("cannot start {} {index} of {count} (fewer ranks may fit)", spec.noun);
                return Err(Failure::system(what, error));
            }
        }
        // Else the secret goes here: it has been handed over, and who looks into this process finds it no more.
        if spec.again {
            job.again = Some(Again { ranks: spec.ranks, nofile: spec.nofile, _secret: spec.secret });
        }
        Ok(job)
    }

    /// Starts the rank: for the first time, or in the place of one that has ended.
    fn spawn(&mut self, index: usize, rank: &RankSpec, reads: bool, nofile: u64) -> io::Result<()> {
        let mut command = tied(&rank.program, nofile, &rank.cores);
        command
            .stdin(if reads { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &rank.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if self.ranks.len() > index {
            command.env(REJOIN, "1");
        }
        if let Some(folder) = &rank.folder {
            command.current_dir(folder);
        }
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let stdin: Option<ChildStdin> = child.stdin.take();
        // Listed before anything below can fail, so that a failure kills this one too.
        self.guard.add(pid);
        match self.ranks.get_mut(index) {
            Some(rank) => {
                let mut old = std::mem::replace(&mut rank.child, child);
                let group = std::mem::replace(&mut rank.pid, pid);
                rank.ended = false;
                // Before it is reaped, after which the number may be anybody's.
                self.guard.forget(group);
                let _ = old.wait();
            }
            None => self.ranks.push(Process { child, pid, pipes: [None, None], ended: false }),
        }
        let pipes = [out.map(OwnedFd::from), err.map(OwnedFd::from)];
        for (slot, pipe) in
            self.ranks.get_mut(index).map(|rank| &mut rank.pipes).into_iter().flatten().zip(pipes)
        {
            let Some(pipe) = pipe else { continue };
            rustix::io::ioctl_fionbio(&pipe, true)?;
            *slot = Some(pipe.into());
        }
        if let (Some(stdin), Some(input)) = (stdin, &mut self.input) {
            input.add(index, OwnedFd::from(stdin))?;
        }
        Ok(())
    }

    /// The process id of each rank.
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.ranks.iter().map(|rank| rank.pid.as_raw_pid()).collect()
    }

    /// Reads once; says whether there may be more.
    fn read(&mut self, index: usize, which: usize, news: &mut Vec<News>) -> bool {
        let mut buffer = [0; 64 * 1024];
        let Some(slot) = self.ranks.get_mut(index).and_then(|rank| rank.pipes.get_mut(which)) else {
            return false;
        };
        let Some(pipe) = slot else { return false };
        match pipe.read(&mut buffer) {
            Ok(n @ 1..) => {
                let bytes = buffer.get(..n).unwrap_or_default().to_vec();
                news.push(News::Output { rank: index, which, bytes });
                true
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => false,
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted) => true,
            Ok(_) | Err(_) => {
                *slot = None;
                news.push(News::Closed { rank: index, which });
                false
            }
        }
    }

    /// Processes that are no orphans of the job's, although children of this one.
    fn kept(&self) -> Vec<Pid> {
        self.ranks.iter().map(|rank| rank.pid).chain(self.guard.pid()).collect()
    }

    fn end_descendants(&mut self) -> Vec<Pid> {
        let kept: Vec<Pid> = self.kept().into_iter().chain(self.foreign.iter().copied()).collect();
        descendants::end(&kept)
    }
}

impl Crew for Processes {
    fn watch<'a>(&'a self, room: Room<'_>, watch: &mut Watch<'a>) {
        watch_input(self.input.as_ref(), watch);
        for (index, rank) in self.ranks.iter().enumerate() {
            for (which, pipe) in rank.pipes.iter().enumerate() {
                if let Some(pipe) = pipe.as_ref().filter(|_| room(index, which)) {
                    watch.add(pipe.as_fd(), PollFlags::IN, Token::Pipe(index, which));
                }
            }
        }
    }

    fn ready(&mut self, token: Token, news: &mut Vec<News>) {
        match token {
            Token::Input => self.input.iter_mut().for_each(Input::read),
            Token::InputOf(rank) => self.input.iter_mut().for_each(|input| input.write(rank)),
            Token::Pipe(index, which) => {
                self.read(index, which, news);
            }
            _ => {}
        }
    }

    fn children(&mut self, news: &mut Vec<News>) -> io::Result<()> {
        for index in 0..self.ranks.len() {
            let Some(rank) = self.ranks.get_mut(index) else { continue };
            if rank.ended {
                continue;
            }
            // They are not reaped yet.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let Some(status) = waitid(WaitId::Pid(rank.pid), options)? else { continue };
            rank.ended = true;
            let ending = match status.terminating_signal() {
                Some(signal) => {
                    Ending::Killed { signal, core: status.dumped(), starved: self.shortage.has_struck() }
                }
                None => Ending::Exited(status.exit_status().unwrap_or(0)),
            };
            // Its last words come before the news of its end.
            for which in [OUT, ERR] {
                let _ = (0..LAST_READS).take_while(|_| self.read(index, which, news)).count();
            }
            news.push(News::Ended { rank: index, ending });
            self.input.iter_mut().for_each(|input| input.close_rank(index));
        }
        // As the first process of a container the launcher inherits them anyway, and nobody else reaps.
        descendants::reap(&self.kept());
        Ok(())
    }

    fn signal(&mut self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        for rank in &self.ranks {
            // Fails only for a group whose last member is gone or may not be signalled (set-user-id);
            // neither leaves anything to do.
            let _ = kill_process_group(rank.pid, signal);
        }
    }

    fn name(&self, rank: usize) -> String {
        let pid = self.ranks.get(rank).map_or(0, |rank| rank.pid.as_raw_pid());
        format!(
            "{} {rank} (pid {pid}) on {}",
            self.noun,
            rustix::system::uname().nodename().to_string_lossy()
        )
    }

    fn clear(&mut self, rank: usize) {
        if let Some(rank) = self.ranks.get(rank).filter(|rank| rank.ended) {
            let _ = kill_process_group(rank.pid, Signal::KILL);
        }
    }

    fn start_again(&mut self, rank: usize, news: &mut Vec<News>) -> io::Result<()> {
        let again = self.again.take().ok_or(io::ErrorKind::Unsupported)?;
        self.clear(rank);
        for which in [OUT, ERR] {
            let _ = (0..LAST_READS).take_while(|_| self.read(rank, which, news)).count();
            self.hush(rank, which);
            news.push(News::Closed { rank, which });
        }
        // What the one before has read is gone; the rest makes no sense to one that begins anew.
        let spec = again.ranks.get(rank).ok_or(io::ErrorKind::NotFound.into());
        let started = spec.and_then(|spec| self.spawn(rank, spec, false, again.nofile));
        self.again = Some(again);
        started
    }

    fn hush(&mut self, rank: usize, which: usize) {
        if let Some(pipe) = self.ranks.get_mut(rank).and_then(|rank| rank.pipes.get_mut(which)) {
            *pipe = None;
        }
    }

    fn finish(&mut self) -> Vec<String> {
        if let Some(input) = &mut self.input {
            input.close();
        }
        // What is left of the groups, or has left them, holds the pipes open; nothing of a job outlives it.
        self.signal(SIGKILL);
        let left = self.end_descendants();
        let sentence =
            |pid: Pid| format!("process {} of this job cannot be ended; it goes on", pid.as_raw_pid());
        left.into_iter().map(sentence).collect()
    }

    fn is_drained(&self) -> bool {
        self.ranks.iter().all(|rank| rank.pipes.iter().all(Option::is_none))
    }

    fn linger(&self) -> Duration {
        LINGER
    }

    fn bury(&mut self, patience: Duration) {
        let until = Instant::now() + patience;
        for rank in &mut self.ranks {
            while matches!(rank.child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.guard.dismiss();
    }
}

/// Adds what the launcher's input waits for.
pub(super) fn watch_input<'a>(input: Option<&'a Input>, watch: &mut Watch<'a>) {
    match input.map_or(Interest::Nothing, Input::interest) {
        Interest::Nothing => {}
        Interest::Later => watch.until(Instant::now() + TERMINAL_CHECK),
        Interest::Readable(from, to) => {
            watch.add(from, PollFlags::IN, Token::Input);
            for (rank, to) in to {
                watch.add(to, PollFlags::empty(), Token::InputOf(rank));
            }
        }
        Interest::Writable(to) => {
            for (rank, to) in to {
                watch.add(to, PollFlags::OUT, Token::InputOf(rank));
            }
        }
    }
}

/// Hands the secret of a job to its ranks, so many on this host.
pub(super) fn hand_to_ranks(secret: &Secret, ranks: usize) -> Result<OwnedFd, Failure> {
    let what = "cannot hand the secret to the ranks";
    hand_over(secret).map_err(|error| {
        // The number that it is to have is beyond the limit, or there is none left.
        let too_few = [Errno::INVAL, Errno::MFILE].map(|errno| Some(errno.raw_os_error()));
        match rustix::process::getrlimit(Resource::Nofile).current {
            Some(limit) if too_few.contains(&error.raw_os_error()) => {
                let needed = FILES + FILES_PER_RANK * ranks as u64;
                let ranks = crate::units::counted(ranks, "rank");
                let why = format!(
                    "this process may have {limit} files open (RLIMIT_NOFILE), and needs up to {needed} for {ranks} \
                     on this host; raise the limit (`ulimit -n`)"
                );
                Failure::system(what, why)
            }
            _ => Failure::system(what, error),
        }
    })
}

/// Two pipes per rank may be more files than the usual limit allows. Returns the limit as it was.
pub(super) fn raise_open_files() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // As far as it goes; if that is not enough, starting ranks says what is missing.
    let _ = raise_descriptor_limit(u64::MAX);
    limit.current.unwrap_or(u64::MAX)
}
