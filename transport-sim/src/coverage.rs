//! Which bytes of an exposure have been written: a set of disjoint ranges that finds overlaps.

use std::collections::BTreeMap;

/// Written ranges: start to end, disjoint and never adjacent.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    ranges: BTreeMap<usize, usize>,
}

impl Coverage {
    /// Adds a range that is not empty; `false` when a byte of it was written before (nothing is added).
    pub(crate) fn add(&mut self, mut start: usize, mut end: usize) -> bool {
        let before = self.ranges.range(..=start).next_back().map(|(s, e)| (*s, *e));
        let after = self.ranges.range(start..).next().map(|(s, e)| (*s, *e));
        if before.is_some_and(|(_, e)| e > start) || after.is_some_and(|(s, _)| s < end) {
            return false;
        }
        if let Some((s, e)) = before
            && e == start
        {
            self.ranges.remove(&s);
            start = s;
        }
        if let Some((s, e)) = after
            && s == end
        {
            self.ranges.remove(&s);
            end = e;
        }
        self.ranges.insert(start, end);
        true
    }

    /// Whether every byte of `0..length` has been written.
    pub(crate) fn is_whole(&self, length: usize) -> bool {
        self.ranges.get(&0) == Some(&length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_in_any_order_until_whole() {
        let mut coverage = Coverage::default();
        for (start, end) in [(4, 6), (0, 2), (8, 9), (2, 4), (6, 8)] {
            assert!(!coverage.is_whole(9));
            assert!(coverage.add(start, end), "{start}..{end}");
        }
        assert!(coverage.is_whole(9));
    }

    #[test]
    fn overlaps_are_found_wherever_they_are() {
        let mut coverage = Coverage::default();
        assert!(coverage.add(10, 20));
        for (start, end) in [(10, 20), (5, 11), (19, 25), (12, 13), (5, 25), (10, 11)] {
            assert!(!coverage.add(start, end), "{start}..{end}");
        }
        assert!(coverage.add(20, 21));
        assert!(coverage.add(9, 10));
    }
}
