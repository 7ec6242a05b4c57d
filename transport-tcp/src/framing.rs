//! Frames on an established lane: encoding into a [`Prelude`], decoding from a byte slice.
//!
//! Pure: no socket, no clock. A frame is a fixed part of [`FIXED`] bytes, an extension whose length
//! the fixed part tells (a message's header, a put's key and offset), and the payload, which never
//! passes through this file. Integers are little-endian.
//!
//! ```text
//! byte  0      kind: 1 message, 2 put, 3 FIN, 4 FIN-ACK
//! byte  1      bytes of the extension
//! bytes 2..4   the constant [`CHECK`], so that a stream out of step is noticed at once
//! bytes 4..8   zero
//! bytes 8..16  bytes of payload; for FIN and FIN-ACK the set of lanes that carry one, as bits
//! ```
//!
//! Neighbours: `lane.rs` moves what is encoded here.

use ringworld_transport::MAX_HEADER;

/// Bytes of the part that every frame has.
pub(crate) const FIXED: usize = 16;
/// The longest fixed part and extension.
pub(crate) const MAX_PRELUDE: usize = FIXED + MAX_HEADER;

const CHECK: u16 = 0x5257;
const MESSAGE: u8 = 1;
const PUT: u8 = 2;
const FIN: u8 = 3;
const FIN_ACK: u8 = 4;
const PUT_EXTENSION: usize = 16;

/// A frame without its payload, ready to be written.
///
/// A form of its own beside the header that it holds: bytes that lie together are one slice of a write and one copy
/// behind other frames, whatever kind of frame it is; fixed part and header apart would be two of each.
#[derive(Clone, Copy)]
pub(crate) struct Prelude {
    length: u8,
    bytes: [u8; MAX_PRELUDE],
}

impl Prelude {
    /// A message with `header`, which is at most [`MAX_HEADER`] bytes by its type, and `length` bytes of payload.
    pub(crate) fn message(header: &ringworld_transport::Header, length: usize) -> Self {
        Self::new(MESSAGE, header.as_bytes(), length as u64)
    }

    /// `length` bytes for `offset` of the exposure `key`.
    pub(crate) fn put(key: u64, offset: u64, length: usize) -> Self {
        let mut extension = [0; PUT_EXTENSION];
        extension[..8].copy_from_slice(&key.to_le_bytes());
        extension[8..].copy_from_slice(&offset.to_le_bytes());
        Self::new(PUT, &extension, length as u64)
    }

    /// The last frame of a side on this lane; `lanes` is the set of lanes that get one.
    pub(crate) fn fin(lanes: u64) -> Self {
        Self::new(FIN, &[], lanes)
    }

    /// The answer to [`Prelude::fin`]: everything before it has been read; `lanes` as there.
    pub(crate) fn fin_ack(lanes: u64) -> Self {
        Self::new(FIN_ACK, &[], lanes)
    }

    /// Nothing at all, in front of frames that are complete already.
    pub(crate) fn none() -> Self {
        Self { length: 0, bytes: [0; MAX_PRELUDE] }
    }

    fn new(kind: u8, extension: &[u8], length: u64) -> Self {
        let mut bytes = [0; MAX_PRELUDE];
        bytes[..FIXED].copy_from_slice(&fixed(kind, extension.len(), length));
        bytes[FIXED..FIXED + extension.len()].copy_from_slice(extension);
        Self { length: (FIXED + extension.len()) as u8, bytes }
    }

    /// What goes on the wire in front of the payload.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// The part that every frame has.
fn fixed(kind: u8, extension: usize, length: u64) -> [u8; FIXED] {
    let mut bytes = [0; FIXED];
    bytes[0] = kind;
    // An extension is at most MAX_HEADER (96) bytes, so both lengths fit a byte.
    bytes[1] = extension as u8;
    bytes[2..4].copy_from_slice(&CHECK.to_le_bytes());
    bytes[8..].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// Appends a whole message; `header` is at most [`MAX_HEADER`] bytes long.
pub(crate) fn append_message(frames: &mut Vec<u8>, header: &[u8], payload: &[u8]) {
    frames.reserve(FIXED + header.len() + payload.len());
    frames.extend_from_slice(&fixed(MESSAGE, header.len(), payload.len() as u64));
    frames.extend_from_slice(header);
    frames.extend_from_slice(payload);
}

impl std::fmt::Debug for Prelude {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Prelude({:02x?})", self.as_bytes())
    }
}

/// A decoded frame; its payload follows in the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Message { header: &'a [u8], length: usize },
    Put { key: u64, offset: u64, length: usize },
    Fin { lanes: u64 },
    FinAck { lanes: u64 },
}

/// Why bytes are not a frame.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame that begins with bytes {0:02x?}")]
    Malformed([u8; 8]),
    #[error("a payload of {0} bytes, more than this machine can address")]
    TooLong(u64),
}

/// Reads one frame from the front of `bytes`: the frame and how many bytes it took, or `None` when
/// more bytes are needed.
pub(crate) fn decode(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>, FrameError> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED>() else { return Ok(None) };
    let [kind, extension, c0, c1, z0, z1, z2, z3, length @ ..] = *fixed;
    let (extension, word) = (usize::from(extension), u64::from_le_bytes(length));
    let malformed = FrameError::Malformed([kind, fixed[1], c0, c1, z0, z1, z2, z3]);
    let expected = match kind {
        MESSAGE => extension <= MAX_HEADER,
        PUT => extension == PUT_EXTENSION,
        FIN | FIN_ACK => extension == 0,
        _ => false,
    };
    if !expected || u16::from_le_bytes([c0, c1]) != CHECK || [z0, z1, z2, z3] != [0; 4] {
        return Err(malformed);
    }
    let Some(extension) = rest.get(..extension) else { return Ok(None) };
    let used = FIXED + extension.len();
    let length = || usize::try_from(word).map_err(|_| FrameError::TooLong(word));
    let frame = match kind {
        MESSAGE => Frame::Message { header: extension, length: length()? },
        PUT => {
            let Some((key, offset)) = extension.split_first_chunk::<8>() else { return Err(malformed) };
            let Some(offset) = offset.first_chunk::<8>() else { return Err(malformed) };
            Frame::Put {
                key: u64::from_le_bytes(*key),
                offset: u64::from_le_bytes(*offset),
                length: length()?,
            }
        }
        FIN => Frame::Fin { lanes: word },
        _ => Frame::FinAck { lanes: word },
    };
    Ok(Some((frame, used)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringworld_transport::Header;

    #[test]
    fn every_frame_survives_the_wire() {
        for header in [&b""[..], b"x", &[9; MAX_HEADER]] {
            let prelude = Prelude::message(&Header::new(header).unwrap(), 5 << 32);
            let (frame, used) = decode(prelude.as_bytes()).unwrap().unwrap();
            assert_eq!(frame, Frame::Message { header, length: 5 << 32 });
            assert_eq!(used, prelude.as_bytes().len());
        }
        let put = Prelude::put(u64::MAX, 1 << 40, 7);
        let expected = Frame::Put { key: u64::MAX, offset: 1 << 40, length: 7 };
        assert_eq!(decode(put.as_bytes()), Ok(Some((expected, FIXED + 16))));
        assert_eq!(decode(Prelude::fin(3).as_bytes()), Ok(Some((Frame::Fin { lanes: 3 }, FIXED))));
        assert_eq!(decode(Prelude::fin_ack(1).as_bytes()), Ok(Some((Frame::FinAck { lanes: 1 }, FIXED))));
    }

    #[test]
    fn a_part_of_a_frame_asks_for_more() {
        for prelude in [Prelude::put(1, 2, 3), Prelude::message(&Header::new(&[1; 50]).unwrap(), 4)] {
            for end in 0..prelude.as_bytes().len() {
                assert_eq!(decode(&prelude.as_bytes()[..end]), Ok(None), "{end} bytes");
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused_without_panic() {
        let seed = u64::from(std::process::id());
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let mut next = || random.u8(..);
        for round in 0..20_000 {
            let mut bytes: Vec<u8> = (0..usize::from(next() % 140)).map(|_| next()).collect();
            // Half of the rounds look nearly right, so that the deeper branches are reached.
            if round % 2 == 0 && bytes.len() >= 8 {
                bytes[..8].copy_from_slice(&[next() % 6, next() % 120, 0x57, 0x52, 0, 0, 0, 0]);
            }
            if let Ok(Some((_, used))) = decode(&bytes) {
                assert!(used <= bytes.len() && used <= MAX_PRELUDE);
            }
        }
    }

    #[test]
    fn a_stream_out_of_step_is_refused() {
        let mut bytes = Prelude::put(1, 2, 3).as_bytes().to_vec();
        bytes[2] ^= 1;
        assert!(matches!(decode(&bytes), Err(FrameError::Malformed(_))));
        assert!(decode(b"GET / HTTP/1.1\r\n\r\n").is_err());
    }
}
