//! Probes: to hear of a message before it is received, and to set it aside for one receiver.

use bytemuck::Pod;
use ringworld_protocol::{Failure, Matched, MatchedId, Selector};

use super::operation::Operation;
use super::room::room;
use super::selector::{Source, Tag};
use super::status::Status;
use crate::communicator::Communicator;
use crate::error::fault_error;
use crate::{Error, Result};
use ringworld_engine::lend::{Lend, blocking};
use ringworld_engine::{Core, ElementCode, For, MatchedReceiveCall, Told, Verb};

/// # Looking at messages before they are received
impl Communicator {
    /// Waits until a message has come that [`Communicator::recv`] would take, and leaves it there. Its
    /// [`Status::count`] is in bytes; use [`Status::elements`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`], and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1u64, 2], 0, 3)?;
    /// let status = world.probe(0, 3)?;
    /// let mut buffer = vec![0u64; status.elements::<u64>().unwrap_or(0)];
    /// world.recv(&mut buffer, status.source, status.tag)?;
    /// assert_eq!(buffer, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Probe")]
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let (name, from, tag) = ("probe", from.into(), tag.into());
        let selector = self.selector(name, from, tag)?;
        let number = self.count_message();
        let operation = Operation::Recv { name, number, from, tag };
        let Some(core) = self.engine().enter() else { return Err(self.error(Failure::Aborted, operation)) };
        let found = self.engine().wait_from_until(
            core,
            For::Message(selector, Told::here(Verb::PROBE)),
            |core| core.found_or_ended(&selector, Core::probe),
            |_| from.to_string(),
        );
        found
            .map(|incoming| self.incoming_status(&incoming))
            .map_err(|failure| self.error(failure, operation))
    }

    /// Like [`Communicator::probe`], but does not wait: `None` when no such message has come yet.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::probe`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// assert_eq!(world.try_probe(0, 3)?, None);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Iprobe", "Iprobe", "immediate_probe"))]
    pub fn try_probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        let (from, tag) = (from.into(), tag.into());
        let selector = self.selector("try_probe", from, tag)?;
        let operation = Operation::Recv { name: "try_probe", number: 0, from, tag };
        let Some(mut core) = self.engine().enter() else {
            return Err(self.error(Failure::Aborted, operation));
        };
        core.progress();
        if let Some(incoming) = core.probe(&selector) {
            return Ok(Some(self.incoming_status(&incoming)));
        }
        match core.fault().cloned() {
            None => Ok(None),
            Some(fault) => {
                drop(core);
                Err(fault_error(self.engine(), fault, operation.to_string()))
            }
        }
    }

    /// Waits for a message like [`Communicator::probe`] and sets it aside, so that no other thread can
    /// receive it.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::probe`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send(&[1u64, 2], 0, 3)?;
    /// let message = world.probe_matched(0, 3)?;
    /// let mut buffer = vec![0u64; message.status().elements::<u64>().unwrap_or(0)];
    /// message.recv(&mut buffer)?;
    /// assert_eq!(buffer, [1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Mprobe", "mprobe", "matched_probe"))]
    #[track_caller]
    pub fn probe_matched(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Message> {
        let (name, from, tag) = ("probe_matched", from.into(), tag.into());
        let selector = self.selector(name, from, tag)?;
        let number = self.count_message();
        let operation = Operation::Recv { name, number, from, tag };
        let Some(core) = self.engine().enter() else { return Err(self.error(Failure::Aborted, operation)) };
        let found = self.engine().wait_from_until(
            core,
            For::Message(selector, Told::here(Verb::PROBE)),
            |core| core.found_or_ended(&selector, Core::take_matched),
            |_| from.to_string(),
        );
        found.map(|matched| self.message(matched)).map_err(|failure| self.error(failure, operation))
    }

    /// What a matched probe gives.
    pub(crate) fn message(&self, matched: Matched) -> Message {
        let status = self.incoming_status(&matched.incoming);
        Message { communicator: self.clone(), handle: Some(matched.handle), status }
    }

    /// Like [`Communicator::probe_matched`], but does not wait.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::probe`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// assert!(world.try_probe_matched(0, 3)?.is_none());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Improbe", "improbe", "immediate_matched_probe"))]
    pub fn try_probe_matched(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Message>> {
        let (from, tag) = (from.into(), tag.into());
        let name = "try_probe_matched";
        self.try_match(name, self.selector(name, from, tag)?, from, tag)
    }

    /// The same for a selector that says more than `from` and `tag`, which are for errors.
    pub(crate) fn try_match(
        &self,
        name: &'static str,
        selector: Selector,
        from: Source,
        tag: Tag,
    ) -> Result<Option<Message>> {
        let operation = Operation::Recv { name, number: 0, from, tag };
        let Some(mut core) = self.engine().enter() else {
            return Err(self.error(Failure::Aborted, operation));
        };
        core.progress();
        if let Some(matched) = core.take_matched(&selector) {
            return Ok(Some(self.message(matched)));
        }
        match core.fault().cloned() {
            None => Ok(None),
            Some(fault) => {
                drop(core);
                Err(fault_error(self.engine(), fault, operation.to_string()))
            }
        }
    }
}

/// A message that a matched probe has set aside for its holder. Dropped unreceived, it is discarded.
#[derive(Debug)]
pub struct Message {
    communicator: Communicator,
    /// `None` once received.
    handle: Option<MatchedId>,
    status: Status,
}

impl Message {
    /// What is known of it; [`Status::count`] is in bytes, and [`Status::elements`] counts elements.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives it into the beginning of `buffer`.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::recv`].
    #[doc(alias("MPI_Mrecv", "matched_receive_into"))]
    #[track_caller]
    pub fn recv<T: Pod>(self, buffer: &mut [T]) -> Result<Status> {
        self.recv_as(ElementCode::of::<T>(), buffer)
    }

    /// Receives it into a vector of its length.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::recv_vec`].
    #[doc(alias("MPI_Mrecv", "matched_receive_vec"))]
    #[track_caller]
    pub fn recv_vec<T: Pod>(self) -> Result<(Vec<T>, Status)> {
        let bytes = self.status.count;
        // What is no whole number of elements is refused by the receive, which then says so.
        let length = bytes.div_ceil(size_of::<T>().max(1));
        let source = self.status.source;
        let mut elements =
            room(length, || format!("recv_vec of a message of {bytes} bytes from rank {source}"))?;
        let status = self.recv(&mut elements)?;
        elements.truncate(status.count);
        Ok((elements, status))
    }

    /// Receives it as elements of a kind.
    #[track_caller]
    pub(crate) fn recv_as<T: Pod>(mut self, element: ElementCode, buffer: &mut [T]) -> Result<Status> {
        let communicator = self.communicator.clone();
        let Some(matched) = self.handle.take() else {
            return Err(Error::Cancelled { operation: "recv of a matched message".into() });
        };
        let lend = Lend { input: None, output: Some(bytemuck::cast_slice_mut(buffer)) };
        let receive =
            MatchedReceiveCall { matched, element: element.into(), told: Told::here(Verb::RECEIVE) };
        let (ending, ()) = blocking(communicator.engine(), lend, receive);
        let Status { source, tag, .. } = self.status;
        let operation = format!("recv of a matched message (from rank {source}, tag {tag})");
        match ending {
            Ok(done) => communicator.status::<T>(done, &operation),
            Err(failure) => Err(communicator.error(failure, operation)),
        }
    }
}

impl Message {
    pub(crate) fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// The message itself, which the holder of this receives or drops.
    pub(crate) fn take_handle(&mut self) -> Option<MatchedId> {
        self.handle.take()
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.communicator.engine().release(handle);
        }
    }
}
