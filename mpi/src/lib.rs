//! # MPI's functions over ringworld
//!
//! Programs that were made for MPI run unchanged: a library that exports MPI's functions takes the place of the one
//! they were linked against. There are two, for the two ABIs that programs are made for:
//!
//! ```text
//!   mpi4py, C, C++ …                      mpi4py's wheel, programs for MPICH and Intel MPI …
//!        │                                              │
//!   libmpi_abi.so.1  (mpi-abi/)                   libmpi.so.12  (mpi-mpich/)
//!        │     exports.rs, made of functions.txt, is in both │
//!        └───────────────────────┬───────────────────────────┘
//!                     this crate: what the functions mean
//!                                │
//!                       ringworld, by its own calls
//! ```
//!
//! # Two boundaries and one layer
//!
//! This crate speaks the standard's ABI: handles, constants and classes of errors are those of MPI 5.0, chapter 20
//! ([`standard`]). Each library says in a [`host::Host`] how its programs see them, and `exports.rs`, which is made
//! of the table [functions.txt], turns arguments into this crate's and codes back. So nothing of MPICH's is known
//! here, and a third ABI would be a third table.
//!
//! A function of the table is a function of the folder `calls` with the same name; `MPI_X` and `MPI_X_c` are one, in
//! which counts have 64 bits. What is not there raises `MPI_ERR_UNSUPPORTED_OPERATION` with its name.
//!
//! # What is where
//!
//! ```text
//! calls/            every function: handles resolved, arguments checked, errors given to handlers
//! comms.rs          communicators, and intercommunicators as communicators of both groups
//! point_to_point.rs short.rs work.rs requests.rs bare.rs freed.rs
//! buffered.rs generalized.rs partitioned.rs numbers.rs
//! inside.rs         what is refused within an operation of the program's
//! plan.rs           a collective with its memory, which is run, begun, or begun again and again
//! collectives.rs inter.rs neighbourhood.rs steps.rs
//! datatypes/        layouts, constructors, packing, external32
//! operations/       reductions that the runtime has, and those that C has and Rust has not
//! attributes.rs errhandlers.rs error.rs call_names.rs groups.rs info.rs topology.rs
//! process.rs        from MPI_Init, or a first session, to MPI_Finalize; lock.rs: its lock, in forked children
//! sessions.rs       sessions and their process sets
//! arguments.rs      memory of the program's: the one place that touches it
//! objects.rs        tables of handles
//! ```
//!
//! # Rules
//!
//! * Handles are looked up, never followed: one that stands for nothing is an error.
//! * What Rust users would want, too, is in the runtime: [`ringworld::foreign`], `Communicator::twin`,
//!   `Communicator::create_among`. Here is what only C needs.
//! * Contiguous memory goes to the runtime where it lies, by the same short path as Rust's; what has holes is packed.
//! * Memory that an operation uses is kept beside it until it has ended, or leaked with it.
//! * Functions of the program (error handlers, attributes, operations) are called without any lock of this crate
//!   held, but operations under the engine's, as Rust's closures are.
//!
//! [functions.txt]: https://docs.rs/crate/ringworld-mpi/latest/source/functions.txt

#![deny(unsafe_code)]

mod abort;
pub mod arguments;
mod attributes;
mod bare;
mod buffered;
mod call_names;
mod callbacks;
pub mod calls;
mod collectives;
mod comms;
mod datatypes;
mod errhandlers;
mod error;
mod freed;
mod generalized;
mod groups;
mod guard;
pub mod host;
mod info;
mod inside;
mod inter;
pub mod kind;
mod lock;
mod making;
mod matched;
mod neighbourhood;
mod numbers;
mod objects;
mod operations;
mod partitioned;
mod plan;
mod point_to_point;
mod process;
mod requests;
mod sessions;
mod short;
pub mod standard;
pub mod status;
mod steps;
mod topology;
mod work;

pub use freed::look_before_return;
pub use guard::{absent, unsupported};
