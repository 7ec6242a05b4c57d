//! Probes that do not block: a message that has not come yet, as a future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytemuck::Pod;
use ringworld_protocol::Selector;

use super::pending::Pending;
use crate::communicator::{Communicator, Of};
use crate::message::operation::Operation;
use crate::message::{Message, Source, Status, Tag};
use crate::{Error, Result};
use ringworld_engine::lend::Loan;
use ringworld_engine::{Core, ElementCode, MatchedReceiveCall, Told, Topic, Verb, WatchId};

/// A message that has not come yet: what a probe that does not block waits for.
///
/// A future: `.await` it under any executor. A message is taken only in the moment in which the future is ready;
/// dropped before, it has taken none.
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
                    core.unwatch(known);
                }
                core.found_or_ended(&selector, Core::take_matched)
            },
            |core, waker| this.watch = Some(core.watch(Topic::Message(selector.context), waker)),
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

/// # Messages that have not come yet
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
}

impl Message {
    /// Begins to receive it into an owned buffer, at its present length, which comes back with what came.
    ///
    /// # Errors
    ///
    /// None by itself; what goes wrong is reported by the pending result.
    ///
    /// See [`PendingMessage`] for an example.
    #[doc(alias = "MPI_Imrecv")]
    #[track_caller]
    pub fn start_recv<T: Pod + Send>(self, buffer: Vec<T>) -> Result<Pending<(Vec<T>, Status)>> {
        self.start_recv_as(ElementCode::of::<T>(), buffer)
    }

    /// Begins to receive it as elements of a kind.
    #[track_caller]
    pub(crate) fn start_recv_as<T: Pod + Send>(
        mut self,
        element: ElementCode,
        buffer: Vec<T>,
    ) -> Result<Pending<(Vec<T>, Status)>> {
        let (communicator, status) = (self.communicator().clone(), self.status());
        let (from, tag) = (Source::Rank(status.source), Tag::Value(status.tag));
        let operation = Operation::Recv { name: "start_recv of a matched message", number: 0, from, tag };
        let Some(matched) = self.take_handle() else {
            return Err(Error::Cancelled { operation: operation.to_string() });
        };
        let mut loan = Loan::new(Of(communicator), None, Some(buffer));
        loan.start(MatchedReceiveCall { matched, element: element.into(), told: Told::here(Verb::RECEIVE) });
        loan.help();
        Ok(Pending::new(loan, operation))
    }
}
