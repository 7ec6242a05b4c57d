//! Whole worlds in one process: a master, and a thread for each rank.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use ringworld_bootstrap::{Master, MasterConfig, Secret, Settings};

use crate::world::{Builder, World};

/// How long the master may take to see that everybody has left.
const LAST_WORD: Duration = Duration::from_secs(5);

/// Runs `body` on every rank of a world of `size` ranks, each in a thread of this process, and returns what each
/// returned, in rank order.
///
/// `body` owns its [`World`], which ends when `body` returns, unless it has ended it before. The ranks meet at a port
/// that the system chooses, on the loopback interface, and prove to one another that they belong together; settings of
/// the environment are not read, apart from `RINGWORLD_LOG`.
///
/// # Panics
///
/// When `body` panics on a rank, with the panic of the rank that panicked first: the other ranks' calls return errors
/// then, which they usually unwrap. And when `size` is 0, or the system cannot give what a world needs.
///
/// ```
/// use ringworld::{Communicator, Op, testing};
///
/// fn mean(world: &Communicator, mine: &[f64]) -> ringworld::Result<f64> {
///     let mut sums = [mine.iter().sum(), mine.len() as f64];
///     world.all_reduce(&mut sums, Op::Sum)?;
///     Ok(sums[0] / sums[1])
/// }
///
/// let means = testing::ranks(2, |world| mean(&world, [&[1.0][..], &[2.0, 6.0]][world.rank()]).unwrap());
/// assert_eq!(means, [3.0, 3.0]);
/// ```
#[expect(clippy::expect_used, reason = "for tests, which fail by a panic")]
pub fn ranks<R: Send>(size: usize, body: impl Fn(World) -> R + Sync) -> Vec<R> {
    assert!(size > 0, "a world has at least one rank");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of the loopback interface");
    let port = listener.local_addr().expect("the address of a listener").port();
    let builder = of_this_process(size, port);
    let settings = Settings::load(builder.overrides(), &BTreeMap::new()).expect("settings of a test's world");
    let master = Master::serve(listener, MasterConfig::new(size, &settings)).expect("a master");

    let run = |rank: usize| {
        let world = builder.clone().rank(rank).build();
        body(world.expect("the ranks of one process find one another"))
    };
    // Nothing that a panic has left half done is looked at again: all results are dropped.
    let guarded = |rank| catch_unwind(AssertUnwindSafe(|| run(rank)));
    let results: Vec<thread::Result<R>> = thread::scope(|scope| {
        let spawn = |rank| {
            let (name, guarded) = (format!("rank {rank}"), &guarded);
            thread::Builder::new().name(name).spawn_scoped(scope, move || guarded(rank)).expect("a thread")
        };
        let threads: Vec<_> = (0..size).map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(Err)).collect()
    });
    // The port is free, and the master's thread gone, before the next world.
    let _ = master.wait(Some(LAST_WORD));
    let departures = master.departures();
    // Not by this thread, which may be a task's: that may not block there.
    thread::scope(|scope| _ = scope.spawn(|| master.shutdown()).join());
    let left = |rank: usize| departures.iter().position(|departure| departure.rank == rank);
    let (mut all, mut panics) = (Vec::with_capacity(size), Vec::new());
    for (rank, result) in results.into_iter().enumerate() {
        match result {
            Ok(result) => all.push(result),
            Err(panic) => panics.push((left(rank).unwrap_or(usize::MAX), panic)),
        }
    }
    if let Some((_, first)) = panics.into_iter().min_by_key(|(left, _)| *left) {
        resume_unwind(first);
    }
    all
}

/// Settings that hold for every rank, whatever else is set.
#[expect(clippy::expect_used, reason = "for tests, which fail by a panic")]
fn of_this_process(size: usize, port: u16) -> Builder {
    let secret = Secret::random().expect("random bytes of the system");
    let builder = World::builder()
        .ignore_environment()
        .master_node(Ipv4Addr::LOCALHOST.to_string())
        .master_port(port)
        .world_size(size)
        .set("master_external", "1")
        .set("secret", String::from_utf8_lossy(secret.expose()))
        .set("if_include", "127.0.0.0/8");
    let log = std::env::var("RINGWORLD_LOG").ok().filter(|log| !log.trim().is_empty());
    let builder = log.into_iter().fold(builder, |builder, log| builder.set("log", log));
    if cfg!(feature = "tcp") { builder.set("transport", "tcp") } else { builder }
}
