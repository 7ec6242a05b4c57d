//! Memory that is open to the puts of one peer, by number, and how much of each is still missing.
//!
//! Generic in how the memory is held, because that is foreign code; pure otherwise. Invariant: an exposure ends
//! exactly when as many bytes have been written as it has; numbers are never used twice while a late write
//! could still name them. The key that travels to the peer:
//!
//! ```text
//! 0    4    8          16         24
//! IBV1 id   address    length     rkey, 0 and `staged` when it could not be registered
//! ```
//!
//! Neighbours: `verbs/sending.rs` (reads keys), `verbs/receiving.rs` (counts bytes).

use ringworld_transport::{RemoteKey, Token};

use crate::numbered::Numbered;

const MAGIC: [u8; 4] = *b"IBV\x01";

/// What the peer must know in order to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) id: u32,
    pub(crate) address: u64,
    pub(crate) length: u64,
    pub(crate) rkey: u32,
    /// The memory is not registered: send the bytes, and the receiver copies them.
    pub(crate) staged: bool,
}

impl Key {
    pub(crate) fn encode(&self) -> Option<RemoteKey> {
        let mut bytes = [0; 29];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.id.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.address.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.rkey.to_le_bytes());
        bytes[28] = u8::from(self.staged);
        RemoteKey::new(&bytes)
    }

    /// `None` when another transport made it.
    pub(crate) fn decode(key: &RemoteKey) -> Option<Self> {
        let rest = key.as_bytes().strip_prefix(&MAGIC)?;
        let (id, rest) = rest.split_first_chunk()?;
        let (address, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (rkey, rest) = rest.split_first_chunk()?;
        let [staged @ (0 | 1)] = *rest else { return None };
        Some(Self {
            id: u32::from_le_bytes(*id),
            address: u64::from_le_bytes(*address),
            length: u64::from_le_bytes(*length),
            rkey: u32::from_le_bytes(*rkey),
            staged: staged == 1,
        })
    }
}

struct Exposure<M> {
    memory: M,
    token: Token,
    missing: usize,
}

/// The exposures of one peer.
pub(crate) struct Exposures<M> {
    open: Numbered<Exposure<M>>,
}

impl<M> Default for Exposures<M> {
    fn default() -> Self {
        Self { open: Numbered::default() }
    }
}

impl<M> Exposures<M> {
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Opens `length` bytes; returns their number.
    pub(crate) fn open(&mut self, memory: M, length: usize, token: Token) -> u32 {
        self.open.insert(Exposure { memory, token, missing: length })
    }

    /// The memory of exposure `id`, to be written by this side.
    pub(crate) fn memory(&mut self, id: u32) -> Option<&mut M> {
        self.open.get_mut(id).map(|exposure| &mut exposure.memory)
    }

    /// The peer has written `bytes` more to exposure `id`; returns the memory and the token once it is full.
    pub(crate) fn written(&mut self, id: u32, bytes: usize) -> Result<Option<(M, Token)>, String> {
        let Some(exposure) = self.open.get_mut(id) else {
            return Err(format!("it wrote to exposure {id}, which is not open to it"));
        };
        let Some(missing) = exposure.missing.checked_sub(bytes) else {
            return Err(format!(
                "it wrote {bytes} bytes to exposure {id}, of which {} were missing",
                exposure.missing
            ));
        };
        exposure.missing = missing;
        if missing > 0 {
            return Ok(None);
        }
        Ok(self.open.remove(id).map(|exposure| (exposure.memory, exposure.token)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exposure_ends_with_its_last_byte() {
        let mut exposures = Exposures::default();
        let (a, b) = (exposures.open("a", 10, Token(1)), exposures.open("b", 1, Token(2)));
        assert_eq!(exposures.written(a, 9), Ok(None));
        assert_eq!(exposures.written(b, 1), Ok(Some(("b", Token(2)))));
        assert!(exposures.written(b, 1).is_err() && exposures.written(a, 2).is_err());
        assert_eq!(exposures.written(a, 1), Ok(Some(("a", Token(1)))));
        assert!(exposures.is_empty());
    }

    #[test]
    fn keys_survive_and_foreign_ones_are_noticed() {
        let key = Key { id: 1, address: u64::MAX, length: 3, rkey: 4, staged: true };
        assert_eq!(key.encode().as_ref().and_then(Key::decode), Some(key));
        for foreign in [&b""[..], b"TCP\x01", b"IBV\x01", &[0; 29]] {
            assert_eq!(RemoteKey::new(foreign).as_ref().and_then(Key::decode), None);
        }
    }
}
