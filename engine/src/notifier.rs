//! The notifier: wakes one sleeping thread, and stays so until that has noticed.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use ringworld_transport::descriptor::Descriptor;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

/// What transports wake sleepers by.
pub(super) type Wires = Vec<Descriptor<OwnedFd>>;

/// Those of these descriptors.
pub(super) fn wires(descriptors: Vec<OwnedFd>) -> Wires {
    descriptors.into_iter().map(Descriptor::new).collect()
}

/// Wakes one sleeping thread.
pub(crate) struct Notifier(Descriptor<OwnedFd>);

impl Notifier {
    pub(super) fn new() -> std::io::Result<Arc<Self>> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Arc::new(Self(Descriptor::new(rustix::event::eventfd(0, flags)?))))
    }

    pub(super) fn notify(&self) {
        // The only possible failure is a counter that is full, and then the sleeper is woken already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn drain(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }

    /// Sleeps until it is notified, or until a descriptor is readable, or for so long; whether it was notified.
    pub(super) fn sleep(&self, wires: &Wires, limit: Option<Duration>) -> bool {
        let mut room: [_; ROOM] =
            std::array::from_fn(|_| PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN));
        let used = (1 + wires.len()).min(ROOM);
        for (place, wire) in room[1..].iter_mut().zip(wires) {
            *place = PollFd::from_borrowed_fd(wire.as_fd(), PollFlags::IN);
        }
        let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
        // An interrupted or refused poll only means to look again.
        let _ = rustix::event::poll(&mut room[..used], timeout.as_ref());
        let notified = !room[0].revents().is_empty();
        if notified {
            self.drain();
        }
        notified
    }
}

impl Notifier {
    /// Sleeps until it is notified, or for so long; whether it was notified.
    pub(super) fn nap(&self, limit: Duration) -> bool {
        self.sleep(&Wires::new(), Some(limit))
    }
}

/// A notifier and at most seven transports, without an allocation per sleep; there are three kinds of wire.
const ROOM: usize = 8;

thread_local! {
    static NOTIFIER: std::cell::RefCell<Option<Arc<Notifier>>> = const { std::cell::RefCell::new(None) };
}

/// This thread's notifier, made at its first sleep. `None` when the system is out of descriptors.
///
/// It outlives worlds, and between two of them a program may close all that it has not opened: then it is made anew.
/// Where a world is left at the end of the process, by what `atexit` or a destructor of C++ calls, a thread has nothing
/// of its own any more: there is a new one for each sleep.
pub(super) fn own_notifier() -> Option<Arc<Notifier>> {
    let kept = NOTIFIER.try_with(|own| {
        let mut own = own.borrow_mut();
        if !own.as_ref().is_some_and(|own| own.0.is_there()) {
            *own = Some(Notifier::new().ok()?);
        }
        own.clone()
    });
    kept.unwrap_or_else(|_| Notifier::new().ok())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::mpsc::Sender;

    use super::*;

    /// Begun before, and so dropped after, what this file keeps of a thread.
    struct Late(Sender<bool>);

    impl Drop for Late {
        fn drop(&mut self) {
            let _ = self.0.send(own_notifier().is_some_and(|own| {
                own.notify();
                own.nap(Duration::from_secs(10))
            }));
        }
    }

    #[test]
    fn a_thread_that_ends_may_still_sleep_and_be_woken() {
        thread_local! {
            static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
        }
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            LATE.set(Some(Late(tell)));
            assert!(own_notifier().is_some());
        });
        assert_eq!(told.recv(), Ok(true));
    }
}
