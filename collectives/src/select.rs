//! Which algorithm, and how it is cut: a pure function of the request and the tuning.
//!
//! Invariant: [`select`] answers every request with an algorithm that supports it, unless a setting asks for
//! another ([`crate::Overrides`]), which [`crate::build`] then refuses. Nothing that differs between ranks (rank,
//! in place, counts that only some ranks know) has a say, so that all ranks choose alike. Neighbours:
//! [`crate::Tuning`] for the numbers, [`crate::build`] for what follows.

mod scans;

use std::fmt;
use std::sync::Arc;

use crate::{Algorithm, Collective, Counts, Hosts, Order, Request, Tuning};

/// What was chosen and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// How it is done.
    pub algorithm: Algorithm,
    /// The longest segment, in elements; algorithms that do not cut ignore it.
    pub segment: usize,
    /// How many segments are under way at once; how many receives have their own slot.
    pub in_flight: usize,
    /// Why this one.
    pub reason: &'static str,
    /// The two levels of ranks, for algorithms that know them.
    pub hosts: Option<Arc<Hosts>>,
}

impl Choice {
    /// A given algorithm, cut as the tuning says; `None` when it cannot serve the request.
    #[must_use]
    pub fn forced(algorithm: Algorithm, request: &Request, tuning: &Tuning) -> Option<Self> {
        algorithm.supports(request).then(|| choose_segments(algorithm, "it was asked for", request, tuning))
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
    choose_segments(algorithm, reason, request, tuning)
}

fn rule(request: &Request, tuning: &Tuning) -> (Algorithm, &'static str) {
    if let Some(rule) = two_level(request, tuning) {
        return rule;
    }
    if let Some(rule) = shown(request, tuning) {
        return rule;
    }
    if let Some(rule) = scans::from_the_left(request, tuning) {
        return rule;
    }
    let bytes = request.bytes();
    match request.collective {
        Collective::Barrier => (Algorithm::BarrierDissemination, "it takes the fewest steps for any size"),
        Collective::Broadcast { .. } => broadcast(request.size, bytes, tuning),
        Collective::Reduce { .. } => reduce(request, bytes, tuning),
        Collective::AllReduce => all_reduce(request, bytes, tuning),
        Collective::AllGather => all_gather(request, bytes, tuning),
        Collective::ReduceScatter => reduce_scatter(request, bytes, tuning),
        Collective::Gather { .. } => {
            rooted(request, bytes, tuning, Algorithm::GatherBinomial, Algorithm::GatherDirect)
        }
        Collective::Scatter { .. } => {
            rooted(request, bytes, tuning, Algorithm::ScatterBinomial, Algorithm::ScatterDirect)
        }
        Collective::AllToAll => all_to_all(request, bytes, tuning),
        Collective::Scan | Collective::ExclusiveScan => scans::scan(request, tuning),
    }
}

/// Whether what each rank has can be shown to all others.
fn can_be_shown(request: &Request, tuning: &Tuning) -> bool {
    let combines = matches!(
        request.collective,
        Collective::Reduce { .. } | Collective::AllReduce | Collective::Scan | Collective::ExclusiveScan
    );
    let operands = if combines { request.bytes().saturating_mul(request.size.saturating_sub(1)) } else { 0 };
    request.size <= tuning.show_ranks
        && request.given_bytes() <= tuning.show_bytes
        && operands <= tuning.show_operands
        && !uneven(request)
}

/// Where all ranks share memory, and are few.
fn shown(request: &Request, tuning: &Tuning) -> Option<(Algorithm, &'static str)> {
    if !can_be_shown(request, tuning) {
        return None;
    }
    let algorithm = match request.collective {
        Collective::Barrier => Algorithm::BarrierDirect,
        Collective::Broadcast { .. } => Algorithm::BroadcastDirect,
        Collective::Reduce { .. } => Algorithm::ReduceDirect,
        Collective::AllReduce => Algorithm::AllReduceDirect,
        Collective::AllGather => Algorithm::AllGatherDirect,
        Collective::ReduceScatter => Algorithm::ReduceScatterDirect,
        Collective::Gather { .. } => Algorithm::GatherDirect,
        Collective::Scatter { .. } => Algorithm::ScatterDirect,
        Collective::AllToAll => Algorithm::AllToAllPairwise,
        Collective::Scan => Algorithm::ScanDirect,
        Collective::ExclusiveScan => Algorithm::ExclusiveScanDirect,
    };
    Some((
        algorithm,
        "few ranks that share memory show one another what is short (show_bytes, show_operands, show_ranks)",
    ))
}

/// Where some ranks share a host and not all.
fn two_level(request: &Request, tuning: &Tuning) -> Option<(Algorithm, &'static str)> {
    let hosts = tuning.hosts.as_ref()?;
    let algorithm = match request.collective {
        Collective::AllToAll if !uneven(request) => return Some(exchange_of_hosts(request, hosts, tuning)),
        Collective::Barrier => Algorithm::BarrierTwoLevel,
        Collective::Broadcast { .. } => Algorithm::BroadcastTwoLevel,
        Collective::AllGather => Algorithm::AllGatherTwoLevel,
        Collective::Reduce { .. } if request.commutes() => Algorithm::ReduceTwoLevel,
        Collective::AllReduce if request.commutes() => Algorithm::AllReduceTwoLevel,
        Collective::ReduceScatter if request.commutes() => Algorithm::ReduceScatterTwoLevel,
        _ => return None,
    };
    Some((algorithm, "some ranks share a host, and its wire"))
}

/// All-to-all where some ranks share a host.
fn exchange_of_hosts(request: &Request, hosts: &Hosts, tuning: &Tuning) -> (Algorithm, &'static str) {
    let (ranks, others) = (hosts.placement.widest(), hosts.placement.hosts() - 1);
    let bytes = request.bytes();
    if bytes <= tuning.pack_tiny && others > tuning.pack_hosts.saturating_mul(ranks) {
        (
            Algorithm::AllToAllBruck,
            "the hosts are many for their ranks, and the blocks tiny (pack_hosts, pack_tiny)",
        )
    } else if bytes <= tuning.exchange_bytes.min(tuning.pack_bytes.saturating_mul(ranks)) {
        (
            Algorithm::AllToAllTwoLevel,
            "the blocks are short, and what one host has for another fits into a message (pack_bytes, exchange_bytes)",
        )
    } else {
        (
            Algorithm::AllToAllPairwise,
            "the blocks are too long to be packed for a host (pack_bytes, exchange_bytes)",
        )
    }
}

fn broadcast(size: usize, bytes: usize, tuning: &Tuning) -> (Algorithm, &'static str) {
    if bytes <= tuning.tree_bytes {
        (Algorithm::BroadcastBinomial, "the vector is short (tree_bytes)")
    } else if size <= tuning.chain_ranks {
        (Algorithm::BroadcastChain, "the vector is long and the ranks are few (tree_bytes, chain_ranks)")
    } else if bytes <= pipeline(size, tuning) {
        (
            Algorithm::BroadcastScatterAllGather,
            "the ranks are many and the vector is too short for a pipeline (chain_ranks, pipeline_bytes)",
        )
    } else {
        (
            Algorithm::BroadcastDoubleTree,
            "the vector is long and the ranks are many (chain_ranks, pipeline_bytes)",
        )
    }
}

fn reduce(request: &Request, bytes: usize, tuning: &Tuning) -> (Algorithm, &'static str) {
    let size = request.size;
    // Folding to a power of two sends everything once more.
    let unfolded = if size.is_power_of_two() { 2 } else { 1 };
    if size <= 2 {
        // A tree ends at rank 0 when the operation does not commute, and would have to hand the result over.
        (Algorithm::ReduceChain, "one of two ranks sends to the other")
    } else if bytes <= tuning.tree_bytes {
        (Algorithm::ReduceBinomial, "the vector is short (tree_bytes)")
    } else if size <= tuning.chain_ranks {
        (Algorithm::ReduceChain, "the vector is long and the ranks are few (tree_bytes, chain_ranks)")
    } else if bytes <= pipeline(size, tuning).saturating_mul(unfolded) {
        (
            Algorithm::ReduceScatterGather,
            "the ranks are many and the vector is too short for a pipeline (chain_ranks, pipeline_bytes)",
        )
    } else if Algorithm::ReduceDoubleTree.supports(request) {
        (
            Algorithm::ReduceDoubleTree,
            "the vector is long and the ranks are many (chain_ranks, pipeline_bytes)",
        )
    } else if bytes / tuning.segment.max(1) >= size {
        (
            Algorithm::ReduceChain,
            "the operation does not commute, and the segments are as many as the ranks (segment)",
        )
    } else {
        (
            Algorithm::ReduceScatterGather,
            "the operation does not commute, and a chain of so many ranks is longer than the vector (segment)",
        )
    }
}

fn all_reduce(request: &Request, bytes: usize, tuning: &Tuning) -> (Algorithm, &'static str) {
    let size = request.size;
    let few = size <= tuning.ring_ranks;
    let chunk = bytes / size.max(1);
    if size <= tuning.direct_ranks && bytes <= tuning.direct_bytes {
        return (
            Algorithm::AllReduceDirect,
            "the vector is tiny and the ranks are few (direct_bytes, direct_ranks)",
        );
    }
    if size <= 2 && bytes <= tuning.pair_bytes {
        return (
            Algorithm::AllReduceDirect,
            "two ranks exchange a vector that is not long in one step (pair_bytes)",
        );
    }
    if bytes <= tuning.doubling_bytes {
        return (Algorithm::AllReduceRecursiveDoubling, "the vector is short (doubling_bytes)");
    }
    if size <= 2 {
        return (Algorithm::AllReduceRing, "two ranks exchange halves, whatever the operation");
    }
    if request.commutes() && few && chunk > tuning.halving_chunk {
        return (Algorithm::AllReduceRing, "the vector is long (doubling_bytes, halving_chunk)");
    }
    if request.commutes() && !few && chunk > tuning.ring_chunk {
        return (Algorithm::AllReduceRing, "the vector is long even for so many ranks (ring_chunk)");
    }
    if size.is_power_of_two() {
        return (
            Algorithm::AllReduceRabenseifner,
            if request.commutes() {
                "chunks would be short and the size is a power of two (halving_chunk, ring_chunk)"
            } else {
                "the operation does not commute, and the size is a power of two"
            },
        );
    }
    if request.commutes() && few {
        return (
            Algorithm::AllReduceRing,
            "the ranks are few and their number no power of two (ring_ranks, doubling_bytes)",
        );
    }
    if !request.commutes() && size <= tuning.direct_ranks {
        return (
            Algorithm::AllReduceLeftExchange,
            "the operation does not commute, and the ranks are few and no power of two (direct_ranks)",
        );
    }
    if bytes <= pipeline(size, tuning) {
        return (
            Algorithm::AllReduceRabenseifner,
            "a ring would be mostly latency, and the vector is too short for a pipeline (pipeline_bytes)",
        );
    }
    (
        Algorithm::AllReduceDoubleTree,
        "a ring would be mostly latency or out of order, and the size is no power of two (pipeline_bytes)",
    )
}

/// The longest vector that does not fill the pipelines of a double tree.
fn pipeline(size: usize, tuning: &Tuning) -> usize {
    let levels = (usize::BITS - size.saturating_sub(1).leading_zeros()) as usize;
    tuning.pipeline_bytes.saturating_mul(levels)
}

fn all_gather(request: &Request, bytes: usize, tuning: &Tuning) -> (Algorithm, &'static str) {
    let size = request.size;
    let few = size <= tuning.ring_ranks;
    let long = bytes.saturating_mul(size) > tuning.gather_bytes;
    if size <= 2 {
        // They swap their blocks directly in all algorithms; the ring does it without a detour.
        (Algorithm::AllGatherRing, "two ranks swap their blocks")
    } else if long && (few || bytes > tuning.ring_chunk) {
        (Algorithm::AllGatherRing, "the blocks are long for so many ranks (gather_bytes, ring_chunk)")
    } else if uneven(request) {
        (Algorithm::AllGatherBruck, "the blocks are short and differ in length (gather_bytes, ring_chunk)")
    } else if size.is_power_of_two() {
        (
            Algorithm::AllGatherRecursiveDoubling,
            "the blocks are short and the size is a power of two (gather_bytes, ring_chunk)",
        )
    } else {
        (Algorithm::AllGatherBruck, "the blocks are short (gather_bytes, ring_chunk)")
    }
}

fn reduce_scatter(request: &Request, bytes: usize, tuning: &Tuning) -> (Algorithm, &'static str) {
    let size = request.size;
    let few = size <= tuning.ring_ranks;
    if request.order == Order::Left && size > 2 {
        return if size > tuning.exchange_ranks && !uneven(request) && bytes <= tuning.exchange_bytes {
            (
                Algorithm::ReduceScatterBruck,
                "the blocks are tiny, the ranks many, and they must be combined from the left (exchange_bytes, \
                 exchange_ranks)",
            )
        } else {
            (Algorithm::ReduceScatterDirect, "operands must be combined from the left")
        };
    }
    // Folding to a power of two sends everything twice.
    let longest = if size.is_power_of_two() { tuning.ring_chunk } else { tuning.halving_chunk };
    if !few && bytes <= longest {
        return (
            Algorithm::ReduceScatterRecursiveHalving,
            "the ranks are many and the blocks are short (ring_ranks, halving_chunk, ring_chunk)",
        );
    }
    if size <= 2 {
        return (Algorithm::ReduceScatterRing, "two ranks exchange blocks, whatever the operation");
    }
    if !request.commutes() {
        return (
            Algorithm::ReduceScatterDirect,
            "the operation does not commute and the blocks are long or the ranks few (ring_ranks, halving_chunk, \
             ring_chunk)",
        );
    }
    if few && bytes <= tuning.scatter_bytes {
        return (
            Algorithm::ReduceScatterDirect,
            "the blocks are short and the ranks are few (scatter_bytes, ring_ranks)",
        );
    }
    (
        Algorithm::ReduceScatterRing,
        "the blocks are long for so many ranks (scatter_bytes, halving_chunk, ring_chunk)",
    )
}

/// Gather and scatter: by a tree or straight.
fn rooted(
    request: &Request,
    bytes: usize,
    tuning: &Tuning,
    tree: Algorithm,
    straight: Algorithm,
) -> (Algorithm, &'static str) {
    if uneven(request) {
        (straight, "a rank knows no other block than its own")
    } else if request.size > tuning.direct_ranks && bytes <= tuning.rooted_bytes {
        (tree, "the blocks are short and the ranks are many (rooted_bytes, direct_ranks)")
    } else {
        (straight, "the blocks are long or the ranks are few (rooted_bytes, direct_ranks)")
    }
}

fn all_to_all(request: &Request, bytes: usize, tuning: &Tuning) -> (Algorithm, &'static str) {
    if uneven(request) {
        (Algorithm::AllToAllPairwise, "a rank knows no other blocks than its own")
    } else if request.size > tuning.exchange_ranks && bytes <= tuning.exchange_bytes {
        (
            Algorithm::AllToAllBruck,
            "the blocks are short and the ranks are many (exchange_bytes, exchange_ranks)",
        )
    } else {
        (
            Algorithm::AllToAllPairwise,
            "the blocks are long or the ranks are few (exchange_bytes, exchange_ranks)",
        )
    }
}

fn uneven(request: &Request) -> bool {
    !matches!(request.counts, Counts::Same(_))
}

/// Adds the lengths to an algorithm.
fn choose_segments(algorithm: Algorithm, reason: &'static str, request: &Request, tuning: &Tuning) -> Choice {
    use Algorithm as A;
    let size = request.size.max(1);
    // What one segment is cut from. Counts that not every rank knows must not decide: their messages are cut to
    // the same length everywhere.
    let halves = matches!(algorithm, A::AllReduceDoubleTree | A::BroadcastDoubleTree | A::ReduceDoubleTree);
    let exchanges_parts = matches!(
        algorithm,
        A::AllReduceLeftExchange | A::ReduceLeftExchange | A::ScanTranspose | A::ExclusiveScanTranspose
    );
    let len = match (algorithm, &request.counts) {
        (A::AllReduceRing, counts) => counts.largest().div_ceil(size),
        (A::AllReduceTwoLevel, counts) => counts.largest().div_ceil(shares(request, tuning)),
        (_, counts) if exchanges_parts => counts.largest().div_ceil(size),
        (_, counts) if halves => counts.largest().div_ceil(2),
        (A::ReduceScatterRecursiveHalving, counts) => counts.total(size),
        // Other blocks are under way at the same time.
        (A::AllToAllPairwise, _) => usize::MAX,
        (_, Counts::Same(count)) => *count,
        (_, Counts::Each(counts)) if request.collective.root().is_none() => {
            counts.iter().copied().max().unwrap_or(0)
        }
        _ => usize::MAX,
    };
    // Direct exchange has a slot for each other rank in every segment under way: together they should still fit
    // into the cache, and so many messages keep the links busy with two.
    let (in_flight, abreast) = match algorithm {
        A::AllGatherDirect | A::AllToAllPairwise if can_be_shown(request, tuning) => {
            (tuning.in_flight.max(size - 1).max(1), 1)
        }
        // Shown whole, or not at all.
        A::AllReduceDirect | A::ReduceScatterDirect if can_be_shown(request, tuning) => (1, 1),
        A::AllToAllPairwise => (exchanges(request, tuning), 1),
        _ if size > 2
            && (exchanges_parts || matches!(algorithm, A::AllReduceDirect | A::ReduceScatterDirect)) =>
        {
            (tuning.in_flight.clamp(1, 2), size - 1)
        }
        _ => (tuning.in_flight.max(1), 1),
    };
    // A segment that is halved at every step ends in short messages: the more halvings, the longer it must be, or
    // its latencies cost more than its bytes.
    let halvings = match algorithm {
        Algorithm::AllReduceRabenseifner
        | Algorithm::ReduceScatterGather
        | Algorithm::BroadcastScatterAllGather => (size.ilog2() as usize / 2).max(1),
        _ => 1,
    };
    // A tree is full when there are segments on all of its levels.
    let levels = match algorithm {
        Algorithm::AllReduceDoubleTree | Algorithm::BroadcastDoubleTree | Algorithm::ReduceDoubleTree => {
            size.ilog2().max(1) as usize
        }
        // So is a chain over the hosts, mostly.
        A::BroadcastTwoLevel | A::ReduceTwoLevel => {
            tuning.hosts.as_ref().map_or(1, |hosts| (hosts.placement.hosts() / 2).max(1))
        }
        _ => 1,
    };
    let elements = |bytes: usize| (bytes / request.element.max(1)).max(1);
    // What goes between two hosts at a time, of all lanes together, may be short: a block of the vector is on its way
    // inside the hosts as well, and the sooner the first is done there, the less does the wire wait. In simulation of 2
    // to 8 hosts of 2 to 8 ranks at 10 and 25 Gbit/s, all-reduces of 128 KiB to 1 MiB took up to 1.5 times as long as
    // by the best algorithm of one level with segments as long as elsewhere, and take no more than 1.13 times.
    let short = match (algorithm, &tuning.hosts) {
        (A::AllReduceTwoLevel, Some(hosts)) => tuning.shortest_segment / (4 * hosts.lanes(request)).max(1),
        _ => tuning.shortest_segment,
    };
    let shortest = elements(short.min(tuning.segment).saturating_mul(halvings));
    let longest = elements((tuning.segment / abreast).saturating_mul(halvings)).max(shortest);
    // Between two ranks nothing is passed on, so a vector is cut only where it would be too long for the cache.
    // Measured at 256 KiB, whole and in four segments: broadcast 28 and 50 us, all-gather 27 and 38, all-reduce
    // 51 and 67, reduce-scatter 29 and 34.
    let segments = if size <= 2 { 1 } else { in_flight.saturating_mul(levels) };
    let even = len.div_ceil(segments).clamp(shortest, longest);
    let segment = match len {
        usize::MAX => longest,
        // Nor is anything computed: one message, for the transport to cut. Measured at 4 MiB, 500 us instead of 590,
        // at 16 MiB 2.7 ms instead of 3.0.
        _ if size <= 2 && matches!(request.collective, Collective::Broadcast { .. }) => len.max(1),
        _ => even.max(len.div_ceil(tuning.most_segments.max(1))),
    };
    // Short vectors that are not cut give every step its own slot instead, so that all receives can be
    // posted at once; 64 steps of recursive doubling are more ranks than there will ever be.
    let doubles = matches!(
        algorithm,
        Algorithm::AllReduceRecursiveDoubling
            | Algorithm::ScanRecursiveDoubling
            | Algorithm::ExclusiveScanRecursiveDoubling
    );
    let whole = doubles && segment >= len;
    let in_flight = if whole { in_flight.max(64) } else { in_flight };
    let hosts = tuning.hosts.clone().filter(|_| algorithm.has_two_levels());
    Choice { algorithm, segment, in_flight, reason, hosts }
}

/// How many shares of a vector go between hosts at the same time: a ring in each lane has one for each host.
fn shares(request: &Request, tuning: &Tuning) -> usize {
    let of = |hosts: &Arc<Hosts>| hosts.lanes(request).saturating_mul(hosts.placement.hosts());
    tuning.hosts.as_ref().map_or(request.size, of).max(1)
}

/// How many sends of a pairwise all-to-all are under way: as many bytes as elsewhere, so more of short blocks.
fn exchanges(request: &Request, tuning: &Tuning) -> usize {
    const MOST: usize = 32;
    let in_flight = tuning.in_flight.max(1);
    match request.counts {
        Counts::Same(_) => (in_flight.saturating_mul(tuning.segment) / request.bytes().max(1))
            .clamp(in_flight, MOST.max(in_flight)),
        // Not known on all ranks.
        _ => in_flight,
    }
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
        assert_eq!(path(2, 64 << 10), "all-reduce/direct");
        assert_eq!(path(2, 4 << 20), "all-reduce/ring");
    }

    #[test]
    fn whatever_can_be_shown_is_shown_whole() {
        let tuning = Tuning { show_ranks: 8, ..Tuning::default() };
        for size in 2..=8 {
            for collective in [
                Collective::Broadcast { root: 0 },
                Collective::Reduce { root: 0 },
                Collective::AllReduce,
                Collective::AllGather,
                Collective::ReduceScatter,
                Collective::Gather { root: 0 },
                Collective::Scatter { root: 0 },
                Collective::AllToAll,
                Collective::Scan,
                Collective::ExclusiveScan,
            ] {
                let mut shown = 0;
                for bytes in (4..=160 << 10).step_by(4 << 10) {
                    let request = request(collective, size, bytes);
                    let choice = select(&request, &tuning);
                    assert_eq!(
                        can_be_shown(&request, &tuning),
                        choice.reason.contains("show_bytes"),
                        "{collective:?} of {size} ranks, {bytes} bytes"
                    );
                    if can_be_shown(&request, &tuning) {
                        assert!(crate::is_exchange(&request, &choice), "{collective:?} of {size}: {choice}");
                        shown = bytes;
                    }
                }
                let most = match collective {
                    Collective::ReduceScatter | Collective::Scatter { .. } | Collective::AllToAll => {
                        tuning.show_bytes / size
                    }
                    Collective::Broadcast { .. } | Collective::AllGather | Collective::Gather { .. } => {
                        tuning.show_bytes
                    }
                    _ => tuning.show_bytes.min(tuning.show_operands / (size - 1)),
                };
                assert!((most - (4 << 10)..=most).contains(&shown), "{collective:?} of {size}: {shown}");
            }
        }
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
    fn many_ranks_never_take_a_step_for_each_when_vectors_are_short() {
        let tuning = Tuning::default();
        let doubling = "all-gather/recursive-doubling";
        for (collective, path) in [
            (Collective::AllGather, doubling),
            (Collective::Gather { root: 5 }, "gather/binomial"),
            (Collective::Scatter { root: 5 }, "scatter/binomial"),
            (Collective::AllToAll, "all-to-all/bruck"),
            (Collective::Scan, "scan/recursive-doubling"),
            (Collective::ExclusiveScan, "exclusive-scan/recursive-doubling"),
        ] {
            for bytes in [8, 256] {
                assert_eq!(chosen(collective, 1 << 16, bytes), path, "{bytes} bytes");
            }
        }
        let left = |collective, size, bytes| {
            let request = Request { order: Order::Left, ..request(collective, size, bytes) };
            select(&request, &tuning).algorithm.path()
        };
        assert_eq!(left(Collective::AllReduce, 1 << 16, 8), "all-reduce/gather-broadcast");
        assert_eq!(left(Collective::AllReduce, 1 << 16, 1 << 26), "all-reduce/left-exchange");
        assert_eq!(left(Collective::AllReduce, 4, 1 << 26), "all-reduce/left-chain");
        assert_eq!(left(Collective::AllReduce, 4, 8), "all-reduce/direct");
        assert_eq!(left(Collective::Reduce { root: 0 }, 1 << 16, 8), "reduce/gather");
        assert_eq!(left(Collective::ReduceScatter, 1 << 16, 8), "reduce-scatter/bruck");
        assert_eq!(left(Collective::Scan, 1 << 16, 8), "scan/gather-scatter");
        assert_eq!(left(Collective::Scan, 1 << 16, 1 << 26), "scan/transpose");
        assert_eq!(left(Collective::Scan, 4, 1 << 26), "scan/chain");
    }

    #[test]
    fn a_setting_is_taken_even_where_it_cannot_serve() {
        let mut tuning = Tuning::default();
        tuning.algorithms.insert(Algorithm::AllReduceRing);
        let request = Request { order: Order::Left, ..request(Collective::AllReduce, 3, 8) };
        let choice = select(&request, &tuning);
        assert_eq!((choice.algorithm, choice.reason), (Algorithm::AllReduceRing, "a setting asks for it"));
        let error = crate::build(&request, &choice).unwrap_err().to_string();
        assert!(error.contains("all-reduce/ring") && error.contains("strictly from the left"), "{error}");
        assert!(error.contains("all-reduce/left-chain"), "it says what would do: {error}");
    }

    #[test]
    fn long_vectors_have_several_segments_and_never_too_many() {
        let tuning = Tuning::default();
        let choice = select(&request(Collective::AllReduce, 3, 3 << 19), &tuning);
        assert_eq!(choice.segment * 4, 128 << 10, "four segments in flight per third");
        let choice = select(&request(Collective::AllReduce, 2, 1 << 20), &tuning);
        assert_eq!(choice.segment, 64 << 10, "between two ranks none shorter than the longest");
        let choice = select(&request(Collective::Broadcast { root: 0 }, 2, 1 << 40), &tuning);
        assert_eq!(choice.algorithm, Algorithm::BroadcastChain);
        assert!((1 << 38) / choice.segment <= tuning.most_segments);
    }

    #[test]
    fn ranks_that_share_a_host_send_few_messages_until_chunks_are_long() {
        let tuning = Tuning::default().on_one_host();
        let path =
            |collective, size, bytes| select(&request(collective, size, bytes), &tuning).algorithm.path();
        for bytes in [4, 4 << 10, 64 << 10] {
            assert_eq!(
                path(Collective::ReduceScatter, 4, bytes),
                "reduce-scatter/recursive-halving",
                "{bytes}"
            );
        }
        assert_eq!(path(Collective::ReduceScatter, 4, 256 << 10), "reduce-scatter/ring");
        assert_eq!(path(Collective::ReduceScatter, 3, 4 << 10), "reduce-scatter/recursive-halving");
        assert_eq!(path(Collective::AllReduce, 4, 256 << 10), "all-reduce/rabenseifner");
        assert_eq!(path(Collective::AllReduce, 6, 256 << 10), "all-reduce/double-tree");
        assert_eq!(path(Collective::AllReduce, 4, 1 << 20), "all-reduce/ring");
        assert_eq!(path(Collective::AllToAll, 4, 8), "all-to-all/bruck");
        assert_eq!(path(Collective::AllToAll, 3, 8), "all-to-all/pairwise");
        assert_eq!(path(Collective::AllToAll, 4, 16 << 10), "all-to-all/pairwise");
        assert_eq!(path(Collective::Broadcast { root: 0 }, 4, 1 << 20), "broadcast/binomial");
        assert_eq!(path(Collective::Broadcast { root: 0 }, 4, 4 << 20), "broadcast/chain");
        // Two ranks have nothing to save.
        assert_eq!(path(Collective::ReduceScatter, 2, 4), "reduce-scatter/ring");
        assert_eq!(path(Collective::AllToAll, 2, 4), "all-to-all/pairwise");
    }

    #[test]
    fn hosts_pack_short_blocks_of_an_all_to_all_for_one_another() {
        let path = |hosts: usize, ranks: usize, bytes| {
            let tuning = Tuning::default().on_hosts(&crate::Placement::regular(hosts, ranks));
            let request = request(Collective::AllToAll, hosts * ranks, bytes);
            select(&request, &tuning).algorithm.path()
        };
        assert_eq!(path(4, 2, 8), "all-to-all/two-level");
        assert_eq!(path(4, 2, 2 << 10), "all-to-all/two-level");
        assert_eq!(path(4, 2, 4 << 10), "all-to-all/pairwise");
        assert_eq!(path(8, 8, 4 << 10), "all-to-all/two-level");
        assert_eq!(path(8, 8, 8 << 10), "all-to-all/pairwise");
        assert_eq!(path(64, 2, 8), "all-to-all/bruck");
        assert_eq!(path(64, 2, 256), "all-to-all/two-level");
        // Whoever knows only its own blocks cannot tell what another host's ranks have for one another.
        let (send, recv) = (vec![1; 8].into(), vec![1; 8].into());
        let request = Request { counts: Counts::Pairs { send, recv }, ..request(Collective::AllToAll, 8, 4) };
        let tuning = Tuning::default().on_hosts(&crate::Placement::regular(4, 2));
        assert_eq!(select(&request, &tuning).algorithm, Algorithm::AllToAllPairwise);
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
