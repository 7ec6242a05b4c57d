//! What needs processes, network namespaces or the whole workspace. What measures the processor or fills the machine
//! stands beside this folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the runner keeps what a test prints to itself unless it fails")]

mod aliases;
mod check;
mod containers;
mod descriptors;
mod elastic;
mod faults;
mod forks;
mod hosts;
mod layers;
mod mpi_table;
mod namespaces;
mod processes;
mod programs;
mod restarts;
mod silent_networks;
mod socket_folder;
mod stalls;
mod status;
mod traces;
mod two_levels;
mod virtual_time;
