//! Addresses as opaque bytes: only the transport that made one can read it.

/// Where a transport is reached, in a form that only the same transport elsewhere understands.
///
/// ```
/// use ringworld_transport::Address;
/// let address = Address::new(vec![127, 0, 0, 1]);
/// assert_eq!(address.as_bytes(), [127, 0, 0, 1]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address(Vec<u8>);

impl Address {
    /// Wraps the bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes given to [`Address::new`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Address({} bytes)", self.0.len())
    }
}
