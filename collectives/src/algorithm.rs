//! The list of algorithms, and which request each can serve.
//!
//! Invariant: every valid request is supported by at least one algorithm of its collective. To add one: a file
//! in the folder of its collective, a variant and a row here, a rule in [`crate::select`].

use std::fmt;

use crate::{Collective, Request};

/// One way to do a collective. The file of the same name describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// `barrier/dissemination.rs`
    BarrierDissemination,
    /// `broadcast/binomial.rs`
    BroadcastBinomial,
    /// `broadcast/chain.rs`
    BroadcastChain,
    /// `reduce/binomial.rs`
    ReduceBinomial,
    /// `reduce/chain.rs`
    ReduceChain,
    /// `all_reduce/direct.rs`
    AllReduceDirect,
    /// `all_reduce/recursive_doubling.rs`
    AllReduceRecursiveDoubling,
    /// `all_reduce/rabenseifner.rs`
    AllReduceRabenseifner,
    /// `all_reduce/ring.rs`
    AllReduceRing,
    /// `all_gather/recursive_doubling.rs`
    AllGatherRecursiveDoubling,
    /// `all_gather/bruck.rs`
    AllGatherBruck,
    /// `all_gather/ring.rs`
    AllGatherRing,
    /// `reduce_scatter/direct.rs`
    ReduceScatterDirect,
    /// `reduce_scatter/ring.rs`
    ReduceScatterRing,
}

impl Algorithm {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::BarrierDissemination,
        Self::BroadcastBinomial,
        Self::BroadcastChain,
        Self::ReduceBinomial,
        Self::ReduceChain,
        Self::AllReduceDirect,
        Self::AllReduceRecursiveDoubling,
        Self::AllReduceRabenseifner,
        Self::AllReduceRing,
        Self::AllGatherRecursiveDoubling,
        Self::AllGatherBruck,
        Self::AllGatherRing,
        Self::ReduceScatterDirect,
        Self::ReduceScatterRing,
    ];

    /// The collective and the algorithm, such as `all-reduce/ring`.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::BarrierDissemination => "barrier/dissemination",
            Self::BroadcastBinomial => "broadcast/binomial",
            Self::BroadcastChain => "broadcast/chain",
            Self::ReduceBinomial => "reduce/binomial",
            Self::ReduceChain => "reduce/chain",
            Self::AllReduceDirect => "all-reduce/direct",
            Self::AllReduceRecursiveDoubling => "all-reduce/recursive-doubling",
            Self::AllReduceRabenseifner => "all-reduce/rabenseifner",
            Self::AllReduceRing => "all-reduce/ring",
            Self::AllGatherRecursiveDoubling => "all-gather/recursive-doubling",
            Self::AllGatherBruck => "all-gather/bruck",
            Self::AllGatherRing => "all-gather/ring",
            Self::ReduceScatterDirect => "reduce-scatter/direct",
            Self::ReduceScatterRing => "reduce-scatter/ring",
        }
    }

    /// Whether this algorithm can serve the request.
    #[must_use]
    pub fn supports(self, request: &Request) -> bool {
        let Request { collective, size, commutative, .. } = *request;
        match self {
            Self::BarrierDissemination => collective == Collective::Barrier,
            Self::BroadcastBinomial | Self::BroadcastChain => {
                matches!(collective, Collective::Broadcast { .. })
            }
            Self::ReduceBinomial | Self::ReduceChain => matches!(collective, Collective::Reduce { .. }),
            Self::AllReduceDirect | Self::AllReduceRecursiveDoubling | Self::AllReduceRabenseifner => {
                collective == Collective::AllReduce
            }
            // Two ranks put their operands in order; a longer ring cannot.
            Self::AllReduceRing => collective == Collective::AllReduce && (commutative || size <= 2),
            Self::AllGatherRecursiveDoubling => collective == Collective::AllGather && size.is_power_of_two(),
            Self::AllGatherBruck | Self::AllGatherRing => collective == Collective::AllGather,
            Self::ReduceScatterDirect => collective == Collective::ReduceScatter,
            Self::ReduceScatterRing => collective == Collective::ReduceScatter && (commutative || size <= 2),
        }
    }
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
