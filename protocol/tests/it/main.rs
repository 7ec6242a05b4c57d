//! The rules of messages, over a network of plain queues. What counts allocations stands beside this folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what is printed explains a failure")]

mod arrived;
mod ends;
mod expected;
mod flow;
mod malformed;
#[path = "../net/mod.rs"]
mod net;
mod offered;
mod random;
mod rules;
