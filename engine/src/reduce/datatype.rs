//! The element types that reductions know: one name each, the same on every rank.
//!
//! Sends, receives and moves take any [`Pod`] type; only built-in operations need to know what the bytes
//! mean. Invariant: a number, once given, keeps its meaning. Neighbours: `reduce` has the arithmetic,
//! `signature` puts the name on the wire.

use std::any::TypeId;
use std::fmt;

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;
use ringworld_protocol::Element;

use super::arithmetic::{brain, field, float, half, integer, located, truth};
use super::code::fnv1a;
use super::kernel::Functions;
use super::located::Located;
use super::op::Op;
use super::raw::Raw;
use super::scale::Rescale;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// A type of element, as ranks name it to one another.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum DType {
            $($(#[$doc])* $name = $number,)*
        }

        impl DType {
            const ALL: &[Self] = &[$(Self::$name),*];

            /// The name as Rust writes it; `bytes` for opaque data.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

dtypes! {
    /// Opaque bytes: moved, never reduced.
    Bytes = 0, "bytes";
    /// Signed, 8 bits.
    I8 = 1, "i8";
    /// Signed, 16 bits.
    I16 = 2, "i16";
    /// Signed, 32 bits.
    I32 = 3, "i32";
    /// Signed, 64 bits.
    I64 = 4, "i64";
    /// Unsigned, 8 bits.
    U8 = 5, "u8";
    /// Unsigned, 16 bits.
    U16 = 6, "u16";
    /// Unsigned, 32 bits.
    U32 = 7, "u32";
    /// Unsigned, 64 bits.
    U64 = 8, "u64";
    /// IEEE 754 half precision.
    F16 = 9, "f16";
    /// bfloat16.
    BF16 = 10, "bf16";
    /// IEEE 754 single precision.
    F32 = 11, "f32";
    /// IEEE 754 double precision.
    F64 = 12, "f64";
    /// Signed, 128 bits.
    I128 = 13, "i128";
    /// Unsigned, 128 bits.
    U128 = 14, "u128";
    /// Complex, in single precision.
    ComplexF32 = 15, "Complex<f32>";
    /// Complex, in double precision.
    ComplexF64 = 16, "Complex<f64>";
    /// A half-precision value with an index.
    LocatedF16 = 17, "Located<f16, u16>";
    /// A bfloat16 value with an index.
    LocatedBF16 = 18, "Located<bf16, u16>";
    /// A signed 32-bit value with an index.
    LocatedI32 = 19, "Located<i32, u32>";
    /// An unsigned 32-bit value with an index.
    LocatedU32 = 20, "Located<u32, u32>";
    /// A single-precision value with an index.
    LocatedF32 = 21, "Located<f32, u32>";
    /// A signed 64-bit value with an index.
    LocatedI64 = 22, "Located<i64, u64>";
    /// An unsigned 64-bit value with an index.
    LocatedU64 = 23, "Located<u64, u64>";
    /// A double-precision value with an index.
    LocatedF64 = 24, "Located<f64, u64>";
}

impl DType {
    /// How many bytes an element has.
    ///
    /// ```
    /// # use ringworld_engine::DType;
    /// assert_eq!((DType::F64.size(), DType::ComplexF32.size(), DType::Bytes.size()), (8, 8, 1));
    /// ```
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Bytes | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 | Self::LocatedF16 | Self::LocatedBF16 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::ComplexF32 => 8,
            Self::LocatedI32 | Self::LocatedU32 | Self::LocatedF32 => 8,
            Self::I128 | Self::U128 | Self::ComplexF64 => 16,
            Self::LocatedI64 | Self::LocatedU64 | Self::LocatedF64 => 16,
        }
    }

    /// The type with this number on the wire.
    pub(crate) fn from_wire(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What messages and the signatures of collectives say about the elements, in one byte: a [`DType`], or the size of
/// elements that are of none.
///
/// ```text
/// 0 nnnnnnn    type n; 0 is for raw bytes, which in messages go with everything
/// 0 1111111    no elements: an object that serde has written
/// 1 sssssss    opaque elements of s bytes, up to 95
/// 1 11ddddd    larger opaque elements; d is a digest of the size
/// ```
///
/// Of a user's own type only the size is told: its [`TypeId`] differs between programs and its name between
/// compilers, though their ranks may well share a world, and 7 bits hold no more. So two such types of one size are
/// not told apart, nor are a structure and an array of that size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElementCode(u8);

const OPAQUE: u8 = 0x80;
const LARGE: u8 = 0x60;

impl ElementCode {
    /// Not elements but an object, which only its own calls can read. No [`DType`] gets this number.
    pub const OBJECT: Self = Self(0x7f);
    /// That of [`Raw`].
    pub const RAW: Self = Self(DType::Bytes as u8);

    /// That of a user's type, which may be one that has a name.
    #[inline]
    pub fn of<T: Pod>() -> Self {
        dtype_of::<T>().map_or_else(|| Self::opaque(size_of::<T>()), Self::from)
    }

    pub(super) fn opaque(size: usize) -> Self {
        let digest = || LARGE | (fnv1a((size as u64).to_le_bytes()) as u8 & 0x1f);
        Self(OPAQUE | u8::try_from(size).ok().filter(|size| *size < LARGE).unwrap_or_else(digest))
    }

    pub(crate) const fn to_wire(self) -> u8 {
        self.0
    }

    pub(crate) fn from_wire(byte: u8) -> Option<Self> {
        (byte & OPAQUE != 0 || DType::from_wire(byte).is_some()).then_some(Self(byte))
    }

    /// The type, when it is one with a name.
    pub fn dtype(self) -> Option<DType> {
        DType::from_wire(self.0)
    }
}

/// In messages nothing is refused but what differs, so an unknown number stays what it is.
impl From<Element> for ElementCode {
    fn from(element: Element) -> Self {
        Self(element.number())
    }
}

impl From<ElementCode> for Element {
    fn from(code: ElementCode) -> Self {
        Self::new(code.0)
    }
}

impl From<DType> for ElementCode {
    fn from(dtype: DType) -> Self {
        Self(dtype as u8)
    }
}

impl fmt::Display for ElementCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(dtype) = self.dtype() {
            return dtype.fmt(f);
        }
        if *self == Self::OBJECT {
            return f.write_str("serialized object");
        }
        match self.0.checked_sub(OPAQUE) {
            None => write!(f, "element of a type that this version does not know (code {:02x})", self.0),
            Some(size @ 0..LARGE) => write!(f, "opaque element of {size} bytes"),
            Some(code) => write!(f, "opaque element of {LARGE} bytes or more (code {code:02x})"),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type that an [`Op`] can reduce: integers of every width, `f16`, `bf16`, `f32`, `f64`,
/// [`Complex`] and [`Located`].
///
/// Sealed, because every rank must agree on what a type's name means; any other type is reduced by a
/// [`UserOp`](crate::UserOp).
#[diagnostic::on_unimplemented(
    message = "an `Op` does not know how to combine elements of type `{Self}`",
    note = "any `bytemuck::Pod` type is combined by `ringworld::UserOp::new(\"name\", |a, b| …)`",
    note = "what is no plain data, such as text, vectors or `bool`, travels by the calls whose names end in `_object`"
)]
pub trait Reducible: Pod + sealed::Sealed {
    /// Its name.
    const DTYPE: DType;

    /// How factors are applied to it, if they can be.
    #[doc(hidden)]
    const RESCALE: Option<Rescale> = None;

    /// How its elements become truth values, if they can.
    #[doc(hidden)]
    const TRUTH: Option<fn(&mut [u8])> = None;

    /// The loops that reduce slices of this type by `op`, if it has that operation.
    #[doc(hidden)]
    fn functions(op: Op) -> Option<Functions>;
}

macro_rules! reducible {
    ($($type:ty => $dtype:expr, $functions:ident;)*) => {
        $(
            impl sealed::Sealed for $type {}
            impl Reducible for $type {
                const DTYPE: DType = $dtype;
                reducible!(@constant $type, $functions);
                #[inline]
                fn functions(op: Op) -> Option<Functions> {
                    // A static is made here: the loops are compiled once, and not by every crate that reduces.
                    static LOOPS: [Option<Functions>; Op::ALL.len()] = {
                        let mut loops = [None; Op::ALL.len()];
                        let mut i = 0;
                        while i < loops.len() {
                            let op = Op::ALL[i];
                            loops[op as usize - 1] = reducible!(@call $functions $type, op);
                            i += 1;
                        }
                        loops
                    };
                    LOOPS[op as usize - 1]
                }
            }
            const _: () = assert!(size_of::<$type>() == <$type as Reducible>::DTYPE.size());
        )*

        /// The name of a type that has one.
        fn dtype_of<T: 'static>() -> Option<DType> {
            let id = TypeId::of::<T>();
            if id == TypeId::of::<Raw>() {
                return Some(DType::Bytes);
            }
            $(if id == TypeId::of::<$type>() {
                return Some(<$type as Reducible>::DTYPE);
            })*
            None
        }
    };
    (@call half $type:ty, $op:ident) => { half($op) };
    (@call brain $type:ty, $op:ident) => { brain($op) };
    (@call $functions:ident $type:ty, $op:ident) => { $functions::<$type>($op) };
    (@constant $type:ty, integer) => {
        const TRUTH: Option<fn(&mut [u8])> = {
            // Not generic, and so compiled once as well.
            fn of_this_type(bytes: &mut [u8]) {
                truth::<$type>(bytes);
            }
            Some(of_this_type)
        };
    };
    (@constant $type:ty, located) => {};
    (@constant $type:ty, half) => {
        const RESCALE: Option<Rescale> = Some(Rescale::half());
    };
    (@constant $type:ty, brain) => {
        const RESCALE: Option<Rescale> = Some(Rescale::brain());
    };
    (@constant $type:ty, $fraction:ident) => {
        const RESCALE: Option<Rescale> = Some(Rescale::of::<$type>());
    };
}

/// On machines with pointers of 32 bits, `usize` is their 32-bit type; the ranks of a world must agree.
const fn word(narrow: DType, wide: DType) -> DType {
    if size_of::<usize>() == 4 { narrow } else { wide }
}

reducible! {
    i8 => DType::I8, integer;
    i16 => DType::I16, integer;
    i32 => DType::I32, integer;
    i64 => DType::I64, integer;
    i128 => DType::I128, integer;
    isize => word(DType::I32, DType::I64), integer;
    u8 => DType::U8, integer;
    u16 => DType::U16, integer;
    u32 => DType::U32, integer;
    u64 => DType::U64, integer;
    u128 => DType::U128, integer;
    usize => word(DType::U32, DType::U64), integer;
    f16 => DType::F16, half;
    bf16 => DType::BF16, brain;
    f32 => DType::F32, float;
    f64 => DType::F64, float;
    Complex<f32> => DType::ComplexF32, field;
    Complex<f64> => DType::ComplexF64, field;
    Located<f16, u16> => DType::LocatedF16, located;
    Located<bf16, u16> => DType::LocatedBF16, located;
    Located<i32, u32> => DType::LocatedI32, located;
    Located<u32, u32> => DType::LocatedU32, located;
    Located<f32, u32> => DType::LocatedF32, located;
    Located<i64, u64> => DType::LocatedI64, located;
    Located<u64, u64> => DType::LocatedU64, located;
    Located<f64, u64> => DType::LocatedF64, located;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_keeps_its_number_on_the_wire() {
        let numbers = [
            (0, "bytes"),
            (1, "i8"),
            (2, "i16"),
            (3, "i32"),
            (4, "i64"),
            (5, "u8"),
            (6, "u16"),
            (7, "u32"),
            (8, "u64"),
            (9, "f16"),
            (10, "bf16"),
            (11, "f32"),
            (12, "f64"),
            (13, "i128"),
            (14, "u128"),
            (15, "Complex<f32>"),
            (16, "Complex<f64>"),
            (17, "Located<f16, u16>"),
            (18, "Located<bf16, u16>"),
            (19, "Located<i32, u32>"),
            (20, "Located<u32, u32>"),
            (21, "Located<f32, u32>"),
            (22, "Located<i64, u64>"),
            (23, "Located<u64, u64>"),
            (24, "Located<f64, u64>"),
        ];
        for (number, name) in numbers {
            let dtype = DType::from_wire(number).unwrap();
            assert_eq!((dtype as u8, dtype.name()), (number, name));
        }
        assert_eq!(DType::from_wire(25), None);
    }

    #[test]
    fn opaque_elements_are_told_apart_by_their_size() {
        let opaque = |size| ElementCode::opaque(size).to_string();
        assert_eq!(opaque(12), "opaque element of 12 bytes");
        assert_eq!(opaque(95), "opaque element of 95 bytes");
        assert!(opaque(96).starts_with("opaque element of 96 bytes or more"));
        assert_ne!(ElementCode::opaque(128), ElementCode::opaque(256));
        assert_ne!(ElementCode::opaque(0), ElementCode::from(DType::Bytes));
    }

    #[test]
    fn a_user_operation_on_a_known_type_names_the_type() {
        assert_eq!(ElementCode::of::<f32>(), ElementCode::from(DType::F32));
        assert_eq!(ElementCode::of::<usize>(), ElementCode::of::<u64>());
        assert_eq!(ElementCode::of::<[f32; 4]>().to_string(), "opaque element of 16 bytes");
        assert_eq!(Element::from(ElementCode::of::<Raw>()), Element::RAW);
        assert_ne!(ElementCode::of::<u8>(), ElementCode::of::<Raw>());
    }

    #[test]
    fn every_code_of_an_element_survives_the_wire() {
        for byte in (0..=24).chain(0x80..=0xff) {
            assert_eq!(ElementCode::from_wire(byte).map(ElementCode::to_wire), Some(byte));
        }
        assert_eq!(ElementCode::from_wire(25), None);
    }

    #[test]
    fn what_a_peer_says_about_its_elements_can_always_be_named() {
        let name = |byte| ElementCode::from(Element::new(byte)).to_string();
        assert_eq!(
            (name(11), name(0x7f), name(0x8c)),
            ("f32".into(), "serialized object".into(), "opaque element of 12 bytes".into())
        );
        assert!(name(25).contains("does not know (code 19)"));
        assert_eq!(DType::from_wire(ElementCode::OBJECT.to_wire()), None, "objects are of no type");
    }
}
