//! Worlds for tests: ranks as threads of this process, over the simulator or over real sockets.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::time::Duration;

use ringworld::testing::{self, Choice, Rank};
use ringworld_transport::Transport;

/// How long any world of a test may live.
const BOUND: Duration = Duration::from_secs(120);

/// What the ranks talk over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wire {
    /// The simulator, with this seed.
    Sim(u64),
    /// Sockets on the loopback interface.
    #[cfg(feature = "tcp")]
    Tcp,
}

/// Every wire that rules are tested over.
pub(crate) fn wires() -> Vec<Wire> {
    vec![
        Wire::Sim(1),
        Wire::Sim(2),
        Wire::Sim(3),
        #[cfg(feature = "tcp")]
        Wire::Tcp,
    ]
}

fn transports(wire: Wire, size: usize) -> Vec<Box<dyn Transport>> {
    match wire {
        Wire::Sim(seed) => {
            let config = ringworld_transport_sim::Config { seed, auto_advance: true, ..Default::default() };
            let mut fabric = ringworld_transport_sim::Fabric::new(size, config);
            fabric.connected_transports().into_iter().map(|sim| Box::new(sim) as Box<dyn Transport>).collect()
        }
        #[cfg(feature = "tcp")]
        Wire::Tcp => tcp(size),
    }
}

#[cfg(feature = "tcp")]
fn tcp(size: usize) -> Vec<Box<dyn Transport>> {
    use ringworld_transport_tcp::{Config, Tcp};
    let mut all: Vec<Tcp> = (0..size)
        .map(|rank| Tcp::bind(Config::new(rank, size, 1, vec![[127, 0, 0, 1].into()])).unwrap())
        .collect();
    let addresses: Vec<_> = all.iter().map(Transport::address).collect();
    for (rank, transport) in all.iter_mut().enumerate() {
        for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
            transport.connect(peer, address).unwrap();
        }
    }
    all.into_iter().map(|transport| Box::new(transport) as Box<dyn Transport>).collect()
}

/// Runs `body` on every rank of a world, and returns what each returned. Ends the process when a world
/// hangs, naming the wire: a test that hangs has failed.
pub(crate) fn world<R: Send>(
    wire: Wire,
    size: usize,
    choice: &Choice,
    body: impl Fn(&Rank) -> R + Sync,
) -> Vec<R> {
    owned_world(wire, size, choice, |rank| body(&rank))
}

/// Like [`world`], but each rank is its body's own, to end as it likes.
pub(crate) fn owned_world<R: Send>(
    wire: Wire,
    size: usize,
    choice: &Choice,
    body: impl Fn(Rank) -> R + Sync,
) -> Vec<R> {
    mixed_world(wire, size, |_| choice.clone(), body)
}

/// Like [`owned_world`], with a choice of its own for each rank.
pub(crate) fn mixed_world<R: Send>(
    wire: Wire,
    size: usize,
    choice: impl Fn(usize) -> Choice,
    body: impl Fn(Rank) -> R + Sync,
) -> Vec<R> {
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let start = std::time::Instant::now();
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                if start.elapsed() > BOUND {
                    eprintln!("a world of {size} over {wire:?} hangs");
                    std::process::exit(99);
                }
                std::thread::park_timeout(BOUND);
            }
        });
        let ranks: Vec<_> = transports(wire, size)
            .into_iter()
            .enumerate()
            .map(|(rank, transport)| {
                let (body, choice) = (&body, choice(rank));
                scope.spawn(move || body(testing::rank(rank, size, Some(transport), choice)))
            })
            .collect();
        let results: Vec<_> = ranks.into_iter().map(|rank| rank.join()).collect();
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        watch.thread().unpark();
        results
            .into_iter()
            .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Small limits, so that small messages take every path: eager, rendezvous, and waiting for credit.
pub(crate) fn small() -> Choice {
    Choice { eager: testing::SMALL.0, window: testing::SMALL.1, ..Choice::default() }
}
