//! The two small roles in which the launcher starts itself: `exec-rank` and `guard`.
//!
//! Together they keep the promise that nothing is left running, even when the launcher is killed with -9:
//! the kernel kills each rank with its parent, which needs no cooperation from the program, and the guard
//! kills the process groups, which reaches what the ranks have started. Neighbour: `job` starts both.

use super::complain::complain;
use super::cores;
use super::descendants;
use super::environment::PARENT;
use crate::exit::Status;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use std::ffi::OsString;
use std::io::{self, BufRead as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// First argument of the first role: `exec-rank PARENT NOFILE CORES PROGRAM [ARGUMENT…]`.
pub(crate) const EXEC_RANK: &str = "exec-rank";

/// First argument of the second role: `guard LAUNCHER`; what else it needs comes over its standard input.
pub(crate) const GUARD: &str = "guard";

/// The guard's word for "the job is over, you may go".
pub(crate) const DONE: &str = "done";

/// Before the number of a process group that the guard was told of and is not to end any more: a word, and a blank.
pub(crate) const FORGET: &str = "not ";

/// Ties this process to its parent and becomes the program. Returns only when it cannot.
///
/// The process stays the same, so process id, group and exit status are the program's. `NOFILE` is the
/// limit on open files before the launcher raised its own, as many programs size tables by it; `CORES` what
/// `--bind-to` gives it.
pub(crate) fn exec_rank(mut arguments: impl Iterator<Item = OsString>) -> Status {
    let mut number = || arguments.next().and_then(|text| text.to_str()?.parse::<u64>().ok());
    let (parent, nofile) = (number(), number());
    let cores = arguments.next().and_then(|cores| cores.into_string().ok());
    let (Some(parent), Some(nofile), Some(cores), Some(program)) = (parent, nofile, cores, arguments.next())
    else {
        complain("exec-rank is for the launcher's own use; use `ringworld run`");
        return Status::USAGE;
    };
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
        complain(&format!("cannot tie this rank to its launcher: {error}"));
        return Status::SYSTEM;
    }
    // The launcher may have died before the kernel was asked; nobody would kill this process then.
    let actual = rustix::process::getppid().map_or(0, Pid::as_raw_pid);
    if u64::try_from(actual) != Ok(parent) {
        return Status::SYSTEM;
    }
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // Lowering a soft limit is always allowed; if not, a higher one does no harm.
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(nofile), ..limit });

    if let Err(why) = cores::bind(&cores) {
        complain(&why);
        return Status::SYSTEM;
    }
    let error = Command::new(&program).args(arguments).exec();
    complain(&format!("cannot start {}: {error}", program.display()));
    match error.kind() {
        io::ErrorKind::NotFound => Status::NOT_FOUND,
        _ => Status::NOT_EXECUTABLE,
    }
}

/// Waits for the launcher's end. If it came without [`DONE`], kills every process group it named, and whatever else its
/// ranks have started.
///
/// It is told the launcher's process id: its parent is somebody else if the launcher was killed before it could ask.
pub(crate) fn guard(mut arguments: impl Iterator<Item = OsString>) -> Status {
    let Some(launcher) = arguments.next() else {
        complain("guard is for the launcher's own use; use `ringworld run`");
        return Status::USAGE;
    };
    let since = descendants::started();
    // Started through /proc/self/exe, it would be listed as `exe`. Only a matter of looks.
    let _ = rustix::thread::set_name(c"ringworld");
    let mut groups = Vec::new();
    for line in io::stdin().lock().lines() {
        match line {
            Ok(line) if line == DONE => return Status::SUCCESS,
            Ok(line) => match line.strip_prefix(FORGET) {
                Some(number) => {
                    let forgotten = number.parse().ok().and_then(Pid::from_raw);
                    groups.retain(|group| Some(*group) != forgotten);
                }
                None => groups.extend(line.parse().ok().and_then(Pid::from_raw)),
            },
            Err(_) => break,
        }
    }
    for group in groups {
        // Most often the group is gone already, killed by the kernel.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    // Also a rank that was started, but not named any more.
    if let Some(since) = since {
        descendants::end_marked(PARENT, &launcher, since);
    }
    Status::SUCCESS
}
