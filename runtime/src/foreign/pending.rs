//! An operation under way on foreign memory.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

#[cfg(doc)]
use crate::Error;
use crate::communicator::{Communicator, Of};
use crate::message::operation::Operation;
use crate::{Raw, Result, Status};
use ringworld_engine::lend::{Foreign, ForeignLoan};
use ringworld_engine::{CallId, Startable};

/// An operation under way on foreign memory.
///
/// Dropped unwaited, it goes on to its end, of which nobody hears; whoever has named its memory still vouches for it.
///
/// It keeps the communicator by a clone, or by whatever it [was begun with](Pending::begin).
#[must_use = "only its end says that the memory is free again"]
pub struct Pending<C: Borrow<Communicator> = Communicator> {
    loan: ForeignLoan<Of<C>>,
    operation: Operation,
}

impl<C: Borrow<Communicator>> fmt::Debug for Pending<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({})", self.operation)
    }
}

/// The name of an operation, by which any thread can [withdraw](Communicator::cancel_foreign) it, while another waits
/// for it, too. It names nothing any more once that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingId(Option<CallId>);

impl Communicator {
    /// Withdraws a receive that no message has matched yet, as [`Pending::cancel`] does, by its name; says whether that
    /// was so. Whoever waits for it wakes. It must be of the same world: what is named so in another one is not known
    /// here.
    ///
    /// ```
    /// use ringworld::foreign::Call;
    /// # let world = ringworld::testing::alone();
    /// let receive = Call::Receive { from: 0.into(), tag: 7.into() };
    /// let mut pending = world.begin_foreign(&receive, None, None)?;
    /// let id = pending.id();
    /// std::thread::scope(|scope| {
    ///     let waits = scope.spawn(move || pending.wait());
    ///     assert!(world.cancel_foreign(id));
    ///     let ended = waits.join().expect("it does not panic");
    ///     assert!(matches!(ended, Err(ringworld::Error::Cancelled { .. })));
    ///     assert!(!world.cancel_foreign(id), "it has ended");
    /// });
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn cancel_foreign(&self, id: PendingId) -> bool {
        id.0.is_some_and(|call| self.engine().cancel(call))
    }

    /// Whether the send or the receive with this name has not ended yet; another thread may wait for it. It must be of
    /// the same world.
    ///
    /// ```
    /// use ringworld::foreign::Call;
    /// # let world = ringworld::testing::alone();
    /// let mut pending = world.begin_foreign(&Call::Receive { from: 0.into(), tag: 7.into() }, None, None)?;
    /// let id = pending.id();
    /// assert!(world.is_foreign_under_way(id));
    /// world.send::<u8>(&[], 0, 7)?;
    /// pending.wait()?;
    /// assert!(!world.is_foreign_under_way(id));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn is_foreign_under_way(&self, id: PendingId) -> bool {
        id.0.is_some_and(|call| self.engine().is_under_way(call))
    }
}

impl<C: Borrow<Communicator>> Pending<C> {
    #[inline]
    pub(super) fn start<S: Startable>(
        communicator: C,
        input: Option<Foreign>,
        output: Option<Foreign>,
        what: S,
        operation: impl FnOnce(S::Number) -> Operation,
    ) -> Self {
        let (loan, number) = ForeignLoan::start(Of(communicator), input, output, what);
        Self { loan, operation: operation(number) }
    }

    /// What its communicator is kept by.
    pub fn communicator(&self) -> &C {
        &self.loan.borrower().0
    }

    /// The same operation, with a clone of the communicator in place of what it was kept by.
    pub fn into_owned(self) -> Pending {
        let Self { loan, operation } = self;
        Pending { loan: loan.passed_on(|of| Of(of.0.borrow().clone())), operation }
    }

    /// Waits for the end; the status of a receive.
    ///
    /// # Errors
    ///
    /// Those of the call in Rust; [`Error::Cancelled`], also when it has been waited for before.
    pub fn wait(&mut self) -> Result<Option<Status>> {
        let ending = self.loan.wait().unwrap_or(Err(ringworld_protocol::Failure::Cancelled));
        let communicator = self.communicator().borrow();
        let done = ending.map_err(|failure| communicator.error(failure, self.operation))?;
        match self.operation {
            Operation::Recv { .. } => communicator.status::<Raw>(done, &self.operation).map(Some),
            Operation::Send { .. } | Operation::Collective { .. } => Ok(None),
        }
    }

    /// What it is named by while another thread may wait for it.
    #[inline]
    #[must_use]
    pub fn id(&self) -> PendingId {
        PendingId(self.loan.call())
    }

    /// Whether it receives a message.
    ///
    /// ```
    /// use ringworld::foreign::Call;
    /// # let world = ringworld::testing::alone();
    /// let pending = world.begin_foreign(&Call::Receive { from: 0.into(), tag: 7.into() }, None, None)?;
    /// assert!(pending.receives() && pending.cancel());
    /// assert!(!world.begin_foreign(&Call::Barrier, None, None)?.receives());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn receives(&self) -> bool {
        matches!(self.operation, Operation::Recv { .. })
    }

    /// Makes progress, and says whether it has ended, so that [`Pending::wait`] will not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.loan.is_done()
    }

    /// The same, for whoever does not mean to wait. A receive from any source for which only this rank itself could
    /// still send is over once somebody waits for it or asks [`Pending::is_done`]; here it is under way.
    ///
    /// ```
    /// use ringworld::Source;
    /// use ringworld::foreign::Call;
    /// # let world = ringworld::testing::alone();
    /// let receive = Call::Receive { from: Source::Any, tag: 7.into() };
    /// let mut pending = world.begin_foreign(&receive, None, None)?;
    /// assert!(!pending.has_ended());
    /// world.send::<u8>(&[], 0, 7)?;
    /// assert!(pending.has_ended() && pending.wait().is_ok());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.loan.has_ended()
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
    let engine = operations.first()?.communicator().engine();
    let of_one_world = |pending: &&Pending| Arc::ptr_eq(pending.communicator().engine(), engine);
    let known = operations.iter().take_while(|pending| of_one_world(pending));
    let calls: Vec<Option<CallId>> = known.map(|pending| pending.loan.call()).collect();
    engine.wait_any(&calls)
}
