//! How jobs end: statuses, names, signals, grace, and nothing left running.

use crate::common::{
    BOUND, Finished, Running, finish, hearing, is_gone, ringworld, script, state, wait_until,
};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Prints its process id, then lives on until somebody ends it.
const LIVE: &str = "echo $$; while :; do sleep 1; done";

/// The same, and deaf to requests to end.
const DEAF: &str = "trap '' TERM INT; echo $$; while :; do sleep 1; done";

#[test]
fn success_of_all_is_success() {
    let job = finish(&mut script(&["-n", "3"], "exit 0"));
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
}

#[test]
fn the_first_failing_rank_gives_the_status_and_is_named() {
    let job = finish(&mut script(&["-n", "4"], "if [ $RANK = 2 ]; then exit 3; fi; sleep 300"));
    assert_eq!(job.code, Some(3), "{}", job.err);
    assert!(job.err.contains("rank 2 (pid ") && job.err.contains("exited with status 3"), "{}", job.err);
    assert!(job.err.contains("ending the other 3 ranks"), "{}", job.err);
}

#[test]
fn a_rank_killed_by_a_signal_gives_128_plus_signal_and_is_named() {
    let job = finish(&mut script(&["-n", "3"], "if [ $RANK = 1 ]; then kill -9 $$; fi; sleep 300"));
    assert_eq!(job.code, Some(137), "{}", job.err);
    assert!(
        job.err.contains("rank 1 (pid ") && job.err.contains("killed by signal 9 (SIGKILL)"),
        "{}",
        job.err
    );
}

#[test]
fn what_the_failed_rank_said_last_is_said_again_when_others_have_said_much_since() {
    let body = |others: u32| {
        format!(
            "if [ $RANK = 1 ]; then for i in $(seq 12); do echo cause $i >&2; done; exit 3; fi
             trap 'seq {others}; exit 1' TERM; while :; do sleep 0.05; done"
        )
    };
    let job = finish(&mut script(&["-n", "3", "--tag-output"], &body(50)));
    assert_eq!(job.code, Some(3), "{}", job.err);
    let again = job.err.split("ringworld run: the last lines of rank 1 (pid ").nth(1).unwrap();
    let lines: Vec<&str> = again.lines().skip(1).collect();
    let expected: Vec<String> = (3..=12).map(|line| format!("[1] cause {line}")).collect();
    assert_eq!(lines, expected);
    let job = finish(&mut script(&["-n", "3"], &body(2)));
    assert_eq!((job.code, job.err.matches("cause 12").count()), (Some(3), 1), "{}", job.err);
    // With nothing to say it says nothing.
    let job = finish(&mut script(
        &["-n", "2"],
        "[ $RANK = 0 ] || exit 3; trap 'seq 50; exit 1' TERM; while :; do sleep 0.05; done",
    ));
    assert!(job.code == Some(3) && !job.err.contains("last lines"), "{}", job.err);
}

/// Options that name a file to the ranks, by which one can wait for another. Not there yet.
fn signpost(test: &str) -> (std::path::PathBuf, String) {
    let path = std::env::temp_dir().join(format!("ringworld-{test}-{}", std::process::id()));
    let option = format!("POST={}", path.display());
    (path, option)
}

/// From the first failure that the launcher sees to its verdict, as `supervisor` has it.
const SETTLING: Duration = Duration::from_millis(200);

fn send(pid: i32, signal: Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Has rank 2 of three killed while the launcher sees that the others have failed; how that ends, unless this process
/// came so late that the verdict may have been given before: then nothing follows from it.
fn killed_after_the_others_have_failed() -> Option<Finished> {
    // Those that fail are stopped before, so that they do once the launcher is, and none is seen to before time counts.
    let body = "echo $RANK $$; [ $RANK = 2 ] && exec sleep 300; kill -STOP $$; exit 1";
    let mut job = Running::start(&mut script(&["-n", "3"], body));
    let mut pids = [0; 3];
    for line in job.lines(3) {
        let (rank, pid) = line.split_once(' ').unwrap();
        pids[rank.parse::<usize>().unwrap()] = pid.parse().unwrap();
    }
    let [first, second, last] = pids;
    wait_until("two ranks are stopped", || [first, second].iter().all(|&pid| state(pid) == Some('T')));
    job.signal(Signal::STOP);
    wait_until("the launcher is stopped", || state(job.pid()) == Some('T'));
    [first, second].iter().for_each(|&pid| send(pid, Signal::CONT));
    wait_until("two ranks have failed", || is_gone(first) && is_gone(second));
    let seen = Instant::now();
    job.signal(Signal::CONT);
    send(last, Signal::KILL);
    wait_until("the last rank is dead", || is_gone(last));
    (seen.elapsed() < SETTLING).then(|| job.finish())
}

#[test]
fn the_killed_rank_is_named_even_when_the_others_end_before_it() {
    let start = Instant::now();
    let job = loop {
        if let Some(job) = killed_after_the_others_have_failed() {
            break job;
        }
        if start.elapsed() > BOUND {
            println!("SKIPPED: no process comes to do anything here within {SETTLING:?}");
            return;
        }
    };
    assert_eq!(job.code, Some(137), "{}", job.err);
    assert!(job.err.contains("rank 2 (pid ") && job.err.lines().count() == 1, "{}", job.err);
}

#[test]
fn survivors_have_a_moment_to_say_what_they_lost() {
    let (path, post) = signpost("lost");
    let body = "if [ $RANK = 1 ]; then until [ -e $POST ]; do sleep 0.01; done; kill -9 $$; fi
                : > $POST; sleep 0.05; echo lost rank 1 >&2; exit 1";
    let job = finish(&mut script(&["-n", "2", "-x", &post], body));
    std::fs::remove_file(path).unwrap();
    assert_eq!(job.code, Some(137), "{}", job.err);
    assert!(job.err.contains("lost rank 1\n"), "{}", job.err);
}

#[test]
fn a_rank_may_succeed_while_others_go_on() {
    let job = finish(&mut script(&["-n", "2"], "if [ $RANK = 0 ]; then exit 0; fi; sleep 0.3; echo late"));
    assert_eq!((job.code, job.out.as_str()), (Some(0), "late\n"));
}

#[test]
fn survivors_that_end_by_themselves_are_not_waited_for() {
    let body = "if [ $RANK = 0 ]; then sleep 0.2; exit 5; fi; trap 'exit 0' TERM; while :; do sleep 1; done";
    let job = finish(&mut script(&["-n", "3", "--grace", "600"], body));
    assert_eq!(job.code, Some(5));
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
}

#[test]
fn ranks_deaf_to_term_are_killed_after_the_grace() {
    let body = format!("if [ $RANK = 1 ]; then sleep 1; exit 7; fi; {DEAF}");
    let mut job = Running::start(&mut script(&["-n", "2", "--grace", "0.3"], &body));
    let pid = job.pids(1)[0];
    let job = job.finish();
    assert_eq!(job.code, Some(7));
    assert!(
        job.err.contains("rank 0") && job.err.contains("did not end within --grace 300ms"),
        "{}",
        job.err
    );
    assert!(job.took >= Duration::from_millis(1300), "{:?}", job.took);
    assert!(is_gone(pid));
}

#[test]
fn a_rank_that_is_stopped_is_ended_too() {
    let body = "if [ $RANK = 0 ]; then kill -STOP $$; fi; sleep 0.3; exit 9";
    let job = finish(&mut script(&["-n", "2", "--grace", "600"], body));
    assert_eq!(job.code, Some(9));
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
}

#[test]
fn the_timeout_ends_the_job_with_124_and_names_who_was_running() {
    let job =
        finish(&mut script(&["-n", "2", "--timeout", "1.5"], "if [ $RANK = 0 ]; then exit 0; fi; sleep 300"));
    assert_eq!(job.code, Some(124));
    assert!(job.err.contains("--timeout 1s 500ms; ending rank 1 (pid "), "{}", job.err);
    assert!(!job.err.contains("rank 0"), "{}", job.err);
}

#[test]
fn ctrl_c_ends_every_rank_and_gives_130() {
    let mut job = Running::start(&mut script(&["-n", "3"], LIVE));
    let pids = job.pids(3);
    job.signal(Signal::INT);
    let job = job.finish();
    assert_eq!(job.code, Some(130));
    assert!(job.err.contains("received SIGINT"), "{}", job.err);
    assert!(pids.into_iter().all(is_gone));
}

#[test]
fn a_second_ctrl_c_kills_at_once() {
    let mut job = Running::start(&mut script(&["-n", "2", "--grace", "600"], DEAF));
    let pids = job.pids(2);
    let job = job.interrupted();
    assert_eq!(job.code, Some(130));
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
    assert!(job.err.contains("received SIGINT again; killing rank 0"), "{}", job.err);
    assert!(pids.into_iter().all(is_gone));
}

#[test]
fn ranks_hear_the_very_signal_that_the_launcher_received() {
    for (signal, name, code) in
        [(Signal::TERM, "TERM", 143), (Signal::HUP, "HUP", 129), (Signal::QUIT, "QUIT", 131)]
    {
        let body =
            format!("trap 'echo heard {name}; exit 0' {name}; echo ready; while :; do sleep 0.1; done");
        let launcher = script(&["-n", "2", "--grace", "30"], &body);
        let mut job = Running::start(&mut hearing(&launcher, "TERM,HUP,QUIT"));
        assert_eq!(job.lines(2), ["ready"; 2]);
        job.signal(signal);
        let job = job.finish();
        let heard = format!("heard {name}");
        assert_eq!((job.code, job.sorted()), (Some(code), vec![heard.as_str(); 2]), "{}", job.err);
    }
}

#[test]
fn user_signals_reach_every_rank_and_the_job_goes_on() {
    let body = "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo ready; while :; do sleep 0.1; done";
    let mut job = Running::start(&mut script(&["-n", "2"], body));
    assert_eq!(job.lines(2), ["ready"; 2]);
    job.signal(Signal::USR1);
    assert_eq!(job.lines(2), ["one"; 2]);
    job.signal(Signal::USR2);
    assert_eq!(job.lines(2), ["two"; 2]);
    assert_eq!(job.finish().code, Some(0));
}

#[test]
fn ctrl_z_stops_ranks_and_launcher_and_fg_continues_them() {
    // As a shell with job control starts it. In the group of a test run that somebody left in the background
    // it might be an orphan, which the kernel does not stop.
    // A rank of one process, not a shell that starts others: one that is about to, by vfork(2), is not stopped
    // but waits in state `D` for its child, which is stopped before it could run its program.
    let mut command = script(&["-n", "2"], "echo $$; exec sleep 300");
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut job = Running::start(&mut command);
    let (launcher, pids) = (job.pid(), job.pids(2));
    job.signal(Signal::TSTP);
    // One after the other, so that a failure says who did not stop.
    wait_until("the ranks are stopped", || pids.iter().all(|&pid| state(pid) == Some('T')));
    wait_until("the launcher is stopped", || state(launcher) == Some('T'));
    job.signal(Signal::CONT);
    wait_until("launcher and ranks go on", || {
        state(launcher) != Some('T') && pids.iter().all(|&pid| state(pid) != Some('T'))
    });
    job.signal(Signal::TERM);
    assert_eq!(job.finish().code, Some(143));
}

#[test]
fn a_signal_that_the_caller_ignores_stays_ignored() {
    let launcher = env!("CARGO_BIN_EXE_ringworld");
    let mut nohup = std::process::Command::new("sh");
    let line = format!("trap '' HUP; exec {launcher} run -n 1 -- sh -c 'echo ready; sleep 1; echo done'");
    nohup.args(["-c", &line]).stdin(std::process::Stdio::null());
    nohup.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut job = Running::start(&mut nohup);
    assert_eq!(job.lines(1), ["ready"]);
    job.signal(Signal::HUP);
    let job = job.finish();
    assert_eq!((job.code, job.out.as_str()), (Some(0), "done\n"), "{}", job.err);
}

#[test]
fn nothing_outlives_a_launcher_that_is_killed() {
    // The rank is deaf and has a deaf child, which the kernel alone would not reach.
    let body =
        "trap '' TERM INT HUP; echo $$; (echo $(exec sh -c 'echo $PPID'); while :; do sleep 1; done) & wait";
    let mut job = Running::start(&mut script(&["-n", "3"], body));
    let pids = job.pids(6);
    assert!(pids.iter().all(|&pid| !is_gone(pid)), "{pids:?}");
    job.signal(Signal::KILL);
    wait_until("ranks and their children are gone", || pids.iter().all(|&pid| is_gone(pid)));
}

#[test]
fn what_ranks_leave_in_their_groups_ends_with_the_job() {
    let mut job = Running::start(&mut script(&["-n", "2"], "sleep 300 & echo $!"));
    let pids = job.pids(2);
    let job = job.finish();
    assert_eq!(job.code, Some(0));
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
    wait_until("the left-over processes are gone", || pids.iter().all(|&pid| is_gone(pid)));
}

/// Prints the process id of a child that leaves its process group and its parent, as a daemon does, but keeps the
/// output.
const ESCAPE: &str = "setsid sh -c 'echo $$; exec sleep 300' &";

#[test]
fn what_left_its_group_ends_with_the_job() {
    let mut job = Running::start(&mut script(&["-n", "2"], &format!("({ESCAPE} ); sleep 0.5")));
    let pids = job.pids(2);
    let job = job.finish();
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
    assert!(pids.iter().all(|&pid| is_gone(pid)), "{pids:?} live on");
}

#[test]
fn what_left_its_group_ends_with_a_launcher_that_is_killed() {
    let mut job = Running::start(&mut script(&["-n", "2"], &format!("({ESCAPE} ); sleep 300")));
    let pids = job.pids(2);
    assert!(pids.iter().all(|&pid| !is_gone(pid)), "{pids:?}");
    job.signal(Signal::KILL);
    wait_until("the escaped processes are gone", || pids.iter().all(|&pid| is_gone(pid)));
}

/// Starts a guard and `body`, as a job of a launcher that is not the guard's parent, which one that was killed early is
/// not any more. Lets go of the guard once there are so many processes, and returns which it has left.
fn left_by_the_guard(job: &str, body: &str, processes: usize) -> Vec<i32> {
    let launcher = format!("{job}-{}", std::process::id());
    let mut guard = ringworld(&["guard", &launcher]);
    let mut guard = guard.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", body]).env("RINGWORLD_PARENT_PID", &launcher);
    let mut shell = shell.spawn().unwrap();
    let mark = format!("RINGWORLD_PARENT_PID={launcher}");
    wait_until("the processes run", || marked(&mark).len() >= processes);
    drop(guard.stdin.take());
    wait_until("the guard ends", || guard.try_wait().unwrap().is_some());
    let left: Vec<i32> = marked(&mark).into_iter().filter(|&pid| !is_gone(pid)).collect();
    for &pid in &left {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    let _ = shell.kill();
    shell.wait().unwrap();
    left
}

/// The processes that have this in their environment.
fn marked(mark: &str) -> Vec<i32> {
    let has = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(has).collect()
}

#[test]
fn a_guard_that_starts_late_knows_its_launcher() {
    assert_eq!(left_by_the_guard("late", "exec sleep 300", 1), Vec::<i32>::new());
}

#[test]
fn what_starts_while_the_guard_looks_is_found() {
    // It lists processes, and then looks at each: what this shell starts meanwhile is not on the list.
    let body = "i=0; while [ $i -lt 500 ]; do setsid sleep 300 & i=$((i + 1)); done; wait";
    assert_eq!(left_by_the_guard("meanwhile", body, 20), Vec::<i32>::new());
}

#[test]
fn children_that_the_launcher_had_before_it_was_one_are_left_alone() {
    let launcher = env!("CARGO_BIN_EXE_ringworld");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("sleep 300 >/dev/null 2>&1 & echo $!; exec {launcher} run -n 1 -- true")]);
    shell.stdin(std::process::Stdio::null());
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let job = finish(&mut shell);
    let pid: i32 = job.out.trim().parse().unwrap();
    assert!(!is_gone(pid), "{}", job.err);
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn orphans_are_reaped_while_the_job_runs() {
    // As the first process of a container the launcher inherits them; as a subreaper it does so everywhere.
    let mut job =
        Running::start(&mut script(&["-n", "1"], "(sh -c 'echo $$; exec sleep 0.2' & ); sleep 300"));
    let orphan = job.pids(1)[0];
    wait_until("the orphan is reaped", || state(orphan).is_none());
    assert!(!job.has_ended());
}

#[test]
fn a_hundred_ranks_start_and_end() {
    let job = finish(&mut crate::common::command(&["-n", "100", "true"]));
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
}

#[test]
fn a_small_limit_on_open_files_is_raised_for_the_launcher_and_kept_for_the_ranks() {
    let launcher = env!("CARGO_BIN_EXE_ringworld");
    let line = format!("ulimit -Sn 64; exec {launcher} run -n 60 -- sh -c 'ulimit -Sn'");
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &line]).stdin(std::process::Stdio::null());
    limited.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let job = finish(&mut limited);
    assert_eq!((job.code, job.sorted()), (Some(0), vec!["64"; 60]), "{}", job.err);
}

#[test]
fn a_limit_on_open_files_that_is_too_low_is_named() {
    let limited = |limit: &str, options: &str| {
        let launcher = env!("CARGO_BIN_EXE_ringworld");
        let line = format!("ulimit {limit} 24; exec {launcher} run {options} -- true");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).stdin(std::process::Stdio::null());
        shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        finish(&mut shell)
    };
    let job = limited("-n", "-n 2");
    assert_eq!((job.code, job.err.lines().count()), (Some(1), 1), "{}", job.err);
    for part in ["may have 24 files open", "RLIMIT_NOFILE", "2 ranks", "72", "ulimit -n"] {
        assert!(job.err.contains(part), "{part}: {}", job.err);
    }
    // One that may be raised is, also where a launcher of one host hands the secret on.
    for options in ["-n 2", "--hosts localhost:2"] {
        let job = limited("-Sn", options);
        assert_eq!((job.code, job.err.as_str()), (Some(0), ""), "{options}");
    }
}
