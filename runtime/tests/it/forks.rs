//! A child that a rank has forked ends, with copies of all that its parent has: the world goes on.

#![cfg(all(feature = "shm", feature = "tcp"))]
#![allow(unsafe_code, reason = "fork")]

use std::net::{Ipv4Addr, TcpListener};

use ringworld::{Op, World};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

/// What a child does in its copy of this process, whose other threads it has not; whether it comes to its end.
fn ends_in_a_child(does: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls what needs none of the threads that it has not, and never returns.
    let child = unsafe { fork() };
    if child == 0 {
        let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(does)).unwrap_or(false);
        // SAFETY: it ends this process, and nothing else.
        unsafe { _exit(i32::from(!well)) }
    }
    let mut status = -1;
    // SAFETY: `status` is a place for it.
    let waited = unsafe { waitpid(child, &raw mut status, 0) };
    waited == child && status == 0
}

#[test]
fn a_child_that_drops_or_finishes_its_copy_of_a_world_leaves_its_parents_alone() {
    for transport in ["shm,tcp", "tcp"] {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let join = move |rank| {
            let builder = World::builder().ignore_environment().master_node("127.0.0.1").master_port(port);
            builder.world_size(2).rank(rank).set("transport", transport).build().unwrap()
        };
        let other = std::thread::spawn(move || {
            let world = join(1);
            for _ in 0..4 {
                world.all_reduce(&mut vec![1u32; 100_000], Op::Sum).unwrap();
            }
            world.finish().unwrap();
        });
        let world = join(0);
        let sum = || {
            let mut data = vec![1u32; 100_000];
            world.all_reduce(&mut data, Op::Sum).unwrap();
            assert!(data.iter().all(|x| *x == 2));
        };
        sum();
        // SAFETY: read in the child only, of whose memory this is, and never dropped here.
        let copy = || unsafe { std::ptr::read(&raw const world) };
        assert!(ends_in_a_child(|| {
            drop(copy());
            true
        }));
        sum();
        assert!(ends_in_a_child(|| copy().finish().is_err_and(|error| error.to_string().contains("forked"))));
        sum();
        // As when its program panics.
        assert!(ends_in_a_child(|| {
            let world = copy();
            std::panic::set_hook(Box::new(|_| {}));
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let _world = world;
                panic!("the child panics on purpose");
            }))
            .is_err()
        }));
        sum();
        world.finish().unwrap();
        other.join().unwrap();
    }
}
