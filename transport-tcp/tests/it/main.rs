//! The promises of a transport, and what is particular to sockets. What changes a limit of the process stands beside
//! this folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod encrypted;
mod first;
mod placement;
mod silence;
mod sockets;
#[path = "../support/mod.rs"]
mod support;
mod unauthenticated;
