//! Memory that a fuzz target lends: whoever writes beside it, or holds it for too long, is seen.

use ringworld_transport::{Lease, RecvMemory};

const BESIDE: usize = 64;
const MARK: u8 = 0xa5;

/// Some memory, marked on both sides.
pub(crate) struct Lent {
    whole: *mut [u8],
    lease: Lease,
}

impl Lent {
    /// So many bytes, and the promise of them.
    pub(crate) fn new(length: usize) -> (Self, RecvMemory) {
        let whole = Box::into_raw(vec![MARK; length + 2 * BESIDE].into_boxed_slice());
        let lease = Lease::new();
        let first = whole.cast::<u8>().wrapping_add(BESIDE);
        // SAFETY: they are there until nobody holds them, see `drop`, and nobody else looks at them before.
        let memory = unsafe { RecvMemory::new(first, length) }.leased(&lease);
        (Self { whole, lease }, memory)
    }

    /// Whether it has been let go, and nothing beside it was written.
    pub(crate) fn is_back_unharmed(&mut self) -> bool {
        if self.lease.is_out() {
            return false;
        }
        // SAFETY: it is there until this is dropped, and nobody else holds it.
        let bytes = unsafe { &*self.whole };
        let (front, behind) = (&bytes[..BESIDE], &bytes[bytes.len() - BESIDE..]);
        front.iter().chain(behind).all(|byte| *byte == MARK)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !self.lease.is_out() {
            // SAFETY: it was made so, and nobody holds it.
            drop(unsafe { Box::from_raw(self.whole) });
        }
    }
}
