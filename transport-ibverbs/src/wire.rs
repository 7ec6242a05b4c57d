//! What stands at the front of every slot: sixteen bytes, little-endian.
//!
//! ```text
//! 0      1         2        4     8                16
//! kind   header    credits  id    length or offset    then the message's header, then payload
//! ```
//!
//! A message begins with [`Kind::Message`] and the length of its whole payload; what does not fit in its slot follows
//! in slots of [`Kind::More`], with nothing of the same queue pair in between. `credits` rides on every slot. On extra
//! queue pairs there are credits only. Invariant: nothing is believed before [`Prelude::decode`] has checked it.
//! Neighbours: `credits.rs`; `verbs/sending.rs` writes, `verbs/receiving.rs` reads.

use ringworld_transport::MAX_HEADER;

/// Size of a prelude.
pub(crate) const PRELUDE: usize = 16;

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The beginning of a message: its header and as much payload as fits. `length` is that of all payload.
    Message = 1,
    /// More payload of the message before.
    More = 2,
    /// A part of a put, for exposure `id` at offset `length`: the exposed memory could not be registered.
    Staged = 3,
    /// Nothing but credits.
    Credits = 4,
    /// Nothing more will come from the side that says it. `length` fragments of puts have gone by extra queue pairs,
    /// where this may have overtaken them.
    Fin = 5,
    /// Everything before the other side's FIN has been read, and nothing more will come from here; `length` likewise.
    FinAck = 6,
}

impl Kind {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Message,
            2 => Self::More,
            3 => Self::Staged,
            4 => Self::Credits,
            5 => Self::Fin,
            6 => Self::FinAck,
            _ => return None,
        })
    }

    /// Whether a slot of this kind takes a credit; the others use the slots in reserve.
    pub(crate) fn takes_credit(self) -> bool {
        matches!(self, Self::Message | Self::More | Self::Staged)
    }
}

/// The front of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prelude {
    pub(crate) kind: Kind,
    /// Bytes of the message's header.
    pub(crate) header: usize,
    /// Slots that the sender of this has read and posted again since it last said so.
    pub(crate) credits: u16,
    pub(crate) id: u32,
    pub(crate) length: u64,
}

impl Prelude {
    pub(crate) fn encode(&self) -> [u8; PRELUDE] {
        let mut bytes = [0; PRELUDE];
        bytes[0] = self.kind as u8;
        bytes[1] = self.header as u8;
        bytes[2..4].copy_from_slice(&self.credits.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.id.to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Splits a slot into its prelude, the message's header and payload.
    pub(crate) fn decode(slot: &[u8]) -> Result<(Self, &[u8], &[u8]), String> {
        let Some((front, rest)) = slot.split_first_chunk::<PRELUDE>() else {
            return Err(format!("a slot of {} bytes is too short for its prelude", slot.len()));
        };
        let [code, header, c0, c1, i0, i1, i2, i3, length @ ..] = *front;
        let kind = Kind::of(code).ok_or_else(|| format!("there is no slot of kind {code}"))?;
        let header = usize::from(header);
        let allowed = if kind == Kind::Message { MAX_HEADER } else { 0 };
        if header > allowed || header > rest.len() {
            return Err(format!("a header of {header} bytes in a slot of {} ({kind:?})", slot.len()));
        }
        let (credits, id) = (u16::from_le_bytes([c0, c1]), u32::from_le_bytes([i0, i1, i2, i3]));
        let (first, payload) = rest.split_at(header);
        let length = u64::from_le_bytes(length);
        if kind == Kind::Message && payload.len() as u64 > length {
            return Err(format!("{} bytes of payload of a message of {length}", payload.len()));
        }
        if !kind.takes_credit() && !payload.is_empty() {
            return Err(format!("{} bytes of payload behind {kind:?}", payload.len()));
        }
        Ok((Self { kind, header, credits, id, length }, first, payload))
    }
}

/// How many of `left` bytes go into a slot of `room` bytes behind `front` others: all if they fit, else as many as make
/// whole packets. A slot costs by its packets, and one for the few bytes beyond the last whole one costs as much as
/// any.
pub(crate) fn share(left: usize, front: usize, room: usize, packet: usize) -> usize {
    if front + left <= room {
        return left;
    }
    let whole = room - room % packet.max(1);
    (if whole > front { whole } else { room }).saturating_sub(front)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prelude_survives() {
        let kinds: Vec<Kind> = (0..=u8::MAX).filter_map(Kind::of).collect();
        assert_eq!(kinds.iter().map(|kind| *kind as u8).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        for kind in kinds {
            let header = if kind == Kind::Message { 3 } else { 0 };
            let prelude = Prelude { kind, header, credits: 60_000, id: 7, length: 1 << 40 };
            let mut slot = prelude.encode().to_vec();
            slot.extend_from_slice(&[9; 3][..header]);
            assert_eq!(Prelude::decode(&slot), Ok((prelude, &[9, 9, 9][..header], &[][..])));
        }
    }

    #[test]
    fn what_does_not_fit_a_slot_is_cut_to_whole_packets() {
        assert_eq!(share(8_192, 40, 8_320, 4_096), 8_192, "it fits");
        assert_eq!(share(8_280, 40, 8_320, 4_096), 8_280, "it just fits");
        assert_eq!(share(8_281, 40, 8_320, 4_096), 8_192 - 40);
        assert_eq!(share(1 << 20, 16, 8_320, 1_024), 8_192 - 16);
        assert_eq!(share(1 << 20, 16, 8_320, 8_192), 8_192 - 16);
        assert_eq!(share(1 << 20, 16, 256, 4_096), 240, "a slot shorter than a packet is filled");
        for (room, packet) in [(8_320, 4_096), (256, 256), (300, 256), (8_320, 256)] {
            for left in (0..20_000).step_by(37) {
                let share = share(left, 112, room, packet);
                assert!(share <= left && 112 + share <= room && (share > 0 || left == 0), "{left} of {room}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let slot = |kind: u8, header: u8, length: u64, rest: usize| {
            let mut bytes = vec![kind, header, 0, 0, 0, 0, 0, 0];
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.resize(PRELUDE + rest, 0);
            bytes
        };
        assert!(Prelude::decode(&slot(1, 96, 10, 106)).is_ok());
        for bad in [
            slot(0, 0, 0, 0),
            slot(7, 0, 0, 0),
            slot(1, 97, 0, 97),
            slot(1, 5, 0, 4),
            slot(2, 1, 0, 1),
            slot(1, 0, 9, 10),
            slot(4, 0, 0, 1),
            slot(1, 0, 0, 0)[..15].to_vec(),
        ] {
            assert!(Prelude::decode(&bad).is_err(), "{bad:?}");
        }
    }
}
