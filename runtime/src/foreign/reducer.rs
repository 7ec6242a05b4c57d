//! How elements of a type that is known only at run time are combined.

use std::fmt;
use std::sync::Arc;

use crate::error::unsupported;
use crate::{DType, Op, Result};
use ringworld_engine::BytesOp;

/// An operation on elements of one size.
#[derive(Clone)]
pub struct Reducer {
    pub(super) reducer: ringworld_engine::Reducer,
    pub(super) element: usize,
    pub(super) alignment: usize,
}

impl fmt::Debug for Reducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reducer.fmt(f)
    }
}

impl Reducer {
    /// A built-in operation on elements of a type with a name.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedOp`](crate::Error::UnsupportedOp) when the type does not have it.
    ///
    /// See [`crate::foreign`] for an example.
    pub fn new(dtype: DType, op: Op) -> Result<Self> {
        let reducer =
            ringworld_engine::Reducer::of_dtype(dtype, op).map_err(|why| unsupported("reduction", why))?;
        let element = dtype.size();
        // Of `Located` only a part is aligned, but nothing is aligned to more than this.
        let alignment = element.min(16).next_power_of_two();
        Ok(Self { reducer, element, alignment })
    }

    /// An operation of one's own on elements of `size` bytes: `function(left, right)` replaces each element of
    /// `right` by what the two give, in that order. It must be associative, the same on every rank, and must not call
    /// this library, as that of a [`UserOp`](crate::UserOp) must not. Ranks compare the names. The elements it is given
    /// are aligned to `alignment` bytes, a power of two up to 16.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ringworld::foreign::{Call, Foreign, Reducer};
    /// # let world = ringworld::testing::alone();
    /// let last = Reducer::from_fn("last", 1, 1, false, Arc::new(|_left, _right| ()));
    /// let mut data = *b"abc";
    /// // SAFETY: the array is borrowed by nobody else, and outlives the call, which returns when it is done.
    /// let memory = unsafe { Foreign::new(data.as_mut_ptr(), data.len()) };
    /// world.run_foreign(&Call::AllReduce { op: last }, None, Some(memory))?;
    /// assert_eq!(&data, b"abc");
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn from_fn(
        name: &str,
        size: usize,
        alignment: usize,
        commutative: bool,
        function: Arc<BytesOp>,
    ) -> Self {
        let reducer = ringworld_engine::Reducer::of_bytes(name, size, commutative, function);
        Self { reducer, element: size, alignment: alignment.clamp(1, 16) }
    }

    /// How many bytes an element has.
    #[must_use]
    pub fn element(&self) -> usize {
        self.element
    }

    /// To how many bytes the memory that calls are given must be aligned.
    #[must_use]
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Combines two runs of elements in memory of this rank: `right = left op right`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`](crate::Error::InvalidCount) when they differ in length, are no whole elements, or are
    /// not aligned; [`Error::Panicked`](crate::Error::Panicked) when a function panics.
    ///
    /// ```
    /// use ringworld::foreign::Reducer;
    /// use ringworld::{DType, Op};
    /// let mut right = [1u8, 2];
    /// Reducer::new(DType::U8, Op::Sum)?.combine(&[10, 20], &mut right)?;
    /// assert_eq!(right, [11, 22]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn combine(&self, left: &[u8], right: &mut [u8]) -> Result<()> {
        let aligned = |bytes: &[u8]| bytes.as_ptr().addr().is_multiple_of(self.alignment);
        let whole = left.len() == right.len() && left.len().is_multiple_of(self.element.max(1));
        if !whole || !aligned(left) || !aligned(right) {
            let detail = format!(
                "{} and {} bytes; both must be the same whole number of elements of {} bytes, aligned to {}",
                left.len(),
                right.len(),
                self.element,
                self.alignment
            );
            return Err(crate::Error::InvalidCount { operation: "combine".into(), detail });
        }
        self.reducer.kernel.reduce_right(left, right).map_err(|panicked| crate::Error::Panicked {
            operation: "combine".into(),
            detail: panicked.to_string(),
        })
    }
}
