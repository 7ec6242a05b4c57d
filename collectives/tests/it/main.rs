//! Every schedule proved, every cost compared, every fault of a schedule found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod broken_schedules;
#[path = "../common/mod.rs"]
mod common;
mod costs;
mod every_algorithm;
mod many_ranks;
mod placements;
mod properties;
mod selection_at_scale;
