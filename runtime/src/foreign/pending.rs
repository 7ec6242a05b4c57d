//! An operation under way on foreign memory.

use std::fmt;
use std::sync::Arc;

#[cfg(doc)]
use crate::Error;
use crate::communicator::Communicator;
use crate::message::operation::Operation;
use crate::{Raw, Result, Status};
use ringworld_engine::CallId;
use ringworld_engine::lend::ForeignLoan;

/// An operation under way on foreign memory.
///
/// Dropped unwaited, it goes on to its end, of which nobody hears; whoever has named its memory still vouches for it.
#[must_use = "only its end says that the memory is free again"]
pub struct Pending {
    communicator: Communicator,
    loan: ForeignLoan,
    operation: Operation,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({})", self.operation)
    }
}

impl Pending {
    pub(super) fn new(communicator: Communicator, loan: ForeignLoan, operation: Operation) -> Self {
        Self { communicator, loan, operation }
    }

    /// Waits for the end; the status of a receive.
    ///
    /// # Errors
    ///
    /// Those of the call in Rust; [`Error::Cancelled`], also when it has been waited for before.
    pub fn wait(&mut self) -> Result<Option<Status>> {
        let ending = self.loan.wait().unwrap_or(Err(ringworld_protocol::Failure::Cancelled));
        let done = ending.map_err(|failure| self.communicator.error(failure, self.operation))?;
        match self.operation {
            Operation::Recv { .. } => self.communicator.status::<Raw>(done, &self.operation).map(Some),
            Operation::Send { .. } | Operation::Collective { .. } => Ok(None),
        }
    }

    /// Makes progress, and says whether it has ended, so that [`Pending::wait`] will not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.loan.is_done()
    }

    /// Withdraws a receive that no message has matched yet; says whether that was so. [`Pending::wait`] then ends with
    /// [`Error::Cancelled`].
    pub fn cancel(&self) -> bool {
        self.loan.cancel()
    }
}

/// Waits until one of the operations has ended, and says which; `None` when there are none. All must be of the world of
/// the first: others are not waited for.
///
/// ```
/// use ringworld::foreign::{Call, wait_any};
/// # let world = ringworld::testing::alone();
/// let receive = Call::Receive { from: 0.into(), tag: 7.into() };
/// let pending = world.begin_foreign(&receive, None, None)?;
/// world.send::<u8>(&[], 0, 7)?;
/// assert_eq!(wait_any(&[&pending]), Some(0));
/// # Ok::<(), ringworld::Error>(())
/// ```
#[must_use]
pub fn wait_any(operations: &[&Pending]) -> Option<usize> {
    let engine = operations.first()?.communicator.engine();
    let of_one_world = |pending: &&Pending| Arc::ptr_eq(pending.communicator.engine(), engine);
    let known = operations.iter().take_while(|pending| of_one_world(pending));
    let calls: Vec<Option<CallId>> = known.map(|pending| pending.loan.call()).collect();
    engine.wait_any(&calls)
}
