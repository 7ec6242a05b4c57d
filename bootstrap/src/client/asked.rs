//! SIGUSR1: whoever signals a rank is told, on that rank's standard error, what it does.
//!
//! The signal's handler writes a byte into a pair of sockets, of which the control thread reads the other end; nothing
//! of it costs anything while nobody signals. Each world of a process has a pair of its own, and says its own part. A
//! program that has a handler of its own when its world forms, or has the signal ignored, keeps it, and one that
//! installs its own later takes the signal from us. Neighbour: `observe` has the words.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream as Std;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::SIGUSR1;
use signal_hook::low_level::{pipe, unregister};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

/// A world of this process has installed the handler, which stays for the life of the process.
static OURS: AtomicBool = AtomicBool::new(false);

/// Somebody is being told, who may not read.
static TELLING: AtomicBool = AtomicBool::new(false);

/// See the file's head.
pub(super) struct Asked {
    signalled: UnixStream,
    id: SigId,
}

impl Asked {
    /// Begins to listen; `None`: the program has the signal for itself, or the system gives no descriptors.
    pub(super) fn listen() -> Option<Self> {
        if !OURS.load(Ordering::SeqCst) && is_taken(&std::fs::read_to_string("/proc/self/status").ok()?) {
            return None;
        }
        match Self::install() {
            Ok(asked) => Some(asked),
            Err(error) => {
                tracing::info!("SIGUSR1 is not listened to: {error}");
                None
            }
        }
    }

    fn install() -> io::Result<Self> {
        let (ours, handlers) = Std::pair()?;
        ours.set_nonblocking(true)?;
        let signalled = UnixStream::from_std(ours)?;
        let id = pipe::register(SIGUSR1, handlers)?;
        OURS.store(true, Ordering::SeqCst);
        Ok(Self { signalled, id })
    }

    /// Comes when the signal has; several in a row may come as one.
    pub(super) async fn come(&mut self) {
        let mut bytes = [0; 64];
        if !matches!(self.signalled.read(&mut bytes).await, Ok(1..)) {
            std::future::pending().await
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        unregister(self.id);
    }
}

/// Whether a process of this status handles the signal or has it ignored.
fn is_taken(status: &str) -> bool {
    let bit = 1u64 << (SIGUSR1 - 1);
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(line.trim(), 16).ok()
    };
    // Where it cannot be known the signal is left alone.
    ["SigIgn:", "SigCgt:"].into_iter().any(|name| mask(name).is_none_or(|mask| mask & bit != 0))
}

/// Prints what was asked for. In a thread of its own: a standard error that nobody reads must not hold up heartbeats.
pub(super) fn tell(text: String) {
    if TELLING.swap(true, Ordering::SeqCst) {
        return;
    }
    let print = move || {
        // There is nobody else to tell if this fails. In one piece, so that ranks do not write into one another's
        // lines.
        let _ = io::stderr().write_all(text.as_bytes());
        TELLING.store(false, Ordering::SeqCst);
    };
    if crate::thread::spawn("ringworld-tells", print).is_err() {
        TELLING.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_handled_or_ignored_is_taken() {
        let status = |ignored: u64, caught: u64| {
            format!("Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t{ignored:016x}\nSigCgt:\t{caught:016x}\n")
        };
        assert!(!is_taken(&status(0, 0)));
        assert!(!is_taken(&status(!(1 << 9), !(1 << 9))), "all others");
        assert!(is_taken(&status(1 << 9, 0)) && is_taken(&status(0, 1 << 9)));
        assert!(is_taken("Name:\tx\n"), "where it is not said");
    }
}
