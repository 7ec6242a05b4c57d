//! Sends and receives on owned memory that return at once.

use bytemuck::Pod;
use ringworld_protocol::Mode;

use super::pending::{Outcome, Pending};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::{Communicator, Of};
use crate::message::operation::Operation;
use crate::message::{Source, Status, Tag};
use ringworld_engine::lend::Loan;
use ringworld_engine::{ElementCode, ReceiveCall, SendCall, Told, Verb};

/// # Messages, non-blocking
///
/// `start_*`: on owned buffers, which come back from the [`Pending`]. To wait, block or `.await`.
impl Communicator {
    /// Begins a send of an owned buffer and returns at once; the buffer comes back from [`Pending::wait`].
    ///
    /// Dropped unwaited it is what MPI calls a buffered send: the vector is freed when all of it has left.
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
    #[doc(alias("MPI_Isend", "isend", "immediate_send", "MPI_Bsend", "buffered_send"))]
    #[track_caller]
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
    #[doc(alias("MPI_Issend", "issend", "immediate_synchronous_send"))]
    #[track_caller]
    pub fn start_send_sync<T: Pod + Send>(
        &self,
        data: Vec<T>,
        to: usize,
        tag: u32,
    ) -> Result<Pending<Vec<T>>> {
        self.start_send_as("start_send_sync", data, to, tag, Mode::Synchronous)
    }

    #[track_caller]
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
    #[track_caller]
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

    #[track_caller]
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
        let mut loan = Loan::new(Of(self.clone()), Some(data), None);
        loan.start(SendCall {
            to: self.world_rank(to),
            envelope: self.envelope(element, tag),
            mode,
            told: Told::here(Verb::SEND),
        });
        loan.help();
        Ok(Pending::new(loan, Operation::Send { name, number, to, tag }))
    }

    /// Begins a receive into an owned buffer, at its present length, and returns at once; the buffer
    /// comes back from [`Pending::wait`], with what came. What becomes of one from any source when all
    /// others leave is said at [`Source::Any`].
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
    #[doc(alias("MPI_Irecv", "irecv", "immediate_receive", "immediate_receive_into"))]
    #[track_caller]
    pub fn start_recv<T: Pod + Send>(
        &self,
        buffer: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Pending<(Vec<T>, Status)>> {
        let (name, from, tag) = ("start_recv", from.into(), tag.into());
        let number = self.count_message();
        let selector = self.selector(name, from, tag)?;
        let mut loan = Loan::new(Of(self.clone()), None, Some(buffer));
        loan.start(ReceiveCall {
            selector,
            element: ElementCode::of::<T>().into(),
            told: Told::here(Verb::RECEIVE),
        });
        loan.help();
        Ok(Pending::new(loan, Operation::Recv { name, number, from, tag }))
    }
}
