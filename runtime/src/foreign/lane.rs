//! Messages in lanes beside the ordinary ones: whose names are longer than a tag.
//!
//! On the wire a tag has 64 bits, of which those of a program take 32. A lane is the other half, and 0 in ordinary
//! messages, so that both are matched alike and these cost nothing.

use std::num::NonZeroU32;

use ringworld_protocol::{Envelope, Mode, Selector, TagSelector};

#[cfg(doc)]
use super::Call;
use super::pending::Pending;
#[cfg(doc)]
use crate::Error;
use crate::communicator::Communicator;
use crate::{Message, Result, Source, Tag};
use ringworld_engine::SendCall;
use ringworld_engine::lend::Foreign;

/// Both halves.
fn in_lane(tag: u32, lane: NonZeroU32) -> u64 {
    u64::from(lane.get()) << 32 | u64::from(tag)
}

/// # Messages in lanes
///
/// For libraries that must tell more of their messages apart than there are tags. A message in a lane is received by
/// [`Communicator::try_probe_matched_in_lane`] with the same tag and lane. No other call that names a tag takes it; but
/// one for [any tag](Tag::Any) does, so lanes are for a communicator on which there is none, such as a
/// [twin](Communicator::twin).
impl Communicator {
    /// Begins a [send](Call::Send) in a lane.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; all else is reported by [`Pending::wait`].
    ///
    /// See [`Communicator::try_probe_matched_in_lane`] for an example.
    pub fn begin_send_in_lane(
        &self,
        data: Foreign,
        to: usize,
        tag: u32,
        lane: NonZeroU32,
    ) -> Result<Pending> {
        let (send, operation) = self.send_to_begin(to, tag, Mode::Standard)?;
        let envelope = Envelope { tag: in_lane(tag, lane), ..send.envelope };
        let send = SendCall { envelope, ..send };
        Ok(Pending::start(self.clone(), Some(data), None, send, |()| operation))
    }

    /// Does for a message in a lane what [`Communicator::try_probe_matched`] does for others.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::probe`].
    ///
    /// ```
    /// use std::num::NonZeroU32;
    ///
    /// use ringworld::foreign::Foreign;
    /// # let world = ringworld::testing::alone();
    /// let (lane, other) = (NonZeroU32::MIN, NonZeroU32::MAX);
    /// let mut data = [1u8, 2];
    /// // SAFETY: the array is borrowed by nobody else, and outlives the operation, which is waited for.
    /// let memory = unsafe { Foreign::new(data.as_mut_ptr(), data.len()) };
    /// let mut pending = world.begin_send_in_lane(memory, 0, 7, lane)?;
    /// assert!(world.try_probe_matched(0, 7)?.is_none());
    /// assert!(world.try_probe_matched_in_lane(0, 7, other)?.is_none());
    /// let message = world.try_probe_matched_in_lane(0, 7, lane)?.expect("a message to oneself is there at once");
    /// assert_eq!(message.recv_vec::<u8>()?.0, [1, 2]);
    /// pending.wait()?;
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn try_probe_matched_in_lane(
        &self,
        from: usize,
        tag: u32,
        lane: NonZeroU32,
    ) -> Result<Option<Message>> {
        let (from, name) = (Source::Rank(from), "try_probe_matched_in_lane");
        let selector = self.selector(name, from, Tag::Value(tag))?;
        let selector = Selector { tag: TagSelector::Exact(in_lane(tag, lane)), ..selector };
        self.try_match(name, selector, from, Tag::Value(tag))
    }
}
