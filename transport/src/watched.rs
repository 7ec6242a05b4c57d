//! Descriptors that an epoll set forgets when they are dropped.
//!
//! The kernel by itself forgets one only when the last copy of it anywhere is closed: a child that this process has
//! forked has copies of all, and the descriptor of a process is handed to every peer. What is dropped here would be
//! reported for as long as one of them lives, and nobody could sleep. Neighbours: the transports that sleep by epoll.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::process::{Pid, getpid};

use crate::descriptor::Descriptor;

/// An epoll set. Copies are of the same set, which is closed with the last of them and of what it watches.
#[derive(Clone, Debug)]
pub struct EpollSet(Arc<Set>);

#[derive(Debug)]
struct Set {
    epoll: Descriptor<OwnedFd>,
    /// A child that this process forks has the same set, and must not take anything out of it.
    maker: Pid,
}

impl EpollSet {
    /// An empty one, which programs that this process begins do not get.
    ///
    /// # Errors
    ///
    /// When the process or the system has no descriptor left.
    pub fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self(Arc::new(Set { epoll: Descriptor::new(epoll), maker: getpid() })))
    }

    /// Takes a descriptor out, if it is in the set and this process has made that.
    pub fn forget(&self, what: impl AsFd) {
        if getpid() == self.0.maker {
            // The only error that there can be says that it is not in it.
            let _ = epoll::delete(&self.0.epoll, what);
        }
    }
}

impl AsFd for EpollSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.epoll.as_fd()
    }
}

/// A descriptor, and the set that forgets it when this is dropped. Whoever has it put into the set does so by
/// `epoll::add`.
///
/// ```
/// use ringworld_transport::watched::{EpollSet, Watched};
/// use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
/// let set = EpollSet::new()?;
/// let bell = Watched::new(eventfd(1, EventfdFlags::empty())?, &set);
/// epoll::add(&set, &bell, epoll::EventData::new_u64(7), epoll::EventFlags::IN)?;
/// let copy = rustix::io::dup(&bell)?;
/// let ready = || {
///     let (now, mut events) = (Timespec { tv_sec: 0, tv_nsec: 0 }, Vec::with_capacity(1));
///     epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), Some(&now))
/// };
/// assert_eq!(ready()?, 1);
/// drop(bell);
/// assert_eq!(ready()?, 0, "though there is still a copy");
/// # drop(copy);
/// # Ok::<(), rustix::io::Errno>(())
/// ```
#[derive(Debug)]
pub struct Watched<T: AsFd> {
    what: Descriptor<T>,
    set: EpollSet,
}

impl<T: AsFd> Watched<T> {
    /// Does not put it into the set yet.
    #[must_use]
    pub fn new(what: T, set: &EpollSet) -> Self {
        Self { what: Descriptor::new(what), set: set.clone() }
    }

    /// Has the set forget it already.
    pub fn forget(&self) {
        self.set.forget(&self.what);
    }
}

impl<T: AsFd> Deref for Watched<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.what
    }
}

impl<T: AsFd> AsFd for Watched<T> {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.what.as_fd()
    }
}

impl<T: AsFd> Drop for Watched<T> {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use rustix::event::{EventfdFlags, Timespec, eventfd};

    use super::*;

    /// A set with a descriptor that is always ready, and a copy of that.
    fn ready(maker: Pid) -> (EpollSet, Watched<OwnedFd>, OwnedFd) {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let set = EpollSet(Arc::new(Set { epoll: Descriptor::new(epoll), maker }));
        let bell = Watched::new(eventfd(1, EventfdFlags::CLOEXEC).unwrap(), &set);
        epoll::add(&set, &bell, epoll::EventData::new_u64(1), epoll::EventFlags::IN).unwrap();
        let copy = rustix::io::dup(&bell).unwrap();
        (set, bell, copy)
    }

    fn is_awake(set: &EpollSet) -> bool {
        let mut room = [const { MaybeUninit::uninit() }; 2];
        let (events, _) = epoll::wait(set, &mut room[..], Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap();
        !events.is_empty()
    }

    #[test]
    fn what_is_dropped_is_forgotten_though_somebody_has_a_copy() {
        let (set, bell, copy) = ready(getpid());
        assert!(is_awake(&set));
        drop(bell);
        assert!(!is_awake(&set));
        drop(copy);
    }

    #[test]
    fn a_child_takes_nothing_out_of_the_set_of_its_parent() {
        let (set, bell, copy) = ready(Pid::INIT);
        bell.forget();
        drop(bell);
        assert!(is_awake(&set), "it is still watched for whoever has made the set");
        drop(copy);
    }
}
