//! A process that may start no further thread.
//!
//! The limit is that of the whole process, so this is one test in a file of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::TcpListener;
use std::time::{Duration, Instant};

use common::{free_port, join, settings};
use ringworld_bootstrap::{Elastic, Error, Master, MasterConfig};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

mod common;

/// Calls `body` with room for so many stacks of threads, of 2 MiB each.
fn with_room_for<T>(threads: u64, body: impl FnOnce() -> T) -> T {
    let whole = getrlimit(Resource::As);
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    let current = Some((pages << 12) + (threads << 21) + (1 << 20));
    setrlimit(Resource::As, Rlimit { current, ..whole }).unwrap();
    let result = body();
    setrlimit(Resource::As, whole).unwrap();
    result
}

/// It says what was to be started, what the system has said, and what to look at.
fn says_so(error: &Error, what: &str) {
    let text = error.to_string();
    for part in [what, "no further thread", "os error 11", "ulimit -u", "pids.max", "ulimit -v"] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn threads_that_cannot_be_started_are_told_at_once_and_nothing_panics() {
    let settings = settings(free_port(), 2, &[]);
    // Programs that use tokio themselves join from within: what is dropped there must not wait.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let serve = || {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            Master::serve(listener, MasterConfig::new(2, &settings)).unwrap_err()
        };
        says_so(&with_room_for(0, serve), "the master's thread");
        says_so(&with_room_for(0, || join(&settings, "alone").err().unwrap()), "the control plane's thread");
        let elastic = || Elastic::open(&settings, &[[127, 0, 0, 1].into()], 1).err().unwrap();
        says_so(&with_room_for(0, elastic), "the thread of an elastic world");

        // The control thread starts, and cannot start the master's: its own answer comes, and not after the time-out.
        let begin = Instant::now();
        let error = with_room_for(1, || join(&settings, "alone").err().unwrap());
        says_so(&error, "the master's thread");
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    });
}
