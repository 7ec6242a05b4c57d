//! The promises of a transport kept in virtual time, what is particular to the fabric, and the conformance kit put to
//! the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod fabric;
mod kit_finds_faults;
#[path = "../support/mod.rs"]
mod support;
