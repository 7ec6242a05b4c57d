//! C's `long double`, which Rust does not have: on x86-64 the 80 bits of the x87, in 16 bytes.

#![allow(unsafe_code)]

use std::cmp::Ordering;
use std::sync::Arc;

use ringworld::Op;
use ringworld::foreign::Reducer;

use crate::datatypes::basic::{Basic, Nature};

/// How two values compare.
pub(super) type Compare = fn(&[u8], &[u8]) -> Option<Ordering>;

/// One number.
#[derive(Clone, Copy)]
struct Long([u8; 16]);

impl Long {
    fn read(bytes: &[u8]) -> Self {
        let mut long = Self([0; 16]);
        long.0.copy_from_slice(&bytes[..16]);
        long
    }

    fn write(self, bytes: &mut [u8]) {
        bytes[..16].copy_from_slice(&self.0);
    }
}

#[cfg(target_arch = "x86_64")]
mod x87 {
    use super::Long;
    use std::arch::asm;

    macro_rules! operation {
        ($name:ident, $instruction:literal) => {
            impl Long {
                pub(super) fn $name(self, other: Self) -> Self {
                    let mut result = self;
                    // SAFETY: reads and writes ten bytes of each; the stack of the x87 is as it was before.
                    unsafe {
                        asm!(
                            "fld tbyte ptr [{a}]",
                            "fld tbyte ptr [{b}]",
                            $instruction,
                            "fstp tbyte ptr [{a}]",
                            a = in(reg) result.0.as_mut_ptr(),
                            b = in(reg) other.0.as_ptr(),
                            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                            options(nostack),
                        );
                    }
                    result
                }
            }
        };
    }

    operation!(plus, "faddp st(1), st");
    operation!(minus, "fsubp st(1), st");
    operation!(times, "fmulp st(1), st");

    impl Long {
        /// Whether it is less; never, of what is no number.
        pub(super) fn is_less(self, other: Self) -> bool {
            let (below, unordered): (u8, u8);
            // SAFETY: reads ten bytes of each; the stack of the x87 is as it was before.
            unsafe {
                asm!(
                    "fld tbyte ptr [{b}]",
                    "fld tbyte ptr [{a}]",
                    "fcomip st, st(1)",
                    "setb {below}",
                    "setp {unordered}",
                    "fstp st(0)",
                    a = in(reg) self.0.as_ptr(),
                    b = in(reg) other.0.as_ptr(),
                    below = out(reg_byte) below,
                    unordered = out(reg_byte) unordered,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            below != 0 && unordered == 0
        }
    }
}

/// How two values compare, where this machine has them.
#[cfg(target_arch = "x86_64")]
pub(super) const COMPARE: Option<Compare> = Some(|a, b| {
    let (a, b) = (Long::read(a), Long::read(b));
    Some(match (a.is_less(b), b.is_less(a)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    })
});

#[cfg(not(target_arch = "x86_64"))]
pub(super) const COMPARE: Option<Compare> = None;

/// An operation on `long double`, or on complex numbers of two; none where this machine has no such numbers.
#[cfg(target_arch = "x86_64")]
pub(super) fn reducer(op: Op, basic: &'static Basic) -> Option<Reducer> {
    type Two = fn(Long, Long) -> Long;
    let of_numbers = |name, function: Two| {
        let combine = move |left: &[u8], right: &mut [u8]| {
            for (left, right) in left.chunks_exact(16).zip(right.chunks_exact_mut(16)) {
                function(Long::read(left), Long::read(right)).write(right);
            }
        };
        Reducer::from_fn(name, 16, 1, true, Arc::new(combine))
    };
    Some(match (op, basic.nature) {
        (Op::Sum, _) => of_numbers("sum of long double", Long::plus),
        (Op::Product, Nature::LongDouble) => of_numbers("product of long double", Long::times),
        (Op::Min, Nature::LongDouble) => {
            of_numbers("min of long double", |a, b| if a.is_less(b) { a } else { b })
        }
        (Op::Max, Nature::LongDouble) => {
            of_numbers("max of long double", |a, b| if b.is_less(a) { a } else { b })
        }
        (Op::Product, _) => {
            let combine = |left: &[u8], right: &mut [u8]| {
                for (left, right) in left.chunks_exact(32).zip(right.chunks_exact_mut(32)) {
                    let (a, b) = (Long::read(left), Long::read(&left[16..]));
                    let (c, d) = (Long::read(right), Long::read(&right[16..]));
                    a.times(c).minus(b.times(d)).write(right);
                    a.times(d).plus(b.times(c)).write(&mut right[16..]);
                }
            };
            Reducer::from_fn("product of complex long double", 32, 1, true, Arc::new(combine))
        }
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn reducer(_: Op, _: &'static Basic) -> Option<Reducer> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::datatypes::basic::ALL;

    /// 3, -2 and 0.5 in 80 bits.
    fn long(exponent: u16, mantissa: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&mantissa.to_le_bytes());
        bytes[8..10].copy_from_slice(&exponent.to_le_bytes());
        bytes
    }

    #[test]
    fn numbers_of_80_bits_are_added_multiplied_and_compared() {
        let three = long(0x4000, 0xc000_0000_0000_0000);
        let minus_two = long(0xc000, 0x8000_0000_0000_0000);
        let one = long(0x3fff, 0x8000_0000_0000_0000);
        let minus_six = long(0xc001, 0xc000_0000_0000_0000);
        let basic = ALL.iter().find(|basic| basic.name == "MPI_LONG_DOUBLE").unwrap();
        for (op, result) in [(Op::Sum, one), (Op::Product, minus_six), (Op::Min, minus_two), (Op::Max, three)]
        {
            let mut right = minus_two;
            reducer(op, basic).unwrap().combine(&three, &mut right).unwrap();
            assert_eq!(right[..10], result[..10], "{op}");
        }
    }
}
