//! Pending operations: begun now, waited for later, by blocking or as a future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytemuck::Pod;
use ringworld_protocol::{Done, Mode, Selector};

use crate::buffer::Loan;
use crate::communicator::{Communicator, Message, Source, Status, Tag};
use crate::datatype::ElementCode;
use crate::engine::{Ending, Engine, SlotId, Topic, WatchId};
use crate::operation::Operation;
use crate::{Error, Result};

pub(crate) mod sealed {
    pub trait Sealed {}
}

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
#[doc(alias("MPI_Ix", "MPI_Request_free"))]
pub struct Pending<R: Outcome> {
    communicator: Communicator,
    loan: Loan<R::Element>,
    operation: Operation,
}

impl<R: Outcome> fmt::Debug for Pending<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({})", self.operation)
    }
}

impl<R: Outcome> Unpin for Pending<R> {}

impl<R: Outcome> Pending<R> {
    pub(crate) fn new(communicator: Communicator, loan: Loan<R::Element>, operation: Operation) -> Self {
        Self { communicator, loan, operation }
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
    #[doc(alias("MPI_Test", "MPI_Request_get_status"))]
    pub fn is_done(&self) -> bool {
        self.loan.is_done()
    }

    fn give(&mut self, ending: Ending) -> Result<R> {
        let (input, output) = self.loan.take();
        let (communicator, operation) = (&self.communicator, &self.operation);
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
        if self.loan.slot().is_none() {
            panic!("{} was polled after it had ended", self.operation);
        }
        match self.loan.poll(context.waker()) {
            None => Poll::Pending,
            Some(ending) => Poll::Ready(self.give(ending)),
        }
    }
}

/// Anything that can be waited for: [`Pending`], and [`crate::Scoped`] inside a scope. Sealed.
///
/// It exists for [`wait_all`] and [`wait_any`], which take requests of one kind.
pub trait Request: sealed::Sealed {
    /// What the end of it gives.
    type Output;

    /// Makes progress, and says whether it has ended, so that waiting will not wait.
    #[must_use]
    fn is_done(&self) -> bool;

    /// Waits for the end.
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned.
    fn wait(self) -> Result<Self::Output>;

    /// Where to wait for it.
    #[doc(hidden)]
    fn place(&self) -> Place<'_>;
}

/// An engine, and the slot in it that ends with the request.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Place<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) slot: Option<SlotId>,
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
        Place { engine: self.communicator.engine(), slot: self.loan.slot() }
    }
}

/// Waits for all requests; gives their results in order.
///
/// # Errors
///
/// The first failure in order, after all of them have ended.
///
/// ```
/// # let world = ringworld::testing::alone();
/// let sends = (0..4).map(|i| world.start_send(vec![i], 0, i)).collect::<ringworld::Result<Vec<_>>>()?;
/// let receives = (0..4).map(|i| world.start_recv(vec![0u32; 1], 0, i)).collect::<ringworld::Result<Vec<_>>>()?;
/// ringworld::wait_all(sends)?;
/// let received = ringworld::wait_all(receives)?;
/// assert_eq!(received[3].0, [3]);
/// # Ok::<(), ringworld::Error>(())
/// ```
#[doc(alias("MPI_Waitall", "MPI_Testall"))]
pub fn wait_all<R: Request>(requests: impl IntoIterator<Item = R>) -> Result<Vec<R::Output>> {
    let results: Vec<_> = requests.into_iter().map(Request::wait).collect();
    results.into_iter().collect()
}

/// Waits until one of the requests has ended, and takes it out: its index (the others move up, as with
/// `Vec::remove`) and its result. `None` when there are no requests.
///
/// A thread waits in one world at a time. A request of another world than the first one's is taken out at once with
/// [`Error::OtherWorld`], and goes on like one that is dropped; [`test_any`] looks at requests of any worlds.
///
/// ```
/// # let world = ringworld::testing::alone();
/// let mut receives = vec![world.start_recv(vec![0u8; 1], 0, 1)?, world.start_recv(vec![0u8; 1], 0, 2)?];
/// world.send(&[9u8], 0, 2)?;
/// let (index, result) = ringworld::wait_any(&mut receives).expect("there are two");
/// assert_eq!((index, result?.0), (1, vec![9]));
/// assert_eq!(receives.len(), 1);
/// # Ok::<(), ringworld::Error>(())
/// ```
#[doc(alias("MPI_Waitany", "MPI_Testany", "MPI_Waitsome", "MPI_Testsome"))]
pub fn wait_any<R: Request>(requests: &mut Vec<R>) -> Option<(usize, Result<R::Output>)> {
    let engine = Arc::clone(requests.first()?.place().engine);
    if let Some(index) = requests.iter().position(|request| !Arc::ptr_eq(request.place().engine, &engine)) {
        drop(requests.remove(index));
        return Some((index, Err(Error::OtherWorld { operation: "wait_any".into(), index })));
    }
    let slots: Vec<Option<SlotId>> = requests.iter().map(|request| request.place().slot).collect();
    let index = engine.wait_any(&slots)?;
    Some((index, requests.remove(index).wait()))
}

/// Takes a request out that has ended, if there is one; does not wait. See [`wait_any`].
///
/// It makes progress once, however many requests there are.
///
/// ```
/// # let world = ringworld::testing::alone();
/// let mut receives = vec![world.start_recv(vec![0u8; 1], 0, 1)?];
/// assert!(ringworld::test_any(&mut receives).is_none());
/// world.send(&[9u8], 0, 1)?;
/// assert!(ringworld::test_any(&mut receives).is_some_and(|(index, result)| index == 0 && result.is_ok()));
/// # Ok::<(), ringworld::Error>(())
/// ```
#[doc(alias("MPI_Waitany", "MPI_Testany", "MPI_Waitsome", "MPI_Testsome"))]
pub fn test_any<R: Request>(requests: &mut Vec<R>) -> Option<(usize, Result<R::Output>)> {
    let index = first_ended(requests)?;
    Some((index, requests.remove(index).wait()))
}

/// The first request that has ended. Polls once for all requests in a row that are of one world.
fn first_ended<R: Request>(requests: &[R]) -> Option<usize> {
    let world = |a: &R, b: &R| Arc::ptr_eq(a.place().engine, b.place().engine);
    let mut before = 0;
    for of_one_world in requests.chunk_by(world) {
        let mut core = of_one_world.first()?.place().engine.lock();
        core.progress();
        let ended = |request: &R| request.place().slot.is_none_or(|slot| core.slots.is_done(slot));
        if let Some(index) = of_one_world.iter().position(ended) {
            return Some(before + index);
        }
        before += of_one_world.len();
    }
    None
}

/// A message that has not come yet: what a probe that does not block waits for.
///
/// A future: `.await` it under any executor. A message is taken only in the moment in which the future is ready; dropped
/// before, it has taken none.
///
/// ```
/// # let world = ringworld::testing::alone();
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let coming = world.start_probe_matched(0, 7)?;
/// world.send(&[1u32, 2], 0, 7)?;
/// let message = coming.await?;
/// let buffer = vec![0u32; message.status().elements::<u32>().unwrap_or(0)];
/// let (buffer, _) = message.start_recv(buffer)?.await?;
/// assert_eq!(buffer, [1, 2]);
/// # Ok::<(), ringworld::Error>(()) }).unwrap();
/// # Ok::<(), ringworld::Error>(())
/// ```
#[must_use = "a message is taken when this is awaited"]
pub struct PendingMessage {
    communicator: Communicator,
    from: Source,
    tag: Tag,
    selector: Selector,
    number: u64,
    /// Where its task is noted.
    watch: Option<WatchId>,
}

impl fmt::Debug for PendingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PendingMessage({})", self.operation())
    }
}

impl PendingMessage {
    fn operation(&self) -> Operation {
        let Self { from, tag, number, .. } = *self;
        Operation::Recv { name: "start_probe_matched", number, from, tag }
    }
}

impl Future for PendingMessage {
    type Output = Result<Message>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let engine = Arc::clone(this.communicator.engine());
        let (selector, mut watch) = (this.selector, this.watch.take());
        let found = engine.poll(
            context.waker(),
            |core| {
                if let Some(known) = watch.take() {
                    core.watchers.remove(known);
                }
                core.take(&selector).map(Ok).or_else(|| core.ended(&selector).map(Err))
            },
            |core, waker| this.watch = Some(core.watchers.add_task(Topic::Message(selector.context), waker)),
        );
        match found {
            None => Poll::Pending,
            Some(Ok(matched)) => Poll::Ready(Ok(this.communicator.message(matched))),
            Some(Err(failure)) => Poll::Ready(Err(this.communicator.error(failure, this.operation()))),
        }
    }
}

impl Drop for PendingMessage {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            self.communicator.engine().unwatch(watch);
        }
    }
}

impl Communicator {
    /// Begins to wait for a message like [`Communicator::probe_matched`], which is set aside when the future is ready.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; all else is reported by the future.
    ///
    /// See [`PendingMessage`] for an example.
    pub fn start_probe_matched(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<PendingMessage> {
        let (from, tag) = (from.into(), tag.into());
        let selector = self.selector("start_probe_matched", from, tag)?;
        let number = self.count_message();
        Ok(PendingMessage { communicator: self.clone(), from, tag, selector, number, watch: None })
    }

    /// Begins a send of an owned buffer and returns at once; the buffer comes back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; all else is reported by the pending result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_send(vec![1u8, 2], 0, 7)?;
    /// let mut buffer = [0u8; 2];
    /// world.recv(&mut buffer, 0, 7)?;
    /// assert_eq!(pending.wait()?, buffer);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Isend", "isend"))]
    pub fn start_send<T: Pod + Send>(&self, data: Vec<T>, to: usize, tag: u32) -> Result<Pending<Vec<T>>> {
        self.start_send_as("start_send", data, to, tag, Mode::Standard)
    }

    /// Like [`Communicator::start_send`], but ends only when the receiver has begun to receive.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::start_send`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_send_sync(vec![1u8], 0, 7)?;
    /// assert!(!pending.is_done());
    /// world.recv(&mut [0u8], 0, 7)?;
    /// pending.wait()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Issend")]
    pub fn start_send_sync<T: Pod + Send>(
        &self,
        data: Vec<T>,
        to: usize,
        tag: u32,
    ) -> Result<Pending<Vec<T>>> {
        self.start_send_as("start_send_sync", data, to, tag, Mode::Synchronous)
    }

    fn start_send_as<T: Pod + Send>(
        &self,
        name: &'static str,
        data: Vec<T>,
        to: usize,
        tag: u32,
        mode: Mode,
    ) -> Result<Pending<Vec<T>>> {
        self.lend_to_send(name, ElementCode::of::<T>(), data, to, tag, mode)
    }

    /// Begins a send of bytes that are elements of a kind, and that nobody wants back.
    pub(crate) fn start_send_bytes(
        &self,
        name: &'static str,
        element: ElementCode,
        data: Vec<u8>,
        to: usize,
        tag: u32,
    ) -> Result<Pending<()>> {
        self.lend_to_send(name, element, data, to, tag, Mode::Standard)
    }

    fn lend_to_send<T: Pod + Send, R: Outcome<Element = T>>(
        &self,
        name: &'static str,
        element: ElementCode,
        data: Vec<T>,
        to: usize,
        tag: u32,
        mode: Mode,
    ) -> Result<Pending<R>> {
        self.check_rank(name, to)?;
        let number = self.count_message();
        let (peer, envelope) = (self.world_rank(to), self.envelope(element, tag));
        let length = size_of_val(data.as_slice());
        let mut loan = Loan::new(self.engine(), Some(data), None);
        loan.begin(|core, input, _| core.send_soon(peer, envelope, name_of(input), length, mode));
        loan.help();
        Ok(Pending::new(self.clone(), loan, Operation::Send { name, number, to, tag }))
    }

    /// Begins a receive into an owned buffer, at its present length, and returns at once; the buffer
    /// comes back from [`Pending::wait`], with what came.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; all else is reported by the pending result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u8; 8], 0, 7)?;
    /// world.send(&[1u8, 2], 0, 7)?;
    /// let (buffer, status) = pending.wait()?;
    /// assert_eq!(buffer[..status.count], [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Irecv", "irecv"))]
    pub fn start_recv<T: Pod + Send>(
        &self,
        buffer: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Pending<(Vec<T>, Status)>> {
        let (name, from, tag) = ("start_recv", from.into(), tag.into());
        let number = self.count_message();
        let selector = self.selector(name, from, tag)?;
        let length = size_of_val(buffer.as_slice());
        let mut loan = Loan::new(self.engine(), None, Some(buffer));
        let element = ElementCode::of::<T>().into();
        loan.begin(|core, _, output| core.receive(selector, element, name_of(output), length));
        loan.help();
        Ok(Pending::new(self.clone(), loan, Operation::Recv { name, number, from, tag }))
    }
}

impl Message {
    /// Begins to receive it into an owned buffer, at its present length, which comes back with what came.
    ///
    /// # Errors
    ///
    /// None by itself; what goes wrong is reported by the pending result.
    ///
    /// See [`PendingMessage`] for an example.
    #[doc(alias("MPI_Improbe", "MPI_Imrecv"))]
    pub fn start_recv<T: Pod + Send>(self, buffer: Vec<T>) -> Result<Pending<(Vec<T>, Status)>> {
        self.start_recv_as(ElementCode::of::<T>(), buffer)
    }

    /// Begins to receive it as elements of a kind.
    pub(crate) fn start_recv_as<T: Pod + Send>(
        mut self,
        element: ElementCode,
        buffer: Vec<T>,
    ) -> Result<Pending<(Vec<T>, Status)>> {
        let (communicator, status) = (self.communicator().clone(), self.status());
        let (from, tag) = (Source::Rank(status.source), Tag::Value(status.tag));
        let operation = Operation::Recv { name: "start_recv of a matched message", number: 0, from, tag };
        let Some(handle) = self.take_handle() else {
            return Err(Error::Cancelled { operation: operation.to_string() });
        };
        let length = size_of_val(buffer.as_slice());
        let mut loan = Loan::new(communicator.engine(), None, Some(buffer));
        loan.begin(|core, _, output| core.receive_matched(handle, element.into(), name_of(output), length));
        loan.help();
        Ok(Pending::new(communicator, loan, operation))
    }
}

/// The name of a buffer that has been lent for certain.
pub(crate) fn name_of(lent: Option<ringworld_protocol::BufferId>) -> ringworld_protocol::BufferId {
    lent.unwrap_or(ringworld_protocol::BufferId(u32::MAX))
}
