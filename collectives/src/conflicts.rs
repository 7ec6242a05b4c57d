//! Who last touched which elements: turns spans into dependencies.
//!
//! One map per buffer, of disjoint intervals ordered by offset. Invariant: an interval knows its last writer and
//! everybody who has read it since. A read must wait for the writer; a write must wait for the readers, or
//! for the writer if nobody has read (the readers have waited for the writer already). Every step costs
//! O(log p) in the number of intervals, plus the intervals it covers. Neighbour: [`crate::Builder`].

use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Interval {
    end: usize,
    writer: Option<u32>,
    readers: Vec<u32>,
}

/// The access history of one buffer.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    intervals: BTreeMap<usize, Interval>,
}

impl Conflicts {
    /// Records that `step` reads `start..end`; appends the steps it must wait for.
    pub(crate) fn read(&mut self, start: usize, end: usize, step: u32, wait: &mut Vec<u32>) {
        if start >= end {
            return;
        }
        self.split_at(start);
        self.split_at(end);
        let mut gaps = Vec::new();
        let mut at = start;
        for (&from, interval) in self.intervals.range_mut(start..end) {
            if at < from {
                gaps.push((at, from));
            }
            at = interval.end;
            wait.extend(interval.writer);
            if interval.readers.last() != Some(&step) {
                interval.readers.push(step);
            }
        }
        if at < end {
            gaps.push((at, end));
        }
        for (from, end) in gaps {
            self.intervals.insert(from, Interval { end, writer: None, readers: vec![step] });
        }
    }

    /// Records that `step` writes `start..end`; appends the steps it must wait for. Reads of the same step
    /// must have been recorded before.
    pub(crate) fn write(&mut self, start: usize, end: usize, step: u32, wait: &mut Vec<u32>) {
        if start >= end {
            return;
        }
        self.split_at(start);
        self.split_at(end);
        while let Some((&from, _)) = self.intervals.range(start..end).next() {
            if let Some(interval) = self.intervals.remove(&from) {
                if interval.readers.is_empty() {
                    wait.extend(interval.writer);
                }
                wait.extend(interval.readers.into_iter().filter(|reader| *reader != step));
            }
        }
        self.intervals.insert(start, Interval { end, writer: Some(step), readers: Vec::new() });
    }

    /// Makes `at` a boundary between intervals.
    fn split_at(&mut self, at: usize) {
        if let Some((_, interval)) = self.intervals.range_mut(..at).next_back()
            && interval.end > at
        {
            let right = interval.clone();
            interval.end = at;
            self.intervals.insert(at, right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(act: impl FnOnce(&mut Vec<u32>)) -> Vec<u32> {
        let mut wait = Vec::new();
        act(&mut wait);
        wait.sort_unstable();
        wait.dedup();
        wait
    }

    #[test]
    fn reads_wait_for_writers_and_writes_for_readers() {
        let mut map = Conflicts::default();
        assert_eq!(waits(|w| map.write(0, 10, 0, w)), []);
        assert_eq!(waits(|w| map.read(2, 4, 1, w)), [0]);
        assert_eq!(waits(|w| map.read(3, 12, 2, w)), [0]);
        assert_eq!(waits(|w| map.write(3, 5, 3, w)), [1, 2]);
        assert_eq!(waits(|w| map.write(0, 2, 4, w)), [0]);
        assert_eq!(waits(|w| map.write(11, 12, 5, w)), [2]);
        assert_eq!(waits(|w| map.read(0, 12, 6, w)), [0, 3, 4, 5]);
    }

    #[test]
    fn a_step_never_waits_for_itself() {
        let mut map = Conflicts::default();
        map.write(0, 4, 0, &mut Vec::new());
        let mut wait = Vec::new();
        map.read(0, 4, 1, &mut wait);
        map.write(0, 4, 1, &mut wait);
        assert_eq!(wait, [0]);
    }

    #[test]
    fn touching_spans_do_not_conflict() {
        let mut map = Conflicts::default();
        map.write(0, 4, 0, &mut Vec::new());
        assert_eq!(waits(|w| map.write(4, 8, 1, w)), []);
        assert_eq!(waits(|w| map.read(4, 4, 2, w)), []);
    }
}
