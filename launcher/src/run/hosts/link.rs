//! The connection to one host: a command such as ssh, and at its other end a helper, which has that host's ranks.
//!
//! Neighbours: `frame` is what is said, [`Hosts`](super::Hosts) has a link for each host and makes one job of them.

use super::super::crew::{Token, Watch};
use super::super::output::Lines;
use super::super::processes::tied;
use super::frame::{self, Decoder, Down, Greeting, LONGEST_NOISE, Up, VERSION, WINDOW};
use super::heart::Heart;
use crate::hosts::Share;
use crate::signals;
use rustix::event::PollFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take to end once its output has.
const PARTING: Duration = Duration::from_millis(500);

/// Reads per look at a command that has ended.
const LAST_READS: usize = 64;

/// How far the host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has not answered.
    Called,
    /// A helper of this version has.
    Greeted,
    /// Its ranks run, or have run.
    Started,
    /// There is no connection any more, and why.
    Lost(String),
}

/// What came by a link.
pub(super) enum Heard {
    Up(Up),
    /// Something that the user should know.
    Said(String),
}

pub(super) struct Link {
    pub(super) share: Share,
    pub(super) state: State,
    /// What was started, as messages name it.
    command: String,
    child: Child,
    pub(super) pid: Pid,
    to: Option<File>,
    /// What does not fit into the pipe yet.
    queue: Vec<u8>,
    /// Nothing is said after what is in the queue.
    closing: bool,
    from: Option<File>,
    words: Option<File>,
    lines: Lines,
    greeting: Vec<u8>,
    /// How much has come before the greeting.
    noise: usize,
    decoder: Decoder,
    heart: Heart,
    /// Since when nothing can come any more.
    parting: Option<Instant>,
    ended: Option<String>,
    /// Output that has been printed, for which no room was announced yet.
    owed: usize,
    /// Where the launcher's input for this host comes from, and whether some is on its way.
    pub(super) input: Option<File>,
    pub(super) feeding: bool,
    /// Ranks that have not ended, counted from the first.
    pub(super) alive: Vec<bool>,
}

impl Link {
    /// Starts the command.
    ///
    /// # Errors
    ///
    /// When the system has no process or descriptor to give.
    pub(super) fn call(
        share: Share,
        words: &[String],
        nofile: u64,
        patience: Option<Duration>,
    ) -> io::Result<Self> {
        let program: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut command = tied(&program, nofile, super::super::cores::UNBOUND);
        // It is told to the ranks in another way; nobody else has use for it.
        command.env_remove("RINGWORLD_SECRET");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        let file = |fd: Option<OwnedFd>| -> io::Result<Option<File>> {
            let Some(fd) = fd else { return Ok(None) };
            rustix::io::ioctl_fionbio(&fd, true)?;
            Ok(Some(File::from(fd)))
        };
        let to = child.stdin.take().map(OwnedFd::from);
        let from = child.stdout.take().map(OwnedFd::from);
        let said = child.stderr.take().map(OwnedFd::from);
        let alive = vec![true; share.count];
        Ok(Self {
            share,
            state: State::Called,
            command: words.join(" "),
            child,
            pid,
            to: file(to)?,
            queue: Vec::new(),
            closing: false,
            from: file(from)?,
            words: file(said)?,
            lines: Lines::default(),
            greeting: Vec::new(),
            noise: 0,
            decoder: Decoder::default(),
            heart: Heart::new(patience, Instant::now()),
            parting: None,
            ended: None,
            owed: 0,
            input: None,
            feeding: false,
            alive,
        })
    }

    pub(super) fn host(&self) -> &str {
        &self.share.host
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost(_))
    }

    pub(super) fn watch<'a>(&'a self, index: usize, watch: &mut Watch<'a>) {
        let mut add = |file: &'a Option<File>, flags, token| {
            if let Some(file) = file {
                watch.add(file.as_fd(), flags, token);
            }
        };
        add(&self.from, PollFlags::IN, Token::FromHost(index));
        add(&self.words, PollFlags::IN, Token::WordsOf(index));
        if !self.queue.is_empty() {
            add(&self.to, PollFlags::OUT, Token::ToHost(index));
        }
        if !self.feeding {
            add(&self.input, PollFlags::IN, Token::InputFor(index));
        }
        self.lines.due().into_iter().for_each(|due| watch.until(due));
        if !self.is_lost() {
            self.heart.deadline().into_iter().for_each(|deadline| watch.until(deadline));
            self.parting.into_iter().for_each(|since| watch.until(since + PARTING));
        }
    }

    /// Says it to the helper, as soon as there is room.
    pub(super) fn say(&mut self, down: &Down) -> Result<(), String> {
        if self.to.is_some() {
            self.queue.extend(frame::encode(down)?);
            self.write();
        }
        Ok(())
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self) {
        let Some(to) = &mut self.to else { return };
        while !self.queue.is_empty() {
            match to.write(&self.queue) {
                Ok(count) => drop(self.queue.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Why will show by how the command ends.
                    self.queue.clear();
                    self.to = None;
                    return;
                }
            }
        }
        if self.closing {
            self.to = None;
        }
    }

    /// Says that the job is over, and nothing more: some commands end only when their input does.
    pub(super) fn finish(&mut self) {
        self.closing = true;
        // It is short.
        let _ = self.say(&Down::Finish);
    }

    /// Reads once; says whether there may be more.
    pub(super) fn read(&mut self, heard: &mut Vec<Heard>) -> bool {
        let Some(from) = &mut self.from else { return false };
        let mut buffer = [0; 64 * 1024];
        let bytes = match from.read(&mut buffer) {
            Ok(n @ 1..) => buffer.get(..n).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return true,
            Ok(_) | Err(_) => {
                self.from = None;
                self.parting = Some(Instant::now());
                return false;
            }
        };
        self.heart.heard(Instant::now());
        if self.state == State::Called {
            self.greeting.extend_from_slice(bytes);
            self.noise += bytes.len();
            self.greet(heard);
        } else {
            self.decoder.push(bytes);
        }
        loop {
            match self.decoder.next() {
                Ok(Some(up)) => heard.push(Heard::Up(up)),
                Ok(None) => return true,
                Err(why) => {
                    self.lose(format!("it has sent {why}"));
                    return false;
                }
            }
        }
    }

    /// Looks for the helper's first line, behind what others may say before it.
    fn greet(&mut self, heard: &mut Vec<Heard>) {
        loop {
            match frame::greeting(&mut self.greeting) {
                Greeting::Noise(_) | Greeting::Unfinished if self.noise > LONGEST_NOISE => {
                    return self.lose("something else than ringworld answers there".to_owned());
                }
                Greeting::Noise(line) => heard.push(Heard::Said(format!("{}: {line}", self.host()))),
                Greeting::Version(version) if version == VERSION => {
                    self.state = State::Greeted;
                    let rest = std::mem::take(&mut self.greeting);
                    return self.decoder.push(&rest);
                }
                Greeting::Version(version) => {
                    return self.lose(format!(
                        "ringworld there is of version {version}, and this one of {VERSION}; install the same on all \
                         hosts, or say by --remote where it is"
                    ));
                }
                Greeting::Unfinished => return,
            }
        }
    }

    /// What the command itself has to say, such as that a host is unknown.
    pub(super) fn read_words(&mut self, heard: &mut Vec<Heard>) -> bool {
        let mut buffer = [0; 4096];
        let Some(words) = &mut self.words else { return false };
        let (said, more) = match words.read(&mut buffer) {
            Ok(n @ 1..) => (self.lines.push(buffer.get(..n).unwrap_or_default(), Instant::now()), true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return true,
            Ok(_) | Err(_) => {
                self.words = None;
                (self.lines.take(), false)
            }
        };
        self.repeat(&said, heard);
        more
    }

    fn repeat(&self, said: &[u8], heard: &mut Vec<Heard>) {
        let text = String::from_utf8_lossy(said);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        heard.extend(lines.map(|line| Heard::Said(format!("{}: {}", self.host(), line.trim_end()))));
    }

    /// Looks whether the command has ended; if so, reads all that there is. It is not reaped yet.
    ///
    /// # Errors
    ///
    /// When the system does not say.
    pub(super) fn look(&mut self, heard: &mut Vec<Heard>) -> io::Result<()> {
        if self.ended.is_some() {
            return Ok(());
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(status) = waitid(WaitId::Pid(self.pid), options)? else { return Ok(()) };
        let _ = (0..LAST_READS).take_while(|_| self.read(heard)).count();
        let _ = (0..LAST_READS).take_while(|_| self.read_words(heard)).count();
        let how = match (status.terminating_signal(), status.exit_status()) {
            (Some(signal), _) => format!("was killed by signal {signal} ({})", signals::name(signal)),
            (None, Some(127)) if self.state == State::Called => {
                "ended with status 127, as a shell does that does not find a program: install ringworld there, or say \
                 where it is by --remote"
                    .to_owned()
            }
            (None, status) => format!("ended with status {}", status.unwrap_or(0)),
        };
        let how = format!("`{}` {how}", self.command);
        self.ended = Some(how.clone());
        self.lose(how);
        Ok(())
    }

    /// Looks at the time.
    pub(super) fn tick(&mut self, now: Instant, heard: &mut Vec<Heard>) {
        if self.lines.due().is_some_and(|due| now >= due) {
            let said = self.lines.take();
            self.repeat(&said, heard);
        }
        if self.is_lost() {
            return;
        }
        if self.parting.is_some_and(|since| now >= since + PARTING) {
            self.lose(format!("`{}` has closed the connection", self.command));
        } else if self.heart.tick(now) && self.queue.is_empty() && self.state != State::Called {
            // It is short.
            let _ = self.say(&Down::Alive);
        }
        // Before it has started ranks, it may take as long as the launcher allows.
        if self.state == State::Started && self.heart.is_silent(now) {
            self.lose("it has been silent for longer than RINGWORLD_PEER_TIMEOUT".to_owned());
        }
    }

    /// Output has come.
    pub(super) fn owe(&mut self, bytes: usize) {
        self.owed += bytes;
    }

    /// Lets more output come, if there is room.
    pub(super) fn settle(&mut self) {
        if self.owed >= WINDOW / 4
            && let Ok(bytes) = u32::try_from(self.owed)
        {
            self.owed = 0;
            // It is short.
            let _ = self.say(&Down::Room(bytes));
        }
    }

    /// Passes on what there is of the launcher's input.
    pub(super) fn pass_input(&mut self) {
        let Some(input) = &mut self.input else { return };
        let mut buffer = [0; 64 * 1024];
        let down = match input.read(&mut buffer) {
            Ok(n @ 1..) => {
                self.feeding = true;
                Down::Input(buffer.get(..n).unwrap_or_default().to_vec())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return;
            }
            Ok(_) | Err(_) => {
                self.input = None;
                Down::InputEnd
            }
        };
        // It is far shorter than what fits.
        let _ = self.say(&down);
    }

    /// Has no hope any more. The first reason stands.
    pub(super) fn lose(&mut self, why: String) {
        if !self.is_lost() {
            self.state = State::Lost(why);
            (self.to, self.from, self.input) = (None, None, None);
            self.queue.clear();
            if self.ended.is_none() {
                // Its end is what the helper notices, if it still runs.
                self.kill();
            }
        }
    }

    /// The helper's input ends, which ends it.
    pub(super) fn hang_up(&mut self) {
        self.queue.clear();
        self.to = None;
    }

    pub(super) fn is_drained(&self) -> bool {
        self.from.is_none()
    }

    /// Kills the command.
    pub(super) fn kill(&self) {
        // It is not reaped yet, so the number is its own.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// Reaps the command; kills it if it does not end until then.
    pub(super) fn bury(&mut self, until: Instant) {
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= until {
                self.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
