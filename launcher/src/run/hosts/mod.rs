//! The ranks of several hosts as one job: a link to each, and what all of them together do.
//!
//! ```text
//! frame   what is said over it                            pure
//! heart   whether the other end is alive                  pure
//! link    one connection, this end                        agent   the other end
//! ```
//!
//! Nothing starts anywhere before all hosts have answered. From then on a host that is lost has lost its ranks: the job
//! ends as if they had been killed.

mod agent;
mod frame;
mod heart;
mod link;

use super::crew::{Crew, News, Room, Token, Watch};
use super::environment;
use super::input::Input;
use super::job::Job;
use super::processes::{Guard, SELF, watch_input};
use super::rendezvous::ForHosts;
use super::restart::Bounds;
use super::supervisor::Ending;
use crate::cli::{Part, RunOptions, Stdin};
use crate::exit::{Failure, Status};
use crate::hosts::Share;
use crate::signals;
use frame::{Down, PartOf, Start, Up};
use link::{Heard, Link, State};
use signal_hook::consts::SIGCHLD;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::time::{Duration, Instant};

pub(crate) use agent::{RUN_HOST, run_host};

/// How long the last output may take to come from hosts that are told that the job is over.
const LINGER: Duration = Duration::from_secs(3);

/// How long the commands that lead to the hosts may take to end by themselves.
const PARTING: Duration = Duration::from_millis(500);

/// So many hosts are named in a message.
const NAMED: usize = 8;

/// Ranks on several hosts.
pub(super) struct Hosts {
    links: Vec<Link>,
    input: Option<Input>,
    guard: Guard,
    /// What hosts have said that kept the ranks from starting.
    refused: Option<Failure>,
    /// The process id of each rank that has started.
    pids: Vec<i32>,
    over: bool,
}

/// The program at the other end, in words.
fn command(options: &RunOptions, host: &str) -> Result<Vec<String>, Failure> {
    if is_here(host) {
        return Ok(vec![SELF.to_owned(), RUN_HOST.to_owned()]);
    }
    let own;
    let program = match &options.remote {
        Some(program) => program,
        None => {
            let path = std::env::current_exe()
                .map_err(|error| Failure::system("cannot tell where this program is", error))?;
            let path = path.into_os_string().into_string();
            own = path.map_err(|path| {
                Failure::usage(format!(
                    "this program is at {}, which is no text that --rsh could pass on; say by --remote where it is",
                    path.display()
                ))
            })?;
            &own
        }
    };
    Ok(options.rsh.command(host, &[program, RUN_HOST]))
}

/// Whether the name means this host, which needs no way there.
fn is_here(host: &str) -> bool {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let first = name.split('.').next().unwrap_or_default();
    let address: Option<std::net::IpAddr> = host.parse().ok();
    host == "localhost"
        || host == name
        || host == first
        || address.is_some_and(|address| address.is_loopback())
}

impl Hosts {
    /// Calls all hosts, and starts their ranks once all have answered. Returns also whose ranks have ended already.
    ///
    /// # Errors
    ///
    /// When a host does not answer, or cannot start its ranks; or the user has had enough. Then nothing is left behind.
    pub(super) fn start(
        job: &mut Job,
        options: &RunOptions,
        shares: Vec<Share>,
        of: &[usize],
        rendezvous: &ForHosts,
        nofile: u64,
    ) -> Result<(Self, Vec<(usize, Ending)>), Failure> {
        let mut hosts = Self {
            links: Vec::with_capacity(shares.len()),
            input: None,
            guard: Guard::start()?,
            refused: None,
            pids: vec![0; of.len()],
            over: false,
        };
        let outcome = hosts.call(options, shares, rendezvous, nofile).and_then(|()| {
            hosts.connect_input(options.stdin)?;
            hosts.bring_up(job, options, of, rendezvous)
        });
        match outcome {
            Ok(ended) => Ok((hosts, ended)),
            Err(failure) => {
                hosts.give_up(job);
                Err(failure)
            }
        }
    }

    fn call(
        &mut self,
        options: &RunOptions,
        shares: Vec<Share>,
        rendezvous: &ForHosts,
        nofile: u64,
    ) -> Result<(), Failure> {
        for share in shares {
            let words = command(options, &share.host)?;
            let host = share.host.clone();
            let link = Link::call(share, &words, nofile, rendezvous.peer_timeout)
                .map_err(|error| Failure::system(format!("cannot start the command for {host}"), error))?;
            self.guard.add(link.pid);
            self.links.push(link);
        }
        Ok(())
    }

    /// A pipe for each host that has a rank which reads the launcher's input.
    fn connect_input(&mut self, stdin: Stdin) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::system("cannot pass the standard input on", error);
        let mut input = match stdin {
            Stdin::None => return Ok(()),
            Stdin::All | Stdin::Rank(_) => Input::new(io::stdin()).map_err(failed)?,
        };
        for (index, link) in self.links.iter_mut().enumerate() {
            if reader(stdin, &link.share) == Stdin::None {
                continue;
            }
            let (from, to): (PipeReader, _) = io::pipe().map_err(failed)?;
            rustix::io::ioctl_fionbio(&from, true).map_err(|error| failed(error.into()))?;
            link.input = Some(OwnedFd::from(from).into());
            // Until the ranks run, nothing is passed on.
            link.feeding = true;
            input.add(index, to).map_err(failed)?;
        }
        self.input = Some(input);
        Ok(())
    }

    fn bring_up(
        &mut self,
        job: &mut Job,
        options: &RunOptions,
        of: &[usize],
        rendezvous: &ForHosts,
    ) -> Result<Vec<(usize, Ending)>, Failure> {
        let until = Instant::now().checked_add(rendezvous.timeout);
        let mut ended = Vec::new();
        let mut started = false;
        loop {
            let failed = |error: io::Error| Failure::system("cannot wait for the hosts", error);
            let ready = job.poll(self, until).map_err(failed)?;
            let mut news = Vec::new();
            for token in ready {
                self.ready(token, &mut news);
            }
            let signals: Vec<i32> = job.signals().collect();
            if signals.contains(&SIGCHLD) {
                self.children(&mut news).map_err(failed)?;
            }
            self.tick(Instant::now(), &|_, _| true, &mut news);
            ended.extend(job.tell(news));
            if let Some(signal) = signals.into_iter().find(|signal| signals::ENDING.contains(signal)) {
                let message = format!("received {}; nothing was started on all hosts", signals::name(signal));
                return Err(Failure { status: Status::signal(signal), message });
            }
            if let Some(failure) = self.refused.take() {
                return Err(failure);
            }
            if let Some((link, why)) = self.links.iter().find_map(|link| match &link.state {
                State::Lost(why) => Some((link, why)),
                _ => None,
            }) && link.alive.contains(&true)
            {
                return Err(Failure::system(format!("cannot start ranks on {}", link.host()), why));
            }
            if !started && self.links.iter().all(|link| link.state == State::Greeted) {
                started = true;
                for link in &mut self.links {
                    let start = start(options, &link.share, of, rendezvous)?;
                    let said = link.say(&Down::Start(Box::new(start)));
                    said.map_err(|why| {
                        Failure::usage(format!("cannot tell {} what to start: {why}", link.host()))
                    })?;
                }
            }
            if self.links.iter().all(|link| matches!(link.state, State::Started | State::Lost(_))) {
                return Ok(ended);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(self.late(rendezvous.timeout));
            }
        }
    }

    /// Which hosts have kept the others waiting.
    fn late(&self, timeout: Duration) -> Failure {
        let stage = if self.links.iter().any(|link| link.state == State::Called) {
            (State::Called, "have not answered")
        } else {
            (State::Greeted, "have not started their ranks")
        };
        let late: Vec<&str> =
            self.links.iter().filter(|link| link.state == stage.0).map(Link::host).collect();
        let more = late.len().saturating_sub(NAMED);
        let mut names = late.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        if more > 0 {
            names.push_str(&format!(" and {more} more"));
        }
        let within = humantime::format_duration(timeout);
        Failure {
            status: Status::SYSTEM,
            message: format!(
                "{names}: hosts that {} within {within}; look whether --rsh leads there, or raise RINGWORLD_TIMEOUT",
                stage.1
            ),
        }
    }

    /// Ends what has been started.
    fn give_up(&mut self, job: &mut Job) {
        self.links.iter_mut().for_each(Link::hang_up);
        let until = Instant::now() + LINGER;
        let mut news = Vec::new();
        while !self.is_drained() && Instant::now() < until {
            for token in job.poll(self, Some(until)).unwrap_or_default() {
                self.ready(token, &mut news);
            }
            let _ = job.signals().count();
            self.tick(Instant::now(), &|_, _| true, &mut news);
        }
        // That the commands end now is no news.
        self.bury(PARTING);
        // What they have said before comes before what the launcher makes of it; if it cannot wait, it goes without.
        let _ = job.wait_for_reader();
    }

    /// Makes of what a host has said what has happened to ranks of the job.
    fn understand(&mut self, index: usize, heard: Vec<Heard>, news: &mut Vec<News>) {
        let Some(link) = self.links.get_mut(index) else { return };
        let rank = |local: u32, count: usize| usize::try_from(local).ok().filter(|local| *local < count);
        let (first, count) = (link.share.first, link.share.count);
        for heard in heard {
            let up = match heard {
                Heard::Said(sentence) => {
                    news.push(News::Say(sentence));
                    continue;
                }
                Heard::Up(up) => up,
            };
            match up {
                Up::Started(pids) if pids.len() == count && link.state == State::Greeted => {
                    link.state = State::Started;
                    link.feeding = false;
                    self.pids.iter_mut().skip(first).zip(pids).for_each(|(place, pid)| *place = pid);
                }
                Up::Failed { status, message } if link.state == State::Greeted => {
                    let message = format!("{}: {message}", link.host());
                    // The first reason stands; others most often have the same.
                    self.refused.get_or_insert(Failure { status: Status(status), message });
                }
                Up::Output { rank: local, which, bytes } => {
                    let (Some(rank), Ok(which)) = (rank(local, count), usize::try_from(which)) else {
                        continue;
                    };
                    link.owe(bytes.len());
                    news.push(News::Output { rank: first + rank, which, bytes });
                }
                Up::Closed { rank: local, which } => {
                    let (Some(rank), Ok(which)) = (rank(local, count), usize::try_from(which)) else {
                        continue;
                    };
                    news.push(News::Closed { rank: first + rank, which });
                }
                Up::Ended { rank: local, ending } => {
                    let Some(rank) = rank(local, count) else { continue };
                    if link.alive.get_mut(rank).is_some_and(std::mem::take) {
                        news.push(News::Ended { rank: first + rank, ending });
                    }
                }
                Up::Say(sentence) => news.push(News::Say(format!("{}: {sentence}", link.host()))),
                Up::InputTaken => link.feeding = false,
                Up::InputClosed => {
                    link.input = None;
                    self.input.iter_mut().for_each(|input| input.close_rank(index));
                }
                Up::Alive => {}
                Up::Again { rank: local, pid } => {
                    let Some(rank) = rank(local, count) else { continue };
                    if let Some(place) = self.pids.get_mut(first + rank) {
                        *place = pid;
                    }
                    news.push(News::Started { rank: first + rank });
                }
                Up::NotAgain { rank: local, why } => {
                    let Some(rank) = rank(local, count) else { continue };
                    if link.alive.get_mut(rank).is_some_and(std::mem::take) {
                        news.push(News::NotStarted { rank: first + rank, why });
                    }
                }
                Up::Started(_) | Up::Failed { .. } => {
                    link.lose("it has said something that is out of turn".to_owned());
                }
            }
        }
        self.mourn(index, news);
    }

    /// The link to the host of a rank, and the rank's number there.
    fn place(&mut self, rank: usize) -> Option<(&mut Link, u32)> {
        let here = |link: &&mut Link| (link.share.first..link.share.first + link.share.count).contains(&rank);
        let link = self.links.iter_mut().find(here)?;
        let local = u32::try_from(rank - link.share.first).unwrap_or(u32::MAX);
        Some((link, local))
    }

    /// The ranks of a host that is lost are lost with it.
    fn mourn(&mut self, index: usize, news: &mut Vec<News>) {
        let Some(link) = self.links.get_mut(index) else { return };
        let State::Lost(why) = &link.state else { return };
        if self.over
            || !link.alive.contains(&true)
            || self.pids.get(link.share.first).is_none_or(|pid| *pid == 0)
        {
            return;
        }
        news.push(News::Say(format!("lost the connection to {}: {why}", link.share.host)));
        for (local, alive) in link.alive.iter_mut().enumerate() {
            if std::mem::take(alive) {
                news.push(News::Ended { rank: link.share.first + local, ending: Ending::Lost });
            }
        }
        self.input.iter_mut().for_each(|input| input.close_rank(index));
    }
}

/// Who of the ranks of a host reads the launcher's input.
fn reader(stdin: Stdin, share: &Share) -> Stdin {
    match stdin {
        Stdin::Rank(rank) => match rank.checked_sub(share.first) {
            Some(local) if local < share.count => Stdin::Rank(local),
            _ => Stdin::None,
        },
        all_or_none => all_or_none,
    }
}

/// What a host is told.
fn start(options: &RunOptions, share: &Share, of: &[usize], rendezvous: &ForHosts) -> Result<Start, Failure> {
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let folder = std::env::current_dir()
        .map_err(|error| Failure::system("cannot tell in which folder this is", error))?
        .into_os_string()
        .into_vec();
    let part = |part: &Part| PartOf {
        program: part.program.iter().map(|word| word.as_bytes().to_vec()).collect(),
        wdir: part.wdir.as_ref().map(|folder| folder.as_os_str().as_bytes().to_vec()),
        mpi: part.mpi,
        env: part.env.iter().map(|assignment| (assignment.key.clone(), assignment.value.clone())).collect(),
    };
    let passed = environment::passed_on(std::env::vars_os());
    Ok(Start {
        folder,
        parts: [&options.first].into_iter().chain(&options.more).map(part).collect(),
        of: of.iter().skip(share.first).take(share.count).map(|part| small(*part)).collect(),
        first: small(share.first),
        all: small(of.len()),
        nodes: rendezvous.nodes.map(small),
        places: rendezvous.places.clone(),
        job: rendezvous.job.clone(),
        secret: rendezvous.secret.expose().to_vec(),
        passed: passed.into_iter().map(|(name, value)| (name.into_vec(), value.into_vec())).collect(),
        bind_to: options.bind_to,
        stdin: reader(options.stdin, share),
        elastic: rendezvous
            .elastic
            .map(|Bounds { min_ranks, max_ranks }| [min_ranks, max_ranks].map(|bound| bound.map(small))),
        again: rendezvous.mending.is_some_and(|limits| limits.restarts > 0),
        patience: rendezvous
            .peer_timeout
            .map(|patience| u64::try_from(patience.as_millis()).unwrap_or(u64::MAX)),
    })
}

impl Crew for Hosts {
    fn watch<'a>(&'a self, _room: Room<'_>, watch: &mut Watch<'a>) {
        watch_input(self.input.as_ref(), watch);
        self.links.iter().enumerate().for_each(|(index, link)| link.watch(index, watch));
    }

    fn ready(&mut self, token: Token, news: &mut Vec<News>) {
        let mut heard = Vec::new();
        let index = match token {
            Token::Input => return self.input.iter_mut().for_each(Input::read),
            Token::InputOf(host) => return self.input.iter_mut().for_each(|input| input.write(host)),
            Token::FromHost(index)
            | Token::WordsOf(index)
            | Token::ToHost(index)
            | Token::InputFor(index) => index,
            _ => return,
        };
        let Some(link) = self.links.get_mut(index) else { return };
        match token {
            Token::FromHost(_) => drop(link.read(&mut heard)),
            Token::WordsOf(_) => drop(link.read_words(&mut heard)),
            Token::ToHost(_) => link.write(),
            _ => link.pass_input(),
        }
        self.understand(index, heard, news);
    }

    fn tick(&mut self, now: Instant, room: Room<'_>, news: &mut Vec<News>) {
        for index in 0..self.links.len() {
            let mut heard = Vec::new();
            let Some(link) = self.links.get_mut(index) else { continue };
            link.tick(now, &mut heard);
            let ranks = link.share.first..link.share.first + link.share.count;
            if ranks.into_iter().all(|rank| [0, 1].into_iter().all(|which| room(rank, which))) {
                link.settle();
            }
            self.understand(index, heard, news);
        }
    }

    fn children(&mut self, news: &mut Vec<News>) -> io::Result<()> {
        for index in 0..self.links.len() {
            let mut heard = Vec::new();
            if let Some(link) = self.links.get_mut(index) {
                link.look(&mut heard)?;
            }
            self.understand(index, heard, news);
        }
        Ok(())
    }

    fn signal(&mut self, signal: i32) {
        for link in self.links.iter_mut().filter(|link| !link.is_lost()) {
            // It is short.
            let _ = link.say(&Down::Signal(signal));
        }
    }

    fn name(&self, rank: usize) -> String {
        let pid = self.pids.get(rank).copied().unwrap_or(0);
        let mut shares = self.links.iter().map(|link| &link.share);
        let share = shares.find(|share| (share.first..share.first + share.count).contains(&rank));
        let host = share.map_or("no host", |share| share.host.as_str());
        format!("rank {rank} (pid {pid}) on {host}")
    }

    fn clear(&mut self, rank: usize) {
        if let Some((link, rank)) = self.place(rank) {
            // It is short.
            let _ = link.say(&Down::Clear { rank });
        }
    }

    fn start_again(&mut self, rank: usize, _news: &mut Vec<News>) -> io::Result<()> {
        let (link, local) = self.place(rank).ok_or(io::ErrorKind::NotFound)?;
        if link.is_lost() {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "its host is lost"));
        }
        // From here on it may end, or be lost with its host.
        let first = link.share.first;
        link.alive.get_mut(rank - first).into_iter().for_each(|alive| *alive = true);
        link.say(&Down::Again { rank: local }).map_err(io::Error::other)
    }

    fn hush(&mut self, rank: usize, which: usize) {
        let which = u32::try_from(which).unwrap_or(u32::MAX);
        if let Some((link, rank)) = self.place(rank) {
            // It is short.
            let _ = link.say(&Down::Hush { rank, which });
        }
    }

    fn finish(&mut self) -> Vec<String> {
        if !std::mem::replace(&mut self.over, true) {
            if let Some(input) = &mut self.input {
                input.close();
            }
            self.links.iter_mut().for_each(Link::finish);
        }
        Vec::new()
    }

    fn is_drained(&self) -> bool {
        self.links.iter().all(Link::is_drained)
    }

    fn linger(&self) -> Duration {
        LINGER
    }

    fn bury(&mut self, patience: Duration) {
        self.links.iter_mut().for_each(Link::hang_up);
        let until = Instant::now() + patience.max(PARTING);
        self.links.iter_mut().for_each(|link| link.bury(until));
        self.guard.dismiss();
    }
}
