//! The launcher's standard output or error: a thread that writes, and a bounded queue before it.
//!
//! Invariant: the poll loop never blocks on a slow reader (a pager, a stopped terminal), so signals and
//! dead ranks are still seen; ranks that write faster than the reader reads are held back by their pipes.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Ranks are not read from while this much waits to be written.
const FULL: usize = 1 << 20;

#[derive(Debug, Default)]
struct State {
    queue: Vec<u8>,
    /// The thread has taken bytes and not finished writing them.
    writing: bool,
    /// Nothing can be written any more.
    broken: bool,
    /// It is not that the reader has left.
    failed: bool,
    /// Why, if it is not that the reader has left; until somebody has heard of it.
    lost: Option<io::Error>,
    /// The poll loop waits for room or for the end.
    waited_for: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that hold the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue's near end. The thread lives as long as the process.
#[derive(Debug)]
pub(crate) struct Sink {
    shared: Arc<Shared>,
}

impl Sink {
    /// Starts the thread that writes to a copy of `target` and pokes `waker` when somebody waits.
    ///
    /// # Errors
    ///
    /// When the system has no descriptor or thread to give.
    pub(crate) fn start(target: impl AsFd, waker: &UnixStream) -> io::Result<Self> {
        let target = target.as_fd().try_clone_to_owned()?;
        let waker = waker.try_clone()?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("output".to_owned())
            .stack_size(128 * 1024)
            .spawn(move || drain(&theirs, target, &waker))?;
        Ok(Self { shared })
    }

    /// Queues bytes; they are dropped when nothing can be written any more.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let mut state = self.shared.lock();
        if !bytes.is_empty() && !state.broken {
            state.queue.extend_from_slice(bytes);
            self.shared.arrived.notify_one();
        }
    }

    /// Whether more may be queued; if not, the waker is poked once it may.
    pub(crate) fn has_room(&self) -> bool {
        let mut state = self.shared.lock();
        let room = state.queue.len() < FULL;
        state.waited_for |= !room;
        room
    }

    /// Whether all is written; if not, the waker is poked once it is.
    pub(crate) fn is_empty(&self) -> bool {
        let mut state = self.shared.lock();
        let empty = state.queue.is_empty() && !state.writing;
        state.waited_for |= !empty;
        empty
    }

    /// Whether the reader has left, as `head` does when it has seen enough.
    pub(crate) fn is_abandoned(&self) -> bool {
        let state = self.shared.lock();
        state.broken && !state.failed
    }

    /// Why output was lost (a full disk, for example), unless the reader has left; told once.
    pub(crate) fn take_lost(&self) -> Option<io::Error> {
        self.shared.lock().lost.take()
    }
}

fn drain(shared: &Shared, target: OwnedFd, mut waker: &UnixStream) {
    let mut target = File::from(target);
    let mut batch = Vec::new();
    loop {
        let mut state = shared.lock();
        while state.queue.is_empty() {
            state = shared.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut batch, &mut state.queue);
        state.writing = true;
        drop(state);

        let written = write_all(&mut target, &batch);
        batch.clear();

        let mut state = shared.lock();
        state.writing = false;
        if let Err(error) = written {
            state.broken = true;
            state.failed = error.kind() != io::ErrorKind::BrokenPipe;
            state.lost = Some(error).filter(|_| state.failed);
            state.queue = Vec::new();
        }
        // A reader that leaves must be noticed even when nobody waits: the ranks are to be told.
        if std::mem::take(&mut state.waited_for) || state.broken {
            // A full waker is awake already.
            let _ = waker.write(&[1]);
        }
        if state.broken {
            return;
        }
    }
}

/// Like `Write::write_all`, and patient with a descriptor that another program made non-blocking.
fn write_all(target: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    while !bytes.is_empty() {
        match target.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(target, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::time::Duration;

    #[test]
    fn a_slow_reader_fills_the_queue_and_room_is_announced() {
        let (mut reader, target) = io::pipe().unwrap();
        let (mut woken, waker) = UnixStream::pair().unwrap();
        woken.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let sink = Sink::start(target, &waker).unwrap();
        let chunk = vec![7; FULL];
        let mut sent = 0;
        while sink.has_room() {
            sink.write(&chunk);
            sent += chunk.len();
        }
        // Two batches at most: one being written, one waiting.
        assert!(sent <= 2 * FULL, "{sent}");
        let reading = std::thread::spawn(move || {
            let mut all = vec![0; sent];
            reader.read_exact(&mut all).unwrap();
            all
        });
        woken.read_exact(&mut [0]).unwrap();
        assert!(reading.join().unwrap().iter().all(|&b| b == 7));
    }

    #[test]
    fn a_reader_that_leaves_is_noticed_and_never_waited_for() {
        let (reader, target) = io::pipe().unwrap();
        let (mut woken, waker) = UnixStream::pair().unwrap();
        woken.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let sink = Sink::start(target, &waker).unwrap();
        drop(reader);
        sink.write(b"x");
        woken.read_exact(&mut [0]).unwrap();
        sink.write(b"y");
        assert!(sink.is_abandoned() && sink.is_empty() && sink.has_room());
        assert!(sink.take_lost().is_none(), "a reader may leave");
    }

    #[test]
    fn a_full_disk_is_told_once_and_is_no_reader_that_left() {
        let (mut woken, waker) = UnixStream::pair().unwrap();
        woken.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let sink = Sink::start(full, &waker).unwrap();
        sink.write(b"x");
        woken.read_exact(&mut [0]).unwrap();
        assert!(!sink.is_abandoned() && sink.is_empty() && sink.has_room());
        assert_eq!(sink.take_lost().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
        assert!(sink.take_lost().is_none());
    }
}
