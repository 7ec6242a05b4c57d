//! What every part needs: bounded waiting, Ctrl-C, what ranks say, and the certain end of a rank.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ringworld_tests::clock;
use ringworld_tests::process::{End, Process};

fn flag() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(Arc::default)
}

/// Makes the signals that end a program end this one in good order: with all its processes.
pub(crate) fn end_on_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(flag())).expect("signals can be caught");
    }
}

/// Whether one of them has come.
pub(crate) fn interrupted() -> bool {
    flag().load(Ordering::Relaxed)
}

/// Waits until `ready` says so; false when `patience` is over, or the program shall end.
pub(crate) fn wait(patience: Duration, mut ready: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + patience;
    loop {
        if ready() {
            return true;
        }
        if Instant::now() >= until || interrupted() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the ends of all, and for all that they printed; `None` for those that have not ended in time.
pub(crate) fn ends(processes: &mut [Process], patience: Duration) -> Vec<Option<End>> {
    wait(patience, || processes.iter_mut().all(|process| process.ended().is_some()));
    wait(Duration::from_millis(500), || {
        processes.iter_mut().all(|process| process.ended().is_none() || process.is_quiet())
    });
    processes.iter_mut().map(Process::ended).collect()
}

/// This program, for its parts.
pub(crate) fn myself() -> PathBuf {
    std::env::current_exe().expect("a program knows where it is")
}

/// One event, in one write, so that the lines of ranks that share a pipe do not mix.
pub(crate) fn say(event: &str, more: &str) {
    let line = format!("{event} at={} pid={} {more}\n", clock::now(), std::process::id());
    let mut out = std::io::stdout().lock();
    // Nobody may be listening any more; the rank goes on all the same.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// On one line.
pub(crate) fn flat(text: &str) -> String {
    text.replace('\n', " / ")
}

/// The exit status of a process that lived longer than any round may take.
pub(crate) const FORGOTTEN: i32 = 97;

/// Makes sure that this process ends, whatever becomes of whoever started it.
pub(crate) fn live_at_most(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        say("forgotten", "");
        std::process::exit(FORGOTTEN);
    });
}

/// Makes the kernel end this process with the one that started it.
pub(crate) fn end_with_parent() {
    let parent = rustix::process::getppid();
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    // It may have ended just before.
    if rustix::process::getppid() != parent {
        std::process::exit(FORGOTTEN);
    }
}
