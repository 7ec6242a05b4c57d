//! The last lines that a rank has written to standard error, kept in case it is the one that fails: others may write so
//! much meanwhile that nobody finds them. Pure.

/// How many lines are said again.
const LINES: usize = 10;
/// How many bytes of them are kept, at most.
const BYTES: usize = 4096;

/// The end of what was written.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    /// More was written than is kept.
    cut: bool,
}

impl Tail {
    /// Takes what was written.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let fits = bytes.len().saturating_sub(BYTES);
        self.cut |= fits > 0;
        self.bytes.extend_from_slice(bytes.get(fits..).unwrap_or_default());
        // Not for every line.
        if self.bytes.len() > 2 * BYTES {
            self.bytes.drain(..self.bytes.len() - BYTES);
            self.cut = true;
        }
    }

    /// The last lines, whole ones where that is possible, each with its end; none if nothing was written.
    pub(crate) fn lines(&self) -> Vec<u8> {
        let from = self.bytes.len().saturating_sub(BYTES);
        let kept = self.bytes.get(from..).unwrap_or_default();
        let mut lines: Vec<&[u8]> = kept.split_inclusive(|byte| *byte == b'\n').collect();
        // Of the first one only the end is there.
        if (self.cut || from > 0) && lines.len() > 1 {
            lines.remove(0);
        }
        let mut last = lines.split_off(lines.len().saturating_sub(LINES)).concat();
        if last.last().is_some_and(|byte| *byte != b'\n') {
            last.push(b'\n');
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<u8> {
        let mut tail = Tail::default();
        pieces.iter().for_each(|piece| tail.push(piece));
        tail.lines()
    }

    #[test]
    fn the_last_lines_are_kept_however_they_came() {
        assert_eq!(lines(&[]), b"");
        assert_eq!(lines(&[b"one\ntw", b"o\nthree"]), b"one\ntwo\nthree\n");
        let many: Vec<u8> = (0..100).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        assert_eq!(lines(&[&many]), b"90\n91\n92\n93\n94\n95\n96\n97\n98\n99\n");
    }

    #[test]
    fn memory_is_bounded_and_lines_are_whole_where_they_fit() {
        let line = [&[b'x'; 999][..], b"\n"].concat();
        let mut tail = Tail::default();
        (0..1000).for_each(|_| tail.push(&line));
        assert!(tail.bytes.capacity() <= 4 * BYTES);
        assert_eq!(tail.lines(), line.repeat(4), "the fifth does not fit");
        // One that is longer than everything: its end.
        assert_eq!(lines(&[&[b'y'; 10_000]]).len(), BYTES + 1);
        assert_eq!(lines(&[&[b'y'; 10_000], b"\nlast\n"]), b"last\n");
    }
}
