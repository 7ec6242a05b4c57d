//! The ranks of a job as the job sees them, wherever they run: what they write, how they end, and what they can be
//! told.
//!
//! Two have it: [`processes`](super::processes), for the ranks of this host, and [`hosts`](super::hosts), for those
//! that run at the other end of connections. `job` waits for either in the same way.

use super::supervisor::Ending;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Index of a rank's streams and of the job's own.
pub(super) const OUT: usize = 0;
pub(super) const ERR: usize = 1;

/// What a descriptor that is watched stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Signals,
    Waker,
    /// The launcher's own input, and the pipes that it is passed on by.
    Input,
    InputOf(usize),
    /// A stream of a rank.
    Pipe(usize, usize),
    /// What comes from a host, what the command that leads there has to say, and what goes to it.
    FromHost(usize),
    WordsOf(usize),
    ToHost(usize),
    /// Input on its way to a host.
    InputFor(usize),
    /// From the launcher that started this one, and what it has sent on its way to the ranks.
    Above,
    Feed,
}

/// What there is to wait for.
#[derive(Default)]
pub(super) struct Watch<'a> {
    fds: Vec<PollFd<'a>>,
    tokens: Vec<Token>,
    deadline: Option<Instant>,
}

impl<'a> Watch<'a> {
    pub(super) fn add(&mut self, fd: BorrowedFd<'a>, flags: PollFlags, token: Token) {
        self.fds.push(PollFd::from_borrowed_fd(fd, flags));
        self.tokens.push(token);
    }

    /// Waits no longer than until `time`.
    pub(super) fn until(&mut self, time: Instant) {
        self.deadline = Some(self.deadline.map_or(time, |deadline| deadline.min(time)));
    }

    /// Waits for something to happen, and says what; nothing when the time is over.
    pub(super) fn wait(mut self) -> io::Result<Vec<Token>> {
        let timeout = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // A time too long for the system's type is as good as none.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut self.fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let ready = self.fds.iter().zip(self.tokens).filter(|(fd, _)| !fd.revents().is_empty());
        Ok(ready.map(|(_, token)| token).collect())
    }
}

/// What has happened to a rank.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It has written this.
    Output {
        rank: usize,
        which: usize,
        bytes: Vec<u8>,
    },
    /// It writes no more to this stream.
    Closed {
        rank: usize,
        which: usize,
    },
    Ended {
        rank: usize,
        ending: Ending,
    },
    /// It has been started again, after [`Crew::start_again`] had only asked for it; [`Crew::name`] knows it now.
    Started {
        rank: usize,
    },
    /// It could not be.
    NotStarted {
        rank: usize,
        why: String,
    },
    /// Something that the user should know.
    Say(String),
}

/// Whether there is room for what a rank writes to a stream.
pub(super) type Room<'r> = &'r dyn Fn(usize, usize) -> bool;

/// The ranks of a job.
pub(super) trait Crew {
    /// Adds what it waits for.
    fn watch<'a>(&'a self, room: Room<'_>, watch: &mut Watch<'a>);

    /// What [`Self::watch`] has named is ready.
    fn ready(&mut self, token: Token, news: &mut Vec<News>);

    /// To be called in every round.
    fn tick(&mut self, _now: Instant, _room: Room<'_>, _news: &mut Vec<News>) {}

    /// Children of this process have ended.
    ///
    /// # Errors
    ///
    /// When the system does not say which.
    fn children(&mut self, news: &mut Vec<News>) -> io::Result<()>;

    /// Sends the signal to the process group of every rank.
    fn signal(&mut self, signal: i32);

    /// What messages call a rank: with its process and its host.
    fn name(&self, rank: usize) -> String;

    /// Ends what is left of the process group of a rank that has ended.
    fn clear(&mut self, rank: usize);

    /// Starts a rank that has ended again, in its place; what it and its group have still written comes as news before.
    /// Where it runs elsewhere it is only asked for, and [`News::Started`] or [`News::NotStarted`] follows.
    ///
    /// # Errors
    ///
    /// When the system has no process or descriptor to give, or the ranks of this crew cannot be started again.
    fn start_again(&mut self, rank: usize, news: &mut Vec<News>) -> io::Result<()>;

    /// Nobody reads this stream of a rank any more; it learns of it as it would without a launcher: by SIGPIPE.
    fn hush(&mut self, rank: usize, which: usize);

    /// The job is over: ends whatever is left of it. Says what could not be ended.
    fn finish(&mut self) -> Vec<String>;

    /// Whether nothing can come any more.
    fn is_drained(&self) -> bool;

    /// How long output may trickle in once all ranks have ended.
    fn linger(&self) -> Duration;

    /// Reaps what is dead, or is about to be.
    fn bury(&mut self, patience: Duration);
}
