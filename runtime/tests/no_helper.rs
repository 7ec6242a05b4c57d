//! A process in which no thread, nor anything to wake it by, is left for work that nobody waits for: tasks poll.
//!
//! The limit is that of the whole process, so this is one test in a file of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake};
use std::thread::{Thread, current, park_timeout, sleep};
use std::time::{Duration, Instant};

use ringworld::Op;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What a future comes to that is polled when its waker says so, and never else.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Arc::new(Unpark(current())).into();
    let (mut future, begin) = (pin!(future), Instant::now());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        park_timeout(Duration::from_secs(20));
        assert!(begin.elapsed() < Duration::from_secs(20), "nobody wakes the task");
    }
}

#[test]
fn a_task_is_woken_although_no_thread_can_be_had_to_drive_for_it() {
    let whole = getrlimit(Resource::Nofile);
    let here = Barrier::new(2);
    ringworld::testing::ranks(2, |world| {
        world.barrier().unwrap();
        here.wait();
        if world.rank() == 0 {
            // What is open stays so, and nothing can be opened.
            setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..whole }).unwrap();
        }
        here.wait();
        if world.rank() == 1 {
            sleep(Duration::from_millis(300));
        }
        let sum = block_on(world.start_all_reduce(vec![1u32; 50_000], Op::Sum).unwrap()).unwrap();
        here.wait();
        if world.rank() == 0 {
            setrlimit(Resource::Nofile, whole).unwrap();
        }
        here.wait();
        assert!(sum.iter().all(|x| *x == 2));
    });
}
