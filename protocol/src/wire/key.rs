//! Keys of exposed memory: bytes of bounded length that mean something to the transport only.
//!
//! They are held in place and copied by value, so that queueing a message allocates nothing.

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
