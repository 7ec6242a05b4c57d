//! Receives that return when the message is there.

use bytemuck::Pod;

use super::operation::Operation;
use super::selector::{Source, Tag};
use super::status::Status;
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::Communicator;
use ringworld_engine::lend::{Lend, blocking};
use ringworld_engine::{ElementCode, ReceiveCall, Told, Verb};

/// # Receiving
impl Communicator {
    /// Receives one message into the beginning of `buffer`, and says what came.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the message is longer than `buffer`: it is consumed, `buffer` holds its
    /// beginning, and everything else goes on. [`Error::WrongElement`] when its elements are not of type `T`: it is
    /// consumed, `buffer` stays as it was, and everything else goes on. [`Error::InvalidRank`],
    /// [`Error::PeerFinished`], and whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::{Source, Tag};
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1.5f32], 0, 3)?;
    /// let mut buffer = [0f32; 4];
    /// let status = world.recv(&mut buffer, Source::Any, Tag::Any)?;
    /// assert_eq!((status.source, status.tag, status.count, buffer[0]), (0, 3, 1, 1.5));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Recv", "ncclRecv", "receive", "receive_into", "process_at_rank"))]
    #[track_caller]
    pub fn recv<T: Pod>(
        &self,
        buffer: &mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        let (name, from, tag) = ("recv", from.into(), tag.into());
        let number = self.count_message();
        let receive = ReceiveCall {
            selector: self.selector(name, from, tag)?,
            element: ElementCode::of::<T>().into(),
            told: Told::here(Verb::RECEIVE),
        };
        let lend = Lend { input: None, output: Some(bytemuck::cast_slice_mut(buffer)) };
        let (ending, ()) = blocking(self.engine(), lend, receive);
        let operation = Operation::Recv { name, number, from, tag };
        match ending {
            Ok(done) => self.status::<T>(done, &operation),
            Err(failure) => Err(self.error(failure, operation)),
        }
    }

    /// Receives one message, however long it is, into a vector of its own.
    ///
    /// # Errors
    ///
    /// [`Error::WrongElement`] when its elements are not of type `T`, [`Error::InvalidRank`], [`Error::PeerFinished`],
    /// [`Error::System`] when there is no memory for it, and whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::{Source, Tag};
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1.5f32, 2.5], 0, 3)?;
    /// let (data, status) = world.recv_vec::<f32>(Source::Any, Tag::Any)?;
    /// assert_eq!((data, status.source), (vec![1.5, 2.5], 0));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "receive_vec")]
    #[track_caller]
    pub fn recv_vec<T: Pod>(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<(Vec<T>, Status)> {
        let (name, from, tag) = ("recv_vec", from.into(), tag.into());
        let number = self.count_message();
        let received = match self.probe_matched(from, tag) {
            Ok(message) => message.recv_vec(),
            Err(error) => Err(error),
        };
        received.map_err(|error| error.of_call(Operation::Recv { name, number, from, tag }.to_string()))
    }
}
