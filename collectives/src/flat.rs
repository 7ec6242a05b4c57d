//! The steps of the algorithms of one level, each from the file of its own.
//!
//! Neighbours: [`crate::build`] for whole schedules; `levels.rs` puts the steps of some ranks between those of others.

use crate::{
    Algorithm, Builder, Choice, Collective, Counts, Request, Span, all_gather, all_reduce, all_to_all,
    barrier, broadcast, gather, reduce, reduce_scatter, scan, scatter,
};

/// Adds the steps of one rank, by the algorithm of `choice`, which must serve the request.
///
/// One rank alone copies its input; a collective of no elements has no steps, except the barrier.
pub(crate) fn steps(request: &Request, choice: &Choice, b: &mut Builder) {
    let root = request.collective.root().unwrap_or(0);
    if request.size == 1 {
        // All but the exclusive scan, which has no result here.
        let Span { offset, len, .. } = request.layout().result;
        b.copy(Span::input(0, len), Span::output(offset, len));
    } else if request.counts != Counts::Same(0) || request.collective == Collective::Barrier {
        add_steps_of(choice.algorithm, request, root, choice, b);
    }
}

fn add_steps_of(algorithm: Algorithm, request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    match algorithm {
        Algorithm::BarrierDissemination => barrier::dissemination::build(request, b),
        Algorithm::BarrierDirect => barrier::direct::build(request, b),
        Algorithm::BroadcastDirect => broadcast::direct::build(request, root, b),
        Algorithm::BroadcastBinomial => broadcast::binomial::build(request, root, choice, b),
        Algorithm::BroadcastChain => broadcast::chain::build(request, root, choice, b),
        Algorithm::BroadcastDoubleTree => broadcast::double_tree::build(request, root, choice, b),
        Algorithm::BroadcastScatterAllGather => {
            broadcast::scatter_all_gather::build(request, root, choice, b)
        }
        Algorithm::ReduceBinomial => reduce::binomial::build(request, root, choice, b),
        Algorithm::ReduceChain => reduce::chain::build(request, root, choice, b),
        Algorithm::ReduceDirect => reduce::direct::build(request, root, b),
        Algorithm::ReduceGather => reduce::gather::build(request, root, b),
        Algorithm::ReduceLeftExchange => reduce::left_exchange::build(request, root, choice, b),
        Algorithm::ReduceLeftChain => reduce::left_chain::build(request, root, choice, b),
        Algorithm::ReduceDoubleTree => reduce::double_tree::build(request, root, choice, b),
        Algorithm::ReduceScatterGather => reduce::scatter_gather::build(request, root, choice, b),
        Algorithm::AllReduceDirect => all_reduce::direct::build(request, choice, b),
        Algorithm::AllReduceDoubleTree => all_reduce::double_tree::build(request, choice, b),
        Algorithm::AllReduceRecursiveDoubling => all_reduce::recursive_doubling::build(request, choice, b),
        Algorithm::AllReduceRabenseifner => all_reduce::rabenseifner::build(request, choice, b),
        Algorithm::AllReduceRing => all_reduce::ring::build(request, choice, b),
        Algorithm::AllReduceGatherBroadcast => all_reduce::gather_broadcast::build(request, choice, b),
        Algorithm::AllReduceLeftExchange => all_reduce::left_exchange::build(request, choice, b),
        Algorithm::AllReduceLeftChain => all_reduce::left_chain::build(request, choice, b),
        Algorithm::AllGatherDirect => all_gather::direct::build(request, choice, b),
        Algorithm::AllGatherRecursiveDoubling => all_gather::recursive_doubling::build(request, b),
        Algorithm::AllGatherBruck => all_gather::bruck::build(request, b),
        Algorithm::AllGatherRing => all_gather::ring::build(request, choice, b),
        Algorithm::ReduceScatterDirect => reduce_scatter::direct::build(request, choice, b),
        Algorithm::ReduceScatterRecursiveHalving => {
            reduce_scatter::recursive_halving::build(request, choice, b)
        }
        Algorithm::ReduceScatterRing => reduce_scatter::ring::build(request, choice, b),
        Algorithm::ReduceScatterBruck => reduce_scatter::bruck::build(request, b),
        Algorithm::GatherBinomial => gather::binomial::build(request, root, b),
        Algorithm::GatherDirect => gather::direct::build(request, root, choice, b),
        Algorithm::ScatterBinomial => scatter::binomial::build(request, root, b),
        Algorithm::ScatterDirect => scatter::direct::build(request, root, choice, b),
        Algorithm::AllToAllBruck => all_to_all::bruck::build(request, b),
        Algorithm::AllToAllPairwise => all_to_all::pairwise::build(request, choice, b),
        Algorithm::ScanDirect | Algorithm::ExclusiveScanDirect => scan::direct::build(request, b),
        Algorithm::ScanRecursiveDoubling | Algorithm::ExclusiveScanRecursiveDoubling => {
            scan::recursive_doubling::build(request, choice, b)
        }
        Algorithm::ScanTranspose | Algorithm::ExclusiveScanTranspose => {
            scan::transpose::build(request, choice, b)
        }
        Algorithm::ScanGatherScatter | Algorithm::ExclusiveScanGatherScatter => {
            scan::gather_scatter::build(request, b)
        }
        Algorithm::ScanChain | Algorithm::ExclusiveScanChain => scan::chain::build(request, choice, b),
        // Made of the others, by the file of its own; a stage of one is never another, for its numbers have no hosts.
        Algorithm::BarrierTwoLevel
        | Algorithm::BroadcastTwoLevel
        | Algorithm::ReduceTwoLevel
        | Algorithm::AllReduceTwoLevel
        | Algorithm::AllGatherTwoLevel
        | Algorithm::ReduceScatterTwoLevel
        | Algorithm::AllToAllTwoLevel => debug_assert!(false, "{} has two levels", algorithm.path()),
    }
}
