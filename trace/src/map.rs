//! The memory of a trace: a file that is mapped. The one place in this crate with `unsafe` code.
//!
//! The file is made here, under a name that nobody has, and is written by nobody else: what lies in it is plain data.
//! Every byte of it has been written to the disk's pages before the first slot: a disk that is full says so then, and
//! not by a signal in the middle of a call. Nor is the limit on the size of files left to the system, which does not
//! refuse what is beyond it, but ends the process by a signal (SIGXFSZ). Whoever cuts the file off while the rank runs
//! ends that rank by SIGBUS, as with every file that is mapped.

#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use memmap2::MmapMut;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// How many bytes a file of this process may have, if it may not have so many.
pub(crate) fn limit_below(length: usize) -> Option<u64> {
    getrlimit(Resource::Fsize).current.filter(|limit| *limit < length as u64)
}

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: MmapMut,
}

impl Mapped {
    /// A new file of `length` zeros, which are no more than this process [may have](limit_below). If it cannot be had,
    /// nothing is left of it.
    pub(crate) fn create(path: &Path, length: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Self::fill(&file, length).inspect_err(|_| {
            // It is ours, and worth nothing; that it stays is no further trouble.
            let _ = std::fs::remove_file(path);
        })
    }

    fn fill(file: &File, length: usize) -> io::Result<Self> {
        match fallocate(file, FallocateFlags::empty(), 0, length as u64) {
            // Some file systems know no such call.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        // What is only promised may be missing in the end.
        let zeros = [0; 64 << 10];
        let mut left = length;
        let mut writer = file;
        while left > 0 {
            let piece = left.min(zeros.len());
            writer.write_all(&zeros[..piece])?;
            left -= piece;
        }
        // SAFETY: the file has just been made under a name of its own and is handed on to nobody: no other code of this
        // process, and no other process but by mischief, writes to it or shortens it.
        let mut map = unsafe { MmapMut::map_mut(file) }?;
        // Pages are faulted in here, and not in the middle of a call.
        map.fill(0);
        Ok(Self { map })
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_the_memory_is_in_the_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut mapped = Mapped::create(&path, 8192).unwrap();
        mapped.bytes()[4097] = 7;
        let read = std::fs::read(&path).unwrap();
        assert_eq!((read.len(), read[4097], read[0]), (8192, 7, 0));
        assert_eq!(Mapped::create(&path, 10).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), read, "what was there stays");
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        // No file system here has that much.
        let error = Mapped::create(&path, 1 << 58).unwrap_err();
        assert!(!path.exists(), "{error}");
    }
}
