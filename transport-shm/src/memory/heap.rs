//! Memory for Miri, which knows no mappings: of the heap, so that what is done with a mapping can be played through.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use rustix::io::Errno;

use super::{MapError, Mapping, Writers};

/// Mappings begin at a page.
fn layout(length: usize) -> Result<Layout, MapError> {
    Layout::from_size_align(length.max(1), 4096).map_err(|_| Errno::INVAL.into())
}

impl Mapping {
    /// New memory of `length` zeroed bytes, and a descriptor by which nobody can map it.
    pub(crate) fn create(length: usize, _: Writers) -> Result<(Self, OwnedFd), MapError> {
        // SAFETY: of more than no bytes.
        let base = NonNull::new(unsafe { alloc_zeroed(layout(length)?) }).ok_or(Errno::NOMEM)?;
        let fd = std::fs::File::open("/dev/null").map_err(|_| Errno::NOENT)?;
        Ok((Self { base, length, writable: true }, fd.into()))
    }

    pub(super) fn unmap(&mut self) {
        if let Ok(layout) = layout(self.length) {
            // SAFETY: it was made so, and nothing refers to it any more.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}
