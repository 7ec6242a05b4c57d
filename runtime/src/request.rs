//! Pending operations: begun now, waited for later, by blocking or as a future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytemuck::Pod;
use ringworld_protocol::Mode;

use crate::Result;
use crate::buffer::Loan;
use crate::communicator::{Communicator, Source, Status, Tag, describe_recv};
use crate::engine::Ending;

/// An operation under way on a buffer it owns.
///
/// Wait for it with [`Pending::wait`], or `.await` it under any executor. It advances while this process
/// is in any blocking call, and by a helper thread while it is in none.
///
/// Dropping it unwaited is sound: the operation goes on to its end and the buffer is freed then; a
/// failure goes unnoticed. Leaking it leaks the buffer.
#[must_use = "the buffer comes back from `wait`"]
pub struct Pending<T: Pod + Send> {
    communicator: Communicator,
    loan: Loan<T>,
    operation: String,
}

impl<T: Pod + Send> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({})", self.operation)
    }
}

impl<T: Pod + Send> Pending<T> {
    pub(crate) fn new(communicator: Communicator, loan: Loan<T>, operation: String) -> Self {
        Self { communicator, loan, operation }
    }

    /// Waits for the end and gives the buffer back.
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned. The buffer is lost then.
    pub fn wait(self) -> Result<Vec<T>> {
        let Self { communicator, loan, operation } = self;
        let (ending, data) = loan.finish();
        communicator.concluded(ending, || operation.clone())?;
        Ok(data)
    }

    /// Makes progress, and says whether the operation has ended, so that [`Pending::wait`] will not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.loan.is_done()
    }
}

impl<T: Pod + Send + Unpin> Future for Pending<T> {
    type Output = Result<Vec<T>>;

    /// # Panics
    ///
    /// When polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        #[expect(clippy::panic, reason = "the contract of futures, and a bug of the caller")]
        if !self.loan.is_live() {
            panic!("{} was polled after it had ended", self.operation);
        }
        match self.loan.poll(Some(context.waker())) {
            None => Poll::Pending,
            Some((ending, data)) => {
                let ended = self.communicator.concluded(ending, || self.operation.clone());
                Poll::Ready(ended.map(|()| data))
            }
        }
    }
}

/// A receive under way, into a buffer it owns. See [`Pending`], which it resembles in everything but
/// that it says what came, and can be cancelled.
#[must_use = "the buffer comes back from `wait`"]
pub struct PendingRecv<T: Pod + Send> {
    communicator: Communicator,
    loan: Loan<T>,
    operation: String,
}

impl<T: Pod + Send> fmt::Debug for PendingRecv<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PendingRecv({})", self.operation)
    }
}

impl<T: Pod + Send> PendingRecv<T> {
    /// Waits for the message; gives the buffer back, and what came.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::recv`], and [`crate::Error::Cancelled`]. The buffer is lost then.
    pub fn wait(self) -> Result<(Vec<T>, Status)> {
        let Self { communicator, loan, operation } = self;
        let (ending, data) = loan.finish();
        conclude(&communicator, ending, data, &operation)
    }

    /// Makes progress, and says whether the receive has ended, so that [`PendingRecv::wait`] will not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.loan.is_done()
    }

    /// Withdraws the receive, if no message has matched it yet; says whether that was so. Local: the
    /// sender does not notice. [`PendingRecv::wait`] then ends with [`crate::Error::Cancelled`].
    pub fn cancel(&self) -> bool {
        self.loan.cancel()
    }
}

impl<T: Pod + Send + Unpin> Future for PendingRecv<T> {
    type Output = Result<(Vec<T>, Status)>;

    /// # Panics
    ///
    /// When polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        #[expect(clippy::panic, reason = "the contract of futures, and a bug of the caller")]
        if !self.loan.is_live() {
            panic!("{} was polled after it had ended", self.operation);
        }
        match self.loan.poll(Some(context.waker())) {
            None => Poll::Pending,
            Some((ending, data)) => Poll::Ready(conclude(&self.communicator, ending, data, &self.operation)),
        }
    }
}

fn conclude<T: Pod>(
    communicator: &Communicator,
    ending: Ending,
    data: Vec<T>,
    operation: &str,
) -> Result<(Vec<T>, Status)> {
    match ending {
        Ok(done) => Ok((data, communicator.status::<T>(done, || operation.into())?)),
        Err(failure) => Err(communicator.error(failure, || operation.into())),
    }
}

impl Communicator {
    /// Begins a send of an owned buffer and returns at once; the buffer comes back from [`Pending::wait`].
    ///
    /// # Errors
    ///
    /// [`crate::Error::InvalidRank`]; all else is reported by the pending result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_send(vec![1u8, 2], 0, 7)?;
    /// let mut buffer = [0u8; 2];
    /// world.recv(&mut buffer, 0, 7)?;
    /// assert_eq!(pending.wait()?, buffer);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn start_send<T: Pod + Send>(&self, data: Vec<T>, to: usize, tag: u32) -> Result<Pending<T>> {
        self.check_rank("start_send", to)?;
        let number = self.count_message();
        let (peer, envelope) = (self.world_rank(to), self.envelope(tag));
        let loan = Loan::begin(self.engine(), data, |core, buffer, length| {
            core.send(peer, envelope, buffer, length, Mode::Standard)
        });
        Ok(Pending::new(self.clone(), loan, format!("start_send #{number} (to rank {to}, tag {tag})")))
    }

    /// Begins a receive into an owned buffer, at its present length, and returns at once; the buffer
    /// comes back from [`PendingRecv::wait`].
    ///
    /// # Errors
    ///
    /// [`crate::Error::InvalidRank`]; all else is reported by the pending result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u8; 8], 0, 7)?;
    /// world.send(&[1u8, 2], 0, 7)?;
    /// let (buffer, status) = pending.wait()?;
    /// assert_eq!(buffer[..status.count], [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn start_recv<T: Pod + Send>(
        &self,
        buffer: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<PendingRecv<T>> {
        let (from, tag) = (from.into(), tag.into());
        let number = self.count_message();
        let selector = self.selector("start_recv", from, tag)?;
        let loan =
            Loan::begin(self.engine(), buffer, |core, buffer, length| core.receive(selector, buffer, length));
        let operation = describe_recv("start_recv", number, from, tag);
        Ok(PendingRecv { communicator: self.clone(), loan, operation })
    }
}
