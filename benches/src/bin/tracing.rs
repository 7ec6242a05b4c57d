//! What a trace costs: a ping-pong of 8 bytes between two ranks, in turns with a trace and without.
//!
//! `tracing <transport> [rounds] [round trips]`: two ranks, which are threads of this process on a core each, are in
//! two worlds at once, of which one is traced into a folder of its own. Each round times both, in alternating order;
//! printed are the medians of half a round trip, their quartiles, and the median and quartiles of what the trace adds
//! in a round. For figures give it the machine: `chrt -f 10 taskset -c 0,1`, and no more than a minute.

#![allow(clippy::print_stdout, reason = "figures are what this program is for")]

use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

use ringworld::World;
use rustix::thread::{CpuSet, sched_setaffinity};

type Error = Box<dyn std::error::Error + Send + Sync>;

const TAG: u32 = 7;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tracing: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<(), Error> {
    let mut arguments = arguments.into_iter();
    let transport = arguments.next().ok_or("expected a transport, such as shm or tcp")?;
    let mut number = |default: usize| -> Result<usize, Error> {
        arguments
            .next()
            .map_or(Ok(default), |text| text.parse().map_err(|error| format!("{text:?}: {error}").into()))
    };
    let (rounds, trips) = (number(201)?, number(20_000)?);
    let folder = std::env::temp_dir().join(format!("ringworld-tracing-{}", std::process::id()));
    let ports = [free_port()?, free_port()?];
    let barrier = Barrier::new(2);
    let measured = std::thread::scope(|scope| {
        let ranks = [0, 1].map(|rank| {
            let (transport, folder, barrier) = (&transport, &folder, &barrier);
            scope.spawn(move || measure(rank, transport, ports, folder, barrier, (rounds, trips)))
        });
        ranks.map(|rank| rank.join().unwrap_or_else(|_| Err("a rank panicked".into())))
    });
    let _ = std::fs::remove_dir_all(&folder);
    let [first, second] = measured;
    second?;
    report(&transport, &first?);
    Ok(())
}

fn free_port() -> Result<u16, Error> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Half a round trip of each round, in nanoseconds: without a trace and with.
fn measure(
    rank: usize,
    transport: &str,
    ports: [u16; 2],
    folder: &Path,
    barrier: &Barrier,
    (rounds, trips): (usize, usize),
) -> Result<Vec<[f64; 2]>, Error> {
    let mut cores = CpuSet::new();
    cores.set(rank);
    // Where there is one core only, the ranks share it.
    let _ = sched_setaffinity(None, &cores);
    let mut worlds = Vec::new();
    for (port, trace) in ports.into_iter().zip([None, folder.to_str()]) {
        let builder = World::builder().ignore_environment().master_node("127.0.0.1").master_port(port);
        let builder = builder.world_size(2).rank(rank).set("transport", transport);
        let builder = trace.into_iter().fold(builder, |builder, folder| builder.set("trace", folder));
        worlds.push(builder.build()?);
    }
    let mut all = Vec::new();
    for round in 0..rounds + 2 {
        let mut times = [0.0; 2];
        for turn in 0..2 {
            let which = (round + turn) % 2;
            barrier.wait();
            times[which] = ping_pong(&worlds[which], trips)?;
        }
        // The first rounds connect, and fill caches.
        if round >= 2 {
            all.push(times);
        }
    }
    worlds.into_iter().try_for_each(World::finish)?;
    Ok(all)
}

fn ping_pong(world: &World, trips: usize) -> Result<f64, Error> {
    let (rank, mut came) = (world.rank(), [0u64]);
    let begun = Instant::now();
    for trip in 0..trips as u64 {
        if rank == 0 {
            world.send(&[trip], 1, TAG)?;
            world.recv(&mut came, 1, TAG)?;
        } else {
            world.recv(&mut came, 0, TAG)?;
            world.send(&came, 0, TAG)?;
        }
        if came != [trip] {
            return Err(format!("{came:?} came in place of {trip}").into());
        }
    }
    Ok(begun.elapsed().as_nanos() as f64 / trips as f64 / 2.0)
}

fn report(transport: &str, rounds: &[[f64; 2]]) {
    let of = |value: &dyn Fn(&[f64; 2]) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(value).collect();
        all.sort_by(f64::total_cmp);
        [1, 2, 3].map(|quarter| all[all.len() * quarter / 4])
    };
    let (without, with) = (of(&|round| round[0]), of(&|round| round[1]));
    let added = of(&|round| (round[1] / round[0] - 1.0) * 100.0);
    let shown = |[low, middle, high]: [f64; 3]| format!("{middle:.1} ({low:.1} to {high:.1})");
    println!(
        "{transport}: half a round trip of 8 bytes {} ns without a trace, {} ns with; a round with it takes {} % more",
        shown(without),
        shown(with),
        shown(added)
    );
}
