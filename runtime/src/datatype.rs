//! The element types that reductions know: one name each, the same on every rank.
//!
//! Sends, receives and moves take any [`Pod`] type; only reductions need to know what the bytes mean.
//! Neighbours: `reduce` has the arithmetic, `stamp` puts the name on the wire.

use bytemuck::Pod;
use half::{bf16, f16};

use crate::Op;
use crate::reduce::{Arithmetic, Kernel, kernel};

/// A type of element, as ranks name it to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum DType {
    /// Opaque bytes: moved, never reduced.
    Bytes = 0,
    /// Signed, 8 bits.
    I8 = 1,
    /// Signed, 16 bits.
    I16 = 2,
    /// Signed, 32 bits.
    I32 = 3,
    /// Signed, 64 bits.
    I64 = 4,
    /// Unsigned, 8 bits.
    U8 = 5,
    /// Unsigned, 16 bits.
    U16 = 6,
    /// Unsigned, 32 bits.
    U32 = 7,
    /// Unsigned, 64 bits.
    U64 = 8,
    /// IEEE 754 half precision.
    F16 = 9,
    /// bfloat16.
    BF16 = 10,
    /// IEEE 754 single precision.
    F32 = 11,
    /// IEEE 754 double precision.
    F64 = 12,
}

impl DType {
    /// The name as Rust writes it; `bytes` for opaque data.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type with this number on the wire.
    pub(crate) fn from_wire(number: u8) -> Option<Self> {
        const ALL: [DType; 13] = [
            DType::Bytes,
            DType::I8,
            DType::I16,
            DType::I32,
            DType::I64,
            DType::U8,
            DType::U16,
            DType::U32,
            DType::U64,
            DType::F16,
            DType::BF16,
            DType::F32,
            DType::F64,
        ];
        ALL.get(usize::from(number)).copied()
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type that [`Op`] can reduce: `i8` to `u64`, `f16`, `bf16`, `f32`, `f64`.
///
/// Sealed, because every rank must agree on what a type's name means.
pub trait Reducible: Pod + Arithmetic + sealed::Sealed {
    /// Its name.
    const DTYPE: DType;

    /// The functions that reduce slices of this type by `op`.
    #[doc(hidden)]
    fn kernel(op: Op) -> Kernel {
        kernel::<Self>(op)
    }
}

macro_rules! reducible {
    ($($type:ty => $dtype:ident),* $(,)?) => {$(
        impl sealed::Sealed for $type {}
        impl Reducible for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

reducible!(
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_keeps_its_number_on_the_wire() {
        for number in 0..=12 {
            assert_eq!(DType::from_wire(number).map(|d| d as u8), Some(number));
        }
        assert_eq!(DType::from_wire(13), None);
    }
}
