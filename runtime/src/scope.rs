//! Scopes: operations on borrowed memory that all end before the scope does.
//!
//! The shape is that of [`std::thread::scope`]. What is lent to an operation is borrowed until the end of
//! the scope, or until the operation has been waited for, which gives the borrow back; so the compiler sees
//! to it that nobody touches a buffer in flight.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use ringworld_protocol::{Done, Mode};

use crate::Result;
use crate::buffer::{Borrow, Borrowed};
use crate::collective::plan::Plan;
use crate::communicator::{Communicator, Source, Status, Tag};
use crate::datatype::ElementCode;
use crate::operation::Operation;
use crate::reduce::Reduction;
use crate::request::{Place, Request, name_of, sealed};

/// Where operations on borrowed memory are begun; see [`Communicator::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    communicator: &'env Communicator,
    loans: Borrowed<'scope>,
    env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({:?})", self.communicator)
    }
}

impl Communicator {
    /// Runs `body` with a [`Scope`], in which operations can be begun on borrowed memory; returns when all
    /// of them have ended.
    ///
    /// An operation that is not waited for inside is waited for at the end. Should `body` panic while
    /// operations are under way, this rank gives up the world, so that the panic is not held up by peers.
    ///
    /// # Errors
    ///
    /// What `body` returns, else the first failure among the operations that it has not waited for.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let (mut weights, mut bias) = (vec![1f32; 1000], vec![2f32; 10]);
    /// world.scope(|s| {
    ///     let bias = s.all_reduce(&mut bias, Op::Sum)?;
    ///     s.all_reduce(&mut weights, Op::Sum)?;
    ///     // ... compute something that touches neither ...
    ///     let bias = bias.wait()?;
    ///     bias[0] += 1.0;
    ///     Ok(())
    /// })?;
    /// assert_eq!((weights[0], bias[0]), (1.0, 3.0));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    ///
    /// A buffer cannot be touched while it is in flight:
    ///
    /// ```compile_fail,E0499
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut data = vec![1f32; 10];
    /// world.scope(|s| {
    ///     let pending = s.all_reduce(&mut data, Op::Sum)?;
    ///     data[0] = 2.0;
    ///     pending.wait()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Ix")]
    pub fn scope<'env, R>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        let scope = Scope { communicator: self, loans: Borrowed::new(self.engine()), env: PhantomData };
        let result = body(&scope);
        match scope.loans.finish() {
            Some((failure, operation)) if result.is_ok() => Err(self.error(failure, operation)),
            _ => result,
        }
    }
}

/// An operation in a [`Scope`]. Waiting for it gives back what it borrowed to write to.
///
/// Dropping it is fine: the scope waits for it.
#[must_use = "its failure shows here; drop it to hear of that at the end of the scope"]
#[doc(alias = "MPI_Ix")]
pub struct Scoped<'scope, R: Given<'scope>> {
    communicator: &'scope Communicator,
    loans: &'scope Borrowed<'scope>,
    borrow: Borrow<'scope, R::Element>,
    operation: Operation,
}

impl<'scope, R: Given<'scope>> fmt::Debug for Scoped<'scope, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scoped({})", self.operation)
    }
}

/// What waiting in a scope gives back. Sealed: `()`, `&mut [T]`, `(&mut [T], Status)`.
pub trait Given<'scope>: Sized + GivenSealed {
    /// The elements of the memory.
    #[doc(hidden)]
    type Element: Pod;

    #[doc(hidden)]
    fn give(parts: Parts<'_, 'scope, Self::Element>) -> Result<Self>;
}

#[doc(hidden)]
pub trait GivenSealed {}

/// What is left of an operation that has ended well.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Parts<'a, 'scope, T> {
    communicator: &'a Communicator,
    operation: &'a Operation,
    memory: &'scope mut [T],
    done: Option<Done>,
}

impl GivenSealed for () {}
impl Given<'_> for () {
    type Element = u8;

    fn give(_: Parts<'_, '_, u8>) -> Result<Self> {
        Ok(())
    }
}

impl<T> GivenSealed for &mut [T] {}
impl<'scope, T: Pod> Given<'scope> for &'scope mut [T] {
    type Element = T;

    fn give(parts: Parts<'_, 'scope, T>) -> Result<Self> {
        Ok(parts.memory)
    }
}

impl<T> GivenSealed for (&mut [T], Status) {}
impl<'scope, T: Pod> Given<'scope> for (&'scope mut [T], Status) {
    type Element = T;

    fn give(parts: Parts<'_, 'scope, T>) -> Result<Self> {
        let status = parts.communicator.status::<T>(parts.done, parts.operation)?;
        Ok((parts.memory, status))
    }
}

impl<'scope, R: Given<'scope>> Scoped<'scope, R> {
    /// Waits for the end, and gives back what was borrowed to write to.
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned.
    pub fn wait(self) -> Result<R> {
        let Self { communicator, loans, borrow, operation } = self;
        let (ending, memory) = loans.wait(borrow);
        let done = ending.map_err(|failure| communicator.error(failure, operation))?;
        R::give(Parts { communicator, operation: &operation, memory, done })
    }

    /// Makes progress, and says whether the operation has ended, so that [`Scoped::wait`] will not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.loans.is_done(&self.borrow)
    }
}

impl<'scope, T: Pod> Scoped<'scope, (&'scope mut [T], Status)> {
    /// Withdraws the receive, if no message has matched it yet; says whether that was so. Waiting for it
    /// then ends with [`crate::Error::Cancelled`]. One that is not waited for may be dropped.
    pub fn cancel(&self) -> bool {
        self.loans.cancel(&self.borrow)
    }
}

impl<'scope, R: Given<'scope>> sealed::Sealed for Scoped<'scope, R> {}
impl<'scope, R: Given<'scope>> Request for Scoped<'scope, R> {
    type Output = R;

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn wait(self) -> Result<R> {
        Self::wait(self)
    }

    fn place(&self) -> Place<'_> {
        Place { engine: self.communicator.engine(), slot: Some(self.borrow.slot()) }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    fn begin<R: Given<'scope>>(
        &'scope self,
        plan: &Plan,
        input: Option<&'scope [R::Element]>,
        output: Option<&'scope mut [R::Element]>,
    ) -> Result<Scoped<'scope, R>> {
        let communicator = self.communicator;
        let schedule = communicator.schedule(plan)?;
        let mut operation = plan.operation(0);
        let borrow = self.loans.begin(input, output, |core, input, output| {
            let (slot, named) = communicator.begin(core, plan, schedule, input, output);
            operation = named;
            (slot, named)
        });
        Ok(Scoped { communicator, loans: &self.loans, borrow, operation })
    }

    /// Like `begin`, for memory that is only read although it was borrowed to be written.
    fn begin_reading<T: Pod>(
        &'scope self,
        plan: &Plan,
        data: &'scope mut [T],
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let communicator = self.communicator;
        let schedule = communicator.schedule(plan)?;
        let mut operation = plan.operation(0);
        let borrow = self.loans.begin(None, Some(data), |core, _, data| {
            let (slot, named) = communicator.begin(core, plan, schedule, data, None);
            operation = named;
            (slot, named)
        });
        Ok(Scoped { communicator, loans: &self.loans, borrow, operation })
    }

    /// Begins a send on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// [`crate::Error::InvalidRank`]; all else is reported when it is waited for, or by the end of the
    /// scope.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let (there, mut here) = ([1u8, 2], [0u8; 2]);
    /// world.scope(|s| {
    ///     s.send(&there, 0, 7)?;
    ///     let (here, status) = s.recv(&mut here, 0, 7)?.wait()?;
    ///     assert_eq!((&*here, status.count), (&[1u8, 2][..], 2));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Send")]
    pub fn send<T: Pod>(&'scope self, data: &'scope [T], to: usize, tag: u32) -> Result<Scoped<'scope, ()>> {
        let (communicator, name) = (self.communicator, "send");
        communicator.check_rank(name, to)?;
        let number = communicator.count_message();
        let envelope = communicator.envelope(ElementCode::of::<T>(), tag);
        let peer = communicator.world_rank(to);
        let operation = Operation::Send { name, number, to, tag };
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let borrow = self.loans.begin(Some(bytes), None, |core, input, _| {
            (core.send_soon(peer, envelope, name_of(input), bytes.len(), Mode::Standard), operation)
        });
        Ok(Scoped { communicator, loans: &self.loans, borrow, operation })
    }

    /// Begins a receive into borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// [`crate::Error::InvalidRank`]; all else is reported when it is waited for, or by the end of the
    /// scope.
    ///
    /// See [`Scope::send`] for an example.
    #[doc(alias = "MPI_Recv")]
    pub fn recv<T: Pod>(
        &'scope self,
        buffer: &'scope mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Scoped<'scope, (&'scope mut [T], Status)>> {
        let (communicator, name, from, tag) = (self.communicator, "recv", from.into(), tag.into());
        let number = communicator.count_message();
        let selector = communicator.selector(name, from, tag)?;
        let operation = Operation::Recv { name, number, from, tag };
        let (length, element) = (size_of_val(buffer), ElementCode::of::<T>().into());
        let borrow = self.loans.begin(None, Some(buffer), |core, _, output| {
            (core.receive(selector, element, name_of(output), length), operation)
        });
        Ok(Scoped { communicator, loans: &self.loans, borrow, operation })
    }

    /// Begins a [`Communicator::barrier`] and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::barrier`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn barrier(&'scope self) -> Result<Scoped<'scope, ()>> {
        let plan = self.communicator.plan_barrier()?;
        self.begin::<()>(&plan, None, None)
    }

    /// Begins a [`Communicator::broadcast`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::broadcast`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn broadcast<T: Pod>(
        &'scope self,
        data: &'scope mut [T],
        root: usize,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_broadcast::<T>(data.len(), root)?;
        self.begin(&plan, None, Some(data))
    }

    /// Begins a [`Communicator::reduce`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn reduce<T: Pod>(
        &'scope self,
        data: &'scope mut [T],
        op: impl Reduction<T>,
        root: usize,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_reduce(data.len(), &op, root, true)?;
        if self.communicator.rank() == root {
            self.begin(&plan, None, Some(data))
        } else {
            self.begin_reading(&plan, data)
        }
    }

    /// Begins a [`Communicator::all_reduce`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_reduce`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn all_reduce<T: Pod>(
        &'scope self,
        data: &'scope mut [T],
        op: impl Reduction<T>,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_all_reduce(data.len(), &op, true)?;
        self.begin(&plan, None, Some(data))
    }

    /// Begins a [`Communicator::reduce_scatter`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce_scatter`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn reduce_scatter<T: Pod>(
        &'scope self,
        input: &'scope [T],
        output: &'scope mut [T],
        op: impl Reduction<T>,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_reduce_scatter(input.len(), output.len(), &op, false)?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::reduce_scatter_varied`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::reduce_scatter_varied`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn reduce_scatter_varied<T: Pod>(
        &'scope self,
        input: &'scope [T],
        output: &'scope mut [T],
        counts: &[usize],
        op: impl Reduction<T>,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_reduce_scatter_varied(input.len(), output.len(), counts, &op)?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::all_gather`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_gather`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn all_gather<T: Pod>(
        &'scope self,
        input: &'scope [T],
        output: &'scope mut [T],
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_all_gather::<T>(Some(input.len()), output.len())?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::all_gather_varied`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_gather_varied`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn all_gather_varied<T: Pod>(
        &'scope self,
        input: &'scope [T],
        output: &'scope mut [T],
        counts: &[usize],
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_all_gather_varied::<T>(input.len(), output.len(), counts)?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::gather`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::gather`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn gather<T: Pod>(
        &'scope self,
        input: &'scope [T],
        output: &'scope mut [T],
        root: usize,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_gather::<T>(input.len(), output.len(), root)?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::gather_varied`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::gather_varied`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn gather_varied<T: Pod>(
        &'scope self,
        input: &'scope [T],
        output: &'scope mut [T],
        counts: &[usize],
        root: usize,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_gather_varied::<T>(input.len(), output.len(), counts, root)?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::scatter`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scatter`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn scatter<T: Pod>(
        &'scope self,
        input: &'scope [T],
        output: &'scope mut [T],
        root: usize,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_scatter::<T>(input.len(), output.len(), root)?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::scatter_varied`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scatter_varied`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn scatter_varied<T: Pod>(
        &'scope self,
        input: &'scope [T],
        counts: &[usize],
        output: &'scope mut [T],
        root: usize,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_scatter_varied::<T>(input.len(), counts, output.len(), root)?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::all_to_all`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_to_all`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn all_to_all<T: Pod>(
        &'scope self,
        input: &'scope [T],
        output: &'scope mut [T],
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_all_to_all::<T>(Some(input.len()), output.len())?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::all_to_all_varied`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::all_to_all_varied`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn all_to_all_varied<T: Pod>(
        &'scope self,
        input: &'scope [T],
        send_counts: &[usize],
        output: &'scope mut [T],
        recv_counts: &[usize],
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self
            .communicator
            .plan_all_to_all_varied::<T>((input.len(), send_counts), (output.len(), recv_counts))?;
        self.begin(&plan, Some(input), Some(output))
    }

    /// Begins a [`Communicator::scan`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::scan`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn scan<T: Pod>(
        &'scope self,
        data: &'scope mut [T],
        op: impl Reduction<T>,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_scan(data.len(), &op, false, true)?;
        self.begin(&plan, None, Some(data))
    }

    /// Begins a [`Communicator::exclusive_scan`] on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// What the arguments of [`Communicator::exclusive_scan`] can be refused for; all else is reported when it is
    /// waited for, or by the end of the scope.
    #[track_caller]
    pub fn exclusive_scan<T: Pod>(
        &'scope self,
        data: &'scope mut [T],
        op: impl Reduction<T>,
    ) -> Result<Scoped<'scope, &'scope mut [T]>> {
        let plan = self.communicator.plan_scan(data.len(), &op, true, true)?;
        self.begin(&plan, None, Some(data))
    }
}
