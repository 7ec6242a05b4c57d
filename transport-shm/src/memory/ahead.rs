//! Lines of the caches that will be written soon.

/// Asks for the line of the caches at `place` as one that will be written, without waiting for it. Nothing happens
/// where there is none, or with processors that cannot be asked.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
pub(super) fn will_write(place: *const u8) {
    // The intrinsic becomes a request to read where the feature is not enabled for the whole program, though every
    // processor of this architecture takes the instruction, if only to do nothing.
    // SAFETY: it reads and writes nothing, and never faults, wherever `place` is.
    unsafe { std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags, readonly)) };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
pub(super) fn will_write(_place: *const u8) {}
