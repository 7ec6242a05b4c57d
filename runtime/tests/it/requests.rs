//! Requests that are dropped, leaked, waited for by many threads or awaited, and scopes that panic: whatever
//! becomes of the handle, the operation ends, the memory is safe and the world goes on or ends by name.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{owned_world, small, wires, world, world_over};
use ringworld::{Communicator, Error, Op, Options, Pending, Tag, test_any, testing, wait_all, wait_any};
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Operation, Placer, Posted, RecvMemory, Refused,
    RemoteKey, Token, Transport,
};
use ringworld_transport_sim as sim;

/// Long enough for every path: eager, rendezvous, and several segments.
const COUNTS: [usize; 3] = [3, 400, 200_000];

fn summed(size: usize) -> u32 {
    (0..size as u32).map(|rank| rank + 1).sum()
}

/// All ranks still agree about what comes next.
fn goes_on(rank: &Communicator) {
    let mut data = [rank.rank() as u32 + 1; 5];
    rank.all_reduce(&mut data, Op::Sum).unwrap();
    assert_eq!(data, [summed(rank.size()); 5]);
}

#[test]
fn dropped_and_leaked_requests_go_on_and_so_does_the_world() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let (me, size) = (rank.rank(), rank.size());
            for count in COUNTS {
                let mine = || vec![me as u32 + 1; count];
                drop(rank.start_all_reduce(mine(), Op::Sum).unwrap());
                std::mem::forget(rank.start_all_reduce(mine(), Op::Sum).unwrap());
                goes_on(rank);
                // A dropped send arrives, as one that is waited for.
                let next = (me + 1) % size;
                drop(rank.start_send(mine(), next, 7).unwrap());
                std::mem::forget(rank.start_send(mine(), next, 8).unwrap());
                let before = (me + size - 1) % size;
                for tag in [8, 7] {
                    let mut data = vec![0; count];
                    assert_eq!(rank.recv(&mut data, before, tag).unwrap().count, count);
                    assert_eq!(data, vec![before as u32 + 1; count], "{wire:?} {count} {tag}");
                }
                goes_on(rank);
            }
        });
    }
}

/// A handle with other options is the same communicator: what is known of that stays while any handle lives.
#[test]
fn a_communicator_goes_on_when_a_handle_of_it_was_dropped() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            goes_on(rank);
            // On one rank only, so that ranks that begin to count anew do not do so together.
            drop((rank.rank() == 0).then(|| rank.with(&Options::new().segment(100))));
            let _other = rank.duplicate().unwrap();
            goes_on(rank);
            goes_on(rank);
        });
    }
}

/// What dropping means for a receive: it stays posted, and takes the message that matches it.
#[test]
fn a_dropped_receive_takes_no_message() {
    for wire in wires() {
        for length in [1, 200, 600, 5000] {
            world(wire, 2, &small(), |rank| match rank.rank() {
                0 => {
                    rank.recv(&mut [0u8; 0], 1, 1).unwrap();
                    for value in 0..6u8 {
                        rank.send(&vec![value; length], 1, 5 + u32::from(value % 2)).unwrap();
                    }
                }
                _ => {
                    // Nothing has come for this one, and nothing is taken.
                    drop(rank.start_recv(vec![0u8; length], 0, 5).unwrap());
                    let cancelled = rank.start_recv(vec![0u8; length], 0, 5).unwrap();
                    assert!(cancelled.cancel());
                    drop(cancelled);
                    rank.send::<u8>(&[], 0, 1).unwrap();
                    // These take messages, on their way or whole, and give them back; one goes to a receive that waits.
                    let dropped = rank.start_recv(vec![0u8; length], 0, 6).unwrap();
                    let next = rank.start_recv(vec![0u8; length], 0, 6).unwrap();
                    let other = rank.start_recv(vec![0u8; length], 0, 5).unwrap();
                    let ended = other.wait().unwrap().0;
                    assert_eq!(ended, vec![0; length]);
                    let late = rank.start_recv(vec![0u8; length], 0, Tag::Any).unwrap();
                    drop(late);
                    drop(dropped);
                    let (data, status) = next.wait().unwrap();
                    assert!([1, 3].contains(&data.first().copied().unwrap_or(1)), "{wire:?}: {data:?}");
                    assert_eq!((status.tag, status.count), (6, length));
                    let got_first = data.first().copied().unwrap_or(1) == 1;
                    let mut data = vec![9u8; length];
                    // All others are there, in their order, also for a receive that takes them as they come.
                    let mut left = vec![2, 3, 4, 5];
                    if !got_first {
                        left = vec![1, 2, 4, 5];
                    }
                    for value in left {
                        let status = rank.recv(&mut data, 0, Tag::Any).unwrap();
                        assert_eq!(data, vec![value; length], "{wire:?}");
                        assert_eq!(status.tag, 5 + u32::from(value % 2));
                    }
                }
            });
        }
    }
}

#[test]
#[expect(
    clippy::forget_non_drop,
    reason = "leaks stay harmless should handles ever do something when dropped"
)]
fn a_prepared_operation_is_used_again_after_its_run_was_dropped_or_leaked() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            for count in COUNTS {
                let mut prepared = rank.prepare_all_reduce(vec![0u32; count], Op::Sum).unwrap();
                for round in 0..4u32 {
                    prepared.input_mut().fill((rank.rank() as u32 + 1) * (round + 1));
                    let running = prepared.start().unwrap();
                    match round {
                        0 => drop(running),
                        1 => std::mem::forget(running),
                        _ => {
                            running.wait().unwrap();
                        }
                    }
                    // Waits for the end: nobody sees a result half done.
                    assert!(prepared.output().iter().all(|x| *x == summed(3) * (round + 1)), "{wire:?}");
                }
                // Dropped as a whole while it runs.
                drop(prepared.start().unwrap());
                drop(prepared);
                goes_on(rank);
            }
        });
    }
}

#[test]
fn several_threads_wait_for_any_of_their_own() {
    const THREADS: u32 = 4;
    const EACH: u32 = 12;
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            if rank.rank() == 0 {
                // In an order that fits no thread; odd ones go by rendezvous.
                let order = (0..THREADS * EACH).map(|i| i * 7 % (THREADS * EACH));
                let send = |tag| rank.start_send(vec![tag; if tag % 2 == 0 { 3 } else { 700 }], 1, tag);
                wait_all(order.map(send).collect::<ringworld::Result<Vec<_>>>().unwrap()).unwrap();
                return;
            }
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    scope.spawn(move || {
                        let tags = thread * EACH..(thread + 1) * EACH;
                        let start = |tag| rank.start_recv(vec![0u32; 700], 0, tag).unwrap();
                        let mut pending: Vec<_> = tags.clone().map(start).collect();
                        let mut seen = Vec::new();
                        while let Some((_, result)) = wait_any(&mut pending) {
                            let (data, status) = result.unwrap();
                            assert!(data[..status.count].iter().all(|x| *x == status.tag), "{wire:?}");
                            seen.push(status.tag);
                        }
                        seen.sort_unstable();
                        assert!(seen.into_iter().eq(tags), "{wire:?}");
                    });
                }
            });
        });
    }
}

#[test]
fn threads_run_collectives_on_communicators_of_their_own() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let communicators: Vec<_> = (0..4).map(|_| rank.duplicate().unwrap()).collect();
            std::thread::scope(|scope| {
                for (thread, mine) in communicators.iter().enumerate() {
                    scope.spawn(move || {
                        for round in 0..25 {
                            let count = round * 37 * (thread + 1);
                            let mut data = vec![(mine.rank() + 1) as u32 * (thread as u32 + 1); count];
                            mine.all_reduce(&mut data, Op::Sum).unwrap();
                            assert_eq!(data, vec![summed(3) * (thread as u32 + 1); count], "{wire:?}");
                            let mut all = vec![0usize; 3];
                            mine.all_gather(&[mine.rank() * 10 + thread], &mut all).unwrap();
                            assert_eq!(all, [thread, 10 + thread, 20 + thread], "{wire:?}");
                        }
                    });
                }
            });
        });
    }
}

/// A thread that sleeps has been told of nothing that another thread of its rank leaves behind in a call that
/// returns at once.
#[test]
fn a_thread_that_sleeps_is_woken_for_what_another_thread_of_its_rank_begins() {
    const ROUNDS: u32 = 3;
    // Long enough that whoever waits is asleep.
    let doze = || std::thread::sleep(Duration::from_millis(20));
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let began = Instant::now();
            let mut got = [0u32];
            if rank.rank() == 1 {
                for round in 0..ROUNDS {
                    for tag in 2..5 {
                        rank.recv(&mut got, 0, tag).unwrap();
                        assert_eq!(got, [round], "{wire:?}");
                    }
                    rank.send(&got, 0, 1).unwrap();
                }
                return;
            }
            std::thread::scope(|scope| {
                let answers = scope.spawn(|| {
                    for round in 0..ROUNDS {
                        let mut got = [0u32];
                        rank.recv(&mut got, 1, 1).unwrap();
                        assert_eq!(got, [round], "{wire:?}");
                    }
                });
                let own = scope.spawn(|| {
                    for round in 0..ROUNDS {
                        let mut got = [0u32];
                        rank.recv(&mut got, 0, 0).unwrap();
                        assert_eq!(got, [round], "{wire:?}");
                    }
                });
                let mut begun = Vec::new();
                for round in 0..ROUNDS {
                    doze();
                    // Of several in a row, all but the first wait for the next poll.
                    for tag in 2..5 {
                        begun.push(rank.start_send(vec![round], 1, tag).unwrap());
                    }
                    doze();
                    begun.push(rank.start_send(vec![round], 0, 0).unwrap());
                }
                answers.join().unwrap();
                own.join().unwrap();
                wait_all(begun).unwrap();
            });
            // A sleeper wakes by itself now and then, first after a second: that is not what is meant.
            assert!(began.elapsed() < Duration::from_millis(900), "{wire:?}: {:?}", began.elapsed());
        });
    }
}

/// On one communicator the order of starting must be the same on all ranks; a lock sees to it that a thread
/// knows which one it has started. Waiting needs no order.
#[test]
fn several_threads_have_collectives_in_flight_on_one_communicator() {
    const ROUNDS: u32 = 60;
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let next = Mutex::new(0u32);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        loop {
                            let (round, pending) = {
                                let mut next = next.lock().unwrap();
                                if *next == ROUNDS {
                                    return;
                                }
                                let round = *next;
                                *next += 1;
                                let data =
                                    vec![(rank.rank() as u32 + 1) * round; 1 + 97 * (round as usize % 9)];
                                (round, rank.start_all_reduce(data, Op::Sum).unwrap())
                            };
                            let data = pending.wait().unwrap();
                            assert!(data.iter().all(|x| *x == summed(3) * round), "{wire:?} {round}");
                        }
                    });
                }
            });
        });
    }
}

/// Without a control plane a rank hears of the end from its neighbours; that every rank's error names the
/// rank that panicked is tested with processes.
#[test]
fn a_panic_in_a_scope_ends_the_world_and_leaves_the_memory_alone() {
    for wire in wires() {
        // A rank that is gone may take what it has sent with it: all must be through.
        let through = std::sync::Barrier::new(3);
        let errors = owned_world(wire, 3, &small(), |rank| {
            rank.barrier().unwrap();
            through.wait();
            let start = Instant::now();
            let error = if rank.rank() == 1 {
                let (mut came, mut reduced) = (vec![7u8; 100_000], vec![3u64; 50_000]);
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    rank.scope(|s| -> ringworld::Result<()> {
                        let _recv = s.recv(&mut came, 0, 5)?;
                        let _reduce = s.all_reduce(&mut reduced, Op::Sum)?;
                        panic!("on purpose")
                    })
                }));
                assert!(panicked.is_err(), "the panic goes on");
                // From here on the memory is this function's again, whatever arrives.
                came.fill(1);
                reduced.fill(2);
                std::thread::sleep(Duration::from_millis(100));
                assert!(came.iter().all(|x| *x == 1) && reduced.iter().all(|x| *x == 2), "{wire:?}");
                rank.barrier().unwrap_err()
            } else {
                let sending = (rank.rank() == 0).then(|| rank.start_send(vec![9u8; 100_000], 1, 5).unwrap());
                // What the rank that panics had to give may have come before the end.
                let reduced = rank.all_reduce(&mut vec![1u64; 50_000], Op::Sum);
                let error = reduced.and_then(|()| rank.barrier()).unwrap_err();
                let _ended = sending.map(Pending::wait);
                error
            };
            assert!(start.elapsed() < Duration::from_secs(10), "{wire:?}: {:?}", start.elapsed());
            error.to_string()
        });
        assert!(errors[1].contains("rank 1 gave up: a panic left a scope"), "{wire:?}: {}", errors[1]);
        assert!(errors[0].contains("rank 1") || errors[2].contains("rank 1"), "{wire:?}: {errors:?}");
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

#[test]
fn pending_operations_are_futures_that_tokio_joins() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            block_on(async {
                for count in COUNTS {
                    let (me, size) = (rank.rank(), rank.size());
                    let reduce = rank.start_all_reduce(vec![me as u32 + 1; count], Op::Sum).unwrap();
                    let send = rank.start_send(vec![me as u8; count], (me + 1) % size, 1).unwrap();
                    let recv = rank.start_recv(vec![9u8; count], (me + size - 1) % size, 1).unwrap();
                    let (recv, reduced, sent) = tokio::join!(recv, reduce, send);
                    assert_eq!(reduced.unwrap(), vec![summed(size); count], "{wire:?}");
                    assert_eq!(recv.unwrap().0, vec![((me + size - 1) % size) as u8; count], "{wire:?}");
                    assert_eq!(sent.unwrap(), vec![me as u8; count], "{wire:?}");
                }
            });
        });
    }
}

#[test]
fn futures_run_as_tasks_on_many_threads() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
            runtime.block_on(async {
                let start = |i: usize| rank.start_all_reduce(vec![rank.rank() as u32 + 1; i * 40], Op::Sum);
                let tasks: Vec<_> = (0..20).map(|i| tokio::spawn(start(i).unwrap())).collect();
                for (i, task) in tasks.into_iter().enumerate().rev() {
                    assert_eq!(task.await.unwrap().unwrap(), vec![summed(2); i * 40], "{wire:?}");
                }
            });
        });
    }
}

#[test]
fn a_receive_that_takes_too_long_can_be_given_up_and_the_message_taken_later() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            block_on(async {
                if rank.rank() == 1 {
                    rank.start_recv(vec![0u8; 0], 0, 1).unwrap().await.unwrap();
                    rank.start_send(vec![5u8; 300], 0, 2).unwrap().await.unwrap();
                    return;
                }
                let mut pending = rank.start_recv(vec![0u8; 300], 1, 2).unwrap();
                let came = tokio::time::timeout(Duration::from_millis(20), &mut pending).await;
                assert!(came.is_err(), "nothing was sent: {came:?}");
                assert!(pending.cancel());
                assert!(matches!(pending.await, Err(Error::Cancelled { .. })), "{wire:?}");
                rank.start_send(Vec::<u8>::new(), 1, 1).unwrap().await.unwrap();
                let mut data = [0u8; 300];
                rank.recv(&mut data, 1, 2).unwrap();
                assert_eq!(data, [5; 300], "{wire:?}");
            });
        });
    }
}

#[test]
fn select_takes_the_first_to_end_and_keeps_the_other() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            block_on(async {
                if rank.rank() == 1 {
                    rank.start_send(vec![1u8], 0, 11).unwrap().await.unwrap();
                    rank.recv(&mut [0u8; 0], 0, 1).unwrap();
                    rank.start_send(vec![2u8], 0, 10).unwrap().await.unwrap();
                    return;
                }
                let mut one = rank.start_recv(vec![0u8; 1], 1, 10).unwrap();
                let mut other = rank.start_recv(vec![0u8; 1], 1, 11).unwrap();
                tokio::select! {
                    early = &mut one => panic!("{wire:?}: nothing was sent: {early:?}"),
                    first = &mut other => assert_eq!(first.unwrap().0, [1], "{wire:?}"),
                }
                rank.start_send(Vec::<u8>::new(), 1, 1).unwrap().await.unwrap();
                assert_eq!(one.await.unwrap().0, [2], "{wire:?}");
            });
        });
    }
}

thread_local! {
    /// How often this thread has polled any of the transports that count.
    static OWN_POLLS: Cell<usize> = const { Cell::new(0) };
}

/// A simulated transport that counts how often it is polled, and would rather have messages coalesced.
struct Polled {
    sim: sim::Sim,
    capabilities: Capabilities,
    polls: Arc<AtomicUsize>,
}

impl Polled {
    fn around(sim: sim::Sim, polls: &Arc<AtomicUsize>) -> Box<dyn Transport> {
        let mut capabilities = sim.capabilities().clone();
        capabilities.coalesces = true;
        Box::new(Self { sim, capabilities, polls: Arc::clone(polls) })
    }
}

impl Transport for Polled {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        self.sim.address()
    }

    fn connect(&mut self, peer: usize, address: &Address) -> Result<(), ConnectError> {
        self.sim.connect(peer, address)
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        self.sim.post(operation)
    }

    fn expose(&mut self, peer: usize, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        self.sim.expose(peer, memory, token)
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        self.polls.fetch_add(1, Ordering::SeqCst);
        OWN_POLLS.set(OWN_POLLS.get() + 1);
        self.sim.poll(placer, events)
    }

    fn disconnect(&mut self, peer: usize, cause: Cause) {
        self.sim.disconnect(peer, cause);
    }

    fn close(&mut self) {
        self.sim.close();
    }

    fn abort(&mut self) {
        self.sim.abort();
    }
}

#[test]
fn a_test_of_many_requests_polls_once() {
    const REQUESTS: usize = 1000;
    let config = sim::Config { seed: 5, auto_advance: true, ..sim::Config::default() };
    let polls = [0, 1].map(|_| Arc::<AtomicUsize>::default());
    let transports = sim::Fabric::new(2, config).connected_transports().into_iter().zip(&polls);
    let transports = transports.map(|(sim, polls)| Polled::around(sim, polls));
    world_over(
        "polled sim",
        transports.collect(),
        |_| small(),
        |rank| {
            if rank.rank() == 0 {
                let receive = |tag| rank.start_recv(vec![0u8], 1, tag).unwrap();
                let mut pending: Vec<_> = (0..REQUESTS as u32).map(receive).collect();
                let before = polls[0].load(Ordering::SeqCst);
                for _ in 0..10 {
                    assert!(test_any(&mut pending).is_none());
                }
                let polled = polls[0].load(Ordering::SeqCst) - before;
                // The helper thread may poll as well, now and then.
                assert!(
                    (10..REQUESTS).contains(&polled),
                    "{polled} polls for 10 looks at {REQUESTS} requests"
                );
                rank.barrier().unwrap();
                let mut taken = 0;
                while !pending.is_empty() {
                    taken += test_any(&mut pending).map_or(0, |(_, result)| usize::from(result.is_ok()));
                }
                assert_eq!(taken, REQUESTS);
            } else {
                rank.barrier().unwrap();
                (0..REQUESTS as u32).for_each(|tag| rank.send(&[1u8], 0, tag).unwrap());
            }
        },
    );
}

/// What is begun leaves together at the next poll; so nothing that is only begun may poll.
#[test]
fn messages_that_leave_at_once_leave_others_together() {
    const MESSAGES: u32 = 64;
    let config = sim::Config { seed: 6, auto_advance: true, ..sim::Config::default() };
    let sims = sim::Fabric::new(2, config).connected_transports().into_iter();
    let transports = sims.map(|sim| Polled::around(sim, &Arc::default())).collect();
    world_over(
        "polled sim",
        transports,
        |_| testing::Choice::default(),
        |rank| {
            if rank.rank() == 0 {
                // Connected, whatever that takes.
                rank.barrier().unwrap();
                let before = OWN_POLLS.get();
                let begin = |tag| [rank.start_send(vec![1u8], 1, tag), rank.start_send(vec![2u8], 0, tag)];
                let sends: Vec<_> = (0..MESSAGES).flat_map(begin).map(Result::unwrap).collect();
                let memory = [3u8];
                rank.scope(|scope| {
                    (0..MESSAGES).try_for_each(|tag| scope.send(&memory, tag as usize % 2, tag).map(drop))?;
                    assert_eq!(OWN_POLLS.get() - before, 0, "polls of what has only been begun");
                    Ok(())
                })
                .unwrap();
                for tag in 0..MESSAGES {
                    let mut came = [0u8];
                    rank.recv(&mut came, 0, tag).unwrap();
                    assert_eq!(came, [2]);
                    if tag % 2 == 0 {
                        rank.recv(&mut came, 0, tag).unwrap();
                        assert_eq!(came, [3]);
                    }
                }
                wait_all(sends).unwrap();
            } else {
                rank.barrier().unwrap();
                for tag in 0..MESSAGES {
                    let mut came = [0u8];
                    rank.recv(&mut came, 0, tag).unwrap();
                    assert_eq!(came, [1]);
                    if tag % 2 == 1 {
                        rank.recv(&mut came, 0, tag).unwrap();
                        assert_eq!(came, [3]);
                    }
                }
            }
        },
    );
}

#[test]
fn requests_of_two_worlds_are_tested_but_not_waited_for_together() {
    let [here, there] = [testing::alone(), testing::alone()];
    let mut pending: Vec<_> = [&here, &there, &here, &there]
        .into_iter()
        .map(|world| world.start_recv(vec![0u8], 0, 1).unwrap())
        .collect();
    assert!(test_any(&mut pending).is_none());
    there.send(&[7u8], 0, 1).unwrap();
    let (index, result) = test_any(&mut pending).unwrap();
    assert_eq!((index, result.unwrap().0), (1, vec![7]));
    let (index, result) = wait_any(&mut pending).unwrap();
    let error = result.unwrap_err();
    assert!(matches!(error, Error::OtherWorld { index: 2, .. }) && index == 2, "{error}");
    here.send(&[8u8], 0, 1).unwrap();
    let (index, result) = wait_any(&mut pending).unwrap();
    assert_eq!((index, result.unwrap().0, pending.len()), (0, vec![8], 1));
    assert!(pending.remove(0).cancel());
}
