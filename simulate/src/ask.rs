//! The same request from another rank, or for another number of elements: the one place that takes a
//! [`Request`] apart.

use ringworld_collectives::Request;

/// The request as `rank` makes it.
pub(crate) fn of_rank(request: &Request, rank: usize) -> Request {
    Request { rank, ..*request }
}

/// The request for `count` elements.
pub(crate) fn of_count(request: &Request, count: usize) -> Request {
    Request { count, ..*request }
}

/// How many elements the request is for.
pub(crate) fn count(request: &Request) -> usize {
    request.count
}
