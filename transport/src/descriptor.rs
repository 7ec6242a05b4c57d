//! Descriptors that are closed by nobody but their owner, or left alone.
//!
//! A program may close what it has not opened: those that become daemons close all from 3 on. What is dropped later
//! would be closed a second time, and by then the number may be that of another file, such as the log that the daemon
//! has opened since; the standard library ends the process for that where it has its checks. So each is compared with
//! what it was. Events, and all else that the system keeps in one inode, look alike. Neighbours: `watched` has such,
//! and whoever owns one for long.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};

/// A descriptor that is closed when this is dropped, unless it was closed or replaced before by somebody else.
///
/// ```
/// use ringworld_transport::descriptor::Descriptor;
/// use std::os::unix::net::UnixDatagram;
/// let (one, other) = UnixDatagram::pair()?;
/// let one = Descriptor::new(one);
/// one.send(b"x")?;
/// drop(one);
/// assert!(other.send(b"x").is_err(), "it is closed");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Descriptor<T: AsFd> {
    /// `None` only while it is dropped.
    what: Option<T>,
    file: Option<File>,
}

/// Device and inode.
type File = (u64, u64);

/// What is open there, if anything is.
fn file(what: impl AsFd) -> Option<File> {
    let found = rustix::fs::fstat(what).ok()?;
    Some((found.st_dev, found.st_ino))
}

impl<T: AsFd> Descriptor<T> {
    /// Of what owns it.
    #[must_use]
    pub fn new(what: T) -> Self {
        let file = file(&what);
        Self { what: Some(what), file }
    }

    /// Whether it is still what it was: nobody has closed or replaced it.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.what.as_ref().and_then(file).is_some_and(|found| Some(found) == self.file)
    }
}

impl<T: AsFd> Deref for Descriptor<T> {
    type Target = T;

    #[inline]
    #[expect(clippy::expect_used, reason = "it is there until the drop")]
    fn deref(&self) -> &T {
        self.what.as_ref().expect("a descriptor that is not dropped")
    }
}

impl<T: AsFd> AsFd for Descriptor<T> {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<T: AsFd> Drop for Descriptor<T> {
    fn drop(&mut self) {
        if !self.is_there() {
            // The number is nobody's and may soon be somebody else's, or is that already.
            std::mem::forget(self.what.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn what_has_been_opened_in_its_place_stays_open() {
        let (mine, _other) = UnixDatagram::pair().unwrap();
        let (theirs, end) = UnixDatagram::pair().unwrap();
        let mut descriptor = Descriptor::new(mine);
        assert!(descriptor.is_there());
        // As if the program had closed it, and been given its number for a file of its own.
        descriptor.what = Some(theirs);
        assert!(!descriptor.is_there());
        drop(descriptor);
        end.send(b"x").unwrap();
    }
}
