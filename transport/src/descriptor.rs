//! Descriptors that are closed by nobody but their owner, or left alone.
//!
//! A program may close what it has not opened: those that become daemons close all from 3 on. What is dropped later
//! would be closed a second time, and by then the number may be that of another file; the standard library ends the
//! process for that where it has its checks. Neighbours: `watched` has such, and whoever owns one for long.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};

/// A descriptor that is closed when this is dropped, unless it was closed before by somebody else.
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
pub struct Descriptor<T: AsFd>(Option<T>);

impl<T: AsFd> Descriptor<T> {
    /// Of what owns it.
    #[must_use]
    pub fn new(what: T) -> Self {
        Self(Some(what))
    }
}

impl<T: AsFd> Deref for Descriptor<T> {
    type Target = T;

    #[inline]
    #[expect(clippy::expect_used, reason = "it is there until the drop")]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("a descriptor that is not dropped")
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
        let Some(what) = self.0.take() else { return };
        if rustix::io::fcntl_getfd(&what).is_err() {
            // The number is nobody's, and may soon be somebody else's.
            std::mem::forget(what);
        }
    }
}
