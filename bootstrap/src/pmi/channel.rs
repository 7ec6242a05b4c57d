//! The descriptor by which a process manager is spoken to: a line out, a line back, within a time.
//!
//! It is a socket that others may hold as well, such as the shell that started this program: so it is never made
//! non-blocking, and its options stay as they are.

use std::os::fd::{AsFd as _, IntoRawFd as _, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send, sockopt};

use super::answer::{Answer, clip};
use crate::inherited;

/// Lines are short: what the longest value may have (4 KiB with Intel MPI), and more.
const LONGEST: usize = 16 * 1024;

/// A conversation with the process manager.
#[derive(Debug)]
pub(super) struct Channel {
    socket: OwnedFd,
}

impl Channel {
    /// Takes over what `PMI_FD` names; what this process starts does not inherit it.
    pub(super) fn take(number: RawFd) -> Result<Self, String> {
        let is_socket = |place: &std::path::Path| {
            std::fs::metadata(place).is_ok_and(|found| found.file_type().is_socket())
        };
        let closed = || {
            format!(
                "descriptor {number}, which PMI_FD names, is not the launcher's: a program between it and this one \
                 has closed it; leave descriptors open there (in Python's subprocess: close_fds=False)"
            )
        };
        let socket = inherited::take(number, is_socket).ok_or_else(closed)?;
        if sockopt::socket_type(&socket) != Ok(SocketType::STREAM) {
            // Somebody else's.
            let _ = socket.into_raw_fd();
            return Err(closed());
        }
        fcntl_setfd(&socket, FdFlags::CLOEXEC).map_err(|error| format!("descriptor {number}: {error}"))?;
        Ok(Self { socket })
    }

    /// Says one line, waits for the answer until `deadline`, and hands what was read of it to `read`. Now and then it
    /// tells `waiting` that it still waits.
    pub(super) fn ask<T>(
        &self,
        line: &str,
        expected: &str,
        deadline: Instant,
        waiting: &mut dyn FnMut(),
        read: impl FnOnce(&Answer<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        self.say(line, deadline)?;
        let heard = self.hear(line, deadline, waiting)?;
        read(&Answer::read(&heard, expected)?)
    }

    fn say(&self, line: &str, deadline: Instant) -> Result<(), String> {
        let line = format!("{line}\n");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match send(&self.socket, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.wait(PollFlags::OUT, deadline, &mut || {})? => {}
                Err(Errno::AGAIN) => return Err("it does not read".into()),
                Err(error) => return Err(gone(error)),
            }
        }
        Ok(())
    }

    fn hear(&self, asked: &str, deadline: Instant, waiting: &mut dyn FnMut()) -> Result<Vec<u8>, String> {
        let mut heard = Vec::new();
        let mut buffer = [0; 1024];
        loop {
            match recv(&self.socket, &mut buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) if heard.is_empty() => return Err(gone("it was closed")),
                Ok((0, _)) => {
                    let part = String::from_utf8_lossy(clip(&heard)).into_owned();
                    return Err(format!("it closed the connection within its answer, after {part:?}"));
                }
                Ok((read, _)) => heard.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.wait(PollFlags::IN, deadline, waiting)? => {}
                Err(Errno::AGAIN) if heard.is_empty() => return Err(format!("no answer to {asked:?}")),
                Err(Errno::AGAIN) => {
                    let part = String::from_utf8_lossy(clip(&heard)).into_owned();
                    return Err(format!("half an answer to {asked:?}: {part:?}"));
                }
                Err(error) => return Err(gone(error)),
            }
            if let Some(end) = heard.iter().position(|byte| *byte == b'\n') {
                if end + 1 != heard.len() {
                    let more =
                        String::from_utf8_lossy(clip(heard.get(end + 1..).unwrap_or_default())).into_owned();
                    return Err(format!("it said more than it was asked for: {more:?}"));
                }
                heard.truncate(end);
                return Ok(heard);
            }
            if heard.len() > LONGEST {
                return Err(format!("its answer to {asked:?} has more than {LONGEST} bytes and no end"));
            }
        }
    }

    /// Waits until the socket is ready; `false` when the time is over.
    fn wait(&self, what: PollFlags, deadline: Instant, waiting: &mut dyn FnMut()) -> Result<bool, String> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let moment = left.min(Duration::from_millis(500));
            let moment = Timespec {
                tv_sec: i64::try_from(moment.as_secs()).unwrap_or(1),
                tv_nsec: i64::from(moment.subsec_nanos()),
            };
            let mut ready = [PollFd::from_borrowed_fd(self.socket.as_fd(), what)];
            match poll(&mut ready, Some(&moment)) {
                Ok(0) | Err(Errno::INTR) => waiting(),
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// Nobody is there any more, or not for this process.
fn gone(why: impl std::fmt::Display) -> String {
    format!(
        "it no longer listens to this process ({why}): its launcher is gone, or another program has been this rank \
         before, as by `mpiexec sh -c 'first; second'`: mpiexec takes one"
    )
}
