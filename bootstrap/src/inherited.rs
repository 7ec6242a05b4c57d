//! Descriptors that a launcher has opened for this process, under numbers that the environment names.

#![allow(unsafe_code)]

use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

/// Where the system shows what this process has open there.
pub(crate) fn place(number: RawFd) -> PathBuf {
    format!("/proc/self/fd/{number}").into()
}

/// Takes the descriptor over, if it is `recognised` as the launcher's: whatever else has that number now belongs to
/// somebody else. Callers see to it that each is taken once.
pub(crate) fn take(number: RawFd, recognised: impl FnOnce(&Path) -> bool) -> Option<OwnedFd> {
    if number < 0 || !recognised(&place(number)) {
        return None;
    }
    // SAFETY: it is open, and what the launcher has left for this process: nothing else in it has made the descriptor,
    // or knows of it. Callers ask once, under a lock.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}
