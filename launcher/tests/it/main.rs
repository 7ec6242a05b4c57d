//! The `ringworld` command from outside: what it starts, ends, passes on and prints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod binding;
#[path = "../common/mod.rs"]
mod common;
mod compiling;
mod crowd;
mod ending;
mod hosts;
mod pictures;
mod placements;
mod reports;
mod restarts;
mod secret;
mod streams;
