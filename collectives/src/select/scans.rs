//! The rules for scans, and for reductions that must be combined strictly from the left.
//!
//! Both are chains by nature: what differs is how much of the chain is folded in one place. A rule is a row of
//! [`super::select`] and obeys its invariant. Neighbours: [`crate::scan`], and the files named `left_*`.

use crate::{Algorithm, Collective, Order, Request, Tuning};

/// The rule for a scan.
pub(super) fn scan(request: &Request, tuning: &Tuning) -> (Algorithm, &'static str) {
    use Algorithm as A;
    let [direct, doubling, chain, transpose, tree] = match request.collective {
        Collective::ExclusiveScan => [
            A::ExclusiveScanDirect,
            A::ExclusiveScanRecursiveDoubling,
            A::ExclusiveScanChain,
            A::ExclusiveScanTranspose,
            A::ExclusiveScanGatherScatter,
        ],
        _ => [A::ScanDirect, A::ScanRecursiveDoubling, A::ScanChain, A::ScanTranspose, A::ScanGatherScatter],
    };
    let (size, bytes) = (request.size.max(1), request.bytes());
    // Among two ranks there is one message, and it is pipelined when it is long.
    let left = request.order == Order::Left && size > 2;
    let long = bytes / size >= tuning.shortest_segment;
    if size <= tuning.direct_ranks && bytes <= tuning.direct_bytes {
        (direct, "the vector is tiny and the ranks are few (direct_bytes, direct_ranks)")
    } else if left && bytes <= tuning.fold_bytes {
        (tree, "the vector is short and must be combined from the left (fold_bytes)")
    } else if long {
        (chain, "there are more segments than ranks (shortest_segment)")
    } else if left {
        (transpose, "there are more ranks than segments, and they must be combined from the left")
    } else if bytes <= tuning.doubling_bytes || bytes / size <= tuning.transpose_part {
        (doubling, "the vector is short (doubling_bytes) or would be cut too fine (transpose_part)")
    } else {
        (transpose, "there are more ranks than segments (shortest_segment, transpose_part)")
    }
}

/// The rule for a reduction from the left among more than two ranks.
pub(super) fn from_the_left(request: &Request, tuning: &Tuning) -> Option<(Algorithm, &'static str)> {
    use Algorithm as A;
    let (size, bytes) = (request.size.max(1), request.bytes());
    if request.order != Order::Left || size <= 2 {
        return None;
    }
    let [direct, tree, exchange, chain] = match request.collective {
        Collective::Reduce { .. } => {
            [A::ReduceDirect, A::ReduceGather, A::ReduceLeftExchange, A::ReduceLeftChain]
        }
        Collective::AllReduce => {
            [A::AllReduceDirect, A::AllReduceGatherBroadcast, A::AllReduceLeftExchange, A::AllReduceLeftChain]
        }
        _ => return None,
    };
    // The chain of an all-reduce goes up and down, and has to be full for longer.
    let part = bytes / size;
    let (full, reason) = if request.collective == Collective::AllReduce {
        (
            part >= tuning.segment,
            "it must be combined from the left, and a chain is full most of the time (segment)",
        )
    } else {
        (
            part >= tuning.shortest_segment,
            "it must be combined from the left, and a chain is full most of the time (shortest_segment)",
        )
    };
    Some(if size <= tuning.direct_ranks && bytes <= tuning.direct_bytes {
        (
            direct,
            "the vector is tiny, the ranks are few, and they are combined from the left (direct_bytes, direct_ranks)",
        )
    } else if bytes <= tuning.fold_bytes {
        (tree, "the vector is short and must be combined from the left (fold_bytes)")
    } else if full {
        (chain, reason)
    } else {
        (
            exchange,
            "it must be combined from the left, and is too short for a chain of so many ranks (fold_bytes)",
        )
    })
}
