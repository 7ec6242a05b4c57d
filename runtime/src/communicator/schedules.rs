//! The collectives that a communicator has planned, with their schedules: those used last, as far as they take no more
//! than a bound.
//!
//! Programs use few shapes, and a schedule is cheap to make again; but with many ranks it is long, and with counts per
//! rank the next call may well have others. So what is kept is bounded by its size, not by its number, and what is
//! not used goes first. And most loops call the same few collectives in turn: the latest are looked through first, so
//! that such a call hashes nothing, and neither checks its arguments again (a seventh of the instructions of a short
//! all-reduce). Neighbour: `collective` makes them.

use std::panic::Location;
use std::sync::Arc;

use lru::LruCache;
use ringworld_collectives::{Counts, Request};
use ringworld_engine::signature::{Call, site};
use ringworld_engine::{ElementCode, OpCode, Planned};
use rustc_hash::FxBuildHasher;

/// How much is kept, in bytes: a thousand shapes on 64 ranks, and eight of the longest on 10,000.
const ROOM: usize = 16 << 20;
/// How many of the latest calls are looked through one by one.
const LATEST: usize = 8;
/// Of how many ranks counts may be for that.
const FEW: usize = 32;

/// What is called, by all that tells two calls apart whose plans differ.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    pub(crate) call: Call,
    pub(crate) request: Request,
    pub(crate) dtype: ElementCode,
    pub(crate) op: OpCode,
}

impl Asked {
    /// Whether two are the same and can be compared at a glance, as those without counts per rank can, or with few.
    #[inline]
    fn is(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.request, &other.request);
        let counts = match (&mine.counts, &theirs.counts) {
            (Counts::Same(mine), Counts::Same(theirs)) => mine == theirs,
            (mine, theirs) => are_few(mine) && mine == theirs,
        };
        // Rank and size are the communicator's.
        counts
            && mine.collective == theirs.collective
            && mine.element == theirs.element
            && mine.order == theirs.order
            && mine.in_place == theirs.in_place
            && self.call == other.call
            && self.dtype == other.dtype
            && self.op == other.op
    }
}

/// Whether counts are compared as fast as they are hashed, even with several calls of the latest.
#[inline]
fn are_few(counts: &Counts) -> bool {
    match counts {
        Counts::Same(_) | Counts::Own(_) => true,
        Counts::Each(counts) => counts.len() <= FEW,
        Counts::Pairs { send, .. } => send.len() <= FEW,
    }
}

/// Where a call stands, and the same as it travels.
type Place = (&'static Location<'static>, [u8; 8]);

/// A call among the latest, and where it stood last.
struct Latest {
    asked: Asked,
    what: Arc<Planned>,
    place: Place,
}

pub(crate) struct Schedules {
    /// In no order; none of more than its part of the room.
    latest: Vec<Latest>,
    /// Which of them goes next.
    oldest: usize,
    /// No peer chooses the keys: the default hasher took a quarter of what a call costs besides its messages (700 of
    /// 2,900 instructions).
    kept: LruCache<Asked, Arc<Planned>, FxBuildHasher>,
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
        let kept = LruCache::unbounded_with_hasher(FxBuildHasher);
        Self { latest: Vec::new(), oldest: 0, kept, bytes: 0, room }
    }

    /// What was planned for the same before, and the place of this call as it travels.
    #[inline]
    pub(crate) fn recall(
        &mut self,
        asked: &Asked,
        caller: &'static Location<'static>,
    ) -> Option<(Arc<Planned>, [u8; 8])> {
        let Some(latest) = self.latest.iter_mut().find(|latest| latest.asked.is(asked)) else {
            return self.recall_older(asked, caller);
        };
        if !std::ptr::eq(latest.place.0, caller) {
            latest.place = (caller, site(caller));
        }
        Some((Arc::clone(&latest.what), latest.place.1))
    }

    #[cold]
    #[inline(never)]
    fn recall_older(
        &mut self,
        asked: &Asked,
        caller: &'static Location<'static>,
    ) -> Option<(Arc<Planned>, [u8; 8])> {
        let what = self.kept.get(asked).map(Arc::clone)?;
        let place = (caller, site(caller));
        self.is_latest(asked, &what, place);
        Some((what, place.1))
    }

    /// Keeps a plan, and lets those go that were used longest ago. One that has no room at all is not kept.
    pub(crate) fn keep(
        &mut self,
        asked: &Asked,
        planned: Planned,
        caller: &'static Location<'static>,
    ) -> (Arc<Planned>, [u8; 8]) {
        let (what, place) = (Arc::new(planned), (caller, site(caller)));
        let entry = size(asked, &what);
        if entry <= self.room {
            self.bytes += entry;
            if let Some((asked, replaced)) = self.kept.push(asked.clone(), Arc::clone(&what)) {
                self.bytes -= size(&asked, &replaced);
            }
            while self.bytes > self.room
                && let Some((asked, what)) = self.kept.pop_lru()
            {
                self.bytes -= size(&asked, &what);
            }
            self.is_latest(asked, &what, place);
        }
        (what, place.1)
    }

    /// Puts a call among the latest, in place of the one that came first.
    fn is_latest(&mut self, asked: &Asked, what: &Arc<Planned>, place: Place) {
        if !are_few(&asked.request.counts) || size(asked, what) > self.room / (2 * LATEST) {
            return;
        }
        let latest = Latest { asked: asked.clone(), what: Arc::clone(what), place };
        if self.latest.len() < LATEST {
            self.latest.push(latest);
        } else {
            self.latest[self.oldest] = latest;
            self.oldest = (self.oldest + 1) % LATEST;
        }
    }
}

/// What an entry takes, but for what the table itself does.
fn size(asked: &Asked, what: &Planned) -> usize {
    let counts = match &asked.request.counts {
        Counts::Same(_) | Counts::Own(_) => 0,
        Counts::Each(counts) => size_of_val(&**counts),
        Counts::Pairs { send, recv } => size_of_val(&**send) + size_of_val(&**recv),
    };
    size_of::<Asked>() + size_of::<Planned>() + counts + what.schedule.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringworld_collectives::{Collective, Order, Tuning};
    use ringworld_engine::signature::Signature;

    fn asked(counts: Counts) -> Asked {
        let collective = Collective::AllToAll;
        let request = Request {
            collective,
            rank: 0,
            size: 64,
            counts,
            element: 4,
            order: Order::Free,
            in_place: false,
        };
        Asked { call: Call::AllToAll, request, dtype: crate::DType::Bytes.into(), op: OpCode::NONE }
    }

    fn varied(count: usize) -> Asked {
        let counts: Arc<[usize]> = vec![count; 64].into();
        asked(Counts::Pairs { send: Arc::clone(&counts), recv: counts })
    }

    fn planned(asked: &Asked) -> Planned {
        let Asked { call, request, dtype, op } = asked.clone();
        let schedule = ringworld_collectives::schedule(&request, &Tuning::default()).unwrap();
        let signature = Signature { call, dtype, op, root: 0, count: 0, tuning: 0, site: [0; 8] };
        let (group, schedule) = (None, Arc::new(schedule));
        Planned {
            schedule,
            group,
            context: 1,
            signature,
            element: 4,
            result: 0,
            combined: 64,
            exchange: None,
        }
    }

    fn keep(schedules: &mut Schedules, asked: &Asked) {
        schedules.keep(asked, planned(asked), Location::caller());
    }

    fn has(schedules: &mut Schedules, asked: &Asked) -> bool {
        schedules.recall(asked, Location::caller()).is_some()
    }

    #[test]
    fn what_is_used_stays_and_what_was_used_once_goes_within_the_bound() {
        let mut schedules = Schedules::default();
        let steady = asked(Counts::Same(100));
        keep(&mut schedules, &steady);
        for count in 0..5000 {
            let once = varied(count);
            assert!(!has(&mut schedules, &once));
            keep(&mut schedules, &once);
            assert!(has(&mut schedules, &steady), "it is used every time, but gone after {count} others");
            let bytes: usize = schedules.kept.iter().map(|(asked, what)| size(asked, what)).sum();
            assert!(bytes == schedules.bytes && bytes <= ROOM);
        }
        assert!(!has(&mut schedules, &varied(0)), "used once, long ago");
        assert!(has(&mut schedules, &varied(4999)), "used last");
        assert!(schedules.bytes > ROOM / 2, "what there is room for is kept");
    }

    #[test]
    fn more_in_turn_than_the_latest_are_all_remembered_each_as_what_it_is() {
        let mut schedules = Schedules::default();
        let shapes: Vec<Asked> = (0..3 * LATEST).map(|count| asked(Counts::Same(count))).collect();
        shapes.iter().for_each(|asked| keep(&mut schedules, asked));
        let here = Location::caller();
        for _ in 0..3 {
            for (count, asked) in shapes.iter().enumerate() {
                let (what, place) = schedules.recall(asked, here).unwrap();
                let made = planned(asked);
                assert_eq!(what.schedule.actions(), made.schedule.actions(), "{count}");
                assert_eq!(place, site(here));
            }
        }
        assert_eq!(schedules.latest.len(), LATEST);
        // Each difference counts.
        let one = &shapes[3];
        let others = [
            Asked { call: Call::AllToAllVaried, ..one.clone() },
            Asked { dtype: crate::DType::F32.into(), ..one.clone() },
            Asked { request: Request { element: 8, ..one.request.clone() }, ..one.clone() },
            Asked { request: Request { in_place: true, ..one.request.clone() }, ..one.clone() },
            Asked { request: Request { order: Order::Left, ..one.request.clone() }, ..one.clone() },
            Asked {
                request: Request { collective: Collective::Barrier, ..one.request.clone() },
                ..one.clone()
            },
        ];
        assert!(others.iter().all(|other| !has(&mut schedules, other)));
    }

    #[test]
    fn few_counts_by_rank_are_among_the_latest_and_many_are_not_each_as_what_they_are() {
        let mut schedules = Schedules::default();
        let few = |give: usize, get: usize| {
            let counts = |last: usize| (1..FEW).chain([last]).collect::<Arc<[usize]>>();
            let mut asked = asked(Counts::Pairs { send: counts(give), recv: counts(get) });
            asked.request.size = FEW;
            asked
        };
        keep(&mut schedules, &few(1, 1));
        assert_eq!(schedules.latest.len(), 1);
        assert!(has(&mut schedules, &few(1, 1)));
        assert!([few(1, 2), few(2, 1)].iter().all(|other| !has(&mut schedules, other)));
        keep(&mut schedules, &varied(1));
        assert_eq!(schedules.latest.len(), 1, "those of 64 ranks are hashed");
        assert!(has(&mut schedules, &varied(1)) && !has(&mut schedules, &varied(2)));
    }

    #[test]
    fn the_place_is_that_of_the_call() {
        let mut schedules = Schedules::default();
        let asked = asked(Counts::Same(1));
        let (here, there) = (Location::caller(), Location::caller());
        keep(&mut schedules, &asked);
        for caller in [here, there, here, here] {
            assert_eq!(schedules.recall(&asked, caller).unwrap().1, site(caller));
        }
    }

    #[test]
    fn one_that_is_larger_than_the_room_is_not_kept() {
        let mut small = asked(Counts::Same(1));
        small.request.size = 2;
        let mut schedules = Schedules::with_room(2000);
        keep(&mut schedules, &small);
        keep(&mut schedules, &varied(1));
        assert!(!has(&mut schedules, &varied(1)));
        assert!(has(&mut schedules, &small), "nor does anything go because of it");
    }

    #[test]
    fn the_same_request_twice_counts_once() {
        let mut schedules = Schedules::default();
        let same = varied(1);
        keep(&mut schedules, &same);
        let bytes = schedules.bytes;
        keep(&mut schedules, &same);
        assert_eq!(schedules.bytes, bytes);
    }
}
