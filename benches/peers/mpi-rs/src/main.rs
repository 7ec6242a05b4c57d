//! The measuring program of `mpi-rs`: the twin of `benches/src/bin/twin.rs`.
//!
//! Same rules (`benches/peers/README.md`) and the same schedule, taken from the workspace by path. `mpi-rs`
//! keeps the interface of rsmpi, which panics on an error: a panic ends the job with a non-zero exit.

use std::process::ExitCode;
use std::time::Duration;

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

#[path = "../../../src/schedule.rs"]
#[allow(dead_code, reason = "the list of sizes is of use to others")]
mod schedule;

use schedule::{Error, Operation, Ranks, Request, block, measure, sum_of_ranks, verify, window};

const DATA: i32 = 0;
const ACKNOWLEDGEMENT: i32 = 1;

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
    let universe =
        mpi::initialize().ok_or("mpi-rs could not be initialised; start this through mpiexec-mpi-rs")?;
    let world = universe.world();
    let Request::Measure { operations, sizes: (min, max), budget } = request else {
        world.barrier();
        return Ok(());
    };
    let twin = Twin { world: &world, budget };
    for operation in operations {
        if operation.in_pairs() && !twin.size().is_multiple_of(2) {
            return Err(
                format!("{} takes an even number of ranks, not {}", operation.name(), twin.size()).into()
            );
        }
        for bytes in operation.sizes(min, max) {
            twin.run(operation, bytes)?;
        }
    }
    Ok(())
}

struct Twin<'a> {
    world: &'a SimpleCommunicator,
    budget: Duration,
}

impl Ranks for Twin<'_> {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn barrier(&self) -> Result<(), Error> {
        self.world.barrier();
        Ok(())
    }

    fn of_first(&self, mut numbers: [u64; 2]) -> Result<[u64; 2], Error> {
        self.world.process_at_rank(0).broadcast_into(&mut numbers[..]);
        Ok(numbers)
    }

    fn largest(&self, number: f64) -> Result<f64, Error> {
        Ok(self.reduced(number, SystemOperation::max()))
    }

    fn total(&self, number: f64) -> Result<f64, Error> {
        Ok(self.reduced(number, SystemOperation::sum()))
    }
}

impl Twin<'_> {
    fn reduced(&self, number: f64, operation: SystemOperation) -> f64 {
        let mut result = 0.0;
        let root = self.world.process_at_rank(0);
        if self.rank() == 0 {
            root.reduce_into_root(&number, &mut result, operation);
        } else {
            root.reduce_into(&number, operation);
        }
        result
    }

    fn run(&self, operation: Operation, bytes: usize) -> Result<(), Error> {
        let what = (operation, bytes);
        match operation {
            Operation::PingPong => self.ping_pong(what),
            Operation::Stream => self.stream(what),
            Operation::Bidirectional => self.bidirectional(what),
            Operation::Rate => self.rate(what),
            Operation::Barrier => self.measure(what, |_| {
                self.world.barrier();
                Ok(())
            }),
            Operation::Broadcast => self.broadcast(what),
            Operation::AllReduce
            | Operation::AllGather
            | Operation::ReduceScatter
            | Operation::AllToAll => self.blocks(what),
            other => Err(format!("{} is not measured with mpi-rs", other.name()).into()),
        }
    }

    fn measure(
        &self,
        what: (Operation, usize),
        iteration: impl FnMut(bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        measure(self, what, self.budget, iteration)
    }

    /// Whether this rank is the first of its pair, and the other one.
    fn pair(&self) -> (bool, i32) {
        (self.rank().is_multiple_of(2), self.world.rank() ^ 1)
    }

    fn ping_pong(&self, what: (Operation, usize)) -> Result<(), Error> {
        let (first, other) = self.pair();
        let peer = self.world.process_at_rank(other);
        let send = vec![self.rank() as u8 + 1; what.1];
        let mut recv = vec![u8::MAX; what.1];
        self.measure(what, |check| {
            if first {
                peer.send_with_tag(&send[..], DATA);
                peer.receive_into_with_tag(&mut recv[..], DATA);
            } else {
                peer.receive_into_with_tag(&mut recv[..], DATA);
                peer.send_with_tag(&send[..], DATA);
            }
            verify(check, &recv, |_| other as u8 + 1)
        })
    }

    fn stream(&self, what: (Operation, usize)) -> Result<(), Error> {
        let (first, other) = self.pair();
        let mut buffers = self.buffers(what.1);
        self.measure(what, |check| {
            if first {
                self.exchange(&buffers, &mut []);
            } else {
                self.exchange(&[], &mut buffers);
                self.verify_all(check, &buffers, other)?;
            }
            self.acknowledge();
            Ok(())
        })
    }

    fn bidirectional(&self, what: (Operation, usize)) -> Result<(), Error> {
        let (_, other) = self.pair();
        let (sent, mut received) = (self.buffers(what.1), self.buffers(what.1));
        self.measure(what, |check| {
            self.exchange(&sent, &mut received);
            self.verify_all(check, &received, other)
        })
    }

    fn rate(&self, what: (Operation, usize)) -> Result<(), Error> {
        let (first, other) = self.pair();
        let peer = self.world.process_at_rank(other);
        let mut data = vec![self.rank() as u8 + 1; what.1];
        self.measure(what, |check| {
            for _ in 0..window(what.1) {
                if first {
                    peer.send_with_tag(&data[..], DATA);
                } else {
                    peer.receive_into_with_tag(&mut data[..], DATA);
                }
            }
            self.acknowledge();
            verify(check && !first, &data, |_| other as u8 + 1)
        })
    }

    /// A window of messages, each in memory of its own.
    fn buffers(&self, bytes: usize) -> Vec<Vec<u8>> {
        (0..window(bytes)).map(|_| vec![self.rank() as u8 + 1; bytes]).collect()
    }

    /// Starts all receives, then all sends, and waits for them.
    fn exchange(&self, sends: &[Vec<u8>], receives: &mut [Vec<u8>]) {
        let peer = self.world.process_at_rank(self.pair().1);
        mpi::request::scope(|scope| {
            let mut pending = Vec::with_capacity(sends.len() + receives.len());
            for data in receives {
                pending.push(peer.immediate_receive_into_with_tag(scope, &mut data[..], DATA));
            }
            let mut sending = Vec::with_capacity(sends.len());
            for data in sends {
                sending.push(peer.immediate_send_with_tag(scope, &data[..], DATA));
            }
            for request in pending {
                request.wait();
            }
            for request in sending {
                request.wait();
            }
        });
    }

    fn verify_all(&self, check: bool, received: &[Vec<u8>], other: i32) -> Result<(), Error> {
        received.iter().try_for_each(|data| verify(check, data, |_| other as u8 + 1))
    }

    /// One byte from the second of a pair to the first.
    fn acknowledge(&self) {
        let (first, other) = self.pair();
        let peer = self.world.process_at_rank(other);
        let mut byte = [1u8];
        if first {
            peer.receive_into_with_tag(&mut byte[..], ACKNOWLEDGEMENT);
        } else {
            peer.send_with_tag(&byte[..], ACKNOWLEDGEMENT);
        }
    }

    fn broadcast(&self, what: (Operation, usize)) -> Result<(), Error> {
        let mut data = vec![self.rank() as u8 + 1; what.1];
        let mut iteration = 0;
        self.measure(what, |check| {
            let root = iteration % self.size();
            iteration += 1;
            self.world.process_at_rank(root as i32).broadcast_into(&mut data[..]);
            verify(check, &data, |_| root as u8 + 1)
        })
    }

    /// The collectives on vectors of f32: what goes in and comes out, in elements, and the call.
    fn blocks(&self, what: (Operation, usize)) -> Result<(), Error> {
        let (size, own) = (self.size(), self.rank() as f32 + 1.0);
        let block = block(what.1, size);
        let (sent, received) = match what.0 {
            Operation::AllGather => (block, block * size),
            Operation::ReduceScatter => (block * size, block),
            Operation::AllToAll => (block * size, block * size),
            _ => (what.1 / 4, what.1 / 4),
        };
        let (send, mut recv) = (vec![own; sent], vec![-1f32; received]);
        self.measure(what, |check| {
            match what.0 {
                Operation::AllGather => self.world.all_gather_into(&send[..], &mut recv[..]),
                Operation::AllToAll => self.world.all_to_all_into(&send[..], &mut recv[..]),
                Operation::ReduceScatter => {
                    self.world.reduce_scatter_block_into(&send[..], &mut recv[..], SystemOperation::sum());
                }
                _ => self.world.all_reduce_into(&send[..], &mut recv[..], SystemOperation::sum()),
            }
            verify(check, &recv, |i| match what.0 {
                Operation::AllGather | Operation::AllToAll => (i / block) as f32 + 1.0,
                _ => sum_of_ranks(size),
            })
        })
    }
}
