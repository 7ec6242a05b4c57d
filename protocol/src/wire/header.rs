//! Bytes of bounded length held in place: message headers and the keys of exposed memory.
//!
//! Both are copied by value, so that queueing a message allocates nothing. Neighbour: `wire/mod.rs`
//! says what the bytes of a header mean; a key means something to the transport only.

/// The header of a message, ready for the transport.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header {
    length: u8,
    bytes: [u8; Self::MAX],
}

impl Header {
    /// The longest header this protocol sends, in bytes.
    pub const MAX: usize = 64;

    /// The bytes to put in front of the payload.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&self.bytes)
    }

    /// The same bytes with what room there is behind them, and how many they are.
    #[must_use]
    #[inline]
    pub fn with_room(&self) -> (&[u8; Self::MAX], usize) {
        (&self.bytes, usize::from(self.length))
    }

    pub(super) const fn empty() -> Self {
        Self { length: 0, bytes: [0; Self::MAX] }
    }

    /// Appends; whatever exceeds [`Header::MAX`] is a bug in `wire` that its round-trip tests show.
    pub(super) fn push(&mut self, more: &[u8]) {
        let start = usize::from(self.length);
        if let Some(room) = self.bytes.get_mut(start..start + more.len()) {
            room.copy_from_slice(more);
            self.length += more.len() as u8;
        } else {
            debug_assert!(false, "a header of more than {} bytes", Self::MAX);
        }
    }
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Header({:02x?})", self.as_bytes())
    }
}

/// The transport's name for exposed memory, as the receiver passes it to the sender.
///
/// ```
/// use ringworld_protocol::Key;
/// assert_eq!(Key::new(b"abc").map(|key| key.as_bytes().to_vec()), Some(b"abc".to_vec()));
/// assert!(Key::new(&[0; 33]).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key {
    length: u8,
    bytes: [u8; Self::MAX],
}

impl Key {
    /// The longest key, in bytes.
    pub const MAX: usize = 32;

    /// Copies `bytes` into a key; `None` when there are more than [`Key::MAX`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut key = Self { length: u8::try_from(bytes.len()).ok()?, bytes: [0; Self::MAX] };
        key.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(key)
    }

    /// The bytes given to [`Key::new`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&self.bytes)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({:02x?})", self.as_bytes())
    }
}
