//! Reduction kernels beside memcpy: bytes per second for each type, operation and shape.
//!
//! Bytes are those of one operand, as for the copy of the same size; a kernel reads one more stream than a
//! copy. Two sizes: 64 KiB, where all three slices lie in the L2 cache, and 64 MiB, where none lies in any.
//! `RINGWORLD_BENCH_ALL=1` measures every type and operation; otherwise a few that stand for the others.
//! `python3 benches/kernels.py` turns the results into a table of ratios.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::hint::black_box;
use std::time::Duration;

use bytemuck::Pod;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use ringworld::testing::Loops;
use ringworld::{Complex, Located, Op, Reducible, Reduction, UserOp, bf16, f16};

const SIZES: [(&str, usize); 2] = [("64KiB", 64 << 10), ("64MiB", 64 << 20)];

/// Memory for the three slices, written once, so that every page is there.
struct Memory([Vec<u128>; 3]);

impl Memory {
    fn new() -> Self {
        Self([1, 2, 3].map(|seed| vec![seed; SIZES[1].1 / 16]))
    }

    fn slices<T: Pod>(&mut self, bytes: usize, fill: impl Fn(usize) -> T) -> [&mut [T]; 3] {
        let mut seed = 0;
        self.0.each_mut().map(|memory| {
            let slice: &mut [T] = bytemuck::cast_slice_mut(&mut memory[..bytes / 16]);
            seed += 1;
            for (i, element) in slice.iter_mut().enumerate() {
                *element = fill(i * seed);
            }
            slice
        })
    }
}

type Group<'a> = BenchmarkGroup<'a, WallTime>;

fn one<T: Pod>(
    group: &mut Group<'_>,
    memory: &mut Memory,
    name: &str,
    op: impl Reduction<T> + Clone,
    fill: fn(usize) -> T,
) {
    let Ok(loops) = Loops::<T>::new(op) else { return };
    for (size, bytes) in SIZES {
        let [left, right, into] = memory.slices(bytes, fill);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(format!("{size}/{name}/left"), |b| {
            b.iter(|| loops.left(black_box(&mut *left), black_box(right)));
        });
        group.bench_function(format!("{size}/{name}/right"), |b| {
            b.iter(|| loops.right(black_box(left), black_box(&mut *right)));
        });
        group.bench_function(format!("{size}/{name}/apart"), |b| {
            b.iter(|| loops.apart(black_box(left), black_box(right), black_box(&mut *into)));
        });
    }
}

fn every<T: Reducible>(group: &mut Group<'_>, memory: &mut Memory, some: &[Op], fill: fn(usize) -> T) {
    let all = std::env::var_os("RINGWORLD_BENCH_ALL").is_some();
    for op in if all { &Op::ALL } else { some } {
        one::<T>(group, memory, &format!("{}/{op}", T::DTYPE), *op, fill);
    }
}

/// The copy to compare with; several times in a run, because the machine is not the same all the time.
fn copy(group: &mut Group<'_>, memory: &mut Memory, number: usize) {
    for (size, bytes) in SIZES {
        let [from, _, into] = memory.slices(bytes, |i| i as u64);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(format!("{size}/memcpy/{number}/apart"), |b| {
            b.iter(|| black_box(&mut *into).copy_from_slice(black_box(from)));
        });
    }
}

fn kernels(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernels");
    group
        .sample_size(15)
        .measurement_time(Duration::from_millis(150))
        .warm_up_time(Duration::from_millis(30));
    let (g, m) = (&mut group, &mut Memory::new());
    copy(g, m, 1);
    let some = [Op::Sum, Op::Min];
    every::<f32>(g, m, &some, |i| i as f32);
    every::<f64>(g, m, &some, |i| i as f64);
    every::<f16>(g, m, &some, |i| f16::from_f32((i % 997) as f32));
    every::<bf16>(g, m, &some, |i| bf16::from_f32((i % 997) as f32));
    copy(g, m, 2);
    let some = [Op::Sum, Op::Product, Op::Max, Op::LogicalAnd, Op::BitXor];
    every::<i8>(g, m, &some, |i| i as i8);
    every::<u8>(g, m, &[], |i| i as u8);
    every::<i16>(g, m, &[], |i| i as i16);
    every::<u16>(g, m, &[], |i| i as u16);
    every::<i32>(g, m, &some, |i| i as i32);
    every::<u32>(g, m, &[], |i| i as u32);
    every::<i64>(g, m, &some, |i| i as i64);
    every::<u64>(g, m, &[], |i| i as u64);
    every::<i128>(g, m, &[Op::Sum], |i| i as i128);
    every::<u128>(g, m, &[], |i| i as u128);
    copy(g, m, 3);
    let some = [Op::Sum, Op::Product, Op::MinLocation];
    every::<Complex<f32>>(g, m, &some, |i| Complex::new(i as f32, 1.0));
    every::<Complex<f64>>(g, m, &some, |i| Complex::new(i as f64, 1.0));
    every::<Located<f16, u16>>(g, m, &[], |i| Located::new(f16::from_f32((i % 997) as f32), i as u16));
    every::<Located<bf16, u16>>(g, m, &[], |i| Located::new(bf16::from_f32((i % 997) as f32), i as u16));
    every::<Located<i32, u32>>(g, m, &some, |i| Located::new((i % 997) as i32, i as u32));
    every::<Located<u32, u32>>(g, m, &[], |i| Located::new((i % 997) as u32, i as u32));
    every::<Located<f32, u32>>(g, m, &some, |i| Located::new((i % 997) as f32, i as u32));
    every::<Located<i64, u64>>(g, m, &[], |i| Located::new((i % 997) as i64, i as u64));
    every::<Located<u64, u64>>(g, m, &[], |i| Located::new((i % 997) as u64, i as u64));
    every::<Located<f64, u64>>(g, m, &some, |i| Located::new((i % 997) as f64, i as u64));
    let user = UserOp::new("saxpy-like", |a: f32, b: f32| a * 0.5 + b);
    one(g, m, "f32/user closure", user, |i| i as f32);
    copy(g, m, 4);
    group.finish();
}

criterion_group!(benches, kernels);
criterion_main!(benches);
