//! What `ringworld-simulate` foretells is what the real runtime takes on the simulated fabric.
//!
//! The runtime runs in threads, one per rank, over `ringworld-transport-sim`; the clock moves only when every rank
//! has polled and found nothing, so that computing takes no virtual time. What several ranks send at the same moment
//! enters the fabric in the order of the ranks, whatever order their threads run in. Then the schedules, the executor,
//! the protocol's eager and rendezvous messages and the fabric's ports must give the very time that the simulator says.

use std::sync::{Arc, Barrier, Mutex};

use ringworld::Op;
use ringworld::testing::{self, Rank};
use ringworld_collectives::{Algorithm, Collective, Counts, Order, Request, Tuning, select};
use ringworld_simulate::{Budget, Fabric, Time, Verdict, simulate};
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Operation, Placer, Posted, RecvMemory, Refused,
    RemoteKey, Token, Transport,
};
use ringworld_transport_sim as sim;

const LATENCY_NS: u64 = 5_000;
/// One nanosecond per byte.
const BYTES_PER_US: u64 = 1_000;

/// The clock of a world: moves when everybody has nothing to do.
struct Clock {
    fabric: sim::Fabric,
    ranks: Mutex<Vec<State>>,
}

/// What a rank is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Busy,
    /// Its last polls found nothing, and it has posted nothing since.
    Idle,
    /// Its call has returned: it holds nobody up any more.
    Done,
}

impl Clock {
    fn note(&self, rank: usize, state: State) {
        let mut ranks = self.ranks.lock().unwrap();
        if ranks[rank] != State::Done {
            ranks[rank] = state;
        }
        if !ranks.contains(&State::Busy) && self.fabric.advance() {
            ranks.iter_mut().filter(|rank| **rank == State::Idle).for_each(|rank| *rank = State::Busy);
        }
    }

    /// Waits until those before it have nothing more to do at this moment. They do not wait for it: what it sends comes
    /// later.
    fn await_turn(&self, rank: usize) {
        while self.ranks.lock().unwrap()[..rank].contains(&State::Busy) {
            std::thread::yield_now();
        }
    }
}

/// A transport of the simulated fabric in step with all others.
struct InStep {
    rank: usize,
    clock: Arc<Clock>,
    sim: sim::Sim,
    /// Polls in a row that found nothing. The engine also polls once before a call posts anything, so one proves
    /// nothing.
    empty: u32,
}

/// After so many empty polls a rank has nothing to do.
const EMPTY: u32 = 4;

impl Transport for InStep {
    fn capabilities(&self) -> &Capabilities {
        self.sim.capabilities()
    }

    fn address(&self) -> Address {
        self.sim.address()
    }

    fn connect(&mut self, peer: usize, address: &Address) -> Result<(), ConnectError> {
        self.sim.connect(peer, address)
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        self.empty = 0;
        self.clock.note(self.rank, State::Busy);
        self.clock.await_turn(self.rank);
        self.sim.post(operation)
    }

    fn expose(&mut self, peer: usize, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        self.sim.expose(peer, memory, token)
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let found = self.sim.poll(placer, events);
        self.empty = if found { 0 } else { self.empty + 1 };
        self.clock.note(self.rank, if self.empty < EMPTY { State::Busy } else { State::Idle });
        found
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

/// One case.
#[derive(Clone, Debug)]
struct Case {
    collective: Collective,
    algorithm: Algorithm,
    size: usize,
    count: usize,
    eager: usize,
}

impl Case {
    fn tuning(&self) -> Tuning {
        let mut tuning = Tuning { segment: 1024, shortest_segment: 256, in_flight: 3, ..Tuning::default() };
        tuning.algorithms.insert(self.algorithm);
        tuning
    }

    fn request(&self) -> Request {
        request(self.collective, self.size, self.count)
    }

    /// When the last rank returns from the real call.
    fn measured(&self) -> Time {
        let config = sim::Config {
            latency_ns: LATENCY_NS,
            bytes_per_us: BYTES_PER_US,
            connect_ns: 0,
            max_in_flight: usize::MAX,
            fragment: 0,
            inline: 0,
            in_order: true,
            ..sim::Config::default()
        };
        let mut fabric = sim::Fabric::new(self.size, config);
        let sims = fabric.connected_transports();
        let clock = Arc::new(Clock { fabric, ranks: Mutex::new(vec![State::Busy; self.size]) });
        let all_done = Barrier::new(self.size);
        let choice = testing::Choice {
            eager: self.eager,
            window: 1 << 30,
            tuning: self.tuning(),
            ..testing::Choice::default()
        };
        std::thread::scope(|scope| {
            let (clock, all_done) = (&clock, &all_done);
            let ranks: Vec<_> = sims
                .into_iter()
                .enumerate()
                .map(|(rank, sim)| {
                    let transport = Box::new(InStep { rank, clock: Arc::clone(clock), sim, empty: 0 });
                    let choice = choice.clone();
                    scope.spawn(move || {
                        let world = testing::rank(rank, self.size, Some(transport), choice);
                        self.call(&world);
                        let ended = clock.fabric.now();
                        clock.note(rank, State::Done);
                        all_done.wait();
                        ended
                    })
                })
                .collect();
            let ends = ranks.into_iter().map(|rank| rank.join().unwrap());
            Time::from_nanos(ends.max().unwrap())
        })
    }

    fn call(&self, world: &Rank) {
        let Self { collective, size, count, .. } = *self;
        let mut one = vec![1f32; count];
        let mut all = vec![1f32; count * size];
        match collective {
            Collective::Barrier => world.barrier(),
            Collective::Broadcast { root } => world.broadcast(&mut one, root),
            Collective::Reduce { root } => world.reduce(&mut one, Op::Sum, root),
            Collective::AllReduce => world.all_reduce(&mut one, Op::Sum),
            Collective::AllGather => world.all_gather(&one, &mut all),
            Collective::ReduceScatter => world.reduce_scatter(&all, &mut one, Op::Sum),
            Collective::Gather { root } => world.gather(&one, &mut all, root),
            Collective::Scatter { root } => world.scatter(&all, &mut one, root),
            Collective::AllToAll => world.all_to_all(&all.clone(), &mut all),
            Collective::Scan => world.scan(&mut one, Op::Sum),
            Collective::ExclusiveScan => world.exclusive_scan(&mut one, Op::Sum),
        }
        .unwrap();
    }

    fn foretold(&self) -> Time {
        let fabric = Fabric {
            latency: Time::from_nanos(LATENCY_NS),
            overhead: Time::ZERO,
            bandwidth: Some(BYTES_PER_US * 1_000_000),
            reduce: None,
            copy: None,
            eager: self.eager as u64,
            inside: None,
        };
        let request = self.request();
        let choice = select(&request, &self.tuning());
        assert_eq!(choice.algorithm, self.algorithm);
        match simulate(&request, &choice, &fabric, &Budget::UNLIMITED).unwrap() {
            Verdict::Done(outcome) => outcome.time,
            Verdict::TooMuch(work) => panic!("{work:?}"),
        }
    }
}

fn request(collective: Collective, size: usize, count: usize) -> Request {
    let in_place = !matches!(
        collective,
        Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Gather { .. }
            | Collective::Scatter { .. }
            | Collective::AllToAll
    );
    Request {
        collective,
        rank: 0,
        size,
        counts: Counts::Same(count),
        element: 4,
        order: Order::Free,
        in_place,
    }
}

/// Foretold over measured, for every algorithm, a few sizes, and one eager limit.
fn ratios(eager: usize) -> Vec<(f64, String)> {
    let mut ratios = Vec::new();
    for (size, count) in [(2, 700), (3, 1500), (5, 999), (8, 2048)] {
        for collective in Collective::family(size / 2) {
            let count = if collective == Collective::Barrier { 0 } else { count };
            for algorithm in request(collective, size, count).algorithms() {
                let case = Case { collective, algorithm, size, count, eager };
                let (measured, foretold) = (case.measured(), case.foretold());
                let ratio = foretold.seconds() / measured.seconds();
                let name = algorithm.path();
                ratios
                    .push((ratio, format!("{name} on {size}: {measured}, foretold {foretold} ({ratio:.4})")));
            }
        }
    }
    ratios
}

/// Every ratio within `bounds`, and nine of ten within `usual` of one.
fn agree(ratios: &[(f64, String)], bounds: std::ops::Range<f64>, usual: f64) {
    let list = |wrong: &dyn Fn(f64) -> bool| {
        ratios.iter().filter(|(ratio, _)| wrong(*ratio)).map(|(_, case)| case.as_str()).collect::<Vec<_>>()
    };
    let outside = list(&|ratio| !bounds.contains(&ratio));
    assert!(outside.is_empty(), "outside {bounds:?}:\n{}", outside.join("\n"));
    let unusual = list(&|ratio| (ratio - 1.0).abs() > usual);
    let cases = ratios.len();
    assert!(
        unusual.len() * 10 <= cases,
        "{} of {cases} more than {usual} off:\n{}",
        unusual.len(),
        unusual.join("\n")
    );
}

/// Without questions, what is left are messages that become ready at the same moment, which ranks take in their own
/// order and the simulator in that of the steps.
#[test]
fn eager_messages_take_the_foretold_time() {
    agree(&ratios(1 << 20), 0.7..1.15, 0.005);
}

/// Answers to questions often come at the same moment, so the order matters more, and the simulator's, which is
/// the same on all ranks, is mostly the better one.
#[test]
fn messages_that_ask_first_take_the_foretold_time() {
    agree(&ratios(512), 0.6..1.1, 0.1);
}
