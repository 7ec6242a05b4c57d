//! `libmpi.so.12`: MPI's functions in the ABI of MPICH, Intel MPI and Cray MPI.
//!
//! The functions are in `mpi/exports.rs`, which is made of the table `mpi/functions.txt`; this crate says what
//! handles and constants are, and turns them into those of the standard's ABI, which the semantic layer speaks.

#![allow(unsafe_code, reason = "a library for C is called through raw pointers")]

mod c;
#[rustfmt::skip]
#[path = "../../mpi/exports.rs"]
mod exports;
mod older;
