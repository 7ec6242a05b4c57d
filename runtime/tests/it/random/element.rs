//! The element types of random programs, with the arithmetic of every operation written out once more.
//!
//! Nothing here calls the library but [`Element::visit`], which hands an operation over in the library's
//! own words. Floats are drawn so that results are exact in any order, or, for reproducible reductions,
//! from a range where every rounding shows.

use std::fmt::Debug;

use bytemuck::{Pod, Zeroable};
use ringworld::{Located, Op, Reduction, UserOp, f16};

/// Evaluates an expression with a type in place of its name.
macro_rules! with_type {
    ($kind:expr, $type:ident => $body:expr) => {
        match $kind {
            super::element::Kind::U8 => {
                type $type = u8;
                $body
            }
            super::element::Kind::I32 => {
                type $type = i32;
                $body
            }
            super::element::Kind::U64 => {
                type $type = u64;
                $body
            }
            super::element::Kind::F16 => {
                type $type = ringworld::f16;
                $body
            }
            super::element::Kind::F32 => {
                type $type = f32;
                $body
            }
            super::element::Kind::F64 => {
                type $type = f64;
                $body
            }
            super::element::Kind::Located => {
                type $type = ringworld::Located<i32, u32>;
                $body
            }
            super::element::Kind::Matrix => {
                type $type = super::element::Matrix;
                $body
            }
        }
    };
}
pub(crate) use with_type;

/// What a call reduces by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    Builtin(Op),
    Scaled(Op, f64, f64),
    /// A product of matrices, which does not commute.
    Matrices,
    /// A sum of matrices, element by element, said to commute.
    MatrixSum,
}

impl Operation {
    pub(crate) fn commutes(self) -> bool {
        self != Self::Matrices
    }

    fn op(self) -> Op {
        match self {
            Self::Builtin(op) | Self::Scaled(op, ..) => op,
            Self::Matrices | Self::MatrixSum => panic!("not an operation of numbers"),
        }
    }
}

/// Takes an operation in the library's words.
pub(crate) trait Visitor<T: Element> {
    type Output;
    fn visit<R: Reduction<T> + Clone>(self, op: R) -> Self::Output;
}

/// An element of random programs.
pub(crate) trait Element: Pod + Send + Sync + Debug {
    /// The operations that it has.
    const OPERATIONS: &[Operation];

    /// An element made of random bits. `gentle`: one of those on which all operations are exact.
    fn draw(bits: u64, gentle: bool) -> Self;

    fn combine(op: Operation, left: Self, right: Self) -> Self;

    /// What is done to a contribution before it is combined.
    fn before(self, _op: Operation) -> Self {
        self
    }

    /// What is done to a result of `ranks` contributions.
    fn after(self, _op: Operation, _ranks: usize) -> Self {
        self
    }

    fn visit<V: Visitor<Self>>(op: Operation, visitor: V) -> V::Output;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Element for $type {
            const OPERATIONS: &[Operation] = &[
                Operation::Builtin(Op::Sum),
                Operation::Builtin(Op::Product),
                Operation::Builtin(Op::Min),
                Operation::Builtin(Op::Max),
                Operation::Builtin(Op::LogicalAnd),
                Operation::Builtin(Op::LogicalOr),
                Operation::Builtin(Op::LogicalXor),
                Operation::Builtin(Op::BitAnd),
                Operation::Builtin(Op::BitOr),
                Operation::Builtin(Op::BitXor),
            ];

            fn draw(bits: u64, _: bool) -> Self {
                // Zeros are common, or logical operations would have little to decide.
                if bits % 4 == 0 { 0 } else { (bits >> 8) as Self }
            }

            fn combine(op: Operation, left: Self, right: Self) -> Self {
                match op.op() {
                    Op::Sum => left.wrapping_add(right),
                    Op::Product => left.wrapping_mul(right),
                    Op::Min => left.min(right),
                    Op::Max => left.max(right),
                    Op::LogicalAnd => Self::from(left != 0 && right != 0),
                    Op::LogicalOr => Self::from(left != 0 || right != 0),
                    Op::LogicalXor => Self::from((left != 0) != (right != 0)),
                    Op::BitAnd => left & right,
                    Op::BitOr => left | right,
                    Op::BitXor => left ^ right,
                    other => panic!("integers have no {other}"),
                }
            }

            fn after(self, op: Operation, _: usize) -> Self {
                match op.op() {
                    Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor => Self::from(self != 0),
                    _ => self,
                }
            }

            fn visit<V: Visitor<Self>>(op: Operation, visitor: V) -> V::Output {
                visitor.visit(op.op())
            }
        }
    )*};
}

integers!(u8, i32, u64);

macro_rules! floats {
    ($($type:ty, $convert:expr, $combine:expr, $times:expr, $over:expr;)*) => {$(
        impl Element for $type {
            const OPERATIONS: &[Operation] = &[
                Operation::Builtin(Op::Sum),
                Operation::Builtin(Op::Product),
                Operation::Builtin(Op::Min),
                Operation::Builtin(Op::Max),
                Operation::Builtin(Op::Average),
                Operation::Scaled(Op::Sum, 0.5, 3.0),
                Operation::Scaled(Op::Average, 2.0, 0.25),
            ];

            fn draw(bits: u64, gentle: bool) -> Self {
                const GENTLE: [f64; 4] = [-2.0, -1.0, 1.0, 2.0];
                let wild = (bits >> 11) as f64 / (1u64 << 53) as f64 * 64.0 - 32.0;
                // Nobody promises which zero is the smaller one, and no bits of a NaN.
                $convert(if gentle { GENTLE[bits as usize % 4] } else if wild.abs() < 1e-3 { 1.0 } else { wild })
            }

            fn combine(op: Operation, left: Self, right: Self) -> Self {
                match op.op() {
                    Op::Sum | Op::Average => $combine(left, right, |a, b| a + b),
                    Op::Product => $combine(left, right, |a, b| a * b),
                    Op::Min => if right < left { right } else { left },
                    Op::Max => if right > left { right } else { left },
                    other => panic!("floats have no {other}"),
                }
            }

            fn before(self, op: Operation) -> Self {
                match op {
                    Operation::Scaled(_, before, _) => $times(self, before),
                    _ => self,
                }
            }

            fn after(self, op: Operation, ranks: usize) -> Self {
                let result = if op.op() == Op::Average { $over(self, ranks) } else { self };
                match op {
                    Operation::Scaled(_, _, after) => $times(result, after),
                    _ => result,
                }
            }

            fn visit<V: Visitor<Self>>(op: Operation, visitor: V) -> V::Output {
                match op {
                    Operation::Scaled(op, before, after) => visitor.visit(op.scaled(before, after)),
                    _ => visitor.visit(op.op()),
                }
            }
        }
    )*};
}

floats! {
    f32, |x| x as f32, |a: f32, b: f32, f: fn(f32, f32) -> f32| f(a, b),
        |x: f32, factor| (f64::from(x) * factor) as f32, |x: f32, ranks| x / ranks as f32;
    f64, |x| x, |a: f64, b: f64, f: fn(f64, f64) -> f64| f(a, b),
        |x: f64, factor| x * factor, |x: f64, ranks| x / ranks as f64;
    f16, f16::from_f64, |a: f16, b: f16, f: fn(f32, f32) -> f32| f16::from_f32(f(a.to_f32(), b.to_f32())),
        |x: f16, factor| f16::from_f32((f64::from(x.to_f32()) * factor) as f32),
        |x: f16, ranks| f16::from_f32(x.to_f32() / ranks as f32);
}

impl Element for Located<i32, u32> {
    const OPERATIONS: &[Operation] =
        &[Operation::Builtin(Op::MinLocation), Operation::Builtin(Op::MaxLocation)];

    fn draw(bits: u64, _: bool) -> Self {
        // Few values, so that the index often decides.
        Self::new((bits % 5) as i32 - 2, (bits >> 32) as u32 % 1000)
    }

    fn combine(op: Operation, left: Self, right: Self) -> Self {
        let key = |x: Self| match op.op() {
            Op::MinLocation => (i64::from(x.value()), x.index()),
            _ => (-i64::from(x.value()), x.index()),
        };
        if key(right) < key(left) { right } else { left }
    }

    fn visit<V: Visitor<Self>>(op: Operation, visitor: V) -> V::Output {
        visitor.visit(op.op())
    }
}

/// A matrix of 2 x 2 with wrapping arithmetic: a type of the user's, whose product does not commute.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Matrix([u16; 4]);

fn product(Matrix([a, b, c, d]): Matrix, Matrix([e, f, g, h]): Matrix) -> Matrix {
    let dot = |w: u16, x, y: u16, z| w.wrapping_mul(x).wrapping_add(y.wrapping_mul(z));
    Matrix([dot(a, e, b, g), dot(a, f, b, h), dot(c, e, d, g), dot(c, f, d, h)])
}

fn sum(Matrix(a): Matrix, Matrix(b): Matrix) -> Matrix {
    Matrix(std::array::from_fn(|i| a[i].wrapping_add(b[i])))
}

impl Element for Matrix {
    const OPERATIONS: &[Operation] = &[Operation::Matrices, Operation::MatrixSum];

    fn draw(bits: u64, _: bool) -> Self {
        // Odd on the diagonal: products stay away from zero.
        Self([bits as u16 | 1, (bits >> 16) as u16, (bits >> 32) as u16, (bits >> 48) as u16 | 1])
    }

    fn combine(op: Operation, left: Self, right: Self) -> Self {
        if op == Operation::Matrices { product(left, right) } else { sum(left, right) }
    }

    fn visit<V: Visitor<Self>>(op: Operation, visitor: V) -> V::Output {
        match op {
            Operation::Matrices => visitor.visit(UserOp::new("matrix product", product)),
            _ => visitor.visit(UserOp::new("matrix sum", sum).commutative()),
        }
    }
}

/// The types by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    U8,
    I32,
    U64,
    F16,
    F32,
    F64,
    Located,
    Matrix,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] =
        [Self::U8, Self::I32, Self::U64, Self::F16, Self::F32, Self::F64, Self::Located, Self::Matrix];

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    pub(crate) fn size(self) -> usize {
        with_type!(self, T => size_of::<T>())
    }

    pub(crate) fn operations(self) -> &'static [Operation] {
        with_type!(self, T => T::OPERATIONS)
    }
}
