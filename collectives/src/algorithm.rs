//! The list of algorithms, and which request each can serve.
//!
//! Invariant: every valid request is supported by at least one algorithm of its collective. To add one: a file
//! in the folder of its collective, a variant and its rows here, a rule in [`crate::select`].

use std::fmt;

use crate::{Counts, Order, Request};

/// One way to do a collective. The file of the same name describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// `barrier/dissemination.rs`
    BarrierDissemination,
    /// `barrier/direct.rs`
    BarrierDirect,
    /// `barrier/two_level.rs`
    BarrierTwoLevel,
    /// `broadcast/direct.rs`
    BroadcastDirect,
    /// `broadcast/binomial.rs`
    BroadcastBinomial,
    /// `broadcast/chain.rs`
    BroadcastChain,
    /// `broadcast/double_tree.rs`
    BroadcastDoubleTree,
    /// `broadcast/scatter_all_gather.rs`
    BroadcastScatterAllGather,
    /// `broadcast/two_level.rs`
    BroadcastTwoLevel,
    /// `reduce/binomial.rs`
    ReduceBinomial,
    /// `reduce/chain.rs`
    ReduceChain,
    /// `reduce/left_chain.rs`
    ReduceLeftChain,
    /// `reduce/double_tree.rs`
    ReduceDoubleTree,
    /// `reduce/scatter_gather.rs`
    ReduceScatterGather,
    /// `reduce/direct.rs`
    ReduceDirect,
    /// `reduce/gather.rs`
    ReduceGather,
    /// `reduce/left_exchange.rs`
    ReduceLeftExchange,
    /// `reduce/two_level.rs`
    ReduceTwoLevel,
    /// `all_reduce/direct.rs`
    AllReduceDirect,
    /// `all_reduce/recursive_doubling.rs`
    AllReduceRecursiveDoubling,
    /// `all_reduce/rabenseifner.rs`
    AllReduceRabenseifner,
    /// `all_reduce/double_tree.rs`
    AllReduceDoubleTree,
    /// `all_reduce/ring.rs`
    AllReduceRing,
    /// `all_reduce/left_chain.rs`
    AllReduceLeftChain,
    /// `all_reduce/gather_broadcast.rs`
    AllReduceGatherBroadcast,
    /// `all_reduce/left_exchange.rs`
    AllReduceLeftExchange,
    /// `all_reduce/two_level.rs`
    AllReduceTwoLevel,
    /// `all_gather/direct.rs`
    AllGatherDirect,
    /// `all_gather/recursive_doubling.rs`
    AllGatherRecursiveDoubling,
    /// `all_gather/bruck.rs`
    AllGatherBruck,
    /// `all_gather/ring.rs`
    AllGatherRing,
    /// `all_gather/two_level.rs`
    AllGatherTwoLevel,
    /// `reduce_scatter/direct.rs`
    ReduceScatterDirect,
    /// `reduce_scatter/recursive_halving.rs`
    ReduceScatterRecursiveHalving,
    /// `reduce_scatter/ring.rs`
    ReduceScatterRing,
    /// `reduce_scatter/bruck.rs`
    ReduceScatterBruck,
    /// `reduce_scatter/two_level.rs`
    ReduceScatterTwoLevel,
    /// `gather/direct.rs`
    GatherDirect,
    /// `gather/binomial.rs`
    GatherBinomial,
    /// `scatter/direct.rs`
    ScatterDirect,
    /// `scatter/binomial.rs`
    ScatterBinomial,
    /// `all_to_all/pairwise.rs`
    AllToAllPairwise,
    /// `all_to_all/bruck.rs`
    AllToAllBruck,
    /// `all_to_all/two_level.rs`
    AllToAllTwoLevel,
    /// `scan/chain.rs`
    ScanChain,
    /// `scan/direct.rs`
    ScanDirect,
    /// `scan/recursive_doubling.rs`
    ScanRecursiveDoubling,
    /// `scan/transpose.rs`
    ScanTranspose,
    /// `scan/gather_scatter.rs`
    ScanGatherScatter,
    /// `scan/chain.rs`
    ExclusiveScanChain,
    /// `scan/direct.rs`
    ExclusiveScanDirect,
    /// `scan/recursive_doubling.rs`
    ExclusiveScanRecursiveDoubling,
    /// `scan/transpose.rs`
    ExclusiveScanTranspose,
    /// `scan/gather_scatter.rs`
    ExclusiveScanGatherScatter,
}

impl Algorithm {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::BarrierDissemination,
        Self::BarrierDirect,
        Self::BarrierTwoLevel,
        Self::BroadcastDirect,
        Self::BroadcastBinomial,
        Self::BroadcastChain,
        Self::BroadcastDoubleTree,
        Self::BroadcastScatterAllGather,
        Self::BroadcastTwoLevel,
        Self::ReduceBinomial,
        Self::ReduceChain,
        Self::ReduceLeftChain,
        Self::ReduceDoubleTree,
        Self::ReduceScatterGather,
        Self::ReduceDirect,
        Self::ReduceGather,
        Self::ReduceLeftExchange,
        Self::ReduceTwoLevel,
        Self::AllReduceDirect,
        Self::AllReduceRecursiveDoubling,
        Self::AllReduceRabenseifner,
        Self::AllReduceDoubleTree,
        Self::AllReduceRing,
        Self::AllReduceLeftChain,
        Self::AllReduceGatherBroadcast,
        Self::AllReduceLeftExchange,
        Self::AllReduceTwoLevel,
        Self::AllGatherDirect,
        Self::AllGatherRecursiveDoubling,
        Self::AllGatherBruck,
        Self::AllGatherRing,
        Self::AllGatherTwoLevel,
        Self::ReduceScatterDirect,
        Self::ReduceScatterRecursiveHalving,
        Self::ReduceScatterRing,
        Self::ReduceScatterBruck,
        Self::ReduceScatterTwoLevel,
        Self::GatherDirect,
        Self::GatherBinomial,
        Self::ScatterDirect,
        Self::ScatterBinomial,
        Self::AllToAllPairwise,
        Self::AllToAllBruck,
        Self::AllToAllTwoLevel,
        Self::ScanChain,
        Self::ScanDirect,
        Self::ScanRecursiveDoubling,
        Self::ScanTranspose,
        Self::ScanGatherScatter,
        Self::ExclusiveScanChain,
        Self::ExclusiveScanDirect,
        Self::ExclusiveScanRecursiveDoubling,
        Self::ExclusiveScanTranspose,
        Self::ExclusiveScanGatherScatter,
    ];

    /// The collective and the algorithm, such as `all-reduce/ring`.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::BarrierDissemination => "barrier/dissemination",
            Self::BarrierDirect => "barrier/direct",
            Self::BarrierTwoLevel => "barrier/two-level",
            Self::BroadcastDirect => "broadcast/direct",
            Self::BroadcastBinomial => "broadcast/binomial",
            Self::BroadcastChain => "broadcast/chain",
            Self::BroadcastDoubleTree => "broadcast/double-tree",
            Self::BroadcastScatterAllGather => "broadcast/scatter-all-gather",
            Self::BroadcastTwoLevel => "broadcast/two-level",
            Self::ReduceBinomial => "reduce/binomial",
            Self::ReduceChain => "reduce/chain",
            Self::ReduceLeftChain => "reduce/left-chain",
            Self::ReduceDoubleTree => "reduce/double-tree",
            Self::ReduceScatterGather => "reduce/scatter-gather",
            Self::ReduceDirect => "reduce/direct",
            Self::ReduceGather => "reduce/gather",
            Self::ReduceLeftExchange => "reduce/left-exchange",
            Self::ReduceTwoLevel => "reduce/two-level",
            Self::AllReduceDirect => "all-reduce/direct",
            Self::AllReduceRecursiveDoubling => "all-reduce/recursive-doubling",
            Self::AllReduceRabenseifner => "all-reduce/rabenseifner",
            Self::AllReduceDoubleTree => "all-reduce/double-tree",
            Self::AllReduceRing => "all-reduce/ring",
            Self::AllReduceLeftChain => "all-reduce/left-chain",
            Self::AllReduceGatherBroadcast => "all-reduce/gather-broadcast",
            Self::AllReduceLeftExchange => "all-reduce/left-exchange",
            Self::AllReduceTwoLevel => "all-reduce/two-level",
            Self::AllGatherDirect => "all-gather/direct",
            Self::AllGatherRecursiveDoubling => "all-gather/recursive-doubling",
            Self::AllGatherBruck => "all-gather/bruck",
            Self::AllGatherRing => "all-gather/ring",
            Self::AllGatherTwoLevel => "all-gather/two-level",
            Self::ReduceScatterDirect => "reduce-scatter/direct",
            Self::ReduceScatterRecursiveHalving => "reduce-scatter/recursive-halving",
            Self::ReduceScatterRing => "reduce-scatter/ring",
            Self::ReduceScatterBruck => "reduce-scatter/bruck",
            Self::ReduceScatterTwoLevel => "reduce-scatter/two-level",
            Self::GatherDirect => "gather/direct",
            Self::GatherBinomial => "gather/binomial",
            Self::ScatterDirect => "scatter/direct",
            Self::ScatterBinomial => "scatter/binomial",
            Self::AllToAllPairwise => "all-to-all/pairwise",
            Self::AllToAllBruck => "all-to-all/bruck",
            Self::AllToAllTwoLevel => "all-to-all/two-level",
            Self::ScanChain => "scan/chain",
            Self::ScanDirect => "scan/direct",
            Self::ScanRecursiveDoubling => "scan/recursive-doubling",
            Self::ScanTranspose => "scan/transpose",
            Self::ScanGatherScatter => "scan/gather-scatter",
            Self::ExclusiveScanChain => "exclusive-scan/chain",
            Self::ExclusiveScanDirect => "exclusive-scan/direct",
            Self::ExclusiveScanRecursiveDoubling => "exclusive-scan/recursive-doubling",
            Self::ExclusiveScanTranspose => "exclusive-scan/transpose",
            Self::ExclusiveScanGatherScatter => "exclusive-scan/gather-scatter",
        }
    }

    /// The name of its collective, such as `all-reduce`; see [`crate::Collective::name`].
    #[must_use]
    pub fn collective(self) -> &'static str {
        self.path().split_once('/').map_or("", |(collective, _)| collective)
    }

    /// The strictest order of operands that it keeps among `size` ranks; [`Order::Left`] for those that
    /// combine nothing.
    #[must_use]
    pub fn order(self, size: usize) -> Order {
        let kept = match self {
            Self::ReduceBinomial
            | Self::ReduceChain
            | Self::ReduceDoubleTree
            | Self::ReduceScatterGather
            | Self::ScanRecursiveDoubling
            | Self::ExclusiveScanRecursiveDoubling
            | Self::AllReduceRecursiveDoubling
            | Self::AllReduceRabenseifner
            | Self::AllReduceDoubleTree
            | Self::ReduceScatterRecursiveHalving => Order::Rank,
            // Two ranks put their operands in order; a longer ring cannot.
            Self::AllReduceRing | Self::ReduceScatterRing if size <= 2 => Order::Rank,
            Self::AllReduceRing
            | Self::ReduceScatterRing
            | Self::ReduceTwoLevel
            | Self::AllReduceTwoLevel
            | Self::ReduceScatterTwoLevel => Order::Free,
            Self::BarrierDissemination
            | Self::BarrierDirect
            | Self::BarrierTwoLevel
            | Self::BroadcastDirect
            | Self::AllGatherDirect
            | Self::BroadcastTwoLevel
            | Self::AllGatherTwoLevel
            | Self::BroadcastBinomial
            | Self::BroadcastChain
            | Self::BroadcastDoubleTree
            | Self::BroadcastScatterAllGather
            | Self::ReduceDirect
            | Self::ReduceGather
            | Self::ReduceLeftChain
            | Self::ReduceLeftExchange
            | Self::AllReduceDirect
            | Self::AllReduceGatherBroadcast
            | Self::AllReduceLeftExchange
            | Self::AllReduceLeftChain
            | Self::AllGatherRecursiveDoubling
            | Self::AllGatherBruck
            | Self::AllGatherRing
            | Self::ReduceScatterDirect
            | Self::ReduceScatterBruck
            | Self::GatherDirect
            | Self::GatherBinomial
            | Self::ScatterDirect
            | Self::ScatterBinomial
            | Self::AllToAllPairwise
            | Self::AllToAllBruck
            | Self::AllToAllTwoLevel
            | Self::ScanChain
            | Self::ScanDirect
            | Self::ScanTranspose
            | Self::ScanGatherScatter
            | Self::ExclusiveScanChain
            | Self::ExclusiveScanDirect
            | Self::ExclusiveScanTranspose
            | Self::ExclusiveScanGatherScatter => Order::Left,
        };
        // Among two operands there is one pair of parentheses.
        if kept == Order::Rank && size <= 2 { Order::Left } else { kept }
    }

    /// Whether it looks at which ranks share a host.
    #[must_use]
    pub fn has_two_levels(self) -> bool {
        matches!(
            self,
            Self::BarrierTwoLevel
                | Self::BroadcastTwoLevel
                | Self::ReduceTwoLevel
                | Self::AllReduceTwoLevel
                | Self::AllGatherTwoLevel
                | Self::ReduceScatterTwoLevel
                | Self::AllToAllTwoLevel
        )
    }

    /// Whether it serves counts that differ between ranks.
    fn serves_uneven(self) -> bool {
        matches!(
            self,
            Self::AllGatherRing
                | Self::AllGatherTwoLevel
                | Self::ReduceScatterTwoLevel
                | Self::AllGatherBruck
                | Self::ReduceScatterDirect
                | Self::ReduceScatterRecursiveHalving
                | Self::ReduceScatterRing
                | Self::GatherDirect
                | Self::ScatterDirect
                | Self::AllToAllPairwise
        )
    }

    /// Why this algorithm cannot serve the request; `None` when it can.
    #[must_use]
    pub fn refuses(self, request: &Request) -> Option<&'static str> {
        let Request { collective, size, order, .. } = *request;
        if self.collective() != collective.name() {
            Some("it is for another collective")
        } else if collective.reduces() && order > self.order(size) {
            Some(match order {
                Order::Left => "it does not combine the operands strictly from the left",
                _ => "it does not keep the operands in rank order",
            })
        } else if !matches!(request.counts, Counts::Same(_)) && !self.serves_uneven() {
            Some("it needs the same count on every rank")
        } else if self == Self::ReduceDoubleTree && order > Order::Free && !at_an_end(request) {
            Some("it keeps the operands in rank order only if the root is the first or the last rank")
        } else if self == Self::AllGatherRecursiveDoubling && !size.is_power_of_two() {
            Some("it needs a power of two of ranks")
        } else {
            None
        }
    }

    /// Whether this algorithm can serve the request.
    #[must_use]
    pub fn supports(self, request: &Request) -> bool {
        self.refuses(request).is_none()
    }
}

impl Request {
    /// The algorithms that can serve this request, any of which [`crate::Choice::forced`] accepts.
    pub fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        let request = self.clone();
        Algorithm::ALL.iter().copied().filter(move |algorithm| algorithm.supports(&request))
    }
}

fn at_an_end(request: &Request) -> bool {
    request.collective.root().is_some_and(|root| root == 0 || root + 1 == request.size)
}

/// The name without the collective, such as `ring`.
impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        f.write_str(path.rsplit_once('/').map_or(path, |(_, name)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_short() {
        let paths: std::collections::BTreeSet<_> = Algorithm::ALL.iter().map(|a| a.path()).collect();
        assert_eq!(paths.len(), Algorithm::ALL.len());
        assert_eq!(Algorithm::AllReduceRecursiveDoubling.to_string(), "recursive-doubling");
    }
}
