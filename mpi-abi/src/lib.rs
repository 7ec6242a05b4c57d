//! `libmpi_abi.so.1`: MPI's functions in the standard's own ABI (MPI 5.0, chapter 20).
//!
//! The semantic layer, `ringworld-mpi`, speaks this ABI; so there is little to translate here. The functions are in
//! `mpi/exports.rs`, which is made of the table `mpi/functions.txt`; this file says what handles and constants are.

#![allow(unsafe_code, reason = "a library for C is called through raw pointers")]

mod c;
#[rustfmt::skip]
#[path = "../../mpi/exports.rs"]
mod exports;
