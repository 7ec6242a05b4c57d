//! Copies past the caches: into memory that another core reads next, or that is too long for them.
//!
//! When they are better, and by how much: see `pace.rs`.

use std::sync::OnceLock;

/// Whether what other cores of this processor are to read may be better written past the caches. So it is with AMD's.
/// Intel's have a cache of the third level that takes part, and were fast in it; there such copies have not been
/// measured, and are not used.
pub(crate) fn may_be_better() -> bool {
    static BETTER: OnceLock<bool> = OnceLock::new();
    *BETTER.get_or_init(|| matches!(&vendor(), b"AuthenticAMD" | b"HygonGenuine"))
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn vendor() -> [u8; 12] {
    #[allow(unused_unsafe, reason = "it is unsafe in older compilers")]
    // SAFETY: every processor of this architecture has the instruction.
    let leaf = unsafe { std::arch::x86_64::__cpuid(0) };
    let mut name = [0; 12];
    for (part, word) in name.chunks_exact_mut(4).zip([leaf.ebx, leaf.edx, leaf.ecx]) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    name
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn vendor() -> [u8; 12] {
    [0; 12]
}

/// Copies bytes. What is stored afterwards is seen afterwards by others, as with ordinary stores.
///
/// # Safety
///
/// `from` is valid for `length` reads and `into` for so many writes, and the two do not overlap.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) unsafe fn copy(from: *const u8, into: *mut u8, length: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    use std::ptr::copy_nonoverlapping;

    const LINE: usize = 64;
    const WORD: usize = size_of::<__m128i>();
    // Whole lines of the target, so that each leaves the processor at once; what is before and behind them as always.
    let before = into.align_offset(LINE).min(length);
    let behind = before + (length - before) / LINE * LINE;
    // SAFETY: the caller's promise.
    unsafe { copy_nonoverlapping(from, into, before) };
    for at in (before..behind).step_by(WORD) {
        // SAFETY: within what the caller has promised.
        let from = unsafe { from.add(at) };
        // SAFETY: likewise.
        let into = unsafe { into.add(at) };
        // SAFETY: a word, wherever it lies.
        let word = unsafe { _mm_loadu_si128(from.cast()) };
        // SAFETY: at a multiple of the size of a word, since lines are.
        unsafe { _mm_stream_si128(into.cast(), word) };
    }
    // SAFETY: within what the caller has promised.
    let from = unsafe { from.add(behind) };
    // SAFETY: likewise.
    let into = unsafe { into.add(behind) };
    // SAFETY: the rest of it.
    unsafe { copy_nonoverlapping(from, into, length - behind) };
    // Such stores keep no order with others; nothing that is stored from here on is seen before them.
    // SAFETY: every processor of this architecture has the instruction.
    unsafe { _mm_sfence() };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) unsafe fn copy(from: *const u8, into: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, into, length) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_past_the_caches_is_the_same_and_nothing_around_it_changes() {
        let source: Vec<u8> = (0..9_000u32).map(|index| (index * 7 + 1) as u8).collect();
        for (begin, from) in [(0, 0), (1, 0), (15, 3), (16, 16), (63, 1), (64, 33)] {
            for length in [0, 1, 15, 63, 64, 65, 127, 128, 1000, 4096, 8191] {
                let mut room = vec![0u8; 9_000];
                let (given, into) = (&source[from..from + length], &mut room[begin..begin + length]);
                // SAFETY: both are so long, and of different vectors.
                unsafe { copy(given.as_ptr(), into.as_mut_ptr(), length) };
                assert_eq!(
                    room[begin..begin + length],
                    source[from..from + length],
                    "{begin} {from} {length}"
                );
                assert!(room[..begin].iter().chain(&room[begin + length..]).all(|byte| *byte == 0));
            }
        }
    }
}
