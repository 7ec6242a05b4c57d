//! Ends this process when its parent is gone: no orphan, even if the launcher was killed with -9.
//!
//! A thread sleeps on a process descriptor of the parent, which becomes readable when it ends, whether
//! or not it is the direct parent and however busy this process is.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

use crate::error::Error;
use crate::event::{ControlEvent, Hook};

/// Watches process `parent` for the rest of this process's life.
pub(crate) fn watch(parent: u32, hook: Hook) -> Result<(), Error> {
    let pid = i32::try_from(parent).ok().and_then(Pid::from_raw).ok_or_else(|| {
        Error::system(
            "watching the parent process",
            format!("RINGWORLD_PARENT_PID={parent} is no process id"),
        )
    })?;
    crate::thread::spawn("ringworld-parent", move || {
        wait_for_end(pid);
        tracing::error!("the parent process {parent} is gone; this process ends too");
        hook.call(ControlEvent::Abort {
            rank: 0,
            code: 1,
            reason: format!("the launcher (process {parent}) is gone"),
        });
        // Time for pending calls to return their error and for the program to say so.
        std::thread::sleep(Duration::from_millis(500));
        std::process::exit(1);
    })
    .map(|_| ())
    .map_err(|error| Error::system("watching the parent process", error))
}

fn wait_for_end(pid: Pid) {
    let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(rustix::io::Errno::SRCH) => return,
        Err(_) => {
            // An old kernel or a sandbox: ask now and then.
            while test_kill_process(pid) != Err(rustix::io::Errno::SRCH) {
                std::thread::sleep(Duration::from_millis(250));
            }
            return;
        }
    };
    loop {
        let mut wait = [PollFd::new(&descriptor, PollFlags::IN)];
        match poll(&mut wait, None) {
            Ok(ready) if ready > 0 => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                tracing::warn!("the parent process can no longer be watched: {error}");
                std::thread::sleep(Duration::from_millis(250));
                if test_kill_process(pid) == Err(rustix::io::Errno::SRCH) {
                    return;
                }
            }
        }
    }
}
