//! Everything that is tested through the public interface, in one program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod crossing;
mod forks;
mod kit_finds_faults;
mod last_words;
mod support;
mod unauthenticated;
