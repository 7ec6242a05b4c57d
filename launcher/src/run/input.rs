//! The launcher's standard input, passed on to one rank.
//!
//! Invariant: never more than one buffer is read ahead, the poll loop never blocks, and a launcher in the
//! background of a terminal does not touch what its user types to somebody else.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What the poll loop must wait for.
#[derive(Debug)]
pub(crate) enum Interest<'a> {
    /// Nothing any more.
    Nothing,
    /// Until the launcher may read its terminal again; ask later.
    Later,
    /// More input. The rank's end is watched for the rank closing it.
    Readable(BorrowedFd<'a>, BorrowedFd<'a>),
    /// Room in the rank's pipe.
    Writable(BorrowedFd<'a>),
}

/// The pipe between the launcher's input and a rank's.
#[derive(Debug)]
pub(crate) struct Input {
    ends: Option<(File, File)>,
    terminal: bool,
    buffer: Vec<u8>,
    sent: usize,
}

impl Input {
    /// Joins a copy of the launcher's input to the rank's end of a pipe.
    ///
    /// # Errors
    ///
    /// When the system has no descriptor to give.
    pub(crate) fn new(from: impl AsFd, to: impl Into<OwnedFd>) -> io::Result<Self> {
        let from = File::from(from.as_fd().try_clone_to_owned()?);
        let to = File::from(to.into());
        rustix::io::ioctl_fionbio(&to, true)?;
        Ok(Self { terminal: from.is_terminal(), ends: Some((from, to)), buffer: Vec::new(), sent: 0 })
    }

    /// What to wait for.
    pub(crate) fn interest(&self) -> Interest<'_> {
        match &self.ends {
            None => Interest::Nothing,
            Some((_, to)) if self.sent < self.buffer.len() => Interest::Writable(to.as_fd()),
            // Reading in the background would stop the launcher (SIGTTIN), and with it the job.
            Some((from, _)) if self.terminal && !in_foreground(from) => Interest::Later,
            Some((from, to)) => Interest::Readable(from.as_fd(), to.as_fd()),
        }
    }

    /// The rank has closed its input, or has ended.
    pub(crate) fn close(&mut self) {
        self.ends = None;
    }

    /// Reads or writes, whichever [`Self::interest`] asked for; closes the pipe at the end of input.
    pub(crate) fn advance(&mut self) {
        let Some((from, to)) = &mut self.ends else { return };
        let result = if self.sent < self.buffer.len() {
            to.write(self.buffer.get(self.sent..).unwrap_or_default()).map(|n| self.sent += n)
        } else {
            self.buffer.resize(64 * 1024, 0);
            self.sent = 0;
            let read = from.read(&mut self.buffer);
            self.buffer.truncate(read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            }
        };
        if let Err(error) = result
            && !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        {
            self.close();
        }
    }
}

fn in_foreground(terminal: &File) -> bool {
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_unchanged_and_the_end_is_passed_on() {
        let (from, mut source) = io::pipe().unwrap();
        let (mut rank, to) = io::pipe().unwrap();
        let mut input = Input::new(from, to).unwrap();
        let sent: Vec<u8> = (0..300_000u32).map(|i| (i * 31 % 251) as u8).collect();
        let theirs = sent.clone();
        let writing = std::thread::spawn(move || source.write_all(&theirs).unwrap());
        let reading = std::thread::spawn(move || {
            let mut all = Vec::new();
            rank.read_to_end(&mut all).unwrap();
            all
        });
        while !matches!(input.interest(), Interest::Nothing) {
            input.advance();
        }
        writing.join().unwrap();
        assert!(reading.join().unwrap() == sent);
    }

    #[test]
    fn a_rank_that_closes_its_input_ends_the_reading() {
        let (from, mut source) = io::pipe().unwrap();
        let (rank, to) = io::pipe().unwrap();
        let mut input = Input::new(from, to).unwrap();
        drop(rank);
        source.write_all(b"x").unwrap();
        input.advance();
        input.advance();
        assert!(matches!(input.interest(), Interest::Nothing));
    }
}
