//! The same request from another rank, or for another number of elements: the one place that takes a
//! [`Request`] apart.

use ringworld_collectives::{Counts, Request};

/// The request as `rank` makes it.
pub(crate) fn of_rank(request: &Request, rank: usize) -> Request {
    Request { rank, ..request.clone() }
}

/// The request for `count` elements, the same on every rank.
pub(crate) fn of_count(request: &Request, count: usize) -> Request {
    Request { counts: Counts::Same(count), ..request.clone() }
}

/// How many elements the request is for.
pub(crate) fn count(request: &Request) -> usize {
    request.count()
}
