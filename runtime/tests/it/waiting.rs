//! Nobody sleeps through what he waits for, whoever brings it about: other threads, the helper, the end of the world.
//! Nothing here may take longer than a moment, because a reminder, which comes after a second, would hide what is
//! wrong.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{owned_world, patient, real_wire, world};
use crate::log::Log;
use ringworld::Op;
use ringworld::testing::Choice;

/// A wait that lasts longer has slept through something.
const MOMENT: Duration = Duration::from_millis(900);

#[track_caller]
fn soon<R>(what: &str, call: impl FnOnce() -> R) -> R {
    let begun = Instant::now();
    let result = call();
    assert!(begun.elapsed() < patient(MOMENT), "{what} took {:?}", begun.elapsed());
    result
}

fn spinning() -> Choice {
    Choice { spin: Duration::from_micros(100), ..Choice::default() }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_probe_hears_of_a_message_that_another_thread_has_read() {
    let steps = Barrier::new(2);
    world(real_wire(), 2, &spinning(), |rank| {
        rank.barrier().unwrap();
        for round in 0..300 {
            steps.wait();
            if rank.rank() == 0 {
                // In every state of the two that wait: spinning, falling asleep, asleep.
                thread::sleep(Duration::from_micros(20 * (round % 30)));
                let both = [5, 6].map(|tag| rank.start_send(vec![1u8], 1, tag).unwrap());
                both.into_iter().for_each(|send| drop(send.wait().unwrap()));
                continue;
            }
            thread::scope(|scope| {
                scope.spawn(|| soon("a probe", || rank.probe(0, 5)).unwrap());
                soon("a receive", || rank.recv(&mut [0u8], 0, 6)).unwrap();
            });
            rank.recv(&mut [0u8], 0, 5).unwrap();
        }
    });
}

#[test]
fn objects_are_received_while_another_thread_computes_with_the_others() {
    world(real_wire(), 2, &spinning(), |rank| {
        let peer = 1 - rank.rank();
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..200u32 {
                    let got: u32 = soon("an object", || rank.recv_object(peer, 77)).unwrap();
                    assert_eq!(got, round);
                }
            });
            let mine = rank.duplicate().unwrap();
            for round in 0..200u32 {
                let mut data = [1u32; 100];
                soon("an all-reduce", || mine.all_reduce(&mut data, Op::Sum)).unwrap();
                assert_eq!(data, [2; 100]);
                rank.send_object(&round, peer, 77).unwrap();
            }
        });
    });
}

/// A program that starts something every now and then, and never polls, computes all the same beside its communication.
#[test]
fn starting_operations_does_not_keep_the_helper_away() {
    let arrived = AtomicBool::new(false);
    world(real_wire(), 2, &Choice::default(), |rank| {
        rank.barrier().unwrap();
        if rank.rank() == 1 {
            thread::sleep(Duration::from_millis(20));
            soon("a long message", || rank.recv(&mut vec![0u8; 1 << 20], 0, 7)).unwrap();
            arrived.store(true, Ordering::SeqCst);
        } else {
            let send = rank.start_send(vec![1u8; 1 << 20], 1, 7).unwrap();
            let mut kept = Vec::new();
            let begun = Instant::now();
            while !arrived.load(Ordering::SeqCst) && begun.elapsed() < patient(Duration::from_secs(3)) {
                kept.push(rank.start_recv(vec![0u8; 1], 1, 99).unwrap());
                let pause = Instant::now();
                while pause.elapsed() < Duration::from_micros(200) {
                    std::hint::spin_loop();
                }
            }
            send.wait().unwrap();
            kept.iter().for_each(|receive| assert!(receive.cancel()));
        }
        rank.barrier().unwrap();
    });
}

/// A future's operation ends well although the world ends meanwhile, and so does the future.
#[test]
fn the_end_of_a_world_wakes_the_tasks_that_wait_for_it() {
    for _ in 0..20 {
        owned_world(real_wire(), 2, &Choice::default(), |rank| {
            rank.barrier().unwrap();
            if rank.rank() == 1 {
                thread::sleep(Duration::from_millis(50));
                let mut data = [1u32];
                rank.all_reduce(&mut data, Op::Sum).unwrap();
                return;
            }
            let pending = rank.start_all_reduce(vec![1u32], Op::Sum).unwrap();
            thread::scope(|scope| {
                scope.spawn(|| assert_eq!(soon("a future", || block_on(pending)).unwrap(), [2]));
                thread::sleep(Duration::from_millis(5));
                soon("the end", || drop(rank));
            });
        });
    }
}

/// The end of a world, too, is brought about by whoever polls.
#[test]
fn the_end_of_a_world_is_not_slept_through() {
    for _ in 0..20 {
        owned_world(real_wire(), 2, &spinning(), |rank| {
            rank.barrier().unwrap();
            let peer = 1 - rank.rank();
            let other = rank.duplicate().unwrap();
            let send = rank.start_send(vec![1u8; 1 << 20], peer, 1).unwrap();
            thread::scope(|scope| {
                scope.spawn(|| {
                    // Polls like a thread of the user's, and takes the events that the end waits for.
                    let receive = other.start_recv(vec![0u8; 1], peer, 5).unwrap();
                    let begun = Instant::now();
                    while !receive.is_done() && begun.elapsed() < patient(2 * MOMENT) {}
                    assert!(begun.elapsed() < patient(MOMENT), "the end of the world");
                });
                rank.recv(&mut vec![0u8; 1 << 20], peer, 1).unwrap();
                drop(send);
                soon("the end", || drop(rank));
            });
        });
    }
}

/// What a task's waker does wrong is that task's own trouble, and is told whichever thread woke the task.
#[test]
fn a_waker_that_panics_takes_nothing_from_others() {
    /// With the names of the threads that have called it.
    #[derive(Default)]
    struct Panics(Mutex<Vec<String>>);
    impl Panics {
        fn calls(&self) -> usize {
            self.0.lock().unwrap().len()
        }
    }
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            self.0.lock().unwrap().push(thread::current().name().unwrap_or_default().into());
            // Not by `panic!`, of which the hook would tell as well.
            std::panic::resume_unwind(Box::new("a waker that panics"));
        }
    }
    let steps = Barrier::new(2);
    world(real_wire(), 2, &Choice::default(), |rank| {
        let (log, waker) = (Log::default(), Arc::new(Panics::default()));
        log.hear(|| {
            rank.barrier().unwrap();
            let peer = 1 - rank.rank();
            for round in 0..50 {
                let known = waker.calls();
                let mut bad = rank.start_recv(vec![0u8; 1], peer, 1).unwrap();
                let good = rank.start_recv(vec![0u8; 2], peer, 2).unwrap();
                let polled = pin!(&mut bad).poll(&mut Context::from_waker(&Waker::from(Arc::clone(&waker))));
                assert!(polled.is_pending() || round > 0);
                rank.barrier().unwrap();
                // Nothing is sent to a rank that is still in a call.
                steps.wait();
                let sends = [
                    rank.start_send(vec![7u8], peer, 1).unwrap(),
                    rank.start_send(vec![8u8, 9], peer, 2).unwrap(),
                ];
                // In no call meanwhile: only the helper can wake the task.
                let begun = Instant::now();
                while round % 2 == 0 && polled.is_pending() && waker.calls() == known {
                    assert!(begun.elapsed() < patient(MOMENT), "nobody has woken the task");
                    thread::yield_now();
                }
                let (data, status) = soon("a receive", || good.wait()).unwrap();
                assert_eq!((data, status.source, status.tag, status.count), (vec![8, 9], peer, 2, 2));
                let (data, status) = soon("the other receive", || bad.wait()).unwrap();
                assert_eq!((data, status.tag), (vec![7], 1));
                sends.into_iter().for_each(|send| drop(send.wait().unwrap()));
            }
        });
        let wakers = waker.0.lock().unwrap().clone();
        assert!(wakers.iter().any(|name| name == "ringworld-helper"), "{wakers:?}");
        // Whoever has called the last one tells of it a moment later.
        let begun = Instant::now();
        let line = "ERROR ringworld_engine::waiters: the waker of a task panicked";
        while log.said().matches(line).count() < wakers.len() {
            assert!(
                begun.elapsed() < patient(MOMENT),
                "{wakers:?} have called wakers, and all that is told is {}",
                log.said()
            );
            thread::yield_now();
        }
    });
}
