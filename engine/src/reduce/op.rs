//! The built-in operations: their names, their numbers on the wire, what they mean.
//!
//! Invariant: a number, once given, keeps its meaning; ranks compare them. Neighbours: `arithmetic` says
//! which types have which operation, [`super::Reduction`] is how calls take one.

/// How contributions are combined, element by element.
///
/// | operations | integers | `f16` `bf16` `f32` `f64` | [`Complex`](num_complex::Complex) | [`Located`](crate::Located) |
/// |---|---|---|---|---|
/// | `Sum`, `Product` | yes | yes | yes | |
/// | `Min`, `Max` | yes | yes | | |
/// | `Average` | | yes | yes | |
/// | `LogicalAnd`, `LogicalOr`, `LogicalXor` | yes | | | |
/// | `BitAnd`, `BitOr`, `BitXor` | yes | | | |
/// | `MinLocation`, `MaxLocation` | | | | yes |
///
/// Anything else is a [`UserOp`](crate::UserOp). An operation that a type does not have is refused with
/// `Error::UnsupportedOp` before anything is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Op {
    /// The sum. Integers wrap around on overflow, in every build. `f16` and `bf16` are added in `f32` and rounded
    /// to nearest, ties to even, at every step. A NaN of any rank makes the result NaN; of several, any may
    /// give its payload.
    #[doc(alias = "MPI_SUM")]
    Sum = 1,
    /// The product, as [`Op::Sum`] is the sum. Complex numbers are multiplied by the schoolbook formula:
    /// infinities are not recovered from NaN.
    #[doc(alias = "MPI_PROD")]
    Product = 2,
    /// The smallest. A NaN of any rank makes the result NaN. Of zeros of both signs, which are equal, one is
    /// the result, the same one on every rank.
    #[doc(alias = "MPI_MIN")]
    Min = 3,
    /// The largest; NaN and zeros as for [`Op::Min`].
    #[doc(alias = "MPI_MAX")]
    Max = 4,
    /// The sum, divided by the number of ranks at the end, in the type's own precision (`f16` and `bf16` in
    /// `f32`). Nothing is scaled before, so the sum may overflow where the average would not: see
    /// [`Op::scaled`].
    #[doc(alias("AVG", "ncclAvg"))]
    Average = 5,
    /// 1 when every rank's element is other than zero, else 0.
    #[doc(alias = "MPI_LAND")]
    LogicalAnd = 6,
    /// 1 when some rank's element is other than zero, else 0.
    #[doc(alias = "MPI_LOR")]
    LogicalOr = 7,
    /// 1 when an odd number of ranks have an element other than zero, else 0.
    #[doc(alias = "MPI_LXOR")]
    LogicalXor = 8,
    /// Bit by bit, and.
    #[doc(alias = "MPI_BAND")]
    BitAnd = 9,
    /// Bit by bit, or.
    #[doc(alias = "MPI_BOR")]
    BitOr = 10,
    /// Bit by bit, exclusive or.
    #[doc(alias = "MPI_BXOR")]
    BitXor = 11,
    /// The smallest value with its index. Of equal values, the smallest index; a NaN counts as smaller than
    /// everything, so that it is found, and its index tells where.
    #[doc(alias = "MPI_MINLOC")]
    MinLocation = 12,
    /// The largest value with its index. Of equal values, the smallest index; a NaN counts as larger than
    /// everything, so that it is found, and its index tells where.
    #[doc(alias = "MPI_MAXLOC")]
    MaxLocation = 13,
}

impl Op {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Sum,
        Self::Product,
        Self::Min,
        Self::Max,
        Self::Average,
        Self::LogicalAnd,
        Self::LogicalOr,
        Self::LogicalXor,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
        Self::MinLocation,
        Self::MaxLocation,
    ];

    /// The name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
            Self::Average => "average",
            Self::LogicalAnd => "logical and",
            Self::LogicalOr => "logical or",
            Self::LogicalXor => "logical xor",
            Self::BitAnd => "bit and",
            Self::BitOr => "bit or",
            Self::BitXor => "bit xor",
            Self::MinLocation => "min location",
            Self::MaxLocation => "max location",
        }
    }

    /// Whether the order of the operands is free: it is, for all of them.
    #[must_use]
    pub const fn is_commutative(self) -> bool {
        true
    }

    /// This operation with factors: every rank's elements are multiplied by `before` when the call begins,
    /// the result by `after` when it ends. For floats and complex numbers.
    ///
    /// Every rank must give the same factors. With `before = 1 / size` a sum of `f16` does not overflow on
    /// its way to an average.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut gradients = [1f32, 2.0];
    /// world.all_reduce(&mut gradients, Op::Sum.scaled(0.5, 4.0))?;
    /// assert_eq!(gradients, [2.0, 4.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "PREMUL_SUM")]
    pub const fn scaled(self, before: f64, after: f64) -> Scaled {
        Scaled { op: self, before, after }
    }

    /// The operation with this number on the wire.
    pub(crate) fn from_wire(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|op| *op as u8 == number)
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// An operation with factors; see [`Op::scaled`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    pub(super) op: Op,
    pub(super) before: f64,
    pub(super) after: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_keeps_its_number_on_the_wire() {
        let numbers = [
            (1, "sum"),
            (2, "product"),
            (3, "min"),
            (4, "max"),
            (5, "average"),
            (6, "logical and"),
            (7, "logical or"),
            (8, "logical xor"),
            (9, "bit and"),
            (10, "bit or"),
            (11, "bit xor"),
            (12, "min location"),
            (13, "max location"),
        ];
        for (number, name) in numbers {
            assert_eq!(Op::from_wire(number).map(Op::name), Some(name));
        }
        assert_eq!((Op::from_wire(0), Op::from_wire(14)), (None, None));
        assert_eq!(Op::ALL.len(), numbers.len());
    }
}
