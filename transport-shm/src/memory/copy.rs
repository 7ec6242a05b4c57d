//! Copies of bytes between memory of this process and memory that is shared.
//!
//! The C library copies more than 2 KiB by `rep movsb`, and some processors (AMD's since Zen 3) are slow at that where
//! the target begins less than 32 bytes behind the source, modulo a page: 3 GB/s instead of 37, measured in the caches
//! of an EPYC. Such copies are made of short ones, which the library does with vector registers at 25 GB/s. That is
//! only the better of two evils, so slots begin where nearly no copy meets it (`outbox.rs`): out of the caches `rep
//! movsb` is faster, for it does not read what it overwrites (16 MiB with an Intel Xeon: 2.0 ms instead of 3.2).

use std::ptr::copy_nonoverlapping;

/// Below the threshold of the C library, and whole cache lines.
const SHORT: usize = 1024;
/// Up to here there is nothing to gain.
const LONG: usize = 2 * SHORT;
const PAGE: usize = 4096;
const CLOSE: usize = 32;

/// Whether a copy of so many bytes is slow in one piece.
#[inline]
fn is_slow(from: usize, into: usize, length: usize) -> bool {
    length >= LONG && (1..CLOSE).contains(&(into.wrapping_sub(from) % PAGE))
}

/// Like [`copy_nonoverlapping`].
///
/// # Safety
///
/// As there: `from` is valid for `length` reads and `into` for so many writes, and the two do not overlap.
#[inline]
pub(super) unsafe fn copy(from: *const u8, into: *mut u8, length: usize) {
    if !is_slow(from as usize, into as usize, length) {
        // SAFETY: the caller's promise.
        return unsafe { copy_nonoverlapping(from, into, length) };
    }
    let mut done = 0;
    while done < length {
        let step = SHORT.min(length - done);
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
        let source: Vec<u8> = (0..20_000u32).map(|index| (index * 7) as u8).collect();
        for length in [0, 1, LONG - 1, LONG, LONG + 1, 3 * SHORT, 10_007] {
            let mut room = vec![0u8; 20_000];
            let aligned = room.as_ptr().align_offset(PAGE) + source.as_ptr() as usize % PAGE + 16;
            let into = &mut room[aligned % PAGE..][..length];
            // SAFETY: both slices are at least so long, and of different vectors.
            unsafe { copy(source.as_ptr(), into.as_mut_ptr(), length) };
            assert_eq!(into, &source[..length]);
        }
        assert!(is_slow(4096, 8192 + 16, 4096) && is_slow(5000, 4096 + 5001, 4096));
        assert!(!is_slow(4096, 8192, 4096) && !is_slow(4112, 8192, 4096) && !is_slow(0, 16, 100));
    }
}
