//! The schedules that a communicator keeps: those used last, as far as they take no more than a bound.
//!
//! Programs use few shapes, and a schedule is cheap to make again; but with many ranks it is long, and with counts per
//! rank the next call may well have others. So what is kept is bounded by its size, not by its number, and what is
//! not used goes first. Neighbour: `collective` makes them.

use std::sync::Arc;

use lru::LruCache;
use ringworld_collectives::{Counts, Request, Schedule};
use rustc_hash::FxBuildHasher;

/// How much is kept, in bytes: a thousand shapes on 64 ranks, and eight of the longest on 10,000.
const ROOM: usize = 16 << 20;

pub(crate) struct Schedules {
    /// Looked up in every call, and no peer chooses the keys: the default hasher took a quarter of what a call
    /// costs besides its messages (700 of 2,900 instructions).
    kept: LruCache<Request, Arc<Schedule>, FxBuildHasher>,
    bytes: usize,
    room: usize,
}

impl Default for Schedules {
    fn default() -> Self {
        Self::with_room(ROOM)
    }
}

impl Schedules {
    fn with_room(room: usize) -> Self {
        Self { kept: LruCache::unbounded_with_hasher(FxBuildHasher), bytes: 0, room }
    }

    pub(crate) fn get(&mut self, request: &Request) -> Option<Arc<Schedule>> {
        self.kept.get(request).map(Arc::clone)
    }

    /// Keeps a schedule, and lets those go that were used longest ago. One that has no room at all is not kept.
    pub(crate) fn keep(&mut self, request: &Request, schedule: &Arc<Schedule>) {
        let entry = size(request, schedule);
        if entry > self.room {
            return;
        }
        self.bytes += entry;
        if let Some((request, replaced)) = self.kept.push(request.clone(), Arc::clone(schedule)) {
            self.bytes -= size(&request, &replaced);
        }
        while self.bytes > self.room
            && let Some((request, schedule)) = self.kept.pop_lru()
        {
            self.bytes -= size(&request, &schedule);
        }
    }
}

/// What an entry takes, but for what the table itself does.
fn size(request: &Request, schedule: &Schedule) -> usize {
    let counts = match &request.counts {
        Counts::Same(_) | Counts::Own(_) => 0,
        Counts::Each(counts) => size_of_val(&**counts),
        Counts::Pairs { send, recv } => size_of_val(&**send) + size_of_val(&**recv),
    };
    size_of::<Request>() + counts + schedule.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringworld_collectives::{Collective, Order, Tuning};

    fn request(counts: Counts) -> Request {
        let collective = Collective::AllToAll;
        Request { collective, rank: 0, size: 64, counts, element: 4, order: Order::Free, in_place: false }
    }

    fn varied(count: usize) -> Request {
        let counts: Arc<[usize]> = vec![count; 64].into();
        request(Counts::Pairs { send: Arc::clone(&counts), recv: counts })
    }

    fn made(request: &Request) -> Arc<Schedule> {
        Arc::new(ringworld_collectives::schedule(request, &Tuning::default()).unwrap())
    }

    #[test]
    fn what_is_used_stays_and_what_was_used_once_goes_within_the_bound() {
        let mut schedules = Schedules::default();
        let steady = request(Counts::Same(100));
        schedules.keep(&steady, &made(&steady));
        for count in 0..5000 {
            let once = varied(count);
            assert!(schedules.get(&once).is_none());
            schedules.keep(&once, &made(&once));
            assert!(schedules.get(&steady).is_some(), "it is used every time, but gone after {count} others");
            let bytes: usize = schedules.kept.iter().map(|(request, schedule)| size(request, schedule)).sum();
            assert!(bytes == schedules.bytes && bytes <= ROOM);
        }
        assert!(schedules.get(&varied(0)).is_none(), "used once, long ago");
        assert!(schedules.get(&varied(4999)).is_some(), "used last");
        assert!(schedules.bytes > ROOM / 2, "what there is room for is kept");
    }

    #[test]
    fn one_that_is_larger_than_the_room_is_not_kept() {
        let small = Request { size: 2, ..request(Counts::Same(1)) };
        let mut schedules = Schedules::with_room(2000);
        schedules.keep(&small, &made(&small));
        schedules.keep(&varied(1), &made(&varied(1)));
        assert!(schedules.get(&varied(1)).is_none());
        assert!(schedules.get(&small).is_some(), "nor does anything go because of it");
    }

    #[test]
    fn the_same_request_twice_counts_once() {
        let mut schedules = Schedules::default();
        let same = varied(1);
        schedules.keep(&same, &made(&same));
        let bytes = schedules.bytes;
        schedules.keep(&same, &made(&same));
        assert_eq!(schedules.bytes, bytes);
    }
}
