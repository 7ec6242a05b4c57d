//! Reductions of elements whose type is known only at run time: built-in ones by the number of the type, and others as
//! functions on bytes.
//!
//! Neighbours: `reduction` has the same for types that the compiler knows; `user` says what becomes of panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use half::{bf16, f16};
use num_complex::Complex;

use super::code::OpCode;
use super::datatype::{DType, ElementCode};
use super::kernel::Kernel;
use super::located::Located;
use super::op::Op;
use super::reduction::{Reducer, Reduction, Unsupported};
use super::user::{Operation, Panicked, UserKernel};

/// `right = left op right`, of runs of equal length and of whole elements, aligned for them.
pub type BytesOp = dyn Fn(&[u8], &mut [u8]) + Send + Sync;

impl Reducer {
    /// A built-in operation on elements of a type with a name.
    pub fn of_dtype(dtype: DType, op: Op) -> Result<Self, Unsupported> {
        macro_rules! plan {
            ($($name:ident: $type:ty),* $(,)?) => {
                match dtype {
                    $(DType::$name => Reduction::<$type>::plan(&op),)*
                    DType::Bytes => Err(Unsupported {
                        op: op.to_string(),
                        element: dtype.to_string(),
                        advice: "bytes have no operation; say what they are".into(),
                    }),
                }
            };
        }
        plan! {
            I8: i8, I16: i16, I32: i32, I64: i64, I128: i128, U8: u8, U16: u16, U32: u32, U64: u64, U128: u128,
            F16: f16, BF16: bf16, F32: f32, F64: f64, ComplexF32: Complex<f32>, ComplexF64: Complex<f64>,
            LocatedF16: Located<f16, u16>, LocatedBF16: Located<bf16, u16>, LocatedI32: Located<i32, u32>,
            LocatedU32: Located<u32, u32>, LocatedF32: Located<f32, u32>, LocatedI64: Located<i64, u64>,
            LocatedU64: Located<u64, u64>, LocatedF64: Located<f64, u64>,
        }
    }

    /// An operation on elements of `size` bytes that are of no type with a name. It must be associative. Ranks tell one
    /// another a digest of the name and the size.
    pub fn of_bytes(name: &str, size: usize, commutative: bool, function: Arc<BytesOp>) -> Self {
        let mut reducer = Self::moving(ElementCode::opaque(size));
        reducer.kernel = Kernel::User(Arc::new(Operation::new(OnBytes { name: name.into(), function })));
        reducer.op = OpCode::user(name, size);
        reducer.commutative = commutative;
        reducer
    }
}

struct OnBytes {
    name: String,
    function: Arc<BytesOp>,
}

impl UserKernel for OnBytes {
    fn name(&self) -> &str {
        &self.name
    }

    fn reduce_left(&self, left: &mut [u8], right: &[u8]) -> Result<(), Panicked> {
        // The function writes where its right operand was.
        let mut into = AlignedBytes::copy(right);
        self.reduce_right(left, into.bytes())?;
        left.copy_from_slice(into.bytes());
        Ok(())
    }

    fn reduce_right(&self, left: &[u8], right: &mut [u8]) -> Result<(), Panicked> {
        // Unwind safety: the slices are plain data, and nobody looks at them after a panic, for the world ends.
        catch_unwind(AssertUnwindSafe(|| (self.function)(left, right)))
            .map_err(|payload| Panicked::new(&self.name, payload))
    }

    fn reduce_apart(&self, left: &[u8], right: &[u8], into: &mut [u8]) -> Result<(), Panicked> {
        into.copy_from_slice(right);
        self.reduce_right(left, into)
    }
}

/// Bytes that are aligned for elements of any type.
struct AlignedBytes {
    words: Vec<u128>,
    length: usize,
}

impl AlignedBytes {
    fn copy(bytes: &[u8]) -> Self {
        let mut copy = Self { words: vec![0; bytes.len().div_ceil(size_of::<u128>())], length: bytes.len() };
        copy.bytes().copy_from_slice(bytes);
        copy
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_known_at_run_time_has_the_operations_of_the_type() {
        let sum = Reducer::of_dtype(DType::I32, Op::Sum).unwrap();
        let (mut left, right) = ([1i32, 2], [10i32, 20]);
        sum.kernel.reduce_left(bytemuck::cast_slice_mut(&mut left), bytemuck::cast_slice(&right)).unwrap();
        assert_eq!(left, [11, 22]);
        assert_eq!(sum.dtype, ElementCode::from(DType::I32));
        assert!(Reducer::of_dtype(DType::F64, Op::BitAnd).is_err());
        assert!(Reducer::of_dtype(DType::Bytes, Op::Sum).is_err());
    }

    #[test]
    fn a_function_on_bytes_keeps_the_order_of_operands_in_all_shapes() {
        let minus: Arc<BytesOp> = Arc::new(|left, right| {
            right.iter_mut().zip(left).for_each(|(right, left)| *right = left.wrapping_sub(*right));
        });
        let kernel = Reducer::of_bytes("minus", 1, false, minus).kernel;
        let (mut left, mut right, mut apart) = ([9u8, 8], [1u8, 2], [0u8; 2]);
        kernel.reduce_apart(&left, &right, &mut apart).unwrap();
        kernel.reduce_left(&mut left, &right).unwrap();
        kernel.reduce_right(&[9, 8], &mut right).unwrap();
        assert_eq!((left, right, apart), ([8, 6], [8, 6], [8, 6]));
    }

    #[test]
    fn a_panic_of_a_function_on_bytes_is_caught_and_told() {
        let kernel = Reducer::of_bytes("picky", 1, true, Arc::new(|_, _| panic!("no"))).kernel;
        let told = kernel.reduce_right(&[1], &mut [2]).unwrap_err();
        assert_eq!(told, Panicked { op: "picky".into(), did: "panicked".into(), message: "no".into() });
    }
}
