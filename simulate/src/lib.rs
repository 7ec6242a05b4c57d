//! Runs the real schedules of ringworld for any number of ranks, in virtual time and without a network.
//!
//! What a collective costs on 65,536 ranks cannot be measured here; but its schedules are data, and a
//! network of equal hosts is a few numbers. This crate decides and moves nothing: no clock, no thread, no
//! file, and the same question gives the same digits.
//!
//! # What is modelled
//!
//! Every rank has a port that sends, a port that receives and a processor ([`Fabric`]). A message of `b` bytes takes
//! the sending port for `overhead + b / bandwidth`, in the order in which sends become ready; its head reaches the
//! receiver one `latency` later and takes the receiving port for as long, in the order of arrival; the send is complete
//! when the last byte has left, the receive when it has arrived. So a message between idle ranks takes `alpha + beta
//! b`, with `alpha = latency + overhead`. A message above the eager limit asks first and waits for the answer, which is
//! sent once the receive is posted: two more alphas. One that arrives before its receive is posted is copied once.
//! Reductions (`gamma` per byte of result) and copies take the processor one after the other and do not hold up the
//! ports.
//!
//! Ranks that share a host ([`Inside`]) share its wire: a message to another host takes that as well as the ports, for
//! its bytes. Among themselves they have ports of their own, with another latency and bandwidth.
//!
//! Not modelled: switches and their congestion (every pair is equally far), the bandwidth of a memory that ranks share,
//! the processor's part in sending, credits of flow control, jitter, and losses.
//!
//! # How many ranks are simulated
//!
//! One is enough when all schedules are images of one another ([`Relabel`]); otherwise all. Where a pipeline has
//! too many segments to run them all, three shorter vectors are run and, if time grows along a line, the line
//! is continued. [`Outcome::method`] says which it was.
//!
//! ```
//! use ringworld_collectives::{Choice, Collective, Counts, Order, Request, Tuning, select};
//! use ringworld_simulate::{Budget, Fabric, Verdict, simulate};
//!
//! let tuning = Tuning::default();
//! let request = Request {
//!     collective: Collective::AllReduce, rank: 0, size: 1024, counts: Counts::Same(1 << 20), element: 4,
//!     order: Order::Free, in_place: true,
//! };
//! let choice = select(&request, &tuning);
//! let Verdict::Done(outcome) = simulate(&request, &choice, &Fabric::default(), &Budget::default())? else {
//!     return Err("that is little work".into());
//! };
//! println!("{} takes {}", choice.algorithm.path(), outcome.time);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod ask;
mod engine;
mod error;
mod estimate;
mod fabric;
mod facts;
mod net;
mod observe;
mod path;
mod plan;
mod symmetry;
mod time;
mod timeline;

pub use error::Error;
pub use estimate::{Budget, Estimate};
pub use fabric::{Fabric, Inside};
pub use facts::Facts;
pub use path::critical_path;
pub use plan::{Method, Outcome, Verdict, simulate, simulate_watched};
pub use symmetry::Relabel;
pub use time::Time;
pub use timeline::{Moment, Timeline, timeline};
