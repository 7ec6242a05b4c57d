//! # ringworld: collective communication in pure Rust
//!
//! A program links this crate, is started once per rank, and calls [`World::from_env`]; the ranks find
//! one another at a rendezvous address, without SSH, host files or a shared file system, and exchange
//! messages and collectives with MPI's semantics.
//!
//! ```no_run
//! use ringworld::{Op, Source, World};
//!
//! fn main() -> ringworld::Result<()> {
//!     let world = World::from_env()?;
//!     let mut gradients = vec![world.rank() as f32; 1_000_000];
//!     world.all_reduce(&mut gradients, Op::Sum)?;
//!     if world.rank() == 0 {
//!         println!("{} ranks, first element {}", world.size(), gradients[0]);
//!     }
//!     world.barrier()
//! }
//! ```
//!
//! ```text
//! MASTER_NODE=n0 MASTER_PORT=29500 NUM_NODES=4 ./trainer      # the same line on every host
//! ringworld run -n 8 -- ./trainer                             # or: all ranks of one host
//! ```
//!
//! # What it promises
//!
//! * **Correct**: MPI's rules for messages ([`Communicator`]); a collective gives every rank the same
//!   bits, and the same again on the next run. Ranks that disagree about a collective get
//!   [`Error::Mismatch`], never wrong numbers.
//! * **Fails together, fast, by name**: when a rank dies, every other rank's pending call ends with an
//!   error that names the rank, its host and the operation.
//! * **Bounded memory**: a sender that outruns a receiver is held back.
//!
//! # What it does not
//!
//! One-sided communication, dynamic processes, derived datatypes and parallel files are not part of the
//! subset. After a failure the world is over: restart it (from a checkpoint).
//!
//! # Where things are
//!
//! [`World`] is the rendezvous and derefs to the [`Communicator`] of all ranks, which has the calls.
//! Blocking calls borrow their buffers; `start_*` calls take owned buffers and return a [`Pending`],
//! which is also a future; [`Communicator::scope`] begins operations on borrowed buffers that end with the
//! scope; `prepare_*` calls make a [`Prepared`] that is started many times. [`Communicator::register`] prepares
//! memory of many transfers for network cards. `ARCHITECTURE.md` in the
//! repository has the picture behind it, `docs/mpi.md` a table of what MPI's calls are called here.

#![deny(unsafe_code)]

mod buffer;
mod cartesian;
mod collective;
mod communicator;
mod datatype;
mod descriptors;
mod engine;
mod error;
mod exchange;
mod group;
mod located;
#[doc(hidden)]
pub mod logging;
mod numbers;
mod object;
mod operation;
mod options;
mod panics;
mod persistent;
mod raw;
mod reduce;
mod registered;
mod request;
mod route;
mod schedules;
mod scope;
mod split;
mod stamp;
#[doc(hidden)]
pub mod testing;
mod transports;
mod tuning;
mod world;

/// What elements are plain data is said by this crate: derive its `Pod` and `Zeroable` for types of your own.
pub use bytemuck;
pub use cartesian::{Cartesian, Shift};
pub use communicator::{Communicator, Message, Source, Status, Tag};
pub use datatype::{DType, Reducible};
pub use error::{Error, Result};
pub use exchange::Origin;
pub use group::{Comparison, Group};
pub use half::{bf16, f16};
pub use located::{Locatable, Located};
pub use num_complex::Complex;
pub use object::PendingObject;
pub use options::Options;
pub use persistent::{Prepared, Running};
pub use raw::Raw;
pub use reduce::{Op, Reduction, Scaled, UserOp};
pub use registered::Registered;
pub use request::{Outcome, Pending, PendingMessage, Request, test_any, wait_all, wait_any};
pub use route::Route;
pub use scope::{Given, Scope, Scoped};
pub use transports::{TransportReport, compiled_in as transports, survey};
pub use tuning::{eager_limit, tuning_table};
pub use world::{Builder, World};
