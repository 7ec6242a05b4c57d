//! Which lanes have had traffic of late.
//!
//! One lane with traffic is read directly; more are found by one epoll call. So only the two that were seen last are
//! remembered, however many ranks there are: that tells "none", "one" and "more". Neighbour: `transport.rs` polls by
//! it.

use ringworld_transport::Rank;

/// More lanes than this with recent traffic are found by one epoll call rather than read one by one. With two
/// busy lanes both ways cost the same where ranks have cores of their own, and where they share cores and
/// poll in vain more often, one call is cheaper (an all-reduce of four ranks on two cores: 34 and 32 us).
const MAX_HOT: usize = 1;
/// A lane without traffic for this many polls is left to epoll.
const HOT_POLLS: u64 = 1024;

#[derive(Clone, Copy, Debug)]
struct Hot {
    rank: Rank,
    lane: usize,
    /// The poll that last found something.
    seen: u64,
}

/// The lanes seen last, in no order.
#[derive(Debug, Default)]
pub(crate) struct HotLanes {
    lanes: [Option<Hot>; MAX_HOT + 1],
}

impl HotLanes {
    /// `lane` of `rank` had traffic in poll number `poll`.
    pub(crate) fn heat(&mut self, rank: Rank, lane: usize, poll: u64) {
        let hot = Some(Hot { rank, lane, seen: poll });
        let same = |hot: &Option<Hot>| hot.is_some_and(|hot| (hot.rank, hot.lane) == (rank, lane));
        if let Some(place) = self.lanes.iter_mut().find(|hot| same(hot)) {
            *place = hot;
            return;
        }
        // In a free place, or instead of the one that has been silent for longest.
        if let Some(place) = self.lanes.iter_mut().min_by_key(|hot| hot.map(|hot| hot.seen)) {
            *place = hot;
        }
    }

    /// Forgets lanes that are closed or have had no traffic for long.
    pub(crate) fn cool(&mut self, poll: u64, open: impl Fn(Rank, usize) -> bool) {
        for place in &mut self.lanes {
            *place = place.filter(|hot| poll - hot.seen < HOT_POLLS && open(hot.rank, hot.lane));
        }
    }

    /// Whether there are some, and few enough to be read directly.
    pub(crate) fn are_few(&self) -> bool {
        (1..=MAX_HOT).contains(&self.lanes.iter().flatten().count())
    }

    /// The lanes that are remembered.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (Rank, usize)> + use<> {
        self.lanes.into_iter().flatten().map(|hot| (hot.rank, hot.lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few(hot: &HotLanes) -> Vec<(Rank, usize)> {
        if hot.are_few() { hot.lanes().collect() } else { Vec::new() }
    }

    #[test]
    fn one_lane_is_read_directly_and_more_are_not() {
        let mut hot = HotLanes::default();
        assert_eq!(few(&hot), []);
        hot.heat(3, 0, 1);
        hot.heat(3, 0, 2);
        assert_eq!(few(&hot), [(3, 0)]);
        hot.heat(3, 1, 2);
        assert_eq!(few(&hot), [], "two lanes of one rank are two lanes");
    }

    #[test]
    fn with_many_busy_lanes_the_last_one_that_stays_busy_is_left() {
        let mut hot = HotLanes::default();
        for poll in 0..1_000 {
            hot.heat(poll as usize % 500, 0, poll);
        }
        assert_eq!(few(&hot), []);
        hot.heat(7, 0, 1_500);
        hot.cool(1_500, |_, _| true);
        assert_eq!(few(&hot), [], "another had traffic 501 polls ago");
        hot.heat(7, 0, 2_500);
        hot.cool(2_500, |_, _| true);
        assert_eq!(few(&hot), [(7, 0)]);
        hot.cool(2_501, |rank, _| rank != 7);
        assert_eq!(few(&hot), []);
    }
}
