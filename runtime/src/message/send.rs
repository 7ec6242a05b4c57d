//! Sends that return when the memory can be used again.

use bytemuck::Pod;
use ringworld_protocol::Mode;

use super::operation::Operation;
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::Communicator;
use ringworld_engine::lend::{Lend, blocking};
use ringworld_engine::{ElementCode, SendCall, Told, Verb};

/// # Sending
impl Communicator {
    /// Sends `data` to rank `to` with `tag`, and returns when `data` can be used again.
    ///
    /// The message may then still be on its way; it arrives even if this rank leaves the world at once.
    /// A receiver that does not receive holds the sender back sooner or later, so two ranks that both
    /// send much before they receive may wait for each other for ever: use [`Communicator::start_send`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; [`Error::PeerFinished`] when the receiver has left; and whatever ends the
    /// world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u32; 2], 0, 7)?;
    /// world.send(&[1u32, 2], 0, 7)?;
    /// let (data, status) = pending.wait()?;
    /// assert_eq!((data, status.tag), (vec![1, 2], 7));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Send", "ncclSend", "MPI_Rsend", "ready_send", "process_at_rank"))]
    #[track_caller]
    pub fn send<T: Pod>(&self, data: &[T], to: usize, tag: u32) -> Result<()> {
        self.send_as("send", data, to, tag, Mode::Standard)
    }

    /// Like [`Communicator::send`], but returns only when the receiver has begun to receive the message.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::send`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let pending = world.start_recv(vec![0u8; 1], 0, 0)?;
    /// world.send_sync(&[9u8], 0, 0)?;
    /// assert_eq!(pending.wait()?.0, [9]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Ssend", "Ssend", "synchronous_send"))]
    #[track_caller]
    pub fn send_sync<T: Pod>(&self, data: &[T], to: usize, tag: u32) -> Result<()> {
        self.send_as("send_sync", data, to, tag, Mode::Synchronous)
    }

    #[track_caller]
    fn send_as<T: Pod>(&self, name: &'static str, data: &[T], to: usize, tag: u32, mode: Mode) -> Result<()> {
        self.send_bytes(name, ElementCode::of::<T>(), bytemuck::cast_slice(data), to, tag, mode)
    }

    /// Sends bytes that are elements of a kind.
    #[track_caller]
    pub(crate) fn send_bytes(
        &self,
        name: &'static str,
        element: ElementCode,
        bytes: &[u8],
        to: usize,
        tag: u32,
        mode: Mode,
    ) -> Result<()> {
        self.check_rank(name, to)?;
        let number = self.count_message();
        let send = SendCall {
            to: self.world_rank(to),
            envelope: self.envelope(element, tag),
            mode,
            told: Told::here(Verb::SEND),
        };
        let (ending, ()) = blocking(self.engine(), Lend { input: Some(bytes), output: None }, send);
        ending.map(drop).map_err(|failure| self.error(failure, Operation::Send { name, number, to, tag }))
    }
}
