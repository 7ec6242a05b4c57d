//! What the tests of schedules share: requests, and choices with short segments so that small counts have many.

// Each test program uses a part of this.
#![allow(dead_code)]

use ringworld_collectives::check::Requests;
use ringworld_collectives::{Algorithm, Choice, Collective, Counts, Order, Request, Schedule, build};

/// A request of rank 0.
pub(crate) fn request(
    collective: Collective,
    size: usize,
    count: usize,
    order: Order,
    in_place: bool,
) -> Request {
    Request { collective, rank: 0, size, counts: Counts::Same(count), element: 4, order, in_place }
}

/// Requests of all ranks, in which rank (or pair of ranks) `i` has `count(i)` elements, some perhaps none.
/// `None` for collectives whose counts cannot differ.
pub(crate) fn uneven(
    collective: Collective,
    size: usize,
    order: Order,
    in_place: bool,
    count: impl Fn(usize) -> usize,
) -> Option<Vec<Request>> {
    let each: Vec<usize> = (0..size).map(&count).collect();
    let counts = |rank: usize| {
        Some(match collective {
            Collective::AllGather | Collective::ReduceScatter => Counts::Each(each.as_slice().into()),
            Collective::Gather { root } | Collective::Scatter { root } if rank == root => {
                Counts::Each(each.as_slice().into())
            }
            Collective::Gather { .. } | Collective::Scatter { .. } => Counts::Own(each[rank]),
            Collective::AllToAll => Counts::Pairs {
                send: (0..size).map(|to| count(rank * size + to)).collect(),
                recv: (0..size).map(|from| count(from * size + rank)).collect(),
            },
            _ => return None,
        })
    };
    (0..size)
        .map(|rank| {
            Some(Request { counts: counts(rank)?, rank, ..request(collective, size, 0, order, in_place) })
        })
        .collect()
}

/// A choice with segments of `segment` elements.
pub(crate) fn choice(algorithm: Algorithm, segment: usize, in_flight: usize) -> Choice {
    Choice { algorithm, segment, in_flight, reason: "the test says so", hosts: None }
}

/// The schedules of all ranks.
pub(crate) fn all(request: &(impl Requests + ?Sized), choice: &Choice) -> Vec<Schedule> {
    let requests = request.of_all_ranks().expect("a request that makes sense");
    requests.iter().map(|request| build(request, choice).expect("a supported request")).collect()
}

/// One collective of each kind that has no root, and those that have, for each of some roots.
pub(crate) fn collectives(size: usize) -> Vec<Collective> {
    let mut roots = vec![0, size / 2, size - 1];
    roots.dedup();
    let family = |root| Collective::family(root).into_iter();
    let without = family(0).filter(|collective| collective.root().is_none());
    let with = |root| family(root).filter(|collective| collective.root().is_some());
    without.chain(roots.into_iter().flat_map(with)).collect()
}

/// The orders that make a difference to a collective, the strictest last.
pub(crate) fn orders(collective: Collective) -> &'static [Order] {
    if collective.reduces() { &[Order::Free, Order::Rank, Order::Left] } else { &[Order::Free] }
}
