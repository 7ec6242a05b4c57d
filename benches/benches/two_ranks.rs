//! Two ranks as threads over loopback TCP: ping-pong, blocking and awaited, and all-reduce, 8 B to 64 MiB, and what an
//! average costs beside a sum.
//!
//! The second rank follows the first: before each batch it is told what to do and how often.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ringworld::Op;
use ringworld::testing::{self, Choice, Rank};
use ringworld_transport::Transport;
use ringworld_transport_tcp::{Config, Tcp};

const SIZES: [usize; 8] = [8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20];
/// The tag of orders to the second rank; pings have tag 0.
const ORDER: u32 = 1;

#[derive(Clone, Copy)]
enum Work {
    PingPong = 0,
    AllReduce = 1,
    Sum = 2,
    Average = 3,
    Awaited = 4,
    Stop = 5,
}

const MEASURED: [(&str, Work); 5] = [
    ("ping-pong", Work::PingPong),
    ("all-reduce", Work::AllReduce),
    ("all-reduce, sum", Work::Sum),
    ("all-reduce, average", Work::Average),
    ("ping-pong, awaited", Work::Awaited),
];

fn pair() -> [Rank; 2] {
    let mut ends =
        [0, 1].map(|rank| Tcp::bind(Config::new(rank, 2, 1, vec![[127, 0, 0, 1].into()])).unwrap());
    let addresses = [0, 1].map(|rank: usize| ends[rank].address());
    ends[0].connect(1, &addresses[1]).unwrap();
    ends[1].connect(0, &addresses[0]).unwrap();
    let choice = Choice { spin: Duration::from_micros(100), ..Choice::default() };
    let mut rank = 0;
    ends.map(|end| {
        rank += 1;
        testing::rank(rank - 1, 2, Some(Box::new(end)), choice.clone())
    })
}

fn perform(rank: &Rank, work: Work, bytes: usize, times: u64, buffer: &mut [u8]) {
    let peer = 1 - rank.rank();
    match work {
        Work::PingPong => {
            let buffer = &mut buffer[..bytes];
            for _ in 0..times {
                if rank.rank() == 0 {
                    rank.send(buffer, peer, 0).unwrap();
                    rank.recv(buffer, peer, 0).unwrap();
                } else {
                    rank.recv(buffer, peer, 0).unwrap();
                    rank.send(buffer, peer, 0).unwrap();
                }
            }
        }
        Work::AllReduce => {
            let mut data = vec![1f32; bytes / 4];
            for _ in 0..times {
                rank.all_reduce(&mut data, Op::Max).unwrap();
            }
        }
        Work::Sum => apart(rank, Op::Sum, bytes, times),
        Work::Average => apart(rank, Op::Average, bytes, times),
        Work::Awaited => {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(awaited(rank, peer, bytes, times));
        }
        Work::Stop => {}
    }
}

/// As a task of an executor: each message is a future.
async fn awaited(rank: &Rank, peer: usize, bytes: usize, times: u64) {
    let mut data = vec![0u8; bytes];
    for _ in 0..times {
        if rank.rank() == 0 {
            data = rank.start_send(data, peer, 0).unwrap().await.unwrap();
        }
        data = rank.start_recv(data, peer, 0).unwrap().await.unwrap().0;
        if rank.rank() == 1 {
            data = rank.start_send(data, peer, 0).unwrap().await.unwrap();
        }
    }
}

/// Into a buffer of its own: in place, sums would grow beyond what is finite.
fn apart(rank: &Rank, op: Op, bytes: usize, times: u64) {
    let data = vec![1f32; bytes / 4];
    let mut reduced = data.clone();
    for _ in 0..times {
        rank.all_reduce_into(&data, &mut reduced, op).unwrap();
    }
}

fn follow(rank: &Rank) {
    let mut buffer = vec![0u8; SIZES[SIZES.len() - 1]];
    loop {
        let mut order = [0u64; 3];
        rank.recv(&mut order, 0, ORDER).unwrap();
        let Some(&(_, work)) = MEASURED.get(order[0] as usize) else { return };
        perform(rank, work, order[1] as usize, order[2], &mut buffer);
    }
}

fn two_ranks(criterion: &mut Criterion) {
    let [first, second] = pair();
    let mut buffer = vec![0u8; SIZES[SIZES.len() - 1]];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            follow(&second);
            drop(second);
        });
        for (name, work) in MEASURED {
            let mut group = criterion.benchmark_group(name);
            group
                .sample_size(10)
                .measurement_time(Duration::from_secs(1))
                .warm_up_time(Duration::from_millis(200));
            for bytes in SIZES {
                group.throughput(Throughput::Bytes(bytes as u64));
                group.bench_function(BenchmarkId::from_parameter(bytes), |bencher| {
                    bencher.iter_custom(|times| {
                        first.send(&[work as u64, bytes as u64, times], 1, ORDER).unwrap();
                        let start = Instant::now();
                        perform(&first, work, bytes, times, &mut buffer);
                        start.elapsed()
                    });
                });
            }
            group.finish();
        }
        first.send(&[Work::Stop as u64, 0, 0], 1, ORDER).unwrap();
        drop(first);
    });
}

criterion_group!(benches, two_ranks);
criterion_main!(benches);
