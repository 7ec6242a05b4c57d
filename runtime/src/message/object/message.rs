//! Objects as messages between two ranks.

use ringworld_protocol::Mode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::packed::{Action, LIMIT, Refusal, pack, too_long, unpack};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::Communicator;
use crate::message::{Source, Tag};
use ringworld_engine::ElementCode;

/// # Messages that are objects
impl Communicator {
    /// Sends a value that serde can write. Receive it with [`Communicator::recv_object`].
    ///
    /// It is written in a format that describes itself, so that whatever serde's derive can express arrives as
    /// it was: enums of every tagging, flattened and skipped fields, `Some(None)`, keys of any type. What is read
    /// need not be of the type that was sent, but of its shape: `&str` becomes `String`, a slice a `Vec`, a number any
    /// type that holds it exactly; fields that the receiver's type does not have are left out. Anything else is an
    /// error where it is read, which says what came.
    ///
    /// What cannot travel is refused where it is sent: more than 4 GiB, and what is nested more than 256 deep. One
    /// thing serde itself cannot do: integers of 128 bits inside of flattened, untagged or internally
    /// tagged types; they are an error where they are read.
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
    #[doc(alias("pickle", "send_object_list"))]
    #[track_caller]
    pub fn send_object<V: Serialize + ?Sized>(&self, value: &V, to: usize, tag: u32) -> Result<()> {
        let name = || format!("send_object (to rank {to}, tag {tag})");
        let bytes = pack(value).map_err(|refusal| refusal.into_error(name()))?;
        self.send_bytes("send_object", ElementCode::OBJECT, &bytes, to, tag, Mode::Standard)
            .map_err(|error| error.of_call(name()))
    }

    /// Receives a value that was sent by [`Communicator::send_object`], of whatever size.
    ///
    /// # Errors
    ///
    /// [`Error::Object`] when the message is no object, or one that cannot become a `V`; and those of
    /// [`Communicator::recv`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send_object("hello", 0, 6)?;
    /// let error = world.recv_object::<Vec<u64>>(0, 6).unwrap_err();
    /// assert!(error.to_string().contains(r#"string "hello", expected a sequence"#));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "recv_object_list")]
    #[track_caller]
    pub fn recv_object<V: DeserializeOwned>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<V> {
        let (from, tag) = (from.into(), tag.into());
        let asked = || format!("recv_object (from {from}, {tag})");
        let message = self.probe_matched(from, tag).map_err(|error| error.of_call(asked()))?;
        let status = message.status();
        let name = || format!("recv_object (from rank {}, tag {})", status.source, status.tag);
        if status.count > LIMIT {
            let reason = too_long(status.count);
            return Err(Refusal { action: Action::Deserialize, reason }.into_error(name()));
        }
        let mut bytes = self.room(status.count).map_err(|error| error.of_call(name()))?;
        let received = message.recv_as(ElementCode::OBJECT, &mut bytes);
        received.map_err(|error| error.of_call(name()))?;
        unpack(&bytes).map_err(|refusal| self.of_rank(status.source, refusal).into_error(name()))
    }
}
