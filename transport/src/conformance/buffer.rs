//! Memory that the kit lends to transports: the only place of the kit with `unsafe` code.
//!
//! Invariant: the harness drops every transport before any [`Buffer`], and reads or overwrites a buffer
//! only while no transport holds it (before it is lent, or after its operation was reported complete).

#![allow(unsafe_code)]

use std::ops::Range;
use std::rc::Rc;

use crate::{RecvMemory, Region, SendMemory};

/// Heap bytes at a fixed place, or a part of them, reached through a raw pointer so that moving the owner disturbs
/// nobody.
pub(crate) struct Buffer {
    bytes: *mut [u8],
    /// What the bytes are a part of; freed with the last part.
    whole: Rc<Whole>,
}

struct Whole(*mut [u8]);

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `Buffer::new`, freed only here.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Buffer {
    /// Takes over the bytes.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let bytes = Box::into_raw(bytes.into_boxed_slice());
        Self { bytes, whole: Rc::new(Whole(bytes)) }
    }

    /// A part, to be lent and overwritten apart from the rest.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.bytes.len(), "a part lies within the whole");
        let start = self.bytes.cast::<u8>().wrapping_add(range.start);
        let bytes = std::ptr::slice_from_raw_parts_mut(start, range.len());
        Self { bytes, whole: Rc::clone(&self.whole) }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The memory as a region to be registered.
    pub(crate) fn lend_to_register(&self) -> Region {
        // SAFETY: the bytes outlive every transport (the invariant of this module).
        unsafe { Region::new(self.bytes.cast(), self.bytes.len()) }
    }

    /// Fills memory that nobody has been lent.
    pub(crate) fn copy_in(&self, bytes: &[u8]) {
        // SAFETY: valid until drop, and no transport uses it (the invariant of this module).
        let memory = unsafe { &mut *self.bytes };
        memory.copy_from_slice(bytes);
    }

    /// The memory as a sender's payload.
    pub(crate) fn lend_to_send(&self) -> SendMemory {
        // SAFETY: the bytes are initialised, outlive every transport, and are written only after the
        // operation has completed (the invariant of this module).
        unsafe { SendMemory::new(self.bytes.cast(), self.bytes.len()) }
    }

    /// The memory as the place where a payload goes; lent at most once.
    pub(crate) fn lend_to_receive(&self) -> RecvMemory {
        // SAFETY: the bytes are initialised, outlive every transport, and are touched only after the
        // operation has completed (the invariant of this module).
        unsafe { RecvMemory::new(self.bytes.cast(), self.bytes.len()) }
    }

    /// A copy of what is there, for memory that is ours again.
    pub(crate) fn copy_out(&self) -> Vec<u8> {
        // SAFETY: valid until drop, and no transport writes here any more (the invariant of this module).
        let bytes = unsafe { &*self.bytes };
        bytes.to_vec()
    }

    /// Overwrites memory that is ours again, so that a late read or write by a transport shows.
    pub(crate) fn scribble(&self, byte: u8) {
        // SAFETY: valid until drop, and no transport uses it any more (the invariant of this module).
        let bytes = unsafe { &mut *self.bytes };
        bytes.fill(byte);
    }
}
