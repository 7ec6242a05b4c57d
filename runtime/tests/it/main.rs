//! The promises of the library, each held over several wires: one program, because to link one for each file takes
//! longer than to run it. What must have a process to itself stands beside this folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cartesian;
mod collectives;
#[path = "../common/mod.rs"]
mod common;
mod communicators;
mod elements;
mod exchange;
mod failure;
mod foreign;
mod forks;
mod hosts;
mod huge;
mod inside;
mod kernels;
mod launched;
mod line;
mod log;
mod messages;
mod mismatch;
mod object_types;
mod objects;
mod operations;
mod options;
mod pairs;
mod pairs_in_theory;
mod places;
mod random;
mod refusals;
mod registered;
mod requests;
mod roots;
mod state;
mod sweep;
mod tasks;
mod users_tests;
mod varied;
mod waiting;
mod whereabouts;
