//! The tag of a collective's message: which collective of the communicator, and which message of the pair.

/// The tag of a step's message.
#[inline]
pub(super) fn tag(sequence: u32, step: u32) -> u64 {
    u64::from(sequence) << 32 | u64::from(step)
}

#[inline]
pub(super) fn sequence_of(tag: u64) -> u32 {
    (tag >> 32) as u32
}

/// In place of a message's number: an empty message that only carries its sender's signature. A rank sends it
/// to those it has waited for in vain, because ranks that disagree about a root may all wait for one
/// another and send nothing.
pub(super) const REMINDER: u32 = u32::MAX;

/// Whether a message of a collective is a reminder.
#[inline]
pub(crate) fn is_reminder(tag: u64) -> bool {
    tag as u32 == REMINDER
}
