//! Registrations of memory that its owner keeps, by where the memory lies.
//!
//! An operation's memory is looked up by address: whoever registered a region has promised to keep it allocated until
//! it is deregistered, so an address in it can be no other memory's. Generic in how a registration is held, because
//! that is foreign code; pure otherwise. Invariant: what is found covers all of the span asked for. Neighbours:
//! `verbs/transport.rs` fills the table, `verbs/sending.rs` looks into it too.

use std::collections::BTreeMap;

use ringworld_transport::RegionId;

struct Entry<R> {
    end: usize,
    registration: R,
}

/// See the module.
pub(crate) struct Regions<R> {
    /// By first address; regions may begin at the same one.
    entries: BTreeMap<(usize, RegionId), Entry<R>>,
    starts: BTreeMap<RegionId, usize>,
    /// The length of the longest region so far, which bounds how far back one that covers a span may begin.
    longest: usize,
    next: u64,
}

impl<R> Default for Regions<R> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), starts: BTreeMap::new(), longest: 0, next: 0 }
    }
}

impl<R> Regions<R> {
    /// Takes in the registration of `length` bytes from `start`; returns its name.
    pub(crate) fn insert(&mut self, start: usize, length: usize, registration: R) -> RegionId {
        let region = RegionId(self.next);
        self.next += 1;
        self.longest = self.longest.max(length);
        self.starts.insert(region, start);
        self.entries.insert((start, region), Entry { end: start.saturating_add(length), registration });
        region
    }

    /// A registration of all the `length` bytes from `start`.
    pub(crate) fn covering(&self, start: usize, length: usize) -> Option<&R> {
        let end = start.checked_add(length)?;
        // Nearest first. One that begins before this is too short.
        let earliest = end.saturating_sub(self.longest);
        self.entries
            .range(..=(start, RegionId(u64::MAX)))
            .rev()
            .take_while(|((begin, _), _)| *begin >= earliest)
            .find(|(_, entry)| entry.end >= end)
            .map(|(_, entry)| &entry.registration)
    }

    /// Gives a registration back, if there is one of that name.
    pub(crate) fn remove(&mut self, region: RegionId) -> Option<R> {
        let start = self.starts.remove(&region)?;
        self.entries.remove(&(start, region)).map(|entry| entry.registration)
    }

    /// Lets go of all. No name is given again.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.starts.clear();
        self.longest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_covered_by_one_region_or_not_at_all() {
        let mut regions = Regions::default();
        regions.insert(1000, 100, 'a');
        // Adjacent: together they would cover what neither does.
        regions.insert(1100, 50, 'b');
        for (start, length, expected) in [
            (1000, 100, Some('a')),
            (1000, 1, Some('a')),
            (1099, 1, Some('a')),
            (1050, 50, Some('a')),
            (1100, 1, Some('b')),
            (1149, 1, Some('b')),
            (999, 2, None),
            (1099, 2, None),
            (1000, 150, None),
            (1150, 1, None),
            (0, usize::MAX, None),
            (usize::MAX, 2, None),
        ] {
            assert_eq!(regions.covering(start, length).copied(), expected, "{length} from {start}");
        }
    }

    #[test]
    fn nested_overlapping_and_equal_regions_are_all_found() {
        let mut regions = Regions::default();
        let outer = regions.insert(0, 1000, "outer");
        let nested = regions.insert(100, 50, "nested");
        let overlapping = regions.insert(900, 300, "overlapping");
        let (first, second) = (regions.insert(5000, 10, "first"), regions.insert(5000, 10, "second"));
        assert_eq!(regions.covering(110, 20), Some(&"nested"));
        assert_eq!(regions.covering(110, 200), Some(&"outer"), "hidden by one that is nested in it");
        assert_eq!(regions.covering(950, 200), Some(&"overlapping"));
        assert_eq!(regions.covering(800, 200), Some(&"outer"));
        assert_eq!(regions.covering(800, 201), None, "covered by two only");
        assert_eq!(regions.remove(nested), Some("nested"));
        assert_eq!(regions.covering(110, 20), Some(&"outer"));
        assert_eq!((regions.remove(first), regions.remove(first)), (Some("first"), None));
        assert_eq!(regions.covering(5000, 10), Some(&"second"));
        assert_eq!(regions.remove(outer), Some("outer"));
        assert_eq!(regions.covering(110, 20), None);
        assert_eq!(
            (regions.remove(second), regions.remove(overlapping)),
            (Some("second"), Some("overlapping"))
        );
        assert_eq!(regions.covering(950, 1), None);
    }

    #[test]
    fn what_is_found_agrees_with_a_look_at_every_region() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut random = |below: usize| rng.usize(..below);
        let (mut regions, mut all) = (Regions::default(), Vec::new());
        for round in 0..3_000 {
            if random(3) > 0 {
                let (start, length) = (random(200), 1 + random(60));
                all.push((regions.insert(start, length, (start, start + length)), start, start + length));
            } else if !all.is_empty() {
                let (region, start, end) = all.swap_remove(random(all.len()));
                assert_eq!(regions.remove(region), Some((start, end)));
            }
            if round % 500 == 499 {
                regions.clear();
                all.clear();
            }
            let (start, length) = (random(220), 1 + random(40));
            let covers = |(begin, end): (usize, usize)| begin <= start && start + length <= end;
            let found = regions.covering(start, length).copied();
            assert!(found.is_none_or(covers), "{found:?} does not cover {length} from {start}");
            assert_eq!(found.is_some(), all.iter().any(|(_, begin, end)| covers((*begin, *end))));
        }
    }

    #[test]
    fn a_name_is_never_given_again() {
        let mut regions = Regions::default();
        let first = regions.insert(0, 10, ());
        regions.clear();
        let second = regions.insert(0, 10, ());
        assert!(first != second && regions.remove(first).is_none() && regions.remove(second).is_some());
    }
}
