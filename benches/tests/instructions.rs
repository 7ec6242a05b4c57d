//! A message and a step of an all-reduce cost no more instructions than these ceilings.
//!
//! Time on a shared machine says little about a change of a few per cent; instructions repeat. The program
//! `instructions` ([`../src/bin/instructions.rs`](../src/bin/instructions.rs)) runs under callgrind with N times and
//! with 2N, and the difference is what N cost, without start and end. Only this process's own instructions are counted,
//! not the system's.
//!
//! Each ceiling of the profile `dist` is 5 to 14 % above what was measured (`benches/README.md` has those numbers),
//! those of other builds 6 to 18 %, and up to 30 % for a message over TCP: room for another compiler, and little for
//! one more lookup, copy or allocation per message. One that a change has made
//! loose should come down with that change; one that a new promise needs to go up says so in the commit. Builds
//! with debug assertions have ceilings of their own. Plain `cargo test` leaves this out, because counting takes as long
//! as a tenth of all tests; `ci/test.sh` and `ci/instructions.sh` have it for each build.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_instructions");
/// Everything is counted until two counts agree and are below the ceiling, and this often at most.
const COUNTS: usize = 6;
/// A run takes a few seconds on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A way through the runtime that has a ceiling.
struct Path {
    name: &'static str,
    /// What one of it is, in words.
    one: &'static str,
    /// N; the more, the less it matters if start and end differ between runs.
    times: u64,
    /// How many of it there are each time.
    each: u64,
    /// By how many per cent counts may differ.
    apart: u64,
    /// The ceilings: with debug assertions, by the profile `dist`, and by cargo's own `release`.
    checked: u64,
    dist: u64,
    release: u64,
}

impl Path {
    fn ceiling(&self) -> (u64, &'static str) {
        // The folder of a profile has its name.
        let dist = std::path::Path::new(PROGRAM).components().any(|part| part.as_os_str() == "dist");
        if cfg!(debug_assertions) {
            (self.checked, "a build with debug assertions")
        } else if dist {
            (self.dist, "a build as it is shipped")
        } else {
            (self.release, "a build as dependents make it")
        }
    }
}

#[test]
fn an_eager_message_stays_below_its_ceiling() {
    holds(&Path {
        name: "message",
        one: "an eager message of 8 bytes, sent and received",
        times: 2_000,
        each: 1,
        apart: 1,
        checked: 2_270,
        dist: 1_230,
        release: 1_610,
    });
}

#[test]
fn an_eager_message_over_tcp_stays_below_its_ceiling() {
    holds(&Path {
        name: "socket",
        one: "an eager message of 8 bytes over TCP, sent and received",
        // Opening the connection takes two threads, whose turns differ from run to run.
        times: 5_000,
        each: 1,
        // It may come late on a system that is busy with other sockets: another poll then.
        apart: 5,
        checked: 3_200,
        dist: 1_900,
        release: 2_250,
    });
}

#[test]
fn an_eager_message_in_shared_memory_stays_below_its_ceiling() {
    holds(&Path {
        name: "memory",
        one: "an eager message of 8 bytes in shared memory, sent and received",
        times: 5_000,
        each: 1,
        apart: 5,
        checked: 2_820,
        dist: 1_775,
        release: 2_060,
    });
}

#[test]
fn a_broadcast_that_is_shown_stays_below_its_ceiling() {
    holds(&Path {
        name: "shown",
        one: "a broadcast of 8 bytes in shared memory, shown by one rank and looked at by the other",
        times: 5_000,
        each: 1,
        apart: 5,
        checked: 5_430,
        dist: 3_850,
        release: 4_250,
    });
}

#[test]
fn a_message_that_nobody_waits_for_at_once_stays_below_its_ceiling() {
    holds(&Path {
        name: "window",
        one: "a message of 8 bytes in shared memory, one of 64 at a time, begun and waited for on both sides",
        times: 100,
        each: 64,
        // Helper threads look on.
        apart: 5,
        checked: 4_420,
        dist: 2_820,
        release: 3_440,
    });
}

/// One rank has run 500 calls ahead: what each call costs must not depend on how much lies there.
#[test]
fn a_broadcast_whose_root_is_far_ahead_stays_below_its_ceiling() {
    holds(&Path {
        name: "ahead",
        one: "a broadcast of 8 bytes over TCP whose root is up to 500 ahead, both ranks",
        times: 10,
        each: 500,
        apart: 15,
        checked: 10_450,
        dist: 7_720,
        release: 8_660,
    });
}

#[test]
fn a_reduction_whose_root_is_far_behind_stays_below_its_ceiling() {
    holds(&Path {
        name: "behind",
        one: "a reduction of 8 bytes over TCP whose root is up to 500 behind, both ranks",
        times: 10,
        each: 500,
        apart: 15,
        checked: 11_900,
        dist: 8_520,
        release: 9_870,
    });
}

#[test]
fn a_step_of_a_direct_all_reduce_stays_below_its_ceiling() {
    holds(&Path {
        name: "direct",
        one: "a step of an all-reduce by direct exchange (8 bytes, a whole call)",
        times: 2_000,
        each: 1,
        apart: 1,
        checked: 5_300,
        dist: 3_700,
        release: 4_270,
    });
}

#[test]
fn a_step_of_a_ring_all_reduce_stays_below_its_ceiling() {
    holds(&Path {
        name: "ring",
        one: "a step of an all-reduce by the ring (16 KiB, two steps a call)",
        times: 2_000,
        each: 2,
        apart: 1,
        checked: 7_730,
        dist: 5_855,
        release: 6_500,
    });
}

fn holds(path: &Path) {
    if let Some(reason) = lacking() {
        assert!(
            std::env::var_os("CI").is_none(),
            "{reason}, and CI must count: install valgrind (Debian: apt-get install valgrind)"
        );
        return say(&format!("SKIPPED: instructions of {}: {reason}", path.name));
    }
    let (ceiling, build) = path.ceiling();
    let (mut once, mut twice) = (Vec::new(), Vec::new());
    let least = loop {
        for (runs, times) in [(&mut once, path.times), (&mut twice, 2 * path.times)] {
            runs.push(collected(path.name, times).unwrap_or_else(|error| panic!("{error}")));
            // What disturbs a run can only add to it. In the difference of two runs it may also be missing, so those
            // that are disturbed alike are compared.
            runs.sort_unstable();
        }
        let counts: Vec<u64> = std::iter::zip(&twice, &once)
            .map(|(twice, once)| twice.saturating_sub(*once) / path.times / path.each)
            .collect();
        // Turns of threads make some counts larger and some smaller than the true one; it is what repeats.
        if let Some(least) = least_repeated(&counts, path.apart)
            && (least <= ceiling || counts.len() == COUNTS)
        {
            break least;
        }
        assert!(
            counts.len() < COUNTS,
            "{counts:?} instructions for {}, in {build}: two should agree within {} %; what is left to chance?",
            path.one,
            path.apart
        );
    };
    say(&format!("{least} instructions for {}, in {build}; the ceiling is {ceiling}", path.one));
    assert!(
        least <= ceiling,
        "{least} instructions for {}, in {build}; the ceiling is {ceiling}. To see where they go: \
         valgrind --tool=callgrind {PROGRAM} {} {}, then callgrind_annotate",
        path.one,
        path.name,
        path.times
    );
}

/// The least of the counts with which another agrees within so many per cent.
fn least_repeated(counts: &[u64], apart: u64) -> Option<u64> {
    let mut counts = counts.to_vec();
    counts.sort_unstable();
    counts.windows(2).find_map(|pair| match *pair {
        [less, more] if less > 0 && more - less <= more * apart / 100 => Some(less),
        _ => None,
    })
}

#[test]
fn a_count_that_is_off_is_not_what_repeats() {
    assert_eq!(least_repeated(&[2632, 2359, 2378, 2377, 2181, 2368], 5), Some(2359));
    assert_eq!(least_repeated(&[100, 101], 1), Some(100));
    assert_eq!(least_repeated(&[0, 0, 100, 103], 2), None);
    assert_eq!(least_repeated(&[100], 5), None);
}

/// Why nothing can be counted here.
fn lacking() -> Option<String> {
    if cfg!(not(target_arch = "x86_64")) {
        return Some("the ceilings are of x86-64".into());
    }
    match Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("valgrind does not work ({status})")),
        Err(error) => Some(format!("valgrind cannot be started ({error})")),
    }
}

/// The instructions of one whole run.
fn collected(path: &str, times: u64) -> Result<u64, String> {
    let mut run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, path, &times.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("valgrind cannot be started: {error}"))?;
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        match run.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            unfinished => {
                // It may have ended by itself meanwhile.
                let _ = run.kill();
                let _ = run.wait();
                return Err(format!(
                    "`instructions {path} {times}` under callgrind did not end within {LIMIT:?}: {unfinished:?}"
                ));
            }
        }
    };
    // A few lines, which fit the pipe: nothing had to be read while it ran.
    let mut said = String::new();
    if let Some(mut errors) = run.stderr.take() {
        errors
            .read_to_string(&mut said)
            .map_err(|error| format!("what valgrind says is no text: {error}"))?;
    }
    if !status.success() {
        return Err(format!("`instructions {path} {times}` under callgrind ended with {status}: {said}"));
    }
    let line = said.lines().find_map(|line| line.split_once("Collected :"));
    line.and_then(|(_, number)| number.trim().parse().ok())
        .ok_or_else(|| format!("expected a line `Collected : <number>` of callgrind; it said {said}"))
}

/// For everybody who reads the output, also when the test passes.
fn say(text: &str) {
    // The harness captures what `println!` prints, and shows it for failing tests only.
    let _ = writeln!(std::io::stdout(), "{text}");
}
