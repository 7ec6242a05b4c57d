//! The collectives that begin now and are waited for later, on owned memory.
//!
//! Several may be under way on one communicator, also from several threads; like all collectives, they
//! must be begun in the same order on every rank. Neighbours: `plan` checks the arguments, `request` is what
//! comes back.

use bytemuck::Pod;

use crate::Result;
use crate::communicator::Communicator;
use crate::reduce::Reduction;
use crate::request::Pending;

impl Communicator {
    /// Begins a [`Communicator::barrier`] and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::barrier`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_barrier()?;
    /// pending.wait()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Ibarrier")]
    pub fn start_barrier(&self) -> Result<Pending<()>> {
        let plan = self.plan_barrier()?;
        self.start(&plan, None, None)
    }

    /// Begins a [`Communicator::broadcast`] of an owned buffer and returns at once; the buffer comes back from
    /// [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::broadcast`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_broadcast(vec![1f32, 2.0], 0)?;
    /// assert_eq!(pending.wait()?, vec![1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Ibcast")]
    pub fn start_broadcast<T: Pod + Send>(&self, data: Vec<T>, root: usize) -> Result<Pending<Vec<T>>> {
        let plan = self.plan_broadcast::<T>(data.len(), root)?;
        self.start(&plan, None, Some(data))
    }

    /// Begins a [`Communicator::reduce`] of an owned buffer and returns at once; the buffer comes back from
    /// [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_reduce(vec![1i32, 2], Op::Sum, 0)?;
    /// assert_eq!(pending.wait()?, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Ireduce")]
    pub fn start_reduce<T: Pod + Send>(
        &self,
        data: Vec<T>,
        op: impl Reduction<T>,
        root: usize,
    ) -> Result<Pending<Vec<T>>> {
        let plan = self.plan_reduce(data.len(), &op, root, true)?;
        if self.rank() == root {
            self.start(&plan, None, Some(data))
        } else {
            self.start(&plan, Some(data), None)
        }
    }

    /// Begins a [`Communicator::all_reduce`] of an owned buffer and returns at once; the buffer comes back from
    /// [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_reduce`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_all_reduce(vec![1f32, 2.0], Op::Sum)?;
    /// assert_eq!(pending.wait()?, vec![1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Iallreduce")]
    pub fn start_all_reduce<T: Pod + Send>(
        &self,
        data: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<Pending<Vec<T>>> {
        let plan = self.plan_all_reduce(data.len(), &op, true)?;
        self.start(&plan, None, Some(data))
    }

    /// Begins a [`Communicator::reduce_scatter`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce_scatter`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_reduce_scatter(vec![1f32, 2.0], vec![0.0; 2], Op::Sum)?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Ireduce_scatter_block")]
    pub fn start_reduce_scatter<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_reduce_scatter(input.len(), output.len(), &op, false)?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::reduce_scatter_varied`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce_scatter_varied`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_reduce_scatter_varied(vec![1f32, 2.0], vec![0.0; 2], &[2], Op::Sum)?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Ireduce_scatter")]
    pub fn start_reduce_scatter_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        counts: &[usize],
        op: impl Reduction<T>,
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_reduce_scatter_varied(input.len(), output.len(), counts, &op)?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::all_gather`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_gather`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_all_gather(vec![1u8, 2], vec![0; 2])?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Iallgather", "MPI_Iallgatherv"))]
    pub fn start_all_gather<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_all_gather::<T>(Some(input.len()), output.len())?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::all_gather_varied`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_gather_varied`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_all_gather_varied(vec![1u8, 2], vec![0; 2], &[2])?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Iallgather", "MPI_Iallgatherv"))]
    pub fn start_all_gather_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        counts: &[usize],
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_all_gather_varied::<T>(input.len(), output.len(), counts)?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::gather`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::gather`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_gather(vec![1u8, 2], vec![0; 2], 0)?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Igather", "MPI_Igatherv"))]
    pub fn start_gather<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        root: usize,
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_gather::<T>(input.len(), output.len(), root)?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::gather_varied`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::gather_varied`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_gather_varied(vec![1u8, 2], vec![0; 2], &[2], 0)?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Igather", "MPI_Igatherv"))]
    pub fn start_gather_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        counts: &[usize],
        root: usize,
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_gather_varied::<T>(input.len(), output.len(), counts, root)?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::scatter`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scatter`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_scatter(vec![1u8, 2], vec![0; 2], 0)?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Iscatter", "MPI_Iscatterv"))]
    pub fn start_scatter<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        root: usize,
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_scatter::<T>(input.len(), output.len(), root)?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::scatter_varied`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scatter_varied`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_scatter_varied(vec![1u8, 2], &[2], vec![0; 2], 0)?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Iscatter", "MPI_Iscatterv"))]
    pub fn start_scatter_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        counts: &[usize],
        output: Vec<T>,
        root: usize,
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_scatter_varied::<T>(input.len(), counts, output.len(), root)?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::all_to_all`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_to_all`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_all_to_all(vec![1u8, 2], vec![0; 2])?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Ialltoall", "MPI_Ialltoallv"))]
    pub fn start_all_to_all<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan = self.plan_all_to_all::<T>(Some(input.len()), output.len())?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::all_to_all_varied`] of owned buffers and returns at once; input and output come
    /// back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_to_all_varied`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_all_to_all_varied(vec![1u8, 2], &[2], vec![0; 2], &[2])?;
    /// let (_input, output) = pending.wait()?;
    /// assert_eq!(output, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Ialltoall", "MPI_Ialltoallv"))]
    pub fn start_all_to_all_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        send_counts: &[usize],
        output: Vec<T>,
        recv_counts: &[usize],
    ) -> Result<Pending<(Vec<T>, Vec<T>)>> {
        let plan =
            self.plan_all_to_all_varied::<T>((input.len(), send_counts), (output.len(), recv_counts))?;
        self.start(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::scan`] of an owned buffer and returns at once; the buffer comes back from
    /// [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scan`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_scan(vec![1u64, 2], Op::Sum)?;
    /// assert_eq!(pending.wait()?, vec![1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Iscan", "MPI_Iexscan"))]
    pub fn start_scan<T: Pod + Send>(&self, data: Vec<T>, op: impl Reduction<T>) -> Result<Pending<Vec<T>>> {
        let plan = self.plan_scan(data.len(), &op, false, true)?;
        self.start(&plan, None, Some(data))
    }

    /// Begins a [`Communicator::exclusive_scan`] of an owned buffer and returns at once; the buffer comes back from
    /// [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::exclusive_scan`] can be refused for; all else is reported by the pending
    /// result.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_exclusive_scan(vec![1u64, 2], Op::Sum)?;
    /// assert_eq!(pending.wait()?, vec![1, 2], "on rank 0 it stays as it is");
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Iscan", "MPI_Iexscan"))]
    pub fn start_exclusive_scan<T: Pod + Send>(
        &self,
        data: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<Pending<Vec<T>>> {
        let plan = self.plan_scan(data.len(), &op, true, true)?;
        self.start(&plan, None, Some(data))
    }
}
