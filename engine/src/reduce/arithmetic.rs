//! What the operations mean for each type of element.
//!
//! One type without values for each operation, one `impl` for each pair that exists; [`integers`] and its
//! siblings are the tables from operations to loops. Pure, and the same on every machine.
//!
//! Neighbours: `kernel` has the loops, `datatype` asks for the tables.

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

use super::kernel::Functions;
use super::located::{Locatable, Located};
use super::loops::{Operator, each};
use super::narrow::{self, left_is_larger, left_is_smaller};
use super::op::Op;

macro_rules! operators {
    ($($name:ident),*) => {$( pub(crate) struct $name; )*};
}

operators!(
    Sum,
    Product,
    Min,
    Max,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    BitAnd,
    BitOr,
    BitXor,
    MinLocation,
    MaxLocation
);

macro_rules! define {
    ($type:ty: $($operator:ident($left:ident, $right:ident) = $result:expr;)*) => {$(
        impl Operator<$type> for $operator {
            #[inline(always)]
            fn apply($left: $type, $right: $type) -> $type {
                $result
            }
        }
    )*};
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        define! { $type:
            Sum(a, b) = a.wrapping_add(b);
            Product(a, b) = a.wrapping_mul(b);
            Min(a, b) = if b < a { b } else { a };
            Max(a, b) = if b > a { b } else { a };
            LogicalAnd(a, b) = <$type>::from((a != 0) & (b != 0));
            LogicalOr(a, b) = <$type>::from((a != 0) | (b != 0));
            LogicalXor(a, b) = <$type>::from((a != 0) ^ (b != 0));
            BitAnd(a, b) = a & b;
            BitOr(a, b) = a | b;
            BitXor(a, b) = a ^ b;
        }
        impl Truth for $type {
            #[inline(always)]
            fn truth(self) -> Self {
                Self::from(self != 0)
            }
        }
    )*};
}

// The left operand wins unless the right one is better or the only NaN: among equals and NaNs the leftmost
// survives, wherever the parentheses stand. Not `f32::min`, which leaves the sign of zero to the platform.
macro_rules! floats {
    ($($type:ty),*) => {$(
        define! { $type:
            Sum(a, b) = a + b;
            Product(a, b) = a * b;
            Min(a, b) = if (a <= b) | (a != a) { a } else { b };
            Max(a, b) = if (a >= b) | (a != a) { a } else { b };
        }
    )*};
}

macro_rules! narrow {
    ($($type:ty),*) => {$(
        define! { $type:
            Min(a, b) = if left_is_smaller(a, b) { a } else { b };
            Max(a, b) = if left_is_larger(a, b) { a } else { b };
        }
    )*};
}

macro_rules! complex {
    ($($type:ty),*) => {$(
        define! { Complex<$type>:
            Sum(a, b) = a + b;
            Product(a, b) = a * b;
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);
floats!(f32, f64);
narrow!(f16, bf16);
complex!(f32, f64);

/// Integers that stand for truth values.
pub(crate) trait Truth: Pod {
    fn truth(self) -> Self;
}

/// Turns every element that is not zero into 1.
pub(crate) fn truth<T: Truth>(bytes: &mut [u8]) {
    each(bytes, T::truth);
}

macro_rules! location {
    ($operator:ident, $better:tt) => {
        impl<T: Locatable<I>, I: Pod + Ord> Operator<Located<T, I>> for $operator {
            #[inline(always)]
            fn apply(left: Located<T, I>, right: Located<T, I>) -> Located<T, I> {
                let ((a, i), (b, j)) = (left.parts(), right.parts());
                let (a_nan, b_nan) = (a.is_missing(), b.is_missing());
                let (a, b) = (a.key(), b.key());
                let numbers = !a_nan & !b_nan;
                let better = (numbers & (b $better a)) | (b_nan & !a_nan);
                let level = (numbers & (a == b)) | (a_nan & b_nan);
                if better | (level & (j < i)) { right } else { left }
            }
        }
    };
}

location!(MinLocation, <);
location!(MaxLocation, >);

/// The loops of an operation on integers.
pub(crate) const fn integer<T: Truth>(op: Op) -> Option<Functions>
where
    Sum: Operator<T>,
    Product: Operator<T>,
    Min: Operator<T>,
    Max: Operator<T>,
    LogicalAnd: Operator<T>,
    LogicalOr: Operator<T>,
    LogicalXor: Operator<T>,
    BitAnd: Operator<T>,
    BitOr: Operator<T>,
    BitXor: Operator<T>,
{
    Some(match op {
        Op::Sum => Functions::of::<T, Sum>(),
        Op::Product => Functions::of::<T, Product>(),
        Op::Min => Functions::of::<T, Min>(),
        Op::Max => Functions::of::<T, Max>(),
        Op::LogicalAnd => Functions::of::<T, LogicalAnd>(),
        Op::LogicalOr => Functions::of::<T, LogicalOr>(),
        Op::LogicalXor => Functions::of::<T, LogicalXor>(),
        Op::BitAnd => Functions::of::<T, BitAnd>(),
        Op::BitOr => Functions::of::<T, BitOr>(),
        Op::BitXor => Functions::of::<T, BitXor>(),
        Op::Average | Op::MinLocation | Op::MaxLocation => return None,
    })
}

/// The loops of an operation on floating-point numbers.
pub(crate) const fn float<T: Pod>(op: Op) -> Option<Functions>
where
    Sum: Operator<T>,
    Product: Operator<T>,
    Min: Operator<T>,
    Max: Operator<T>,
{
    match op {
        Op::Min => Some(Functions::of::<T, Min>()),
        Op::Max => Some(Functions::of::<T, Max>()),
        _ => field(op),
    }
}

/// The loops of an operation on `f16`.
pub(crate) const fn half(op: Op) -> Option<Functions> {
    match op {
        Op::Sum | Op::Average => Some(narrow::half::<Sum>()),
        Op::Product => Some(narrow::half::<Product>()),
        Op::Min => Some(Functions::of::<f16, Min>()),
        Op::Max => Some(Functions::of::<f16, Max>()),
        _ => None,
    }
}

/// The loops of an operation on `bf16`.
pub(crate) const fn brain(op: Op) -> Option<Functions> {
    match op {
        Op::Sum | Op::Average => Some(narrow::brain::<Sum>()),
        Op::Product => Some(narrow::brain::<Product>()),
        Op::Min => Some(Functions::of::<bf16, Min>()),
        Op::Max => Some(Functions::of::<bf16, Max>()),
        _ => None,
    }
}

/// The loops of an operation on numbers without an order.
pub(crate) const fn field<T: Pod>(op: Op) -> Option<Functions>
where
    Sum: Operator<T>,
    Product: Operator<T>,
{
    match op {
        Op::Sum | Op::Average => Some(Functions::of::<T, Sum>()),
        Op::Product => Some(Functions::of::<T, Product>()),
        _ => None,
    }
}

/// The loops of an operation on values with a location.
pub(crate) const fn located<T: Pod>(op: Op) -> Option<Functions>
where
    MinLocation: Operator<T>,
    MaxLocation: Operator<T>,
{
    match op {
        Op::MinLocation => Some(Functions::of::<T, MinLocation>()),
        Op::MaxLocation => Some(Functions::of::<T, MaxLocation>()),
        _ => None,
    }
}
