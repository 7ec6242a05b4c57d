//! `ringworld simulate` and `ringworld explain` of ranks that share hosts: how many there are and where, what each of
//! the numbers between and inside hosts does to the times, and that what cannot be is refused.
//!
//! Neighbours: `pictures.rs` for all that has nothing to do with hosts. What the times should be is tested in
//! `simulate/tests`; here only that they are those of the network that was asked for.

use crate::common::{Finished, finish, ringworld};

fn run(arguments: &[&str]) -> Finished {
    finish(&mut ringworld(arguments))
}

fn succeed(arguments: &[&str]) -> String {
    let job = run(arguments);
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""), "{arguments:?}: {}", job.out);
    job.out
}

/// What `simulate` foretells of one algorithm, in seconds.
fn seconds(arguments: &[&str]) -> f64 {
    let out = succeed(&[&["simulate"], arguments, &["--json"]].concat());
    let line: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
    line["seconds"].as_f64().unwrap_or_else(|| panic!("no time in {out}"))
}

/// The line that tells how ranks are placed.
fn placed(out: &str) -> Option<&str> {
    out.lines().find(|line| line.contains(" ranks on ") && line.contains(" hosts"))
}

const TWO_LEVEL: &str = "some ranks share a host, and its wire";

#[test]
fn hosts_and_ranks_are_counted_either_way() {
    let size = ["all-reduce", "--size", "8"];
    for command in ["simulate", "explain"] {
        let say = |place: &[&str]| succeed(&[&[command], &size[..], place].concat());
        let by_hosts = say(&["--hosts", "3", "--ranks-per-host", "2"]);
        assert!(by_hosts.contains(" on 6 ranks"), "{by_hosts}");
        let line = placed(&by_hosts).unwrap_or_else(|| panic!("{by_hosts}"));
        assert!(line.starts_with("6 ranks on 3 hosts, 2 on each: inside latency 300.0 ns"), "{line}");
        assert!(by_hosts.contains(TWO_LEVEL), "{by_hosts}");

        let by_ranks = say(&["--ranks", "6", "--ranks-per-host", "2"]);
        let first = |out: &str| out.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(first(&by_hosts), first(&by_ranks));

        // What is left over has a host of its own.
        let uneven = say(&["--ranks", "5", "--ranks-per-host", "2"]);
        assert!(placed(&uneven).is_some_and(|line| line.starts_with("5 ranks on 3 hosts, 1 to 2 on each")));

        // One on each is what there is without any word of hosts.
        let apart = say(&["--hosts", "6"]);
        assert!(apart.contains(" on 6 ranks") && placed(&apart).is_none(), "{apart}");
        assert!(!apart.contains(TWO_LEVEL), "{apart}");
        assert_eq!(first(&apart), first(&say(&["--ranks", "6"])));
    }
}

#[test]
fn ranks_of_one_host_share_memory_and_nothing_goes_between_hosts() {
    let one = ["all-reduce", "--size", "8", "--hosts", "1", "--ranks-per-host", "4", "--algorithm", "direct"];
    let time = |more: &[&str]| seconds(&[&one[..], more].concat());
    assert_eq!(time(&[]), time(&["--latency", "5ms", "--bandwidth", "1Mbit/s"]));
    assert!(time(&["--inside-latency", "5ms"]) > 4e-3);
    let out = succeed(&[&["simulate"], &one[..]].concat());
    assert!(out.contains("few ranks that share memory") && !out.contains(TWO_LEVEL), "{out}");
}

/// Each number by itself: a worse one takes longer, and a better one not as long.
#[test]
fn each_number_moves_the_time_its_way() {
    let place = ["--hosts", "4", "--ranks-per-host", "3"];
    for (size, number, better, worse) in [
        ("8", "--inside-latency", "10ns", "30us"),
        ("8", "--inside-overhead", "10ns", "30us"),
        ("4M", "--inside-bandwidth", "none", "200MB/s"),
        ("8", "--latency", "2us", "200us"),
        ("8", "--overhead", "10ns", "100us"),
        ("4M", "--bandwidth", "none", "1Gbit/s"),
    ] {
        for collective in ["all-reduce", "broadcast", "all-gather", "all-to-all"] {
            let question = [&[collective, "--size", size, "--algorithm", "two-level"][..], &place].concat();
            let time = |more: &[&str]| seconds(&[&question[..], more].concat());
            let (low, middle, high) = (time(&[number, better]), time(&[]), time(&[number, worse]));
            assert!(low < middle && middle < high, "{collective} {number}: {low} {middle} {high}");
        }
    }
}

#[test]
fn more_ranks_on_a_host_take_longer_for_its_one_wire() {
    // Of all to all, the wire of a host carries what each of its ranks has for each elsewhere.
    let time = |ranks: &str| {
        seconds(&[
            "all-to-all",
            "--size",
            "64K",
            "--hosts",
            "4",
            "--ranks-per-host",
            ranks,
            "--algorithm",
            "pairwise",
        ])
    };
    let (one, two, four) = (time("1"), time("2"), time("4"));
    assert!(two > 3.0 * one && four > 3.0 * two, "{one} {two} {four}");
}

#[test]
fn explain_shows_the_numbers_and_the_time_of_ranks_so_placed() {
    let question = ["explain", "broadcast", "--size", "8", "--hosts", "2", "--ranks-per-host", "2"];
    let out = succeed(&question);
    let numbers = [
        "--inside-latency",
        "5us",
        "--inside-overhead",
        "700ns",
        "--inside-bandwidth",
        "2GB/s",
        "--latency",
        "9us",
    ];
    let other = succeed(&[&question[..], &numbers].concat());
    assert!(out.starts_with("broadcast/two-level, 8 bytes on 4 ranks"), "{out}");
    assert_eq!(
        placed(&out),
        Some("4 ranks on 2 hosts, 2 on each: inside latency 300.0 ns, overhead 200.0 ns, ports 10 GB/s")
    );
    assert_eq!(
        placed(&other),
        Some("4 ranks on 2 hosts, 2 on each: inside latency 5.000 us, overhead 700.0 ns, ports 2 GB/s")
    );
    assert!(other.contains("\nlatency 9.000 us, overhead 1.000 us, "), "{other}");
    // Once between the hosts and once inside: 20 us + 1 us + 300 ns + 200 ns and 8 bytes on both wires.
    let time = |out: &str| out.lines().find(|line| line.starts_with("simulated time ")).map(str::to_owned);
    assert!(time(&out).is_some_and(|line| line.starts_with("simulated time 21.51 us")), "{:?}", time(&out));
    assert!(
        time(&other).is_some_and(|line| line.starts_with("simulated time 15.71 us")),
        "{:?}",
        time(&other)
    );
}

#[test]
fn places_that_cannot_be_are_refused_with_what_was_given_and_what_is_expected() {
    for command in ["simulate", "explain"] {
        for (arguments, words) in [
            (&["--hosts", "0"][..], &["'0'", "--hosts <N>", "a number of ranks from 1 to 1048576"][..]),
            (&["--hosts", "many"], &["'many'", "--hosts <N>", "from 1 to"]),
            (&["--ranks-per-host", "0"], &["'0'", "--ranks-per-host <N>", "from 1 to"]),
            (&["--ranks-per-host", "-2"], &["-2"]),
            (&["--hosts", "4", "--ranks", "8"], &["--hosts <N>", "cannot be used with", "--ranks <N>"]),
            (
                &["--hosts", "1048576", "--ranks-per-host", "2"],
                &["1048576 hosts with 2 ranks each are more than 1048576 ranks"],
            ),
            (
                &["--ranks-per-host", "2", "--inside-latency", "20"],
                &["'20'", "--inside-latency <TIME>", "a length of time with its unit, such as 20us"],
            ),
            (
                &["--ranks-per-host", "2", "--inside-overhead", "soon"],
                &["'soon'", "--inside-overhead <TIME>"],
            ),
            // Of hosts with one rank each it would mean nothing.
            (&["--hosts", "4", "--inside-latency", "1us"], &["not provided", "--ranks-per-host <N>"]),
            (&["--inside-overhead", "1us"], &["not provided", "--ranks-per-host <N>"]),
            (&["--inside-bandwidth", "none"], &["not provided", "--ranks-per-host <N>"]),
            (&["--ranks-per-host", "2", "--inside-latency", "2h"], &["2h is more than an hour"]),
            (
                &["--ranks-per-host", "2", "--inside-bandwidth", "fast"],
                &["'fast'", "--inside-bandwidth <RATE>", "a rate such as 10Gbit/s"],
            ),
            (&["--ranks-per-host", "2", "--inside-bandwidth", "0GB/s"], &["0GB", "no rate of a network"]),
        ] {
            let job = run(&[&[command, "all-reduce"], arguments].concat());
            assert_eq!(job.code, Some(2), "{command} {arguments:?}: {}{}", job.out, job.err);
            for word in words {
                assert!(job.err.contains(word), "{command} {arguments:?}: no {word:?} in {}", job.err);
            }
            assert_eq!(job.out, "", "{command} {arguments:?} began all the same");
        }
    }
}
