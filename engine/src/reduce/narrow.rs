//! Sums and products of 16-bit floats, computed in `f32` and rounded to nearest, ties to even.
//!
//! Written for the vectoriser, because one element at a time is twenty times slower than a copy in the cache:
//!
//! * `bf16` is the upper half of an `f32`. Two neighbours are taken as one 32-bit word, whose halves become
//!   two `f32`, without any moving between lanes; rounding is integer arithmetic without a branch.
//! * `f16` goes eight at a time through the processor's own conversion (F16C) where there is one, else
//!   through the `half` crate's.
//!
//! Invariant: the result has the bits of `half`'s arithmetic on one element, NaN included, except that of
//! two NaNs either may give its payload. Smallest and largest need no conversion: `arithmetic` compares the
//! bits. Neighbours: `loops` has the loops of `bf16`, `scale` uses the conversions.

use bytemuck::Pod;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use multiversion::{inherit_target, multiversion, target::target_cfg};

use super::kernel::Functions;
use super::loops::{Operator, apart, into_left, into_right};

// ---- bf16 -----------------------------------------------------------------------------------------------

/// Two neighbours in memory.
type Pair = [bf16; 2];

/// Rounds the bits of an `f32` to the upper half; the lower half of the result has no meaning.
#[inline(always)]
fn round(x: u32) -> u32 {
    let up = x.wrapping_add(0x7fff + (x >> 16 & 1));
    // A NaN would round to infinity or beyond; it stays one, made quiet.
    if x & 0x7fff_ffff > 0x7f80_0000 { x | 0x0040_0000 } else { up }
}

#[inline(always)]
fn both<O: Operator<f32>>(left: Pair, right: Pair) -> Pair {
    let (left, right): (u32, u32) = (bytemuck::cast(left), bytemuck::cast(right));
    let high = O::apply(f32::from_bits(left & 0xffff_0000), f32::from_bits(right & 0xffff_0000));
    let low = O::apply(f32::from_bits(left << 16), f32::from_bits(right << 16));
    bytemuck::cast(round(high.to_bits()) & 0xffff_0000 | round(low.to_bits()) >> 16)
}

/// The loops of a sum or product of `bf16`.
pub(crate) const fn brain<O: Operator<f32>>() -> Functions {
    Functions {
        into_left: |left, right| {
            let even = even(left);
            into_left(&mut left[..even], &right[..even], both::<O>);
            into_left(&mut left[even..], &right[even..], one_brain::<O>);
        },
        into_right: |left, right| {
            let even = even(left);
            into_right(&left[..even], &mut right[..even], both::<O>);
            into_right(&left[even..], &mut right[even..], one_brain::<O>);
        },
        apart: |left, right, into| {
            let even = even(left);
            apart(&left[..even], &right[..even], &mut into[..even], both::<O>);
            apart(&left[even..], &right[even..], &mut into[even..], one_brain::<O>);
        },
    }
}

/// The bytes that are whole pairs.
fn even(bytes: &[u8]) -> usize {
    bytes.len() - bytes.len() % size_of::<Pair>()
}

#[inline(always)]
fn one_brain<O: Operator<f32>>(left: bf16, right: bf16) -> bf16 {
    both::<O>([left; 2], [right; 2])[0]
}

// ---- f16 ------------------------------------------------------------------------------------------------

/// As many as fit a vector of `f32`.
type Eight = [f16; 8];

/// One shape of the loops of `f16`: `$body` uses `combine`. The conversions must stand inside the function
/// that is compiled for several processors, and so in each of the three.
macro_rules! shape {
    (fn $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        #[multiversion(targets("x86_64+avx2+f16c+bmi1+bmi2+lzcnt+popcnt"))]
        fn $name<O: Operator<f32>>($($argument: $type),*) {
            #[target_cfg(target_feature = "f16c")]
            #[inherit_target]
            #[inline]
            fn widen(narrow: Eight) -> [f32; 8] {
                bytemuck::cast(std::arch::x86_64::_mm256_cvtph_ps(bytemuck::cast(narrow)))
            }
            #[target_cfg(target_feature = "f16c")]
            #[inherit_target]
            #[inline]
            fn narrow(wide: [f32; 8]) -> Eight {
                const NEAREST: i32 = std::arch::x86_64::_MM_FROUND_TO_NEAREST_INT;
                bytemuck::cast(std::arch::x86_64::_mm256_cvtps_ph::<NEAREST>(bytemuck::cast(wide)))
            }
            #[target_cfg(not(target_feature = "f16c"))]
            #[inline(always)]
            fn widen(narrow: Eight) -> [f32; 8] {
                let mut wide = [0.0; 8];
                narrow.convert_to_f32_slice(&mut wide);
                wide
            }
            #[target_cfg(not(target_feature = "f16c"))]
            #[inline(always)]
            fn narrow(wide: [f32; 8]) -> Eight {
                let mut narrow = [f16::ZERO; 8];
                narrow.convert_from_f32_slice(&wide);
                narrow
            }
            #[inherit_target]
            #[inline]
            fn combine<O: Operator<f32>>(left: Eight, right: Eight) -> Eight {
                let (mut left, right) = (widen(left), widen(right));
                for (left, right) in left.iter_mut().zip(right) {
                    *left = O::apply(*left, right);
                }
                narrow(left)
            }
            $body
        }
    };
}

shape! {
    fn half_into_left(left: &mut [u8], right: &[u8]) {
        let (left, left_rest) = bytemuck::cast_slice_mut::<u8, f16>(left).as_chunks_mut();
        let (right, right_rest) = bytemuck::cast_slice::<u8, f16>(right).as_chunks();
        for (left, right) in left.iter_mut().zip(right) {
            *left = combine::<O>(*left, *right);
        }
        let last = combine::<O>(padded(left_rest), padded(right_rest));
        left_rest.copy_from_slice(&last[..left_rest.len()]);
    }
}

shape! {
    fn half_into_right(left: &[u8], right: &mut [u8]) {
        let (left, left_rest) = bytemuck::cast_slice::<u8, f16>(left).as_chunks();
        let (right, right_rest) = bytemuck::cast_slice_mut::<u8, f16>(right).as_chunks_mut();
        for (left, right) in left.iter().zip(right) {
            *right = combine::<O>(*left, *right);
        }
        let last = combine::<O>(padded(left_rest), padded(right_rest));
        right_rest.copy_from_slice(&last[..right_rest.len()]);
    }
}

shape! {
    fn half_apart(left: &[u8], right: &[u8], into: &mut [u8]) {
        let (left, left_rest) = bytemuck::cast_slice::<u8, f16>(left).as_chunks();
        let (right, right_rest) = bytemuck::cast_slice::<u8, f16>(right).as_chunks();
        let (into, into_rest) = bytemuck::cast_slice_mut::<u8, f16>(into).as_chunks_mut();
        for ((left, right), into) in left.iter().zip(right).zip(into) {
            *into = combine::<O>(*left, *right);
        }
        let last = combine::<O>(padded(left_rest), padded(right_rest));
        into_rest.copy_from_slice(&last[..into_rest.len()]);
    }
}

/// Fewer than eight, filled up with zeros.
#[inline(always)]
fn padded(rest: &[f16]) -> Eight {
    let mut all = [f16::ZERO; 8];
    all[..rest.len()].copy_from_slice(rest);
    all
}

/// The loops of a sum or product of `f16`.
pub(crate) const fn half<O: Operator<f32>>() -> Functions {
    Functions { into_left: half_into_left::<O>, into_right: half_into_right::<O>, apart: half_apart::<O> }
}

// ---- both -----------------------------------------------------------------------------------------------

/// A float of 16 bits.
pub(crate) trait Narrow: Pod {
    /// The bits of infinity; larger magnitudes are NaN.
    const INFINITY: u16;
    fn bits(self) -> u16;
}

impl Narrow for f16 {
    const INFINITY: u16 = 0x7c00;
    #[inline(always)]
    fn bits(self) -> u16 {
        self.to_bits()
    }
}

impl Narrow for bf16 {
    const INFINITY: u16 = 0x7f80;
    #[inline(always)]
    fn bits(self) -> u16 {
        self.to_bits()
    }
}

/// Whether it is NaN.
#[inline(always)]
pub(crate) fn is_nan<T: Narrow>(x: T) -> bool {
    x.bits() & 0x7fff > T::INFINITY
}

/// A number that orders like the float, with one value for both zeros; meaningless for NaN.
#[inline(always)]
pub(crate) fn key<T: Narrow>(x: T) -> i16 {
    let bits = x.bits();
    let sign = bits as i16 >> 15;
    ((bits & 0x7fff) as i16 ^ sign).wrapping_sub(sign)
}

/// `a <= b`, or only `a` is NaN, or both are: whether the smaller one is `a`, when the left one wins a tie.
#[inline(always)]
pub(crate) fn left_is_smaller<T: Narrow>(a: T, b: T) -> bool {
    is_nan(a) | (!is_nan(b) & (key(a) <= key(b)))
}

/// The same for the larger one.
#[inline(always)]
pub(crate) fn left_is_larger<T: Narrow>(a: T, b: T) -> bool {
    is_nan(a) | (!is_nan(b) & (key(a) >= key(b)))
}
