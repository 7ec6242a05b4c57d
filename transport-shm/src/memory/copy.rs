//! Copies of bytes between memory of this process and memory that is shared: like those of
//! [`ringworld_transport::copying`], which says why, by pointers.
//!
//! To be made of short pieces is only the better of two evils, so slots begin where nearly no copy meets it
//! (`outbox.rs`): out of the caches `rep movsb` is faster, for it does not read what it overwrites (16 MiB with an
//! Intel Xeon: 2.0 ms instead of 3.2).

use std::ptr::copy_nonoverlapping;

use ringworld_transport::copying::piece;

/// Like [`copy_nonoverlapping`].
///
/// # Safety
///
/// As there: `from` is valid for `length` reads and `into` for so many writes, and the two do not overlap.
#[inline]
pub(super) unsafe fn copy(from: *const u8, into: *mut u8, length: usize) {
    let piece = piece(from as usize, into as usize, length);
    if piece == length {
        // SAFETY: the caller's promise.
        return unsafe { copy_nonoverlapping(from, into, length) };
    }
    let mut done = 0;
    while done < length {
        let step = piece.min(length - done);
        // SAFETY: within what the caller has promised.
        let from = unsafe { from.add(done) };
        // SAFETY: likewise.
        let into = unsafe { into.add(done) };
        // SAFETY: likewise.
        unsafe { copy_nonoverlapping(from, into, step) };
        done += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_in_short_pieces_is_the_same() {
        const PAGE: usize = 4096;
        let source: Vec<u8> = (0..20_000u32).map(|index| (index * 7) as u8).collect();
        for length in [0, 1, 2047, 2048, 2049, 3072, 10_007] {
            let mut room = vec![0u8; 20_000];
            let aligned = room.as_ptr().align_offset(PAGE) + source.as_ptr() as usize % PAGE + 16;
            let into = &mut room[aligned % PAGE..][..length];
            // SAFETY: both slices are at least so long, and of different vectors.
            unsafe { copy(source.as_ptr(), into.as_mut_ptr(), length) };
            assert_eq!(into, &source[..length]);
        }
    }
}
