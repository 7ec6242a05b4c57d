//! Objects: anything serde can write, as messages of bytes (postcard), like mpi4py's lower-case calls.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::communicator::{Communicator, Source, Tag};
use crate::{Error, Result};

impl Communicator {
    /// Sends a value that serde can write. Receive it with [`Communicator::recv_object`].
    ///
    /// # Errors
    ///
    /// [`Error::Object`] when it cannot be written, and those of [`Communicator::send`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send_object(&("hello", 42), 0, 6)?;
    /// let (text, number): (String, i32) = world.recv_object(0, 6)?;
    /// assert_eq!((text.as_str(), number), ("hello", 42));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn send_object<V: Serialize + ?Sized>(&self, value: &V, to: usize, tag: u32) -> Result<()> {
        let bytes = postcard::to_stdvec(value).map_err(|error| Error::Object {
            operation: format!("send_object (to rank {to}, tag {tag})"),
            action: "serialized",
            cause: error.to_string(),
        })?;
        self.send(&bytes, to, tag)
    }

    /// Receives a value that was sent by [`Communicator::send_object`], of whatever size.
    ///
    /// # Errors
    ///
    /// [`Error::Object`] when the message is no such value, and those of [`Communicator::recv`].
    ///
    /// See [`Communicator::send_object`] for an example.
    pub fn recv_object<V: DeserializeOwned>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<V> {
        let message = self.probe_matched(from, tag)?;
        let status = message.status();
        let mut bytes = vec![0u8; status.count];
        message.recv(&mut bytes)?;
        postcard::from_bytes(&bytes).map_err(|error| Error::Object {
            operation: format!("recv_object (from rank {}, tag {})", status.source, status.tag),
            action: "deserialized",
            cause: error.to_string(),
        })
    }
}
