//! What goes in and out: lines, tags, bytes, standard input, environment, and sentences for mistakes.

use crate::common::{Running, command, finish, script};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

#[test]
fn every_line_is_tagged_with_its_rank() {
    let job = finish(&mut script(&["-n", "3", "--tag-output"], "echo a; echo; printf 'b %s' $RANK"));
    let mut pieces: Vec<&str> = job.out.lines().collect();
    pieces.sort_unstable();
    assert_eq!(pieces, ["[0] ", "[0] a", "[0] b 0", "[1] ", "[1] a", "[1] b 1", "[2] ", "[2] a", "[2] b 2"]);
    assert_eq!(job.code, Some(0));
}

#[test]
fn errors_are_tagged_on_their_own_stream() {
    let job = finish(&mut script(&["-n", "1", "--tag-output"], "echo out; echo err >&2"));
    assert_eq!((job.out.as_str(), job.err.as_str()), ("[0] out\n", "[0] err\n"));
}

#[test]
fn lines_carry_the_time_when_asked() {
    let job = finish(&mut script(&["--timestamp-output", "--tag-output"], "echo x"));
    let (time, rest) = job.out.split_once(' ').unwrap();
    assert_eq!(rest, "[0] x\n");
    assert_eq!((time.len(), time.as_bytes()[10], time.as_bytes()[23]), (24, b'T', b'Z'), "{time}");
}

#[test]
fn lines_of_many_ranks_are_never_mixed_and_keep_their_order() {
    let body = "i=0; while [ $i -lt 500 ]; do printf \"$RANK \"; printf \"$i \"; echo end; i=$((i+1)); done";
    let job = finish(&mut script(&["-n", "8"], body));
    assert_eq!(job.code, Some(0), "{}", job.err);
    for rank in 0..8 {
        let mine: Vec<&str> = job.out.lines().filter(|line| line.starts_with(&format!("{rank} "))).collect();
        let expected: Vec<String> = (0..500).map(|i| format!("{rank} {i} end")).collect();
        assert_eq!(mine, expected, "rank {rank}");
    }
    assert_eq!(job.out.lines().count(), 4000);
}

#[test]
fn bytes_pass_unchanged() {
    let all: Vec<u8> = (0..=255).collect();
    let path = std::env::temp_dir().join(format!("ringworld-bytes-{}", std::process::id()));
    std::fs::write(&path, &all).unwrap();
    let mut job = Running::start(&mut command(&["cat", path.to_str().unwrap()]));
    assert_eq!(job.bytes(256), all);
    assert_eq!(job.finish().code, Some(0));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_large_output_arrives_whole() {
    let job = finish(&mut script(&["-n", "2"], "head -c 20000000 /dev/zero"));
    assert_eq!((job.code, job.out.len()), (Some(0), 40_000_000));
}

#[test]
fn a_prompt_without_line_end_is_shown_while_the_rank_waits() {
    let mut start = script(&["-n", "1"], "printf 'name? '; read name; echo hello $name");
    start.stdin(Stdio::piped());
    let mut job = Running::start(&mut start);
    let mut stdin = job.stdin();
    assert_eq!(job.bytes(6), b"name? ");
    stdin.write_all(b"Ada\n").unwrap();
    let job = job.finish();
    assert_eq!((job.out.as_str(), job.code), ("hello Ada\n", Some(0)));
}

#[test]
fn only_rank_0_gets_the_standard_input() {
    let mut start = script(&["-n", "3", "--tag-output"], "echo got $(wc -c)");
    start.stdin(Stdio::piped());
    let mut job = Running::start(&mut start);
    let mut stdin = job.stdin();
    stdin.write_all(&vec![b'x'; 1_000_000]).unwrap();
    drop(stdin);
    assert_eq!(job.finish().sorted(), ["[0] got 1000000", "[1] got 0", "[2] got 0"]);
}

#[test]
fn any_rank_or_all_or_none_may_read_the_standard_input() {
    for (who, got) in [("2", ["0", "0", "70000"]), ("all", ["70000"; 3]), ("none", ["0"; 3])] {
        let mut start = script(&["-n", "3", "--stdin", who, "--tag-output"], "echo got $(wc -c)");
        start.stdin(Stdio::piped());
        let mut job = Running::start(&mut start);
        let mut stdin = job.stdin();
        // With nobody to read there may be nobody to write to.
        let _ = stdin.write_all(&vec![b'x'; 70_000]);
        drop(stdin);
        let expected: Vec<String> = (0..3).map(|rank| format!("[{rank}] got {}", got[rank])).collect();
        assert_eq!(job.finish().sorted(), expected, "--stdin {who}");
    }
}

#[test]
fn without_input_a_job_takes_nothing_from_a_loop_that_reads() {
    let launcher = env!("CARGO_BIN_EXE_ringworld");
    let body =
        format!("printf 'a\\nb\\nc\\n' | while read x; do {launcher} run --stdin none -- echo $x; done");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &body]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert_eq!(finish(&mut shell).out, "a\nb\nc\n");
}

/// The same command, with its output on a disk that is full.
fn on_a_full_disk(command: &mut std::process::Command) -> crate::common::Finished {
    finish(command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap()))
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    // Ranks that have ended, and ranks that write on.
    for line in [&["echo", "hi"][..], &["-n", "2", "yes"]] {
        let job = on_a_full_disk(&mut command(line));
        assert_eq!(job.code, Some(1), "{line:?}: {}", job.err);
        let said = "ringworld run: cannot write to standard output: No space left on device";
        assert!(job.err.starts_with(said) && job.err.lines().count() == 1, "{line:?}: {}", job.err);
    }
    let job = finish(
        command(&["sh", "-c", "echo hi >&2"])
            .stderr(std::fs::File::options().write(true).open("/dev/full").unwrap()),
    );
    assert_eq!(job.code, Some(1));
}

#[test]
fn that_output_is_lost_is_said_also_to_a_slow_reader() {
    let (mut reader, mut said) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&said, true).unwrap();
    while said.write(&[b'.'; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&said, false).unwrap();
    // A line without an end, whose pipe stays open, is printed last of all.
    let mut start = script(&["-n", "2"], "sleep 300 & printf hi");
    start.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap()).stderr(said);
    let mut job = Running::start(&mut start);
    drop(start);
    let begun = std::time::Instant::now();
    while !job.has_ended() && begun.elapsed() < std::time::Duration::from_millis(500) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(job.finish().code, Some(1));
    assert!(text.contains("cannot write to standard output: No space left"), "{}", text.trim_matches('.'));
}

#[test]
fn no_report_is_lost_on_a_full_disk() {
    for line in [
        &["info"][..],
        &["info", "--tuning"],
        &["simulate", "broadcast", "-n", "4"],
        &["simulate", "broadcast", "-n", "4", "--json"],
        &["explain", "broadcast", "-n", "4"],
        &["bench", "--max", "8", "--budget", "10ms"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
        &["run", "--help"],
    ] {
        let job = on_a_full_disk(&mut crate::common::ringworld(line));
        assert_eq!(job.code, Some(1), "{line:?}: {}", job.err);
        assert!(job.err.contains("cannot write to standard output: No space left"), "{line:?}: {}", job.err);
    }
}

#[test]
fn a_reader_that_leaves_ends_the_job_as_in_a_pipeline() {
    let mut job = Running::start(&mut command(&["-n", "2", "yes"]));
    assert_eq!(job.lines(1), ["y"]);
    job.close_output();
    let job = job.finish();
    assert_eq!(job.code, Some(128 + 13), "{}", job.err);
}

#[test]
fn ranks_are_told_who_they_are_and_where_to_meet() {
    let body = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NUM_NODES $MASTER_NODE ${MASTER_PORT:+port} \
                $RINGWORLD_MASTER_EXTERNAL ${RINGWORLD_SECRET_FD:+fd} $((RINGWORLD_PARENT_PID == PPID)) \
                ${RINGWORLD_JOB:+job}";
    let job = finish(&mut script(&["-n", "2"], body));
    assert_eq!(job.sorted(), ["0/2 0/2 1 127.0.0.1 port 1 fd 1 job", "1/2 1/2 1 127.0.0.1 port 1 fd 1 job"]);
}

#[test]
fn a_given_secret_and_given_variables_are_passed_on() {
    let mut start =
        script(&["-x", "COLOUR=a=b c", "--env", "EMPTY="], "echo $RINGWORLD_SECRET:$COLOUR:${EMPTY-unset}");
    let job = finish(start.env("RINGWORLD_SECRET", "mine"));
    assert_eq!(job.out, "mine:a=b c:\n", "{}", job.err);
}

#[test]
fn threads_are_counted_by_ranks_where_nobody_has_said_how_many() {
    let body = "echo ${OMP_NUM_THREADS-unset} ${RAYON_NUM_THREADS-unset}";
    let start = |options: &[&str]| {
        let mut start = script(options, body);
        start.env_remove("OMP_NUM_THREADS").env_remove("RAYON_NUM_THREADS");
        start
    };
    let processors = std::thread::available_parallelism().unwrap().get();
    for ranks in [1, 2, 100] {
        let share = (processors / ranks).max(1);
        let job = finish(&mut start(&["-n", &ranks.to_string()]));
        assert_eq!(job.out, format!("{share} {share}\n").repeat(ranks), "{}", job.err);
    }
    let job = finish(start(&["-n", "2", "-x", "OMP_NUM_THREADS=7"]).env("RAYON_NUM_THREADS", "5"));
    assert_eq!(job.out, "7 5\n".repeat(2), "{}", job.err);
    let job = finish(&mut start(&["--bind-to", "core"]));
    assert_eq!(job.out, "unset unset\n", "a rank that is bound sees its own processors");
}

/// An empty folder of this test's.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    // There may be one of an earlier process with that number.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

#[test]
fn ranks_work_elsewhere_where_that_is_asked_for() {
    let (here, elsewhere) = (folder("here"), folder("elsewhere"));
    let shown = elsewhere.to_str().unwrap();
    let job = finish(&mut script(&["-n", "2", "--wdir", shown], "pwd -P; echo $PWD"));
    assert_eq!(job.out, format!("{shown}\n").repeat(4), "{}", job.err);
    // The program is the one that is meant here, and not one of the same name there.
    for (place, word) in [(&here, "here"), (&elsewhere, "there")] {
        let program = place.join("program");
        std::fs::write(&program, format!("#!/bin/sh\necho {word} $(pwd -P)\n")).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut start = command(&["--wdir", shown, "./program"]);
    let job = finish(start.current_dir(&here));
    assert_eq!(job.out, format!("here {shown}\n"), "{}", job.err);
}

#[test]
fn each_rank_writes_to_a_file_of_its_own_where_that_is_asked_for() {
    let logs = folder("logs").join("not/there/yet");
    let shown = logs.to_str().unwrap();
    let read = |rank: usize| std::fs::read_to_string(logs.join(format!("rank-{rank}.log"))).unwrap();
    let job = finish(&mut script(
        &["-n", "3", "--output-dir", shown],
        "seq $RANK 1000; echo $RANK >&2; printf end",
    ));
    assert_eq!((job.code, &*job.out, &*job.err), (Some(0), "", ""));
    for rank in 0..3 {
        let mut lines: Vec<String> = (rank..=1000).map(|line| line.to_string()).collect();
        lines.extend([rank.to_string(), "end".to_owned()]);
        let mut found: Vec<String> = read(rank).lines().map(str::to_owned).collect();
        // Between the streams there is no order.
        lines.sort();
        found.sort();
        assert_eq!(found, lines);
    }
    // Another job's are written anew. What the launcher says is its own, and so is why a rank has failed.
    let body = "echo out; [ $RANK = 0 ] || { echo why >&2; exit 3; }; exec sleep 300";
    let job = finish(&mut script(&["-n", "2", "--output-dir", shown], body));
    assert_eq!((job.code, &*job.out, &*read(0)), (Some(3), "", "out\n"), "{}", job.err);
    assert!(job.err.contains("rank 1 (pid") && job.err.ends_with(":\nwhy\n"), "{}", job.err);
    for (arguments, said) in [
        (&["--output-dir", "/dev/null/x", "true"][..], "cannot make /dev/null/x"),
        (&["--output-dir", shown, "--tag-output", "true"][..], "cannot be used with"),
    ] {
        let job = finish(&mut command(arguments));
        assert!(job.code != Some(0) && job.err.contains(said), "{}", job.err);
    }
}

#[test]
fn a_file_that_cannot_be_written_ends_the_job() {
    let logs = folder("full");
    std::os::unix::fs::symlink("/dev/full", logs.join("rank-1.log")).unwrap();
    let job =
        finish(&mut script(&["-n", "2", "--output-dir", logs.to_str().unwrap()], "echo x; exec sleep 300"));
    assert!(job.code != Some(0) && job.err.contains("rank-1.log: No space left"), "{}", job.err);
}

#[test]
fn a_folder_of_statistics_that_is_left_over_is_in_nobodys_way() {
    // As after a launcher of this number that was killed, or one of another container that shares the folder.
    let place = folder("statistics");
    let launcher = env!("CARGO_BIN_EXE_ringworld");
    let line =
        format!("mkdir $TMPDIR/ringworld-statistics-$$; exec {launcher} run --statistics -n 2 -- true");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).env("TMPDIR", &place).stdin(Stdio::null());
    let job = finish(shell.stdout(Stdio::piped()).stderr(Stdio::piped()));
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert!(job.err.contains("no rank has ended a world"), "{}", job.err);
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1, "only what was there before is there");
}

#[test]
fn variables_of_an_outer_launcher_do_not_reach_the_ranks() {
    let body = "echo ${OMPI_COMM_WORLD_RANK-none} ${PMI_RANK-none} ${SLURM_PROCID-none} $RANK $KEPT";
    let mut start = script(&["-n", "1"], body);
    start.env("OMPI_COMM_WORLD_RANK", "5").env("PMI_RANK", "5").env("SLURM_PROCID", "5").env("RANK", "5");
    let job = finish(start.env("KEPT", "kept"));
    assert_eq!(job.out, "none none none 0 kept\n", "{}", job.err);
}

#[test]
fn variables_that_no_rank_will_hear_are_named() {
    let body = "echo $RANK/$WORLD_SIZE ${RINGWORLD_WORLD_SIZE-none}";
    let job = finish(script(&["-n", "3"], body).env("RINGWORLD_WORLD_SIZE", "7"));
    assert_eq!((job.code, job.sorted()), (Some(0), vec!["0/3 none", "1/3 none", "2/3 none"]), "{}", job.err);
    assert!(job.err.starts_with("ringworld run: RINGWORLD_WORLD_SIZE=7 is not heard: -n,"), "{}", job.err);
    assert_eq!(job.err.lines().count(), 1, "{}", job.err);
    let job = finish(script(&["-n", "2"], body).env("RINGWORLD_WORLD_SIZE", "2").env("WORLD_SIZE", "5"));
    assert_eq!((&*job.err, job.sorted()), ("", vec!["0/2 none", "1/2 none"]));
}

#[test]
fn a_launcher_that_a_rank_starts_says_nothing_of_the_world_around_it() {
    let inner =
        format!("exec {} run -n 1 -- sh -c 'echo $RANK/$WORLD_SIZE'", env!("CARGO_BIN_EXE_ringworld"));
    for options in [&["-n", "2"][..], &["-n", "2", "--nnodes", "1", "--master", "localhost:4321"]] {
        let job = finish(&mut script(options, &inner));
        assert_eq!((&*job.out, &*job.err), ("0/1\n0/1\n", ""), "{options:?}");
    }
}

#[test]
fn on_several_hosts_the_master_gives_out_the_ranks() {
    let options = ["-n", "2", "--nnodes", "3", "--master", "node7:4321"];
    let body = "echo ${RANK-unset}/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NUM_NODES $MASTER_NODE:$MASTER_PORT \
                ${RINGWORLD_MASTER_EXTERNAL-unset} ${RINGWORLD_SECRET_FD-unset}";
    let job = finish(&mut script(&options, body));
    assert_eq!(
        job.sorted(),
        ["unset/6 0/2 3 node7:4321 unset unset", "unset/6 1/2 3 node7:4321 unset unset"]
    );
    assert_eq!(job.err, "", "that there is no secret is said by the rank that serves, once for all hosts");
}

#[test]
fn mistakes_are_explained() {
    for (arguments, code, said) in [
        (&["-n", "9", "no-such-program"][..], 127, "no no-such-program in PATH"),
        (&["./no/such"][..], 127, "there is no program ./no/such"),
        (&["/etc/passwd"][..], 126, "/etc/passwd is not executable"),
        (&["/etc/"][..], 126, "is a folder"),
        (&["-n", "0", "true"][..], 2, "at least one"),
        (&["--master", "node0", "true"][..], 2, "the port is missing"),
        (&["--nnodes", "2", "true"][..], 2, "--master"),
        (&["-x", "RANK=3", "true"][..], 2, "set by the launcher"),
        (&["--grace", "soon", "true"][..], 2, "such as 500ms"),
        (&["--wdir", "/no/such", "true"][..], 2, "--wdir /no/such: No such file or directory"),
        (&["--wdir", "/etc/passwd", "true"][..], 2, "--wdir /etc/passwd is no folder"),
        (&["--stdin", "some", "true"][..], 2, "expected none, all, or a local rank"),
        (
            &["-n", "2", "--stdin", "2", "true"][..],
            2,
            "there is no local rank 2 for --stdin; 2 ranks start here",
        ),
        (&[][..], 2, "PROGRAM"),
    ] {
        let job = finish(&mut command(arguments));
        assert_eq!(job.code, Some(code), "{arguments:?}: {}", job.err);
        assert!(job.err.contains(said), "{arguments:?}: {}", job.err);
        // clap adds a usage line; the launcher's own sentences stand alone, however many ranks there are.
        assert!(code == 2 || job.err.lines().count() == 1, "{arguments:?}: {}", job.err);
    }
}

#[test]
fn a_setting_that_cannot_be_meant_is_refused_before_anything_starts() {
    let mut start = script(&["-n", "2"], "echo started");
    let job = finish(start.env("RINGWORLD_TIMEOOUT", "3"));
    assert_eq!((job.code, job.out.as_str()), (Some(2), ""), "{}", job.err);
    assert!(job.err.contains("RINGWORLD_TIMEOUT"), "{}", job.err);
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_ends_nobody_by_a_signal() {
    let place = folder("limit");
    let logs = place.join("logs");
    let bounded = |command: &std::process::Command| {
        let mut bounded = std::process::Command::new("prlimit");
        bounded.args(["--fsize=4096", "--"]).arg(command.get_program()).args(command.get_args());
        finish(bounded.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))
    };
    let long = "head -c 9000 /dev/zero; exec sleep 300";
    let job = bounded(&script(&["-n", "2", "--output-dir", logs.to_str().unwrap()], long));
    let said = ["rank-", ".log: File too large", "`ulimit -f`"];
    assert!(
        job.code == Some(1) && said.iter().all(|part| job.err.contains(part)),
        "{:?} {}",
        job.code,
        job.err
    );
    let picture = place.join("x.svg");
    let line = ["explain", "broadcast", "-n", "40", "--svg", picture.to_str().unwrap()];
    let job = bounded(&crate::common::ringworld(&line));
    assert!(job.code == Some(1) && job.err.contains("`ulimit -f`"), "{:?} {}", job.code, job.err);
    // Programs have the signal as it was.
    let job = bounded(&script(&[], &format!("head -c 9000 /dev/zero > {}", place.join("x").display())));
    assert!(job.code.is_some_and(|code| code > 128), "{:?} {}", job.code, job.err);
}
