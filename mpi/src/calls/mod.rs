//! Every function that there is, by its name without `MPI_` and in lower case.
//!
//! They are called by the libraries alone. Each resolves handles, checks arguments, does what it says by the modules
//! beside this folder, and gives errors to the handler of its object. `cargo xtask mpi` finds them by `pub fn` at the
//! beginning of a line.

#![allow(missing_docs, reason = "what each function does is the standard's to say")]
#![allow(clippy::too_many_arguments, reason = "they are MPI's")]

mod attributes;
mod collectives;
mod communicators;
mod datatypes;
mod environment;
mod errors;
mod groups;
mod info;
mod neighbourhood;
mod operations;
mod partitioned;
mod persistent;
mod plans;
mod point_to_point;
mod requests;
mod sessions;
mod shared;
mod starting;
mod topologies;

pub use attributes::*;
pub use collectives::*;
pub use communicators::*;
pub use datatypes::*;
pub use environment::*;
pub use errors::*;
pub use groups::*;
pub use info::*;
pub use neighbourhood::*;
pub use operations::*;
pub use partitioned::*;
pub use persistent::*;
pub use point_to_point::*;
pub use requests::*;
pub use sessions::*;
pub use starting::*;
pub use topologies::*;
