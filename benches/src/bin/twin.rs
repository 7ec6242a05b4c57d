//! ringworld's side of the comparison with other libraries; `benches/peers/twin.c` is that of MPI.
//!
//! All keep to the rules in `benches/peers/README.md`: the same operations, sizes, checks, warm-up and
//! batches, and one line per size on standard output of rank 0. The schedule is in `schedule.rs`.

use std::process::ExitCode;
use std::time::Duration;

use ringworld::{Op, World};
use ringworld_benches::schedule::{
    Error, Operation, Ranks, Request, block, measure, sum_of_ranks, verify, window,
};

const DATA: u32 = 0;
const ACKNOWLEDGEMENT: u32 = 1;

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
    let request = Request::parse(&arguments)?;
    let world = World::from_env()?;
    let Request::Measure { operations, sizes: (min, max), budget } = request else {
        return Ok(world.barrier()?);
    };
    let twin = Twin { world: &world, budget };
    for operation in operations {
        if operation.in_pairs() && !world.size().is_multiple_of(2) {
            return Err(
                format!("{} takes an even number of ranks, not {}", operation.name(), world.size()).into()
            );
        }
        for bytes in operation.sizes(min, max) {
            match operation {
                Operation::PingPong => twin.ping_pong(bytes)?,
                Operation::Stream => twin.stream(bytes)?,
                Operation::Bidirectional => twin.bidirectional(bytes)?,
                Operation::Rate => twin.rate(bytes)?,
                Operation::Barrier => twin.measure((operation, bytes), |_| Ok(world.barrier()?))?,
                Operation::Broadcast => twin.broadcast(bytes)?,
                Operation::AllReduce => twin.all_reduce(bytes)?,
                Operation::AllGather => twin.all_gather(bytes)?,
                Operation::ReduceScatter => twin.reduce_scatter(bytes)?,
                Operation::AllToAll => twin.all_to_all(bytes)?,
            }
        }
    }
    Ok(())
}

struct Twin<'a> {
    world: &'a World,
    budget: Duration,
}

impl Ranks for Twin<'_> {
    fn rank(&self) -> usize {
        self.world.rank()
    }

    fn size(&self) -> usize {
        self.world.size()
    }

    fn barrier(&self) -> Result<(), Error> {
        Ok(self.world.barrier()?)
    }

    fn of_first(&self, mut numbers: [u64; 2]) -> Result<[u64; 2], Error> {
        self.world.broadcast(&mut numbers, 0)?;
        Ok(numbers)
    }

    fn largest(&self, number: f64) -> Result<f64, Error> {
        let mut numbers = [number];
        self.world.reduce(&mut numbers, Op::Max, 0)?;
        Ok(numbers[0])
    }

    fn total(&self, number: f64) -> Result<f64, Error> {
        let mut numbers = [number];
        self.world.reduce(&mut numbers, Op::Sum, 0)?;
        Ok(numbers[0])
    }
}

impl Twin<'_> {
    fn measure(
        &self,
        what: (Operation, usize),
        iteration: impl FnMut(bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        measure(self, what, self.budget, iteration)
    }

    /// Whether this rank is the first of its pair, and the other one.
    fn pair(&self) -> (bool, usize) {
        (self.rank().is_multiple_of(2), self.rank() ^ 1)
    }

    fn ping_pong(&self, bytes: usize) -> Result<(), Error> {
        let (first, peer) = self.pair();
        let send = vec![self.rank() as u8 + 1; bytes];
        let mut recv = vec![u8::MAX; bytes];
        self.measure((Operation::PingPong, bytes), |check| {
            if first {
                self.world.send(&send, peer, DATA)?;
                self.world.recv(&mut recv, peer, DATA)?;
            } else {
                self.world.recv(&mut recv, peer, DATA)?;
                self.world.send(&send, peer, DATA)?;
            }
            verify(check, &recv, |_| peer as u8 + 1)
        })
    }

    fn stream(&self, bytes: usize) -> Result<(), Error> {
        let (first, peer) = self.pair();
        let mut spare = self.buffers(bytes);
        self.measure((Operation::Stream, bytes), |check| {
            if first {
                let sends = self.start_sends(&mut spare, peer)?;
                self.finish_sends(sends, &mut spare)?;
            } else {
                let receives = self.start_receives(&mut spare, peer)?;
                self.finish_receives(receives, &mut spare, check, peer)?;
            }
            self.acknowledge()
        })
    }

    fn bidirectional(&self, bytes: usize) -> Result<(), Error> {
        let (_, peer) = self.pair();
        let (mut sent, mut received) = (self.buffers(bytes), self.buffers(bytes));
        self.measure((Operation::Bidirectional, bytes), |check| {
            let receives = self.start_receives(&mut received, peer)?;
            let sends = self.start_sends(&mut sent, peer)?;
            self.finish_receives(receives, &mut received, check, peer)?;
            self.finish_sends(sends, &mut sent)
        })
    }

    fn rate(&self, bytes: usize) -> Result<(), Error> {
        let (first, peer) = self.pair();
        let mut data = vec![self.rank() as u8 + 1; bytes];
        self.measure((Operation::Rate, bytes), |check| {
            for _ in 0..window(bytes) {
                if first {
                    self.world.send(&data, peer, DATA)?;
                } else {
                    self.world.recv(&mut data, peer, DATA)?;
                }
            }
            self.acknowledge()?;
            verify(check && !first, &data, |_| peer as u8 + 1)
        })
    }

    /// A window of messages, each in memory of its own.
    fn buffers(&self, bytes: usize) -> Vec<Vec<u8>> {
        (0..window(bytes)).map(|_| vec![self.rank() as u8 + 1; bytes]).collect()
    }

    fn start_sends(&self, from: &mut Vec<Vec<u8>>, peer: usize) -> Result<Vec<Sending>, Error> {
        Ok(from.drain(..).map(|data| self.world.start_send(data, peer, DATA)).collect::<Result<_, _>>()?)
    }

    fn finish_sends(&self, sends: Vec<Sending>, to: &mut Vec<Vec<u8>>) -> Result<(), Error> {
        for pending in sends {
            to.push(pending.wait()?);
        }
        Ok(())
    }

    fn start_receives(&self, into: &mut Vec<Vec<u8>>, peer: usize) -> Result<Vec<Receiving>, Error> {
        Ok(into.drain(..).map(|data| self.world.start_recv(data, peer, DATA)).collect::<Result<_, _>>()?)
    }

    fn finish_receives(
        &self,
        receives: Vec<Receiving>,
        to: &mut Vec<Vec<u8>>,
        check: bool,
        peer: usize,
    ) -> Result<(), Error> {
        for pending in receives {
            let (data, _) = pending.wait()?;
            verify(check, &data, |_| peer as u8 + 1)?;
            to.push(data);
        }
        Ok(())
    }

    /// One byte from the second of a pair to the first.
    fn acknowledge(&self) -> Result<(), Error> {
        let (first, peer) = self.pair();
        let mut byte = [1u8];
        if first {
            self.world.recv(&mut byte, peer, ACKNOWLEDGEMENT)?;
        } else {
            self.world.send(&byte, peer, ACKNOWLEDGEMENT)?;
        }
        Ok(())
    }

    fn broadcast(&self, bytes: usize) -> Result<(), Error> {
        let mut data = vec![self.rank() as u8 + 1; bytes];
        let mut iteration = 0;
        self.measure((Operation::Broadcast, bytes), |check| {
            let root = iteration % self.size();
            iteration += 1;
            self.world.broadcast(&mut data, root)?;
            verify(check, &data, |_| root as u8 + 1)
        })
    }

    fn all_reduce(&self, bytes: usize) -> Result<(), Error> {
        let send = vec![self.rank() as f32 + 1.0; bytes / 4];
        let mut recv = vec![-1f32; bytes / 4];
        self.measure((Operation::AllReduce, bytes), |check| {
            self.world.all_reduce_into(&send, &mut recv, Op::Sum)?;
            verify(check, &recv, |_| sum_of_ranks(self.size()))
        })
    }

    fn all_gather(&self, bytes: usize) -> Result<(), Error> {
        let block = block(bytes, self.size());
        let send = vec![self.rank() as f32 + 1.0; block];
        let mut recv = vec![-1f32; block * self.size()];
        self.measure((Operation::AllGather, bytes), |check| {
            self.world.all_gather(&send, &mut recv)?;
            verify(check, &recv, |i| (i / block) as f32 + 1.0)
        })
    }

    fn reduce_scatter(&self, bytes: usize) -> Result<(), Error> {
        let block = block(bytes, self.size());
        let send = vec![self.rank() as f32 + 1.0; block * self.size()];
        let mut recv = vec![-1f32; block];
        self.measure((Operation::ReduceScatter, bytes), |check| {
            self.world.reduce_scatter(&send, &mut recv, Op::Sum)?;
            verify(check, &recv, |_| sum_of_ranks(self.size()))
        })
    }

    fn all_to_all(&self, bytes: usize) -> Result<(), Error> {
        let block = block(bytes, self.size());
        let send = vec![self.rank() as f32 + 1.0; block * self.size()];
        let mut recv = vec![-1f32; block * self.size()];
        self.measure((Operation::AllToAll, bytes), |check| {
            self.world.all_to_all(&send, &mut recv)?;
            verify(check, &recv, |i| (i / block) as f32 + 1.0)
        })
    }
}

type Sending = ringworld::Pending<Vec<u8>>;
type Receiving = ringworld::Pending<(Vec<u8>, ringworld::Status)>;
