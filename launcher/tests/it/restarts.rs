//! Ranks that fail and are started again, and failures that a job bears. Worlds that go on are in the tests of the
//! whole workspace; here ranks are scripts, and what counts is which of them run, with what, and how the job ends.

use crate::common::{
    BOUND, Finished, Running, command, finish, is_gone, ringworld, script, state, wait_until,
};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// An empty folder of this test's, which the ranks know as `$D`; and the option that tells them.
fn folder(name: &str) -> (PathBuf, String) {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("restarts-{name}-{}", std::process::id()));
    // There may be one of an earlier process with that number.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let option = format!("D={}", folder.display());
    (folder, option)
}

/// What the launcher has said, a line each, without its name and without numbers of processes.
fn sentences(job: &Finished) -> Vec<String> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let lines = job.err.lines().filter_map(|line| line.strip_prefix("ringworld run: "));
    lines
        .map(|line| {
            match line
                .split_once(" (pid ")
                .and_then(|(before, after)| Some((before, after.split_once(')')?.1)))
            {
                Some((before, after)) => format!("{before}{}", after.replacen(&format!(" on {host}"), "", 1)),
                None => line.to_owned(),
            }
        })
        .collect()
}

#[test]
fn a_rank_that_fails_is_started_again_as_it_was_and_told_that_the_world_runs() {
    let (folder, option) = folder("same");
    // What has to be the same, and what tells the two apart; one is killed, another gives up.
    let body = "echo $LOCAL_RANK/$RANK/$WORLD_SIZE $MASTER_NODE:${MASTER_PORT:+port} $RINGWORLD_ELASTIC \
                $RINGWORLD_MIN_RANKS/$RINGWORLD_MAX_RANKS ${RINGWORLD_REJOIN-first} $KEPT $(pwd -P) \
                $(readlink /proc/$$/fd/$RINGWORLD_SECRET_FD) $(grep Cpus_allowed_list /proc/self/status | cut -f2) \
                $((RINGWORLD_PARENT_PID == PPID)) $(($(cut -d' ' -f5 /proc/$$/stat) == $$))
                [ $LOCAL_RANK = 0 ] && { until [ $(ls $D | wc -l) = 2 ]; do sleep 0.01; done; exit 0; }
                [ $RINGWORLD_REJOIN ] && { : > $D/$LOCAL_RANK; exit 0; }
                [ $LOCAL_RANK = 1 ] && kill -9 $$; exit 7";
    let options = ["-n", "3", "--restarts", "2", "--min-ranks", "2", "--max-ranks", "5", "--tag-output"];
    let options = [&options[..], &["--wdir", "/", "-x", &option, "-x", "KEPT=kept"]].concat();
    let job = finish(script(&options, body).env("RINGWORLD_ELASTIC", "1").env("RINGWORLD_REJOIN", "1"));
    assert_eq!(job.code, Some(0), "{}", job.err);
    let lines = job.sorted();
    assert_eq!(lines.len(), 5, "{lines:?}");
    for (rank, count) in [(0, 1), (1, 2), (2, 2)] {
        let label = format!("[{rank}] {rank}/{rank}/3 127.0.0.1:port 1 2/5 ");
        let mine: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(label.as_str())).collect();
        assert_eq!(mine.len(), count, "{lines:?}");
        let mut who: Vec<&str> = mine.iter().map(|line| line.split(' ').next().unwrap()).collect();
        who.sort_unstable();
        assert_eq!(who, ["1", "first"][2 - count..], "{lines:?}");
        let same = |line: &&str| line.split_once(' ').unwrap().1.to_owned();
        let rest: Vec<String> = mine.iter().map(same).collect();
        assert!(rest.iter().all(|line| *line == rest[0]), "{rest:?}");
        assert!(rest[0].starts_with("kept / /memfd:ringworld") && rest[0].ends_with(" 1 1"), "{rest:?}");
    }
    let mut said = sentences(&job);
    said.sort_unstable();
    assert_eq!(said.len(), 2);
    assert!(said[0].starts_with("rank 1 was killed by signal 9 (SIGKILL); starting it again ("), "{said:?}");
    assert!(said[1].starts_with("rank 2 exited with status 7; starting it again ("), "{said:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_rank_keeps_the_core_that_it_was_bound_to() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        println!("SKIPPED: this needs two processors");
        return;
    }
    let (folder, option) = folder("cores");
    let body = "grep Cpus_allowed_list /proc/self/status
                [ $LOCAL_RANK = 0 ] && { until [ -e $D/1 ]; do sleep 0.01; done; exit 0; }
                [ $RINGWORLD_REJOIN ] && { : > $D/1; exit 0; }
                exit 7";
    let options = ["-n", "2", "--restarts", "1", "--bind-to", "core", "--tag-output", "-x", &option];
    let job = finish(&mut script(&options, body));
    assert_eq!(job.code, Some(0), "{}", job.err);
    let lines = job.sorted();
    assert!(lines.len() == 3 && lines[1] == lines[2] && lines[0] != lines[1], "{lines:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_a_dead_rank_has_left_is_gone_before_it_is_started_again() {
    let (folder, option) = folder("left");
    // It leaves a process that ignores requests to end and writes on.
    let body = "[ $LOCAL_RANK = 0 ] && { until [ -e $D/done ]; do sleep 0.01; done; exit 0; }
                if [ $RINGWORLD_REJOIN ]; then
                    while grep -s State: /proc/$(cat $D/left)/status | grep -qv '[ZX] ('; do sleep 0.01; done
                    : > $D/done; exit 0
                fi
                (trap '' TERM INT HUP; while :; do echo left; sleep 0.01; done) &
                echo $! > $D/left; exit 3";
    let job = finish(&mut script(&["-n", "2", "--restarts", "1", "--timeout", "30", "-x", &option], body));
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_rank_that_was_replaced_is_reaped() {
    let body = "[ $LOCAL_RANK = 1 ] && [ -z $RINGWORLD_REJOIN ] && { echo $$; exit 3; }; exec sleep 300";
    let mut job = Running::start(&mut script(&["-n", "2", "--restarts", "1"], body));
    let first = job.pids(1)[0];
    wait_until("the first is reaped", || state(first).is_none());
    assert!(!job.has_ended());
    job.signal(Signal::TERM);
    assert_eq!(job.finish().code, Some(143));
}

#[test]
fn restarts_end_and_then_ranks_are_missed_until_they_are_too_few() {
    // One fails whenever it is started; the others stay.
    let body = "[ $LOCAL_RANK = 1 ] && exit 4; exec sleep 1.5";
    let job = finish(&mut script(&["-n", "3", "--restarts", "2"], body));
    assert_eq!(
        (job.code, sentences(&job)),
        (
            Some(0),
            vec![
                "rank 1 exited with status 4; starting it again (1 of 2)".to_owned(),
                "rank 1 exited with status 4; starting it again in 100ms (2 of 2)".to_owned(),
                "rank 1 exited with status 4; 2 of 3 ranks go on".to_owned(),
            ]
        )
    );
    let body = "[ $LOCAL_RANK = 1 ] && exit 4; exec sleep 300";
    let job = finish(&mut script(&["-n", "3", "--restarts", "1", "--min-ranks", "3"], body));
    assert_eq!(job.code, Some(4));
    let last = "rank 1 exited with status 4; no restart is left of 1, and fewer than --min-ranks 3 are left; ending \
                the other 2 ranks";
    assert_eq!(sentences(&job)[1..], [last]);
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
    // Without restarts, one after the other; those that are left are ended, whatever they do.
    let body = "trap '' TERM; case $LOCAL_RANK in 3) exit 3;; 2) sleep 0.5; kill -9 $$;; esac; sleep 300";
    let job = finish(&mut script(&["-n", "4", "--min-ranks", "3", "--grace", "0.2"], body));
    assert_eq!(job.code, Some(137), "{}", job.err);
    let said = sentences(&job);
    assert_eq!(said[0], "rank 3 exited with status 3; 3 of 4 ranks go on");
    assert!(
        said[1].starts_with("rank 2 was killed by signal 9 (SIGKILL); fewer than --min-ranks 3 are left;"),
        "{said:?}"
    );
    assert!(
        said[2].starts_with("rank 0, rank 1 (pid ") && said[2].contains("within --grace 200ms"),
        "{said:?}"
    );
}

#[test]
fn the_least_may_also_be_a_setting() {
    let body = "[ $LOCAL_RANK = 1 ] && exit 4; exec sleep 300";
    let job = finish(
        script(&["-n", "3", "--restarts", "0"], body)
            .env("RINGWORLD_ELASTIC", "1")
            .env("RINGWORLD_MIN_RANKS", "3"),
    );
    assert_eq!(job.code, Some(4), "{}", job.err);
    assert!(job.err.contains("fewer than --min-ranks 3 are left"), "{}", job.err);
}

#[test]
fn a_job_of_which_all_ranks_fail_is_not_started_again() {
    let job = finish(&mut script(&["-n", "3", "--restarts", "100"], "exit 3"));
    assert_eq!(job.code, Some(3));
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
    assert!(
        job.err.ends_with("no rank is left that it could join if it were started again\n"),
        "{}",
        job.err
    );
    assert!(sentences(&job).len() <= 10, "{}", job.err);
    // As without restarts, the one that was killed is to blame, although the others are seen first.
    let (folder, option) = folder("all");
    let body = "[ $RINGWORLD_REJOIN ] && exec sleep 300
                if [ $RANK = 2 ]; then : > $D/post; sleep 0.05; kill -9 $$; fi
                until [ -e $D/post ]; do sleep 0.01; done; exit 1";
    let job = finish(&mut script(&["-n", "3", "--restarts", "100", "-x", &option], body));
    assert_eq!(job.code, Some(137), "{}", job.err);
    let last = sentences(&job).pop().unwrap();
    assert!(last.starts_with("rank 2 was killed by signal 9 (SIGKILL); no rank is left that"), "{last}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_last_rank_may_fail_once_all_others_have_ended_well() {
    let job = finish(&mut script(
        &["-n", "3", "--restarts", "3"],
        "[ $LOCAL_RANK = 1 ] || exit 0; sleep 0.5; exit 3",
    ));
    assert_eq!(
        (job.code, sentences(&job)),
        (Some(0), vec!["rank 1 exited with status 3 after all others had ended well".to_owned()])
    );
    // One that was started again and finds nobody.
    let body =
        "[ $LOCAL_RANK = 1 ] || { sleep 0.7; exit 0; }; [ $RINGWORLD_REJOIN ] || exit 9; sleep 1.2; exit 3";
    let job = finish(&mut script(&["-n", "3", "--restarts", "3"], body));
    assert_eq!(job.code, Some(0));
    assert_eq!(
        sentences(&job)[1],
        "rank 1 exited with status 3 after others had ended well; it was started again too late to join them"
    );
    // One that still waits to be started, since it has failed often.
    let (folder, option) = folder("waits");
    let body = "[ $LOCAL_RANK = 1 ] && { echo x >> $D/starts; exit 9; }
                until [ $(wc -l < $D/starts) = 6 ]; do sleep 0.02; done; sleep 0.3";
    let job = finish(&mut script(&["-n", "2", "--restarts", "30", "-x", &option], body));
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(job.code, Some(0), "{}", job.err);
    let said = sentences(&job);
    assert_eq!(said.last().unwrap(), "rank 1 is not started again: all others have ended well", "{said:?}");
}

#[test]
fn ctrl_c_ends_a_job_in_which_a_rank_is_about_to_be_started() {
    // It fails so often that it waits for its turn most of the time.
    let body = "echo $$ >> $D/pids; [ $LOCAL_RANK = 1 ] && exit 9; echo ready; exec sleep 300";
    for signal in [Signal::INT, Signal::TERM] {
        let (folder, option) = folder(if signal == Signal::INT { "int" } else { "term" });
        let pids = || -> Vec<i32> {
            let text = std::fs::read_to_string(folder.join("pids")).unwrap_or_default();
            text.lines().map(|line| line.parse().unwrap()).collect()
        };
        let mut job = Running::start(&mut script(&["-n", "3", "--restarts", "9", "-x", &option], body));
        job.lines(2);
        wait_until("one has failed often", || pids().len() >= 6);
        job.signal(signal);
        let job = job.finish();
        assert_eq!(job.code, Some(128 + signal.as_raw()), "{}", job.err);
        let told = sentences(&job).pop().unwrap();
        assert!(told.contains("; ending the job"), "the last word: {told}");
        assert!(pids().into_iter().all(is_gone));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn the_time_limit_holds() {
    let body = "[ $LOCAL_RANK = 1 ] && exit 9; exec sleep 300";
    let job = finish(&mut script(&["-n", "2", "--restarts", "100", "--timeout", "1.5"], body));
    assert_eq!(job.code, Some(124), "{}", job.err);
    assert!(job.took < Duration::from_secs(30), "{:?}", job.took);
}

#[test]
fn nothing_outlives_a_launcher_that_is_killed_after_restarts() {
    let body = "[ $LOCAL_RANK = 1 ] && [ -z $RINGWORLD_REJOIN ] && exit 9
                trap '' TERM INT HUP; echo $$; (echo $(exec sh -c 'echo $PPID'); while :; do sleep 1; done) & wait";
    let mut job = Running::start(&mut script(&["-n", "2", "--restarts", "1"], body));
    let pids = job.pids(4);
    assert!(pids.iter().all(|&pid| !is_gone(pid)), "{pids:?}");
    job.signal(Signal::KILL);
    wait_until("ranks and their children are gone", || pids.iter().all(|&pid| is_gone(pid)));
}

#[test]
fn the_guard_leaves_a_group_alone_that_is_no_longer_the_jobs() {
    let group = || {
        let mut sleep = std::process::Command::new("sleep");
        std::os::unix::process::CommandExt::process_group(sleep.arg("300"), 0);
        sleep.spawn().unwrap()
    };
    let (mut kept, mut ended) = (group(), group());
    let mut guard = ringworld(&["guard", "0"]).stdin(Stdio::piped()).spawn().unwrap();
    let told = format!("{0}\n{1}\nnot {0}\n", kept.id(), ended.id());
    guard.stdin.take().unwrap().write_all(told.as_bytes()).unwrap();
    assert!(guard.wait().unwrap().success());
    wait_until("the job's own is ended", || ended.try_wait().unwrap().is_some());
    assert!(kept.try_wait().unwrap().is_none());
    kept.kill().unwrap();
    kept.wait().unwrap();
}

#[test]
fn a_file_of_output_goes_on_with_what_the_next_process_writes() {
    let (folder, option) = folder("files");
    let logs = folder.join("logs");
    let body = "[ $LOCAL_RANK = 0 ] && { until [ -e $D/done ]; do sleep 0.01; done; exit 0; }
                [ $RINGWORLD_REJOIN ] && { echo second; : > $D/done; exit 0; }
                seq 3000; echo why >&2; printf unfinished; exit 3";
    let options = ["-n", "2", "--restarts", "1", "-x", &option, "--output-dir", logs.to_str().unwrap()];
    let job = finish(&mut script(&options, body));
    assert_eq!((job.code, &*job.out), (Some(0), ""), "{}", job.err);
    let text = std::fs::read_to_string(logs.join("rank-1.log")).unwrap();
    let mut lines: Vec<&str> = text.lines().filter(|line| *line != "why").collect();
    assert!(lines.pop().is_some_and(|last| last.ends_with("second")), "{lines:?}");
    assert_eq!(text.matches("unfinished").count(), 1);
    let numbers: Vec<u32> = lines.iter().filter_map(|line| line.parse().ok()).collect();
    assert!(numbers.iter().copied().eq(1..=3000), "{numbers:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_rank_that_is_started_again_has_an_empty_input_and_others_keep_theirs() {
    let (folder, option) = folder("input");
    let body =
        "if [ $LOCAL_RANK = 1 ] && [ -z $RINGWORLD_REJOIN ]; then read line; echo first $line; exit 3; fi
                echo $LOCAL_RANK got $(wc -c); : > $D/$LOCAL_RANK
                until [ -e $D/0 ]; do sleep 0.01; done";
    let mut start = script(&["-n", "2", "--restarts", "1", "--stdin", "all", "-x", &option], body);
    let mut job = Running::start(start.stdin(Stdio::piped()));
    let mut stdin = job.stdin();
    stdin.write_all(b"one\n").unwrap();
    assert_eq!(job.lines(2), ["first one", "1 got 0"]);
    stdin.write_all(b"two\n").unwrap();
    drop(stdin);
    let job = job.finish();
    assert_eq!((job.code, job.out.as_str()), (Some(0), "0 got 8\n"), "{}", job.err);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_rank_in_turn_and_several_at_once_are_started_again() {
    let (folder, option) = folder("turn");
    let body = "echo $$ > $D/$LOCAL_RANK.new; mv $D/$LOCAL_RANK.new $D/$LOCAL_RANK
                until [ -e $D/done ]; do sleep 0.02; done";
    let mut job = Running::start(&mut script(&["-n", "4", "--restarts", "8", "-x", &option], body));
    let pid = |rank: usize| -> Option<i32> {
        std::fs::read_to_string(folder.join(rank.to_string())).ok()?.trim().parse().ok()
    };
    let mut seen: Vec<i32> = Vec::new();
    let mut newcomer = |rank: usize| {
        wait_until("the rank runs", || pid(rank).is_some_and(|pid| !seen.contains(&pid)));
        let found = pid(rank).unwrap();
        seen.push(found);
        Pid::from_raw(found).unwrap()
    };
    let mut ranks: Vec<Pid> = (0..4).map(&mut newcomer).collect();
    for together in [&[0][..], &[1], &[2], &[3], &[0, 1], &[2, 3]] {
        // Those that were started again may be in the world by then.
        std::thread::sleep(Duration::from_millis(300));
        together.iter().for_each(|rank| kill_process(ranks[*rank], Signal::KILL).unwrap());
        together.iter().for_each(|rank| ranks[*rank] = newcomer(*rank));
    }
    assert!(!job.has_ended());
    std::fs::write(folder.join("done"), "").unwrap();
    let job = job.finish();
    assert_eq!((job.code, sentences(&job).len()), (Some(0), 8), "{}", job.err);
    assert!(job.took < BOUND);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn on_several_hosts_each_launcher_starts_its_own_again() {
    // Nobody of this host is left meanwhile, and others may be.
    let options = ["-n", "1", "--nnodes", "2", "--master", "node7:4321", "--restarts", "1"];
    let two = [&options[..], &["--min-ranks", "2"]].concat();
    let body = "[ $RINGWORLD_REJOIN ] && exit 0; echo $RINGWORLD_ELASTIC $RINGWORLD_MIN_RANKS; kill -9 $$";
    let job = finish(&mut script(&two, body));
    assert_eq!((job.code, job.out.as_str()), (Some(0), "1 2\n"), "{}", job.err);
    let job = finish(&mut script(&two, "exit 3"));
    assert_eq!(job.code, Some(3));
    assert_eq!(
        sentences(&job),
        [
            "local rank 0 exited with status 3; starting it again (1 of 1)",
            "local rank 0 exited with status 3; no restart is left of 1, and no rank on this host",
        ]
    );
    // Others, which are enough, may go on; here is nothing left to do.
    let job = finish(&mut script(&[&options[..], &["--min-ranks", "1"]].concat(), "kill -9 $$"));
    assert_eq!(job.code, Some(137));
    let last =
        "local rank 0 was killed by signal 9 (SIGKILL); no restart is left of 1, and no rank on this host";
    assert_eq!(sentences(&job)[1..], [last]);
}

#[test]
fn a_rank_of_a_part_is_started_again_as_what_that_part_runs() {
    let (folder, option) = folder("parts");
    let server = "until [ -e $D/done ]; do sleep 0.01; done; echo server $KIND";
    let client = "[ $RINGWORLD_REJOIN ] || kill -9 $$; echo client $KIND $LOCAL_RANK $(pwd -P); : > $D/done";
    let mut line = vec!["--restarts", "1", "-n", "1", "-x", &option, "-x", "KIND=first", "sh", "-c", server];
    line.extend([":", "-n", "1", "-x", &option, "-x", "KIND=second", "--wdir", "/", "sh", "-c", client]);
    let job = finish(&mut command(&line));
    let expected = vec!["client second 1 /", "server first"];
    assert_eq!((job.code, job.sorted()), (Some(0), expected), "{}", job.err);
    assert_eq!(sentences(&job), ["rank 1 was killed by signal 9 (SIGKILL); starting it again (1 of 1)"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_rank_that_is_started_again_learns_that_nobody_reads() {
    let (folder, option) = folder("nobody");
    // Rank 0 tells apart whether the second process could write, which it tries as soon as it runs.
    let body = "[ $LOCAL_RANK = 0 ] && { until [ -e $D/dead ]; do sleep 0.01; done; exit 0; }
                [ $RINGWORLD_REJOIN ] || { trap '' PIPE; while echo y; do sleep 0.01; done 2> /dev/null; exit 3; }
                yes; echo $? > $D/new; mv $D/new $D/dead";
    let mut job =
        Running::start(&mut script(&["-n", "2", "--restarts", "1", "--timeout", "30", "-x", &option], body));
    assert_eq!(job.lines(1), ["y"]);
    job.close_output();
    let job = job.finish();
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert_eq!(std::fs::read_to_string(folder.join("dead")).unwrap(), "141\n");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn mistakes_are_explained() {
    for (arguments, said) in [
        (&["--max-ranks", "4", "true"][..], "--max-ranks 4 is for a world that goes on"),
        (
            &["-n", "2", "--min-ranks", "3", "true"],
            "--min-ranks 3 can never be met: the job starts with 2 ranks",
        ),
        (&["-n", "3", "--restarts", "1", "--max-ranks", "2", "true"], "--max-ranks 2 is too few"),
        (&["--min-ranks", "0", "true"], "1 or more"),
        (&["--restarts", "-1", "true"], "--restarts"),
        (
            &["--restarts", "1", "-x", "RINGWORLD_ELASTIC=0", "true"],
            "use --restarts, --min-ranks and --max-ranks",
        ),
        (
            &["--restarts", "1", "true", ":", "-x", "RINGWORLD_MIN_RANKS=1", "true"],
            "--env RINGWORLD_MIN_RANKS: this variable is set by the launcher",
        ),
        (&["--hosts", "a:2,b:1", "--min-ranks", "4", "true"], "the job starts with 3 ranks"),
        (&["--hosts", "a:2", "--max-ranks", "1", "true"], "is for a world that goes on"),
    ] {
        let job = finish(&mut command(arguments));
        assert_eq!(job.code, Some(2), "{arguments:?}: {}", job.err);
        assert!(job.err.contains(said), "{arguments:?}: {}", job.err);
    }
}

/// Becomes the program, as a login on another host that passes no variables on.
const BARE: &str = "env -i PATH=/usr/local/bin:/usr/bin:/bin AT={host}";

/// A script on two hosts, with two ranks each.
fn on_hosts(options: &[&str], body: &str) -> Finished {
    let hosts = ["--hosts", "a:2,b:2", "--rsh", BARE];
    finish(&mut command(&[&hosts[..], options, &["--", "sh", "-c", body]].concat()))
}

/// What was said, without numbers of processes.
fn said_of_hosts(job: &Finished) -> Vec<String> {
    let lines = job.err.lines().filter_map(|line| line.strip_prefix("ringworld run: "));
    let without =
        |line: &str| match line.split_once(" (pid ").and_then(|(a, b)| Some((a, b.split_once(')')?.1))) {
            Some((before, after)) => format!("{before}{after}"),
            None => line.to_owned(),
        };
    let mut said: Vec<String> = lines.map(without).collect();
    said.sort_unstable();
    said
}

#[test]
fn ranks_of_other_hosts_are_started_again_there_as_they_were() {
    let (folder, option) = folder("hosts");
    let body = "echo $AT $RANK/$WORLD_SIZE $LOCAL_RANK $RINGWORLD_ELASTIC $RINGWORLD_MIN_RANKS/$RINGWORLD_MAX_RANKS \
                ${RINGWORLD_REJOIN-first}; echo words $RANK >&2
                [ $RANK = 0 ] || [ $RANK = 3 ] && { until [ $(ls $D | wc -l) = 2 ]; do sleep 0.01; done; exit 0; }
                [ $RINGWORLD_REJOIN ] && { : > $D/$RANK; exit 0; }
                [ $RANK = 1 ] && kill -9 $$; exit 7";
    let options = ["--restarts", "2", "--min-ranks", "2", "--max-ranks", "5", "--tag-output", "-x", &option];
    let job = on_hosts(&options, body);
    assert_eq!(job.code, Some(0), "{}", job.err);
    let expected = [
        "[0] a 0/4 0 1 2/5 first",
        "[1] a 1/4 1 1 2/5 1",
        "[1] a 1/4 1 1 2/5 first",
        "[2] b 2/4 0 1 2/5 1",
        "[2] b 2/4 0 1 2/5 first",
        "[3] b 3/4 1 1 2/5 first",
    ];
    assert_eq!(job.sorted(), expected);
    assert_eq!(job.err.lines().filter(|line| line.contains("words 2")).count(), 2, "{}", job.err);
    let said = said_of_hosts(&job);
    let number = |text: &str| said.iter().filter(|line| line.contains(text)).count();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(number("rank 1 on a was killed by signal 9 (SIGKILL); starting it again ("), 1, "{said:?}");
    assert_eq!(number("rank 2 on b exited with status 7; starting it again ("), 1, "{said:?}");
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_lost_host_is_missed_and_its_ranks_are_not_started_elsewhere() {
    // A rank of the second host ends the helper that has started it, once that has said so: before, the job has not
    // begun, and is not begun without a host.
    let body = "[ $RANK = 3 ] && sleep 0.5 && kill -9 $RINGWORLD_PARENT_PID; [ $AT = a ] && sleep 2 && exit 0; \
                sleep 60";
    let job = on_hosts(&["--restarts", "9", "--min-ranks", "2"], body);
    let said = said_of_hosts(&job);
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert!(said.iter().any(|line| line.starts_with("lost the connection to b: ")), "{said:?}");
    for rank in [2, 3] {
        let line = format!("rank {rank} on b was lost with its host; 2 of 4 ranks go on");
        assert!(said.contains(&line), "no {line:?} in {said:?}");
    }
    let job = on_hosts(&["--restarts", "9", "--min-ranks", "3"], body);
    let said = said_of_hosts(&job);
    assert_eq!(job.code, Some(1), "{}", job.err);
    // Which of the two is the first is anybody's guess.
    let end = " on b was lost with its host; fewer than --min-ranks 3 are left; ending the other 2 ranks";
    assert!(said.iter().any(|line| line.ends_with(end)), "{said:?}");
}

#[test]
fn too_few_on_all_hosts_end_the_job_with_the_status_that_could_not_be_mended() {
    let body = "[ $RANK = 2 ] && exit 7; sleep 60";
    let job = on_hosts(&["--restarts", "2", "--min-ranks", "4"], body);
    assert_eq!(job.code, Some(7), "{}", job.err);
    let said = said_of_hosts(&job);
    let end = "rank 2 on b exited with status 7; no restart is left of 2, and fewer than --min-ranks 4 are left; \
               ending the other 3 ranks";
    assert!(said.iter().any(|line| line == end), "{said:?}");
}
