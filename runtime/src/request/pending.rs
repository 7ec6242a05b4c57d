//! Pending operations: begun now, waited for later, by blocking or as a future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytemuck::Pod;
use ringworld_protocol::Done;

use super::wait::{Place, Request, sealed};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::{Communicator, Of};
use crate::message::Status;
use crate::message::operation::Operation;
use ringworld_engine::Ending;
use ringworld_engine::lend::Loan;

/// What a [`Pending`] gives back: the buffers that the operation owned, and what is known of a message.
///
/// Sealed: `()`, `Vec<T>`, `(Vec<T>, Vec<T>)` (input and output) and `(Vec<T>, Status)`.
pub trait Outcome: sealed::Sealed + Sized {
    /// The elements of the buffers.
    #[doc(hidden)]
    type Element: Pod + Send;

    #[doc(hidden)]
    fn give(parts: Parts<'_, Self::Element>) -> Result<Self>;
}

/// What is left of an operation that has ended well.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Parts<'a, T> {
    pub(crate) communicator: &'a Communicator,
    pub(crate) operation: &'a Operation,
    pub(crate) input: Option<Vec<T>>,
    pub(crate) output: Option<Vec<T>>,
    pub(crate) done: Option<Done>,
}

impl sealed::Sealed for () {}
impl Outcome for () {
    type Element = u8;

    fn give(_: Parts<'_, u8>) -> Result<Self> {
        Ok(())
    }
}

impl<T: Pod + Send> sealed::Sealed for Vec<T> {}
impl<T: Pod + Send> Outcome for Vec<T> {
    type Element = T;

    fn give(parts: Parts<'_, T>) -> Result<Self> {
        Ok(parts.output.or(parts.input).unwrap_or_default())
    }
}

impl<T: Pod + Send> sealed::Sealed for (Vec<T>, Vec<T>) {}
impl<T: Pod + Send> Outcome for (Vec<T>, Vec<T>) {
    type Element = T;

    fn give(parts: Parts<'_, T>) -> Result<Self> {
        Ok((parts.input.unwrap_or_default(), parts.output.unwrap_or_default()))
    }
}

impl<T: Pod + Send> sealed::Sealed for (Vec<T>, Status) {}
impl<T: Pod + Send> Outcome for (Vec<T>, Status) {
    type Element = T;

    fn give(parts: Parts<'_, T>) -> Result<Self> {
        let status = parts.communicator.status::<T>(parts.done, parts.operation)?;
        Ok((parts.output.unwrap_or_default(), status))
    }
}

/// An operation under way on buffers it owns.
///
/// Wait for it with [`Pending::wait`], or `.await` it under any executor. It advances while this process
/// is in any blocking call, and by a helper thread while it is in none.
///
/// Dropping it unwaited is sound, and nothing is lost: a receive that no message has matched is withdrawn, one that has
/// got its message gives it back, for the next receive that accepts it, in its old place among the others. So
/// `select!` and time-outs may drop receives as they like. (Only a message that was longer than the buffer is consumed,
/// as it is by a receive that is waited for.) Everything else goes on to its end, the buffers are freed then, and a
/// failure goes unnoticed. Leaking it leaks the buffers.
///
/// ```
/// use ringworld::Op;
/// # let world = ringworld::testing::alone();
/// let pending = world.start_all_reduce(vec![1.0f32, 2.0], Op::Sum)?;
/// // ... compute something else ...
/// let bucket = pending.wait()?;
/// assert_eq!(bucket, [1.0, 2.0]);
/// # Ok::<(), ringworld::Error>(())
/// ```
#[must_use = "the buffer comes back from `wait`"]
pub struct Pending<R: Outcome> {
    loan: Loan<R::Element, Of>,
    operation: Operation,
}

impl<R: Outcome> fmt::Debug for Pending<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({})", self.operation)
    }
}

impl<R: Outcome> Unpin for Pending<R> {}

impl<R: Outcome> Pending<R> {
    pub(crate) fn new(loan: Loan<R::Element, Of>, operation: Operation) -> Self {
        Self { loan, operation }
    }

    /// Waits for the end and gives the buffers back.
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned. The buffers are lost then.
    #[doc(alias = "MPI_Wait")]
    pub fn wait(mut self) -> Result<R> {
        // A pending operation that has given its ending away is gone, or a future that must not be polled.
        let ending = self.loan.wait().unwrap_or(Err(ringworld_protocol::Failure::Cancelled));
        self.give(ending)
    }

    /// Makes progress, and says whether the operation has ended, so that [`Pending::wait`] will not wait.
    #[must_use]
    #[doc(alias("MPI_Test", "MPI_Request_get_status", "is_completed"))]
    pub fn is_done(&self) -> bool {
        self.loan.is_done()
    }

    fn give(&mut self, ending: Ending) -> Result<R> {
        let (input, output) = self.loan.take_buffers();
        let (communicator, operation) = (&self.loan.borrower().0, &self.operation);
        let done = ending.map_err(|failure| communicator.error(failure, operation))?;
        R::give(Parts { communicator, operation, input, output, done })
    }
}

impl<T: Pod + Send> Pending<(Vec<T>, Status)> {
    /// Withdraws the receive, if no message has matched it yet; says whether that was so. Local: the
    /// sender does not notice. [`Pending::wait`] then ends with [`Error::Cancelled`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u8; 8], 0, 7)?;
    /// assert!(pending.cancel());
    /// assert!(matches!(pending.wait(), Err(ringworld::Error::Cancelled { .. })));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Cancel", "MPI_Test_cancelled"))]
    pub fn cancel(&self) -> bool {
        self.loan.cancel()
    }
}

impl<R: Outcome> Future for Pending<R> {
    type Output = Result<R>;

    /// # Panics
    ///
    /// When polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        #[expect(clippy::panic, reason = "the contract of futures, and a bug of the caller")]
        if self.loan.is_at_rest() {
            panic!("{} was polled after it had ended", self.operation);
        }
        match self.loan.poll(context.waker()) {
            None => Poll::Pending,
            Some(ending) => Poll::Ready(self.give(ending)),
        }
    }
}

impl<R: Outcome> sealed::Sealed for Pending<R> {}
impl<R: Outcome> Request for Pending<R> {
    type Output = R;

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn wait(self) -> Result<R> {
        Self::wait(self)
    }

    fn place(&self) -> Place<'_> {
        Place { engine: self.loan.borrower().0.engine(), call: self.loan.call() }
    }
}
