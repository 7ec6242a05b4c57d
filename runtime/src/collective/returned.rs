//! The collectives that return what they make, where no buffer is worth the words: one value of each rank, or as many
//! elements as come.
//!
//! Each is one of `blocking.rs`, under its name there, with memory of its own.

use bytemuck::Pod;

#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::Communicator;
use crate::message::room;
use ringworld_engine::{Op, Reduction};

/// # Collectives on single values, and into new vectors
impl Communicator {
    /// Combines one value of each rank, and returns the result on every rank: [`Communicator::all_reduce`] of one
    /// element.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_reduce`].
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let loss = world.all_reduce_one(0.25f64, Op::Average)?;
    /// assert_eq!(loss, 0.25);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Allreduce")]
    pub fn all_reduce_one<T: Pod>(&self, value: T, op: impl Reduction<T>) -> Result<T> {
        let mut one = [value];
        self.all_reduce(&mut one, op)?;
        let [value] = one;
        Ok(value)
    }

    /// Whether `value` is true on every rank: a [`Communicator::all_reduce`] of one `u8` by [`Op::LogicalAnd`].
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_reduce`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// # let (error, tolerance) = (1e-9, 1e-6);
    /// let converged = world.all_true(error < tolerance)?;
    /// assert!(converged);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "bool")]
    pub fn all_true(&self, value: bool) -> Result<bool> {
        Ok(self.all_reduce_one(u8::from(value), Op::LogicalAnd)? != 0)
    }

    /// Whether `value` is true on some rank: a [`Communicator::all_reduce`] of one `u8` by [`Op::LogicalOr`].
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_reduce`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// # let gradients = [1f32];
    /// let overflow = world.any_true(gradients.iter().any(|x| !x.is_finite()))?;
    /// assert!(!overflow);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "bool")]
    pub fn any_true(&self, value: bool) -> Result<bool> {
        Ok(self.all_reduce_one(u8::from(value), Op::LogicalOr)? != 0)
    }

    /// Gives every rank's `input` to the root, which gets them one after another, in rank order; the others get `None`.
    /// Otherwise like [`Communicator::gather`]: every rank gives the same number of elements.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::gather`], and [`Error::System`] when the root has no memory for all of them; it has not
    /// taken part then, which the others learn at its next call or its end.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let load = world.rank() as f64;
    /// if let Some(loads) = world.gather_vec(&[load], 0)? {
    ///     println!("the busiest rank has {}", loads.into_iter().fold(0.0, f64::max));
    /// }
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Gather")]
    pub fn gather_vec<T: Pod>(&self, input: &[T], root: usize) -> Result<Option<Vec<T>>> {
        self.check_rank("gather_vec", root)?;
        if self.rank() != root {
            self.gather(input, &mut [], root)?;
            return Ok(None);
        }
        let mut output = self.room_for("gather_vec", input)?;
        self.gather(input, &mut output, root)?;
        Ok(Some(output))
    }

    /// Gives every rank's `input` to every rank; returns them one after another, in rank order. Otherwise like
    /// [`Communicator::all_gather`]: every rank gives the same number of elements.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_gather`], and [`Error::System`] when there is no memory for all of them.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let process_ids = world.all_gather_vec(&[std::process::id()])?;
    /// assert_eq!(process_ids.len(), world.size());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Allgather")]
    pub fn all_gather_vec<T: Pod>(&self, input: &[T]) -> Result<Vec<T>> {
        let mut output = self.room_for("all_gather_vec", input)?;
        self.all_gather(input, &mut output)?;
        Ok(output)
    }

    /// Memory for what every rank gives, when all give as much as this one.
    fn room_for<T: Pod>(&self, operation: &str, input: &[T]) -> Result<Vec<T>> {
        let of_all = input.len().saturating_mul(self.size());
        room(of_all, || format!("{operation} of {} elements from each of {} ranks", input.len(), self.size()))
    }
}
