//! Which algorithm, and how it is cut: a pure function of the request and the tuning.
//!
//! Invariant: [`select`] answers every request with an algorithm that supports it, unless a setting asks for
//! another ([`crate::Overrides`]), which [`crate::build`] then refuses. Nothing that differs between ranks (rank,
//! in place, counts that only some ranks know) has a say, so that all ranks choose alike. Neighbours:
//! [`crate::Tuning`] for the numbers, [`crate::build`] for what follows.

use std::fmt;

use crate::{Algorithm, Collective, Counts, Order, Request, Tuning};

/// What was chosen and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// How it is done.
    pub algorithm: Algorithm,
    /// The longest segment, in elements; algorithms that do not cut ignore it.
    pub segment: usize,
    /// How many segments are under way at once; how many receives have their own slot.
    pub in_flight: usize,
    /// Why this one.
    pub reason: &'static str,
}

impl Choice {
    /// A given algorithm, cut as the tuning says; `None` when it cannot serve the request.
    #[must_use]
    pub fn forced(algorithm: Algorithm, request: &Request, tuning: &Tuning) -> Option<Self> {
        algorithm.supports(request).then(|| cut(algorithm, "it was asked for", request, tuning))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (segments of {} elements, {} in flight) because {}",
            self.algorithm.path(),
            self.segment,
            self.in_flight,
            self.reason
        )
    }
}

/// Chooses an algorithm. Never fails; a request that makes no sense is refused by [`crate::build`].
///
/// ```
/// use ringworld_collectives::{Algorithm, Collective, Counts, Order, Request, Tuning, select};
/// let request = Request {
///     collective: Collective::AllReduce, rank: 0, size: 6, counts: Counts::Same(1 << 24), element: 4,
///     order: Order::Free, in_place: true,
/// };
/// let choice = select(&request, &Tuning::default());
/// assert_eq!(choice.algorithm, Algorithm::AllReduceRing);
/// assert_eq!(choice.segment, 64 * 1024);
/// ```
#[must_use]
pub fn select(request: &Request, tuning: &Tuning) -> Choice {
    let (algorithm, reason) = match tuning.algorithms.of(request.collective) {
        Some(algorithm) => (algorithm, "a setting asks for it"),
        None => rule(request, tuning),
    };
    cut(algorithm, reason, request, tuning)
}

fn rule(request: &Request, tuning: &Tuning) -> (Algorithm, &'static str) {
    let Request { collective, size, order, .. } = *request;
    let commutative = order == Order::Free;
    let uneven = !matches!(request.counts, Counts::Same(_));
    let bytes = request.bytes();
    let few = size <= tuning.direct_ranks;
    match collective {
        Collective::Barrier => (Algorithm::BarrierDissemination, "it takes the fewest steps for any size"),
        Collective::Broadcast { .. } if bytes <= tuning.tree_bytes => {
            (Algorithm::BroadcastBinomial, "the vector is short (tree_bytes)")
        }
        Collective::Broadcast { .. } => (Algorithm::BroadcastChain, "the vector is long (tree_bytes)"),
        Collective::Reduce { .. } if order == Order::Left => {
            (Algorithm::ReduceLeftChain, "operands must be combined from the left")
        }
        Collective::Reduce { .. } if bytes <= tuning.tree_bytes => {
            (Algorithm::ReduceBinomial, "the vector is short (tree_bytes)")
        }
        Collective::Reduce { .. } => (Algorithm::ReduceChain, "the vector is long (tree_bytes)"),
        Collective::AllReduce if order == Order::Left && size > 2 && bytes <= tuning.direct_bytes => (
            Algorithm::AllReduceDirect,
            "the vector is tiny and must be combined from the left (direct_bytes)",
        ),
        Collective::AllReduce if order == Order::Left && size > 2 => (
            Algorithm::AllReduceLeftChain,
            "the vector is long and must be combined from the left (direct_bytes)",
        ),
        Collective::AllReduce if few && bytes <= tuning.direct_bytes => (
            Algorithm::AllReduceDirect,
            "the vector is tiny and the ranks are few (direct_bytes, direct_ranks)",
        ),
        Collective::AllReduce if bytes <= tuning.doubling_bytes => {
            (Algorithm::AllReduceRecursiveDoubling, "the vector is short (doubling_bytes)")
        }
        Collective::AllReduce if size <= 2 => {
            (Algorithm::AllReduceRing, "two ranks exchange halves, whatever the operation")
        }
        Collective::AllReduce if !commutative => {
            (Algorithm::AllReduceRabenseifner, "the operation does not commute and the vector is long")
        }
        Collective::AllReduce if size.is_power_of_two() && bytes / size <= tuning.halving_chunk => (
            Algorithm::AllReduceRabenseifner,
            "chunks would be short and the size is a power of two (halving_chunk)",
        ),
        Collective::AllReduce => {
            (Algorithm::AllReduceRing, "the vector is long (doubling_bytes, halving_chunk)")
        }
        Collective::AllGather if uneven => (Algorithm::AllGatherRing, "the blocks differ in length"),
        // Two ranks swap their blocks directly in all algorithms; the ring does it without a detour.
        Collective::AllGather if size <= 2 || bytes.saturating_mul(size) > tuning.gather_bytes => {
            (Algorithm::AllGatherRing, "the blocks are long (gather_bytes) or there are two")
        }
        Collective::AllGather if size.is_power_of_two() => (
            Algorithm::AllGatherRecursiveDoubling,
            "the blocks are short and the size is a power of two (gather_bytes)",
        ),
        Collective::AllGather => (Algorithm::AllGatherBruck, "the blocks are short (gather_bytes)"),
        Collective::ReduceScatter if uneven => {
            (Algorithm::ReduceScatterDirect, "the blocks differ in length")
        }
        Collective::ReduceScatter if size <= 2 => {
            (Algorithm::ReduceScatterRing, "two ranks exchange blocks, whatever the operation")
        }
        Collective::ReduceScatter if !commutative => {
            (Algorithm::ReduceScatterDirect, "the operation does not commute")
        }
        Collective::ReduceScatter if few && bytes <= tuning.scatter_bytes => (
            Algorithm::ReduceScatterDirect,
            "the blocks are short and the ranks are few (scatter_bytes, direct_ranks)",
        ),
        Collective::ReduceScatter => (Algorithm::ReduceScatterRing, "the blocks are long (scatter_bytes)"),
        Collective::Gather { .. } => (Algorithm::GatherDirect, "every block takes the shortest way"),
        Collective::Scatter { .. } => (Algorithm::ScatterDirect, "every block takes the shortest way"),
        Collective::AllToAll => (Algorithm::AllToAllPairwise, "every block takes the shortest way"),
        Collective::Scan => (Algorithm::ScanChain, "it moves the fewest bytes"),
        Collective::ExclusiveScan => (Algorithm::ExclusiveScanChain, "it moves the fewest bytes"),
    }
}

/// Adds the lengths to an algorithm.
fn cut(algorithm: Algorithm, reason: &'static str, request: &Request, tuning: &Tuning) -> Choice {
    let size = request.size.max(1);
    // What one segment is cut from. Counts that not every rank knows must not decide: their messages are cut to
    // the same length everywhere.
    let len = match (algorithm, &request.counts) {
        (Algorithm::AllReduceRing, counts) => counts.largest().div_ceil(size),
        (_, Counts::Same(count)) => *count,
        (_, Counts::Each(counts)) if !rooted(request.collective) => counts.iter().copied().max().unwrap_or(0),
        _ => usize::MAX,
    };
    // Direct exchange has a slot for each other rank in every segment under way: together they should still fit
    // into the cache, and so many messages keep the links busy with two.
    let (in_flight, abreast) = match algorithm {
        Algorithm::ReduceScatterDirect => (tuning.in_flight.clamp(1, 2), (size - 1).max(1)),
        _ => (tuning.in_flight.max(1), 1),
    };
    let elements = |bytes: usize| (bytes / request.element.max(1)).max(1);
    let shortest = elements(tuning.shortest_segment.min(tuning.segment));
    let longest = elements(tuning.segment / abreast).max(shortest);
    let even = len.div_ceil(in_flight).clamp(shortest, longest);
    let segment =
        if len == usize::MAX { longest } else { even.max(len.div_ceil(tuning.most_segments.max(1))) };
    // Short vectors that are not cut give every step its own slot instead, so that all receives can be
    // posted at once; 64 steps of recursive doubling are more ranks than there will ever be.
    let whole = algorithm == Algorithm::AllReduceRecursiveDoubling && segment >= len;
    Choice { algorithm, segment, in_flight: if whole { in_flight.max(64) } else { in_flight }, reason }
}

fn rooted(collective: Collective) -> bool {
    collective.root().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(collective: Collective, size: usize, bytes: usize) -> Request {
        Request {
            collective,
            rank: 0,
            size,
            counts: Counts::Same(bytes / 4),
            element: 4,
            order: Order::Free,
            in_place: false,
        }
    }

    fn chosen(collective: Collective, size: usize, bytes: usize) -> &'static str {
        select(&request(collective, size, bytes), &Tuning::default()).algorithm.path()
    }

    #[test]
    fn all_reduce_goes_from_direct_to_ring_as_vectors_grow() {
        let path = |size, bytes| chosen(Collective::AllReduce, size, bytes);
        assert_eq!(path(4, 8), "all-reduce/direct");
        assert_eq!(path(9, 8), "all-reduce/recursive-doubling");
        assert_eq!(path(4, 32 << 10), "all-reduce/recursive-doubling");
        assert_eq!(path(4, 64 << 10), "all-reduce/rabenseifner");
        assert_eq!(path(5, 64 << 10), "all-reduce/ring");
        assert_eq!(path(4, 1 << 20), "all-reduce/ring");
        assert_eq!(path(2, 64 << 10), "all-reduce/ring");
    }

    #[test]
    fn operations_that_do_not_commute_never_get_a_long_ring() {
        for collective in [Collective::AllReduce, Collective::ReduceScatter] {
            for size in 3..40 {
                for shift in 2..30 {
                    let request = Request { order: Order::Rank, ..request(collective, size, 1 << shift) };
                    let choice = select(&request, &Tuning::default());
                    assert!(!matches!(
                        choice.algorithm,
                        Algorithm::AllReduceRing | Algorithm::ReduceScatterRing
                    ));
                }
            }
        }
    }

    #[test]
    fn long_vectors_have_several_segments_and_never_too_many() {
        let tuning = Tuning::default();
        let choice = select(&request(Collective::AllReduce, 2, 1 << 20), &tuning);
        assert_eq!(choice.segment * 4, 128 << 10, "four segments in flight per half");
        let choice = select(&request(Collective::Broadcast { root: 0 }, 2, 1 << 40), &tuning);
        assert!((1 << 38) / choice.segment <= tuning.most_segments);
    }

    #[test]
    fn a_choice_explains_itself() {
        let choice = select(&request(Collective::Broadcast { root: 0 }, 3, 64), &Tuning::default());
        assert_eq!(
            choice.to_string(),
            "broadcast/binomial (segments of 16384 elements, 4 in flight) because the vector is short (tree_bytes)"
        );
    }
}
