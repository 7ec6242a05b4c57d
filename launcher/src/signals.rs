//! Names of signals, for messages, and the set the launcher listens to.

use signal_hook::consts as c;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// `SIGKILL` for 9; `signal 64` for one without a name.
pub(crate) fn name(signal: i32) -> String {
    let name = match signal {
        c::SIGHUP => "SIGHUP",
        c::SIGINT => "SIGINT",
        c::SIGQUIT => "SIGQUIT",
        c::SIGILL => "SIGILL",
        c::SIGTRAP => "SIGTRAP",
        c::SIGABRT => "SIGABRT",
        c::SIGBUS => "SIGBUS",
        c::SIGFPE => "SIGFPE",
        c::SIGKILL => "SIGKILL",
        c::SIGUSR1 => "SIGUSR1",
        c::SIGSEGV => "SIGSEGV",
        c::SIGUSR2 => "SIGUSR2",
        c::SIGPIPE => "SIGPIPE",
        c::SIGALRM => "SIGALRM",
        c::SIGTERM => "SIGTERM",
        c::SIGXCPU => "SIGXCPU",
        c::SIGXFSZ => "SIGXFSZ",
        c::SIGSYS => "SIGSYS",
        c::SIGTSTP => "SIGTSTP",
        c::SIGCONT => "SIGCONT",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

/// Signals that ask the job to end.
pub(crate) const ENDING: [i32; 4] = [c::SIGINT, c::SIGTERM, c::SIGHUP, c::SIGQUIT];

/// Signals passed on to the ranks without a change of plan.
pub(crate) const PASSED_ON: [i32; 2] = [c::SIGUSR1, c::SIGUSR2];

/// Everything the launcher reacts to, less what its own caller told it to ignore: `nohup` means that
/// the end of the terminal must not end the job, and a shell starts background jobs deaf to Ctrl-C.
pub(crate) fn listened_to() -> Vec<i32> {
    let ignored = ignored_at_start();
    ENDING
        .into_iter()
        .chain(PASSED_ON)
        .chain([c::SIGTSTP, c::SIGCONT])
        .filter(|signal| !ignored.contains(signal))
        // Never optional: without it no rank's end would be seen.
        .chain([c::SIGCHLD])
        .collect()
}

/// From here on a write beyond the limit on the size of files is an error, as one to a full disk is: the system refuses
/// it, but would end this process by a signal before. A handler, and nobody's wish to ignore that: what this process
/// starts has the signal as it was.
pub(crate) fn refuse_long_files() {
    if !ignored_at_start().contains(&c::SIGXFSZ) {
        // Without it all is as it was.
        let _ = signal_hook::flag::register(c::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }
}

/// The dispositions inherited from the caller, from `/proc` because asking `sigaction` needs unsafe code.
fn ignored_at_start() -> BTreeSet<i32> {
    std::fs::read_to_string("/proc/self/status").map(|text| ignored_in(&text)).unwrap_or_default()
}

fn ignored_in(status: &str) -> BTreeSet<i32> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_as_in_kill_l() {
        assert_eq!(name(9), "SIGKILL");
        assert_eq!(name(15), "SIGTERM");
        assert_eq!(name(64), "signal 64");
    }

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        let text = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t00\n";
        assert_eq!(ignored_in(text), BTreeSet::from([c::SIGHUP, c::SIGPIPE]));
        assert!(ignored_in("").is_empty());
    }
}
