//! Spans of memory that belong to somebody else: the one place in this crate with `unsafe` code.
//!
//! The runtime promises, by calling an `unsafe` constructor, that the memory outlives the operation. A
//! transport then reads and writes it by safe methods, and lets go by dropping the value. Whether it has is not a
//! matter of events and their order: the owner gives a [`Lease`] along, and asks that. Neighbours: the runtime's
//! buffer module makes these; every transport consumes them.

#![allow(unsafe_code)]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Says whether memory that was lent is still held by anybody: the owner of the memory keeps it, and each span that
/// is [given it](SendMemory::leased) counts until it is dropped.
///
/// ```
/// use ringworld_transport::{Lease, SendMemory};
/// let mut lease = Lease::new();
/// let memory = SendMemory::from_static(b"bytes").leased(&lease);
/// assert!(lease.is_out());
/// drop(memory);
/// assert!(!lease.is_out());
/// ```
#[derive(Debug, Default)]
pub struct Lease(Arc<()>);

impl Lease {
    /// One that nobody holds yet. Allocates: keep it for many loans.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether any span that was given it exists. After a `false` all that holders did with the memory has happened
    /// before. Exclusive, so that nobody can be given it at the same time.
    #[must_use]
    #[inline]
    pub fn is_out(&mut self) -> bool {
        let out = Arc::strong_count(&self.0) > 1;
        // The count goes down with `Release`.
        fence(Ordering::Acquire);
        out
    }
}

/// Memory to read from, promised to stay valid and unchanged until the operation that holds it completes.
pub struct SendMemory {
    pointer: *const u8,
    length: usize,
    /// Held, not read.
    _lease: Option<Arc<()>>,
}

// SAFETY: the constructor's contract says that the memory may be read from any thread.
unsafe impl Send for SendMemory {}

impl SendMemory {
    /// Names `length` bytes at `pointer`.
    ///
    /// # Safety
    ///
    /// Until this value is dropped, the bytes must be valid for reads from any thread, initialised, and
    /// not written by anybody. `pointer` must not be null, even if `length` is 0.
    #[must_use]
    pub unsafe fn new(pointer: *const u8, length: usize) -> Self {
        Self { pointer, length, _lease: None }
    }

    /// The same, with a lease: as long as this value exists, the lease [is out](Lease::is_out).
    #[must_use]
    #[inline]
    pub fn leased(self, lease: &Lease) -> Self {
        Self { _lease: Some(Arc::clone(&lease.0)), ..self }
    }

    /// No memory at all.
    #[must_use]
    pub fn empty() -> Self {
        Self { pointer: std::ptr::NonNull::dangling().as_ptr(), length: 0, _lease: None }
    }

    /// Bytes that live for ever.
    #[must_use]
    pub fn from_static(bytes: &'static [u8]) -> Self {
        Self { pointer: bytes.as_ptr(), length: bytes.len(), _lease: None }
    }

    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the constructor's contract: valid, initialised and unchanged while `self` lives.
        unsafe { std::slice::from_raw_parts(self.pointer, self.length) }
    }
}

impl fmt::Debug for SendMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendMemory({} bytes)", self.length)
    }
}

/// Memory to write to, promised to stay valid and untouched by others until the operation that holds it
/// completes.
pub struct RecvMemory {
    pointer: *mut u8,
    length: usize,
    /// Held, not read.
    _lease: Option<Arc<()>>,
}

// SAFETY: the constructor's contract says that the memory may be accessed from any thread.
unsafe impl Send for RecvMemory {}

impl RecvMemory {
    /// Names `length` bytes at `pointer`.
    ///
    /// # Safety
    ///
    /// Until this value is dropped, the bytes must be valid for reads and writes from any thread,
    /// initialised, and not accessed by anybody else. `pointer` must not be null, even if `length` is 0.
    #[must_use]
    pub unsafe fn new(pointer: *mut u8, length: usize) -> Self {
        Self { pointer, length, _lease: None }
    }

    /// The same, with a lease: as long as this value exists, the lease [is out](Lease::is_out).
    #[must_use]
    #[inline]
    pub fn leased(self, lease: &Lease) -> Self {
        Self { _lease: Some(Arc::clone(&lease.0)), ..self }
    }

    /// No memory at all.
    #[must_use]
    pub fn empty() -> Self {
        Self { pointer: std::ptr::NonNull::dangling().as_ptr(), length: 0, _lease: None }
    }

    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The bytes.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the constructor's contract: valid, initialised and ours alone while `self` lives.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.length) }
    }

    /// Address of the first byte, for transports that hand it to a device.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.pointer
    }
}

impl fmt::Debug for RecvMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecvMemory({} bytes)", self.length)
    }
}

/// Memory that its owner keeps for many operations, so that a transport can prepare it once.
///
/// Says nothing about what is in it, and grants no access to it: who may read or write when is said by each
/// operation's [`SendMemory`] or [`RecvMemory`].
pub struct Region {
    pointer: *mut u8,
    length: usize,
}

// SAFETY: it grants no access to the memory, which the constructor's contract keeps where it is.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Names `length` bytes at `pointer`.
    ///
    /// # Safety
    ///
    /// Until this value is dropped, the bytes must stay allocated as they are, so that they could be read and written
    /// from any thread by whoever is lent them; between operations the owner does with them what it likes. `pointer`
    /// must not be null, even if `length` is 0.
    ///
    /// A transport that is given this value by [`Transport::register`](crate::Transport::register) has dropped it when
    /// [`Transport::deregister`](crate::Transport::deregister) has been called and every operation within the region
    /// has ended, or when [`Transport::abort`](crate::Transport::abort) has returned.
    #[must_use]
    pub unsafe fn new(pointer: *mut u8, length: usize) -> Self {
        Self { pointer, length }
    }

    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Address of the first byte, for transports that hand it to a device.
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.pointer
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region({} bytes)", self.length)
    }
}

/// The name of exposed memory, as sent to the peer that may write there: at most [`RemoteKey::MAX`] bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RemoteKey {
    length: u8,
    bytes: [u8; Self::MAX],
}

impl RemoteKey {
    /// The longest key, in bytes.
    pub const MAX: usize = 32;

    /// Copies `bytes` into a key; `None` when there are more than [`RemoteKey::MAX`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut key = Self { length: u8::try_from(bytes.len()).ok()?, bytes: [0; Self::MAX] };
        key.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(key)
    }

    /// The bytes given to [`RemoteKey::new`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for RemoteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteKey({:02x?})", self.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_holds_up_to_its_maximum_and_no_more() {
        assert_eq!(RemoteKey::new(&[7; 32]).map(|k| k.as_bytes().to_vec()), Some(vec![7; 32]));
        assert_eq!(RemoteKey::new(&[7; 33]), None);
    }

    #[test]
    fn a_lease_is_out_until_the_last_span_is_dropped() {
        let mut lease = Lease::new();
        assert!(!lease.is_out());
        let read = SendMemory::from_static(b"abc").leased(&lease);
        let write = RecvMemory::empty().leased(&lease);
        drop(read);
        assert!(lease.is_out());
        std::thread::scope(|scope| scope.spawn(move || drop(write)).join()).unwrap();
        assert!(!lease.is_out());
    }

    #[test]
    fn empty_memory_is_a_valid_slice() {
        assert!(SendMemory::empty().as_slice().is_empty());
        assert!(RecvMemory::empty().as_mut_slice().is_empty());
    }
}
