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
mod exchange;
mod flat;
mod fold;
mod gather;
mod left;
mod levels;
mod parse;
mod placement;
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
pub use exchange::{Part, Personalized, is_exchange};
pub use placement::Placement;
pub use request::{Collective, Layout, Order, Request};
pub use schedule::Schedule;
pub use select::{Choice, select};
pub use tuning::{Hosts, Overrides, Tuning};

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
    let collective = request.collective;
    let algorithm = choice.algorithm;
    if let Some(reason) = algorithm.refuses(request) {
        let able = request.algorithms().collect();
        return Err(Error::Unsupported { algorithm, collective, reason, able });
    }
    let root = collective.root().unwrap_or(0);
    let mut builder = Builder::new(algorithm.path(), request);
    let b = &mut builder;
    match algorithm {
        Algorithm::BarrierTwoLevel => barrier::two_level::build(request, choice, b),
        Algorithm::BroadcastTwoLevel => broadcast::two_level::build(request, root, choice, b),
        Algorithm::ReduceTwoLevel => reduce::two_level::build(request, root, choice, b),
        Algorithm::AllReduceTwoLevel => all_reduce::two_level::build(request, choice, b),
        Algorithm::AllGatherTwoLevel => all_gather::two_level::build(request, choice, b),
        Algorithm::ReduceScatterTwoLevel => reduce_scatter::two_level::build(request, choice, b),
        Algorithm::AllToAllTwoLevel => all_to_all::two_level::build(request, choice, b),
        _ => flat::steps(request, choice, b),
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
