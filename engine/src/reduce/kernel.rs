//! Kernels: what combines two runs of elements, in three shapes.
//!
//! A kernel is picked once per collective. Built-in ones are plain functions, one for each (type,
//! operation, shape); a user's is an object around the closure, which is compiled into its loops too. Operand order is
//! kept, although every built-in operation is commutative on numbers: it decides which NaN or which zero survives, and
//! thereby that all ranks get the same bits.
//!
//! Invariant: slices have equal lengths, a multiple of the element's size, and the element's alignment.
//! Neighbours: `buffer` calls kernels with spans of lent memory, `arithmetic` makes the built-in ones out of
//! `loops` and `narrow`.

use std::sync::Arc;

use bytemuck::Pod;

use super::loops::{Operator, apart, into_left, into_right};
use super::user::{Operation, Panicked};

/// What combines two runs of elements.
#[derive(Clone)]
pub enum Kernel {
    /// Of a built-in operation.
    Functions(Functions),
    /// Of a user's.
    User(Arc<Operation>),
}

/// The three shapes of a built-in kernel.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Functions {
    /// `left = left op right`
    pub(crate) into_left: fn(&mut [u8], &[u8]),
    /// `right = left op right`
    pub(crate) into_right: fn(&[u8], &mut [u8]),
    /// `into = left op right`
    pub(crate) apart: fn(&[u8], &[u8], &mut [u8]),
}

impl Kernel {
    /// That of a collective that only moves elements, such as a broadcast.
    pub(crate) const NONE: Self =
        Self::Functions(Functions { into_left: |_, _| (), into_right: |_, _| (), apart: |_, _, _| () });

    /// Takes a user's operation out, if nobody else has it any more.
    #[inline]
    pub(crate) fn take_last(&mut self) -> Option<Operation> {
        match self {
            Self::Functions(_) => None,
            Self::User(_) => self.take_last_of_user(),
        }
    }

    #[cold]
    fn take_last_of_user(&mut self) -> Option<Operation> {
        match std::mem::replace(self, Self::NONE) {
            Self::Functions(_) => None,
            Self::User(user) => Arc::into_inner(user),
        }
    }

    /// `left = left op right`
    ///
    /// # Errors
    ///
    /// Here and below: when a user's operation panics. What is in the result then is unspecified.
    pub fn reduce_left(&self, left: &mut [u8], right: &[u8]) -> Result<(), Panicked> {
        match self {
            Self::Functions(functions) => {
                (functions.into_left)(left, right);
                Ok(())
            }
            Self::User(user) => user.reduce_left(left, right),
        }
    }

    /// `right = left op right`
    pub fn reduce_right(&self, left: &[u8], right: &mut [u8]) -> Result<(), Panicked> {
        match self {
            Self::Functions(functions) => {
                (functions.into_right)(left, right);
                Ok(())
            }
            Self::User(user) => user.reduce_right(left, right),
        }
    }

    /// `into = left op right`
    pub fn reduce_apart(&self, left: &[u8], right: &[u8], into: &mut [u8]) -> Result<(), Panicked> {
        match self {
            Self::Functions(functions) => {
                (functions.apart)(left, right, into);
                Ok(())
            }
            Self::User(user) => user.reduce_apart(left, right, into),
        }
    }
}

impl Functions {
    /// The loops of one operation on one type.
    pub(crate) const fn of<T: Pod, O: Operator<T>>() -> Self {
        Self {
            into_left: |left, right| into_left(left, right, O::apply),
            into_right: |left, right| into_right(left, right, O::apply),
            apart: |left, right, into| apart(left, right, into, O::apply),
        }
    }
}
