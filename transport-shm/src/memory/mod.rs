//! Memory that several processes map: the one place in this crate with `unsafe` code.
//!
//! A [`Mapping`] is a `memfd` of fixed size, mapped whole. Others may write to it at any time, whatever they have
//! promised, so no reference to its bytes is ever made: words are atomics, bytes are copied in and out, and every place
//! is checked against the size. What is copied out may be anything; whoever reads judges it after copying, never
//! before. Size and kind are sealed before the descriptor is given away, so nobody can cut the memory off under a
//! reader. Neighbours: `ring.rs` is the order of words and bytes that makes sense of a link, `outbox.rs` of an outbox.

#![allow(unsafe_code)]
#![cfg_attr(miri, allow(dead_code, unused_imports, reason = "what asks the system is replaced by `heap.rs`"))]

mod ahead;
mod copy;
#[cfg(miri)]
mod heap;
#[cfg(fuzzing)]
pub(crate) mod lent;
pub(crate) mod stream;

use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};

/// Bytes of a line of the caches.
pub(crate) const LINE: usize = 64;

/// How far within a line bytes begin. Where they lie in shared memory they begin as far within one: then the C
/// library's `rep movsb` need not fetch the lines that it overwrites, on AMD's newest processors at least. In pieces of
/// 32 KiB, 256 KiB to and fro takes 4.1 us so and 5.0 otherwise between near cores of a Zen 5 EPYC, between far ones 9
/// and 35, whatever else is done about it.
#[inline]
pub(crate) fn within_line(bytes: &[u8]) -> usize {
    bytes.as_ptr() as usize % LINE
}

/// Whose writes a mapping admits once its descriptor has been given away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// Both sides write.
    Both,
    /// Only who made it; to others it is given for reading.
    Maker,
}

/// Why there is no memory to share, or a descriptor is not what it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MapError {
    #[error("{0}")]
    System(#[from] Errno),
    #[error(
        "it takes a file of {needed} bytes, though in memory only, and a file of this process may have {limit} bytes \
         (RLIMIT_FSIZE). Raise the limit: `ulimit -f` in the shell, `fsize` in /etc/security/limits.conf, LimitFSIZE= \
         in a systemd unit, or `--ulimit fsize=` for a container"
    )]
    Limit { needed: usize, limit: u64 },
    #[error("it has {found} bytes instead of {expected}")]
    Size { found: u64, expected: usize },
    #[error("its size is not sealed")]
    Unsealed,
}

/// Whether this process may make a mapping of `length` bytes. The system does not refuse what is beyond the limit on
/// files, but ends the process by a signal (SIGXFSZ).
pub(crate) fn may_have(length: usize) -> Result<(), MapError> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if limit < length as u64 => Err(MapError::Limit { needed: length, limit }),
        _ => Ok(()),
    }
}

/// Shared memory of a fixed size, mapped whole; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
    writable: bool,
}

// SAFETY: all access is by atomics or by copies of raw bytes, from whatever thread.
unsafe impl Send for Mapping {}
// SAFETY: as above; others write to the memory at the same time in any case.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// New memory of `length` zeroed bytes, and the descriptor by which another process maps it. Pages are taken from
    /// the system when they are first written.
    #[cfg(not(miri))]
    pub(crate) fn create(length: usize, writers: Writers) -> Result<(Self, OwnedFd), MapError> {
        may_have(length)?;
        let fd = rustix::fs::memfd_create("ringworld", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&fd, length as u64)?;
        let mapping = Self::of(&fd, length, true)?;
        let fixed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        let seals = match writers {
            Writers::Both => fixed,
            // What is mapped already stays writable.
            Writers::Maker => fixed | SealFlags::FUTURE_WRITE,
        };
        rustix::fs::fcntl_add_seals(&fd, seals)?;
        Ok((mapping, fd))
    }

    /// Maps memory that another process has made. Its size must be sealed, and be `length`.
    pub(crate) fn open(fd: &OwnedFd, length: usize, writers: Writers) -> Result<Self, MapError> {
        let seals = rustix::fs::fcntl_get_seals(fd)?;
        if !seals.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return Err(MapError::Unsealed);
        }
        let found = u64::try_from(rustix::fs::fstat(fd)?.st_size).unwrap_or(0);
        if found != length as u64 {
            return Err(MapError::Size { found, expected: length });
        }
        Self::of(fd, length, writers == Writers::Both)
    }

    #[cfg(not(miri))]
    fn unmap(&mut self) {
        // SAFETY: it was mapped so, and nothing refers to it any more. There is nothing to do about an error.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast::<c_void>(), self.length) };
    }

    fn of(fd: &OwnedFd, length: usize, writable: bool) -> Result<Self, MapError> {
        let access = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at a place of the system's choice touches no other memory of this process.
        let base = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, fd.as_fd(), 0)
        }?;
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, length, writable })
    }

    /// The first of `length` bytes at `at`.
    ///
    /// # Panics
    ///
    /// When they are not all within the mapping. Callers compute places from their own numbers, or check first.
    #[inline]
    fn place(&self, at: usize, length: usize) -> NonNull<u8> {
        assert!(at <= self.length && length <= self.length - at, "outside of the mapped memory");
        // SAFETY: within the mapping, as has just been checked.
        unsafe { self.base.add(at) }
    }

    /// The word at `at`, which is a multiple of its size.
    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(size_of::<u64>()), "a word across others");
        let place = self.place(at, size_of::<u64>()).cast::<u64>();
        // SAFETY: aligned (mappings begin at a page), within the mapping, which lives as long as the reference, and
        // used by this process only through copies of bytes and atomics.
        unsafe { AtomicU64::from_ptr(place.as_ptr()) }
    }

    /// The word at `at`; what was written before it was stored has happened before.
    #[inline]
    pub(crate) fn load(&self, at: usize) -> u64 {
        self.word(at).load(Ordering::Acquire)
    }

    /// Stores a word, after everything that was written before.
    #[inline]
    pub(crate) fn store(&self, at: usize, value: u64) {
        assert!(self.writable, "this memory is for reading");
        self.word(at).store(value, Ordering::Release);
    }

    /// Asks for the line at `at`, which will be written soon.
    #[inline]
    pub(crate) fn will_write(&self, at: usize) {
        ahead::will_write(self.place(at, LINE).as_ptr());
    }

    /// Copies bytes out.
    #[inline]
    pub(crate) fn read(&self, at: usize, into: &mut [u8]) {
        let from = self.place(at, into.len());
        // SAFETY: valid for so many reads, and no memory of the caller's. Whoever writes there at the same time has
        // broken its promise and decides what arrives, but not where.
        unsafe { copy::copy(from.as_ptr(), into.as_mut_ptr(), into.len()) };
    }

    /// Copies bytes out, past the caches on the way to where they go.
    pub(crate) fn read_past_caches(&self, at: usize, into: &mut [u8]) {
        let from = self.place(at, into.len());
        // SAFETY: as above.
        unsafe { stream::copy_past_caches(from.as_ptr(), into.as_mut_ptr(), into.len()) };
    }

    /// Copies bytes out word by word.
    pub(crate) fn read_by_words(&self, at: usize, into: &mut [u8]) {
        let from = self.place(at, into.len());
        // SAFETY: as above.
        unsafe { stream::copy_by_words(from.as_ptr(), into.as_mut_ptr(), into.len()) };
    }

    /// Copies bytes in.
    #[inline]
    pub(crate) fn write(&self, at: usize, from: &[u8]) {
        assert!(self.writable, "this memory is for reading");
        let into = self.place(at, from.len());
        // SAFETY: valid for so many writes, and no memory of the caller's.
        unsafe { copy::copy(from.as_ptr(), into.as_ptr(), from.len()) };
    }

    /// Copies bytes in past the caches, for others to read.
    pub(crate) fn write_past_caches(&self, at: usize, from: &[u8]) {
        assert!(self.writable, "this memory is for reading");
        let into = self.place(at, from.len());
        // SAFETY: valid for so many writes, and no memory of the caller's.
        unsafe { stream::copy_past_caches(from.as_ptr(), into.as_ptr(), from.len()) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.unmap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads of one process, as two ranks are: bytes by every way there is to copy them, and a word behind them.
    #[test]
    fn what_is_written_before_a_word_is_read_behind_it() {
        let (memory, _fd) = Mapping::create(4096, Writers::Both).unwrap();
        let source: Vec<u8> = (0..512u32).map(|index| (index * 7 + 1) as u8).collect();
        let writes = [Mapping::write, Mapping::write_past_caches];
        let reads = [Mapping::read, Mapping::read_past_caches, Mapping::read_by_words];
        // Wherever they begin, and up to the last one.
        let rounds: Vec<_> = (0..24).map(|round| (round, 4096 - 500 + round * 3, 1 + round * 17)).collect();
        let turn = |side: usize, round: usize| 8 * side + 16 * round;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (round, at, length) in rounds.iter().copied() {
                    writes[round % 2](&memory, at, &source[round..][..length]);
                    memory.store(turn(0, round), 1);
                    while memory.load(turn(1, round)) == 0 {
                        std::thread::yield_now();
                    }
                }
            });
            for (round, at, length) in rounds.iter().copied() {
                while memory.load(turn(0, round)) == 0 {
                    std::thread::yield_now();
                }
                let mut room = vec![0; length];
                reads[round % 3](&memory, at, &mut room);
                assert_eq!(room, source[round..][..length], "{round}");
                memory.store(turn(1, round), 1);
            }
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes a mapping")]
    fn what_one_writes_the_other_reads() {
        let (mine, fd) = Mapping::create(8192, Writers::Both).unwrap();
        let theirs = Mapping::open(&fd, 8192, Writers::Both).unwrap();
        mine.write(8187, b"hello");
        theirs.store(8, 7);
        let mut bytes = [0; 5];
        theirs.read(8187, &mut bytes);
        assert_eq!((&bytes, mine.load(8)), (b"hello", 7));
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes a mapping")]
    fn memory_for_reading_cannot_be_mapped_for_writing() {
        let (mine, fd) = Mapping::create(4096, Writers::Maker).unwrap();
        mine.store(0, 1);
        assert!(matches!(Mapping::open(&fd, 4096, Writers::Both), Err(MapError::System(Errno::PERM))));
        let theirs = Mapping::open(&fd, 4096, Writers::Maker).unwrap();
        mine.store(0, 2);
        assert_eq!(theirs.load(0), 2);
        let refused = std::panic::catch_unwind(|| theirs.store(0, 3));
        assert!(refused.is_err() && mine.load(0) == 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes a mapping")]
    fn memory_of_another_size_or_that_can_shrink_is_refused() {
        let (_mine, fd) = Mapping::create(4096, Writers::Both).unwrap();
        assert!(matches!(Mapping::open(&fd, 8192, Writers::Both), Err(MapError::Size { found: 4096, .. })));
        assert!(rustix::fs::ftruncate(&fd, 0).is_err());
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let bare = rustix::fs::memfd_create("bare", flags).unwrap();
        rustix::fs::ftruncate(&bare, 4096).unwrap();
        assert!(matches!(Mapping::open(&bare, 4096, Writers::Both), Err(MapError::Unsealed)));
        let (end, _) = rustix::pipe::pipe().unwrap();
        assert!(Mapping::open(&end, 4096, Writers::Both).is_err(), "that is no memory at all");
    }

    #[test]
    fn places_outside_are_refused() {
        let (mine, _fd) = Mapping::create(4096, Writers::Both).unwrap();
        for (at, length) in [(4096, 1), (4095, 2), (usize::MAX, 1), (1, usize::MAX)] {
            assert!(std::panic::catch_unwind(|| mine.place(at, length)).is_err(), "{at} {length}");
        }
        assert!(std::panic::catch_unwind(|| mine.load(4)).is_err());
        mine.place(4096, 0);
    }
}
