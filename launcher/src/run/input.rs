//! The launcher's standard input, passed on to one rank, or to several.
//!
//! Invariant: never more than one buffer is read ahead, the poll loop never blocks, and a launcher in the
//! background of a terminal does not touch what its user types to somebody else. Ranks that share the input all get
//! all of it, at the pace of the slowest that still reads.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};

/// What the poll loop must wait for.
#[derive(Debug)]
pub(crate) enum Interest<'a> {
    /// Nothing any more.
    Nothing,
    /// Until the launcher may read its terminal again; ask later.
    Later,
    /// More input. The ranks' ends, by rank, are watched for ranks that close theirs.
    Readable(BorrowedFd<'a>, Vec<(usize, BorrowedFd<'a>)>),
    /// Room in the pipes of these ranks.
    Writable(Vec<(usize, BorrowedFd<'a>)>),
}

/// The pipes between the launcher's input and the ranks'.
#[derive(Debug)]
pub(crate) struct Input {
    from: Option<File>,
    terminal: bool,
    buffer: Vec<u8>,
    readers: Vec<Reader>,
}

#[derive(Debug)]
struct Reader {
    rank: usize,
    pipe: File,
    /// How much of the buffer it has got.
    sent: usize,
}

impl Input {
    /// Takes the launcher's input; nobody gets it yet.
    ///
    /// # Errors
    ///
    /// When the system has no descriptor to give.
    pub(crate) fn new(from: impl AsFd) -> io::Result<Self> {
        let from = private(from.as_fd())?;
        Ok(Self { terminal: from.is_terminal(), from: Some(from), buffer: Vec::new(), readers: Vec::new() })
    }

    /// This rank gets what is read from now on, through its end of a pipe.
    ///
    /// # Errors
    ///
    /// When the pipe cannot be set up.
    pub(crate) fn add(&mut self, rank: usize, pipe: impl Into<OwnedFd>) -> io::Result<()> {
        let pipe = File::from(pipe.into());
        rustix::io::ioctl_fionbio(&pipe, true)?;
        self.readers.push(Reader { rank, pipe, sent: self.buffer.len() });
        Ok(())
    }

    /// What to wait for.
    pub(crate) fn interest(&self) -> Interest<'_> {
        let ends = |wanted: &dyn Fn(&Reader) -> bool| {
            let readers = self.readers.iter().filter(|reader| wanted(reader));
            readers.map(|reader| (reader.rank, reader.pipe.as_fd())).collect::<Vec<_>>()
        };
        let behind = ends(&|reader| reader.sent < self.buffer.len());
        match &self.from {
            None if behind.is_empty() => Interest::Nothing,
            _ if !behind.is_empty() => Interest::Writable(behind),
            // Reading in the background would stop the launcher (SIGTTIN), and with it the job.
            Some(from) if self.terminal && !in_foreground(from) => Interest::Later,
            Some(from) => Interest::Readable(from.as_fd(), ends(&|_| true)),
            None => Interest::Nothing,
        }
    }

    /// Nobody gets anything more.
    pub(crate) fn close(&mut self) {
        self.from = None;
        self.readers.clear();
    }

    /// The rank has closed its input, or has ended.
    pub(crate) fn close_rank(&mut self, rank: usize) {
        self.readers.retain(|reader| reader.rank != rank);
        if self.readers.is_empty() {
            self.close();
        }
    }

    /// There is more to read, or the end of the input has come, which ends that of the ranks.
    pub(crate) fn read(&mut self) {
        let Some(from) = &mut self.from else { return };
        self.buffer.resize(64 * 1024, 0);
        let read = from.read(&mut self.buffer);
        self.buffer.truncate(read.as_ref().copied().unwrap_or(0));
        for reader in &mut self.readers {
            reader.sent = 0;
        }
        match read {
            Ok(0) => self.close(),
            Err(error) if !is_transient(&error) => self.close(),
            Ok(_) | Err(_) => {}
        }
    }

    /// The rank's pipe has room, or its other end is closed.
    pub(crate) fn write(&mut self, rank: usize) {
        let Some(reader) = self.readers.iter_mut().find(|reader| reader.rank == rank) else { return };
        let rest = self.buffer.get(reader.sent..).unwrap_or_default();
        // The loop is told of a pipe without anything to write only when it is broken.
        let written =
            if rest.is_empty() { Err(io::ErrorKind::BrokenPipe.into()) } else { reader.pipe.write(rest) };
        match written {
            Ok(count) => reader.sent += count,
            Err(error) if is_transient(&error) => {}
            Err(_) => self.close_rank(rank),
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A copy of the input from which reading never blocks, although the descriptor itself is shared with others, who may
/// also take what there was to read between the look and the reading.
fn private(from: BorrowedFd<'_>) -> io::Result<File> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(from)?.st_mode);
    if matches!(kind, FileType::Fifo | FileType::CharacterDevice) {
        // Opened anew it has flags of its own. Where that is not permitted, such as a terminal of another user's, the
        // copy below shares them and may block for a moment.
        let path = format!("/proc/self/fd/{}", from.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if let Ok(anew) = rustix::fs::open(path, flags, Mode::empty()) {
            return Ok(File::from(anew));
        }
    }
    Ok(File::from(from.try_clone_to_owned()?))
}

fn in_foreground(terminal: &File) -> bool {
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// What the poll loop does, without waiting for what is not ready.
    fn turn(input: &mut Input) -> bool {
        enum Next {
            Read,
            Write(Vec<usize>),
        }
        let next = match input.interest() {
            Interest::Nothing => return false,
            Interest::Later => panic!("no terminal here"),
            Interest::Readable(..) => Next::Read,
            Interest::Writable(ranks) => Next::Write(ranks.into_iter().map(|(rank, _)| rank).collect()),
        };
        match next {
            Next::Read => input.read(),
            Next::Write(ranks) => ranks.into_iter().for_each(|rank| input.write(rank)),
        }
        true
    }

    #[test]
    fn bytes_pass_unchanged_to_every_rank_and_the_end_is_passed_on() {
        let (from, mut source) = io::pipe().unwrap();
        let mut input = Input::new(from).unwrap();
        let mut reading = Vec::new();
        for rank in [0, 2] {
            let (mut end, to) = io::pipe().unwrap();
            input.add(rank, to).unwrap();
            reading.push(std::thread::spawn(move || {
                let mut all = Vec::new();
                end.read_to_end(&mut all).unwrap();
                all
            }));
        }
        let sent: Vec<u8> = (0..300_000u32).map(|i| (i * 31 % 251) as u8).collect();
        let theirs = sent.clone();
        let writing = std::thread::spawn(move || source.write_all(&theirs).unwrap());
        while turn(&mut input) {}
        writing.join().unwrap();
        for reading in reading {
            assert!(reading.join().unwrap() == sent);
        }
    }

    #[test]
    fn a_rank_that_closes_its_input_holds_nobody_up_and_the_last_ends_the_reading() {
        let (from, mut source) = io::pipe().unwrap();
        let mut input = Input::new(from).unwrap();
        let ((left, to), (mut kept, also_to)) = (io::pipe().unwrap(), io::pipe().unwrap());
        input.add(0, to).unwrap();
        input.add(1, also_to).unwrap();
        drop(left);
        source.write_all(b"x").unwrap();
        turn(&mut input);
        turn(&mut input);
        let mut got = [0];
        kept.read_exact(&mut got).unwrap();
        assert_eq!(got, *b"x");
        drop(kept);
        source.write_all(b"y").unwrap();
        turn(&mut input);
        turn(&mut input);
        assert!(matches!(input.interest(), Interest::Nothing));
    }

    #[test]
    fn input_that_somebody_else_took_is_not_waited_for() {
        let (from, mut source) = io::pipe().unwrap();
        let mut thief = from.try_clone().unwrap();
        let mut input = Input::new(from).unwrap();
        let (_rank, to) = io::pipe().unwrap();
        input.add(0, to).unwrap();
        source.write_all(b"x").unwrap();
        thief.read_exact(&mut [0]).unwrap();
        let (done, over) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            input.read();
            done.send(matches!(input.interest(), Interest::Readable(..))).unwrap();
        });
        assert_eq!(
            over.recv_timeout(Duration::from_secs(30)),
            Ok(true),
            "it blocked, or took this for the end"
        );
    }
}
