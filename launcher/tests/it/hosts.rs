//! `ringworld run --hosts`: ranks on several hosts are one job, and nothing of it outlives any part of it.
//!
//! Here "hosts" are this one, reached by commands that stand in for ssh; `tests/` has network namespaces, and
//! `tests/hosts` a real sshd.

use crate::common::{BOUND, Finished, Running, command, finish, is_gone, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Becomes the program, as `ip netns exec` does; like a login on another host it passes no variables on.
const BARE: &str = "env -i PATH=/usr/local/bin:/usr/bin:/bin AT={host}";

/// Has the program behind pipes, in a session of its own, as ssh has: only the end of its input reaches it.
const PIPED: &str = "sh -c 'cat | setsid \"$@\" | cat' {host}";

/// Prints its process id, then lives on until somebody ends it.
const LIVE: &str = "echo $$; while :; do sleep 1; done";

fn on(hosts: &str, rsh: &str, options: &[&str], script: &str) -> Command {
    command(&[&["--hosts", hosts, "--rsh", rsh], options, &["--", "sh", "-c", script]].concat())
}

fn run(hosts: &str, rsh: &str, options: &[&str], script: &str) -> Finished {
    finish(&mut on(hosts, rsh, options, script))
}

/// The processes between the launcher and these ranks, on the rank's side.
fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap()
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn all_gone(pids: &[i32]) {
    wait_until("all are gone", || pids.iter().all(|pid| is_gone(*pid)));
}

#[test]
fn ranks_of_all_hosts_are_numbered_and_tagged_as_one_job() {
    let says = "echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE on $AT";
    for rsh in [BARE, "sh -c 'AT=$0 exec \"$@\"' {host}", "sh -c 'AT=$0; export AT; \"$@\"; exit $?' {host}"]
    {
        let job = run("a:2,b:1", rsh, &["--tag-output"], says);
        let expected = ["[0] 0 of 3, 0 of 2 on a", "[1] 1 of 3, 1 of 2 on a", "[2] 2 of 3, 0 of 1 on b"];
        assert_eq!((job.code, job.sorted()), (Some(0), expected.to_vec()), "{}", job.err);
        assert_eq!(job.err, "");
    }
}

#[test]
fn a_world_forms_and_the_secret_is_in_no_environment_and_no_argument() {
    let joins = format!("exec {} info --join", env!("CARGO_BIN_EXE_ringworld"));
    let looks = "sleep 0.2
        for pid in $$ $PPID $(cat /proc/*/stat 2>/dev/null | awk -v p=$PPID '$4 == p {print $1}'); do
        tr '\\0' '\\n' <\"/proc/$pid/environ\"; tr '\\0' '\\n' <\"/proc/$pid/cmdline\"; done 2>/dev/null |
        grep -E '[0-9a-f]{64}' && exit 9; ";
    let job = run("a:2,b:2", BARE, &[], &format!("{looks}{joins}"));
    assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
    assert!(job.out.contains("to 0-2"), "{}", job.out);
    // A secret of the user's own is told to the ranks in the same way.
    let mut given = on("a:1,b:1", BARE, &[], "env | grep '^RINGWORLD_SECRET' | cut -d= -f1");
    let job = finish(given.env("RINGWORLD_SECRET", "f00d".repeat(16)));
    assert_eq!(job.out, "RINGWORLD_SECRET_FD\nRINGWORLD_SECRET_FD\n", "{}", job.err);
}

#[test]
fn settings_are_passed_on_and_nothing_else() {
    let mut job = on(
        "a:1",
        BARE,
        &["-x", "MINE=1"],
        "echo $RINGWORLD_SEGMENT/$OTHER/$MINE/$RINGWORLD_JOB/$RINGWORLD_REJOIN",
    );
    job.env("RINGWORLD_SEGMENT", "64K").env("OTHER", "no").env("RINGWORLD_JOB", "j");
    // That this launcher is in the place of a dead rank says nothing of its own.
    let job = finish(job.env("RINGWORLD_REJOIN", "1"));
    assert_eq!((job.code, job.out.as_str()), (Some(0), "64K//1/j/\n"), "{}", job.err);
}

#[test]
fn parts_are_spread_over_the_hosts_in_order() {
    let job = finish(&mut command(&[
        "--hosts",
        "a:2,b:2",
        "--rsh",
        BARE,
        "--tag-output",
        "-n",
        "1",
        "-x",
        "WHO=server",
        "sh",
        "-c",
        "echo $WHO $AT",
        ":",
        "-n",
        "3",
        "--wdir",
        "/",
        "sh",
        "-c",
        "echo client $AT $PWD$WHO",
    ]));
    let expected = ["[0] server a", "[1] client a /", "[2] client b /", "[3] client b /"];
    assert_eq!((job.code, job.sorted()), (Some(0), expected.to_vec()), "{}", job.err);
    let job = finish(&mut command(&[
        "-n",
        "1",
        "echo",
        "one",
        ":",
        "-n",
        "2",
        "sh",
        "-c",
        "echo $RANK of $WORLD_SIZE",
    ]));
    assert_eq!((job.code, job.sorted()), (Some(0), vec!["1 of 3", "2 of 3", "one"]), "{}", job.err);
}

#[test]
fn a_failing_rank_ends_the_ranks_of_all_hosts_and_is_named_with_its_host() {
    let job = run("a:2,b:2", PIPED, &[], "[ $RANK != 2 ] || { echo why >&2; sleep 0.1; exit 3; }; sleep 300");
    assert_eq!(job.code, Some(3), "{}", job.err);
    for part in ["why\n", "rank 2 (pid ", ") on b exited with status 3; ending the other 3 ranks"] {
        assert!(job.err.contains(part), "{}", job.err);
    }
    let job = run("a:2,b:2", BARE, &[], "[ $RANK != 3 ] || kill -9 $$; sleep 300");
    assert_eq!(job.code, Some(137), "{}", job.err);
    assert!(job.err.contains("on b was killed by signal 9 (SIGKILL)"), "{}", job.err);
}

#[test]
fn ctrl_c_reaches_all_hosts_and_the_second_kills() {
    let mut job = Running::start(&mut on("a:1,b:1", PIPED, &[], LIVE));
    let pids = job.pids(2);
    job.signal(Signal::INT);
    let job = job.finish();
    assert_eq!(job.code, Some(130), "{}", job.err);
    assert!(job.err.contains("received SIGINT; ending the job"), "{}", job.err);
    all_gone(&pids);

    let deaf = format!("trap '' TERM INT; {LIVE}");
    let mut job = Running::start(&mut on("a:1,b:1", PIPED, &["--grace", "600"], &deaf));
    let pids = job.pids(2);
    job.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!job.has_ended());
    let job = job.interrupted();
    assert!(job.code == Some(130) && job.err.contains("again; killing"), "{}", job.err);
    all_gone(&pids);
}

#[test]
fn nothing_is_left_when_any_process_of_the_job_is_killed() {
    for rsh in [BARE, PIPED] {
        // The launcher.
        let mut job = Running::start(&mut on("a:2,b:1", rsh, &[], LIVE));
        let pids = job.pids(3);
        let helpers: Vec<i32> = pids.iter().map(|pid| parent(*pid)).collect();
        job.signal(Signal::KILL);
        all_gone(&pids);
        all_gone(&helpers);
        // A helper: its host is named.
        let mut job = Running::start(&mut on("a:1,b:1", rsh, &["--tag-output"], LIVE));
        let lines = job.lines(2);
        let pid = |tag: &str| -> i32 {
            lines.iter().find_map(|line| line.strip_prefix(tag)).unwrap().trim().parse().unwrap()
        };
        let pids = [pid("[0]"), pid("[1]")];
        kill(parent(pids[1]), Signal::KILL);
        let job = job.finish();
        assert_ne!(job.code, Some(0));
        for part in ["lost the connection to b: ", "on b was lost with its host; ending the other rank"] {
            assert!(job.err.contains(part), "{rsh}: {}", job.err);
        }
        all_gone(&pids);
    }
    // The command that leads to a host, which is not the helper.
    let mut job = Running::start(&mut on("b:1", PIPED, &[], LIVE));
    let pids = job.pids(1);
    let between = parent(parent(pids[0]));
    kill(between, Signal::KILL);
    let job = job.finish();
    assert!(job.err.contains("was killed by signal 9 (SIGKILL)"), "{}", job.err);
    all_gone(&pids);
}

#[test]
fn a_host_that_falls_silent_is_lost_and_a_launcher_that_sleeps_is_not() {
    let mut silent = on("a:1,b:1", PIPED, &["--tag-output"], LIVE);
    let mut job = Running::start(silent.env("RINGWORLD_PEER_TIMEOUT", "1s"));
    let lines = job.lines(2);
    let pids: Vec<i32> = lines.iter().map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    let helper = parent(pids[0]);
    kill(helper, Signal::STOP);
    let job = job.finish();
    assert!(job.err.contains("silent for longer than RINGWORLD_PEER_TIMEOUT"), "{}", job.err);
    // As soon as it can do anything, it ends its ranks: nobody is left who wants them.
    kill(helper, Signal::CONT);
    all_gone(&pids);

    let body = "echo $$; read word; echo $word";
    let mut asleep = on("a:1", PIPED, &[], body);
    asleep.env("RINGWORLD_PEER_TIMEOUT", "1s").stdin(Stdio::piped());
    let mut job = Running::start(&mut asleep);
    let mut stdin = job.stdin();
    job.pids(1);
    // With Ctrl-Z it would be all of the launcher's group; it stops itself after its ranks.
    job.signal(Signal::TSTP);
    std::thread::sleep(Duration::from_secs(3));
    job.signal(Signal::CONT);
    std::io::Write::write_all(&mut stdin, b"awake\n").unwrap();
    let job = job.finish();
    assert_eq!((job.code, job.out.as_str()), (Some(0), "awake\n"), "{}", job.err);
}

#[test]
fn input_goes_to_the_rank_that_is_asked_for_wherever_it_is() {
    for (who, expected) in
        [("2", vec!["[2] 65536"]), ("none", vec![]), ("all", vec!["[0] 65536", "[1] 65536", "[2] 65536"])]
    {
        let body = "n=$(wc -c); [ $n = 0 ] || echo $n";
        let options = ["--stdin", who, "--tag-output"];
        let mut job = on("a:2,b:1", PIPED, &options, body);
        job.stdin(Stdio::piped());
        let mut job = Running::start(&mut job);
        let mut stdin = job.stdin();
        let writing = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &[b'x'; 65536]));
        let job = job.finish();
        let _ = writing.join().unwrap();
        assert_eq!((job.code, job.sorted()), (Some(0), expected), "{who}: {}", job.err);
    }
}

#[test]
fn output_is_whole_in_order_and_held_back_by_its_reader() {
    // To files, in which nobody else's lines come between the halves of one that was long under way.
    let folder = std::env::temp_dir().join(format!("ringworld-whole-{}", std::process::id()));
    let job = run("a:2,b:2", PIPED, &["--output-dir", folder.to_str().unwrap()], "seq 200000");
    assert_eq!(job.code, Some(0), "{}", job.err);
    let expected: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    for rank in 0..4 {
        let text = std::fs::read_to_string(folder.join(format!("rank-{rank}.log"))).unwrap();
        assert!(text == expected, "of rank {rank}: {} bytes of {}", text.len(), expected.len());
    }
    std::fs::remove_dir_all(folder).unwrap();
    // A reader that does not read does not keep the launcher from hearing.
    let mut job = Running::start(&mut on("a:1,b:1", PIPED, &[], "echo $$; exec seq 1000000000"));
    let pids = job.pids(1);
    std::thread::sleep(Duration::from_millis(300));
    job.signal(Signal::TERM);
    wait_until("the rank has ended", || is_gone(pids[0]));
    assert_eq!(job.finish().code, Some(143));
    // One that leaves ends the ranks by SIGPIPE.
    let mut job = Running::start(&mut on("a:1,b:1", PIPED, &[], "echo $$; exec seq 1000000000"));
    job.pids(1);
    job.close_output();
    assert_eq!(job.finish().code, Some(141));
}

#[test]
fn what_keeps_a_host_from_starting_is_said_with_its_name() {
    let version = "sh -c 'echo ringworld-run-host 0.0.1/7; exec cat >/dev/null' {host}";
    let noise = "sh -c 'exec yes' {host}";
    for (rsh, options, program, status, parts) in [
        (BARE, &[][..], "./no-such-program", 127, &["a: there is no program ./no-such-program"][..]),
        (BARE, &["--wdir", "/no/such"], "true", 2, &["a: --wdir /no/such"]),
        (BARE, &["--remote", "no-such-ringworld"], "true", 1, &["on a", "status 127", "--remote"]),
        (
            "sh -c 'echo unreachable >&2; exit 255' {host}",
            &[],
            "true",
            1,
            &["a: unreachable", "on a", "status 255"],
        ),
        ("/no/such/rsh", &[], "true", 1, &["cannot start /no/such/rsh", "on a"]),
        (version, &[], "true", 1, &["on a", "of version 0.0.1/7, and this one of"]),
        (noise, &[], "true", 1, &["on a", "something else than ringworld answers"]),
    ] {
        let line = [&["--hosts", "a,b", "--rsh", rsh], options, &["--", program]].concat();
        let job = finish(&mut command(&line));
        // Whichever of the two was seen first.
        let err = job.err.replace("on b", "on a").replace(" b: ", " a: ");
        assert_eq!(job.code, Some(status), "{rsh}: {err}");
        assert!(parts.iter().all(|part| err.contains(part)), "{rsh}: {err}");
    }
}

#[test]
fn a_host_that_does_not_answer_is_named_and_nothing_starts_on_the_others() {
    let rsh = "sh -c 'if [ $0 = b ]; then exec sleep 1000; fi; exec \"$@\"' {host}";
    let mut job = on("a:1,b:1", rsh, &[], "echo started");
    let job = finish(job.env("RINGWORLD_TIMEOUT", "1s"));
    assert_eq!((job.code, job.out.as_str()), (Some(1), ""), "{}", job.err);
    assert!(job.err.contains("b: hosts that have not answered within 1s"), "{}", job.err);
    assert!(job.took < BOUND / 2, "{:?}", job.took);
    // Nor is a user kept waiting who has seen it coming.
    let file = std::env::temp_dir().join(format!("ringworld-called-{}", std::process::id()));
    let called = format!("> {}; exec sleep 1000", file.display());
    let job =
        Running::start(&mut on("a:1,b:1", &rsh.replace("exec sleep 1000", &called), &[], "echo started"));
    wait_until("both hosts are called", || file.exists());
    std::fs::remove_file(file).unwrap();
    job.signal(Signal::INT);
    let job = job.finish();
    assert_eq!((job.code, job.out.as_str()), (Some(130), ""), "{}", job.err);
}

#[test]
fn what_shells_say_before_is_shown_and_not_taken_for_the_helper() {
    let rsh = "sh -c 'echo Welcome to $0; printf \"prompt> \"; exec \"$@\"' {host}";
    let job = run("a:1", rsh, &[], "echo works");
    assert_eq!((job.code, job.out.as_str()), (Some(0), "works\n"), "{}", job.err);
    assert!(job.err.contains("a: Welcome to a"), "{}", job.err);
}

#[test]
fn files_times_and_limits_are_as_on_one_host() {
    let folder = std::env::temp_dir().join(format!("ringworld-hosts-{}", std::process::id()));
    let job = run("a:1,b:1", BARE, &["--output-dir", folder.to_str().unwrap()], "echo from $RANK on $AT");
    assert_eq!((job.code, job.out.as_str()), (Some(0), ""), "{}", job.err);
    for (rank, host) in [(0, "a"), (1, "b")] {
        let text = std::fs::read_to_string(folder.join(format!("rank-{rank}.log"))).unwrap();
        assert_eq!(text, format!("from {rank} on {host}\n"));
    }
    std::fs::remove_dir_all(folder).unwrap();
    let job = run("a:1,b:1", PIPED, &["--timeout", "0.5"], "sleep 300");
    assert_eq!(job.code, Some(124), "{}", job.err);
    let said = "[ $RANK = 1 ] || { sleep 0.5; seq 50; exit 0; }; echo cause >&2; exit 4";
    let job = run("a:1,b:1", BARE, &["--grace", "5"], &format!("trap '' TERM; {said}"));
    assert_eq!(job.code, Some(4), "{}", job.err);
    assert!(job.err.contains("the last lines of rank 1"), "{}", job.err);
}

#[test]
fn lists_of_hosts_that_cannot_be_meant_are_refused() {
    let file = std::env::temp_dir().join(format!("ringworld-hostfile-{}", std::process::id()));
    let name = file.to_str().unwrap();
    std::fs::write(&file, "a slots=1 # one\nb slots=2\n").unwrap();
    let job = finish(&mut command(&["--hostfile", name, "--rsh", BARE, "sh", "-c", "echo $RANK $AT"]));
    assert_eq!((job.code, job.sorted()), (Some(0), vec!["0 a", "1 b", "2 b"]), "{}", job.err);
    let job = finish(&mut command(&["-n", "4", "--hostfile", name, "true"]));
    assert_eq!(job.code, Some(2), "{}", job.err);
    assert!(job.err.contains("there is room for 3 (a:1, b:2)"), "{}", job.err);
    std::fs::write(&file, "a slots=1\nb cores=2\n").unwrap();
    let job = finish(&mut command(&["--hostfile", name, "true"]));
    assert!(job.code == Some(2) && job.err.contains(&format!("{name}:2: \"cores=2\"")), "{}", job.err);
    std::fs::remove_file(&file).unwrap();
    let job = finish(&mut command(&["--hostfile", name, "true"]));
    assert!(job.code == Some(2) && job.err.contains("cannot read the host file"), "{}", job.err);
    for (line, part) in [
        (&["--hosts", "a", "--nnodes", "2", "--master", "x:1", "true"][..], "--nnodes"),
        (&["--hosts", "-oProxyCommand=x", "true"], "no name of a host"),
        (&["--hosts", "a:2", "--stdin", "2", "true"], "there is no rank 2 for --stdin"),
        (&["--hosts", "a", "--rsh", "ssh '", "true"], "--rsh"),
        (&["--hosts", "a:2", "true", ":", "-x", "RANK=1", "true"], "set by the launcher"),
        (&["--master", "x:1", "true", ":", "true"], "use --hosts"),
    ] {
        let job = finish(&mut command(line));
        assert!(job.code == Some(2) && job.err.contains(part), "{line:?}: {}", job.err);
    }
}

#[test]
fn the_helper_is_for_the_launcher_only() {
    let job = finish(&mut crate::common::ringworld(&["run-host", "x"]));
    assert!(job.code == Some(2) && job.err.contains("ringworld run --hosts"), "{}", job.err);
    // It says who it is, and goes when nobody is there.
    let job = finish(&mut crate::common::ringworld(&["run-host"]));
    assert!(job.code == Some(0) && job.out.starts_with("ringworld-run-host "), "{}{}", job.out, job.err);
}
