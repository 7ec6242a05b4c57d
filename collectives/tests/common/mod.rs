//! What the tests of schedules share: requests, and choices with short segments so that small counts have many.

// Each test program uses a part of this.
#![allow(dead_code)]

use ringworld_collectives::{Algorithm, Choice, Collective, Request, Schedule, build};

/// A request of rank 0.
pub(crate) fn request(
    collective: Collective,
    size: usize,
    count: usize,
    commutative: bool,
    in_place: bool,
) -> Request {
    Request { collective, rank: 0, size, count, element: 4, commutative, in_place }
}

/// A choice with segments of `segment` elements.
pub(crate) fn choice(algorithm: Algorithm, segment: usize, in_flight: usize) -> Choice {
    Choice { algorithm, segment, in_flight, reason: "the test says so" }
}

/// The schedules of all ranks.
pub(crate) fn all(request: &Request, choice: &Choice) -> Vec<Schedule> {
    (0..request.size)
        .map(|rank| build(&Request { rank, ..*request }, choice).expect("a supported request"))
        .collect()
}

/// One collective of each kind that has no root, and those that have, for each of some roots.
pub(crate) fn collectives(size: usize) -> Vec<Collective> {
    let mut roots = vec![0, size / 2, size - 1];
    roots.dedup();
    let mut list =
        vec![Collective::Barrier, Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter];
    list.extend(roots.iter().map(|root| Collective::Broadcast { root: *root }));
    list.extend(roots.iter().map(|root| Collective::Reduce { root: *root }));
    list
}
