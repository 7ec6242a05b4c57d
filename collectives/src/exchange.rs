//! Which schedules are one exchange, in which each rank gives something to all who want it, or a part of it.
//!
//! Where ranks share memory, what is given to several need be written only once: a rank shows it, and the others look.
//! Both sides must know of each other that they do. Invariant: [`is_exchange`] depends on nothing that ranks of one
//! call do not know alike; then all messages of a schedule are sent before anything is received, no two go from one
//! rank to the same other, and all of one rank have the same content, or are [parts](Part) of one. Neighbours: the
//! files `direct.rs`, which are what this is true of, and the exchange in pairs; [`crate::select`], which takes them
//! where ranks share memory.

use std::ops::Range;

use crate::tuning::LONGEST_SHOWN;
use crate::{Action, Algorithm, Choice, Collective, Counts, Request, Schedule, Span};

/// Which part a rank takes of what another one gives, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it begins.
    pub offset: usize,
    /// How long all of it is.
    pub whole: usize,
}

/// Blocks of the same length, one for each rank, of which every rank that gives any has all, and each takes its own.
///
/// It gives those of the others, and its own only where that lies between them: of two ranks each gives half of what it
/// has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Personalized {
    rank: usize,
    size: usize,
    count: usize,
}

impl Personalized {
    /// Which of them a rank gives.
    fn given_by(self, giver: usize) -> Range<usize> {
        usize::from(giver == 0)..self.size - usize::from(giver + 1 == self.size)
    }

    /// Which part the rank that these were asked of takes of what another one gives.
    #[must_use]
    pub fn part_of(self, giver: usize) -> Part {
        let given = self.given_by(giver);
        let elements = |blocks: usize| blocks.saturating_mul(self.count);
        // It takes nothing of its own.
        let before = self.rank.saturating_sub(given.start);
        Part { offset: elements(before), whole: elements(given.len()) }
    }
}

impl Request {
    /// The blocks of an exchange ([`is_exchange`]) of which each rank takes its own: of a scatter, a reduce-scatter and
    /// an all-to-all. `None`: it takes all that others give.
    #[must_use]
    pub fn personalized(&self) -> Option<Personalized> {
        use Collective as C;
        match (self.collective, &self.counts) {
            (C::Scatter { .. } | C::ReduceScatter | C::AllToAll, Counts::Same(count)) => {
                Some(Personalized { rank: self.rank, size: self.size, count: *count })
            }
            _ => None,
        }
    }

    /// Bytes of the vector that a rank gives from in an exchange, its own block among them.
    pub(crate) fn given_bytes(&self) -> usize {
        let blocks = if self.personalized().is_some() { self.size } else { 1 };
        self.bytes().saturating_mul(blocks)
    }
}

/// Whether every rank of such a call gives the same to all others, or parts of the same, in one message to each, before
/// it needs anything of them: all ranks answer alike.
///
/// ```
/// use ringworld_collectives::{Algorithm, Choice, Collective, Counts, Order, Request, Tuning, is_exchange};
/// let request = Request {
///     collective: Collective::AllReduce, rank: 1, size: 4, counts: Counts::Same(3), element: 8,
///     order: Order::Free, in_place: true,
/// };
/// let by = |algorithm| Choice::forced(algorithm, &request, &Tuning::default()).unwrap();
/// assert!(is_exchange(&request, &by(Algorithm::AllReduceDirect)));
/// assert!(!is_exchange(&request, &by(Algorithm::AllReduceRing)));
/// ```
#[must_use]
pub fn is_exchange(request: &Request, choice: &Choice) -> bool {
    use Algorithm as A;
    let gives_to_all = matches!(
        choice.algorithm,
        A::BarrierDirect
            | A::BroadcastDirect
            | A::ReduceDirect
            | A::AllReduceDirect
            | A::AllGatherDirect
            | A::GatherDirect
            | A::ScanDirect
            | A::ExclusiveScanDirect
            | A::ScatterDirect
            | A::ReduceScatterDirect
            | A::AllToAllPairwise
    );
    // A segment is one message more.
    let is_cut =
        matches!(choice.algorithm, A::AllReduceDirect | A::ReduceScatterDirect | A::AllToAllPairwise);
    let whole = |count: usize| !is_cut || count <= choice.segment;
    // These go to a few at a time where blocks cannot be shown.
    let at_once = !matches!(choice.algorithm, A::AllGatherDirect | A::AllToAllPairwise)
        || request.size <= choice.in_flight.saturating_add(1);
    let short = request.given_bytes() <= LONGEST_SHOWN;
    request.size > 1
        && short
        && gives_to_all
        && at_once
        && matches!(request.counts, Counts::Same(count) if whole(count))
}

impl Schedule {
    /// What a rank gives in an exchange ([`is_exchange`]), all [blocks](Personalized) that it gives in one, and to
    /// whom; `None` where it gives nothing to anybody. Of the request that the schedule was built for.
    #[must_use]
    pub fn gives(&self, request: &Request) -> Option<(Span, Vec<usize>)> {
        let sends = self.actions().iter().filter_map(|action| match action {
            Action::Send { to, from, .. } => Some((*from, *to)),
            _ => None,
        });
        let (spans, to): (Vec<_>, Vec<_>) = sends.unzip();
        let first = *spans.first()?;
        let all = request.personalized().map_or(first, |blocks| {
            let given = blocks.given_by(request.rank);
            Span { offset: given.start * blocks.count, len: given.len() * blocks.count, ..first }
        });
        Some((all, to))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Collective, Order, Tuning, build};

    #[test]
    fn an_exchange_gives_the_same_to_each_before_it_needs_anything() {
        let mut exchanges = BTreeSet::new();
        for (size, count, in_place) in [1, 2, 3, 4, 5, 8, 13].into_iter().flat_map(|size| {
            [0, 1, 7, 5000].into_iter().flat_map(move |count| [(size, count, false), (size, count, true)])
        }) {
            let collectives = [
                Collective::Barrier,
                Collective::Broadcast { root: size / 2 },
                Collective::Reduce { root: size - 1 },
                Collective::AllReduce,
                Collective::AllGather,
                Collective::ReduceScatter,
                Collective::Gather { root: 0 },
                Collective::Scatter { root: 0 },
                Collective::AllToAll,
                Collective::Scan,
                Collective::ExclusiveScan,
            ];
            for collective in collectives {
                let count = if collective == Collective::Barrier { 0 } else { count };
                let request = |rank| Request {
                    collective,
                    rank,
                    size,
                    counts: Counts::Same(count),
                    element: 4,
                    order: Order::Left,
                    in_place,
                };
                let tuning = Tuning { segment: 1000, shortest_segment: 100, ..Tuning::default() };
                for algorithm in request(0).algorithms() {
                    let choice = |rank| Choice::forced(algorithm, &request(rank), &tuning).unwrap();
                    let claimed: BTreeSet<bool> =
                        (0..size).map(|rank| is_exchange(&request(rank), &choice(rank))).collect();
                    assert_eq!(claimed.len(), 1, "{algorithm:?}: ranks answer alike");
                    if !claimed.contains(&true) {
                        continue;
                    }
                    exchanges.insert(algorithm);
                    let all: Vec<_> = (0..size)
                        .map(|rank| {
                            let request = request(rank);
                            let schedule = build(&request, &choice(rank)).unwrap();
                            (request, schedule)
                        })
                        .collect();
                    holds(&all, algorithm);
                }
            }
        }
        assert_eq!(exchanges.len(), 11, "{exchanges:?}");
    }

    #[test]
    fn blocks_go_to_all_at_once_where_they_can_be_shown_and_to_a_few_elsewhere() {
        let apart = Tuning::default();
        let together = Tuning { show_ranks: 8, ..Tuning::default() };
        let is_one = |algorithm: Algorithm, size, bytes, tuning: &Tuning| {
            let request = |rank| Request {
                collective: match algorithm {
                    Algorithm::AllGatherDirect => Collective::AllGather,
                    _ => Collective::AllToAll,
                },
                rank,
                size,
                counts: Counts::Same(bytes),
                element: 1,
                order: Order::Free,
                in_place: false,
            };
            let choice = Choice::forced(algorithm, &request(1), tuning).unwrap();
            let claimed = is_exchange(&request(1), &choice);
            if claimed {
                let built = |rank| (request(rank), build(&request(rank), &choice).unwrap());
                holds(&(0..size).map(built).collect::<Vec<_>>(), algorithm);
            }
            claimed
        };
        for (algorithm, longest, most) in [
            (Algorithm::AllGatherDirect, LONGEST_SHOWN, 5),
            (Algorithm::AllToAllPairwise, LONGEST_SHOWN / 8, 33),
        ] {
            for bytes in [1, longest] {
                assert!((2..=8).all(|size| is_one(algorithm, size, bytes, &together)), "{bytes}");
                assert!((2..=most.min(8)).all(|size| is_one(algorithm, size, bytes, &apart)), "{bytes}");
            }
            assert!(!is_one(algorithm, most + 1, 1, &apart));
            assert!(!is_one(algorithm, 8, longest + 1, &together));
        }
        assert!(!is_one(Algorithm::AllGatherDirect, 9, 1, &together));
    }

    /// What is sent to each is the part that it takes of what the sender gives to all.
    fn holds(all: &[(Request, Schedule)], algorithm: Algorithm) {
        let gives: Vec<_> = all.iter().map(|(request, schedule)| schedule.gives(request)).collect();
        let mut expected = BTreeSet::new();
        for (sender, (_, schedule)) in all.iter().enumerate() {
            let mut to = Vec::new();
            for (step, action) in schedule.actions().iter().enumerate() {
                let Action::Send { to: peer, from, tag } = *action else { continue };
                assert_eq!((schedule.dependencies(step), tag), (0, 0), "{algorithm:?}");
                let given = gives[sender].as_ref().unwrap().0;
                let blocks = all[peer].0.personalized();
                let part =
                    blocks.map_or(Part { offset: 0, whole: from.len }, |blocks| blocks.part_of(sender));
                assert_eq!(given.len, part.whole, "{algorithm:?}");
                assert_eq!(from, Span { offset: given.offset + part.offset, ..from }, "{algorithm:?}");
                assert_eq!(from.buffer, given.buffer, "{algorithm:?}");
                assert!(expected.insert((sender, peer, from.len)), "{algorithm:?}");
                to.push(peer);
            }
            assert_eq!(gives[sender].as_ref().map(|(_, to)| to.clone()).unwrap_or_default(), to);
        }
        let mut received = BTreeSet::new();
        for (rank, (_, schedule)) in all.iter().enumerate() {
            for action in schedule.actions() {
                if let Action::Recv { from, into, tag } = *action {
                    assert!(tag == 0 && received.insert((from, rank, into.len)), "{algorithm:?}");
                }
            }
        }
        assert_eq!(received, expected, "{algorithm:?}");
    }
}
