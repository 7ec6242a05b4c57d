//! From the bytes of many ranks to lines of one stream. Pure: bytes and times in, bytes out.
//!
//! Invariant: no byte is lost, added (unless tags or times were asked for) or reordered within a rank's
//! stream, and a line is never cut by another rank's, except one that its rank left unfinished for
//! [`PATIENCE`] (a prompt, a progress bar) or that outgrew [`LONGEST`].

use std::time::{Duration, Instant, SystemTime};

/// How long an unfinished line is held back.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// How much of an unfinished line is held back.
pub(crate) const LONGEST: usize = 64 * 1024;

/// The unfinished line of one rank's stream.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    held: Vec<u8>,
    due: Option<Instant>,
}

impl Lines {
    /// Takes what was read and returns what may be printed: whole lines, or what grew too long.
    pub(crate) fn push(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let (whole, rest) = bytes.split_at(end);
        let mut out = Vec::new();
        if !whole.is_empty() {
            out = self.take();
            out.extend_from_slice(whole);
        }
        if !rest.is_empty() {
            self.held.extend_from_slice(rest);
            self.due.get_or_insert(now + PATIENCE);
        }
        if self.held.len() >= LONGEST {
            out.append(&mut self.take());
        }
        out
    }

    /// When the unfinished line must be printed, if there is one.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The rest of the unfinished line may be there, but nobody has room for it: it has as long again to come.
    pub(crate) fn wait(&mut self, now: Instant) {
        self.due = self.due.map(|_| now + PATIENCE);
    }

    /// Gives up the unfinished line.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.due = None;
        std::mem::take(&mut self.held)
    }
}

/// What to put before each line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    pub(crate) tag: bool,
    pub(crate) time: bool,
}

/// One output stream of the launcher, as seen by its reader.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    marks: Marks,
    /// Who wrote the line that has not ended yet.
    open: Option<usize>,
}

impl Stream {
    pub(crate) fn new(marks: Marks) -> Self {
        Self { marks, open: None }
    }

    /// What to write for these bytes of the rank, which is tagged `label`.
    pub(crate) fn print(&mut self, rank: usize, label: &str, bytes: &[u8], time: SystemTime) -> Vec<u8> {
        let ends_line = bytes.last().is_none_or(|&b| b == b'\n');
        if !self.marks.tag && !self.marks.time {
            if !bytes.is_empty() {
                self.open = (!ends_line).then_some(rank);
            }
            return bytes.to_vec();
        }
        let mut prefix = String::new();
        if self.marks.time {
            prefix = format!("{} ", humantime::format_rfc3339_millis(time));
        }
        if self.marks.tag {
            prefix.push_str(&format!("[{label}] "));
        }
        let mut out = Vec::with_capacity(bytes.len() + 4 * prefix.len());
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            if self.open.is_some_and(|writer| writer != rank) {
                out.push(b'\n');
                self.open = None;
            }
            if self.open.is_none() {
                out.extend_from_slice(prefix.as_bytes());
            }
            out.extend_from_slice(line);
            self.open = (line.last() != Some(&b'\n')).then_some(rank);
        }
        out
    }

    /// What to write for a sentence of the launcher itself: always a line of its own.
    pub(crate) fn say(&mut self, sentence: &str) -> Vec<u8> {
        let lead = if self.open.take().is_some() { "\n" } else { "" };
        format!("{lead}ringworld run: {sentence}\n").into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: Marks = Marks { tag: true, time: false };
    const EPOCH: SystemTime = SystemTime::UNIX_EPOCH;

    #[test]
    fn only_whole_lines_pass_and_no_byte_is_lost() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        assert_eq!(lines.push(b"ab", now), b"");
        assert_eq!(lines.push(b"c\nde\nf", now), b"abc\nde\n");
        assert_eq!(lines.push(b"\xff\0", now), b"");
        assert_eq!(lines.take(), b"f\xff\0");
        assert_eq!((lines.take().len(), lines.due()), (0, None));
    }

    #[test]
    fn an_unfinished_line_is_due_from_its_first_byte() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        lines.push(b"Pass", now);
        lines.push(b"word: ", now + PATIENCE / 2);
        assert_eq!(lines.due(), Some(now + PATIENCE));
        lines.push(b"\n", now + PATIENCE / 2);
        assert_eq!(lines.due(), None);
    }

    #[test]
    fn a_line_whose_rest_is_held_back_is_not_cut() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        lines.wait(now);
        assert_eq!(lines.due(), None, "nothing is unfinished");
        lines.push(b"par", now);
        lines.wait(now + PATIENCE);
        assert_eq!(lines.due(), Some(now + 2 * PATIENCE));
    }

    #[test]
    fn an_endless_line_is_passed_on_in_bounded_pieces() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        assert_eq!(lines.push(&vec![b'x'; LONGEST - 1], now), b"");
        assert_eq!(lines.push(b"yz", now).len(), LONGEST + 1);
        assert_eq!(lines.due(), None);
    }

    #[test]
    fn without_marks_bytes_pass_unchanged() {
        let mut stream = Stream::new(Marks::default());
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(stream.print(0, "0", &bytes, EPOCH), bytes);
        assert_eq!(stream.print(1, "1", b"x", EPOCH), b"x");
    }

    #[test]
    fn every_line_is_tagged_once() {
        let mut stream = Stream::new(TAG);
        assert_eq!(stream.print(0, "0", b"a\n\nb\n", EPOCH), b"[0] a\n[0] \n[0] b\n");
        assert_eq!(stream.print(3, "3", b"par", EPOCH), b"[3] par");
        assert_eq!(stream.print(3, "3", b"t\n", EPOCH), b"t\n");
        assert_eq!(stream.print(3, "3", b"", EPOCH), b"");
    }

    #[test]
    fn an_unfinished_tagged_line_is_closed_before_another_rank_writes() {
        let mut stream = Stream::new(TAG);
        stream.print(0, "0", b"par", EPOCH);
        assert_eq!(stream.print(1, "1", b"x\n", EPOCH), b"\n[1] x\n");
        assert_eq!(stream.print(0, "0", b"t\n", EPOCH), b"[0] t\n");
    }

    #[test]
    fn times_come_before_tags_and_are_utc() {
        let mut stream = Stream::new(Marks { tag: true, time: true });
        assert_eq!(stream.print(7, "7", b"x\n", EPOCH), b"1970-01-01T00:00:00.000Z [7] x\n");
    }

    #[test]
    fn the_launchers_own_words_are_lines_of_their_own() {
        let mut stream = Stream::new(Marks::default());
        stream.print(0, "0", b"50 %", EPOCH);
        assert_eq!(stream.say("hello"), b"\nringworld run: hello\n");
        assert_eq!(stream.say("hello"), b"ringworld run: hello\n");
    }
}
