//! Ranks that are bound to cores.

use crate::common::{finish, ringworld, script};

/// Which processors each rank may use, by rank.
const SHOW: &str = "echo $RANK $(grep Cpus_allowed_list /proc/self/status | cut -f 2)";

fn shown(arguments: &[&str]) -> Vec<(usize, String)> {
    let job = finish(&mut script(arguments, SHOW));
    assert_eq!(job.code, Some(0), "{}", job.err);
    let mut all: Vec<(usize, String)> = job
        .out
        .lines()
        .map(|line| {
            let (rank, list) = line.split_once(' ').unwrap();
            (rank.parse().unwrap(), list.to_owned())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn ranks_are_bound_to_cores_of_their_own_where_that_is_asked_for() {
    let free = shown(&["-n", "2"]);
    assert_eq!(free, shown(&["-n", "2", "--bind-to", "none"]));
    assert_eq!(free[0].1, free[1].1, "unbound ranks may use the same");
    let one = shown(&["-n", "1", "--bind-to", "core"]);
    assert!(one[0].1.len() <= free[0].1.len(), "{one:?} of {free:?}");
    let both = finish(&mut script(&["-n", "2", "--bind-to", "core"], SHOW));
    if both.code == Some(0) {
        let lists: Vec<&str> = both.out.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
        assert!(lists.len() == 2 && lists[0] != lists[1], "{lists:?}");
    } else {
        // This machine has no more.
        assert!(both.err.contains("1 core:"), "{}", both.err);
    }
}

/// Unlike as many that may all use the same.
#[test]
fn bound_ranks_have_their_cores_to_themselves() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let crowd = cores + 1;
    if !(2..32).contains(&cores) {
        // There are none to bind two ranks to, or more than a test should start ranks for.
        return;
    }
    let waits = |ranks: &str, arguments: &[&str]| {
        let program =
            [&["run", "-n", ranks], arguments, &["--", env!("CARGO_BIN_EXE_ringworld"), "info", "--join"]]
                .concat();
        let job = finish(ringworld(&program).env("RINGWORLD_LOG", "ringworld=debug"));
        assert_eq!(job.code, Some(0), "{}", job.err);
        let said = |what: &str| job.err.lines().filter(|line| line.contains(what)).count();
        (said("calls that wait have their core"), said("calls that wait share their core"))
    };
    assert_eq!(waits("2", &["--bind-to", "core"]), (2, 0));
    assert_eq!(waits("2", &[]), (2, 0));
    assert_eq!(waits(&crowd.to_string(), &["--bind-to", "none"]), (0, crowd));
}

#[test]
fn info_says_which_processors_a_bound_rank_may_use() {
    let info = |bound: &str| {
        let program = ["run", "-n", "1", "--bind-to", bound, "--", env!("CARGO_BIN_EXE_ringworld"), "info"];
        let job = finish(&mut ringworld(&program));
        assert_eq!(job.code, Some(0), "{}", job.err);
        job.out.lines().next().unwrap().to_owned()
    };
    let (free, bound) = (info("none"), info("core"));
    let one = shown(&["-n", "1", "--bind-to", "core"]);
    if one == shown(&["-n", "1"]) {
        // This machine has no more.
        assert_eq!(free, bound);
    } else {
        assert!(bound.contains(" processors (number ") && bound != free, "{bound:?}, and unbound {free:?}");
        let first = one[0].1.split(['-', ',']).next().unwrap();
        assert!(bound.contains(&format!("(number {first}")), "{bound:?} of {one:?}");
    }
}

#[test]
fn more_ranks_than_cores_cannot_be_bound_and_none_is_started() {
    let job = finish(&mut script(&["-n", "3000", "--bind-to", "core"], "echo started"));
    assert_eq!((job.code, job.out.as_str()), (Some(2), ""));
    for part in ["3000 ranks", "core", "leave --bind-to out"] {
        assert!(job.err.contains(part), "no {part:?} in {}", job.err);
    }
}
