//! `ringworld run-host`: the ranks of one host of a job whose launcher is elsewhere.
//!
//! It does as the launcher says, over its standard input, and decides nothing. When that input ends, or nothing has
//! come for too long, the launcher or the way to it is gone, and the ranks are killed. Should this process be killed
//! itself, its guard and the kernel end them, as those of any launcher.

use super::super::complain::complain;
use super::super::crew::{Crew as _, News, Token, Watch};
use super::super::environment::{self, Plan, Rendezvous};
use super::super::job::{Signals, listen, waker};
use super::super::processes::{Processes, Spec, hand_to_ranks, raise_open_files};
use super::super::restart::Bounds;
use super::super::sink::Sink;
use super::super::{parts, rendezvous};
use super::frame::{self, Decoder, Down, GREETING, Start, Up, VERSION, WINDOW};
use super::heart::Heart;
use crate::cli::{Assignment, Endpoint, Part};
use crate::exit::{Failure, Status};
use crate::signals;
use ringworld_auth::Secret;
use ringworld_bootstrap::{Answer, Settings, Sighting, interfaces};
use rustix::event::PollFlags;
use signal_hook::consts::{SIGCHLD, SIGTSTP};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IsTerminal as _, PipeReader, Read as _, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// First argument of this role; everything else comes over its standard input.
pub(crate) const RUN_HOST: &str = "run-host";

/// How long the launcher may be silent before it has said how long.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the last words may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Serves the launcher at the other end of this process's standard input and output.
pub(crate) fn run_host(mut arguments: impl Iterator<Item = OsString>) -> Status {
    if arguments.next().is_some() || io::stdin().is_terminal() {
        complain("run-host is for the launcher's own use; use `ringworld run --hosts`");
        return Status::USAGE;
    }
    match Agent::open().and_then(Agent::serve) {
        Ok(()) => Status::SUCCESS,
        Err(Failure { status, message }) => {
            complain(&message);
            status
        }
    }
}

/// The connection to the launcher.
struct Agent {
    signals: Signals,
    woken: UnixStream,
    to: Sink,
    from: File,
    decoder: Decoder,
    /// How many more bytes of output there is room for.
    room: usize,
    heart: Heart,
    /// The launcher has said that it sleeps (Ctrl-Z).
    asleep: bool,
    over: bool,
    feed: Feed,
}

/// The launcher's input on its way to the ranks' pipes.
#[derive(Default)]
struct Feed {
    pipe: Option<File>,
    rest: Vec<u8>,
    /// Nothing comes after what is there.
    end: bool,
}

impl Agent {
    fn open() -> Result<Self, Failure> {
        let system = |error: io::Error| Failure::system("cannot serve the launcher", error);
        let signals = listen().map_err(system)?;
        let (woken, waker) = waker().map_err(system)?;
        let to = Sink::start(io::stdout(), &waker).map_err(system)?;
        let from = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(system)?);
        to.write(format!("{GREETING}{VERSION}\n").as_bytes());
        Ok(Self {
            signals,
            woken,
            to,
            from,
            decoder: Decoder::default(),
            room: WINDOW,
            heart: Heart::new(Some(PATIENCE), Instant::now()),
            asleep: false,
            over: false,
            feed: Feed::default(),
        })
    }

    fn say(&self, up: &Up) {
        // Nothing that is said here is too long for a frame.
        if let Ok(bytes) = frame::encode(up) {
            self.to.write(&bytes);
        }
    }

    fn serve(mut self) -> Result<(), Failure> {
        let Some(start) = self.wait_for_start()? else {
            self.flush();
            return Ok(());
        };
        self.heart = Heart::new(start.patience.map(Duration::from_millis), Instant::now());
        match self.start(start) {
            Ok(mut ranks) => {
                self.say(&Up::Started(ranks.pids()));
                let outcome = self.attend(&mut ranks);
                self.depart(&mut ranks);
                outcome
            }
            Err(Failure { status, message }) => {
                self.say(&Up::Failed { status: status.0, message });
                self.flush();
                Ok(())
            }
        }
    }

    /// `None` when the launcher has gone.
    fn wait_for_start(&mut self) -> Result<Option<Box<Start>>, Failure> {
        loop {
            let deadline = self.heart.deadline();
            let mut watch = self.watched();
            deadline.into_iter().for_each(|deadline| watch.until(deadline));
            let ready =
                watch.wait().map_err(|error| Failure::system("cannot wait for the launcher", error))?;
            if ready.contains(&Token::Signals)
                && self.signals.pending().any(|signal| signals::ENDING.contains(&signal))
            {
                return Ok(None);
            }
            if ready.contains(&Token::Above) {
                self.read();
            }
            while let Some(down) = self.next() {
                if let Down::Start(start) = down {
                    return Ok(Some(start));
                }
            }
            self.beat();
            if self.over {
                return Ok(None);
            }
        }
    }

    fn watched(&self) -> Watch<'_> {
        let mut watch = Watch::default();
        watch.add(self.signals.get_read().as_fd(), PollFlags::IN, Token::Signals);
        watch.add(self.woken.as_fd(), PollFlags::IN, Token::Waker);
        watch.add(self.from.as_fd(), PollFlags::IN, Token::Above);
        if let Some(pipe) = &self.feed.pipe {
            // With nothing to write it only tells that nobody reads any more.
            let flags = if self.feed.rest.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            watch.add(pipe.as_fd(), flags, Token::Feed);
        }
        watch
    }

    /// Reads once from the launcher.
    fn read(&mut self) {
        let mut buffer = [0; 64 * 1024];
        match self.from.read(&mut buffer) {
            Ok(0) => self.over = true,
            Ok(n) => {
                self.asleep = false;
                self.heart.heard(Instant::now());
                self.decoder.push(buffer.get(..n).unwrap_or_default());
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(_) => self.over = true,
        }
    }

    /// What the launcher says next.
    fn next(&mut self) -> Option<Down> {
        match self.decoder.next() {
            Ok(down) => down,
            Err(why) => {
                self.say(&Up::Say(format!("the launcher has sent {why}")));
                self.over = true;
                None
            }
        }
    }

    /// Shows that this end is alive, and looks whether the other is.
    fn beat(&mut self) {
        let now = Instant::now();
        if self.heart.tick(now) && self.to.is_empty() {
            self.say(&Up::Alive);
        }
        self.over |= self.to.is_abandoned() || self.to.take_lost().is_some();
        self.over |= !self.asleep && self.heart.is_silent(now);
    }

    fn start(&mut self, start: Box<Start>) -> Result<Processes, Failure> {
        let parts: Vec<Part> = start.parts.into_iter().map(part).collect();
        let of: Vec<usize> = start.of.iter().map(|part| number(*part)).collect();
        work_in(Path::new(OsStr::from_bytes(&start.folder)), &parts)?;
        let system = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| Failure::system(what, error)
        };
        let text = |bytes: Vec<u8>| OsString::from_vec(bytes);
        let mut passed: Vec<_> =
            start.passed.into_iter().map(|(name, value)| (text(name), text(value))).collect();
        passed.retain(|(name, _)| name.to_str().is_some_and(|name| !environment::is_secret(name)));
        let secret = Secret::new(start.secret);
        let nodes = start.nodes.map(number);
        let rendezvous =
            |master| Rendezvous::Above { master, nodes, first: number(start.first), all: number(start.all) };
        let first = start
            .places
            .first()
            .cloned()
            .ok_or_else(|| Failure::usage("the launcher has not said where the ranks meet".to_owned()))?;
        let mut plan = Plan {
            job: Some(start.job),
            passed,
            elastic: start.elastic.map(|bounds| {
                let [min_ranks, max_ranks] = bounds.map(|bound| bound.map(number));
                Bounds { min_ranks, max_ranks }
            }),
            threads: parts::threads(of.len(), start.bind_to),
            ..Plan::new(of.len(), rendezvous(first))
        };
        let mut settings = rendezvous::settings(&plan, &parts.first().map_or(Vec::new(), |p| p.env.clone()))?;
        settings.secret = secret.clone();
        match nearest(&settings, &start.places) {
            Ok(place) => plan.rendezvous = rendezvous(place),
            // Programs that form no world need none.
            Err(why) => self.say(&Up::Say(why)),
        }
        // Before it is needed: whatever led here has given back what the first launcher had.
        let nofile = raise_open_files();
        plan.secret = Some(hand_to_ranks(&secret, of.len())?);
        let ranks = parts::prepare(&parts, &of, &plan, start.bind_to)?;
        let (input, feed): (PipeReader, _) = io::pipe().map_err(system("cannot prepare the job"))?;
        let feed = File::from(OwnedFd::from(feed));
        rustix::io::ioctl_fionbio(&feed, true)
            .map_err(|error| system("cannot prepare the job")(error.into()))?;
        let stdin = start.stdin;
        let secret = plan.secret.take();
        let ranks = Processes::start(Spec {
            ranks,
            secret,
            noun: "local rank",
            stdin,
            input: input.as_fd(),
            nofile,
            again: start.again,
        })?;
        self.feed.pipe = (stdin != crate::cli::Stdin::None).then_some(feed);
        Ok(ranks)
    }

    /// Does as it is told, until the job is over.
    fn attend(&mut self, ranks: &mut Processes) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::system("cannot wait for the ranks", error);
        loop {
            while let Some(down) = self.next() {
                self.obey(down, ranks);
            }
            self.beat();
            if self.over {
                return Ok(());
            }
            let has_room = self.room > 0 && self.to.has_room();
            let mut watch = self.watched();
            self.heart.deadline().into_iter().for_each(|deadline| watch.until(deadline));
            ranks.watch(&|_, _| has_room, &mut watch);
            let ready = watch.wait().map_err(failed)?;
            let mut news = Vec::new();
            for token in ready {
                match token {
                    Token::Signals => self.hear(ranks, &mut news).map_err(failed)?,
                    Token::Waker => drop((&self.woken).read(&mut [0; 64])),
                    Token::Above => self.read(),
                    Token::Feed => self.feed(),
                    token => ranks.ready(token, &mut news),
                }
            }
            self.report(news);
        }
    }

    fn hear(&mut self, ranks: &mut Processes, news: &mut Vec<News>) -> io::Result<()> {
        let signals: Vec<i32> = self.signals.pending().collect();
        if signals.contains(&SIGCHLD) {
            ranks.children(news)?;
        }
        // Somebody wants this host's ranks to end; what that means for the job is not decided here.
        signals
            .iter()
            .filter(|signal| signals::ENDING.contains(signal))
            .for_each(|signal| ranks.signal(*signal));
        Ok(())
    }

    fn obey(&mut self, down: Down, ranks: &mut Processes) {
        match down {
            Down::Start(_) | Down::Alive => {}
            Down::Signal(signal) => {
                self.asleep = signal == SIGTSTP;
                ranks.signal(signal);
            }
            Down::Input(bytes) => {
                self.feed.rest = bytes;
                self.feed();
            }
            Down::InputEnd => {
                self.feed.end = true;
                self.feed();
            }
            Down::Room(bytes) => self.room = self.room.saturating_add(number(bytes)),
            Down::Hush { rank, which } => ranks.hush(number(rank), number(which)),
            Down::Finish => self.over = true,
            Down::Clear { rank } => ranks.clear(number(rank)),
            Down::Again { rank } => self.start_again(rank, ranks),
        }
    }

    fn start_again(&mut self, rank: u32, ranks: &mut Processes) {
        let mut news = Vec::new();
        let started = ranks.start_again(number(rank), &mut news);
        self.report(news);
        let pid = ranks.pids().get(number(rank)).copied().unwrap_or(0);
        self.say(&match started {
            Ok(()) => Up::Again { rank, pid },
            Err(error) => Up::NotAgain { rank, why: error.to_string() },
        });
    }

    /// Passes the launcher's input on, as far as there is room.
    fn feed(&mut self) {
        let feed = &mut self.feed;
        let Some(pipe) = &mut feed.pipe else { return };
        let full = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        };
        let had = !feed.rest.is_empty();
        let written = if had {
            pipe.write(&feed.rest)
        } else if feed.end {
            Ok(0)
        } else {
            // Only a pipe that nobody reads is reported without anything to write.
            Err(io::ErrorKind::BrokenPipe.into())
        };
        match written {
            Ok(count) => drop(feed.rest.drain(..count)),
            Err(error) if full(&error) => {}
            Err(_) => {
                *feed = Feed::default();
                return self.say(&Up::InputClosed);
            }
        }
        if feed.rest.is_empty() {
            if feed.end {
                feed.pipe = None;
            }
            if had {
                self.say(&Up::InputTaken);
            }
        }
    }

    fn report(&mut self, news: Vec<News>) {
        let small = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        for news in news {
            let up = match news {
                News::Output { rank, which, bytes } => {
                    self.room = self.room.saturating_sub(bytes.len());
                    Up::Output { rank: small(rank), which: small(which), bytes }
                }
                News::Closed { rank, which } => Up::Closed { rank: small(rank), which: small(which) },
                News::Ended { rank, ending } => Up::Ended { rank: small(rank), ending },
                News::Say(sentence) => Up::Say(sentence),
                // Ranks of this host are started at once or not at all.
                News::Started { .. } | News::NotStarted { .. } => continue,
            };
            self.say(&up);
        }
    }

    /// Ends whatever is left, and says its last words, if there is anybody to hear them.
    fn depart(&mut self, ranks: &mut Processes) {
        self.feed.pipe = None;
        let mut news: Vec<News> = ranks.finish().into_iter().map(News::Say).collect();
        let until = Instant::now() + ranks.linger();
        while !ranks.is_drained() && Instant::now() < until {
            let mut watch = Watch::default();
            watch.until(until);
            ranks.watch(&|_, _| true, &mut watch);
            for token in watch.wait().unwrap_or_default() {
                ranks.ready(token, &mut news);
            }
        }
        self.report(news);
        self.flush();
        ranks.bury(Duration::ZERO);
    }

    fn flush(&self) {
        let until = Instant::now() + LAST_WORDS;
        while !self.to.is_empty() && Instant::now() < until {
            let mut watch = Watch::default();
            watch.add(self.woken.as_fd(), PollFlags::IN, Token::Waker);
            watch.until(until);
            let _ = watch.wait();
            let _ = (&self.woken).read(&mut [0; 64]);
        }
    }
}

fn part(part: frame::PartOf) -> Part {
    Part {
        n: None,
        wdir: part.wdir.map(|folder| PathBuf::from(OsString::from_vec(folder))),
        mpi: part.mpi,
        env: part.env.into_iter().map(|(key, value)| Assignment { key, value }).collect(),
        program: part.program.into_iter().map(OsString::from_vec).collect(),
    }
}

/// Goes where the launcher works, if anything depends on it.
fn work_in(folder: &Path, parts: &[Part]) -> Result<(), Failure> {
    let Err(error) = std::env::set_current_dir(folder) else { return Ok(()) };
    let free = |part: &Part| {
        let program = Path::new(part.program.first().map_or(OsStr::new(""), OsString::as_os_str));
        let found = program.is_absolute() || !program.as_os_str().as_bytes().contains(&b'/');
        found && part.wdir.as_ref().is_some_and(|folder| folder.is_absolute())
    };
    if parts.iter().all(free) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the ranks are to work in {}, where the launcher does: {error}; give a folder that is there on this host by \
         --wdir, and the program's whole path",
        folder.display()
    )))
}

/// The place at which the launcher's rendezvous is found from here; those in a network of this host are tried first.
fn nearest(settings: &Settings, places: &[Endpoint]) -> Result<Endpoint, String> {
    let found = interfaces::enumerate().unwrap_or_default();
    let near = |place: &Endpoint| {
        let address: Option<IpAddr> = place.host.parse().ok();
        address.is_some_and(|address| found.iter().any(|interface| interface.reaches(address)))
    };
    let mut places = places.to_vec();
    // Sorting keeps the order of those that are alike.
    places.sort_by_key(|place| !near(place));
    let mut answers = Vec::new();
    // By loopback only this host's own ranks reach it, whatever else they try.
    let port = places.first().map_or(0, |place| place.port);
    places.push(Endpoint { host: "127.0.0.1".to_owned(), port });
    for place in places {
        let mut settings = settings.clone();
        settings.master_port = place.port;
        match Sighting::of(&settings, &place.host, &found) {
            Ok(Sighting { answer: Answer::Forming { .. } | Answer::Running { .. }, .. }) => return Ok(place),
            Ok(Sighting { answer, .. }) => answers.push(format!("{}:{}: {answer}", place.host, place.port)),
            Err(error) => answers.push(error.to_string()),
        }
    }
    Err(format!(
        "the launcher's rendezvous cannot be reached from here ({}), so ranks cannot form a world; choose its \
         interface by RINGWORLD_IF_INCLUDE, or its address and an open port by --master",
        answers.join("; ")
    ))
}

fn number(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
