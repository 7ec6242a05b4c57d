//! Memory is registered by the transports that gain by it, as long as somebody has it, and not a moment longer:
//! whatever is registered is deregistered once, before the memory is freed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use crate::common::{small, wires, world, world_over};
use ringworld::testing::{self, Choice, Rank};
use ringworld::{Error, Op, Options, Prepared, Registered, UserOp};
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Operation, Placer, Posted, RecvMemory, Refused,
    Region, RegionId, RemoteKey, Token, Transport,
};
use ringworld_transport_sim as sim;

/// What the transport of one rank has registered, by name: where it begins, and how long it is.
#[derive(Default)]
struct Ledger {
    open: BTreeMap<RegionId, (usize, usize)>,
    /// Every region so far.
    registered: u64,
    /// Those that were deregistered; the others were dropped by `abort`.
    deregistered: u64,
    over: bool,
    /// Longer regions are refused.
    most: Option<usize>,
}

/// A simulated transport to which exposing memory is costly.
struct Pinning {
    sim: sim::Sim,
    capabilities: Capabilities,
    ledger: Arc<Mutex<Ledger>>,
}

impl Transport for Pinning {
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

    fn register(&mut self, region: Region) -> Result<Option<RegionId>, Cause> {
        let mut ledger = self.ledger.lock().unwrap();
        if ledger.over || region.is_empty() {
            return Ok(None);
        }
        if ledger.most.is_some_and(|most| region.len() > most) {
            return Err(Cause::Memory("the card has had enough".into()));
        }
        ledger.registered += 1;
        let name = RegionId(ledger.registered);
        ledger.open.insert(name, (region.as_mut_ptr() as usize, region.len()));
        Ok(Some(name))
    }

    fn deregister(&mut self, region: RegionId) {
        let mut ledger = self.ledger.lock().unwrap();
        let known = ledger.open.remove(&region).is_some();
        assert!(known || ledger.over, "{region:?} was deregistered twice");
        ledger.deregistered += u64::from(known);
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        self.sim.poll(placer, events)
    }

    fn disconnect(&mut self, peer: usize, cause: Cause) {
        self.sim.disconnect(peer, cause);
    }

    fn close(&mut self) {
        self.sim.close();
    }

    fn abort(&mut self) {
        let mut ledger = self.ledger.lock().unwrap();
        ledger.open.clear();
        ledger.over = true;
        self.sim.abort();
    }
}

/// One rank, and what its transport has registered.
struct Seat {
    rank: Rank,
    ledger: Arc<Mutex<Ledger>>,
}

impl Seat {
    fn open(&self) -> usize {
        self.ledger.lock().unwrap().open.len()
    }

    fn registered(&self) -> u64 {
        self.ledger.lock().unwrap().registered
    }

    #[track_caller]
    fn assert_balanced(&self) {
        let ledger = self.ledger.lock().unwrap();
        assert!(ledger.open.is_empty(), "left registered: {:?}", ledger.open);
        assert_eq!(ledger.registered, ledger.deregistered);
    }
}

impl std::ops::Deref for Seat {
    type Target = Rank;

    fn deref(&self) -> &Rank {
        &self.rank
    }
}

/// Runs `body` on both ranks of a world.
fn pair<R: Send>(choice: &Choice, body: impl Fn(Seat) -> R + Sync) -> Vec<R> {
    let config = sim::Config { seed: 5, auto_advance: true, ..sim::Config::default() };
    let sims = sim::Fabric::new(2, config).connected_transports();
    let ledgers = [0, 1].map(|_| Arc::<Mutex<Ledger>>::default());
    let pinning = |sim: sim::Sim| {
        let mut capabilities = sim.capabilities().clone();
        capabilities.costly_exposure = true;
        let ledger = Arc::clone(&ledgers[sim.rank()]);
        Box::new(Pinning { sim, capabilities, ledger }) as Box<dyn Transport>
    };
    let transports = sims.into_iter().map(pinning).collect();
    world_over(
        "the simulator",
        transports,
        |_| choice.clone(),
        |rank| {
            let ledger = Arc::clone(&ledgers[rank.rank()]);
            body(Seat { rank, ledger })
        },
    )
}

/// Longer than the eager limit of [`small`], in elements.
const LONG: usize = 10_000;

#[test]
fn a_guard_registers_its_vector_once_and_gives_it_back() {
    pair(&small(), |seat| {
        let mut data = vec![seat.rank() as u32 + 1; LONG];
        let (start, length) = (data.as_mut_ptr() as usize, size_of_val(data.as_slice()));
        let mut guard = seat.register(data).unwrap();
        assert!(guard.is_pinned());
        assert_eq!(format!("{guard:?}"), "Registered(10000 elements, pinned)");
        assert!(seat.ledger.lock().unwrap().open.values().eq([&(start, length)]));
        for _ in 0..3 {
            guard.fill(seat.rank() as u32 + 1);
            seat.all_reduce(&mut guard, Op::Sum).unwrap();
            assert!(guard.iter().all(|x| *x == 3));
            let (left, right) = guard.split_at_mut(LONG / 2);
            seat.scope(|s| {
                let _sending = s.send(left, 1 - seat.rank(), 1)?;
                s.recv(right, 1 - seat.rank(), 1)?.wait()?;
                Ok(())
            })
            .unwrap();
        }
        // Moving the guard moves no memory.
        let moved = Box::new(guard);
        assert_eq!(moved.as_ptr() as usize, start);
        assert_eq!((seat.registered(), seat.open()), (1, 1));
        let data = moved.into_inner();
        seat.assert_balanced();
        assert_eq!((data.as_ptr() as usize, data.len()), (start, LONG));
        // Short ones too, since somebody asks for it; and an empty one is nothing.
        let short = seat.register(vec![0u8]).unwrap();
        let empty = seat.register(Vec::<u64>::new()).unwrap();
        assert!(short.is_pinned() && !empty.is_pinned() && empty.is_empty());
        drop((short, empty));
        seat.assert_balanced();
        assert_eq!(seat.registered(), 2);
    });
}

#[test]
fn a_leaked_guard_stays_registered() {
    pair(&small(), |seat| {
        std::mem::forget(seat.register(vec![0u8; LONG]).unwrap());
        assert_eq!(seat.open(), 1);
    });
}

/// Over a verbs device this is the real thing; where nothing is gained, nothing is registered.
#[test]
fn registered_memory_serves_every_kind_of_call_over_every_wire() {
    let costly = std::env::var("RINGWORLD_TEST_TRANSPORT").is_ok_and(|wire| wire == "ibverbs");
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let (me, size) = (rank.rank(), rank.size());
            let mine = |round: usize| vec![(me + round) as u64 + 1; 3 * LONG];
            let sum = |round: usize| (0..size).map(|rank| (rank + round) as u64 + 1).sum::<u64>();
            let mut guard = rank.register(mine(0)).unwrap();
            assert_eq!(guard.is_pinned(), costly, "{wire:?}");
            let mut step = rank.prepare_all_reduce(mine(0), Op::Sum).unwrap();
            for round in 0..4 {
                guard.copy_from_slice(&mine(round));
                rank.all_reduce(&mut guard, Op::Sum).unwrap();
                assert!(guard.iter().all(|x| *x == sum(round)), "{wire:?}");
                step.input_mut().copy_from_slice(&mine(round));
                assert_eq!(step.run().unwrap()[..], guard[..], "{wire:?}");
                // From one part of it into others, across one another.
                let (left, right) = guard.split_at_mut(LONG + 1);
                left.fill(me as u64);
                let (before, after) = ((me + size - 1) % size, (me + 1) % size);
                rank.send_recv(left, after, 4, &mut right[..LONG + 1], before, 4).unwrap();
                assert_eq!(right[..LONG + 1], vec![before as u64; LONG + 1], "{wire:?}");
            }
            let half = guard.split_at_mut(LONG).0;
            let dropped = rank.scope(|s| s.all_reduce(half, Op::Max)?.wait().map(|data| data[0]));
            assert_eq!(dropped.unwrap(), size as u64 - 1);
            drop(step);
            assert_eq!(guard.into_inner().len(), 3 * LONG);
        });
    }
}

#[test]
fn operations_that_are_started_once_do_not_register() {
    pair(&small(), |seat| {
        seat.start_all_reduce(vec![1u64; LONG], Op::Sum).unwrap().wait().unwrap();
        let peer = 1 - seat.rank();
        let sending = seat.start_send(vec![1u8; LONG], peer, 1).unwrap();
        seat.start_recv(vec![0u8; LONG], peer, 1).unwrap().wait().unwrap();
        sending.wait().unwrap();
        assert_eq!(seat.registered(), 0);
    });
}

#[test]
fn prepared_operations_register_long_buffers_for_as_long_as_they_have_them() {
    pair(&small(), |seat| {
        let peer = 1 - seat.rank();
        for (count, each) in [(LONG, 1), (testing::SMALL.0 + 1, 1), (testing::SMALL.0, 0), (0, 0)] {
            let before = seat.registered();
            let mut send = seat.prepare_send(vec![7u8; count], peer, 1).unwrap();
            let mut recv = seat.prepare_recv(vec![0u8; count], peer, 1).unwrap();
            let mut both = seat.prepare_all_gather(vec![1u8; count], vec![0; 2 * count]).unwrap();
            for _ in 0..5 {
                let receiving = recv.start().unwrap();
                send.run().unwrap();
                assert_eq!(receiving.wait().unwrap(), vec![7; count]);
                assert_eq!(both.run().unwrap(), vec![1; 2 * count]);
            }
            assert_eq!((seat.open(), seat.registered() - before), (4 * each, 4 * each as u64), "{count}");
            drop(send);
            assert_eq!(seat.open(), 3 * each);
            assert_eq!(recv.into_buffers(), (Vec::new(), vec![7; count]));
            assert_eq!(seat.open(), 2 * each);
            assert_eq!(both.into_buffers(), (vec![1; count], vec![1; 2 * count]));
            seat.assert_balanced();
        }
    });
}

/// What travels in segments that need no asking is never exposed, however long it is as a whole.
#[test]
fn prepared_collectives_register_what_they_send_in_long_messages() {
    pair(&Choice::default(), |seat| {
        const COUNT: usize = 1 << 20;
        let segments = seat.prepare_all_reduce(vec![1f32; COUNT], Op::Sum).unwrap();
        assert_eq!(seat.registered(), 0);
        let whole = seat.prepare_gather(vec![1u8; COUNT], vec![0; 2 * COUNT * (1 - seat.rank())], 0).unwrap();
        assert_eq!(seat.registered(), 1, "the root's output, and the input of others");
        let longer = seat.with(&Options::new().segment(COUNT));
        let longer = longer.prepare_all_reduce(vec![1f32; COUNT], Op::Sum).unwrap();
        assert_eq!(seat.registered(), 2);
        drop((segments, whole, longer));
        seat.assert_balanced();
    });
}

#[test]
fn a_prepared_operation_dropped_while_it_runs_is_deregistered_and_goes_on() {
    let late = Barrier::new(2);
    pair(&small(), |seat| {
        let me = seat.rank();
        let mut step = seat.prepare_all_reduce(vec![me as u64 + 1; LONG], Op::Sum).unwrap();
        if me == 0 {
            drop(step.start().unwrap());
            drop(step);
            seat.assert_balanced();
            late.wait();
        } else {
            late.wait();
            assert_eq!(step.run().unwrap(), vec![3; LONG]);
            drop(step);
            seat.assert_balanced();
        }
        seat.barrier().unwrap();
    });
}

#[test]
fn guards_outlive_a_world_that_fails() {
    let met = Barrier::new(2);
    pair(&small(), |seat| {
        let mut guard = seat.register(vec![seat.rank() as u8; LONG]).unwrap();
        let step = seat.prepare_all_reduce(vec![1u8; LONG], Op::Max).unwrap();
        seat.barrier().unwrap();
        met.wait();
        let Seat { rank, ledger } = seat;
        if rank.rank() == 1 {
            rank.vanish();
            // The memory is its owner's again, and nothing else.
            assert!(ledger.lock().unwrap().open.is_empty());
            assert_eq!(guard.into_inner(), vec![1; LONG]);
            drop(step);
        } else {
            let error = rank.recv(&mut guard, 1, 1).unwrap_err();
            assert!(matches!(error, Error::PeerFailed { rank: 1, .. }), "{error}");
            assert!(ledger.lock().unwrap().open.is_empty());
            let late = rank.register(vec![0u8; LONG]).unwrap();
            assert!(!late.is_pinned());
            assert_eq!(guard[..], [0; LONG]);
            drop((late, step, guard));
        }
        let ledger = ledger.lock().unwrap();
        assert_eq!((ledger.open.len(), ledger.registered), (0, 2));
    });
}

#[test]
fn guards_outlive_a_world_that_ends() {
    pair(&small(), |seat| {
        let mut guard = seat.register(vec![1u8; LONG]).unwrap();
        let step = seat.prepare_all_reduce(vec![1u8; LONG], Op::Max).unwrap();
        let communicator = seat.rank.clone();
        let Seat { rank, ledger } = seat;
        drop(rank);
        assert!(ledger.lock().unwrap().open.is_empty());
        guard[3] = 9;
        assert_eq!(guard.iter().map(|x| u32::from(*x)).sum::<u32>(), LONG as u32 + 8);
        assert!(!communicator.register(vec![1u8; LONG]).unwrap().is_pinned());
        drop((guard, step, communicator));
        assert_eq!(ledger.lock().unwrap().open.len(), 0);
    });
}

/// The engine drops an operation that nobody else has any more under its own lock.
#[test]
fn a_guard_that_an_operation_has_captured_is_let_go_with_it() {
    pair(&small(), |seat| {
        let guard: Registered<u32> = seat.register(vec![1; LONG]).unwrap();
        let prepared: Prepared<u32> = seat.prepare_all_reduce(vec![1; LONG], Op::Max).unwrap();
        assert_eq!(seat.open(), 2);
        let captured = (guard, Mutex::new(prepared));
        let op = UserOp::new("plus", move |a: u32, b: u32| {
            let (guard, _prepared) = &captured;
            a + b * guard[0]
        });
        drop(seat.start_all_reduce(vec![1u32; 100], op).unwrap());
        // Every rank makes the same calls, however soon its own has let go.
        for _ in 0..20 {
            seat.barrier().unwrap();
        }
        seat.assert_balanced();
    });
}

/// Nor does an operation that is under way keep whoever drops it waiting for a lock that is its own.
#[test]
fn operations_under_way_that_an_operation_has_captured_are_let_go_with_it() {
    pair(&small(), |seat| {
        let peer = 1 - seat.rank();
        let mut prepared = seat.prepare_recv(vec![0u32; LONG], peer, 9).unwrap();
        drop(prepared.start().unwrap());
        let captured = Mutex::new((prepared, seat.start_recv(vec![0u8; 1], peer, 9).unwrap()));
        let op = UserOp::new("plus", move |a: u32, b: u32| {
            let _captured = &captured;
            a + b
        });
        drop(seat.start_all_reduce(vec![1u32; 100], op).unwrap());
        for _ in 0..20 {
            seat.barrier().unwrap();
        }
        seat.assert_balanced();
        // Nobody waits for these receives any more, and they take nothing.
        let send = seat.start_send(vec![7u32; 3], peer, 9).unwrap();
        assert_eq!(seat.recv(&mut [0u32; 3], peer, 9).unwrap().count, 3);
        send.wait().unwrap();
        seat.barrier().unwrap();
    });
}

/// Other threads have the lock again and again while guards are dropped here.
#[test]
fn guards_are_let_go_while_other_threads_drive_the_engine() {
    let mut choice = small();
    choice.spin = std::time::Duration::from_secs(1);
    pair(&choice, |seat| {
        let done = AtomicBool::new(false);
        let (peer, seat) = (1 - seat.rank(), &seat);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let waiting = seat.start_recv(vec![0u8; 1], peer, 9).unwrap();
                while !done.load(Ordering::SeqCst) {
                    let _busy = waiting.is_done();
                }
                seat.send(&[1u8], peer, 9).unwrap();
                waiting.wait().unwrap();
            });
            for round in 0..300 {
                let guard = seat.register(vec![round as u8; LONG]).unwrap();
                assert!(guard.is_pinned());
                drop(guard);
            }
            done.store(true, Ordering::SeqCst);
        });
        seat.barrier().unwrap();
        seat.assert_balanced();
        assert_eq!(seat.registered(), 300);
    });
}

#[test]
fn memory_that_a_card_refuses_is_an_error_and_leaves_nothing_registered() {
    pair(&small(), |seat| {
        seat.ledger.lock().unwrap().most = Some(LONG);
        let error = seat.register(vec![0u8; LONG + 1]).unwrap_err();
        assert!(matches!(error, Error::System { .. }), "{error}");
        assert!(error.to_string().contains("register") && error.to_string().contains("enough"), "{error}");
        // The first of the two buffers is accepted.
        let error = seat.prepare_all_gather(vec![0u8; LONG], vec![0; 2 * LONG]).unwrap_err();
        assert!(error.to_string().contains("all_gather") && error.to_string().contains("enough"), "{error}");
        assert_eq!(seat.registered(), 1);
        seat.assert_balanced();
        seat.barrier().unwrap();
    });
}
