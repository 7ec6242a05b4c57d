//! What is counted in instructions: messages and all-reduces of one thread, without anything left to chance.
//!
//! `instructions <path> <times>` goes one path of the runtime so often. `tests/instructions.rs` runs it under
//! callgrind twice, and what the second run has more is the price of one time. Paths:
//!
//! - `message`: 8 bytes sent and 8 received, as `send_recv`;
//! - `socket`: 8 bytes sent by one rank and received by another over TCP, both in this thread; the system's own
//!   instructions are not counted;
//! - `memory`: the same in memory that both share;
//! - `shown`: a broadcast of 8 bytes in memory that both share, which the one shows and the other looks at;
//! - `window`: 64 such messages, non-blocking: all receives begun, then all sends, then all waited for;
//! - `alone`, `sum-alone`: 8 bytes sent to oneself and received, and an all-reduce of 8 bytes, in a world of one:
//!   beside the same calls of MPI's (`tests/mpi/instructions`);
//! - `ahead`: 500 broadcasts of 8 bytes over TCP, first all of the root, then all of the other rank;
//! - `behind`: 500 reductions of 8 bytes over TCP, first all of the other rank, then all of the root;
//! - `direct`: an all-reduce of 8 bytes on two ranks, by direct exchange: one step;
//! - `ring`: an all-reduce of 16 KiB on two ranks, by the ring: two steps.
//!
//! Invariant: nobody is waited for, so that no run polls more often than another. That takes a peer that answers
//! at once, and where nothing is said of TCP it is a mirror: a loopback that calls itself rank 1 and gives back what
//! was sent to it. Two ranks that do the same send one another the same, so rank 0 notices nothing.

use std::process::ExitCode;

use ringworld::testing::{self, Choice, Rank};
use ringworld::{Communicator, Op, Options};
use ringworld_transport::Transport;
use ringworld_transport::loopback::Loopback;
use ringworld_transport_shm::Shm;
use ringworld_transport_tcp::Tcp;

type Error = Box<dyn std::error::Error>;

/// Elements that the ring reduces: eager in both its halves.
const RING: usize = (16 << 10) / size_of::<f32>();
const TAG: u32 = 7;
const PATHS: &str = "message, socket, memory, shown, window, alone, sum-alone, ahead, behind, direct or ring";
/// By how many collectives one rank runs ahead: what they send fits into the sockets, so that it need not wait.
const AHEAD: u64 = 500;
/// Messages under way at once.
const WINDOW: usize = 64;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<(), Error> {
    let [path, times] = &arguments[..] else {
        return Err(format!("expected two arguments: a path, which is {PATHS}; and how often").into());
    };
    let times: u64 = times.parse().map_err(|error| format!("{times:?} is no number of times: {error}"))?;
    match path.as_str() {
        "message" => message(times),
        "socket" => over_tcp(|left, right| to_and_fro(left, right, times)),
        "memory" => in_memory(|left, right| to_and_fro(left, right, times)),
        "shown" => in_memory(|left, right| shown(left, right, times)),
        "window" => in_memory(|left, right| windows(left, right, times)),
        "ahead" => ahead(times),
        "behind" => behind(times),
        "alone" => alone(times),
        "sum-alone" => sum_alone(times),
        "direct" => all_reduce(times, "all-reduce/direct", 2),
        "ring" => all_reduce(times, "all-reduce/ring", RING),
        _ => Err(format!("there is no path {path:?}; there are {PATHS}").into()),
    }
}

/// Rank 0 of a world of two, whose rank 1 is a mirror.
fn before_a_mirror() -> Rank {
    testing::rank(0, 2, Some(Box::new(Loopback::new(1))), Choice::default())
}

/// What `tests/mpi/programs/instructions.c` does by MPI's functions.
fn alone(times: u64) -> Result<(), Error> {
    let rank = testing::alone();
    let mut came = [0u64];
    for time in 0..times {
        rank.send(&[time], 0, TAG)?;
        rank.recv(&mut came, 0, TAG)?;
        expect(came, [time])?;
    }
    Ok(())
}

/// The same, of a collective.
fn sum_alone(times: u64) -> Result<(), Error> {
    let rank = testing::alone();
    let mut sum = [0u64];
    for time in 0..times {
        rank.all_reduce_into(&[time], &mut sum, Op::Sum)?;
        expect(sum, [time])?;
    }
    Ok(())
}

fn message(times: u64) -> Result<(), Error> {
    let rank = before_a_mirror();
    let mut came = [0u64];
    for time in 0..times {
        rank.send_recv(&[time], 1, TAG, &mut came, 1, TAG)?;
        expect(came, [time])?;
    }
    Ok(())
}

/// Calls `path` with two ranks that are connected over TCP, both in this thread.
fn over_tcp(path: impl FnOnce(&Rank, &Rank) -> Result<(), Error>) -> Result<(), Error> {
    use ringworld_transport_tcp::Config;
    let mut ends = [0, 1].map(|rank| Tcp::bind(Config::new(rank, 2, 1, vec![[127, 0, 0, 1].into()])));
    let [Ok(first), Ok(second)] = &mut ends else {
        return Err("no port on 127.0.0.1 can be listened at; free one".into());
    };
    first.connect(1, &second.address())?;
    second.connect(0, &first.address())?;
    let [first, second] = ends;
    between(Box::new(first?), Box::new(second?), path)
}

/// Calls `path` with two ranks that share memory, both in this thread.
fn in_memory(path: impl FnOnce(&Rank, &Rank) -> Result<(), Error>) -> Result<(), Error> {
    use ringworld_transport_shm::Config;
    let (mut first, mut second) = (Shm::bind(Config::new(0, 2, 1))?, Shm::bind(Config::new(1, 2, 1))?);
    first.connect(1, &second.address())?;
    second.connect(0, &first.address())?;
    between(Box::new(first), Box::new(second), path)
}

/// Calls `path` with two ranks once they are connected.
fn between(
    first: Box<dyn Transport>,
    second: Box<dyn Transport>,
    path: impl FnOnce(&Rank, &Rank) -> Result<(), Error>,
) -> Result<(), Error> {
    let ends = [
        testing::rank(0, 2, Some(first), Choice::default()),
        testing::rank(1, 2, Some(second), Choice::default()),
    ];
    let [left, right] = &ends;
    // To open the connection both must be there at once.
    std::thread::scope(|scope| {
        let other = scope.spawn(|| right.barrier());
        left.barrier()?;
        other.join().map_err(|_| "the second rank panicked")??;
        Ok::<_, Error>(())
    })?;
    path(left, right)?;
    // In good order each waits for the other.
    std::thread::scope(|scope| ends.map(|rank| scope.spawn(move || drop(rank))).map(drop));
    Ok(())
}

fn to_and_fro(left: &Rank, right: &Rank, times: u64) -> Result<(), Error> {
    let mut came = [0u64];
    for time in 0..times {
        // There and back, because credit travels on the headers of what comes back.
        let (from, to) = if time % 2 == 0 { (left, right) } else { (right, left) };
        from.send(&[time], to.rank(), TAG)?;
        to.recv(&mut came, from.rank(), TAG)?;
        expect(came, [time])?;
    }
    Ok(())
}

fn windows(left: &Rank, right: &Rank, times: u64) -> Result<(), Error> {
    let mut room: Vec<Vec<u64>> = vec![vec![0]; WINDOW];
    let mut data: Vec<Vec<u64>> = vec![vec![0]; WINDOW];
    let (mut receives, mut sends) = (Vec::with_capacity(WINDOW), Vec::with_capacity(WINDOW));
    for time in 0..times {
        let (from, to) = if time % 2 == 0 { (left, right) } else { (right, left) };
        for buffer in room.drain(..) {
            receives.push(to.start_recv(buffer, from.rank(), TAG)?);
        }
        for mut buffer in data.drain(..) {
            buffer[0] = time;
            sends.push(from.start_send(buffer, to.rank(), TAG)?);
        }
        for pending in sends.drain(..) {
            data.push(pending.wait()?);
        }
        for pending in receives.drain(..) {
            let (buffer, _status) = pending.wait()?;
            expect([buffer[0]], [time])?;
            room.push(buffer);
        }
    }
    Ok(())
}

fn shown(left: &Rank, right: &Rank, times: u64) -> Result<(), Error> {
    let direct = Options::new().algorithm("broadcast/direct")?;
    let (root, other) = (left.with(&direct), right.with(&direct));
    let mut came = [u64::MAX];
    for number in 0..times {
        root.broadcast(&mut [number], 0)?;
        other.broadcast(&mut came, 0)?;
        expect(came, [number])?;
    }
    Ok(())
}

fn ahead(times: u64) -> Result<(), Error> {
    over_tcp(|root, other| {
        for _ in 0..times {
            for number in 0..AHEAD {
                root.broadcast(&mut [number], 0)?;
            }
            for number in 0..AHEAD {
                let mut came = [u64::MAX];
                other.broadcast(&mut came, 0)?;
                expect(came, [number])?;
            }
        }
        Ok(())
    })
}

fn behind(times: u64) -> Result<(), Error> {
    over_tcp(|root, other| {
        for _ in 0..times {
            for number in 0..AHEAD {
                other.reduce(&mut [number], Op::Sum, 0)?;
            }
            for number in 0..AHEAD {
                let mut sum = [number];
                root.reduce(&mut sum, Op::Sum, 0)?;
                expect(sum, [2 * number])?;
            }
        }
        Ok(())
    })
}

fn all_reduce(times: u64, algorithm: &str, elements: usize) -> Result<(), Error> {
    let rank = before_a_mirror();
    let asked: Communicator = rank.with(&Options::new().algorithm(algorithm)?);
    let (ones, mut sum) = (vec![1f32; elements], vec![0f32; elements]);
    for _ in 0..times {
        asked.all_reduce_into(&ones, &mut sum, Op::Sum)?;
    }
    expect(&sum, &vec![if times == 0 { 0f32 } else { 2.0 }; elements])
}

fn expect<T: PartialEq + std::fmt::Debug>(came: T, wanted: T) -> Result<(), Error> {
    if came == wanted { Ok(()) } else { Err(format!("{came:?} came, not {wanted:?}").into()) }
}
