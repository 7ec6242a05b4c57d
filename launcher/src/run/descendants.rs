//! Processes that a job has started and that its ranks no longer hold: those that left their process group
//! (`setsid`, daemons, workers of Python) or outlived their parents.
//!
//! Two nets. The launcher is their *subreaper*: whoever loses its parent becomes a child of the launcher, so it finds
//! and ends them all. Where the launcher itself was killed, the guard finds them by what ranks hand down to whatever
//! they start: the environment variable that names their launcher.
//!
//! `/proc` has both; it is read whole, since the shorter list of a process's children is not in every kernel.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

/// How long killed processes may take to be gone; only one in the middle of a system call takes any time.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many looks in a row find nothing before [`end_marked`] believes that there is nothing: what is started by a
/// process that ends at once is on no list if the look came between the two.
const CALM: u32 = 3;

/// From the first look of [`end_marked`] to the second; each pause is twice the one before.
const PAUSE: Duration = Duration::from_millis(4);

/// Whoever of the descendants loses its parent becomes a child of this process. Returns the children that it has
/// already, as after `helper & exec ringworld run …`: they are not the job's.
pub(super) fn adopt() -> Vec<Pid> {
    let before = adopted(&[]);
    // Kernels since 3.4 can; on others only those that stayed in their process group are found.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    before
}

/// Reaps adopted children that have ended, but none of `kept`.
pub(super) fn reap(kept: &[Pid]) {
    for pid in adopted(kept) {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

/// Kills adopted children, and theirs, until there are none; not `kept`. Says which could not be ended.
pub(super) fn end(kept: &[Pid]) -> Vec<Pid> {
    let until = Instant::now() + PATIENCE;
    loop {
        let left = adopted(kept);
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        for &pid in &left {
            // Its children are this process's next: they are found in the next round.
            let _ = kill_process(pid, Signal::KILL);
        }
        reap(kept);
        if !adopted(kept).is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn adopted(kept: &[Pid]) -> Vec<Pid> {
    let me = rustix::process::getpid();
    processes()
        .filter(|process| process.parent == Some(me) && !kept.contains(&process.pid))
        .map(|p| p.pid)
        .collect()
}

/// Kills all processes in whose environment this variable has this value and that were not there before `since`, until
/// there are none.
///
/// Numbers of processes mean the same only within one namespace, so others are left alone.
pub(super) fn end_marked(name: &str, value: &OsStr, since: u64) {
    let mark = [name.as_bytes(), b"=", value.as_bytes()].concat();
    let until = Instant::now() + PATIENCE;
    let (mut calm, mut pause) = (0, PAUSE);
    loop {
        calm = if kill_marked(&mark, since) { 0 } else { calm + 1 };
        if calm == CALM || Instant::now() + pause > until {
            return;
        }
        std::thread::sleep(pause);
        pause *= 2;
    }
}

/// Looks once for [`end_marked`]. Says whether there was any, or one of which cannot be told yet.
fn kill_marked(mark: &[u8], since: u64) -> bool {
    let me = rustix::process::getpid();
    let namespace = |pid: Pid| std::fs::read_link(format!("/proc/{}/ns/pid", pid.as_raw_pid())).ok();
    let mut found = false;
    for Process { pid, started, ended, .. } in processes() {
        if pid == me || started < since || ended {
            continue;
        }
        // Another user's cannot be read, nor be killed.
        let Ok(environment) = std::fs::read(format!("/proc/{}/environ", pid.as_raw_pid())) else { continue };
        if environment.is_empty() {
            // It has none, or is becoming another program and has none yet.
            found = true;
        } else if environment.split(|&b| b == 0).any(|variable| variable == mark)
            && namespace(pid) == namespace(me)
        {
            let _ = kill_process(pid, Signal::KILL);
            found = true;
        }
    }
    found
}

/// When this process started, in the unit of the kernel, for [`end_marked`].
pub(super) fn started() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/stat").ok()?).map(|process| process.started)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: Option<Pid>,
    /// In ticks since the system started.
    started: u64,
    /// It only waits for its parent to ask how.
    ended: bool,
}

fn processes() -> impl Iterator<Item = Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered =
        entries.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()));
    // One that has ended meanwhile is none.
    numbered.filter_map(|entry| parse(&std::fs::read_to_string(entry.path().join("stat")).ok()?))
}

/// A line of `/proc/PID/stat`; the name in it may hold blanks and brackets.
fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split(' ').collect();
    let number = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    Some(Process {
        pid: number(pid)?,
        parent: number(fields.get(1)?),
        started: fields.get(19)?.parse().ok()?,
        ended: matches!(*fields.first()?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_and_brackets_do_not_confuse() {
        let fields = "S 7 41 41 0 -1 4194560 100 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3";
        let process = parse(&format!("42 (a) b (c) {fields}")).unwrap();
        assert_eq!(
            (process.pid.as_raw_pid(), process.parent.map(Pid::as_raw_pid), process.started),
            (42, Some(7), 98765)
        );
        assert!(!process.ended && parse(&format!("42 (a) Z{}", &fields[1..])).unwrap().ended);
        // Process 1, and kernel threads, have no parent that could be named.
        assert_eq!(parse(&format!("1 (init) {}", fields.replacen('7', "0", 1))).unwrap().parent, None);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn this_process_is_listed() {
        let me = rustix::process::getpid();
        let found: Vec<Process> = processes().filter(|process| process.pid == me).collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].parent, Some(found[0].started)), (rustix::process::getppid(), started()));
    }
}
