//! What every part needs: bounded waiting, Ctrl-C, what ranks say, and the certain end of a rank.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
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

/// Whether worlds can be put on several hosts; says so once if not.
pub(crate) fn networks() -> bool {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(|| {
        let missing = ringworld_tests::host::missing();
        if let Some(reason) = &missing {
            ringworld_tests::skipped("worlds on several hosts", reason);
        }
        missing
    });
    missing.is_none()
}

/// What a world might leave on the machine: files, also those of sockets, and namespaces. Names that are in no file
/// system go with the processes, which are counted elsewhere.
pub(crate) struct Left(BTreeSet<String>);

impl Left {
    /// What there is of it now. Whoever else uses the machine has files, too: what counts has the project's name.
    pub(crate) fn now() -> Self {
        let mut found = BTreeSet::new();
        let temporary = std::env::temp_dir();
        for folder in [temporary.as_path(), Path::new("/tmp"), Path::new("/dev/shm"), Path::new("/run/netns")]
        {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let ours = match folder.to_str() {
                    Some("/run/netns") => name.starts_with(&format!("rw{}x", std::process::id())),
                    _ => name.contains("ringworld"),
                };
                if ours {
                    found.insert(entry.path().display().to_string());
                }
            }
        }
        Self(found)
    }

    /// What there was not before. A moment is given to what the kernel does after the end of a process.
    pub(crate) fn but(mut self, before: &Self) -> Vec<String> {
        wait(Duration::from_secs(2), || {
            let new = self.0.difference(&before.0).next().is_some();
            if new {
                self = Self::now();
            }
            !new
        });
        self.0.difference(&before.0).cloned().collect()
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
