//! Values with a location: what min-location and max-location reduce.
//!
//! `Located<T, I>` has the layout of `#[repr(C)] struct { value: T, index: I }` for pairs whose halves are
//! equally large, so that it has no padding and may travel as bytes. Neighbours: `reduce` has the
//! arithmetic, `datatype` the names on the wire.

use std::convert::identity;
use std::fmt;

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

use super::narrow::{is_nan, key};

/// A value and the index of where it is: for [`Op::MinLocation`](crate::Op::MinLocation) and
/// [`Op::MaxLocation`](crate::Op::MaxLocation).
///
/// The index may be anything, often a rank or a position in a distributed vector. The pairs are `f16` and
/// `bf16` with a `u16`; `i32`, `u32` and `f32` with a `u32`; `i64`, `u64` and `f64` with a `u64`. In
/// memory: the value, then the index, no padding.
///
/// ```
/// use ringworld::{Located, Op};
/// # let world = ringworld::testing::alone();
/// let loss = 0.25f64;
/// let mut best = [Located::new(loss, world.rank() as u64)];
/// world.all_reduce(&mut best, Op::MinLocation)?;
/// println!("rank {} has the smallest loss, {}", best[0].index(), best[0].value());
/// # assert_eq!(best[0], Located::new(0.25, 0));
/// # Ok::<(), ringworld::Error>(())
/// ```
#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(transparent)]
pub struct Located<T, I>(T::Pair)
where
    T: Locatable<I>,
    I: Pod;

impl<T: Locatable<I>, I: Pod> Located<T, I> {
    /// A value at an index.
    #[must_use]
    #[inline(always)]
    pub fn new(value: T, index: I) -> Self {
        Self(T::join(value, index))
    }

    /// The value.
    #[must_use]
    #[inline(always)]
    pub fn value(&self) -> T {
        T::split(self.0).0
    }

    /// Where it is.
    #[must_use]
    #[inline(always)]
    pub fn index(&self) -> I {
        T::split(self.0).1
    }

    #[inline(always)]
    pub(crate) fn parts(self) -> (T, I) {
        T::split(self.0)
    }
}

impl<T: Locatable<I>, I: Pod + PartialEq> PartialEq for Located<T, I> {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl<T: Locatable<I> + fmt::Debug, I: Pod + fmt::Debug> fmt::Debug for Located<T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, index) = self.parts();
        f.debug_struct("Located").field("value", &value).field("index", &index).finish()
    }
}

mod sealed {
    pub trait Sealed<I> {}
}

/// A value that can stand in a [`Located`] with an index of type `I`. Sealed: the pairs have no padding.
pub trait Locatable<I: Pod>: Pod + PartialOrd + sealed::Sealed<I> {
    /// The two in memory.
    #[doc(hidden)]
    type Pair: Pod;
    #[doc(hidden)]
    fn join(value: Self, index: I) -> Self::Pair;
    #[doc(hidden)]
    fn split(pair: Self::Pair) -> (Self, I);
    /// Whether it is NaN.
    #[doc(hidden)]
    fn is_missing(self) -> bool;
    /// A number that orders like the value, and is the same for equal ones; meaningless for NaN.
    #[doc(hidden)]
    fn key(self) -> impl PartialOrd + Copy;
}

macro_rules! pairs {
    ($($pair:ident { $value:ty, $index:ty }, $missing:expr, $key:expr;)*) => {$(
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug, Zeroable, Pod)]
        #[repr(C)]
        pub struct $pair {
            value: $value,
            index: $index,
        }

        impl sealed::Sealed<$index> for $value {}

        impl Locatable<$index> for $value {
            type Pair = $pair;

            #[inline(always)]
            fn join(value: Self, index: $index) -> $pair {
                $pair { value, index }
            }

            #[inline(always)]
            fn split(pair: $pair) -> (Self, $index) {
                (pair.value, pair.index)
            }

            #[inline(always)]
            fn is_missing(self) -> bool {
                $missing(self)
            }

            #[inline(always)]
            fn key(self) -> impl PartialOrd + Copy {
                $key(self)
            }
        }
    )*};
}

fn never<T>(_: T) -> bool {
    false
}

// The 16-bit floats compare as integers, because converting them one at a time is slow.
pairs! {
    F16U16 { f16, u16 }, is_nan, key;
    BF16U16 { bf16, u16 }, is_nan, key;
    I32U32 { i32, u32 }, never, identity;
    U32U32 { u32, u32 }, never, identity;
    F32U32 { f32, u32 }, f32::is_nan, identity;
    I64U64 { i64, u64 }, never, identity;
    U64U64 { u64, u64 }, never, identity;
    F64U64 { f64, u64 }, f64::is_nan, identity;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_comes_first_in_memory_and_nothing_lies_between() {
        let pairs = [Located::new(1.0f32, 7u32), Located::new(2.0, 8)];
        let words: &[u32] = bytemuck::cast_slice(&pairs);
        assert_eq!(words, [1f32.to_bits(), 7, 2f32.to_bits(), 8]);
        assert_eq!(format!("{:?}", pairs[0]), "Located { value: 1.0, index: 7 }");
    }
}
