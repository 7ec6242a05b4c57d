//! Puts on their way out ([`PutQueue`]) and memory that is open to puts of a peer ([`Exposures`]), for wires that move
//! their bytes by frames. Pure.
//!
//! Outgoing puts are cut into fragments that a wire *pulls* when it has room, so that several streams share the work at
//! their own speeds and a message never waits behind more than one fragment. Invariant: a put is reported sent, and an
//! exposure filled, when the last byte has moved and nobody holds a fragment of it. Both structures keep their storage,
//! so the steady state allocates nothing. Neighbours: `transport-tcp` and `transport-shm` own one of each per peer.

use std::collections::VecDeque;

use crate::{Cause, Event, RecvMemory, RemoteKey, SendMemory, Token};

/// What a peer's exposure is called, by a key that [`Exposures::expose`] has made there with the same tag.
#[must_use]
pub fn exposure_of(key: &RemoteKey, tag: [u8; 4]) -> Option<u64> {
    let word = key.as_bytes().strip_prefix(&tag)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

/// One fragment of a put, held by whoever writes it.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    put: u64,
    start: usize,
    length: usize,
}

impl Fragment {
    /// Bytes in it.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.length
    }
}

#[derive(Debug)]
struct Put {
    key: u64,
    offset: u64,
    payload: SendMemory,
    token: Token,
    pulled: usize,
    written: usize,
}

/// Puts of which some bytes have not yet gone to the kernel, oldest first.
#[derive(Debug, Default)]
pub struct PutQueue {
    puts: VecDeque<Put>,
    /// Number of the first put of the queue, counted over the life of the queue.
    first: u64,
    /// How many puts from the front have been pulled entirely.
    exhausted: usize,
}

impl PutQueue {
    /// Appends a put to memory `key` of the peer.
    pub fn push(&mut self, key: u64, offset: u64, payload: SendMemory, token: Token) {
        self.puts.push_back(Put { key, offset, payload, token, pulled: 0, written: 0 });
    }

    /// Whether every byte of every put has been written.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty()
    }

    /// Whether [`PutQueue::pull`] would answer.
    #[must_use]
    #[inline]
    pub fn has_more(&self) -> bool {
        self.exhausted < self.puts.len()
    }

    /// Hands out the next fragment, of `longest` bytes at most, with its key and the offset at the receiver.
    pub fn pull(&mut self, longest: usize) -> Option<(Fragment, u64, u64)> {
        let put = self.puts.get_mut(self.exhausted)?;
        let start = put.pulled;
        let length = longest.min(put.payload.len() - start);
        put.pulled += length;
        let fragment = Fragment { put: self.first + self.exhausted as u64, start, length };
        let at = (put.key, put.offset + start as u64);
        if put.pulled == put.payload.len() {
            self.exhausted += 1;
        }
        Some((fragment, at.0, at.1))
    }

    /// The bytes of a fragment that was pulled here.
    pub fn bytes(&self, fragment: &Fragment) -> &[u8] {
        let put = self.puts.get((fragment.put - self.first) as usize);
        put.and_then(|put| put.payload.as_slice().get(fragment.start..fragment.start + fragment.length))
            .unwrap_or(&[])
    }

    /// A whole fragment has gone to the kernel.
    pub fn written(&mut self, fragment: &Fragment, events: &mut Vec<Event>) {
        let Some(put) = self.puts.get_mut((fragment.put - self.first) as usize) else { return };
        put.written += fragment.length;
        if put.written == put.payload.len() {
            events.push(Event::Sent { token: put.token });
            // Later puts may be done before earlier ones; the memory goes back now in any case.
            put.payload = SendMemory::empty();
            put.written = usize::MAX;
        }
        while self.puts.front().is_some_and(|put| put.written == usize::MAX) {
            self.puts.pop_front();
            self.first += 1;
            self.exhausted -= 1;
        }
    }
}

#[derive(Debug)]
struct Exposure {
    memory: RecvMemory,
    token: Token,
    /// Bytes that no put has claimed yet.
    unclaimed: usize,
    /// Bytes that have not arrived yet.
    missing: usize,
}

/// Memory that one peer may put into, by key.
///
/// A key is an index and, above it, the number of times that index has been used before: a put that
/// comes late or twice finds nothing.
#[derive(Debug, Default)]
pub struct Exposures {
    slots: Vec<(u32, Option<Exposure>)>,
    free: Vec<u32>,
}

impl Exposures {
    /// Opens memory to puts of the peer; the key begins with `tag`, which tells the transports' keys apart.
    ///
    /// # Errors
    ///
    /// [`Cause::Memory`] when there is none.
    pub fn expose(&mut self, tag: [u8; 4], memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        if memory.is_empty() {
            return Err(Cause::Memory("there is none; expose at least one byte".to_owned()));
        }
        let mut key = [0; 12];
        key[..4].copy_from_slice(&tag);
        key[4..].copy_from_slice(&self.open(memory, token).to_le_bytes());
        RemoteKey::new(&key).ok_or_else(|| Cause::Memory("the key does not fit".to_owned()))
    }

    /// Opens `memory`; returns its key.
    pub fn open(&mut self, memory: RecvMemory, token: Token) -> u64 {
        let length = memory.len();
        let exposure = Exposure { memory, token, unclaimed: length, missing: length };
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.0 = slot.0.wrapping_add(1);
        slot.1 = Some(exposure);
        u64::from(slot.0) << 32 | u64::from(index)
    }

    /// Whether nothing is open.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    fn find(&mut self, key: u64) -> Option<&mut Exposure> {
        let (generation, exposure) = self.slots.get_mut((key & 0xffff_ffff) as usize)?;
        exposure.as_mut().filter(|_| u64::from(*generation) == key >> 32)
    }

    /// A put of `length` bytes for `offset` begins.
    ///
    /// # Errors
    ///
    /// When the key is unknown or the bytes are outside of the memory or more than are missing.
    pub fn claim(&mut self, key: u64, offset: u64, length: usize) -> Result<usize, String> {
        let Some(exposure) = self.find(key) else {
            return Err(format!("a put into memory {key:#x}, which is not exposed"));
        };
        let whole = exposure.memory.len();
        let inside = usize::try_from(offset).ok().filter(|&o| o <= whole && length <= whole - o);
        match inside {
            Some(offset) if length <= exposure.unclaimed => {
                exposure.unclaimed -= length;
                Ok(offset)
            }
            _ => Err(format!(
                "a put of {length} bytes at offset {offset} into {whole} exposed bytes, {} of them not yet written",
                exposure.unclaimed
            )),
        }
    }

    /// The bytes of all that is exposed under a key; 0 if nothing is.
    #[must_use]
    pub fn whole(&mut self, key: u64) -> usize {
        self.find(key).map_or(0, |exposure| exposure.memory.len())
    }

    /// Memory for `length` bytes at `offset` of what has been claimed; empty when it is gone.
    pub fn memory(&mut self, key: u64, offset: usize, length: usize) -> &mut [u8] {
        let exposure = self.find(key);
        exposure.and_then(|e| e.memory.as_mut_slice().get_mut(offset..offset + length)).unwrap_or_default()
    }

    /// `length` claimed bytes have been written.
    pub fn arrived(&mut self, key: u64, length: usize, events: &mut Vec<Event>) {
        let Some(exposure) = self.find(key) else { return };
        exposure.missing = exposure.missing.saturating_sub(length);
        if exposure.missing == 0 {
            events.push(Event::Filled { token: exposure.token });
            let index = (key & 0xffff_ffff) as u32;
            self.slots[index as usize].1 = None;
            self.free.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAGMENT: usize = 512 << 10;

    #[test]
    fn a_put_is_sent_when_its_last_fragment_is_written_in_any_order() {
        static BYTES: [u8; 2 * FRAGMENT + 3] = [5; 2 * FRAGMENT + 3];
        let mut queue = PutQueue::default();
        queue.push(9, 100, SendMemory::from_static(&BYTES), Token(1));
        queue.push(9, 0, SendMemory::from_static(&[1, 2]), Token(2));
        let fragments: Vec<_> = std::iter::from_fn(|| queue.pull(FRAGMENT)).collect();
        let at: Vec<_> = fragments.iter().map(|(fragment, _, offset)| (*offset, fragment.length)).collect();
        let next = 100 + FRAGMENT as u64;
        assert_eq!(at, [(100, FRAGMENT), (next, FRAGMENT), (next + FRAGMENT as u64, 3), (0, 2)]);
        let mut events = Vec::new();
        for index in [3, 2, 0] {
            queue.written(&fragments[index].0, &mut events);
        }
        assert!(matches!(events[..], [Event::Sent { token: Token(2) }]), "{events:?}");
        assert_eq!(queue.bytes(&fragments[1].0).len(), FRAGMENT);
        queue.written(&fragments[1].0, &mut events);
        assert!(matches!(events[..], [_, Event::Sent { token: Token(1) }]), "{events:?}");
        assert!(queue.is_empty() && !queue.has_more());
    }

    #[test]
    fn puts_outside_of_exposed_memory_are_refused() {
        let mut exposures = Exposures::default();
        let key = exposures.open(RecvMemory::empty(), Token(1));
        assert!(exposures.claim(key, 0, 1).is_err());
        assert!(exposures.claim(key, 1, 0).is_err());
        assert!(exposures.claim(key, u64::MAX, usize::MAX).is_err());
        assert!(exposures.claim(key + 1, 0, 0).is_err());
        assert!(exposures.claim(key ^ (1 << 40), 0, 0).is_err());
        assert_eq!(exposures.claim(key, 0, 0), Ok(0));
    }

    #[test]
    fn a_key_is_never_valid_twice_in_a_row() {
        let mut exposures = Exposures::default();
        let mut events = Vec::new();
        let key = exposures.open(RecvMemory::empty(), Token(1));
        exposures.arrived(key, 0, &mut events);
        assert!(matches!(events[..], [Event::Filled { token: Token(1) }]) && exposures.is_empty());
        let other = exposures.open(RecvMemory::empty(), Token(2));
        assert_ne!(key, other);
        assert!(exposures.claim(key, 0, 0).is_err());
    }
}
