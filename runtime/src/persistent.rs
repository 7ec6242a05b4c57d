//! Persistent operations: arguments checked, schedule made and buffers owned once, started many times.
//!
//! The loop of a training step or a stencil calls the same collectives on the same buffers again and
//! again. [`Prepared`] keeps all that stays the same, registrations of the buffers with network cards included;
//! [`Prepared::start`] costs no check, no lookup and no allocation.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use ringworld_collectives::{Action, Buffer, Schedule};
use ringworld_protocol::{Envelope, Mode, Selector};

use crate::Result;
use crate::buffer::Loan;
use crate::collective::plan::Plan;
use crate::communicator::{Communicator, Source, Status, Tag};
use crate::datatype::ElementCode;
use crate::engine::Ending;
use crate::operation::Operation;
use crate::reduce::Reduction;
use crate::registered::refused;
use crate::request::{Place, Request, name_of, sealed};

/// An operation with its buffers, to be started any number of times, one after the other.
///
/// ```
/// use ringworld::Op;
/// # let world = ringworld::testing::alone();
/// let mut step = world.prepare_all_reduce(vec![0f32; 4], Op::Average)?;
/// for round in 0..3 {
///     step.input_mut().fill(round as f32);
///     let running = step.start()?;
///     // ... compute something else ...
///     let average = running.wait()?;
///     assert_eq!(average, [round as f32; 4]);
/// }
/// # Ok::<(), ringworld::Error>(())
/// ```
///
/// Buffers that take part in messages longer than [the eager limit](crate::eager_limit) stay registered with the transports
/// that gain by that (see [`Communicator::register`]) for as long as it has them. A card that refuses them, for another
/// reason than the limit on pinned memory, makes `prepare_*` fail with [`crate::Error::System`].
///
/// While it runs, its buffers cannot be touched:
///
/// ```compile_fail,E0499
/// use ringworld::Op;
/// # let world = ringworld::testing::alone();
/// let mut step = world.prepare_all_reduce(vec![0f32; 4], Op::Sum)?;
/// let running = step.start()?;
/// step.input_mut()[0] = 1.0;
/// running.wait()?;
/// # Ok::<(), ringworld::Error>(())
/// ```
#[doc(alias = "MPI_X_init")]
pub struct Prepared<T: Pod + Send> {
    communicator: Communicator,
    loan: Loan<T>,
    what: What,
}

/// What is started.
enum What {
    Collective { plan: Box<Plan>, schedule: Arc<Schedule> },
    Send { peer: usize, envelope: Envelope, to: usize, tag: u32 },
    Recv { selector: Selector, from: Source, tag: Tag },
}

impl<T: Pod + Send> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Collective { plan, .. } => write!(f, "Prepared({})", plan.stamp),
            What::Send { to, tag, .. } => write!(f, "Prepared(send to rank {to}, tag {tag})"),
            What::Recv { from, tag, .. } => write!(f, "Prepared(recv from {from}, {tag})"),
        }
    }
}

impl<T: Pod + Send> Prepared<T> {
    /// Starts it. The buffers are out of reach until what this returns has been waited for or dropped.
    ///
    /// # Errors
    ///
    /// None now; failures are reported by [`Running::wait`].
    #[doc(alias("MPI_X_init", "MPI_Start", "MPI_Startall"))]
    pub fn start(&mut self) -> Result<Running<'_, T>> {
        let running = self.begin();
        running.prepared.loan.help();
        Ok(running)
    }

    /// The longest message that is sent from or received into each buffer (input, output), in bytes. Collectives cut long
    /// vectors into segments, so this may be far less than the length of the buffer.
    fn longest_messages(&self) -> [usize; 2] {
        let What::Collective { plan, schedule } = &self.what else { return self.loan.lengths().into() };
        let mut longest = [0; 2];
        for action in schedule.actions() {
            let (Action::Send { from: span, .. } | Action::Recv { into: span, .. }) = action else {
                continue;
            };
            let longest = match span.buffer {
                Buffer::Input => &mut longest[0],
                Buffer::Output => &mut longest[1],
                Buffer::Scratch => continue,
            };
            *longest = span.len.saturating_mul(plan.request.element).max(*longest);
        }
        longest
    }

    fn begin(&mut self) -> Running<'_, T> {
        let communicator = &self.communicator;
        let lengths = self.loan.lengths();
        let operation = match &self.what {
            What::Collective { plan, schedule } => {
                let mut operation = plan.operation(0);
                self.loan.begin(|core, input, output| {
                    let (slot, named) = communicator.begin(core, plan, Arc::clone(schedule), input, output);
                    operation = named;
                    slot
                });
                operation
            }
            &What::Send { peer, envelope, to, tag } => {
                let number = communicator.count_message();
                self.loan.begin(|core, input, _| {
                    core.send_soon(peer, envelope, name_of(input), lengths.0, Mode::Standard)
                });
                Operation::Send { name: "prepared send", number, to, tag }
            }
            &What::Recv { selector, from, tag } => {
                let number = communicator.count_message();
                let element = ElementCode::of::<T>().into();
                self.loan
                    .begin(|core, _, output| core.receive(selector, element, name_of(output), lengths.1));
                Operation::Recv { name: "prepared recv", number, from, tag }
            }
        };
        Running { prepared: self, operation }
    }

    /// Starts it and waits for its end: the same call every time, without the cost of checking it.
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned.
    #[doc(alias = "MPI_X_init")]
    pub fn run(&mut self) -> Result<&mut [T]> {
        self.begin().wait()
    }

    /// What it reads, to be changed between runs. In place, and for a receive: the one buffer there is.
    pub fn input_mut(&mut self) -> &mut [T] {
        let (input, output) = self.loan.buffers();
        input.or(output).unwrap_or_default()
    }

    /// What it writes. In place, and for a send: the one buffer there is.
    pub fn output(&mut self) -> &mut [T] {
        let (input, output) = self.loan.buffers();
        output.or(input).unwrap_or_default()
    }

    /// Gives the buffers back: (input, output), of which one may not exist and is empty then.
    #[must_use]
    pub fn into_buffers(mut self) -> (Vec<T>, Vec<T>) {
        let (input, output) = self.loan.take();
        (input.unwrap_or_default(), output.unwrap_or_default())
    }
}

/// A [`Prepared`] operation that runs.
///
/// Dropping it is sound: the operation goes on, its failure goes unnoticed, and the next use of the
/// [`Prepared`] waits for its end.
#[must_use = "its failure shows when it is waited for"]
pub struct Running<'a, T: Pod + Send> {
    prepared: &'a mut Prepared<T>,
    operation: Operation,
}

impl<T: Pod + Send> fmt::Debug for Running<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Running({})", self.operation)
    }
}

impl<'a, T: Pod + Send> Running<'a, T> {
    /// Waits for the end; gives what it has written (what a send has sent).
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned. The buffers stay with the [`Prepared`].
    #[doc(alias = "MPI_Wait")]
    pub fn wait(self) -> Result<&'a mut [T]> {
        Ok(self.wait_for_status()?.0)
    }

    /// Like [`Running::wait`]; for a receive, also says what came.
    ///
    /// # Errors
    ///
    /// As for [`Running::wait`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut send = world.prepare_send(vec![1u8, 2], 0, 7)?;
    /// let mut recv = world.prepare_recv(vec![0u8; 8], 0, 7)?;
    /// for _ in 0..3 {
    ///     let receiving = recv.start()?;
    ///     send.run()?;
    ///     let (data, status) = receiving.wait_for_status()?;
    ///     assert_eq!(status.map(|status| &data[..status.count]), Some(&[1u8, 2][..]));
    /// }
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn wait_for_status(self) -> Result<(&'a mut [T], Option<Status>)> {
        let Self { prepared, operation } = self;
        // It has been begun, and nobody else can wait for it.
        let ending: Ending = prepared.loan.wait().unwrap_or(Ok(None));
        let communicator = &prepared.communicator;
        let done = ending.map_err(|failure| communicator.error(failure, operation))?;
        let status = match prepared.what {
            What::Recv { .. } => Some(communicator.status::<T>(done, &operation)?),
            _ => None,
        };
        Ok((prepared.output(), status))
    }

    /// Makes progress, and says whether it has ended, so that [`Running::wait`] will not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.prepared.loan.is_done()
    }
}

impl<T: Pod + Send> sealed::Sealed for Running<'_, T> {}
impl<'a, T: Pod + Send> Request for Running<'a, T> {
    type Output = &'a mut [T];

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn wait(self) -> Result<&'a mut [T]> {
        Self::wait(self)
    }

    fn place(&self) -> Place<'_> {
        Place { engine: self.prepared.communicator.engine(), slot: self.prepared.loan.slot() }
    }
}

impl Communicator {
    fn prepare<T: Pod + Send>(
        &self,
        plan: Plan,
        input: Option<Vec<T>>,
        output: Option<Vec<T>>,
    ) -> Result<Prepared<T>> {
        let schedule = self.schedule(&plan)?;
        self.prepared(What::Collective { plan: Box::new(plan), schedule }, input, output)
    }

    fn prepared<T: Pod + Send>(
        &self,
        what: What,
        input: Option<Vec<T>>,
        output: Option<Vec<T>>,
    ) -> Result<Prepared<T>> {
        let loan = Loan::new(self.engine(), input, output);
        let mut prepared = Prepared { communicator: self.clone(), loan, what };
        let longest = prepared.longest_messages();
        prepared.loan.register_for(longest).map_err(|cause| refused(format!("{prepared:?}"), &cause))?;
        Ok(prepared)
    }

    /// Prepares a [`Communicator::send`] that is started many times on one owned buffer.
    ///
    /// # Errors
    ///
    /// [`crate::Error::InvalidRank`].
    ///
    /// See [`Running::wait_for_status`] for an example.
    #[doc(alias = "MPI_Send_init")]
    pub fn prepare_send<T: Pod + Send>(&self, data: Vec<T>, to: usize, tag: u32) -> Result<Prepared<T>> {
        self.check_rank("prepare_send", to)?;
        let envelope = self.envelope(ElementCode::of::<T>(), tag);
        let what = What::Send { peer: self.world_rank(to), envelope, to, tag };
        self.prepared(what, Some(data), None)
    }

    /// Prepares a [`Communicator::recv`] that is started many times into one owned buffer, at its present
    /// length.
    ///
    /// # Errors
    ///
    /// [`crate::Error::InvalidRank`].
    ///
    /// See [`Running::wait_for_status`] for an example.
    #[doc(alias = "MPI_Recv_init")]
    pub fn prepare_recv<T: Pod + Send>(
        &self,
        buffer: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Prepared<T>> {
        let (from, tag) = (from.into(), tag.into());
        let selector = self.selector("prepare_recv", from, tag)?;
        self.prepared(What::Recv { selector, from, tag }, None, Some(buffer))
    }

    /// Prepares a [`Communicator::barrier`] that is started many times.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::barrier`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_barrier()?;
    /// prepared.run()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Barrier_init")]
    pub fn prepare_barrier(&self) -> Result<Prepared<u8>> {
        let plan = self.plan_barrier()?;
        self.prepare(plan, None, None)
    }

    /// Prepares a [`Communicator::broadcast`] that is started many times on one owned buffer.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::broadcast`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_broadcast(vec![1f32, 2.0], 0)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Bcast_init")]
    pub fn prepare_broadcast<T: Pod + Send>(&self, data: Vec<T>, root: usize) -> Result<Prepared<T>> {
        let plan = self.plan_broadcast::<T>(data.len(), root)?;
        self.prepare(plan, None, Some(data))
    }

    /// Prepares a [`Communicator::reduce`] that is started many times on one owned buffer.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce`] can be refused for.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_reduce(vec![1i32, 2], Op::Sum, 0)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Reduce_init")]
    pub fn prepare_reduce<T: Pod + Send>(
        &self,
        data: Vec<T>,
        op: impl Reduction<T>,
        root: usize,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_reduce(data.len(), &op, root, true)?;
        if self.rank() == root {
            self.prepare(plan, None, Some(data))
        } else {
            self.prepare(plan, Some(data), None)
        }
    }

    /// Prepares a [`Communicator::all_reduce`] that is started many times on one owned buffer.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_reduce`] can be refused for.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_all_reduce(vec![1f32, 2.0], Op::Sum)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Allreduce_init")]
    pub fn prepare_all_reduce<T: Pod + Send>(
        &self,
        data: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_all_reduce(data.len(), &op, true)?;
        self.prepare(plan, None, Some(data))
    }

    /// Prepares a [`Communicator::reduce_scatter`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce_scatter`] can be refused for.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_reduce_scatter(vec![1f32, 2.0], vec![0.0; 2], Op::Sum)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Reduce_scatter_block_init")]
    pub fn prepare_reduce_scatter<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_reduce_scatter(input.len(), output.len(), &op, false)?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::reduce_scatter_varied`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce_scatter_varied`] can be refused for.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_reduce_scatter_varied(vec![1f32, 2.0], vec![0.0; 2], &[2], Op::Sum)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1.0, 2.0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Reduce_scatter_init")]
    pub fn prepare_reduce_scatter_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        counts: &[usize],
        op: impl Reduction<T>,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_reduce_scatter_varied(input.len(), output.len(), counts, &op)?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::all_gather`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_gather`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_all_gather(vec![1u8, 2], vec![0; 2])?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Allgather_init", "MPI_Allgatherv_init"))]
    pub fn prepare_all_gather<T: Pod + Send>(&self, input: Vec<T>, output: Vec<T>) -> Result<Prepared<T>> {
        let plan = self.plan_all_gather::<T>(Some(input.len()), output.len())?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::all_gather_varied`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_gather_varied`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_all_gather_varied(vec![1u8, 2], vec![0; 2], &[2])?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Allgather_init", "MPI_Allgatherv_init"))]
    pub fn prepare_all_gather_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        counts: &[usize],
    ) -> Result<Prepared<T>> {
        let plan = self.plan_all_gather_varied::<T>(input.len(), output.len(), counts)?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::gather`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::gather`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_gather(vec![1u8, 2], vec![0; 2], 0)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Gather_init", "MPI_Gatherv_init"))]
    pub fn prepare_gather<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        root: usize,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_gather::<T>(input.len(), output.len(), root)?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::gather_varied`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::gather_varied`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_gather_varied(vec![1u8, 2], vec![0; 2], &[2], 0)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Gather_init", "MPI_Gatherv_init"))]
    pub fn prepare_gather_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        counts: &[usize],
        root: usize,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_gather_varied::<T>(input.len(), output.len(), counts, root)?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::scatter`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scatter`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_scatter(vec![1u8, 2], vec![0; 2], 0)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Scatter_init", "MPI_Scatterv_init"))]
    pub fn prepare_scatter<T: Pod + Send>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        root: usize,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_scatter::<T>(input.len(), output.len(), root)?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::scatter_varied`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scatter_varied`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_scatter_varied(vec![1u8, 2], &[2], vec![0; 2], 0)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Scatter_init", "MPI_Scatterv_init"))]
    pub fn prepare_scatter_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        counts: &[usize],
        output: Vec<T>,
        root: usize,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_scatter_varied::<T>(input.len(), counts, output.len(), root)?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::all_to_all`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_to_all`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_all_to_all(vec![1u8, 2], vec![0; 2])?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Alltoall_init", "MPI_Alltoallv_init"))]
    pub fn prepare_all_to_all<T: Pod + Send>(&self, input: Vec<T>, output: Vec<T>) -> Result<Prepared<T>> {
        let plan = self.plan_all_to_all::<T>(Some(input.len()), output.len())?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::all_to_all_varied`] that is started many times on owned buffers.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_to_all_varied`] can be refused for.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_all_to_all_varied(vec![1u8, 2], &[2], vec![0; 2], &[2])?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Alltoall_init", "MPI_Alltoallv_init"))]
    pub fn prepare_all_to_all_varied<T: Pod + Send>(
        &self,
        input: Vec<T>,
        send_counts: &[usize],
        output: Vec<T>,
        recv_counts: &[usize],
    ) -> Result<Prepared<T>> {
        let plan =
            self.plan_all_to_all_varied::<T>((input.len(), send_counts), (output.len(), recv_counts))?;
        self.prepare(plan, Some(input), Some(output))
    }

    /// Prepares a [`Communicator::scan`] that is started many times on one owned buffer.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scan`] can be refused for.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_scan(vec![1u64, 2], Op::Sum)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Scan_init", "MPI_Exscan_init"))]
    pub fn prepare_scan<T: Pod + Send>(&self, data: Vec<T>, op: impl Reduction<T>) -> Result<Prepared<T>> {
        let plan = self.plan_scan(data.len(), &op, false, true)?;
        self.prepare(plan, None, Some(data))
    }

    /// Prepares a [`Communicator::exclusive_scan`] that is started many times on one owned buffer.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::exclusive_scan`] can be refused for.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut prepared = world.prepare_exclusive_scan(vec![1u64, 2], Op::Sum)?;
    /// prepared.run()?;
    /// assert_eq!(prepared.output(), [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("MPI_Scan_init", "MPI_Exscan_init"))]
    pub fn prepare_exclusive_scan<T: Pod + Send>(
        &self,
        data: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<Prepared<T>> {
        let plan = self.plan_scan(data.len(), &op, true, true)?;
        self.prepare(plan, None, Some(data))
    }
}
