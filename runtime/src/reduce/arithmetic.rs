//! What the operations mean for each type of element.

use half::{bf16, f16};

/// The four operations on one pair of elements. Pure, and the same on every machine.
#[doc(hidden)]
pub trait Arithmetic: Copy {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    fn larger(self, other: Self) -> Self;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Arithmetic for $type {
            #[inline(always)]
            fn sum(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn product(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self { if other < self { other } else { self } }
            #[inline(always)]
            fn larger(self, other: Self) -> Self { if other > self { other } else { self } }
        }
    )*};
}

// A plain comparison, not `f32::min`: that leaves the choice between -0.0 and +0.0 to the platform.
macro_rules! float {
    ($($type:ty),*) => {$(
        impl Arithmetic for $type {
            #[inline(always)]
            fn sum(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn product(self, other: Self) -> Self { self * other }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self { if other < self { other } else { self } }
            #[inline(always)]
            fn larger(self, other: Self) -> Self { if other > self { other } else { self } }
        }
    )*};
}

integer!(i8, i16, i32, i64, u8, u16, u32, u64);
float!(f16, bf16, f32, f64);
