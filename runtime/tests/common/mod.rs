//! Worlds for tests: ranks as threads of this process, over the simulator or over a real wire.
//!
//! Every rule is tested over the simulator, shared memory and TCP. `RINGWORLD_TEST_TRANSPORT` chooses one wire instead
//! (`sim`, `shm`, `tcp`, `ibverbs`), with which the same tests run on a verbs device (`tests/soft-roce`).

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use ringworld::testing::{self, Choice, Rank};
use ringworld_transport::Transport;

/// How long any world of a test may live.
const BOUND: Duration = Duration::from_secs(120);

/// `time` on a machine like those that promises are made for; longer where `RINGWORLD_TEST_SLOWNESS` says how many
/// times slower the machine is, such as one whose processors are emulated.
pub(crate) fn patient(time: Duration) -> Duration {
    let slowness = std::env::var("RINGWORLD_TEST_SLOWNESS").ok();
    time * slowness.map_or(1, |text| text.parse().expect("RINGWORLD_TEST_SLOWNESS is a whole number"))
}

/// What the ranks talk over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wire {
    /// The simulator, with this seed.
    Sim(u64),
    /// Memory.
    #[cfg(feature = "shm")]
    Shm,
    /// Sockets on the loopback interface.
    #[cfg(feature = "tcp")]
    Tcp,
    /// The verbs device of this machine.
    #[cfg(feature = "ibverbs")]
    Ibverbs,
}

/// What `RINGWORLD_TEST_TRANSPORT` chooses; a wire that is not there is no reason to test another.
fn chosen() -> Option<Wire> {
    let name = std::env::var("RINGWORLD_TEST_TRANSPORT").ok()?;
    match name.as_str() {
        "sim" => Some(Wire::Sim(1)),
        #[cfg(feature = "shm")]
        "shm" => Some(Wire::Shm),
        #[cfg(feature = "tcp")]
        "tcp" => Some(Wire::Tcp),
        #[cfg(feature = "ibverbs")]
        "ibverbs" => Some(Wire::Ibverbs),
        name => panic!("RINGWORLD_TEST_TRANSPORT={name}: these tests were built without this wire"),
    }
}

/// Every wire that rules are tested over.
pub(crate) fn wires() -> Vec<Wire> {
    match chosen() {
        Some(wire) => vec![wire],
        None => vec![
            Wire::Sim(1),
            Wire::Sim(2),
            Wire::Sim(3),
            #[cfg(feature = "shm")]
            Wire::Shm,
            #[cfg(feature = "tcp")]
            Wire::Tcp,
        ],
    }
}

/// The wire of tests that need a real one: TCP unless another was chosen.
#[cfg(any(feature = "tcp", feature = "ibverbs"))]
pub(crate) fn real_wire() -> Wire {
    match chosen() {
        Some(Wire::Sim(_)) | None => {
            #[cfg(feature = "tcp")]
            return Wire::Tcp;
            #[cfg(not(feature = "tcp"))]
            Wire::Ibverbs
        }
        Some(wire) => wire,
    }
}

fn transports(wire: Wire, size: usize) -> Vec<Box<dyn Transport>> {
    match wire {
        Wire::Sim(seed) => {
            let config = ringworld_transport_sim::Config { seed, auto_advance: true, ..Default::default() };
            let mut fabric = ringworld_transport_sim::Fabric::new(size, config);
            fabric.connected_transports().into_iter().map(|sim| Box::new(sim) as Box<dyn Transport>).collect()
        }
        #[cfg(feature = "shm")]
        Wire::Shm => shm(size),
        #[cfg(feature = "tcp")]
        Wire::Tcp => tcp(size),
        #[cfg(feature = "ibverbs")]
        Wire::Ibverbs => ibverbs(size),
    }
}

#[cfg(feature = "shm")]
fn shm(size: usize) -> Vec<Box<dyn Transport>> {
    use ringworld_transport_shm::{Config, Shm};
    acquainted((0..size).map(|rank| Shm::bind(Config::new(rank, size, 1)).unwrap()).collect())
}

#[cfg(feature = "tcp")]
fn tcp(size: usize) -> Vec<Box<dyn Transport>> {
    use ringworld_transport_tcp::{Config, Tcp};
    acquainted((0..size).map(|rank| Tcp::bind(Config::new(rank, size, 1, local())).unwrap()).collect())
}

#[cfg(feature = "ibverbs")]
fn ibverbs(size: usize) -> Vec<Box<dyn Transport>> {
    use ringworld_transport_ibverbs::{Config, Ibverbs};
    let open = |rank| {
        Ibverbs::open(Config::new(rank, size, 1, local()))
            .unwrap_or_else(|error| panic!("no verbs device can be used here: {error}"))
    };
    acquainted((0..size).map(open).collect())
}

fn local() -> Vec<std::net::IpAddr> {
    vec![[127, 0, 0, 1].into()]
}

/// Tells each transport where all the others are.
fn acquainted<T: Transport + 'static>(mut all: Vec<T>) -> Vec<Box<dyn Transport>> {
    let addresses: Vec<_> = all.iter().map(Transport::address).collect();
    for (rank, transport) in all.iter_mut().enumerate() {
        for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
            transport.connect(peer, address).unwrap();
        }
    }
    all.into_iter().map(|transport| Box::new(transport) as Box<dyn Transport>).collect()
}

/// In memory ranks show one another what is short, as in worlds of processes.
fn as_found(wire: Wire, choice: Choice) -> Choice {
    match wire {
        #[cfg(feature = "shm")]
        Wire::Shm => Choice { shows: true, ..choice },
        _ => choice,
    }
}

/// Runs `body` on every rank of a world, and returns what each returned. Ends the process when a world
/// hangs, naming the wire: a test that hangs has failed.
pub(crate) fn world<R: Send>(
    wire: Wire,
    size: usize,
    choice: &Choice,
    body: impl Fn(&Rank) -> R + Sync,
) -> Vec<R> {
    collected(&format!("{wire:?}"), transports(wire, size), &|_| as_found(wire, choice.clone()), &|rank| {
        body(&rank)
    })
}

/// Like [`world`], but each rank is its body's own, to end as it likes.
pub(crate) fn owned_world<R: Send>(
    wire: Wire,
    size: usize,
    choice: &Choice,
    body: impl Fn(Rank) -> R + Sync,
) -> Vec<R> {
    collected(&format!("{wire:?}"), transports(wire, size), &|_| as_found(wire, choice.clone()), &body)
}

/// Like [`owned_world`], with a choice of its own for each rank.
pub(crate) fn mixed_world<R: Send>(
    wire: Wire,
    size: usize,
    choice: impl Fn(usize) -> Choice,
    body: impl Fn(Rank) -> R + Sync,
) -> Vec<R> {
    collected(&format!("{wire:?}"), transports(wire, size), &|rank| as_found(wire, choice(rank)), &body)
}

/// Like [`mixed_world`], over transports that know one another.
pub(crate) fn world_over<R: Send>(
    wire: &str,
    transports: Vec<Box<dyn Transport>>,
    choice: impl Fn(usize) -> Choice,
    body: impl Fn(Rank) -> R + Sync,
) -> Vec<R> {
    collected(wire, transports, &choice, &body)
}

/// Compiled once for each type of result, and not for each test: threads were a third of what these tests compile.
fn collected<R: Send>(
    wire: &str,
    transports: Vec<Box<dyn Transport>>,
    choice: &dyn Fn(usize) -> Choice,
    body: &(dyn Fn(Rank) -> R + Sync),
) -> Vec<R> {
    let results = Mutex::new(BTreeMap::new());
    run(wire, transports, choice, &|number, rank| {
        let result = body(rank);
        results.lock().unwrap().insert(number, result);
    });
    results.into_inner().unwrap().into_values().collect()
}

/// Runs `body` with the number of each rank, and the rank, in a thread for each.
fn run(
    wire: &str,
    transports: Vec<Box<dyn Transport>>,
    choice: &dyn Fn(usize) -> Choice,
    body: &(dyn Fn(usize, Rank) + Sync),
) {
    let size = transports.len();
    let done = std::sync::atomic::AtomicBool::new(false);
    let panics = Mutex::new(Vec::new());
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let start = std::time::Instant::now();
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                if start.elapsed() > patient(BOUND) {
                    // Not by `eprintln!`: what the test runner holds back goes with the process. A rank that panics
                    // leaves others waiting, where they wait for it without the world.
                    let panics = panics.lock().unwrap();
                    let _ =
                        writeln!(std::io::stderr(), "{test}: a world of {size} over {wire} hangs {panics:?}");
                    std::process::exit(99);
                }
                std::thread::park_timeout(BOUND);
            }
        });
        let ranks: Vec<_> = transports
            .into_iter()
            .enumerate()
            .map(|(rank, transport)| {
                let (choice, panics) = (choice(rank), &panics);
                scope.spawn(move || {
                    let body = || body(rank, testing::rank(rank, size, Some(transport), choice));
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or_else(|panic| {
                        let words = panic.downcast_ref::<String>().map(String::as_str);
                        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
                        panics.lock().unwrap().push(format!("rank {rank}: {}", words.unwrap_or("no words")));
                        std::panic::resume_unwind(panic)
                    })
                })
            })
            .collect();
        let results: Vec<_> = ranks.into_iter().map(|rank| rank.join()).collect();
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        watch.thread().unpark();
        for result in results {
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// Small limits, so that small messages take every path: eager, rendezvous, and waiting for credit.
pub(crate) fn small() -> Choice {
    Choice { eager: testing::SMALL.0, window: testing::SMALL.1, ..Choice::default() }
}
