//! The predefined datatypes: what they are called, how large they are, and what can be done with them.

use ringworld::DType;

use crate::standard;

/// What a basic element is, for reductions and for other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Nature {
    /// An integer of the machine's.
    Integer(DType),
    /// A floating-point number.
    Float(DType),
    /// A complex number.
    Complex(DType),
    /// A truth value of so many bytes, as an integer.
    Logical(DType),
    /// Bytes as they are.
    Byte,
    /// A character: it moves, and is not reduced.
    Character,
    /// The 80 or 128 bits of C's `long double`, once or twice.
    LongDouble,
    /// Two of them.
    LongDoubleComplex,
    /// A value and an index, of which the second follows at some distance.
    Pair(Value, usize),
    /// It moves, and is not reduced.
    Opaque,
}

/// The value of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    F32,
    F64,
    I16,
    I32,
    I64,
    LongDouble,
}

/// One predefined datatype.
#[derive(Debug)]
pub(crate) struct Basic {
    pub(crate) handle: usize,
    pub(crate) name: &'static str,
    /// Bytes of data, which for pairs are fewer than the extent.
    pub(crate) size: usize,
    pub(crate) extent: usize,
    pub(crate) alignment: usize,
    pub(crate) nature: Nature,
}

const fn plain(handle: usize, name: &'static str, size: usize, nature: Nature) -> Basic {
    let word = match nature {
        Complex(_) | LongDoubleComplex => size / 2,
        _ => size,
    };
    Basic { handle, name, size, extent: size, alignment: if word > 16 { 16 } else { word }, nature }
}

/// A value of `first` bytes, and an `int` that lies `at` bytes from its beginning.
const fn pair(
    handle: usize,
    name: &'static str,
    value: Value,
    (first, at, extent): (usize, usize, usize),
) -> Basic {
    Basic { handle, name, size: first + 4, extent, alignment: first, nature: Nature::Pair(value, at) }
}

use DType as D;
use Nature::{Byte, Character, Complex, Float, Integer, Logical, LongDouble, LongDoubleComplex, Opaque};

/// C's `long double` takes 16 bytes on x86-64 and aarch64.
const LONG_DOUBLE: usize = 16;

/// All of them, by their handles in the standard's ABI. Sizes are those of 64-bit Linux.
pub(crate) static ALL: &[Basic] = &[
    plain(0x201, "MPI_AINT", 8, Integer(D::I64)),
    plain(0x202, "MPI_COUNT", 8, Integer(D::I64)),
    plain(0x203, "MPI_OFFSET", 8, Integer(D::I64)),
    plain(0x207, "MPI_PACKED", 1, Byte),
    plain(0x208, "MPI_SHORT", 2, Integer(D::I16)),
    plain(0x209, "MPI_INT", 4, Integer(D::I32)),
    plain(0x20a, "MPI_LONG", 8, Integer(D::I64)),
    plain(0x20b, "MPI_LONG_LONG_INT", 8, Integer(D::I64)),
    plain(0x20c, "MPI_UNSIGNED_SHORT", 2, Integer(D::U16)),
    plain(0x20d, "MPI_UNSIGNED", 4, Integer(D::U32)),
    plain(0x20e, "MPI_UNSIGNED_LONG", 8, Integer(D::U64)),
    plain(0x20f, "MPI_UNSIGNED_LONG_LONG", 8, Integer(D::U64)),
    plain(0x210, "MPI_FLOAT", 4, Float(D::F32)),
    plain(0x212, "MPI_C_COMPLEX", 8, Complex(D::ComplexF32)),
    plain(0x213, "MPI_CXX_FLOAT_COMPLEX", 8, Complex(D::ComplexF32)),
    plain(0x214, "MPI_DOUBLE", 8, Float(D::F64)),
    plain(0x216, "MPI_C_DOUBLE_COMPLEX", 16, Complex(D::ComplexF64)),
    plain(0x217, "MPI_CXX_DOUBLE_COMPLEX", 16, Complex(D::ComplexF64)),
    plain(0x218, "MPI_LOGICAL", 4, Logical(D::I32)),
    plain(0x219, "MPI_INTEGER", 4, Integer(D::I32)),
    plain(0x21a, "MPI_REAL", 4, Float(D::F32)),
    plain(0x21b, "MPI_COMPLEX", 8, Complex(D::ComplexF32)),
    plain(0x21c, "MPI_DOUBLE_PRECISION", 8, Float(D::F64)),
    plain(0x21d, "MPI_DOUBLE_COMPLEX", 16, Complex(D::ComplexF64)),
    plain(0x21e, "MPI_CHARACTER", 1, Character),
    plain(0x220, "MPI_LONG_DOUBLE", LONG_DOUBLE, LongDouble),
    plain(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", 2 * LONG_DOUBLE, LongDoubleComplex),
    plain(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", 2 * LONG_DOUBLE, LongDoubleComplex),
    pair(0x228, "MPI_FLOAT_INT", Value::F32, (4, 4, 8)),
    pair(0x229, "MPI_DOUBLE_INT", Value::F64, (8, 8, 16)),
    pair(0x22a, "MPI_LONG_INT", Value::I64, (8, 8, 16)),
    pair(0x22b, "MPI_2INT", Value::I32, (4, 4, 8)),
    pair(0x22c, "MPI_SHORT_INT", Value::I16, (2, 4, 8)),
    pair(0x22d, "MPI_LONG_DOUBLE_INT", Value::LongDouble, (16, 16, 32)),
    plain(0x230, "MPI_2REAL", 8, Opaque),
    plain(0x231, "MPI_2DOUBLE_PRECISION", 16, Opaque),
    plain(0x232, "MPI_2INTEGER", 8, Nature::Pair(Value::I32, 4)),
    plain(0x238, "MPI_C_BOOL", 1, Logical(D::U8)),
    plain(0x239, "MPI_CXX_BOOL", 1, Logical(D::U8)),
    plain(0x23c, "MPI_WCHAR", 4, Character),
    plain(0x240, "MPI_INT8_T", 1, Integer(D::I8)),
    plain(0x241, "MPI_UINT8_T", 1, Integer(D::U8)),
    // The standard reduces it by no operation; other libraries do, as a number, and programs rely on it.
    plain(0x243, "MPI_CHAR", 1, Integer(D::I8)),
    plain(0x244, "MPI_SIGNED_CHAR", 1, Integer(D::I8)),
    plain(0x245, "MPI_UNSIGNED_CHAR", 1, Integer(D::U8)),
    plain(0x247, "MPI_BYTE", 1, Byte),
    plain(0x248, "MPI_INT16_T", 2, Integer(D::I16)),
    plain(0x249, "MPI_UINT16_T", 2, Integer(D::U16)),
    plain(0x250, "MPI_INT32_T", 4, Integer(D::I32)),
    plain(0x251, "MPI_UINT32_T", 4, Integer(D::U32)),
    plain(0x258, "MPI_INT64_T", 8, Integer(D::I64)),
    plain(0x259, "MPI_UINT64_T", 8, Integer(D::U64)),
    plain(0x2c0, "MPI_LOGICAL1", 1, Logical(D::I8)),
    plain(0x2c1, "MPI_INTEGER1", 1, Integer(D::I8)),
    plain(0x2c8, "MPI_LOGICAL2", 2, Logical(D::I16)),
    plain(0x2c9, "MPI_INTEGER2", 2, Integer(D::I16)),
    plain(0x2ca, "MPI_REAL2", 2, Float(D::F16)),
    plain(0x2d0, "MPI_LOGICAL4", 4, Logical(D::I32)),
    plain(0x2d1, "MPI_INTEGER4", 4, Integer(D::I32)),
    plain(0x2d2, "MPI_REAL4", 4, Float(D::F32)),
    plain(0x2d3, "MPI_COMPLEX4", 4, Opaque),
    plain(0x2d8, "MPI_LOGICAL8", 8, Logical(D::I64)),
    plain(0x2d9, "MPI_INTEGER8", 8, Integer(D::I64)),
    plain(0x2da, "MPI_REAL8", 8, Float(D::F64)),
    plain(0x2db, "MPI_COMPLEX8", 8, Complex(D::ComplexF32)),
    plain(0x2e0, "MPI_LOGICAL16", 16, Logical(D::I128)),
    plain(0x2e1, "MPI_INTEGER16", 16, Integer(D::I128)),
    plain(0x2e2, "MPI_REAL16", 16, Opaque),
    plain(0x2e3, "MPI_COMPLEX16", 16, Complex(D::ComplexF64)),
    plain(0x2eb, "MPI_COMPLEX32", 32, Opaque),
];

/// Bytes of the elements that fill their extent, by handle less the first of them; 0: of no such.
static DENSE: [u8; 0x100] = {
    let mut sizes = [0; 0x100];
    let mut place = 0;
    while place < ALL.len() {
        let basic = &ALL[place];
        if basic.size == basic.extent {
            sizes[basic.handle - standard::Datatype::NULL.0] = basic.size as u8;
        }
        place += 1;
    }
    sizes
};

/// Where each of them is in [`ALL`] and one more, likewise.
static PLACES: [u8; 0x100] = {
    let mut places = [0; 0x100];
    let mut place = 0;
    while place < ALL.len() {
        places[ALL[place].handle - standard::Datatype::NULL.0] = place as u8 + 1;
        place += 1;
    }
    places
};

/// Where a predefined datatype is in [`ALL`].
#[inline]
pub(crate) fn place(datatype: standard::Datatype) -> Option<usize> {
    let place = *PLACES.get(datatype.0.wrapping_sub(standard::Datatype::NULL.0))?;
    usize::from(place).checked_sub(1)
}

/// How many bytes an element has, of a predefined datatype whose elements have no holes.
#[inline]
pub(crate) fn dense_size(datatype: standard::Datatype) -> Option<usize> {
    let size = *DENSE.get(datatype.0.wrapping_sub(standard::Datatype::NULL.0))?;
    (size > 0).then_some(size.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatypes::get;

    #[test]
    fn elements_without_holes_are_those_of_the_datatypes() {
        for basic in ALL {
            let handle = standard::Datatype(basic.handle);
            let datatype = get(handle).expect("a predefined one");
            let expected = (datatype.is_dense() && datatype.size > 0).then_some(datatype.size);
            assert_eq!(dense_size(handle), expected, "{}", basic.name);
        }
        for handle in [0, standard::Datatype::NULL.0, 0x2ff, 0x300, usize::MAX] {
            assert_eq!(dense_size(standard::Datatype(handle)), None, "{handle:#x}");
        }
    }
}
