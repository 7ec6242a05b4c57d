//! Factors: what is done to a contribution before, and to a result after, the reduction itself.
//!
//! Multiplication is in `f64` (for `f16` and `bf16` in `f32` after that), rounded once more to the type;
//! division by the number of ranks is in the type's own precision, and `f16` and `bf16` divide in `f32`.
//!
//! Neighbours: `reduction` decides when, `arithmetic` says for which types.

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

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
            multiply: |bytes, factor| each::<T>(bytes, |x| x.times(factor)),
            divide: |bytes, ranks| each::<T>(bytes, |x| x.over(ranks)),
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

macro_rules! narrow {
    ($($type:ty),*) => {$(
        impl Fraction for $type {
            #[inline(always)]
            fn times(self, factor: f64) -> Self {
                Self::from_f32(self.to_f32().times(factor))
            }
            #[inline(always)]
            fn over(self, ranks: usize) -> Self {
                Self::from_f32(self.to_f32().over(ranks))
            }
        }
    )*};
}

narrow!(f16, bf16);

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

#[inline(always)]
pub(crate) fn each<T: Pod>(bytes: &mut [u8], change: impl Fn(T) -> T) {
    for element in bytemuck::cast_slice_mut::<u8, T>(bytes) {
        *element = change(*element);
    }
}
