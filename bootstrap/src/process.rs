//! The end of another process of this host. It is noticed although its connections live on, as they do in a child that
//! it has forked and that has not begun another program: no connection ends before its last copy is closed.

use std::future::{Future, pending};
use std::hash::Hasher as _;
use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;

use fnv::FnvHasher;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

/// How long what a process has said before its end may take to be read. It lies in this host's memory.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A process, as others may know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Where that number means it: the same for two processes exactly when one's numbers are the other's.
    pub(crate) space: u64,
}

impl Process {
    /// This process.
    pub(crate) fn own() -> Self {
        /// A process cannot leave it, and a master says it to every rank.
        static SPACE: OnceLock<u64> = OnceLock::new();
        Self { pid: std::process::id(), space: *SPACE.get_or_init(space) }
    }

    /// Waits for its end; for ever if it is this process, or one that cannot be seen from here. It must have spoken
    /// just now, so that its number is not yet another's.
    async fn ended(self) {
        let own = Self::own();
        let seen = self.space == own.space && own.space != 0 && self.pid != own.pid;
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).filter(|_| seen);
        let watched = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        #[expect(
            deprecated,
            reason = "for descriptors that are not their own; the new one is not safe to call"
        )]
        let watch = AsyncFd::with_interest;
        let watched = watched.and_then(|process| watch(process, Interest::READABLE).ok());
        // Without it there are heartbeats.
        let Some(process) = watched else { return pending().await };
        if process.readable().await.is_err() {
            pending().await
        }
    }

    /// What `reading` comes to, which reads what the process says; `None` if it has ended and has said no more.
    pub(crate) async fn heard_out<T>(self, reading: impl Future<Output = T>) -> Option<T> {
        let mut reading = pin!(reading);
        tokio::select! {
            biased;
            heard = &mut reading => return Some(heard),
            () = self.ended() => {}
        }
        timeout(LAST_WORDS, reading).await.ok()
    }
}

/// 0 where the system does not tell, which is like no other.
fn space() -> u64 {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let namespace = std::fs::read_link("/proc/self/ns/pid");
    let (Ok(boot), Ok(namespace)) = (boot, namespace) else { return 0 };
    // FNV-1a, as for the identity of the host: processes built by different compilers must agree.
    let mut hash = FnvHasher::default();
    for part in [boot.trim().as_bytes(), namespace.as_os_str().as_encoded_bytes()] {
        hash.write(part);
        hash.write(&[0]);
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    fn heard<T>(process: Process, reading: impl Future<Output = T>) -> Option<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(process.heard_out(reading))
    }

    #[test]
    fn the_end_of_a_process_is_noticed() {
        let mut child = Command::new("sleep").arg("0.3").spawn().unwrap();
        let begin = Instant::now();
        assert_eq!(heard(Process { pid: child.id(), ..Process::own() }, pending::<()>()), None);
        assert!((300..10_000).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
        child.wait().unwrap();
    }

    #[test]
    fn what_it_has_said_before_is_heard() {
        let mut child = Command::new("true").spawn().unwrap();
        let process = Process { pid: child.id(), ..Process::own() };
        std::thread::sleep(Duration::from_millis(100));
        let reading = async {
            // Several frames.
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            "goodbye"
        };
        assert_eq!(heard(process, reading), Some("goodbye"));
        child.wait().unwrap();
    }

    #[test]
    fn a_number_that_means_another_process_is_not_believed() {
        let mut child = Command::new("true").spawn().unwrap();
        let own = Process::own();
        let late = || tokio::time::sleep(Duration::from_millis(400));
        let elsewhere = Process { pid: child.id(), space: own.space ^ 1 };
        for process in [elsewhere, Process { pid: child.id(), space: 0 }, own, Process { pid: 0, ..own }] {
            assert_eq!(heard(process, async { late().await }), Some(()), "{process:?}");
        }
        child.wait().unwrap();
    }
}
