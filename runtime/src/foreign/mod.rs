//! Calls for other languages: on memory that Rust does not know, of types that are known only at run time.
//!
//! For whoever offers this library's calls to C, Python and others, as the MPI libraries of this project do. Programs
//! in Rust have no use for it: their slices say all of this, and the compiler checks it.
//!
//! One unsafe function, [`Foreign::new`], names memory and promises what a borrow would; a [`Call`] says what to do
//! with it, in bytes; [`Communicator::run_foreign`](crate::Communicator::run_foreign) does it and returns when it is
//! done, by the same short path as the calls in Rust, and
//! [`Communicator::begin_foreign`](crate::Communicator::begin_foreign) returns at once. Elements are
//! [`Raw`](crate::Raw): nothing is said of their type, but that all ranks of a reduction combine elements of one size
//! by one operation.
//!
//! ```
//! use ringworld::foreign::{Call, Foreign, Reducer};
//! use ringworld::{DType, Op};
//!
//! # let world = ringworld::testing::alone();
//! let mut data = [1f32, 2.0];
//! // SAFETY: the array is borrowed by nobody else, and outlives the call, which returns when it is done.
//! let memory = unsafe { Foreign::new(data.as_mut_ptr().cast(), size_of_val(&data)) };
//! let call = Call::AllReduce { op: Reducer::new(DType::F32, Op::Sum)? };
//! world.run_foreign(&call, None, Some(memory))?;
//! assert_eq!(data, [1.0, 2.0]);
//! # Ok::<(), ringworld::Error>(())
//! ```

mod call;
mod lane;
mod pending;
mod reducer;

pub use call::{Blocks, Call};
pub use pending::{Pending, PendingId, wait_any};
pub use reducer::Reducer;
pub use ringworld_engine::inside::is_inside_operation;
pub use ringworld_engine::lend::Foreign;
