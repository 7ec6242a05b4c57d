//! Reduction kernels: `into[i] = left[i] op right[i]` over byte slices of one element type.
//!
//! Kernels are plain functions over slices, picked once per collective, so that the compiler can
//! vectorise each (type, operation) pair. Operand order is kept, although every built-in operation is
//! commutative on numbers: it decides which NaN or which zero survives, and thereby that all ranks get
//! the same bits.

mod arithmetic;

pub(crate) use arithmetic::Arithmetic;

use bytemuck::Pod;

/// How contributions are combined, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Op {
    /// The sum. Integers wrap around on overflow, as in C.
    Sum = 1,
    /// The product. Integers wrap around on overflow, as in C.
    Product = 2,
    /// The smallest. With NaN among the floats the result is one of the operands, the same on every rank.
    Min = 3,
    /// The largest. With NaN among the floats the result is one of the operands, the same on every rank.
    Max = 4,
}

impl Op {
    /// The name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// Whether the order of the operands is free.
    #[must_use]
    pub const fn is_commutative(self) -> bool {
        true
    }

    pub(crate) fn from_wire(number: u8) -> Option<Self> {
        [Self::Sum, Self::Product, Self::Min, Self::Max].into_iter().find(|op| *op as u8 == number)
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The three shapes of one reduction. Slices have equal lengths, a multiple of the element's size, and
/// the element's alignment.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Kernel {
    /// `left = left op right`
    pub(crate) into_left: fn(&mut [u8], &[u8]),
    /// `right = left op right`
    pub(crate) into_right: fn(&[u8], &mut [u8]),
    /// `into = left op right`
    pub(crate) apart: fn(&[u8], &[u8], &mut [u8]),
}

/// The kernel of an operation that never reduces, such as a broadcast.
pub(crate) const NO_KERNEL: Kernel =
    Kernel { into_left: |_, _| (), into_right: |_, _| (), apart: |_, _, _| () };

trait Operator {
    fn apply<T: Arithmetic>(left: T, right: T) -> T;
}

macro_rules! operator {
    ($($name:ident => $method:ident),*) => {$(
        struct $name;
        impl Operator for $name {
            #[inline(always)]
            fn apply<T: Arithmetic>(left: T, right: T) -> T {
                left.$method(right)
            }
        }
    )*};
}

operator!(Sum => sum, Product => product, Min => smaller, Max => larger);

pub(crate) fn kernel<T: Pod + Arithmetic>(op: Op) -> Kernel {
    match op {
        Op::Sum => of::<T, Sum>(),
        Op::Product => of::<T, Product>(),
        Op::Min => of::<T, Min>(),
        Op::Max => of::<T, Max>(),
    }
}

fn of<T: Pod + Arithmetic, O: Operator>() -> Kernel {
    Kernel {
        into_left: |left, right| {
            let (left, right) =
                (bytemuck::cast_slice_mut::<u8, T>(left), bytemuck::cast_slice::<u8, T>(right));
            for (left, right) in left.iter_mut().zip(right) {
                *left = O::apply(*left, *right);
            }
        },
        into_right: |left, right| {
            let (left, right) =
                (bytemuck::cast_slice::<u8, T>(left), bytemuck::cast_slice_mut::<u8, T>(right));
            for (left, right) in left.iter().zip(right) {
                *right = O::apply(*left, *right);
            }
        },
        apart: |left, right, into| {
            let (left, right) = (bytemuck::cast_slice::<u8, T>(left), bytemuck::cast_slice::<u8, T>(right));
            let into = bytemuck::cast_slice_mut::<u8, T>(into);
            for ((left, right), into) in left.iter().zip(right).zip(into) {
                *into = O::apply(*left, *right);
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    fn all_shapes<T: Pod + Arithmetic + PartialEq + std::fmt::Debug>(
        op: Op,
        a: &[T],
        b: &[T],
        expected: &[T],
    ) {
        let kernel = kernel::<T>(op);
        let mut into = a.to_vec();
        (kernel.into_left)(bytemuck::cast_slice_mut(&mut into), bytemuck::cast_slice(b));
        assert_eq!(into, expected, "{op} into left");
        let mut into = b.to_vec();
        (kernel.into_right)(bytemuck::cast_slice(a), bytemuck::cast_slice_mut(&mut into));
        assert_eq!(into, expected, "{op} into right");
        let mut into = vec![T::zeroed(); a.len()];
        (kernel.apart)(bytemuck::cast_slice(a), bytemuck::cast_slice(b), bytemuck::cast_slice_mut(&mut into));
        assert_eq!(into, expected, "{op} apart");
    }

    #[test]
    fn all_shapes_of_a_kernel_agree() {
        all_shapes(Op::Sum, &[1f32, -2.0, 0.5], &[4.0, 2.0, 0.25], &[5.0, 0.0, 0.75]);
        all_shapes(Op::Product, &[3i64, -2], &[4, 5], &[12, -10]);
        all_shapes(Op::Min, &[3u8, 200], &[4, 5], &[3, 5]);
        all_shapes(Op::Max, &[3f64, -1.0], &[4.0, -5.0], &[4.0, -1.0]);
        all_shapes(Op::Sum, &[f16::from_f32(1.5)], &[f16::from_f32(2.0)], &[f16::from_f32(3.5)]);
        all_shapes(Op::Product, &[bf16::from_f32(1.5)], &[bf16::from_f32(2.0)], &[bf16::from_f32(3.0)]);
    }

    #[test]
    fn integers_wrap_around() {
        all_shapes(Op::Sum, &[i8::MAX, 1], &[1, 1], &[i8::MIN, 2]);
        all_shapes(Op::Product, &[u16::MAX], &[2], &[u16::MAX - 1]);
    }

    #[test]
    fn min_and_max_keep_the_operand_order_for_equal_zeros() {
        let bits = |op, a: f32, b: f32| {
            let mut into = [a];
            (kernel::<f32>(op).into_left)(bytemuck::cast_slice_mut(&mut into), bytemuck::cast_slice(&[b]));
            into[0].to_bits()
        };
        for op in [Op::Min, Op::Max] {
            assert_eq!(bits(op, 0.0, -0.0), 0f32.to_bits());
            assert_eq!(bits(op, -0.0, 0.0), (-0f32).to_bits());
        }
    }
}
