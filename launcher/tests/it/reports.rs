//! `ringworld info`, `ringworld check` and `ringworld bench`: what they print, and that wrong settings are explained.

use crate::common::{Finished, finish, ringworld};
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::net::TcpListener;

/// Whether a line contains all of these.
fn has(job: &Finished, parts: &[&str]) -> bool {
    job.out.lines().any(|line| parts.iter().all(|part| line.contains(part)))
}

/// A port that nobody listens on.
fn free_port() -> String {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string()
}

#[test]
fn info_shows_transports_interfaces_and_what_was_set_with_its_source() {
    let port = free_port();
    let mut info = ringworld(&["info"]);
    info.env("MASTER_NODE", "127.0.0.1").env("MASTER_PORT", &port).env("NUM_NODES", "3");
    let job = finish(&mut info);
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
    assert!(has(&job, &["tcp", "usable"]) && has(&job, &["shm", "usable"]), "{}", job.out);
    assert!(
        has(&job, &["a ring of 64 KiB", "up to 2 KiB"]) && has(&job, &["slots of 4 KiB", "4096 KiB"]),
        "{}",
        job.out
    );
    let board = ["a board for each rank", "8 channels", "34 MiB"];
    assert!(has(&job, &board) && has(&job, &["up to 8 ranks", "one host"]), "{}", job.out);
    // What a rank's socket gets, which need not be the system's own choice.
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    let accepts = |name: &&str| sockopt::set_tcp_congestion(&socket, name).is_ok();
    let default = ["cubic", "reno"].into_iter().find(accepts);
    let wanted =
        default.map_or("the system's".to_owned(), |name| format!("congestion control {name} (by default)"));
    assert!(has(&job, &[&wanted, "the kernel offers"]), "{}", job.out);
    assert!(has(&job, &[" lo ", "127.0.0.1/8"]), "{}", job.out);
    assert!(has(&job, &["world", "3 ranks"]), "{}", job.out);
    assert!(has(&job, &["master", "this host", &port, "nobody answers (Connection refused"]), "{}", job.out);
    assert!(has(&job, &["RINGWORLD_MASTER_NODE = 127.0.0.1", "environment MASTER_NODE"]), "{}", job.out);
    // What nobody set is only counted, unless it is asked for.
    assert!(!has(&job, &["RINGWORLD_TIMEOUT = "]) && has(&job, &["--all"]), "{}", job.out);
    assert!(job.out.lines().count() < 40, "{}", job.out);
    let all = finish(info.arg("--all"));
    for knob in ringworld_bootstrap::KNOBS {
        assert!(has(&all, &[&format!("  {} = ", knob.env())]), "{} is missing:\n{}", knob.key, all.out);
    }
}

#[test]
fn what_is_not_for_a_terminal_has_no_colours() {
    for arguments in
        [&["info"][..], &["info", "--tuning"], &["simulate", "broadcast", "-n", "4"], &["run", "-n", "0"]]
    {
        let job = finish(&mut ringworld(arguments));
        assert!(
            !job.out.contains('\x1b') && !job.err.contains('\x1b'),
            "{arguments:?}: {}{}",
            job.out,
            job.err
        );
        let job = finish(ringworld(arguments).env("CLICOLOR_FORCE", "1"));
        assert!(
            job.out.contains('\x1b') || job.err.contains('\x1b'),
            "{arguments:?}: {}{}",
            job.out,
            job.err
        );
        let job = finish(ringworld(arguments).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"));
        assert!(
            !job.out.contains('\x1b') && !job.err.contains('\x1b'),
            "{arguments:?}: {}{}",
            job.out,
            job.err
        );
    }
}

#[test]
fn shells_can_complete_the_command_line() {
    for (shell, part) in
        [("bash", "complete -F _ringworld"), ("zsh", "#compdef ringworld"), ("fish", "complete -c ringworld")]
    {
        let job = finish(&mut ringworld(&["completions", shell]));
        assert_eq!(job.code, Some(0), "{}", job.err);
        assert!(job.out.contains(part) && job.out.contains("simulate"), "{shell}: {}", job.out);
    }
}

#[test]
fn info_never_prints_the_secret() {
    let job = finish(ringworld(&["info"]).env("RINGWORLD_SECRET", "correct horse"));
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert!(job.out.contains("RINGWORLD_SECRET = ") && !job.out.contains("horse"), "{}", job.out);
}

#[test]
fn info_explains_a_wrong_choice_and_fails() {
    let job = finish(ringworld(&["info"]).env("RINGWORLD_IF_INCLUDE", "nosuch0"));
    assert_eq!(job.code, Some(2), "{}", job.err);
    assert!(job.out.contains("nosuch0") && job.out.contains("lo 127.0.0.1/8"), "{}", job.out);
    let job = finish(ringworld(&["info"]).env("RINGWORLD_TIMEOOUT", "3"));
    assert_eq!((job.code, job.out.as_str()), (Some(2), ""));
    assert!(job.err.contains("RINGWORLD_TIMEOUT"), "{}", job.err);
    let job = finish(ringworld(&["info"]).env("RINGWORLD_TCP_CONGESTION", "nosuch"));
    assert!(
        job.out.contains("congestion control nosuch (RINGWORLD_TCP_CONGESTION), which the kernel refuses")
    );
}

#[test]
fn info_shows_the_selection_of_algorithms() {
    let job = finish(&mut ringworld(&["info", "--tuning"]));
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert!(has(&job, &["3 ", " ranks  ", "recursive-doubling | 64K ring"]), "{}", job.out);
    let job = finish(&mut ringworld(&["info", "--tuning", "all_reduce", "--ranks", "3"]));
    assert!(job.out.starts_with("all-reduce on 3 ranks of several hosts\n  from 4 bytes"), "{}", job.out);
    assert!(!job.out.contains("broadcast"), "{}", job.out);
    let placed = ["info", "--tuning", "all_reduce", "--ranks", "8", "--ranks-per-host", "4"];
    let job = finish(&mut ringworld(&placed));
    assert!(job.out.starts_with("all-reduce on 8 ranks of 2 hosts, 4 on each\n"), "{}", job.out);
    assert!(has(&job, &["two-level"]) && !job.out.contains("several hosts"), "{}", job.out);
    let job =
        finish(ringworld(&["info", "--tuning", "broadcast"]).env("RINGWORLD_ALGORITHMS", "broadcast/chain"));
    assert!(job.out.contains("ranks  chain") && !job.out.contains("ranks  binomial"), "{}", job.out);
    for (arguments, said) in [
        (&["info", "--tuning", "braodcast"][..], "expected one of"),
        (&["info", "broadcast"], "--tuning"),
        (&["info", "--ranks-per-host", "4"], "--tuning"),
        (&["info", "--tuning", "--ranks-per-host", "0"], "--ranks-per-host"),
    ] {
        let job = finish(&mut ringworld(arguments));
        assert!(job.code == Some(2) && job.err.contains(said), "{arguments:?}: {}", job.err);
    }
}

#[test]
fn info_of_a_world_shows_which_transport_leads_where_and_why() {
    let program = ["run", "-n", "3", "--", env!("CARGO_BIN_EXE_ringworld"), "info", "--join"];
    let excluded = "tcp (no shm here: excluded by RINGWORLD_TRANSPORT)";
    for (setting, chosen) in
        [("", "shm (the best, and both ranks have it)"), ("^shm", excluded), ("tcp", excluded)]
    {
        let job = finish(ringworld(&program).env("RINGWORLD_TRANSPORT", setting));
        assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
        let lines: Vec<&str> = job.out.lines().map(str::trim).collect();
        assert_eq!(lines.len(), 6, "{}", job.out);
        assert!(lines[0].starts_with("rank 0 on ") && lines[1].starts_with("to 1-2 "), "{}", job.out);
        assert!(lines[3].starts_with("to 0,2 ") && lines[3].contains(chosen), "{}", job.out);
    }
}

#[test]
fn bench_measures_every_size_of_every_operation() {
    let sizes = ["--ops", "ping-pong,stream,all-reduce", "--min", "8", "--max", "256", "--budget", "20ms"];
    let sizes = [&sizes[..], &["--format", "csv"]].concat();
    let job = finish(&mut ringworld(&[&["bench", "-n", "2"], &sizes[..]].concat()));
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> = job.out.lines().map(|line| line.split(',').collect()).collect();
    let measured: Vec<(&str, &str)> = lines[1..].iter().map(|fields| (fields[0], fields[1])).collect();
    let expected: Vec<(&str, &str)> = ["ping-pong", "stream", "all-reduce"]
        .into_iter()
        .flat_map(|op| ["8", "16", "32", "64", "128", "256"].map(|size| (op, size)))
        .collect();
    assert_eq!(measured, expected);
    for fields in &lines[1..] {
        let numbers: Vec<f64> = fields[2..].iter().map(|field| field.parse().unwrap()).collect();
        let [calls, median, least, most, algorithm, bus] = numbers[..] else { panic!("{fields:?}") };
        assert!(calls >= 11.0 && 0.0 < least && least <= median && median <= most, "{fields:?}");
        // With two ranks, an all-reduce too moves the size once per rank.
        assert!(algorithm > 0.0 && (bus - algorithm).abs() <= 1e-6 * bus, "{fields:?}");
    }
}

#[test]
fn bench_times_each_call_by_itself_when_told_to() {
    let sizes = ["--min", "8", "--max", "8", "--budget", "20ms", "--each"];
    let job = finish(&mut ringworld(&[&["bench", "-n", "2"], &sizes[..]].concat()));
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
    assert!(job.out.contains("most of single calls"), "{}", job.out);
    let calls =
        job.out.lines().filter(|line| line.starts_with("ping-pong ") || line.starts_with("all-reduce "));
    let calls: Vec<u64> =
        calls.map(|line| line.split_whitespace().nth(2).unwrap().parse().unwrap()).collect();
    assert!(calls.len() == 2 && calls.iter().all(|calls| *calls >= 11), "{}", job.out);
}

#[test]
fn bench_prints_a_table_for_three_ranks() {
    let options = ["--ops", "all-reduce", "--min", "1K", "--max", "1K", "--budget", "20ms"];
    let job = finish(&mut ringworld(&[&["bench", "-n", "3"], &options[..]].concat()));
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
    assert!(
        job.out.contains("3 ranks on ") && job.out.contains("bus GB/s: what each rank's link carried"),
        "{}",
        job.out
    );
    assert!(job.out.contains("\n1 line, about 0 s in all\n"), "{}", job.out);
    assert_eq!(
        job.out.lines().filter(|line| line.starts_with("all-reduce       1K")).count(),
        1,
        "{}",
        job.out
    );
}

#[test]
fn bench_refuses_what_it_cannot_measure() {
    for (arguments, said) in [
        (&["--min", "64", "--max", "8"][..], "nothing to measure"),
        (&["-n", "1"][..], "ping-pong needs 2 ranks"),
        (&["--ops", "teleport"][..], "teleport"),
        (&["--max", "64Q"][..], "such as 8, 64K or 1M"),
    ] {
        let job = finish(&mut ringworld(&[&["bench"], arguments].concat()));
        assert_eq!(job.code, Some(2), "{arguments:?}: {}", job.err);
        assert!(job.err.contains(said), "{arguments:?}: {}", job.err);
        assert!(!job.err.contains("ringworld run"), "one error is enough: {}", job.err);
    }
}

#[test]
fn check_measures_every_two_ranks_of_a_host_over_every_transport() {
    let picture = std::env::temp_dir().join(format!("ringworld-check-{}.svg", std::process::id()));
    let myself = env!("CARGO_BIN_EXE_ringworld");
    let svg = picture.to_str().unwrap();
    let line = ["run", "-n", "3", myself, "check", "--json", "--budget", "20ms", "--svg", svg];
    let job = finish(&mut ringworld(&line));
    assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
    assert!(job.err.contains("6 measurements in 3 rounds, about 1 s in all"), "{}", job.err);
    let report: serde_json::Value = serde_json::from_str(&job.out).unwrap();
    let links = report["links"].as_array().unwrap();
    for transport in ["shm", "tcp"] {
        let of = links.iter().filter(|link| link["transport"] == transport);
        let pairs: Vec<_> =
            of.map(|link| (link["low"].as_u64().unwrap(), link["high"].as_u64().unwrap())).collect();
        assert_eq!(pairs, [(0, 1), (0, 2), (1, 2)], "{transport}");
    }
    for link in links {
        let measured = &link["measured"];
        let number = |key: &str| measured[key].as_f64().unwrap_or(f64::NAN);
        assert!(number("there_bytes_per_s") > 0.0 && number("latency_s") > 0.0, "{link}");
        assert!(number("clock_offset_s").abs() < 1.0, "one host has one clock: {link}");
    }
    let drawing = std::fs::read_to_string(&picture).unwrap();
    std::fs::remove_file(&picture).unwrap();
    let document = roxmltree::Document::parse(&drawing).unwrap();
    let titles = document.descendants().filter(|node| node.tag_name().name() == "title");
    assert_eq!(titles.count(), 12, "a square for each direction of each pair and transport");
}

#[test]
fn check_says_who_is_another_program_and_what_cannot_be_drawn() {
    let myself = env!("CARGO_BIN_EXE_ringworld");
    let script = r#"if [ "$RANK" = 1 ]; then exec "$0" info --join; else exec "$0" check; fi"#;
    let job = finish(&mut ringworld(&["run", "-n", "2", "sh", "-c", script, myself]));
    assert_eq!(job.code, Some(1));
    assert!(job.err.contains("is another program; start `ringworld check` of one version"), "{}", job.err);
    let job = finish(&mut ringworld(&["run", "-n", "2", myself, "check", "--svg", "/nonexistent/x.svg"]));
    assert_eq!(job.code, Some(1));
    assert!(job.err.contains("cannot write --svg /nonexistent/x.svg"), "{}", job.err);
}
