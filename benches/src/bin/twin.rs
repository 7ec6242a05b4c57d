//! ringworld's side of the comparison with other MPI libraries; `benches/peers/twin.c` is theirs.
//!
//! Both keep to the rules in `benches/peers/README.md`: the same operations, sizes, checks, warm-up and
//! batches, and one line per size on standard output of rank 0.

#![allow(clippy::print_stdout, reason = "the lines are what this program is for")]

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ringworld::{Op, World};

/// The sizes measured, in bytes, as far as they lie within the bounds given.
const SIZES: [usize; 10] =
    [8, 64, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];
const BATCHES: u64 = 15;
const FEWEST: u64 = 3;
const MOST_WARM_UP: u64 = 1 << 22;

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("twin: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [op, min, max, budget] = &arguments[..] else {
        return Err("usage: twin <op> <min bytes> <max bytes> <milliseconds per size>".into());
    };
    let (min, max): (usize, usize) = (min.parse()?, max.parse()?);
    let budget = Duration::from_millis(budget.parse()?);
    let world = World::from_env()?;
    let measure = Measure { world: &world, budget };
    let pair = matches!(op.as_str(), "pingpong" | "stream");
    if pair && world.size() != 2 {
        return Err(format!("{op} takes 2 ranks, not {}", world.size()).into());
    }
    let sizes: &[usize] = if op == "barrier" { &[0] } else { &SIZES };
    for &bytes in sizes.iter().filter(|bytes| op == "barrier" || (min..=max).contains(bytes)) {
        match op.as_str() {
            "pingpong" => measure.ping_pong(bytes)?,
            "stream" => measure.stream(bytes)?,
            "barrier" => measure.barrier()?,
            "bcast" => measure.broadcast(bytes)?,
            "allreduce" => measure.all_reduce(bytes)?,
            "allgather" => measure.all_gather(bytes)?,
            "reducescatter" => measure.reduce_scatter(bytes)?,
            _ => return Err(format!("there is no operation {op:?}").into()),
        }
    }
    Ok(())
}

struct Measure<'a> {
    world: &'a World,
    budget: Duration,
}

impl Measure<'_> {
    fn ping_pong(&self, bytes: usize) -> Result<(), Error> {
        let (rank, peer) = (self.world.rank(), 1 - self.world.rank());
        let send = vec![rank as u8 + 1; bytes];
        let mut recv = vec![u8::MAX; bytes];
        self.all_batches("pingpong", bytes, 0.5, |check| {
            if rank == 0 {
                self.world.send(&send, peer, 0)?;
                self.world.recv(&mut recv, peer, 0)?;
            } else {
                self.world.recv(&mut recv, peer, 0)?;
                self.world.send(&send, peer, 0)?;
            }
            verify(check, &recv, |_| peer as u8 + 1)
        })
    }

    fn stream(&self, bytes: usize) -> Result<(), Error> {
        let window = ((256 << 20) / bytes).clamp(4, 64);
        let rank = self.world.rank();
        let mut spare: Vec<Vec<u8>> = (0..window).map(|_| vec![rank as u8 + 1; bytes]).collect();
        self.all_batches("stream", bytes, 1.0 / window as f64, |check| {
            let mut done = [0u8];
            if rank == 0 {
                let mut pending = Vec::with_capacity(window);
                for data in spare.drain(..) {
                    pending.push(self.world.start_send(data, 1, 0)?);
                }
                for pending in pending {
                    spare.push(pending.wait()?);
                }
                self.world.recv(&mut done, 1, 1)?;
            } else {
                let mut pending = Vec::with_capacity(window);
                for data in spare.drain(..) {
                    pending.push(self.world.start_recv(data, 0, 0)?);
                }
                for pending in pending {
                    let (data, _) = pending.wait()?;
                    verify(check, &data, |_| 1u8)?;
                    spare.push(data);
                }
                self.world.send(&done, 0, 1)?;
            }
            Ok(())
        })
    }

    fn barrier(&self) -> Result<(), Error> {
        self.all_batches("barrier", 0, 1.0, |_| Ok(self.world.barrier()?))
    }

    fn broadcast(&self, bytes: usize) -> Result<(), Error> {
        let (rank, size) = (self.world.rank(), self.world.size());
        let mut data = vec![rank as u8 + 1; bytes];
        let mut iteration = 0;
        self.all_batches("bcast", bytes, 1.0, |check| {
            let root = iteration % size;
            iteration += 1;
            self.world.broadcast(&mut data, root)?;
            verify(check, &data, |_| root as u8 + 1)
        })
    }

    fn all_reduce(&self, bytes: usize) -> Result<(), Error> {
        let (rank, size) = (self.world.rank(), self.world.size());
        let send = vec![rank as f32 + 1.0; bytes / 4];
        let mut recv = vec![-1f32; bytes / 4];
        self.all_batches("allreduce", bytes, 1.0, |check| {
            self.world.all_reduce_into(&send, &mut recv, Op::Sum)?;
            verify(check, &recv, |_| triangle(size))
        })
    }

    fn all_gather(&self, bytes: usize) -> Result<(), Error> {
        let (rank, size) = (self.world.rank(), self.world.size());
        let block = (bytes / 4).div_ceil(size);
        let send = vec![rank as f32 + 1.0; block];
        let mut recv = vec![-1f32; block * size];
        self.all_batches("allgather", bytes, 1.0, |check| {
            self.world.all_gather(&send, &mut recv)?;
            verify(check, &recv, |i| (i / block) as f32 + 1.0)
        })
    }

    fn reduce_scatter(&self, bytes: usize) -> Result<(), Error> {
        let (rank, size) = (self.world.rank(), self.world.size());
        let block = (bytes / 4).div_ceil(size);
        let send = vec![rank as f32 + 1.0; block * size];
        let mut recv = vec![-1f32; block];
        self.all_batches("reducescatter", bytes, 1.0, |check| {
            self.world.reduce_scatter(&send, &mut recv, Op::Sum)?;
            verify(check, &recv, |_| triangle(size))
        })
    }

    /// Checks one iteration, warms up, and times batches of `iteration`; `share` of an iteration's time
    /// is what is reported.
    fn all_batches(
        &self,
        op: &str,
        bytes: usize,
        share: f64,
        mut iteration: impl FnMut(bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        iteration(true)?;
        let estimate = self.warm_up(&mut iteration)?;
        let mut plan = [0u64; 2];
        if self.world.rank() == 0 {
            let each = self.budget.as_secs_f64() / BATCHES as f64 / estimate;
            plan = if each >= 1.0 {
                [BATCHES, each as u64]
            } else {
                [((self.budget.as_secs_f64() / estimate) as u64).max(FEWEST), 1]
            };
        }
        self.world.broadcast(&mut plan, 0)?;
        let [batches, times] = plan;
        let wire = loopback();
        let mut seconds = Vec::new();
        for _ in 0..batches {
            self.world.barrier()?;
            let start = Instant::now();
            for _ in 0..times {
                iteration(false)?;
            }
            let mut slowest = [start.elapsed().as_secs_f64()];
            self.world.reduce(&mut slowest, Op::Max, 0)?;
            seconds.push(slowest[0] / times as f64 * share);
        }
        if self.world.rank() == 0 {
            seconds.sort_by(f64::total_cmp);
            let (median, least) = (seconds[seconds.len() / 2], seconds[0]);
            print!("{op},{bytes},{},{median:e},{least:e}", batches * times);
            if let (Some((bytes, packets)), Some((more_bytes, more_packets))) = (wire, loopback()) {
                print!(",{},{}", more_bytes.wrapping_sub(bytes), more_packets.wrapping_sub(packets));
            }
            println!();
            std::io::stdout().flush()?;
        }
        Ok(())
    }

    /// Ever longer batches, until one takes a twentieth of the budget; seconds of one iteration.
    fn warm_up(&self, iteration: &mut impl FnMut(bool) -> Result<(), Error>) -> Result<f64, Error> {
        let mut times = 1u64;
        loop {
            let start = Instant::now();
            for _ in 0..times {
                iteration(false)?;
            }
            let mut enough = [u8::from(start.elapsed() >= self.budget / 20 || times >= MOST_WARM_UP)];
            self.world.broadcast(&mut enough, 0)?;
            if enough[0] == 1 {
                break;
            }
            times *= 2;
        }
        let start = Instant::now();
        for _ in 0..times {
            iteration(false)?;
        }
        Ok(start.elapsed().as_secs_f64() / times as f64)
    }
}

fn triangle(size: usize) -> f32 {
    (size * (size + 1) / 2) as f32
}

fn verify<T: PartialEq + std::fmt::Debug>(
    check: bool,
    data: &[T],
    expected: impl Fn(usize) -> T,
) -> Result<(), Error> {
    if check && let Some((i, x)) = data.iter().enumerate().find(|(i, x)| **x != expected(*i)) {
        return Err(format!("element {i} is {x:?}, not {:?}", expected(i)).into());
    }
    Ok(())
}

/// Bytes and packets that have crossed the loopback interface.
fn loopback() -> Option<(u64, u64)> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/class/net/lo/statistics/{name}")).ok()?;
        text.trim().parse().ok()
    };
    Some((read("tx_bytes")?, read("tx_packets")?))
}
