//! The bytes of message headers: one fixed little-endian layout per kind, at most [`Header::MAX`] long.
//!
//! ```text
//! offset  0     1        2..8     8..16   16..24    24..48    48..56  56..64
//! eager   1     element  context  credit  tag       signature
//! plain   8     element  context  credit  tag
//! rts     2     element  context  credit  tag       signature id      length
//! probe   9     element  context  credit  tag       signature id      length
//! cts     3     key len  0        credit  id        accepted (24..32), key (32..)
//! ack     4     0        0        credit  id
//! nack    5     0        0        credit  id
//! credit  6     0        0        credit
//! p. ack  7     0        0        credit
//! left    10    0        0        credit  id
//! ```
//!
//! A `probe` is an rts that is acknowledged at once (`p. ack`) when nothing matches. An eager message whose signature
//! is all zeros, as those of users are, is plain: it saves half of the header, and most of what it takes to read one.
//!
//! Invariant: a header has exactly one encoding, and decoding refuses everything else; what a decoded
//! header *claims* is checked by the machine. There is no version here: the handshake that opens a
//! connection compares versions. A header is a value until it is written where the transport wants its bytes.
//! Neighbours: `key.rs`, `machine/arrive.rs`.

mod key;

pub use key::Key;

use crate::{Element, Envelope, Malformed};

const EAGER: u8 = 1;
const RTS: u8 = 2;
const CTS: u8 = 3;
const ACK: u8 = 4;
const NACK: u8 = 5;
const CREDIT: u8 = 6;
const PROBE_ACK: u8 = 7;
const PLAIN: u8 = 8;
const RTS_PROBE: u8 = 9;
const LEFT: u8 = 10;

const NO_SIGNATURE: [u8; 24] = [0; 24];
/// Bytes of the header of a plain message.
const PLAIN_LENGTH: usize = 24;

/// What a header says besides credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// The payload follows.
    Eager { envelope: Envelope },
    /// Ready to send: asks the receiver to match and to expose memory. One that `probes` the window is
    /// acknowledged at once when nothing matches.
    Rts { envelope: Envelope, id: u64, len: u64, probes: bool },
    /// Clear to send: put the first `accepted` bytes into the memory named by `key`.
    Cts { id: u64, accepted: u64, key: Key },
    /// The message has been matched and no bytes are wanted.
    Ack { id: u64 },
    /// The message has been matched but the receiver could not expose its memory.
    Nack { id: u64 },
    /// The message has not been matched, and will not be: the receiver is about to finish.
    Left { id: u64 },
    /// Nothing but credit.
    Credit,
    /// The request that probes the window has arrived, and nothing matches it yet.
    ProbeAck,
}

/// The header of a message: a packet and the credit that rides on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the window that the sender of this header gives back.
    pub(crate) credit: u64,
    pub(crate) packet: Packet,
}

impl Header {
    /// The longest header this protocol sends, in bytes.
    pub const MAX: usize = 64;

    /// Writes the header to the beginning of `room`, and returns the part that it takes.
    ///
    /// ```
    /// use ringworld_protocol::*;
    /// let mut machine = Machine::new(Config::new(0, 2, 1024, 8192)?);
    /// let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
    /// let departure = machine.depart(1, &envelope, 0).expect("there is room");
    /// let header = departure.header();
    /// assert_eq!(header.encode(&mut [0; Header::MAX]), departure.encode(&mut [0; Header::MAX]));
    /// # Ok::<(), ConfigError>(())
    /// ```
    #[inline]
    pub fn encode<'a, const ROOM: usize>(&self, room: &'a mut [u8; ROOM]) -> &'a [u8] {
        if let Packet::Eager { envelope } = &self.packet
            && let Some(length) = Self::encode_plain(self.credit, envelope, room)
        {
            return &room[..length];
        }
        self.encode_any(room)
    }

    /// Writes the header of an eager message of these, if it is plain, and returns its length.
    #[inline]
    pub(crate) fn encode_plain<const ROOM: usize>(
        credit: u64,
        envelope: &Envelope,
        room: &mut [u8; ROOM],
    ) -> Option<usize> {
        const { assert!(ROOM >= Self::MAX) };
        if envelope.signature != NO_SIGNATURE {
            return None;
        }
        room[..8].copy_from_slice(&first_word(PLAIN, envelope.element.number(), envelope.context));
        room[8..16].copy_from_slice(&credit.to_le_bytes());
        room[16..PLAIN_LENGTH].copy_from_slice(&envelope.tag.to_le_bytes());
        Some(PLAIN_LENGTH)
    }

    pub(crate) fn encode_any<'a>(&self, room: &'a mut [u8]) -> &'a [u8] {
        let (kind, detail, context) = match &self.packet {
            Packet::Eager { envelope } => (EAGER, envelope.element.number(), envelope.context),
            Packet::Rts { envelope, probes, .. } => {
                (if *probes { RTS_PROBE } else { RTS }, envelope.element.number(), envelope.context)
            }
            Packet::Cts { key, .. } => (CTS, key.as_bytes().len() as u8, 0),
            Packet::Ack { .. } => (ACK, 0, 0),
            Packet::Nack { .. } => (NACK, 0, 0),
            Packet::Left { .. } => (LEFT, 0, 0),
            Packet::Credit => (CREDIT, 0, 0),
            Packet::ProbeAck => (PROBE_ACK, 0, 0),
        };
        let mut header = Writer { room, length: 0 };
        header.push(&first_word(kind, detail, context));
        header.push(&self.credit.to_le_bytes());
        match &self.packet {
            Packet::Eager { envelope } => push_envelope(&mut header, envelope),
            Packet::Rts { envelope, id, len, probes: _ } => {
                push_envelope(&mut header, envelope);
                header.push(&id.to_le_bytes());
                header.push(&len.to_le_bytes());
            }
            Packet::Cts { id, accepted, key } => {
                header.push(&id.to_le_bytes());
                header.push(&accepted.to_le_bytes());
                header.push(key.as_bytes());
            }
            Packet::Ack { id } | Packet::Nack { id } | Packet::Left { id } => header.push(&id.to_le_bytes()),
            Packet::Credit | Packet::ProbeAck => {}
        }
        header.written()
    }

    #[inline]
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        // The most frequent kinds, those of users' and of collectives' messages, in one look.
        if let Some((head, signature)) = bytes.split_first_chunk::<24>() {
            match (head[0], <&[u8; 24]>::try_from(signature)) {
                (PLAIN, _) if signature.is_empty() => return Ok(Self::eager(head, NO_SIGNATURE)),
                (EAGER, Ok(signature)) if *signature != NO_SIGNATURE => {
                    return Ok(Self::eager(head, *signature));
                }
                _ => {}
            }
        }
        Self::decode_any(bytes)
    }

    /// An eager message by what stands before its signature.
    #[inline]
    fn eager(head: &[u8; 24], signature: [u8; 24]) -> Self {
        let [_, element, x0, x1, x2, x3, x4, x5, rest @ ..] = *head;
        let [c0, c1, c2, c3, c4, c5, c6, c7, tag @ ..] = rest;
        let context = context_of([x0, x1, x2, x3, x4, x5]);
        let envelope =
            Envelope { context, element: Element::new(element), tag: u64::from_le_bytes(tag), signature };
        let credit = u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]);
        Self { credit, packet: Packet::Eager { envelope } }
    }

    fn decode_any(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader { all: bytes, rest: bytes };
        let [kind, detail] = reader.array()?;
        let context = context_of(reader.array()?);
        let credit = reader.u64()?;
        let announces = matches!(kind, EAGER | PLAIN | RTS | RTS_PROBE);
        if !announces && (context != 0 || detail != 0 && kind != CTS) {
            return Err(Malformed(format!("a header of kind {kind} has a field that this kind has not")));
        }
        let packet = match kind {
            EAGER => match reader.envelope(context, Element::new(detail))? {
                Envelope { signature: NO_SIGNATURE, .. } => {
                    return Err(Malformed(format!(
                        "a signature of zeros in a header of kind {EAGER}, must be {PLAIN}"
                    )));
                }
                envelope => Packet::Eager { envelope },
            },
            PLAIN => {
                let (element, tag) = (Element::new(detail), reader.u64()?);
                Packet::Eager { envelope: Envelope { context, element, tag, signature: NO_SIGNATURE } }
            }
            RTS | RTS_PROBE => {
                let envelope = reader.envelope(context, Element::new(detail))?;
                Packet::Rts { envelope, id: reader.u64()?, len: reader.u64()?, probes: kind == RTS_PROBE }
            }
            CTS => {
                let (id, accepted) = (reader.u64()?, reader.u64()?);
                let key = Key::new(reader.take(usize::from(detail))?)
                    .ok_or_else(|| Malformed(format!("a key of {detail} bytes, at most 32 are allowed")))?;
                Packet::Cts { id, accepted, key }
            }
            ACK => Packet::Ack { id: reader.u64()? },
            NACK => Packet::Nack { id: reader.u64()? },
            LEFT => Packet::Left { id: reader.u64()? },
            CREDIT => Packet::Credit,
            PROBE_ACK => Packet::ProbeAck,
            other => return Err(Malformed(format!("header kind {other}, must be 1 to 10"))),
        };
        if !reader.rest.is_empty() {
            return Err(Malformed(format!(
                "{} bytes too many in a header of kind {kind}",
                reader.rest.len()
            )));
        }
        Ok(Self { credit, packet })
    }
}

/// What every header begins with: its kind, a byte of detail, and 6 bytes of context.
#[inline]
fn first_word(kind: u8, detail: u8, context: u64) -> [u8; 8] {
    debug_assert!(context < Envelope::CONTEXTS, "context {context:#x} has no room in a header");
    (u64::from(kind) | u64::from(detail) << 8 | context << 16).to_le_bytes()
}

#[inline]
fn context_of([x0, x1, x2, x3, x4, x5]: [u8; 6]) -> u64 {
    u64::from_le_bytes([x0, x1, x2, x3, x4, x5, 0, 0])
}

fn push_envelope(header: &mut Writer<'_>, envelope: &Envelope) {
    header.push(&envelope.tag.to_le_bytes());
    header.push(&envelope.signature);
}

struct Writer<'a> {
    room: &'a mut [u8],
    length: usize,
}

impl<'a> Writer<'a> {
    /// Appends; whatever exceeds [`Header::MAX`] is a bug that the round-trip tests show.
    fn push(&mut self, more: &[u8]) {
        let end = self.length + more.len();
        if let Some(room) = self.room.get_mut(self.length..end) {
            room.copy_from_slice(more);
            self.length = end;
        } else {
            debug_assert!(false, "a header of more than {} bytes", Header::MAX);
        }
    }

    fn written(self) -> &'a [u8] {
        let (written, _) = self.room.split_at_mut(self.length);
        written
    }
}

struct Reader<'a> {
    all: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| Malformed(format!("a header of {} bytes is cut short", self.all.len())))?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self
            .rest
            .split_first_chunk()
            .ok_or_else(|| Malformed(format!("a header of {} bytes is cut short", self.all.len())))?;
        self.rest = rest;
        Ok(*head)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    fn envelope(&mut self, context: u64, element: Element) -> Result<Envelope, Malformed> {
        Ok(Envelope { context, element, tag: self.u64()?, signature: self.array()? })
    }
}

#[cfg(test)]
mod tests;
