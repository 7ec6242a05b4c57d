//! Operations beyond the four: averages, factors, locations, and the user's own, over every wire.

use crate::common::{small, wires, world};
use bytemuck::Pod;
use ringworld::testing::Choice;
use ringworld::{Complex, Error, Located, Op, Options, Reducible, Scaled, UserOp, bf16, f16};
use ringworld_collectives::{Algorithm, Order};

const SIZES: [usize; 4] = [1, 2, 3, 5];
/// From one element to several segments.
const COUNTS: [usize; 4] = [0, 1, 130, 5_000];

fn tuned() -> Choice {
    let mut choice = small();
    choice.tuning.segment = 4096;
    choice
}

/// 2 x 2 matrices modulo a prime: associative, exact, and the order matters.
type Matrix = [u64; 4];
const PRIME: u64 = 1_000_003;

fn times(a: Matrix, b: Matrix) -> Matrix {
    let dot = |r: usize, c: usize| (a[r] * b[c] + a[r + 1] * b[c + 2]) % PRIME;
    [dot(0, 0), dot(0, 1), dot(2, 0), dot(2, 1)]
}

fn matrix(rank: usize, i: usize) -> Matrix {
    let x = (rank * 31 + i * 7) as u64;
    [x % 11 + 1, x % 5, x % 3, x % 13 + 2]
}

#[test]
fn user_operations_that_do_not_commute_keep_rank_order() {
    for wire in wires() {
        for size in SIZES {
            world(wire, size, &tuned(), |rank| {
                let op = UserOp::new("matrix product", times);
                for count in COUNTS {
                    let mine: Vec<Matrix> = (0..count).map(|i| matrix(rank.rank(), i)).collect();
                    let expected: Vec<Matrix> = (0..count)
                        .map(|i| (1..size).fold(matrix(0, i), |left, peer| times(left, matrix(peer, i))))
                        .collect();
                    let mut data = mine.clone();
                    rank.all_reduce(&mut data, &op).unwrap();
                    assert_eq!(data, expected, "all_reduce {wire:?} {size} {count}");
                    let mut data = mine.clone();
                    rank.reduce(&mut data, &op, size - 1).unwrap();
                    assert_eq!(data, if rank.rank() == size - 1 { expected } else { mine });
                }
            });
        }
    }
}

#[test]
fn user_operations_that_commute_agree_with_the_built_in_ones() {
    for wire in wires() {
        world(wire, 3, &tuned(), |rank| {
            let op = UserOp::new("my sum", |a: u32, b: u32| a.wrapping_add(b)).commutative();
            let mut mine: Vec<u32> = (0..20_000).map(|i| i * (rank.rank() as u32 + 1)).collect();
            let mut sum = mine.clone();
            rank.all_reduce(&mut mine, op.clone()).unwrap();
            rank.all_reduce(&mut sum, Op::Sum).unwrap();
            assert_eq!(mine, sum);
            let pending = rank.start_all_reduce(vec![1u32; 1000], &op).unwrap();
            assert_eq!(pending.wait().unwrap(), [3; 1000]);
        });
    }
}

#[test]
fn a_panic_of_a_user_operation_ends_the_world_with_its_name_and_words() {
    for wire in wires() {
        // The one rank that combines; without a control plane only it hears of its panic. That every rank
        // does is tested with processes.
        let results = world(wire, 2, &tuned(), |rank| {
            let op = UserOp::new("fragile", |a: i32, b: i32| {
                assert!(a == b, "{a} and {b} are out of luck");
                a
            });
            rank.reduce(&mut [rank.rank() as i32; 10], op, 0)
        });
        let error = results[0].as_ref().unwrap_err();
        assert!(matches!(error, Error::Panicked { .. }), "{wire:?}: {error}");
        let text = error.to_string();
        for part in ["\"fragile\" panicked on rank 0 on host0", "0 and 1 are out of luck", "reduce(10 x i32"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

#[test]
fn an_average_is_the_sum_divided_by_the_number_of_ranks() {
    for wire in wires() {
        for size in SIZES {
            world(wire, size, &tuned(), |rank| {
                let me = rank.rank() as f32;
                let sum = (0..size).sum::<usize>() as f32;
                let average = sum / size as f32;
                for count in COUNTS {
                    let mut data = vec![me; count];
                    rank.all_reduce(&mut data, Op::Average).unwrap();
                    assert_eq!(data, vec![average; count]);
                }
                let mut output = [f64::NAN; 7];
                rank.all_reduce_into(&[f64::from(me); 7], &mut output, Op::Average).unwrap();
                assert_eq!(output, [f64::from(sum) / size as f64; 7]);
                let mut halves = [f16::from_f32(me); 9];
                rank.all_reduce(&mut halves, Op::Average).unwrap();
                assert_eq!(halves, [f16::from_f32(average); 9]);
                let mut brains = [bf16::from_f32(me); 9];
                rank.all_reduce(&mut brains, Op::Average).unwrap();
                assert_eq!(brains, [bf16::from_f32(average); 9]);
                let mut complex = [Complex::new(me, -me); 5];
                rank.all_reduce(&mut complex, Op::Average).unwrap();
                assert_eq!(complex, [Complex::new(average, -average); 5]);
                let mut block = [0f32; 2];
                rank.reduce_scatter(&vec![me; 2 * size], &mut block, Op::Average).unwrap();
                assert_eq!(block, [average; 2]);
                let mut data = [me; 3];
                rank.reduce(&mut data, Op::Average, 0).unwrap();
                assert_eq!(data, [if rank.rank() == 0 { average } else { me }; 3]);
            });
        }
    }
}

/// What follows the sum of one element, as it is documented.
trait Completed: Pod + Reducible {
    fn draw(rank: usize, index: usize) -> Self;
    fn over(self, ranks: usize) -> Self;
    fn times(self, factor: f64) -> Self;
}

fn bits<T: Pod>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

fn fraction(rank: usize, index: usize) -> f64 {
    1.0 / ((rank * 7 + index * 3) % 101 + 3) as f64
}

macro_rules! completed {
    ($($type:ty: $over:expr, $times:expr, $from:expr;)*) => {$(
        impl Completed for $type {
            fn draw(rank: usize, index: usize) -> Self {
                $from(fraction(rank, index))
            }
            fn over(self, ranks: usize) -> Self {
                $over(self, ranks as f32)
            }
            fn times(self, factor: f64) -> Self {
                $times(self, factor)
            }
        }
    )*};
}

completed! {
    f32: |x: f32, n| x / n, |x: f32, f| (f64::from(x) * f) as f32, |x| x as f32;
    f64: |x: f64, n| x / f64::from(n), |x: f64, f| x * f, |x| x;
    f16: |x: f16, n| f16::from_f32(x.to_f32() / n),
        |x: f16, f| f16::from_f32((f64::from(x.to_f32()) * f) as f32), f16::from_f64;
    bf16: |x: bf16, n| bf16::from_f32(x.to_f32() / n),
        |x: bf16, f| bf16::from_f32((f64::from(x.to_f32()) * f) as f32), bf16::from_f64;
    Complex<f32>: |x: Complex<f32>, n| Complex::new(x.re / n, x.im / n),
        |x: Complex<f32>, f| Complex::new((f64::from(x.re) * f) as f32, (f64::from(x.im) * f) as f32),
        |x: f64| Complex::new(x as f32, -x as f32);
}

/// Calls `reduce` with the sum, the average and factors: what comes out must be the sum, completed once.
fn completes_once<T: Completed>(what: &str, size: usize, reduce: impl Fn(&mut Vec<T>, Scaled) -> bool) {
    let run = |op: Scaled| {
        let mut result = Vec::new();
        reduce(&mut result, op).then_some(result)
    };
    let Some(sum) = run(Op::Sum.scaled(1.0, 1.0)) else {
        run(Op::Average.scaled(1.0, 1.0));
        run(Op::Average.scaled(1.0, 0.3));
        run(Op::Sum.scaled(1.0, 0.3));
        return;
    };
    let same = |op: Scaled, expected: Vec<T>| {
        let found = run(op).unwrap();
        assert!(bits(&found) == bits(&expected), "{what}: {op:?} of {} elements", found.len());
    };
    same(Op::Average.scaled(1.0, 1.0), sum.iter().map(|x| x.over(size)).collect());
    same(Op::Average.scaled(1.0, 0.3), sum.iter().map(|x| x.over(size).times(0.3)).collect());
    same(Op::Sum.scaled(1.0, 0.3), sum.iter().map(|x| x.times(0.3)).collect());
}

fn all_algorithms<T: Completed>(size: usize) {
    world(wires()[0], size, &tuned(), |rank| {
        let me = rank.rank();
        let draw = |count: usize| -> Vec<T> { (0..count).map(|i| T::draw(me, i)).collect() };
        for algorithm in Algorithm::ALL {
            let path = algorithm.path();
            let c = rank.with(&Options::new().algorithm(path).unwrap());
            let strict =
                (algorithm.order(size) == Order::Left).then(|| c.with(&Options::new().reproducible(true)));
            let ways = [Some(&c), strict.as_ref()].into_iter().flatten();
            for (c, count) in ways.flat_map(|c| COUNTS.map(|count| (c, count))) {
                let what = format!("{path}, rank {me} of {size}");
                match algorithm.collective() {
                    "all-reduce" => completes_once::<T>(&what, size, |result, op| {
                        *result = draw(count);
                        c.all_reduce(result, op).unwrap();
                        true
                    }),
                    "reduce" => {
                        let root = count % size;
                        completes_once::<T>(&what, size, |result, op| {
                            *result = draw(count);
                            c.reduce(result, op, root).unwrap();
                            let kept = bits(result) == bits(&draw(count));
                            assert!(me == root || kept, "{what}: changed off the root");
                            me == root
                        });
                    }
                    "reduce-scatter" => completes_once::<T>(&what, size, |result, op| {
                        *result = vec![T::zeroed(); count];
                        c.reduce_scatter(&draw(count * size), result, op).unwrap();
                        true
                    }),
                    "scan" => completes_factor::<T>(&what, |result, op| {
                        *result = draw(count);
                        c.scan(result, op).unwrap();
                    }),
                    "exclusive-scan" if me > 0 => completes_factor::<T>(&what, |result, op| {
                        *result = draw(count);
                        c.exclusive_scan(result, op).unwrap();
                    }),
                    "exclusive-scan" => {
                        c.exclusive_scan(&mut draw(count), Op::Sum.scaled(1.0, 1.0)).unwrap();
                        c.exclusive_scan(&mut draw(count), Op::Sum.scaled(1.0, 0.3)).unwrap();
                    }
                    _ => {}
                }
            }
        }
    });
}

/// Of prefixes there is no average, only a factor.
fn completes_factor<T: Completed>(what: &str, scan: impl Fn(&mut Vec<T>, Scaled)) {
    let (mut sum, mut scaled) = (Vec::new(), Vec::new());
    scan(&mut sum, Op::Sum.scaled(1.0, 1.0));
    scan(&mut scaled, Op::Sum.scaled(1.0, 0.3));
    for x in &mut sum {
        *x = x.times(0.3);
    }
    assert!(bits(&sum) == bits(&scaled), "{what}: {} elements", sum.len());
}

#[test]
fn averages_and_factors_are_the_sum_completed_once_whatever_the_algorithm() {
    for size in [1, 2, 3, 4, 5, 8] {
        all_algorithms::<f32>(size);
    }
    for size in [2, 3] {
        all_algorithms::<f64>(size);
        all_algorithms::<f16>(size);
        all_algorithms::<bf16>(size);
        all_algorithms::<Complex<f32>>(size);
    }
}

#[test]
fn factors_multiply_before_and_after() {
    for wire in wires() {
        for size in SIZES {
            world(wire, size, &tuned(), |rank| {
                let n = size as f32;
                // Without the factor before, the sum would overflow.
                let mut data = [f16::from_f32(60_000.0); 5];
                rank.all_reduce(&mut data, Op::Sum.scaled(1.0 / 64.0, 0.5)).unwrap();
                assert_eq!(data, [f16::from_f32(60_000.0 / 128.0 * n); 5]);
                let input = [Complex::new(1f64, 2.0); 3];
                let mut output = [Complex::new(0.0, 0.0); 3];
                rank.all_reduce_into(&input, &mut output, Op::Average.scaled(3.0, 2.0)).unwrap();
                assert_eq!((input[0], output), (Complex::new(1.0, 2.0), [Complex::new(6.0, 12.0); 3]));
                let pending = rank.start_all_reduce(vec![1f32; 5_000], Op::Sum.scaled(2.0, 0.25)).unwrap();
                assert_eq!(pending.wait().unwrap(), vec![n / 2.0; 5_000]);
                let mut data = [1f32];
                rank.reduce(&mut data, Op::Sum.scaled(1.0, 4.0), 0).unwrap();
                assert_eq!(data, [if rank.rank() == 0 { 4.0 * n } else { 1.0 }]);
            });
        }
    }
}

#[test]
fn the_best_value_is_found_with_its_smallest_index() {
    for wire in wires() {
        for size in SIZES {
            world(wire, size, &tuned(), |rank| {
                let me = rank.rank() as u64;
                // Every rank has the same value, except that the last one is NaN in the second element.
                let last = if rank.rank() == size - 1 { f64::NAN } else { 1.0 };
                let mine = [Located::new(7.0, me + 3), Located::new(last, me), Located::new(me as f64, me)];
                let (mut min, mut max) = (mine, mine);
                rank.all_reduce(&mut min, Op::MinLocation).unwrap();
                rank.all_reduce(&mut max, Op::MaxLocation).unwrap();
                let top = size as u64 - 1;
                assert_eq!((min[0], max[0]), (Located::new(7.0, 3), Located::new(7.0, 3)));
                assert!(min[1].value().is_nan() && max[1].value().is_nan());
                assert_eq!((min[1].index(), max[1].index()), (top, top));
                assert_eq!((min[2], max[2]), (Located::new(0.0, 0), Located::new(top as f64, top)));
            });
        }
    }
}

#[test]
fn logical_results_are_zero_or_one_in_a_world_of_any_size() {
    for wire in wires() {
        for size in SIZES {
            world(wire, size, &tuned(), |rank| {
                let mine = [5u8, 0, if rank.rank() == 0 { 9 } else { 0 }];
                let result = |op| {
                    let mut data = mine;
                    rank.all_reduce(&mut data, op).unwrap();
                    data
                };
                let (one, odd) = (u8::from(size == 1), (size % 2) as u8);
                assert_eq!(result(Op::LogicalAnd), [1, 0, one], "{wire:?} {size}");
                assert_eq!(result(Op::LogicalOr), [1, 0, 1], "{wire:?} {size}");
                assert_eq!(result(Op::LogicalXor), [odd, 0, 1], "{wire:?} {size}");
                // A prefix of one rank is combined with nothing, and a truth value all the same.
                let mut prefix = mine;
                rank.scan(&mut prefix, Op::LogicalOr).unwrap();
                assert_eq!(prefix, [1, 0, 1], "{wire:?} {size}");
                let mut before = mine;
                rank.exclusive_scan(&mut before, Op::LogicalOr).unwrap();
                assert_eq!(before, if rank.rank() == 0 { mine } else { [1, 0, 1] }, "{wire:?} {size}");
            });
        }
    }
}

#[test]
fn an_operation_that_a_type_does_not_have_is_refused_with_what_it_has() {
    let rank = ringworld::testing::alone();
    let text = |result: ringworld::Result<()>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::UnsupportedOp { .. }), "{error:?}");
        error.to_string()
    };
    let said = text(rank.all_reduce(&mut [1f32], Op::BitAnd));
    assert!(said.contains("all_reduce: bit and is not defined for elements of type f32"), "{said}");
    assert!(said.contains("f32 has sum, product, min, max, average; anything else is a"), "{said}");
    let said = text(rank.all_reduce(&mut [1i64], Op::Average));
    assert!(said.contains("take the sum, or convert to a floating-point type first"), "{said}");
    let said = text(rank.all_reduce(&mut [Located::new(1i32, 2u32)], Op::Sum));
    assert!(said.contains("Located<i32, u32> has min location, max location"), "{said}");
    let said = text(rank.all_reduce(&mut [1u8], Op::MinLocation));
    assert!(said.contains("min location is for ringworld::Located"), "{said}");
    let said = text(rank.all_reduce(&mut [Complex::new(1f32, 0.0)], Op::Max));
    assert!(said.contains("Complex<f32> has sum, product, average"), "{said}");
    let said = text(rank.all_reduce(&mut [1i32], Op::Sum.scaled(2.0, 1.0)));
    assert!(said.contains("factors are for f16, bf16, f32, f64 and complex numbers"), "{said}");
    let said = text(rank.all_reduce(&mut [1f32], Op::Sum.scaled(f64::NAN, 1.0)));
    assert!(said.contains("finite"), "{said}");
    let said = text(rank.reduce(&mut [1f32], Op::Sum.scaled(2.0, 1.0), 0));
    assert!(said.contains("is for all-reduce"), "{said}");
    // Nothing was sent: the world goes on.
    rank.barrier().unwrap();
}

#[test]
fn ranks_that_disagree_about_a_user_operation_find_out() {
    let told = |body: &(dyn Fn(&ringworld::Communicator) -> ringworld::Result<()> + Sync), words: &[&str]| {
        for wire in wires() {
            let results = world(wire, 2, &tuned(), |rank| body(rank));
            let errors: Vec<_> = results.into_iter().filter_map(Result::err).collect();
            let found =
                errors.iter().map(Error::to_string).any(|text| words.iter().all(|w| text.contains(w)));
            assert!(found, "{wire:?}: {errors:?}");
        }
    };
    told(
        &|rank| {
            let name = if rank.rank() == 0 { "left" } else { "right" };
            rank.all_reduce(&mut [1f32; 5], UserOp::new(name, |a: f32, _: f32| a))
        },
        &["disagree", "user op", "\"left\"", "\"right\"", "5 x f32"],
    );
    told(
        &|rank| match rank.rank() {
            0 => rank.all_reduce(&mut [[1u8; 3]; 4], UserOp::new("same", |a: [u8; 3], _: [u8; 3]| a)),
            _ => rank.all_reduce(&mut [[1u8; 5]; 4], UserOp::new("same", |a: [u8; 5], _: [u8; 5]| a)),
        },
        &["opaque element of 3 bytes", "opaque element of 5 bytes"],
    );
    told(
        &|rank| rank.all_reduce(&mut [1f32; 5], Op::Sum.scaled(1.0, 1.0 / (rank.rank() + 2) as f64)),
        &["disagree", "sum with factors"],
    );
}

#[test]
fn elements_aligned_beyond_scratch_memory_are_refused() {
    #[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
    #[repr(C, align(128))]
    struct Wide([u8; 128]);
    let rank = ringworld::testing::alone();
    let result = rank.all_reduce(&mut [Wide([0; 128])], UserOp::new("first", |a: Wide, _: Wide| a));
    assert!(result.unwrap_err().to_string().contains("aligned to 128 bytes"));
}

#[test]
fn a_closure_or_a_function_is_an_operation_and_keeps_rank_order() {
    for wire in wires() {
        for size in SIZES {
            world(wire, size, &tuned(), |rank| {
                let mine = rank.rank() as f32;
                let mut data = [mine, -mine];
                rank.all_reduce(&mut data, f32::max).unwrap();
                assert_eq!(data, [(size - 1) as f32, 0.0], "{wire:?}");
                let modulus = PRIME;
                let (mut data, expected) = (
                    [matrix(rank.rank(), 0)],
                    (1..size).fold(matrix(0, 0), |left, peer| times(left, matrix(peer, 0))),
                );
                // It borrows nothing: what it captures is its own.
                let product = move |a: Matrix, b: Matrix| times(a, b).map(|x| x % modulus);
                rank.all_reduce(&mut data, product).unwrap();
                assert_eq!(data, [expected], "{wire:?}");
                let pending = rank.start_all_reduce(vec![matrix(rank.rank(), 0)], product).unwrap();
                assert_eq!(pending.wait().unwrap(), [expected], "{wire:?}");
                let (mut first, mut second) = (vec![mine; 3], vec![mine; 40_000]);
                rank.all_reduce_many(&mut [&mut first, &mut second], |a: f32, b: f32| a.min(b)).unwrap();
                assert_eq!((first[2], second[39_999]), (0.0, 0.0), "{wire:?}");
            });
        }
    }
}

#[test]
fn a_closure_that_panics_is_named_by_its_place_in_the_program() {
    for wire in wires() {
        let results = world(wire, 2, &tuned(), |rank| {
            rank.all_reduce(&mut [1i32], |_: i32, _: i32| panic!("no sum today"))
        });
        for error in results.into_iter().map(Result::unwrap_err) {
            let said = error.to_string();
            assert!(matches!(error, Error::Panicked { .. }), "{wire:?}: {said}");
            assert!(said.contains("a_closure_that_panics") && said.contains("no sum today"), "{said}");
        }
    }
}

#[test]
fn truths_are_combined() {
    for wire in wires() {
        world(wire, 3, &tuned(), |rank| {
            let last = rank.rank() == 2;
            assert!(rank.all_true(true).unwrap() && !rank.all_true(last).unwrap());
            assert!(rank.any_true(last).unwrap() && !rank.any_true(false).unwrap());
        });
    }
}
