//! Copies that the C library makes badly, made of others that it makes well.
//!
//! It copies more than 2 KiB by `rep movsb`, and some processors (AMD's since Zen 3) are slow at that where the target
//! begins less than 32 bytes behind the source, modulo a page: 3 GB/s instead of 37, measured in the caches of an EPYC.
//! That is no rare case: of two vectors of the same power of two of bytes that a program has allocated one after the
//! other, the second begins 16 bytes behind the first. Such copies are made of short ones, which the library does with
//! vector registers at 25 GB/s.

/// Below the threshold of the C library, and whole cache lines.
const SHORT: usize = 1024;
/// Up to here there is nothing to gain.
const LONG: usize = 2 * SHORT;
const PAGE: usize = 4096;
const CLOSE: usize = 32;

/// Into how long pieces a copy of `length` bytes is best cut, from this address to that one; the last may be shorter.
#[inline]
#[must_use]
pub fn piece(from: usize, into: usize, length: usize) -> usize {
    let is_slow = length >= LONG && (1..CLOSE).contains(&(into.wrapping_sub(from) % PAGE));
    if is_slow { SHORT } else { length }
}

/// Copies all of `from`, wherever the two lie.
///
/// ```
/// let mut into = [0; 3];
/// ringworld_transport::copying::copy(&[1, 2, 3], &mut into);
/// assert_eq!(into, [1, 2, 3]);
/// ```
///
/// # Panics
///
/// When the lengths differ.
#[inline]
pub fn copy(from: &[u8], into: &mut [u8]) {
    // Asked first: short messages pay for each instruction.
    if from.len() < LONG { into.copy_from_slice(from) } else { copy_long(from, into) }
}

#[inline(never)]
fn copy_long(from: &[u8], into: &mut [u8]) {
    assert_eq!(from.len(), into.len(), "a copy of bytes into room of another length");
    let piece = piece(from.as_ptr().addr(), into.as_ptr().addr(), from.len());
    for (from, into) in from.chunks(piece).zip(into.chunks_mut(piece)) {
        into.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_in_short_pieces_is_the_same() {
        let source: Vec<u8> = (0..20_000u32).map(|index| (index * 7) as u8).collect();
        for length in [0, 1, LONG - 1, LONG, LONG + 1, 3 * SHORT, 10_007] {
            for behind in [0, 16, CLOSE, 100] {
                let mut room = vec![0u8; 20_000];
                let begin = (source.as_ptr().addr() + behind).wrapping_sub(room.as_ptr().addr()) % PAGE;
                let into = &mut room[begin..][..length];
                copy(&source[..length], into);
                assert_eq!(into, &source[..length], "{length} {behind}");
            }
        }
    }

    #[test]
    fn only_what_is_long_and_begins_close_behind_its_source_is_cut() {
        assert_eq!((piece(4096, 8192 + 16, 4096), piece(5000, 4096 + 5001, 4096)), (SHORT, SHORT));
        assert_eq!((piece(4096, 8192, 4096), piece(4112, 8192, 4096), piece(0, 16, 100)), (4096, 4096, 100));
    }
}
