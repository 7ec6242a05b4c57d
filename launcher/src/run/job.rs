//! The job: what its ranks write and how they end, the signals to the launcher, and the one loop that waits for all of
//! them.
//!
//! Decisions are `supervisor`'s, bytes are `output`'s, the ranks are a `crew`'s; this file only carries out.

use super::crew::{Crew, ERR, News, OUT, Token, Watch};
use super::output::{Lines, Marks, Stream};
use super::processes::BURIAL;
use super::rendezvous::Witness;
use super::sink::Sink;
use super::supervisor::{Action, Supervisor};
use super::tail::Tail;
use crate::exit::{Failure, Status, why};
use crate::signals;
use rustix::event::PollFlags;
use signal_hook::consts::{SIGCHLD, SIGTSTP};
use signal_hook::iterator::{backend::SignalDelivery, exfiltrator::SignalOnly};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime};

/// So many lines later, what a rank has said is no longer before one's eyes.
const BURIED: u64 = 10;

/// The signals that this process reacts to.
pub(super) type Signals = SignalDelivery<UnixStream, SignalOnly>;

/// Begins to listen to them.
///
/// # Errors
///
/// When the system has no descriptor to give.
pub(super) fn listen() -> io::Result<Signals> {
    let (read, write) = UnixStream::pair()?;
    SignalDelivery::with_pipe(read, write, SignalOnly, signals::listened_to())
}

/// Where a thread that writes pokes the loop that waits: its end, and theirs.
///
/// # Errors
///
/// When the system has no descriptor to give.
pub(super) fn waker() -> io::Result<(UnixStream, UnixStream)> {
    let (woken, waker) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    Ok((woken, waker))
}

struct Rank {
    label: String,
    /// The unfinished lines of both streams.
    lines: [Lines; 2],
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

/// A job: first only what it listens to and writes to, then with ranks.
pub(crate) struct Job {
    ranks: Vec<Rank>,
    channels: [Channel; 2],
    /// The ranks' own, if each has a file.
    files: Vec<Channel>,
    /// Nobody reads these streams any more, and the ranks know.
    hushed: [bool; 2],
    signals: Signals,
    woken: UnixStream,
    /// Lines that were printed.
    lines: u64,
    /// The user would not wait for a reader.
    impatient: bool,
}

impl Job {
    /// Of ranks with these labels, whose output goes to `files`, one for each, or to the launcher's own if there
    /// are none. From here on signals are heard.
    ///
    /// # Errors
    ///
    /// When the system has no descriptor or thread to give.
    pub(crate) fn open(
        labels: Vec<String>,
        marks: Marks,
        files: Vec<(String, File)>,
    ) -> Result<Self, Failure> {
        Self::try_open(labels, marks, files).map_err(|error| Failure::system("cannot prepare the job", error))
    }

    fn try_open(labels: Vec<String>, marks: Marks, files: Vec<(String, File)>) -> io::Result<Self> {
        let signals = listen()?;
        let (woken, waker) = waker()?;
        let channel = |name: &str, sink| Channel { name: name.to_owned(), sink, stream: Stream::new(marks) };
        let channels = [
            channel("standard output", Sink::start(io::stdout(), &waker)?),
            channel("standard error", Sink::start(io::stderr(), &waker)?),
        ];
        let mut own = Vec::with_capacity(files.len());
        for (name, file) in files {
            let sink = Sink::start(file, &waker)?;
            // What tells ranks apart is not needed where each has a file of its own.
            let stream = Stream::new(Marks { tag: false, ..marks });
            own.push(Channel { name, sink, stream });
        }
        let rank = |label| Rank { label, lines: Default::default(), tail: Tail::default(), last: 0 };
        let ranks = labels.into_iter().map(rank).collect();
        Ok(Self {
            ranks,
            channels,
            files: own,
            hushed: [false; 2],
            signals,
            woken,
            lines: 0,
            impatient: false,
        })
    }

    /// Waits until every rank has ended and all output is written; returns what the launcher must return.
    ///
    /// # Errors
    ///
    /// When waiting itself fails; the ranks are killed first.
    pub(crate) fn run(
        mut self,
        crew: &mut dyn Crew,
        mut supervisor: Supervisor,
        witness: &Witness,
    ) -> Result<Status, Failure> {
        let result =
            self.supervise(crew, &mut supervisor, witness).and_then(|()| self.drain(crew, &mut supervisor));
        crew.finish().iter().for_each(|sentence| self.say(sentence));
        // Unless waiting failed, all have ended or were given up.
        crew.bury(if result.is_ok() { Duration::ZERO } else { BURIAL });
        // For what was said since the last wait: that output is lost, and who goes on.
        let waited = self.wait_for_reader();
        let result = result.and(waited);
        result.map_err(|error| Failure::system("cannot wait for the ranks", error))?;
        Ok(supervisor.status())
    }

    fn supervise(
        &mut self,
        crew: &mut dyn Crew,
        supervisor: &mut Supervisor,
        witness: &Witness,
    ) -> io::Result<()> {
        while !supervisor.finished() {
            // What had happened by then is known after this round, and nothing is judged by a later time: others may
            // keep the launcher from the processors until long after a deadline, and a signal that ends the wait tells
            // only by the next what it came for.
            let seen = Instant::now();
            let ready = self.poll(crew, supervisor.deadline())?;
            let mut news = self.move_bytes(crew, &ready);
            let now = Instant::now();
            if ready.contains(&Token::Signals) {
                let signals: Vec<i32> = self.signals.pending().collect();
                for &signal in signals.iter().filter(|&&signal| signal != SIGCHLD) {
                    let actions = supervisor.signalled(now, signal);
                    self.act(crew, supervisor, actions);
                }
                if signals.contains(&SIGCHLD) {
                    crew.children(&mut news)?;
                }
            }
            self.note_restarts(now, &news, crew, supervisor);
            let ended = self.tell(news);
            supervisor.ended(now, ended);
            self.look_for_lost_output(now, crew, supervisor);
            if supervisor.verdict_due(seen) {
                let account = witness.account(supervisor.all_ended());
                let actions = supervisor.conclude(now, &account);
                self.act(crew, supervisor, actions);
            }
            let actions = supervisor.tick(seen, now);
            self.act(crew, supervisor, actions);
        }
        Ok(())
    }

    /// Prints what the ranks left in their pipes, then waits for the launcher's own reader.
    fn drain(&mut self, crew: &mut dyn Crew, supervisor: &mut Supervisor) -> io::Result<()> {
        crew.finish().iter().for_each(|sentence| self.say(sentence));
        let until = Instant::now() + crew.linger();
        while !crew.is_drained() && Instant::now() < until {
            let ready = self.poll(crew, Some(until))?;
            let mut news = self.move_bytes(crew, &ready);
            if self.signals.pending().any(|signal| signal == SIGCHLD) {
                crew.children(&mut news)?;
            }
            self.tell(news);
        }
        for index in 0..self.ranks.len() {
            self.flush(index, OUT);
            self.flush(index, ERR);
        }
        self.repeat(supervisor);
        self.wait_for_reader()?;
        self.look_for_lost_output(Instant::now(), crew, supervisor);
        Ok(())
    }

    /// Waits until all that is to be printed is written. Once the user has had enough, it is never waited again.
    pub(super) fn wait_for_reader(&mut self) -> io::Result<()> {
        while !self.impatient
            && !self.channels.iter().chain(&self.files).all(|channel| channel.sink.is_empty())
        {
            self.poll_own()?;
            let mut sink = [0; 64];
            // Non-blocking: empties the waker, whatever is in it.
            let _ = (&self.woken).read(&mut sink);
            // A reader that never reads must not keep Ctrl-C from working.
            self.impatient = self.signals.pending().any(|signal| signals::ENDING.contains(&signal));
        }
        Ok(())
    }

    /// Waits for something to happen, no longer than until `deadline`, and says what.
    pub(super) fn poll(&self, crew: &dyn Crew, deadline: Option<Instant>) -> io::Result<Vec<Token>> {
        let room = self.room();
        let mut watch = self.watched();
        deadline.into_iter().for_each(|deadline| watch.until(deadline));
        self.ranks
            .iter()
            .flat_map(|rank| &rank.lines)
            .filter_map(Lines::due)
            .for_each(|due| watch.until(due));
        crew.watch(&|rank, which| room.has(rank, which), &mut watch);
        watch.wait()
    }

    fn poll_own(&self) -> io::Result<Vec<Token>> {
        self.watched().wait()
    }

    fn watched(&self) -> Watch<'_> {
        let mut watch = Watch::default();
        watch.add(self.signals.get_read().as_fd(), PollFlags::IN, Token::Signals);
        watch.add(self.woken.as_fd(), PollFlags::IN, Token::Waker);
        watch
    }

    fn room(&self) -> Spare {
        let has_room = |channel: &Channel| channel.sink.has_room();
        Spare { own: self.files.iter().map(has_room).collect(), all: self.channels.each_ref().map(has_room) }
    }

    /// The signals that have come, other than those of children.
    pub(super) fn signals(&mut self) -> impl Iterator<Item = i32> {
        self.signals.pending()
    }

    fn move_bytes(&mut self, crew: &mut dyn Crew, ready: &[Token]) -> Vec<News> {
        let mut news = Vec::new();
        for &token in ready {
            match token {
                Token::Signals => {}
                Token::Waker => {
                    let _ = (&self.woken).read(&mut [0; 64]);
                }
                token => crew.ready(token, &mut news),
            }
        }
        let now = Instant::now();
        let room = self.room();
        crew.tick(now, &|rank, which| room.has(rank, which), &mut news);
        for index in 0..self.ranks.len() {
            for which in [OUT, ERR] {
                let lines = self.ranks.get_mut(index).and_then(|rank| rank.lines.get_mut(which));
                let Some(lines) = lines.filter(|lines| lines.due().is_some_and(|due| now >= due)) else {
                    continue;
                };
                if room.has(index, which) {
                    self.flush(index, which);
                } else {
                    lines.wait(now);
                }
            }
        }
        for which in [OUT, ERR] {
            let abandoned = self.channels.get(which).is_some_and(|channel| channel.sink.is_abandoned());
            if let Some(hushed) = self.hushed.get_mut(which)
                && self.files.is_empty()
                && abandoned
                && !std::mem::replace(hushed, true)
            {
                (0..self.ranks.len()).for_each(|rank| crew.hush(rank, which));
            }
        }
        news
    }

    /// Prints what there is to print; returns who has ended.
    pub(super) fn tell(&mut self, news: Vec<News>) -> Vec<(usize, super::supervisor::Ending)> {
        let mut ended = Vec::new();
        for news in news {
            match news {
                News::Output { rank, which, bytes } => {
                    let Some(lines) = self.ranks.get_mut(rank).and_then(|rank| rank.lines.get_mut(which))
                    else {
                        continue;
                    };
                    let bytes = lines.push(&bytes, Instant::now());
                    self.print(rank, which, &bytes);
                }
                News::Closed { rank, which } => self.flush(rank, which),
                News::Ended { rank, ending } => ended.push((rank, ending)),
                News::Say(sentence) => self.say(&sentence),
                News::Started { .. } | News::NotStarted { .. } => {}
            }
        }
        ended
    }

    /// What has become of ranks that were to be started again elsewhere.
    fn note_restarts(
        &mut self,
        now: Instant,
        news: &[News],
        crew: &mut dyn Crew,
        supervisor: &mut Supervisor,
    ) {
        for news in news {
            match news {
                News::Started { rank } => supervisor.renamed(*rank, crew.name(*rank)),
                News::NotStarted { rank, why } => {
                    let actions = supervisor.not_started(now, *rank, why);
                    self.act(crew, supervisor, actions);
                }
                _ => {}
            }
        }
    }

    /// Prints the unfinished line.
    fn flush(&mut self, index: usize, which: usize) {
        if let Some(lines) = self.ranks.get_mut(index).and_then(|rank| rank.lines.get_mut(which)) {
            let bytes = lines.take();
            self.print(index, which, &bytes);
        }
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
    fn repeat(&mut self, supervisor: &Supervisor) {
        let Some(index) = supervisor.accused() else { return };
        let Some(rank) = self.ranks.get(index) else { return };
        let lines = rank.tail.lines();
        let in_sight = self.files.is_empty() && self.lines - rank.last < BURIED;
        if lines.is_empty() || in_sight {
            return;
        }
        let label = rank.label.clone();
        self.say(&format!("the last lines of {}:", supervisor.name(index)));
        let [_, errors] = &mut self.channels;
        errors.print(index, &label, &lines);
    }

    fn act(&mut self, crew: &mut dyn Crew, supervisor: &mut Supervisor, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Signal(signal) => crew.signal(signal),
                Action::Say(sentence) => self.say(&sentence),
                Action::Clear(rank) => crew.clear(rank),
                Action::Start(rank) => self.start_again(rank, crew, supervisor),
                Action::Suspend => {
                    // If it fails the launcher merely goes on while the ranks are stopped.
                    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
                }
            }
        }
    }

    /// Starts a rank that has failed again. What it and its group have still written is printed before.
    fn start_again(&mut self, rank: usize, crew: &mut dyn Crew, supervisor: &mut Supervisor) {
        let mut news = Vec::new();
        let started = crew.start_again(rank, &mut news);
        self.tell(news);
        let now = Instant::now();
        match started {
            Ok(()) => {
                supervisor.started(now, rank, crew.name(rank));
                // It learns what the others have learned.
                let hushed = self.hushed.iter().enumerate().filter(|(_, hushed)| **hushed);
                hushed.for_each(|(which, _)| crew.hush(rank, which));
            }
            Err(error) => {
                let actions = supervisor.not_started(now, rank, &error.to_string());
                self.act(crew, supervisor, actions);
            }
        }
    }

    pub(super) fn say(&mut self, sentence: &str) {
        let [_, errors] = &mut self.channels;
        errors.sink.write(&errors.stream.say(sentence));
    }

    /// Output that could not be written makes the job fail.
    fn look_for_lost_output(&mut self, now: Instant, crew: &mut dyn Crew, supervisor: &mut Supervisor) {
        let lost = |channel: &Channel| Some((channel.name.clone(), channel.sink.take_lost()?));
        let all: Vec<_> = self.channels.iter().chain(&self.files).filter_map(lost).collect();
        for (name, error) in all {
            let actions = supervisor.lost_output(now, &format!("cannot write to {name}: {}", why(&error)));
            self.act(crew, supervisor, actions);
        }
    }
}

/// Which of the job's channels has room.
struct Spare {
    own: Vec<bool>,
    all: [bool; 2],
}

impl Spare {
    fn has(&self, rank: usize, which: usize) -> bool {
        self.own.get(rank).or(self.all.get(which)).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::supervisor::Ending;
    use super::*;
    use signal_hook::low_level::raise;

    /// Two ranks, of which one is seen to fail; then the launcher comes to nothing for longer than to its verdict, and
    /// meanwhile the other, which was killed, is reported.
    #[derive(Default)]
    struct Late {
        rounds: usize,
        seen: usize,
    }

    const ENDINGS: [Ending; 2] =
        [Ending::Exited(1), Ending::Killed { signal: 9, core: false, starved: false }];

    impl Crew for Late {
        fn watch<'a>(&'a self, _: super::super::crew::Room<'_>, _: &mut Watch<'a>) {
            if self.rounds == 0 {
                raise(SIGCHLD).unwrap();
            }
        }

        fn tick(&mut self, _: Instant, _: super::super::crew::Room<'_>, _: &mut Vec<News>) {
            self.rounds += 1;
            if self.rounds == 2 {
                std::thread::sleep(super::super::supervisor::SETTLING * 2);
                raise(SIGCHLD).unwrap();
            }
        }

        fn children(&mut self, news: &mut Vec<News>) -> io::Result<()> {
            // Some other test of this process may have a child, of which the launcher hears too.
            let ended = if self.rounds < 2 { 1 } else { 2 };
            let new = ENDINGS.iter().enumerate().take(ended).skip(self.seen);
            news.extend(new.map(|(rank, ending)| News::Ended { rank, ending: *ending }));
            self.seen = ended;
            Ok(())
        }

        fn name(&self, rank: usize) -> String {
            format!("rank {rank}")
        }

        fn ready(&mut self, _: Token, _: &mut Vec<News>) {}

        fn signal(&mut self, _: i32) {}

        fn clear(&mut self, _: usize) {}

        fn start_again(&mut self, _: usize, _: &mut Vec<News>) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn hush(&mut self, _: usize, _: usize) {}

        fn finish(&mut self) -> Vec<String> {
            Vec::new()
        }

        fn is_drained(&self) -> bool {
            true
        }

        fn linger(&self) -> Duration {
            Duration::ZERO
        }

        fn bury(&mut self, _: Duration) {}
    }

    #[test]
    fn what_has_happened_before_the_verdict_is_seen_before_it_however_late_the_launcher_comes_to_look() {
        let mut job = Job::open(vec!["0".into(), "1".into()], Marks::default(), Vec::new()).unwrap();
        let names = vec!["rank 0".into(), "rank 1".into()];
        let mut supervisor = Supervisor::new(names, Duration::from_secs(60), None, Instant::now());
        job.supervise(&mut Late::default(), &mut supervisor, &Witness::default()).unwrap();
        assert_eq!((supervisor.accused(), supervisor.status()), (Some(1), Status::signal(9)));
    }
}
