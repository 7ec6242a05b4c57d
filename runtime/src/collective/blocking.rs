//! The collectives that return when they are done, on borrowed memory.
//!
//! All of them must be called by every rank of the communicator, in the same order. What goes wrong is the
//! same for all, and said once here:
//!
//! * [`Error::InvalidRank`] and [`Error::InvalidCount`] for arguments that make no sense: found at once,
//!   before anything is sent; [`Error::UnsupportedOp`] for an operation that the element type does not have.
//! * [`Error::Mismatch`] when ranks disagree about what is called, on every rank, with who called what and
//!   where.
//! * Whatever ends the world meanwhile.

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use super::plan::same_length;
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::Communicator;
use ringworld_engine::Reduction;

/// # Collectives, blocking
///
/// On borrowed memory; they return when they are done.
impl Communicator {
    /// Returns when every rank has called it.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] when ranks call different collectives, and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.barrier()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Barrier", "monitored_barrier"))]
    pub fn barrier(&self) -> Result<()> {
        self.call_blocking(self.plan_barrier()?, None, None)
    }

    /// Gives the root's elements to every rank: `data` is read at `root` and written elsewhere.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; [`Error::Mismatch`] when ranks disagree about root or size; and whatever
    /// ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut weights = [1f32, 2.0];
    /// world.broadcast(&mut weights, 0)?;
    /// assert_eq!(weights, [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Bcast", "ncclBroadcast", "bcast", "broadcast_into"))]
    pub fn broadcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.call_blocking(self.plan_broadcast::<T>(data.len(), root)?, None, Some(cast_slice_mut(data)))
    }

    /// Combines the ranks' `data` element by element; the result replaces `data` at `root`, the other
    /// ranks' `data` stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`], [`Error::UnsupportedOp`]; [`Error::Mismatch`] when ranks disagree about root,
    /// type, size or operation; and whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut x = [1i32, 2];
    /// world.reduce(&mut x, Op::Sum, 0)?;
    /// assert_eq!(x, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Reduce", "ncclReduce"))]
    pub fn reduce<T: Pod>(&self, data: &mut [T], op: impl Reduction<T>, root: usize) -> Result<()> {
        let plan = self.plan_reduce(data.len(), &op, root, true)?;
        if self.rank() == root {
            self.call_blocking(plan, None, Some(cast_slice_mut(data)))
        } else {
            self.call_blocking(plan, Some(cast_slice(data)), None)
        }
    }

    /// Like [`Communicator::reduce`], with the result in `output` at the root and `input` left as it is.
    /// Elsewhere `output` is not looked at, and may be empty.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::reduce`], and [`Error::InvalidCount`] when the slices differ in length at
    /// the root.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut largest = [0u64; 2];
    /// world.reduce_into(&[3u64, 4], &mut largest, Op::Max, 0)?;
    /// assert_eq!(largest, [3, 4]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Reduce", "reduce_into_root"))]
    pub fn reduce_into<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Reduction<T>,
        root: usize,
    ) -> Result<()> {
        let plan = self.plan_reduce(input.len(), &op, root, false)?;
        if self.rank() == root {
            same_length("reduce_into", "input", input.len(), "output", output.len())?;
            self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
        } else {
            self.call_blocking(plan, Some(cast_slice(input)), None)
        }
    }

    /// Combines the ranks' `data` element by element; the result replaces `data` on every rank.
    ///
    /// Every rank gets the same bits, and the same bits again on the next run with the same world and
    /// settings. For results that do not depend on the length of `data` either, see
    /// [`Options::reproducible`](crate::Options::reproducible).
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedOp`]; [`Error::Mismatch`] when ranks disagree about type, size or operation; and
    /// whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut gradients = [0.5f32, -1.0];
    /// world.all_reduce(&mut gradients, Op::Average)?;
    /// assert_eq!(gradients, [0.5, -1.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Allreduce", "ncclAllReduce", "MPI_IN_PLACE"))]
    pub fn all_reduce<T: Pod>(&self, data: &mut [T], op: impl Reduction<T>) -> Result<()> {
        self.call_blocking(self.plan_all_reduce(data.len(), &op, true)?, None, Some(cast_slice_mut(data)))
    }

    /// Like [`Communicator::all_reduce`], with the result in `output` and `input` left as it is.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_reduce`], and [`Error::InvalidCount`] when the slices differ in length.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0u64; 2];
    /// world.all_reduce_into(&[3u64, 4], &mut output, Op::Max)?;
    /// assert_eq!(output, [3, 4]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Allreduce")]
    pub fn all_reduce_into<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Reduction<T>,
    ) -> Result<()> {
        same_length("all_reduce_into", "input", input.len(), "output", output.len())?;
        if op.plan().is_ok_and(|reducer| reducer.scales_before()) {
            // A factor comes first, and the input is not ours to change.
            output.copy_from_slice(input);
            return self.all_reduce(output, op);
        }
        let plan = self.plan_all_reduce(input.len(), &op, false)?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    /// Combines the ranks' `input` element by element and gives each rank its block of the result: rank
    /// `r` gets elements `r * n` to `(r + 1) * n`, where `n` is the length of `output`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`] when `input` is not as long as all outputs together; [`Error::UnsupportedOp`];
    /// [`Error::Mismatch`] when ranks disagree about type, size or operation; and whatever ends the world
    /// meanwhile.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut block = [0f64; 2];
    /// world.reduce_scatter(&[1f64, 2.0], &mut block, Op::Sum)?;
    /// assert_eq!(block, [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias(
        "MPI_Reduce_scatter_block",
        "Reduce_scatter_block",
        "reduce_scatter_block_into",
        "ncclReduceScatter",
        "reduce_scatter_tensor",
    ))]
    pub fn reduce_scatter<T: Pod>(&self, input: &[T], output: &mut [T], op: impl Reduction<T>) -> Result<()> {
        let plan = self.plan_reduce_scatter(input.len(), output.len(), &op, false)?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    /// Like [`Communicator::reduce_scatter`] within one buffer: this rank's block of the result is left at
    /// the beginning of `data`, and returned; what becomes of the rest is not specified.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::reduce_scatter`]; the length of `data` must be a multiple of the number of
    /// ranks.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut data = [1f64, 2.0];
    /// assert_eq!(world.reduce_scatter_in_place(&mut data, Op::Sum)?, [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Reduce_scatter_block", "MPI_IN_PLACE"))]
    pub fn reduce_scatter_in_place<'a, T: Pod>(
        &self,
        data: &'a mut [T],
        op: impl Reduction<T>,
    ) -> Result<&'a mut [T]> {
        let block = data.len() / self.size();
        let plan = self.plan_reduce_scatter(data.len(), block, &op, true)?;
        self.call_blocking(plan, None, Some(cast_slice_mut(data)))?;
        Ok(&mut data[..block])
    }

    /// Like [`Communicator::reduce_scatter`] with a length of its own for each rank: rank `r` gets
    /// `counts[r]` elements, those behind the blocks of the ranks before it. `counts` must be the same on
    /// all ranks.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::reduce_scatter`]; [`Error::InvalidCount`] when `counts` has not one entry
    /// per rank, does not add up to the length of `input`, or differs from the length of `output`.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut block = [0f64; 2];
    /// world.reduce_scatter_varied(&[1f64, 2.0], &mut block, &[2], Op::Sum)?;
    /// assert_eq!(block, [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Reduce_scatter")]
    pub fn reduce_scatter_varied<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        counts: &[usize],
        op: impl Reduction<T>,
    ) -> Result<()> {
        let plan = self.plan_reduce_scatter_varied(input.len(), output.len(), counts, &op)?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    /// Gives every rank's `input` to every rank: `output` holds them one after another, in rank order.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`] when `output` is not as long as all inputs together; [`Error::Mismatch`]
    /// when ranks disagree about the size; and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0u8; 2];
    /// world.all_gather(&[1u8, 2], &mut output)?;
    /// assert_eq!(output, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Allgather", "ncclAllGather", "all_gather_into_tensor", "all_gather_into"))]
    pub fn all_gather<T: Pod>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let plan = self.plan_all_gather::<T>(Some(input.len()), output.len())?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    /// Like [`Communicator::all_gather`] within one buffer: each rank finds its own block at its place in
    /// `data`, and all others there afterwards.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_gather`]; the length of `data` must be a multiple of the number of
    /// ranks.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut ranks = vec![0usize; world.size()];
    /// ranks[world.rank()] = world.rank();
    /// world.all_gather_in_place(&mut ranks)?;
    /// assert!(ranks.iter().enumerate().all(|(index, rank)| index == *rank));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Allgather", "MPI_IN_PLACE"))]
    pub fn all_gather_in_place<T: Pod>(&self, data: &mut [T]) -> Result<()> {
        self.call_blocking(self.plan_all_gather::<T>(None, data.len())?, None, Some(cast_slice_mut(data)))
    }

    /// Like [`Communicator::all_gather`] with a length of its own for each rank: rank `r` gives `counts[r]`
    /// elements. `counts` must be the same on all ranks.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_gather`]; [`Error::InvalidCount`] when `counts` has not one entry per
    /// rank, does not add up to the length of `output`, or differs from the length of `input`.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0u8; 2];
    /// world.all_gather_varied(&[1u8, 2], &mut output, &[2])?;
    /// assert_eq!(output, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Allgatherv", "allgatherv", "all_gather_varcount_into"))]
    pub fn all_gather_varied<T: Pod>(&self, input: &[T], output: &mut [T], counts: &[usize]) -> Result<()> {
        let plan = self.plan_all_gather_varied::<T>(input.len(), output.len(), counts)?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    /// Gives every rank's `input` to the root: `output` holds them there one after another, in rank order.
    /// Elsewhere `output` is not looked at, and may be empty.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; [`Error::InvalidCount`] when `output` is not as long as all inputs together
    /// at the root; [`Error::Mismatch`] when ranks disagree about root or size; and whatever ends the world
    /// meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut losses = vec![0f32; if world.rank() == 0 { world.size() } else { 0 }];
    /// world.gather(&[0.25f32], &mut losses, 0)?;
    /// assert_eq!(losses, [0.25]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Gather", "gather_into", "gather_into_root"))]
    pub fn gather<T: Pod>(&self, input: &[T], output: &mut [T], root: usize) -> Result<()> {
        let plan = self.plan_gather::<T>(input.len(), output.len(), root)?;
        let output = (self.rank() == root).then(|| cast_slice_mut(output));
        self.call_blocking(plan, Some(cast_slice(input)), output)
    }

    /// Like [`Communicator::gather`] with a length of its own for each rank. `counts` says them at the
    /// root, `counts[r]` for rank `r`; elsewhere it is not looked at, and may be empty.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::gather`]; [`Error::InvalidCount`] when, at the root, `counts` has not one
    /// entry per rank, does not add up to the length of `output`, or differs from the length of `input`;
    /// [`Error::Mismatch`] when a rank gives another number of elements than the root expects.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0u8; 2];
    /// world.gather_varied(&[1u8, 2], &mut output, &[2], 0)?;
    /// assert_eq!(output, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Gatherv", "gatherv", "gather_varcount_into_root"))]
    pub fn gather_varied<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        counts: &[usize],
        root: usize,
    ) -> Result<()> {
        let plan = self.plan_gather_varied::<T>(input.len(), output.len(), counts, root)?;
        let output = (self.rank() == root).then(|| cast_slice_mut(output));
        self.call_blocking(plan, Some(cast_slice(input)), output)
    }

    /// Gives each rank its block of the root's `input`: rank `r` gets elements `r * n` to `(r + 1) * n`,
    /// where `n` is the length of `output`. Elsewhere than at the root `input` is not looked at, and may be
    /// empty.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; [`Error::InvalidCount`] when `input` is not as long as all outputs together
    /// at the root; [`Error::Mismatch`] when ranks disagree about root or size; and whatever ends the world
    /// meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut mine = [0u32; 1];
    /// world.scatter(&[7], &mut mine, 0)?;
    /// assert_eq!(mine, [7]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Scatter", "scatter_into", "scatter_into_root"))]
    pub fn scatter<T: Pod>(&self, input: &[T], output: &mut [T], root: usize) -> Result<()> {
        let plan = self.plan_scatter::<T>(input.len(), output.len(), root)?;
        let input = (self.rank() == root).then(|| cast_slice(input));
        self.call_blocking(plan, input, Some(cast_slice_mut(output)))
    }

    /// Like [`Communicator::scatter`] with a length of its own for each rank. `counts` says them at the
    /// root, `counts[r]` for rank `r`; elsewhere it is not looked at, and may be empty.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::scatter`]; [`Error::InvalidCount`] when, at the root, `counts` has not one
    /// entry per rank, does not add up to the length of `input`, or differs from the length of `output`;
    /// [`Error::Mismatch`] when a rank expects another number of elements than the root gives.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut mine = [0u32; 2];
    /// world.scatter_varied(&[7, 8], &[2], &mut mine, 0)?;
    /// assert_eq!(mine, [7, 8]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Scatterv", "scatterv", "scatter_varcount_into_root"))]
    pub fn scatter_varied<T: Pod>(
        &self,
        input: &[T],
        counts: &[usize],
        output: &mut [T],
        root: usize,
    ) -> Result<()> {
        let plan = self.plan_scatter_varied::<T>(input.len(), counts, output.len(), root)?;
        let input = (self.rank() == root).then(|| cast_slice(input));
        self.call_blocking(plan, input, Some(cast_slice_mut(output)))
    }

    /// Every rank gives each rank a block: block `r` of `input` goes to rank `r`, and block `r` of `output`
    /// comes from rank `r`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`] when the slices differ in length, or the length is not a multiple of the
    /// number of ranks; [`Error::Mismatch`] when ranks disagree about the size; and whatever ends the world
    /// meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0u16; 3];
    /// world.all_to_all(&[1u16, 2, 3], &mut output)?;
    /// assert_eq!(output, [1, 2, 3]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Alltoall", "all_to_all_single", "all_to_all_into"))]
    pub fn all_to_all<T: Pod>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let plan = self.plan_all_to_all::<T>(Some(input.len()), output.len())?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    /// Like [`Communicator::all_to_all`] within one buffer: the blocks that come replace those that go.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_to_all`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut data = [1u16, 2, 3];
    /// world.all_to_all_in_place(&mut data)?;
    /// assert_eq!(data, [1, 2, 3]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Alltoall", "MPI_IN_PLACE"))]
    pub fn all_to_all_in_place<T: Pod>(&self, data: &mut [T]) -> Result<()> {
        self.call_blocking(self.plan_all_to_all::<T>(None, data.len())?, None, Some(cast_slice_mut(data)))
    }

    /// Like [`Communicator::all_to_all`] with a length of its own for each pair of ranks: `send_counts[r]`
    /// elements of `input` go to rank `r`, `recv_counts[r]` elements of `output` come from it. Blocks lie
    /// one behind the other, in rank order.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_to_all`]; [`Error::InvalidCount`] when counts have not one entry per rank
    /// or do not add up to the length of their buffer; [`Error::Mismatch`] when one rank sends another
    /// number of elements than the other expects.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0u16; 3];
    /// world.all_to_all_varied(&[1u16, 2, 3], &[3], &mut output, &[3])?;
    /// assert_eq!(output, [1, 2, 3]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Alltoallv", "alltoallv", "all_to_all_varcount_into"))]
    pub fn all_to_all_varied<T: Pod>(
        &self,
        input: &[T],
        send_counts: &[usize],
        output: &mut [T],
        recv_counts: &[usize],
    ) -> Result<()> {
        let (send, recv) = ((input.len(), send_counts), (output.len(), recv_counts));
        let plan = self.plan_all_to_all_varied::<T>(send, recv)?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    /// Combines the `data` of this rank and of all before it; the result replaces `data`: rank `r` gets
    /// `x0 op x1 op … op xr`.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedOp`]; [`Error::Mismatch`] when ranks disagree about type, size or operation; and
    /// whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut items = [3usize];
    /// world.scan(&mut items, Op::Sum)?;
    /// assert_eq!(items, [3], "items up to and with this rank");
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Scan")]
    pub fn scan<T: Pod>(&self, data: &mut [T], op: impl Reduction<T>) -> Result<()> {
        self.call_blocking(self.plan_scan(data.len(), &op, false, true)?, None, Some(cast_slice_mut(data)))
    }

    /// Like [`Communicator::scan`], with the result in `output` and `input` left as it is.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::scan`], and [`Error::InvalidCount`] when the slices differ in length.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut output = [0usize];
    /// world.scan_into(&[3], &mut output, Op::Sum)?;
    /// assert_eq!(output, [3]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Scan")]
    pub fn scan_into<T: Pod>(&self, input: &[T], output: &mut [T], op: impl Reduction<T>) -> Result<()> {
        same_length("scan_into", "input", input.len(), "output", output.len())?;
        let plan = self.plan_scan(input.len(), &op, false, false)?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }

    /// Combines the `data` of all ranks before this one; the result replaces `data`: rank `r` gets
    /// `x0 op … op x(r-1)`. On rank 0, which has none before it, `data` stays as it is.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::scan`].
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut offset = [3usize];
    /// world.exclusive_scan(&mut offset, Op::Sum)?;
    /// if world.rank() == 0 {
    ///     offset = [0]; // the sum over no ranks
    /// }
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Exscan", "exscan"))]
    pub fn exclusive_scan<T: Pod>(&self, data: &mut [T], op: impl Reduction<T>) -> Result<()> {
        self.call_blocking(self.plan_scan(data.len(), &op, true, true)?, None, Some(cast_slice_mut(data)))
    }

    /// Like [`Communicator::exclusive_scan`], with the result in `output` and `input` left as it is. On
    /// rank 0 `output` stays as it is.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::scan_into`].
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut offset = [0usize];
    /// world.exclusive_scan_into(&[3], &mut offset, Op::Sum)?;
    /// assert_eq!(offset, [0], "nothing comes before rank 0");
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Exscan")]
    pub fn exclusive_scan_into<T: Pod>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Reduction<T>,
    ) -> Result<()> {
        same_length("exclusive_scan_into", "input", input.len(), "output", output.len())?;
        let plan = self.plan_scan(input.len(), &op, true, false)?;
        self.call_blocking(plan, Some(cast_slice(input)), Some(cast_slice_mut(output)))
    }
}
