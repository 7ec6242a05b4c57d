//! Factors: what is done to a contribution before, and to a result after, the reduction itself.
//!
//! Multiplication is in `f64` (for `f16` and `bf16` in `f32` after that), rounded once more to the type;
//! division by the number of ranks is in the type's own precision, and `f16` and `bf16` divide in `f32`.
//!
//! Neighbours: `reduction` decides when, `datatype` says for which types.

use bytemuck::Pod;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

use super::loops::each;

/// The two ways to change the scale of a run of elements.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Rescale {
    pub(crate) multiply: fn(&mut [u8], f64),
    /// By a number of ranks, which is never zero.
    pub(crate) divide: fn(&mut [u8], usize),
}

impl Rescale {
    pub(crate) const fn of<T: Fraction>() -> Self {
        Self {
            multiply: |bytes, factor| each(bytes, |x: T| x.times(factor)),
            divide: |bytes, ranks| each(bytes, |x: T| x.over(ranks)),
        }
    }

    pub(crate) const fn half() -> Self {
        Self {
            multiply: |bytes, factor| wide::<f16>(bytes, |block| multiply(block, factor)),
            divide: |bytes, ranks| wide::<f16>(bytes, |block| divide(block, ranks)),
        }
    }

    pub(crate) const fn brain() -> Self {
        Self {
            multiply: |bytes, factor| wide::<bf16>(bytes, |block| multiply(block, factor)),
            divide: |bytes, ranks| wide::<bf16>(bytes, |block| divide(block, ranks)),
        }
    }
}

/// A type that has factors.
pub(crate) trait Fraction: Pod {
    fn times(self, factor: f64) -> Self;
    fn over(self, ranks: usize) -> Self;
}

impl Fraction for f64 {
    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        self * factor
    }
    #[inline(always)]
    fn over(self, ranks: usize) -> Self {
        self / ranks as Self
    }
}

impl Fraction for f32 {
    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        (f64::from(self) * factor) as Self
    }
    #[inline(always)]
    fn over(self, ranks: usize) -> Self {
        self / ranks as Self
    }
}

impl<T: Fraction> Fraction for Complex<T>
where
    Self: Pod,
{
    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        Self { re: self.re.times(factor), im: self.im.times(factor) }
    }
    #[inline(always)]
    fn over(self, ranks: usize) -> Self {
        Self { re: self.re.over(ranks), im: self.im.over(ranks) }
    }
}

fn multiply(block: &mut [f32], factor: f64) {
    each(bytemuck::cast_slice_mut(block), |x: f32| x.times(factor));
}

fn divide(block: &mut [f32], ranks: usize) {
    each(bytemuck::cast_slice_mut(block), |x: f32| x.over(ranks));
}

/// Elements that are converted to `f32` and back at a time: few enough to stay in the first-level cache.
const BLOCK: usize = 512;

/// Changes 16-bit floats as `f32`, a block at a time.
fn wide<T>(bytes: &mut [u8], change: impl Fn(&mut [f32]))
where
    T: Pod,
    [T]: HalfFloatSliceExt,
{
    let mut block = [0.0; BLOCK];
    for narrow in bytemuck::cast_slice_mut::<u8, T>(bytes).chunks_mut(BLOCK) {
        let wide = &mut block[..narrow.len()];
        narrow.convert_to_f32_slice(wide);
        change(wide);
        narrow.convert_from_f32_slice(wide);
    }
}
