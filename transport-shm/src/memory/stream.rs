//! Copies other than the C library's: past the caches, into memory that another core reads next or that is too long for
//! them, and word by word.
//!
//! When the first are better, and by how much: see `pace.rs`. The second are for what comes out of slots. The library
//! copies more than a few KiB by `rep movsb`, with which an AMD processor waits for what it overwrites where that is in
//! no cache of its own: 64 messages after one another, each of 64 KiB to a place of its own, took 3.0 us apiece instead
//! of 6.3 by words, those of 256 KiB 20 instead of 26, of 1 MiB 87 instead of 125, of 4 MiB 362 instead of 555; and to
//! and fro, always to the same place, 64 KiB 3.1 instead of 3.9, 1 MiB 40 instead of 46 (two ranks, EPYC). How slots
//! are filled makes no difference.

use std::sync::OnceLock;

/// Whether copies of this file may be better with this processor. So it is with AMD's. Intel's have a cache of the
/// third level that takes part, and were fast in it; there such copies have not been measured, and are not used.
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

/// Copies bytes past the caches. What is stored afterwards is seen afterwards by others, as with ordinary stores.
///
/// # Safety
///
/// `from` is valid for `length` reads and `into` for so many writes, and the two do not overlap.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) unsafe fn copy_past_caches(from: *const u8, into: *mut u8, length: usize) {
    let lines =
        if std::arch::is_x86_feature_detected!("avx") { lines::past_caches_avx } else { lines::past_caches };
    // SAFETY: the caller's promise, and the processor has the instructions.
    unsafe { copy_lines(from, into, length, lines) };
    // Such stores keep no order with others; nothing that is stored from here on is seen before them.
    // SAFETY: every processor of this architecture has the instruction.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Copies bytes word by word, as the C library does not do it with many. By wide words where none of them lies across
/// two lines: between near cores streams of 256 KiB and more take 0.90 to 0.93 of the time so, ping-pongs 0.94 to 0.97.
///
/// # Safety
///
/// As for [`copy_past_caches`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) unsafe fn copy_by_words(from: *const u8, into: *mut u8, length: usize) {
    let alike = (from as usize).wrapping_sub(into as usize).is_multiple_of(lines::WIDE);
    let is_wide = alike && std::arch::is_x86_feature_detected!("avx");
    let lines = if is_wide { lines::by_words_avx } else { lines::by_words };
    // SAFETY: the caller's promise, and the processor has the instructions.
    unsafe { copy_lines(from, into, length, lines) };
}

/// Copies bytes; whole lines of the target by `lines`, what is before and behind them as always.
///
/// # Safety
///
/// As for [`copy_past_caches`]; the processor has the instructions of `lines`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn copy_lines(from: *const u8, into: *mut u8, length: usize, lines: lines::Copy) {
    use std::ptr::copy_nonoverlapping;

    // Past the caches each line then leaves the processor at once.
    let before = into.align_offset(lines::LINE).min(length);
    let behind = before + (length - before) / lines::LINE * lines::LINE;
    // SAFETY: the caller's promise.
    unsafe { copy_nonoverlapping(from, into, before) };
    // SAFETY: within what the caller has promised.
    let source = unsafe { from.add(before) };
    // SAFETY: likewise.
    let target = unsafe { into.add(before) };
    // SAFETY: whole lines.
    unsafe { lines(source, target, behind - before) };
    // SAFETY: as above.
    let from = unsafe { from.add(behind) };
    // SAFETY: likewise.
    let into = unsafe { into.add(behind) };
    // SAFETY: the rest of it.
    unsafe { copy_nonoverlapping(from, into, length - behind) };
}

/// Copies of whole lines. Past the caches by the widest words: to and fro between far cores of an EPYC a message of 8
/// KiB takes 7 % less time so than with words of 16 bytes, streams of 8 to 16 KiB likewise. Out of slots they gain as
/// well, but lost an eighth in streams between near cores where the source began within a line and the target did not.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod lines {
    use std::arch::x86_64::*;

    pub(super) const LINE: usize = 64;
    pub(super) const WIDE: usize = size_of::<__m256i>();

    /// From where, to where, which is the beginning of a line, and how many bytes, which are whole lines.
    pub(super) type Copy = unsafe fn(*const u8, *mut u8, usize);

    macro_rules! copy {
        ($name:ident, $feature:literal, $word:ty, $load:path, $store:expr) => {
            /// # Safety
            ///
            /// As the type says, all within what may be read and written; the processor has the feature.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $name(from: *const u8, into: *mut u8, length: usize) {
                let mut at = 0;
                while at < length {
                    // SAFETY: within what the caller has promised.
                    let from = unsafe { from.add(at) };
                    // SAFETY: likewise.
                    let into = unsafe { into.add(at) };
                    // SAFETY: a word, wherever it lies.
                    let word = unsafe { $load(from.cast()) };
                    // SAFETY: at a multiple of its size.
                    unsafe { $store(into.cast(), word) };
                    at += size_of::<$word>();
                }
            }
        };
    }

    copy!(past_caches, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128);
    copy!(past_caches_avx, "avx", __m256i, _mm256_loadu_si256, _mm256_stream_si256);
    // Volatile, or the compiler makes a call of the C library of it.
    copy!(by_words, "sse2", __m128i, _mm_loadu_si128, <*mut __m128i>::write_volatile);
    copy!(by_words_avx, "avx", __m256i, _mm256_loadu_si256, <*mut __m256i>::write_volatile);
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) unsafe fn copy_past_caches(from: *const u8, into: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, into, length) };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) use copy_past_caches as copy_by_words;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_the_same_and_nothing_around_it_changes() {
        let source: Vec<u8> = (0..9_000u32).map(|index| (index * 7 + 1) as u8).collect();
        for (begin, from) in [(0, 0), (1, 0), (15, 3), (16, 16), (63, 1), (64, 33), (3, 35)] {
            for length in [0, 1, 15, 63, 64, 65, 127, 128, 1000, 4096, 8191] {
                for copy in [copy_past_caches, copy_by_words] {
                    let (mut room, mut expected) = (vec![0u8; 9_000], vec![0u8; 9_000]);
                    let (given, into) = (&source[from..from + length], &mut room[begin..begin + length]);
                    // SAFETY: both are so long, and of different vectors.
                    unsafe { copy(given.as_ptr(), into.as_mut_ptr(), length) };
                    expected[begin..begin + length].copy_from_slice(given);
                    assert!(room == expected, "{begin} {from} {length}");
                }
            }
        }
    }
}
