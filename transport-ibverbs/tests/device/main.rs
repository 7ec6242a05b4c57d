//! What is special to verbs, on a device (see `conformance.rs`): limits and failures.
//!
//! One thread at a time (`--test-threads=1`): some tests change limits of the process or take the link down,
//! others count what the kernel holds.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::needless_range_loop,
    reason = "tests fail by panicking, speak of ranks by number, and talk to each other by standard output"
)]

mod failures;
mod limits;
mod pairs;
mod regions;
#[path = "../support/mod.rs"]
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

/// For tests that change or count what the whole process or machine has.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the kernel holds for all processes, as `rdma resource show` says; `None` where that does not work.
fn resources() -> Option<String> {
    let output = std::process::Command::new("rdma").args(["resource", "show"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Waits until the kernel holds what it held `before`: it lets go of some objects a moment later.
fn assert_released(before: &str) {
    let mut now = String::new();
    for _ in 0..100 {
        now = resources().unwrap();
        if now == before {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("left behind; before:\n{before}\nnow:\n{now}");
}
