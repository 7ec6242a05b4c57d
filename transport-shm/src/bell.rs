//! Bells: by what ranks are woken that sleep. Each has one, an event of the system, which all its peers are handed.
//!
//! Whoever rings must never have to wait, nor be ended by a signal, whatever a peer has handed over: so that is looked
//! at ([`TheirBell::new`]). A peer that lies is not kept from making its event one that waits, later; ringing it when
//! it is full would wait for that peer, which could as well have kept this rank waiting by saying nothing. Neighbours:
//! `link.rs` rings, `transport.rs` listens.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;

use ringworld_transport::descriptor::Descriptor;
use rustix::event::EventfdFlags;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

/// What the system calls an event.
const EVENT: &str = "anon_inode:[eventfd]";

/// This rank's own.
pub(crate) fn own() -> Result<Descriptor<OwnedFd>, Errno> {
    rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Descriptor::new)
}

/// That of a peer.
#[derive(Debug)]
pub(crate) struct TheirBell(Descriptor<OwnedFd>);

impl TheirBell {
    /// What a peer has handed over, if it can be rung.
    ///
    /// # Errors
    ///
    /// What it is instead.
    pub(crate) fn new(handed: OwnedFd) -> Result<Self, String> {
        // The calling thread's own folder: that of the process is empty once its first thread has ended.
        let path = format!("/proc/thread-self/fd/{}", handed.as_fd().as_raw_fd());
        let is_event = match std::fs::read_link(path) {
            Ok(name) if name == Path::new(EVENT) => true,
            Ok(name) => return Err(format!("{}, which is no event", name.display())),
            // Of what is no file either, events and their like have no kind.
            Err(_) => rustix::fs::fstat(&handed)
                .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Unknown),
        };
        let waits = rustix::fs::fcntl_getfl(&handed).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
        match (is_event, waits) {
            (true, false) => Ok(Self(Descriptor::new(handed))),
            (true, true) => Err("an event that waits when it is full".into()),
            (false, _) => Err("a file, which is no event".into()),
        }
    }

    /// Wakes the peer.
    ///
    /// # Errors
    ///
    /// Why it cannot be woken any more.
    #[inline]
    pub(crate) fn ring(&self) -> Result<(), Errno> {
        match rustix::io::write(&*self.0, &1u64.to_ne_bytes()) {
            // A counter that is full: it is being woken already.
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
impl std::os::fd::AsFd for TheirBell {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::eventfd;

    use super::*;

    #[test]
    fn nothing_is_rung_that_could_wait_or_end_this_process() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap().into();
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        for wrong in [write, read, file, one.into()] {
            let text = TheirBell::new(wrong).unwrap_err();
            assert!(text.contains("no event"), "{text}");
        }
        let text = TheirBell::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap()).unwrap_err();
        assert!(text.contains("waits"), "{text}");
    }

    #[test]
    fn a_full_bell_is_as_good_as_rung() {
        let bell = own().unwrap();
        rustix::io::write(&*bell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let theirs = TheirBell::new(rustix::io::dup(&*bell).unwrap()).unwrap();
        assert_eq!(theirs.ring(), Ok(()));
    }
}
