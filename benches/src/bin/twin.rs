//! ringworld's side of the comparison with other libraries; `benches/peers/twin.c` is that of MPI.
//!
//! All keep to the rules in `benches/peers/README.md`: the same operations, sizes, checks, warm-up and
//! batches, and one line per size on standard output of rank 0. The schedule is in `schedule.rs`.

use std::process::ExitCode;
use std::time::Duration;

use ringworld::{Communicator, Op, Source, Tag, World};
use ringworld_benches::schedule::{
    COMMUNICATORS, Error, IN_FLIGHT, Operation, PER_THREAD, REQUEST_TAGS, Ranks, Request, block, measure,
    sum_of_ranks, verify, window,
};

const DATA: u32 = 0;
const ACKNOWLEDGEMENT: u32 = 1;
/// Of the exchange with neighbours: with two ranks both messages are between the same two.
const RIGHTWARD: u32 = 2;
const LEFTWARD: u32 = 3;
const ROOT: usize = 0;

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
                Operation::AllReduce => twin.all_reduce(bytes, Op::Sum)?,
                Operation::Average => twin.all_reduce(bytes, Op::Average)?,
                Operation::RootedBroadcast => twin.rooted_broadcast(bytes)?,
                Operation::Reduce => twin.reduce(bytes)?,
                Operation::Gather => twin.gather(bytes)?,
                Operation::Scatter => twin.scatter(bytes)?,
                Operation::Communicators => twin.communicators(bytes)?,
                Operation::Pipeline => twin.pipeline(bytes)?,
                Operation::Server => twin.server(bytes)?,
                Operation::Neighbours => twin.neighbours(bytes)?,
                Operation::InFlight => twin.in_flight(bytes)?,
                Operation::Threads(threads) => twin.threads(threads, bytes)?,
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

    /// The same by several threads of each rank, which work in pairs, each with a tag of its own.
    fn threads(&self, threads: usize, bytes: usize) -> Result<(), Error> {
        let (first, peer) = self.pair();
        let mut buffers = vec![vec![self.rank() as u8 + 1; bytes]; threads];
        let one = |data: &mut [u8], thread: u32| -> Result<(), ringworld::Error> {
            let (tag, answer) = (2 * thread, 2 * thread + 1);
            for _ in 0..PER_THREAD {
                if first {
                    self.world.send(data, peer, tag)?;
                } else {
                    self.world.recv(data, peer, tag)?;
                }
            }
            let mut byte = [1u8];
            if first {
                self.world.recv(&mut byte, peer, answer).map(drop)
            } else {
                self.world.send(&byte, peer, answer)
            }
        };
        self.measure((Operation::Threads(threads), bytes), |check| {
            std::thread::scope(|scope| {
                let each =
                    (0..).zip(&mut buffers).map(|(thread, data)| scope.spawn(move || one(data, thread)));
                let each: Vec<_> = each.collect();
                each.into_iter().try_for_each(|each| {
                    each.join().map_err(|_| "a thread has panicked")?.map_err(Error::from)
                })
            })?;
            let right = |data: &Vec<u8>| verify(check && !first, data, |_| peer as u8 + 1);
            buffers.iter().try_for_each(right)
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

    fn all_reduce(&self, bytes: usize, op: Op) -> Result<(), Error> {
        let (operation, divisor) = match op {
            Op::Average => (Operation::Average, self.size() as f32),
            _ => (Operation::AllReduce, 1.0),
        };
        let send = vec![self.rank() as f32 + 1.0; bytes / 4];
        let mut recv = vec![-1f32; bytes / 4];
        self.measure((operation, bytes), |check| {
            self.world.all_reduce_into(&send, &mut recv, op)?;
            verify(check, &recv, |_| sum_of_ranks(self.size()) / divisor)
        })
    }

    /// From here on one root all the time, which may run ahead of the others or fall behind them.
    fn rooted_broadcast(&self, bytes: usize) -> Result<(), Error> {
        let mut data = vec![self.rank() as u8 + 1; bytes];
        self.measure((Operation::RootedBroadcast, bytes), |check| {
            self.world.broadcast(&mut data, ROOT)?;
            verify(check, &data, |_| ROOT as u8 + 1)
        })
    }

    /// What only the root receives.
    fn at_root<T>(&self, elements: Vec<T>) -> Vec<T> {
        if self.rank() == ROOT { elements } else { Vec::new() }
    }

    fn reduce(&self, bytes: usize) -> Result<(), Error> {
        let send = vec![self.rank() as f32 + 1.0; bytes / 4];
        let mut recv = self.at_root(vec![-1f32; bytes / 4]);
        self.measure((Operation::Reduce, bytes), |check| {
            self.world.reduce_into(&send, &mut recv, Op::Sum, ROOT)?;
            verify(check, &recv, |_| sum_of_ranks(self.size()))
        })
    }

    fn gather(&self, bytes: usize) -> Result<(), Error> {
        let block = block(bytes, self.size());
        let send = vec![self.rank() as f32 + 1.0; block];
        let mut recv = self.at_root(vec![-1f32; block * self.size()]);
        self.measure((Operation::Gather, bytes), |check| {
            self.world.gather(&send, &mut recv, ROOT)?;
            verify(check, &recv, |i| (i / block) as f32 + 1.0)
        })
    }

    fn scatter(&self, bytes: usize) -> Result<(), Error> {
        let block = block(bytes, self.size());
        let send = self.at_root((0..block * self.size()).map(|i| (i / block) as f32 + 1.0).collect());
        let mut recv = vec![-1f32; block];
        self.measure((Operation::Scatter, bytes), |check| {
            self.world.scatter(&send, &mut recv, ROOT)?;
            verify(check, &recv, |_| self.rank() as f32 + 1.0)
        })
    }

    /// An all-reduce on each of several communicators in turn.
    fn communicators(&self, bytes: usize) -> Result<(), Error> {
        let send = vec![self.rank() as f32 + 1.0; bytes / 4];
        let mut recv = vec![-1f32; bytes / 4];
        let several: Vec<Communicator> =
            (0..COMMUNICATORS).map(|_| self.world.duplicate()).collect::<Result<_, _>>()?;
        let mut turn = several.iter().cycle();
        self.measure((Operation::Communicators, bytes), |check| {
            let communicator = turn.next().ok_or("there is no communicator")?;
            communicator.all_reduce_into(&send, &mut recv, Op::Sum)?;
            verify(check, &recv, |_| sum_of_ranks(self.size()))
        })
    }

    /// What the first rank makes goes through all others; nobody answers.
    fn pipeline(&self, bytes: usize) -> Result<(), Error> {
        let (rank, last) = (self.rank(), self.size() - 1);
        let mut data = vec![rank as u8 + 1; bytes];
        self.measure((Operation::Pipeline, bytes), |check| {
            if rank > 0 {
                self.world.recv(&mut data, rank - 1, DATA)?;
            }
            if rank < last {
                self.world.send(&data, rank + 1, DATA)?;
            }
            verify(check, &data, |_| 1)
        })
    }

    /// Rank 0 sends whatever comes back to whoever sent it; every other rank makes one request.
    fn server(&self, bytes: usize) -> Result<(), Error> {
        let own = self.rank() as u8 + 1;
        let send = vec![own; bytes];
        let mut recv = vec![u8::MAX; bytes];
        let mut turn = 0;
        self.measure((Operation::Server, bytes), |check| {
            if self.rank() == ROOT {
                for _ in 1..self.size() {
                    let status = self.world.recv(&mut recv, Source::Any, Tag::Any)?;
                    self.world.send(&recv, status.source, status.tag)?;
                }
                return Ok(());
            }
            let tag = turn % REQUEST_TAGS;
            turn = tag + 1;
            self.world.send(&send, ROOT, tag)?;
            self.world.recv(&mut recv, ROOT, tag)?;
            verify(check, &recv, |_| own)
        })
    }

    /// One message to each side and one from each, all started before any is waited for.
    fn neighbours(&self, bytes: usize) -> Result<(), Error> {
        let (rank, size) = (self.rank(), self.size());
        let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
        let buffer = || vec![rank as u8 + 1; bytes];
        let mut spare = Some([buffer(), buffer(), buffer(), buffer()]);
        self.measure((Operation::Neighbours, bytes), |check| {
            let [from_left, from_right, to_left, to_right] = spare.take().ok_or("the buffers are gone")?;
            let from_left = self.world.start_recv(from_left, left, RIGHTWARD)?;
            let from_right = self.world.start_recv(from_right, right, LEFTWARD)?;
            let to_left = self.world.start_send(to_left, left, LEFTWARD)?;
            let to_right = self.world.start_send(to_right, right, RIGHTWARD)?;
            let ((from_left, _), (from_right, _)) = (from_left.wait()?, from_right.wait()?);
            verify(check, &from_left, |_| left as u8 + 1)?;
            verify(check, &from_right, |_| right as u8 + 1)?;
            spare = Some([from_left, from_right, to_left.wait()?, to_right.wait()?]);
            Ok(())
        })
    }

    /// The maximum, in place, stays what it is however often it is taken.
    fn in_flight(&self, bytes: usize) -> Result<(), Error> {
        let mut spare: Vec<Vec<f32>> = vec![vec![self.rank() as f32 + 1.0; bytes / 4]; IN_FLIGHT];
        let mut pending = Vec::with_capacity(IN_FLIGHT);
        self.measure((Operation::InFlight, bytes), |check| {
            for data in spare.drain(..) {
                pending.push(self.world.start_all_reduce(data, Op::Max)?);
            }
            for reduced in pending.drain(..) {
                let data = reduced.wait()?;
                verify(check, &data, |_| self.size() as f32)?;
                spare.push(data);
            }
            Ok(())
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
