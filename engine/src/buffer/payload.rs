//! The payload of a message all of which has come, wherever it lies.

/// Bytes that are copied once, and only as many of them as there is room for.
pub(crate) trait Payload {
    /// How many there are.
    fn length(&self) -> usize;

    /// Copies the first of them, as many as `into` has room for. That is no more than there are.
    fn copy(&mut self, into: &mut [u8]);
}

/// In memory of this process.
impl Payload for &[u8] {
    #[inline(always)]
    fn length(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn copy(&mut self, into: &mut [u8]) {
        into.copy_from_slice(&self[..into.len()]);
    }
}

/// Where only the transport reaches it, which copies it.
pub(crate) struct Elsewhere<'a> {
    pub(crate) length: usize,
    pub(crate) copy: &'a mut dyn FnMut(&mut [u8]),
}

impl Payload for Elsewhere<'_> {
    #[inline]
    fn length(&self) -> usize {
        self.length
    }

    #[inline]
    fn copy(&mut self, into: &mut [u8]) {
        (self.copy)(into);
    }
}
