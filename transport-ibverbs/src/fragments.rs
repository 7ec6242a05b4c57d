//! Puts in fragments: how long each fragment is, which queue pair takes it, and which puts have fragments under way.
//!
//! The fragments of one put may be on several queue pairs, which end them in no order among each other. Invariant: the
//! memory of a put is let go exactly when all of its fragments have been posted and none is under way. Pure, and
//! generic in how the memory is held. Neighbours: `verbs/sending.rs` posts fragments, `verbs/receiving.rs` ends them.

use crate::numbered::Numbered;

/// The longest fragment: long enough that the device is busy, short enough that others get a turn.
pub(crate) const LONGEST: usize = 1 << 20;
/// A put is not cut shorter than this for the sake of giving every queue pair a fragment.
const SHORTEST: usize = 64 << 10;

/// The length of all fragments but the last of a put of `put` bytes over `lanes` queue pairs, of which none takes more
/// than `longest`: every queue pair gets a fragment, unless that would make them too short to be worth it.
pub(crate) fn length(put: usize, lanes: usize, longest: usize) -> usize {
    // Whole pages, so that fragments are aligned as well as the put is.
    let even = put.div_ceil(lanes.max(1)).next_multiple_of(4096);
    even.max(SHORTEST).min(longest)
}

/// Whose turn it is to take the next fragment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn(usize);

impl Turn {
    /// Asks each of `lanes` once, beginning with the one whose turn it is, until one takes the fragment; returns which.
    /// So each takes as many as it is done with, and one that is slow holds no other up.
    pub(crate) fn offer<E>(
        &mut self,
        lanes: usize,
        mut take: impl FnMut(usize) -> Result<bool, E>,
    ) -> Result<Option<usize>, E> {
        for lane in (self.0..self.0 + lanes).map(|turn| turn % lanes) {
            if take(lane)? {
                self.0 = (lane + 1) % lanes;
                return Ok(Some(lane));
            }
        }
        Ok(None)
    }
}

struct Flight<M> {
    fragments: usize,
    /// Once all has been posted.
    memory: Option<M>,
}

/// The puts of one peer that have begun.
pub(crate) struct Flying<M> {
    puts: Numbered<Flight<M>>,
}

impl<M> Default for Flying<M> {
    fn default() -> Self {
        Self { puts: Numbered::default() }
    }
}

impl<M> Flying<M> {
    pub(crate) fn is_empty(&self) -> bool {
        self.puts.is_empty()
    }

    /// A put of which fragments will be posted; returns its number.
    pub(crate) fn begin(&mut self) -> u32 {
        self.puts.insert(Flight { fragments: 0, memory: None })
    }

    /// A fragment of `put` is under way.
    pub(crate) fn fragment(&mut self, put: u32) {
        if let Some(flight) = self.puts.get_mut(put) {
            flight.fragments += 1;
        }
    }

    /// No fragment of `put` will follow; gives its memory back if none is under way either.
    pub(crate) fn posted(&mut self, put: u32, memory: M) -> Option<M> {
        let flight = self.puts.get_mut(put)?;
        flight.memory = Some(memory);
        self.end(put)
    }

    /// A fragment of `put` is done; gives its memory back if that was the last of all.
    pub(crate) fn landed(&mut self, put: u32) -> Option<M> {
        let flight = self.puts.get_mut(put)?;
        flight.fragments = flight.fragments.saturating_sub(1);
        self.end(put)
    }

    fn end(&mut self, put: u32) -> Option<M> {
        let over = |flight: &mut Flight<M>| flight.fragments == 0 && flight.memory.is_some();
        if !self.puts.get_mut(put).is_some_and(over) {
            return None;
        }
        self.puts.remove(put).and_then(|flight| flight.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_pair_gets_a_fragment_that_is_worth_it() {
        const MIB: usize = 1 << 20;
        // Over one: as long as may be.
        assert_eq!([9000, MIB, 3 * MIB].map(|put| length(put, 1, MIB).min(put)), [9000, MIB, MIB]);
        assert_eq!(length(3 * MIB, 1, 4096), 4096);
        for (put, lanes, expected) in [
            (MIB, 2, MIB / 2),
            (MIB, 3, 352_256),
            (100_000, 2, SHORTEST),
            (9000, 16, SHORTEST),
            (8 * MIB, 2, MIB),
        ] {
            assert_eq!(length(put, lanes, MIB), expected, "{put} bytes over {lanes}");
            assert!(expected * lanes >= put.min(MIB), "a fragment too many");
        }
    }

    #[test]
    fn fragments_go_round_and_a_slow_queue_pair_holds_no_other_up() {
        let mut turn = Turn::default();
        let mut all = |_| Ok::<_, ()>(true);
        let round: Vec<_> = (0..7).map(|_| turn.offer(3, &mut all).unwrap().unwrap()).collect();
        assert_eq!(round, [0, 1, 2, 0, 1, 2, 0]);
        // Each has room for two fragments. The second finishes none, the third one at every fourth moment only.
        let (mut room, mut taken) = ([2usize; 3], [0usize; 3]);
        for moment in 0..400 {
            room[0] = 2.min(room[0] + 1);
            room[2] = 2.min(room[2] + usize::from(moment % 4 == 0));
            let took = turn.offer(3, |lane| Ok::<_, ()>(room[lane] > 0)).unwrap();
            if let Some(lane) = took {
                room[lane] -= 1;
                taken[lane] += 1;
            }
        }
        assert_eq!(taken.iter().sum::<usize>(), 400, "something waited though there was room: {taken:?}");
        assert_eq!(taken[1], 2);
        assert!((100..=102).contains(&taken[2]), "{taken:?}");
        assert_eq!(turn.offer(3, |_| Ok::<_, ()>(false)), Ok(None));
        assert_eq!(turn.offer(3, |lane| if lane == 9 { Ok(true) } else { Err(()) }), Err(()));
    }

    #[test]
    fn memory_is_let_go_with_the_last_fragment_in_whatever_order_they_end() {
        let mut flying = Flying::default();
        let (a, b) = (flying.begin(), flying.begin());
        for put in [a, b, a, b, a] {
            flying.fragment(put);
        }
        assert_eq!(flying.posted(a, "a"), None);
        assert_eq!([b, a, a].map(|put| flying.landed(put)), [None; 3]);
        // All that is under way has ended, but more will follow.
        assert_eq!(flying.landed(b), None);
        flying.fragment(b);
        assert_eq!(flying.posted(b, "b"), None);
        assert_eq!(flying.landed(b), Some("b"));
        assert_eq!((flying.landed(b), flying.is_empty()), (None, false));
        assert_eq!((flying.landed(a), flying.is_empty()), (Some("a"), true));
    }

    #[test]
    fn a_put_whose_fragments_have_all_ended_early_is_over_when_nothing_follows() {
        let mut flying = Flying::default();
        let put = flying.begin();
        flying.fragment(put);
        assert_eq!(flying.landed(put), None);
        assert_eq!((flying.posted(put, "x"), flying.is_empty()), (Some("x"), true));
    }
}
