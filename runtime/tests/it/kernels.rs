//! Every kernel agrees with one element at a time: every type, operation and shape, odd lengths included.
//!
//! The oracles are written apart from the kernels, as plainly as the documentation says it. Results must
//! have the same bits, except that a NaN made of two NaNs may have the payload of either.

use bytemuck::Pod;
use proptest::prelude::*;
use ringworld::testing::{Loops, alone};
use ringworld::{Complex, Located, Op, Reducible, UserOp, bf16, f16};

/// What an operation means for one pair of elements.
trait Oracle: Reducible {
    fn oracle(op: Op, a: Self, b: Self) -> Option<Self>;
    /// The bits, with every NaN that has no payload of its own made the same.
    fn comparable(self) -> Vec<u8> {
        bytemuck::bytes_of(&self).to_vec()
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Oracle for $type {
            fn oracle(op: Op, a: Self, b: Self) -> Option<Self> {
                let truth = |truth: bool| if truth { 1 } else { 0 };
                Some(match op {
                    Op::Sum => a.wrapping_add(b),
                    Op::Product => a.wrapping_mul(b),
                    Op::Min => a.min(b),
                    Op::Max => a.max(b),
                    Op::LogicalAnd => truth(a != 0 && b != 0),
                    Op::LogicalOr => truth(a != 0 || b != 0),
                    Op::LogicalXor => truth((a != 0) != (b != 0)),
                    Op::BitAnd => a & b,
                    Op::BitOr => a | b,
                    Op::BitXor => a ^ b,
                    _ => return None,
                })
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Oracle for $type {
            fn oracle(op: Op, a: Self, b: Self) -> Option<Self> {
                let first_nan = || if a.is_nan() { Some(a) } else { b.is_nan().then_some(b) };
                Some(match op {
                    Op::Sum | Op::Average => a + b,
                    Op::Product => a * b,
                    Op::Min => first_nan().unwrap_or(if b < a { b } else { a }),
                    Op::Max => first_nan().unwrap_or(if b > a { b } else { a }),
                    _ => return None,
                })
            }
            fn comparable(self) -> Vec<u8> {
                let canonical = if self.is_nan() { Self::NAN } else { self };
                canonical.to_le_bytes().to_vec()
            }
        }
    )*};
}

macro_rules! complex {
    ($($type:ty),*) => {$(
        impl Oracle for Complex<$type> {
            fn oracle(op: Op, a: Self, b: Self) -> Option<Self> {
                Some(match op {
                    Op::Sum | Op::Average => Self::new(a.re + b.re, a.im + b.im),
                    Op::Product => Self::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re),
                    _ => return None,
                })
            }
            fn comparable(self) -> Vec<u8> {
                [self.re.comparable(), self.im.comparable()].concat()
            }
        }
    )*};
}

macro_rules! located {
    ($($value:ty, $index:ty;)*) => {$(
        impl Oracle for Located<$value, $index> {
            #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
            fn oracle(op: Op, a: Self, b: Self) -> Option<Self> {
                let (x, y) = (a.value(), b.value());
                let better = match op {
                    Op::MinLocation => y < x,
                    Op::MaxLocation => y > x,
                    _ => return None,
                };
                let level = x == y || (x != x && y != y);
                let right = if x != x || y != y {
                    (y != y && x == x) || (level && b.index() < a.index())
                } else {
                    better || (level && b.index() < a.index())
                };
                Some(if right { b } else { a })
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);
floats!(f16, bf16, f32, f64);
complex!(f32, f64);
located!(f16, u16; bf16, u16; i32, u32; u32, u32; f32, u32; i64, u64; u64, u64; f64, u64;);

/// Runs all three shapes, and hands the results to `check` with the name of the shape.
fn shapes<T: Pod>(loops: &Loops<T>, a: &[T], b: &[T], mut check: impl FnMut(&str, &[T])) {
    let mut into = a.to_vec();
    loops.left(&mut into, b);
    check("left", &into);
    let mut into = b.to_vec();
    loops.right(a, &mut into);
    check("right", &into);
    let mut into = vec![T::zeroed(); a.len()];
    loops.apart(a, b, &mut into);
    check("apart", &into);
}

/// Compares every operation that the type has.
fn agrees<T: Oracle + std::fmt::Debug>(a: &[T], b: &[T]) {
    let mut has = 0;
    for op in Op::ALL {
        // An average is refused for integers although they have sums; all else is refused by the kernels.
        let Ok(loops) = Loops::<T>::new(op) else {
            assert!(a.iter().zip(b).all(|(a, b)| T::oracle(op, *a, *b).is_none()), "{op} of {}", T::DTYPE);
            continue;
        };
        has += 1;
        shapes(&loops, a, b, |shape, results| {
            for (i, result) in results.iter().enumerate() {
                let expected = T::oracle(op, a[i], b[i]).unwrap();
                assert_eq!(
                    result.comparable(),
                    expected.comparable(),
                    "{op} of {} {shape}: {:?} and {:?} give {result:?}, not {expected:?}",
                    T::DTYPE,
                    a[i],
                    b[i]
                );
            }
        });
    }
    assert!(has >= 2, "{} has operations", T::DTYPE);
}

/// Elements out of random bytes; every third pair shares its first bytes, so that ties occur.
fn elements<T: Pod>(bytes: &[u8], length: usize) -> [Vec<T>; 2] {
    let size = size_of::<T>();
    let at = |start: usize| -> T { bytemuck::pod_read_unaligned(&bytes[start..start + size]) };
    let a: Vec<T> = (0..length).map(|i| at(i * size)).collect();
    let b = (0..length)
        .map(|i| match i % 3 {
            0 => {
                let mut tied = bytemuck::bytes_of(&a[i]).to_vec();
                let last = (length + i) * size..(length + i + 1) * size;
                tied[size / 2..].copy_from_slice(&bytes[last][size / 2..]);
                bytemuck::pod_read_unaligned(&tied)
            }
            _ => at((length + i) * size),
        })
        .collect();
    [a, b]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_kernel_agrees_with_one_element_at_a_time(
        length in 0usize..75,
        bytes in prop::collection::vec(
            prop_oneof![4 => any::<u8>(), 1 => Just(0u8), 1 => Just(0xff), 1 => Just(0x7f)],
            2 * 75 * 16,
        ),
    ) {
        macro_rules! check {
            ($($type:ty),* $(,)?) => {$({
                let [a, b] = elements::<$type>(&bytes, length);
                agrees(&a, &b);
            })*};
        }
        check!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f16, bf16, f32, f64);
        check!(Complex<f32>, Complex<f64>);
        check!(Located<f16, u16>, Located<bf16, u16>, Located<i32, u32>, Located<u32, u32>);
        check!(Located<f32, u32>, Located<i64, u64>, Located<u64, u64>, Located<f64, u64>);
    }

    #[test]
    fn user_operations_agree_with_one_element_at_a_time(a in prop::collection::vec(any::<[u8; 3]>(), 0..50)) {
        let b: Vec<[u8; 3]> = a.iter().rev().copied().collect();
        let function = |a: [u8; 3], b: [u8; 3]| [a[1], b[2], a[0] ^ b[1]];
        let expected: Vec<_> = a.iter().zip(&b).map(|(a, b)| function(*a, *b)).collect();
        let loops = Loops::new(UserOp::new("shuffle", function)).unwrap();
        shapes(&loops, &a, &b, |shape, results| assert_eq!(results, expected, "{shape}"));
    }
}

/// All values of a 16-bit float against a few partners: zeros, ones, extremes, infinities and NaN.
fn all_values<T: Oracle + std::fmt::Debug>(
    from_bits: fn(u16) -> T,
    to_bits: fn(T) -> u16,
    nan: fn(T) -> bool,
) {
    let a: Vec<T> = (0..=u16::MAX).map(from_bits).collect();
    let one = [0x3c00, 0x3f80];
    let odd = [
        0x0000, 0x8000, 0x0001, 0x8003, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7f7f,
        0x7f80,
    ];
    for partner in one.into_iter().chain(odd).chain([0xff80, 0x7f81, 0xffff]).map(from_bits) {
        let b = vec![partner; a.len()];
        agrees(&a, &b);
        for op in [Op::Sum, Op::Product] {
            shapes(&Loops::<T>::new(op).unwrap(), &a, &b, |shape, results| {
                for (a, result) in a.iter().zip(results).filter(|(a, _)| nan(**a) != nan(partner)) {
                    // The payload of the only NaN survives, made quiet.
                    let expected = T::oracle(op, *a, partner).unwrap();
                    assert_eq!(to_bits(*result), to_bits(expected), "{op} {shape}: {a:?} and {partner:?}");
                }
            });
        }
    }
}

#[test]
fn narrow_floats_have_the_bits_of_scalar_arithmetic_for_all_values() {
    all_values(f16::from_bits, f16::to_bits, f16::is_nan);
    all_values(bf16::from_bits, bf16::to_bits, bf16::is_nan);
}

#[test]
fn narrow_floats_are_scaled_in_single_precision_for_all_values() {
    let rank = alone();
    macro_rules! check {
        ($type:ident) => {
            let all: Vec<$type> = (0..=u16::MAX).map($type::from_bits).collect();
            let mut scaled = all.clone();
            rank.all_reduce(&mut scaled, Op::Sum.scaled(0.3, 1.0)).unwrap();
            let mut average = all.clone();
            rank.all_reduce(&mut average, Op::Average).unwrap();
            for ((x, scaled), average) in all.iter().zip(scaled).zip(average) {
                let expected = $type::from_f32((f64::from(x.to_f32()) * 0.3) as f32);
                assert_eq!(scaled.comparable(), expected.comparable(), "{x:?}");
                assert_eq!(average.comparable(), x.comparable(), "{x:?}");
            }
        };
    }
    check!(f16);
    check!(bf16);
}

#[test]
fn among_equals_and_nans_the_leftmost_survives() {
    let (quiet, other) = (f32::from_bits(0x7fc0_0001), f32::from_bits(0xffc0_0002));
    for (a, b, expected) in [
        (0.0, -0.0, 0.0f32),
        (-0.0, 0.0, -0.0),
        (quiet, other, quiet),
        (other, quiet, other),
        (1.0, other, other),
        (quiet, 1.0, quiet),
    ] {
        for op in [Op::Min, Op::Max] {
            let (a, b) = ([a; 13], [b; 13]);
            shapes(&Loops::<f32>::new(op).unwrap(), &a, &b, |shape, results| {
                let bits: Vec<u32> = results.iter().map(|x| x.to_bits()).collect();
                assert_eq!(bits, [expected.to_bits(); 13], "{op} {shape}");
            });
        }
    }
}
