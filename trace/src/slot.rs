//! What 32 bytes of a trace mean.
//!
//! ```text
//!  0       8                  16                        24      28       32
//!  ├ begin ┼ length:48 label:16 ┼ bytes:48 verb:8 kind:8 ┼ peer ─┼ number ┤
//! ```
//!
//! Numbers that do not fit are the largest that does. Neighbours: `recorder` writes slots, `timeline` understands them.

use bytemuck::{Pod, Zeroable};

/// No peer.
pub const NOBODY: u32 = u32::MAX;

/// The largest number of 48 bits.
const MOST: u64 = (1 << 48) - 1;

/// What a slot tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A call, from its beginning to its end. Of a collective `number` is its number in the communicator and `peer`
    /// [the communicator and the algorithm](Slot::collective); of others both say nothing.
    Call = 1,
    /// A message was sent to `peer`, the `number`th. With a length it is the whole call of that name; without a length
    /// and with a label it is the whole call, too, which was over within less than what a look at the clock takes.
    Sent = 2,
    /// All of a message has come from `peer`, the `number`th.
    Came = 3,
    /// A thread slept in a call; `peer` is one that it waited for, and `number` how many they were.
    Wait = 4,
    /// A thread has gone to sleep in a call, since `begin`; `number` is its name until a `Wait` of the same beginning.
    Asleep = 5,
    /// Elements were reduced within the call before it, for `length` in all; `number` is how often.
    Reduced = 6,
    /// Bytes were put into memory of `peer`.
    Put = 7,
    /// The ticks of `begin` are this many nanoseconds of the monotonic clock: all of `length` and `label`.
    Anchor = 8,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Call,
        Self::Sent,
        Self::Came,
        Self::Wait,
        Self::Asleep,
        Self::Reduced,
        Self::Put,
        Self::Anchor,
    ];
}

/// See the file's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Slot {
    begin: u64,
    length_label: u64,
    bytes_kind: u64,
    peer: u32,
    number: u32,
}

impl Slot {
    /// Of a kind, that begins and ends at these ticks.
    #[inline]
    #[must_use]
    pub fn new(kind: Kind, begin: u64, end: u64) -> Self {
        let length = end.saturating_sub(begin).min(MOST);
        Self { begin, length_label: length << 16, bytes_kind: kind as u64, peer: NOBODY, number: 0 }
    }

    /// A moment that ticks and monotonic clock have in common.
    #[must_use]
    pub(crate) fn anchor(ticks: u64, monotonic: u64) -> Self {
        let bytes_kind = Kind::Anchor as u64;
        Self { begin: ticks, length_label: monotonic, bytes_kind, peer: NOBODY, number: 0 }
    }

    /// Of so many bytes.
    #[inline]
    #[must_use]
    pub fn bytes_of(mut self, bytes: usize) -> Self {
        self.bytes_kind |= (bytes as u64).min(MOST) << 16;
        self
    }

    /// By this name, at this place.
    #[inline]
    #[must_use]
    pub fn labelled(mut self, label: u16) -> Self {
        self.length_label |= u64::from(label);
        self
    }

    /// To, from or because of `peer`, with a number.
    #[inline]
    #[must_use]
    pub fn with(mut self, peer: u32, number: u32) -> Self {
        (self.peer, self.number) = (peer, number);
        self
    }

    /// In place of the peer, a communicator (of its number, the lower bits, folded) and the label of an algorithm.
    #[inline]
    #[must_use]
    pub fn collective(communicator: u64, algorithm: u16) -> u32 {
        let folded = communicator ^ (communicator >> 16) ^ (communicator >> 32);
        u32::from(folded as u16) << 16 | u32::from(algorithm)
    }

    /// `None`: it was never written, or not by this version.
    pub(crate) fn kind(&self) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == self.bytes_kind as u8)
    }

    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    pub(crate) fn end(&self) -> u64 {
        self.begin.saturating_add(self.length_label >> 16)
    }

    pub(crate) fn monotonic(&self) -> u64 {
        self.length_label
    }

    pub(crate) fn label(&self) -> u16 {
        self.length_label as u16
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_kind >> 16
    }

    pub(crate) fn peer(&self) -> u32 {
        self.peer
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for kind in Kind::ALL {
            let slot = Slot::new(kind, 1_000, 1_500).bytes_of(77).labelled(9).with(3, 12);
            assert_eq!((slot.kind(), slot.begin(), slot.end()), (Some(kind), 1_000, 1_500));
            assert_eq!((slot.bytes(), slot.label(), slot.peer(), slot.number()), (77, 9, 3, 12));
        }
        assert_eq!(Slot::default().kind(), None);
        assert_eq!(Slot::anchor(5, u64::MAX).monotonic(), u64::MAX);
    }

    #[test]
    fn numbers_that_do_not_fit_are_the_largest_and_change_nothing_else() {
        let slot = Slot::new(Kind::Put, 3, u64::MAX).bytes_of(usize::MAX).labelled(u16::MAX);
        assert_eq!((slot.kind(), slot.bytes(), slot.label()), (Some(Kind::Put), MOST, u16::MAX));
        assert_eq!(slot.end(), 3 + MOST);
        assert_eq!(Slot::new(Kind::Put, 9, 3).end(), 9, "a clock that goes back makes no length");
    }
}
