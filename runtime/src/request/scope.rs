//! Scopes: operations on borrowed memory that all end before the scope does.
//!
//! The shape is that of [`std::thread::scope`]. What is lent to an operation is borrowed until the end of
//! the scope, or until the operation has been waited for, which gives the borrow back; so the compiler sees
//! to it that nobody touches a buffer in flight.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use ringworld_protocol::{Done, Mode};

use super::wait::{Place, Request, sealed};
use crate::communicator::Communicator;
use crate::message::operation::Operation;
use crate::message::{Source, Status, Tag};
use crate::{Error, Result};
use ringworld_engine::lend::{Borrow, Borrowed};
use ringworld_engine::{ElementCode, ReceiveCall, SendCall, Startable, Told, Verb};

/// Where operations on borrowed memory are begun; see [`Communicator::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    communicator: &'env Communicator,
    loans: Borrowed<'scope, Operation>,
    env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({:?})", self.communicator)
    }
}

/// # Operations on borrowed memory, non-blocking
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
    #[doc(alias("immediate", "batch_isend_irecv", "P2POp"))]
    pub fn scope<'env, R>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        self.try_scope(body)
    }

    /// [`Communicator::scope`] for a `body` that fails by an error of the program's own, such as `anyhow::Error`. The
    /// closure says which: nothing else tells the compiler.
    ///
    /// # Errors
    ///
    /// What `body` returns, else the first failure among the operations that it has not waited for, converted.
    ///
    /// ```
    /// use std::error::Error;
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let mut gradients = vec![1f32; 1000];
    /// let rate = world.try_scope(|s| -> Result<f32, Box<dyn Error>> {
    ///     s.all_reduce(&mut gradients, Op::Average)?;
    ///     Ok("0.01".parse()?)
    /// })?;
    /// assert_eq!((gradients[0], rate), (1.0, 0.01));
    /// # Ok::<(), Box<dyn Error>>(())
    /// ```
    pub fn try_scope<'env, R, E: From<Error>>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let scope = Scope { communicator: self, loans: Borrowed::new(self.engine()), env: PhantomData };
        let result = body(&scope);
        match scope.loans.wait_all() {
            Some((failure, operation)) if result.is_ok() => Err(self.error(failure, operation).into()),
            _ => result,
        }
    }
}

/// An operation in a [`Scope`]. Waiting for it gives back what it borrowed to write to.
///
/// Dropping it is fine: the scope waits for it, and returns its failure.
pub struct Scoped<'scope, R: ScopedOutcome<'scope>> {
    communicator: &'scope Communicator,
    loans: &'scope Borrowed<'scope, Operation>,
    borrow: Borrow<'scope, R::Element>,
    operation: Operation,
}

impl<'scope, R: ScopedOutcome<'scope>> fmt::Debug for Scoped<'scope, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scoped({})", self.operation)
    }
}

// Why it is not one trait with `Outcome`: `()` is the outcome of owned and of borrowed memory, so the one trait would
// have a parameter for the kind of memory, from which come the type of what is given back, and whether elements must be
// `Send`. That is more than the few lines that are alike, and `Pending<R: Outcome>`, which users write, would have it.
/// What waiting in a scope gives back. Sealed: `()`, `&mut [T]`, `(&mut [T], Status)`.
pub trait ScopedOutcome<'scope>: sealed::Sealed + Sized {
    /// The elements of the memory.
    #[doc(hidden)]
    type Element: Pod;

    #[doc(hidden)]
    fn give(parts: Parts<'_, 'scope, Self::Element>) -> Result<Self>;
}

/// What is left of an operation that has ended well.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Parts<'a, 'scope, T> {
    communicator: &'a Communicator,
    operation: &'a Operation,
    memory: &'scope mut [T],
    done: Option<Done>,
}

impl ScopedOutcome<'_> for () {
    type Element = u8;

    fn give(_: Parts<'_, '_, u8>) -> Result<Self> {
        Ok(())
    }
}

impl<T> sealed::Sealed for &mut [T] {}
impl<'scope, T: Pod> ScopedOutcome<'scope> for &'scope mut [T] {
    type Element = T;

    fn give(parts: Parts<'_, 'scope, T>) -> Result<Self> {
        Ok(parts.memory)
    }
}

impl<T> sealed::Sealed for (&mut [T], Status) {}
impl<'scope, T: Pod> ScopedOutcome<'scope> for (&'scope mut [T], Status) {
    type Element = T;

    fn give(parts: Parts<'_, 'scope, T>) -> Result<Self> {
        let status = parts.communicator.status::<T>(parts.done, parts.operation)?;
        Ok((parts.memory, status))
    }
}

impl<'scope, R: ScopedOutcome<'scope>> Scoped<'scope, R> {
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
    /// then ends with [`Error::Cancelled`](crate::Error::Cancelled). One that is not waited for may be dropped.
    pub fn cancel(&self) -> bool {
        self.loans.cancel(&self.borrow)
    }
}

impl<'scope, R: ScopedOutcome<'scope>> sealed::Sealed for Scoped<'scope, R> {}
impl<'scope, R: ScopedOutcome<'scope>> Request for Scoped<'scope, R> {
    type Output = R;

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn wait(self) -> Result<R> {
        Self::wait(self)
    }

    fn place(&self) -> Place<'_> {
        Place { engine: self.communicator.engine(), call: self.borrow.call() }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    pub(crate) fn communicator(&self) -> &'env Communicator {
        self.communicator
    }

    /// Starts an operation on memory that it borrows. `named`: what the call was, once its number is known.
    pub(crate) fn lend<R: ScopedOutcome<'scope>, S: Startable>(
        &'scope self,
        input: Option<&'scope [R::Element]>,
        output: Option<&'scope mut [R::Element]>,
        what: S,
        named: impl FnOnce(S::Number) -> Operation,
    ) -> Scoped<'scope, R> {
        let (borrow, operation) = self.loans.start(input, output, what, named);
        Scoped { communicator: self.communicator, loans: &self.loans, borrow, operation }
    }

    /// Begins a send on borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`](crate::Error::InvalidRank); all else is reported when it is waited for, or by the end of
    /// the scope.
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
    #[track_caller]
    pub fn send<T: Pod>(&'scope self, data: &'scope [T], to: usize, tag: u32) -> Result<Scoped<'scope, ()>> {
        let (communicator, name) = (self.communicator, "send");
        communicator.check_rank(name, to)?;
        let number = communicator.count_message();
        let envelope = communicator.envelope(ElementCode::of::<T>(), tag);
        let send = SendCall {
            to: communicator.world_rank(to),
            envelope,
            mode: Mode::Standard,
            told: Told::here(Verb::SEND),
        };
        let operation = Operation::Send { name, number, to, tag };
        Ok(self.lend(Some(bytemuck::cast_slice(data)), None, send, |()| operation))
    }

    /// Begins a receive into borrowed memory and returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`](crate::Error::InvalidRank); all else is reported when it is waited for, or by the end of
    /// the scope.
    ///
    /// See [`Scope::send`] for an example.
    #[track_caller]
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
        let receive =
            ReceiveCall { selector, element: ElementCode::of::<T>().into(), told: Told::here(Verb::RECEIVE) };
        Ok(self.lend(None, Some(buffer), receive, |()| operation))
    }
}
