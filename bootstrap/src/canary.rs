//! What shows that a program has closed the descriptors of its control plane, and who hears of it.
//!
//! Programs that become daemons close whatever is open from 3 on, and would close what an event loop needs: tokio then
//! panics, in its own thread at its next turn, and in any other that has something to say to it. So each event loop has
//! a descriptor that nobody uses, opened before all others of it, as such loops go upwards. Whoever is about to sleep
//! there, or to wake who does, looks whether that is still what it was. Neighbours: `thread` makes one for each event
//! loop, and puts the thread to sleep for good where it is gone; whoever speaks to a thread asks before.

use std::io;
use std::os::fd::IntoRawFd as _;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::fcntl_dupfd_cloexec;

/// What is told to people.
pub(crate) const CLOSED: &str = "descriptors that it needs were closed under it: the program has closed or replaced \
     files that it has not opened, as those do that become daemons; let it do so before its world is formed";
/// The first descriptor that is not standard input, output or errors.
const FIRST: i32 = 3;
/// How often it is looked for while an answer is waited for.
const LOOK: Duration = Duration::from_millis(250);

type Told = Box<dyn FnOnce() + Send>;

/// See the file's head.
pub(crate) struct Canary {
    /// A socket, for each has an inode of its own. `None` only while it is dropped.
    socket: Option<UnixDatagram>,
    inode: (u64, u64),
    gone: AtomicBool,
    told: Mutex<Option<Told>>,
}

impl Canary {
    pub(crate) fn new() -> io::Result<Self> {
        // Not among the first three, where one was closed when the process was started: those are what programs put
        // something else in the place of.
        let socket = fcntl_dupfd_cloexec(UnixDatagram::unbound()?, FIRST)?.into();
        let inode = inode(&socket)?;
        Ok(Self { socket: Some(socket), inode, gone: AtomicBool::new(false), told: Mutex::new(None) })
    }

    /// Has `told` called by whoever finds it gone, once.
    pub(crate) fn tell(&self, told: impl FnOnce() + Send + 'static) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(told));
    }

    /// Whether it is gone, and with it, most likely, whatever else the event loop had open.
    pub(crate) fn is_gone(&self) -> bool {
        if !self.gone.load(Ordering::Relaxed) {
            let found = self.socket.as_ref().map(inode);
            if found.is_some_and(|found| found.is_ok_and(|found| found == self.inode)) {
                return false;
            }
            self.gone.store(true, Ordering::Relaxed);
        }
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(told) = told {
            told();
        }
        true
    }

    /// Waits for an answer of the event loop's thread, for so long at most; `None` where that has ended, or never will
    /// answer.
    pub(crate) fn answer<T>(&self, from: &Receiver<T>, limit: Option<Duration>) -> Option<T> {
        let begin = Instant::now();
        loop {
            let left = limit.map_or(LOOK, |limit| LOOK.min(limit.saturating_sub(begin.elapsed())));
            match from.recv_timeout(left) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.is_gone() || limit.is_some_and(|limit| begin.elapsed() >= limit) {
                return None;
            }
        }
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        // What has its number now is nothing of ours.
        if self.is_gone()
            && let Some(socket) = self.socket.take()
        {
            let _not_ours = socket.into_raw_fd();
        }
    }
}

/// What is open there.
fn inode(socket: &UnixDatagram) -> io::Result<(u64, u64)> {
    let found = rustix::fs::fstat(socket)?;
    Ok((found.st_dev, found.st_ino))
}

#[cfg(test)]
impl Canary {
    /// As if it had been closed, and something else opened in its place.
    pub(crate) fn replaced() -> Self {
        let mut canary = Self::new().unwrap();
        assert!(!canary.is_gone());
        canary.socket = Some(UnixDatagram::unbound().unwrap());
        canary
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn what_has_been_replaced_is_gone_and_told_once() {
        let (canary, times) = (Canary::replaced(), Arc::new(Mutex::new(0)));
        let count = Arc::clone(&times);
        canary.tell(move || *count.lock().unwrap() += 1);
        assert!(canary.is_gone() && canary.is_gone());
        assert_eq!(*times.lock().unwrap(), 1);
    }

    #[test]
    fn nobody_waits_for_an_answer_of_a_thread_that_will_not_answer() {
        let (answer, from) = sync_channel(1);
        assert_eq!(Canary::replaced().answer(&from, None), None);
        let canary = Canary::new().unwrap();
        assert_eq!(canary.answer(&from, Some(Duration::from_millis(5))), None);
        answer.send(7).unwrap();
        assert_eq!(canary.answer(&from, None), Some(7));
        drop(answer);
        assert_eq!(canary.answer(&from, None), None);
    }
}
