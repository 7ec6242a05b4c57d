//! What travels between ranks, and the layout of addresses and keys.

use ringworld_transport::{Address, Cause, Header, Rank, RemoteKey, SendMemory, Token};

/// One fragment on its way.
#[derive(Debug)]
pub(crate) enum Packet {
    /// A fragment of a message; the first one has the header and the length of the whole payload.
    Message { opening: Option<(Header, usize)>, bytes: Vec<u8> },
    /// A fragment of a put, already at its own offset.
    Put { id: u64, offset: usize, bytes: Vec<u8> },
    /// The sender has closed, and everything it sent has arrived.
    Fin,
    /// Answers `Fin`, and everything that the answerer sent has arrived.
    FinAck,
    /// The connection is gone.
    Lost(Cause),
}

impl Packet {
    /// For the trace.
    pub(crate) fn describe(&self) -> [u64; 2] {
        match self {
            Self::Message { bytes, .. } => [1, bytes.len() as u64],
            Self::Put { offset, bytes, .. } => [2 + ((*offset as u64) << 3), bytes.len() as u64],
            Self::Fin => [3, 0],
            Self::FinAck => [4, 0],
            Self::Lost(_) => [5, 0],
        }
    }
}

/// A payload that waits to leave.
#[derive(Debug)]
pub(crate) enum Payload {
    /// The caller's memory, read when each fragment leaves.
    Lent(SendMemory),
    /// Copied by `post`.
    Copied(Vec<u8>),
}

impl Payload {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Lent(memory) => memory.as_slice(),
            Self::Copied(bytes) => bytes,
        }
    }
}

/// What an operation is, apart from its payload.
#[derive(Debug)]
pub(crate) enum Kind {
    Message(Header),
    Put { id: u64, offset: usize },
}

/// An accepted operation that has not left completely.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) kind: Kind,
    pub(crate) payload: Payload,
    /// Bytes that have left.
    pub(crate) sent: usize,
    /// `None` when `post` answered `Complete`.
    pub(crate) token: Option<Token>,
    pub(crate) flight: u64,
}

impl Outgoing {
    /// Cuts off the next fragment of at most `most` bytes; the second value says whether it is the last.
    pub(crate) fn next_fragment(&mut self, most: usize) -> (Packet, usize, bool) {
        let payload = self.payload.as_slice();
        let start = self.sent;
        let end = payload.len().min(start.saturating_add(most));
        let bytes = payload[start..end].to_vec();
        let last = end == payload.len();
        let packet = match self.kind {
            Kind::Message(header) => {
                Packet::Message { opening: (start == 0).then_some((header, payload.len())), bytes }
            }
            Kind::Put { id, offset } => Packet::Put { id, offset: offset + start, bytes },
        };
        self.sent = end;
        (packet, end - start, last)
    }
}

/// The address of `rank` in a fabric of `size` ranks.
pub(crate) fn address(rank: Rank, size: usize) -> Address {
    let mut bytes = b"sim ".to_vec();
    bytes.extend((rank as u64).to_le_bytes());
    bytes.extend((size as u64).to_le_bytes());
    Address::new(bytes)
}

/// A key: the exposure, the rank that made it and the length, so that a bad put is refused at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) id: u64,
    pub(crate) rank: u64,
    pub(crate) length: u64,
}

impl Key {
    pub(crate) fn encode(self) -> Option<RemoteKey> {
        let mut bytes = [0; 24];
        for (place, number) in bytes.chunks_exact_mut(8).zip([self.id, self.rank, self.length]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        RemoteKey::new(&bytes)
    }

    /// `None` if another transport made the key.
    pub(crate) fn decode(key: &RemoteKey) -> Option<Self> {
        let bytes: [u8; 24] = key.as_bytes().try_into().ok()?;
        let number = |at: usize| bytes[at..at + 8].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
        Some(Self { id: number(0), rank: number(8), length: number(16) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_as_they_were_and_foreign_ones_do_not() {
        let key = Key { id: 1 << 60, rank: 7, length: usize::MAX as u64 };
        assert_eq!(key.encode().and_then(|k| Key::decode(&k)), Some(key));
        assert_eq!(RemoteKey::new(&[0; 23]).and_then(|k| Key::decode(&k)), None);
    }
}
