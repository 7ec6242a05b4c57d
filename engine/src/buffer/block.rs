//! Memory of the engine's own: for messages that nobody has asked for yet, scratch, and what is staged.

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
        // Memory of zeros straight from the system, which costs nothing until it is touched.
        Self { lines: bytemuck::zeroed_vec(length.div_ceil(64)), lease: Lease::new() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines)
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
