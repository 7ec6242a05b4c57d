//! Memory of the engine's own: for messages that nobody has asked for yet, scratch, and what is staged.

use std::alloc::{Layout, handle_alloc_error};

use ringworld_transport::Lease;

#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Memory of the engine's own, aligned to a cache line.
pub(crate) struct Block {
    lines: Vec<Line>,
    /// Of the message that bounces here.
    pub(super) lease: Lease,
}

impl Block {
    pub(super) fn new(length: usize) -> Self {
        let lines = length.div_ceil(size_of::<Line>());
        // Memory of zeros straight from the system, which costs nothing until it is touched.
        let lines = bytemuck::try_zeroed_vec(lines).unwrap_or_else(|()| lacking(lines));
        Self { lines, lease: Lease::new() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }
}

/// There is no memory: the process ends as it does for want of any other.
#[cold]
fn lacking(lines: usize) -> ! {
    match Layout::array::<Line>(lines) {
        Ok(layout) => handle_alloc_error(layout),
        // No vector is so long.
        Err(_) => std::process::abort(),
    }
}

impl Drop for Block {
    /// A transport that holds the block although it has been told to drop everything is broken; memory it may still
    /// write to is better lost than given to somebody else.
    fn drop(&mut self) {
        if self.lease.is_out() {
            std::mem::forget(std::mem::take(&mut self.lines));
        }
    }
}
