//! What the simulation of schedules promises, of any number of ranks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod laws;
mod placements;
mod symmetry;
