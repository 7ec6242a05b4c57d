//! Worlds for unit tests: the ranks are threads of the test.
//!
//! ```
//! use ringworld::{Op, testing};
//!
//! let sums = testing::ranks(3, |world| {
//!     let mut data = [world.rank() as f32, 1.0];
//!     world.all_reduce(&mut data, Op::Sum).unwrap();
//!     data
//! });
//! assert_eq!(sums, [[3.0, 3.0]; 3]);
//! ```
//!
//! They are worlds like any other, with a rendezvous, sockets and all; only nothing has to be set. A test needs no free
//! port, tests may run in parallel, and no variable of a scheduler or of a launcher has a say; of the environment only
//! `RINGWORLD_LOG` is read. So a function that takes a [`Communicator`](crate::Communicator) is tested as it will run;
//! what a whole program does is tested by starting it with `ringworld run -n 3`.

mod over;
mod threads;

#[doc(hidden)]
pub use over::{Choice, Hub, Loops, Rank, SMALL, alone, rank};
pub use threads::ranks;
