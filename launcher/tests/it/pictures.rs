//! `ringworld simulate` and `ringworld explain` as a person meets them: tables, pictures, and clear refusals.

use crate::common::{Finished, finish, ringworld};

fn run(arguments: &[&str]) -> Finished {
    finish(&mut ringworld(arguments))
}

/// The name at the beginning of a line of the table.
fn algorithm(line: &str) -> &str {
    line.trim_start_matches(['>', ' ']).split(' ').next().unwrap_or_default()
}

fn picture(test: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("ringworld-{test}-{}.svg", std::process::id()))
}

/// All shapes of one kind in an SVG file, which must be well formed.
fn shapes(svg: &str, kind: &str) -> usize {
    let document = roxmltree::Document::parse(svg).unwrap();
    assert_eq!(document.root_element().tag_name().name(), "svg");
    document.descendants().filter(|node| node.tag_name().name() == kind).count()
}

#[test]
fn every_algorithm_has_a_line_with_its_time_and_its_formula() {
    let job = run(&["simulate", "all-reduce", "--ranks", "16", "--size", "64K", "--overhead", "0"]);
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
    for name in ["direct", "recursive-doubling", "rabenseifner", "ring"] {
        assert!(job.out.lines().any(|line| algorithm(line) == name), "{name} is missing:\n{}", job.out);
    }
    // 2 (n - 1) messages of 4 KiB at 20 us and 1.25 GB/s, and half as many reductions at 10 GB/s.
    let seconds = 30.0 * (20e-6 + 4096.0 / 1.25e9) + 15.0 * 4096.0 / 10e9;
    let ring = job.out.lines().find(|line| algorithm(line) == "ring").unwrap();
    let shown = format!("{:.1} us", seconds * 1e6);
    assert_eq!(ring.matches(&shown).count(), 2, "simulated and by formula {shown}: {ring}");
    assert_eq!(
        job.out.lines().filter(|line| line.starts_with("> ")).count(),
        2,
        "the choice is marked:\n{}",
        job.out
    );
}

#[test]
fn programs_can_read_the_lines() {
    let job = run(&[
        "simulate",
        "broadcast",
        "-n",
        "5",
        "--size",
        "1K",
        "--root",
        "4",
        "--algorithm",
        "binomial",
        "--json",
    ]);
    assert_eq!((job.code, job.err.as_str()), (Some(0), ""));
    assert_eq!(job.out.lines().count(), 1);
    let line = job.out.trim();
    assert!(
        line.starts_with("{\"algorithm\":\"broadcast/binomial\",\"selected\":true,\"model_seconds\":"),
        "{line}"
    );
    assert!(line.contains("\"messages\":3,\"bytes\":3072,") && line.ends_with('}'), "{line}");
}

#[test]
fn what_is_too_much_is_a_line_of_the_table_with_what_it_would_take() {
    let job = run(&["simulate", "all-gather", "-n", "65536", "--size", "1M", "--algorithm", "bruck"]);
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert!(job.out.contains("one for all"), "{}", job.out);
    let job = run(&["simulate", "all-reduce", "-n", "30000", "--size", "1G", "--algorithm", "direct"]);
    assert_eq!(job.code, Some(0), "{}", job.err);
    assert!(job.out.contains("skipped: about ") && job.out.contains("--force runs it"), "{}", job.out);
}

#[test]
fn the_crossover_plot_is_well_formed_and_has_a_curve_for_each_algorithm() {
    let path = picture("crossover");
    let job = run(&["simulate", "all-reduce", "-n", "4", "--size", "8", "--svg", path.to_str().unwrap()]);
    assert_eq!((job.code, job.err), (Some(0), format!("wrote {}\n", path.display())));
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let algorithms = job.out.lines().filter(|line| line.contains(" every rank ")).count();
    assert!(algorithms >= 5, "{}", job.out);
    assert!(shapes(&svg, "polyline") >= 2 * algorithms, "a curve and a key for each");
    assert!(shapes(&svg, "circle") >= 10, "a mark at each size");
    assert!(svg.contains("rabenseifner") && svg.contains("all-reduce on 4 ranks"));
}

#[test]
fn a_schedule_is_shown_round_by_round_and_drawn_message_by_message() {
    let path = picture("explain");
    let job = run(&[
        "explain",
        "all-reduce",
        "-n",
        "4",
        "--size",
        "4K",
        "--algorithm",
        "ring",
        "--svg",
        path.to_str().unwrap(),
    ]);
    assert_eq!((job.code, job.err), (Some(0), format!("wrote {}\n", path.display())));
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let row = |round: &str| {
        let line = job.out.lines().find(|line| line.trim_start().starts_with(round)).unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // As in the head of all_reduce/ring.rs: rank r first sends chunk r - 1 to rank r + 1.
    assert_eq!(row("1  "), "1 >1 d >2 a >3 b >0 c");
    assert!(
        job.out.contains("<3 c+") && job.out.contains("6 rounds") && job.out.contains("critical path"),
        "{}",
        job.out
    );
    // 24 messages, each a line with an arrow, a bar at both ends; 12 reductions.
    let arrows = roxmltree::Document::parse(&svg).unwrap();
    let arrows = arrows.descendants().filter(|node| node.has_attribute("marker-end")).count();
    assert_eq!(arrows, 24);
    assert_eq!(shapes(&svg, "title"), 2 * 24 + 12);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    for (arguments, words) in [
        (&["simulate", "all-reduce", "--ranks", "0"][..], "from 1 to"),
        (&["simulate", "all-reduce", "--ranks", "99999999"], "from 1 to"),
        (&["simulate", "all-reduse"], "expected one of barrier"),
        (&["simulate", "all-reduce", "--algorithm", "magic"], "there are direct"),
        (&["simulate", "all-gather", "-n", "6", "--algorithm", "recursive-doubling"], "there are direct"),
        (&["simulate", "all-reduce", "--root", "1"], "has no root"),
        (&["simulate", "broadcast", "-n", "4", "--root", "4"], "ranks of this communicator are 0..4"),
        (&["simulate", "all-reduce", "--size", "10"], "not a whole number of elements"),
        (&["simulate", "all-reduce", "--size", "10Q"], "expected a number of bytes"),
        (&["simulate", "all-reduce", "--size", "16777215T"], "fit into memory"),
        (&["simulate", "all-reduce", "--element", "0"], "not a whole number of elements"),
        (&["simulate", "all-reduce", "--latency", "20"], "expected a length of time"),
        (&["simulate", "all-reduce", "--bandwidth", "fast"], "expected a rate"),
        (
            &["simulate", "all-reduce", "--svg", "/nowhere/at/all.svg"],
            "cannot write --svg /nowhere/at/all.svg",
        ),
        (
            &["explain", "all-reduce", "--svg", "/nowhere/at/all.svg"],
            "cannot write --svg /nowhere/at/all.svg",
        ),
        (&["explain", "reduce", "-n", "3", "--root", "3"], "ranks of this communicator are 0..3"),
        (&["explain", "all-reduce", "-n", "8", "--rank", "8"], "the ranks are 0 to 7"),
        (&["explain", "all-reduce", "-n", "4096", "--size", "1G"], "more than anybody can look at"),
    ] {
        let job = run(arguments);
        assert!(matches!(job.code, Some(1 | 2)), "{arguments:?}: {:?}", job.code);
        assert!(job.err.contains(words), "{arguments:?}: {}", job.err);
        assert!(!job.out.contains("simulated"), "{arguments:?} began all the same: {}", job.out);
    }
}

#[test]
fn explain_says_its_units_and_explains_marks_that_there_are() {
    let job = run(&["explain", "broadcast", "-n", "5", "--size", "8"]);
    assert!(job.out.contains(", 8 bytes on 5 ranks (elements of 4 bytes)"), "{}", job.out);
    assert!(job.out.contains("needs 0 bytes of scratch memory"), "{}", job.out);
    let legend = job.out.lines().find(|line| line.starts_with("each round: ")).unwrap_or_default();
    assert!(legend.contains("sends ") && legend.contains("receives "), "{legend}");
    assert!(!legend.contains('+') && !legend.contains("rank 5"), "{legend}");
    let job = run(&["explain", "barrier", "-n", "1"]);
    assert!(job.out.contains(" on 1 rank\n") && !job.out.contains("elements"), "{}", job.out);
}

#[test]
fn explain_shows_one_rank_of_many() {
    let job = run(&["explain", "all-reduce", "-n", "64", "--size", "8"]);
    assert!(job.out.contains("64 ranks do not fit side by side, up to 16 do; --rank 0 shows"), "{}", job.out);
    let job = run(&["explain", "all-reduce", "-n", "64", "--size", "8", "--rank", "5"]);
    let head = job.out.lines().find(|line| line.trim_start().starts_with("round")).unwrap_or_default();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["round", "rank", "5"]);
    assert!(job.out.contains("each round: "), "{}", job.out);
    let job = run(&["explain", "all-reduce", "-n", "64", "--size", "8", "--rank", "5-7"]);
    let head = job.out.lines().find(|line| line.trim_start().starts_with("round")).unwrap_or_default();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["round", "rank", "5", "rank", "6", "rank", "7"]);
    assert!(job.out.contains("each round: >4 a  sends chunk a to rank 4"), "of what is shown: {}", job.out);
    for ranks in ["7-5", "0-16", "5-", "x", "0-18446744073709551615"] {
        let job = run(&["explain", "all-reduce", "-n", "64", "--rank", ranks]);
        assert!(
            job.code == Some(2) && job.err.contains("up to 16 of them as in 4-7"),
            "{ranks}: {}",
            job.err
        );
    }
}
