//! The loops themselves: one line each, compiled for every type and operation.
//!
//! Each is compiled twice, for the baseline of the architecture and for AVX2, and the processor decides
//! when it is first called. That is worth it: in the L2 cache AVX2 is 1.5 times as fast for sums of floats,
//! which SSE2 does well, and three to four times for what SSE2 lacks (products, smallest and largest of
//! most integers). AVX-512 brings nothing beyond that but for complex products, and is slower out of
//! memory. No fused multiply-add: every machine must get the same bits.
//!
//! Invariant: slices have equal lengths, a multiple of the element's size, and the element's alignment.
//! Neighbours: `kernel` picks loops, `narrow` has those of 16-bit floats.

use bytemuck::Pod;
use multiversion::multiversion;

/// One operation on one type; a type without values, so that each pair gets loops of its own.
pub(crate) trait Operator<T> {
    fn apply(left: T, right: T) -> T;
}

/// `left = left op right`
#[multiversion(targets("x86_64+avx2+f16c+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn into_left<T: Pod, F: Fn(T, T) -> T>(left: &mut [u8], right: &[u8], apply: F) {
    let left = bytemuck::cast_slice_mut::<u8, T>(left);
    let right = bytemuck::cast_slice::<u8, T>(right);
    for (left, right) in left.iter_mut().zip(right) {
        *left = apply(*left, *right);
    }
}

/// `right = left op right`
#[multiversion(targets("x86_64+avx2+f16c+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn into_right<T: Pod, F: Fn(T, T) -> T>(left: &[u8], right: &mut [u8], apply: F) {
    let left = bytemuck::cast_slice::<u8, T>(left);
    let right = bytemuck::cast_slice_mut::<u8, T>(right);
    for (left, right) in left.iter().zip(right) {
        *right = apply(*left, *right);
    }
}

/// `into = left op right`
#[multiversion(targets("x86_64+avx2+f16c+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn apart<T: Pod, F: Fn(T, T) -> T>(left: &[u8], right: &[u8], into: &mut [u8], apply: F) {
    let left = bytemuck::cast_slice::<u8, T>(left);
    let right = bytemuck::cast_slice::<u8, T>(right);
    let into = bytemuck::cast_slice_mut::<u8, T>(into);
    for ((left, right), into) in left.iter().zip(right).zip(into) {
        *into = apply(*left, *right);
    }
}

/// `all = change(all)`
#[multiversion(targets("x86_64+avx2+f16c+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn each<T: Pod, F: Fn(T) -> T>(all: &mut [u8], change: F) {
    for element in bytemuck::cast_slice_mut::<u8, T>(all) {
        *element = change(*element);
    }
}
