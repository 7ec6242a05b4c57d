//! Collectives of ringworld as data.
//!
//! A collective is a pure function from a [`Request`] (which collective, my rank, how many ranks, how many
//! elements) to a [`Schedule`]: a list of sends, receives, reductions and copies over named spans, with
//! dependencies. This crate decides; it moves nothing. It knows no socket, clock, thread, pointer or
//! environment, and gives the same answer to the same question every time.
//!
//! ```text
//! Request --select--> Choice --build--> Schedule --(runtime's executor)--> bytes on a wire
//!            ^                              |
//!         Tuning                            +--check--> proof without a wire
//! ```
//!
//! - [`select`] picks an algorithm by the numbers in [`Tuning`] and says why.
//! - [`build`] runs the algorithm, one file each, in the folder of its collective. Algorithms name their steps
//!   in program order; the [`Builder`] derives the dependencies from the spans.
//! - [`check`](mod@check) takes the schedules of all ranks and proves that messages match, nothing deadlocks or
//!   races, and every contribution arrives exactly once in the promised order.
//!
//! Schedules count in elements and do not depend on addresses: they can be cached, printed
//! ([`Schedule::render`]) and run any number of times.
//!
//! What this crate promises of every schedule: for operations that are associative but do not commute the
//! result is `x0 op x1 op … op x(n-1)`; an all-reduce gives every rank the same bits even where rounding makes
//! the operation not quite associative, and the same again for the same request and tuning. With [`Order::Left`]
//! the operands are combined strictly from the left, and the bits depend on nothing but the operands.
//!
//! # Example
//!
//! ```
//! use ringworld_collectives::{Collective, Counts, Order, Request, Tuning, check, schedule};
//!
//! let request = |rank| Request {
//!     collective: Collective::AllReduce, rank, size: 3, counts: Counts::Same(5), element: 8,
//!     order: Order::Free, in_place: false,
//! };
//! let tuning = Tuning::default();
//! let schedules = (0..3).map(|rank| schedule(&request(rank), &tuning)).collect::<Result<Vec<_>, _>>()?;
//! check::check(&request(0), &schedules)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod action;
mod algorithm;
mod all_gather;
mod all_reduce;
mod all_to_all;
mod barrier;
mod broadcast;
mod builder;
pub mod check;
mod conflicts;
pub mod cost;
mod counts;
mod cut;
mod error;
mod fold;
mod gather;
mod left;
mod parse;
mod reduce;
mod reduce_scatter;
mod request;
mod scan;
mod scatter;
mod schedule;
mod select;
mod tree;
mod tuning;
mod validate;
mod window;

pub use action::{Action, Buffer, Span};
pub use algorithm::Algorithm;
pub use builder::{Builder, Step};
pub use counts::Counts;
pub use error::Error;
pub use request::{Collective, Layout, Order, Request};
pub use schedule::Schedule;
pub use select::{Choice, select};
pub use tuning::{Overrides, Tuning};

/// The schedule of one rank, by the algorithm of `choice`.
///
/// All ranks must build with the same choice. One rank alone copies its input; a collective of no elements has
/// no steps, except the barrier.
///
/// # Errors
///
/// When the request makes no sense, the algorithm cannot serve it, or there would be too many steps.
pub fn build(request: &Request, choice: &Choice) -> Result<Schedule, Error> {
    request.validate()?;
    let Request { collective, size, .. } = *request;
    let algorithm = choice.algorithm;
    if let Some(reason) = algorithm.refuses(request) {
        let able = request.algorithms().collect();
        return Err(Error::Unsupported { algorithm, collective, reason, able });
    }
    let root = collective.root().unwrap_or(0);
    let mut builder = Builder::new(algorithm.path(), request);
    let b = &mut builder;
    if size == 1 {
        // All but the exclusive scan, which has no result here.
        let Span { offset, len, .. } = request.layout().result;
        b.copy(Span::input(0, len), Span::output(offset, len));
    } else if request.counts != Counts::Same(0) || collective == Collective::Barrier {
        match algorithm {
            Algorithm::BarrierDissemination => barrier::dissemination::build(request, b),
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
            Algorithm::AllReduceRecursiveDoubling => {
                all_reduce::recursive_doubling::build(request, choice, b)
            }
            Algorithm::AllReduceRabenseifner => all_reduce::rabenseifner::build(request, choice, b),
            Algorithm::AllReduceRing => all_reduce::ring::build(request, choice, b),
            Algorithm::AllReduceGatherBroadcast => all_reduce::gather_broadcast::build(request, choice, b),
            Algorithm::AllReduceLeftExchange => all_reduce::left_exchange::build(request, choice, b),
            Algorithm::AllReduceLeftChain => all_reduce::left_chain::build(request, choice, b),
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
        }
    }
    builder.finish()
}

/// [`select`], then [`build`].
///
/// # Errors
///
/// See [`build`].
pub fn schedule(request: &Request, tuning: &Tuning) -> Result<Schedule, Error> {
    build(request, &select(request, tuning))
}
