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
pub(super) fn own_notifier() -> Option<Arc<Notifier>> {
    NOTIFIER.with_borrow_mut(|own| {
        if !own.as_ref().is_some_and(|own| own.0.is_there()) {
            *own = Some(Notifier::new().ok()?);
        }
        own.clone()
    })
}
