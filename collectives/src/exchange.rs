//! Which schedules are one exchange, in which each rank gives the same to all who want it.
//!
//! Where ranks share memory, what is given to several need be written only once: a rank shows it, and the others look.
//! Both sides must know of each other that they do. Invariant: [`is_exchange`] depends on nothing that ranks of one
//! call do not know alike; then all messages of a schedule are sent before anything is received, no two go from one
//! rank to the same other, and all of one rank have the same content. Neighbours: the files `direct.rs`, which are what
//! this is true of; [`crate::select`], which takes them where ranks share memory.

use crate::tuning::LONGEST_SHOWN;
use crate::{Action, Algorithm, Choice, Counts, Request, Schedule};

/// Whether every rank of such a call gives the same to all others, in one message to each, before it needs anything of
/// them: all ranks answer alike.
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
    let gives_the_same = matches!(
        choice.algorithm,
        A::BarrierDirect
            | A::BroadcastDirect
            | A::ReduceDirect
            | A::AllReduceDirect
            | A::AllGatherDirect
            | A::GatherDirect
            | A::ScanDirect
            | A::ExclusiveScanDirect
    );
    // Only an all-reduce is cut, and a segment is one message more.
    let whole = |count: usize| choice.algorithm != A::AllReduceDirect || count <= choice.segment;
    // An all-gather goes to a few at a time where blocks cannot be shown.
    let at_once =
        choice.algorithm != A::AllGatherDirect || request.size <= choice.in_flight.saturating_add(1);
    let short = request.bytes() <= LONGEST_SHOWN;
    request.size > 1
        && short
        && gives_the_same
        && at_once
        && matches!(request.counts, Counts::Same(count) if whole(count))
}

impl Schedule {
    /// What an exchange ([`is_exchange`]) gives to all others, and to whom; `None` where it gives nothing to anybody.
    #[must_use]
    pub fn gives(&self) -> Option<(crate::Span, Vec<usize>)> {
        let sends = self.actions().iter().filter_map(|action| match action {
            Action::Send { to, from, .. } => Some((*from, *to)),
            _ => None,
        });
        let (spans, to): (Vec<_>, Vec<_>) = sends.unzip();
        Some((*spans.first()?, to))
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
                    for rank in 0..size {
                        let Ok(schedule) = build(&request(rank), &choice(rank)) else { continue };
                        holds(&schedule, algorithm);
                    }
                }
            }
        }
        assert_eq!(exchanges.len(), 8, "{exchanges:?}");
    }

    #[test]
    fn an_all_gather_goes_to_all_at_once_where_it_can_be_shown_and_to_a_few_elsewhere() {
        let apart = Tuning::default();
        let together = Tuning { show_ranks: 8, ..Tuning::default() };
        let is_one = |size, bytes, tuning: &Tuning| {
            let request = Request {
                collective: Collective::AllGather,
                rank: 1,
                size,
                counts: Counts::Same(bytes),
                element: 1,
                order: Order::Free,
                in_place: false,
            };
            let choice = Choice::forced(Algorithm::AllGatherDirect, &request, tuning).unwrap();
            let claimed = is_exchange(&request, &choice);
            if claimed {
                holds(&build(&request, &choice).unwrap(), choice.algorithm);
            }
            claimed
        };
        for bytes in [1, LONGEST_SHOWN] {
            assert!((2..=8).all(|size| is_one(size, bytes, &together)), "{bytes}");
            assert!((2..=5).all(|size| is_one(size, bytes, &apart)) && !is_one(6, bytes, &apart), "{bytes}");
        }
        assert!(!is_one(9, 1, &together) && !is_one(3, LONGEST_SHOWN + 1, &together));
    }

    fn holds(schedule: &Schedule, algorithm: Algorithm) {
        let (mut to, mut from, mut spans) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (step, action) in schedule.actions().iter().enumerate() {
            match *action {
                Action::Send { to: peer, from, tag } => {
                    assert_eq!((schedule.dependencies(step), tag), (0, 0), "{algorithm:?}");
                    spans.insert(format!("{from}"));
                    to.push(peer);
                }
                Action::Recv { from: peer, tag, .. } => {
                    assert_eq!(tag, 0);
                    from.push(peer);
                }
                _ => {}
            }
        }
        assert!(spans.len() <= 1, "{algorithm:?} {spans:?}");
        for list in [&to, &from] {
            assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len());
        }
        assert_eq!(schedule.gives().map(|(_, to)| to).unwrap_or_default(), to);
    }
}
