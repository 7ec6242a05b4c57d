//! Which algorithm serves which size: a table per collective, or with `--ranks` every range with its reason.

use std::fmt::Write as _;

use ringworld::{Options, Selection, selections};
use ringworld_collectives::Algorithm;

use super::report::wrap;
use crate::style;
use crate::units;

/// The sizes of worlds in the overview.
const RANKS: [usize; 10] = [2, 3, 4, 6, 8, 16, 64, 256, 1024, 65_536];
/// Those that one host may hold.
const ONE_HOST: usize = 256;

/// The table for this collective, or for all, in worlds of so many ranks, or of several sizes; where so many ranks
/// share a host, if that is given.
pub(super) fn table(
    options: &Options,
    collective: Option<&str>,
    ranks: Option<usize>,
    ranks_per_host: Option<usize>,
) -> String {
    match ranks {
        Some(ranks) => ranges(options, collective, ranks, ranks_per_host),
        None => overview(options, collective, ranks_per_host),
    }
}

/// What is chosen of each collective in turn, grouped.
fn by_collective<'a>(
    all: &'a [Selection],
    only: Option<&'a str>,
) -> impl Iterator<Item = (&'static str, &'a [Selection])> {
    let groups = all.chunk_by(|a, b| a.collective == b.collective);
    let named = groups.filter_map(|group| group.first().map(|first| (first.collective, group)));
    named.filter(move |(collective, _)| only.is_none_or(|only| only == *collective))
}

/// Every range of sizes with its algorithm and the reason: where so many ranks share a host, or else where each has one
/// of its own, and where all share one.
fn ranges(options: &Options, only: Option<&str>, ranks: usize, ranks_per_host: Option<usize>) -> String {
    let mut text = String::new();
    let places = match ranks_per_host {
        Some(given) => vec![given],
        None if ranks <= ONE_HOST => vec![1, ranks],
        None => vec![1],
    };
    for ranks_per_host in places {
        let place = match ranks_per_host {
            all if all >= ranks => "one host".to_owned(),
            1 => "several hosts".to_owned(),
            some if ranks.is_multiple_of(some) => format!("{} hosts, {some} on each", ranks / some),
            some => format!("{} hosts, up to {some} on each", ranks.div_ceil(some)),
        };
        let all = selections(options, ranks, ranks_per_host);
        for (collective, group) in by_collective(&all, only) {
            // Writing to a string cannot fail, here and below.
            let title = format!("{collective} on {} of {place}", units::counted(ranks, "rank"));
            let _ = writeln!(text, "{}", style::heading(title));
            for selection in group {
                let from = match selection.from {
                    0 => "any size".to_owned(),
                    from => format!("from {}", units::sized(from as u64)),
                };
                let algorithm = style::name(short(selection));
                let _ = writeln!(text, "  {from:<14} {algorithm}");
                let _ =
                    writeln!(text, "  {:<14} {}", "", style::faint(format!("because {}", selection.reason)));
            }
        }
        text.push('\n');
    }
    text + &footer()
}

/// A line per number of ranks, sizes across; numbers of ranks that are served alike share one. Others than these may
/// differ, because some algorithms want a power of two.
fn overview(options: &Options, only: Option<&str>, ranks_per_host: Option<usize>) -> String {
    // How many ranks each host has.
    let of = |each: &dyn Fn(usize) -> Option<usize>| -> Vec<(usize, Vec<Selection>)> {
        let worlds = RANKS.iter().filter_map(|&ranks| each(ranks).map(|each| (ranks, each)));
        worlds.map(|(ranks, each)| (ranks, selections(options, ranks, each))).collect()
    };
    let several = of(&|_| Some(1));
    let one = of(&|ranks| (ranks <= ONE_HOST).then_some(ranks));
    let some = ranks_per_host.filter(|some| *some > 1).map(|some| {
        (
            format!("{some} per host"),
            of(&|ranks| (ranks > some && ranks.is_multiple_of(some)).then_some(some)),
        )
    });
    let mut places = vec![("several hosts", &several), ("one host", &one)];
    places.extend(some.as_ref().map(|(place, worlds)| (place.as_str(), worlds)));
    let mut text = String::new();
    let Some((_, first)) = several.first() else { return text };
    for (collective, _) in by_collective(first, only) {
        let _ = writeln!(text, "{}", style::heading(collective));
        for &(place, worlds) in &places {
            let lines: Vec<(usize, String)> = worlds
                .iter()
                .flat_map(|(ranks, all)| {
                    by_collective(all, Some(collective)).map(|(_, group)| (*ranks, across(group)))
                })
                .collect();
            for (index, group) in lines.chunk_by(|a, b| a.1 == b.1).enumerate() {
                let place = if index == 0 { place } else { "" };
                let ranks: Vec<String> = group.iter().map(|(ranks, _)| ranks.to_string()).collect();
                let sizes = group.first().map_or("", |(_, sizes)| sizes);
                let _ = writeln!(text, "  {place:<13} {:<12} ranks  {sizes}", ranks.join(", "));
            }
        }
        let there_are = Algorithm::ALL.iter().filter(|algorithm| algorithm.collective() == collective);
        let there_are: Vec<&str> = there_are.map(|algorithm| name_of(algorithm.path())).collect();
        for (index, line) in wrap(&there_are.join(", "), 80).into_iter().enumerate() {
            let head = if index == 0 { "there are" } else { "" };
            let _ = writeln!(text, "  {}", style::faint(format!("{head:<13} {line}")));
        }
        text.push('\n');
    }
    text += "Sizes are of the vector, or of one rank's block for gathers, scatters and all-to-all.\n";
    text += "binomial | 128K chain: binomial below 128 KiB, chain from there on. Other numbers of ranks may differ;\n";
    text += "--ranks N shows one world with the reasons; --ranks-per-host N, where so many ranks share each host.\n\n";
    text + &footer()
}

/// The algorithms in the order of sizes, each but the first after the size from which it serves.
fn across(group: &[Selection]) -> String {
    let mut text = String::new();
    for (index, selection) in group.iter().enumerate() {
        if index > 0 {
            let _ = write!(text, " {} ", style::faint(format!("| {}", units::short(selection.from as u64))));
        }
        text += &style::name(short(selection));
    }
    text
}

fn short(selection: &Selection) -> &'static str {
    name_of(selection.algorithm)
}

/// The name of an algorithm without its collective.
fn name_of(path: &'static str) -> &'static str {
    path.split_once('/').map_or(path, |(_, name)| name)
}

fn footer() -> String {
    "RINGWORLD_ALGORITHMS=COLLECTIVE/ALGORITHM,... forces others; `ringworld simulate COLLECTIVE` compares them.\n"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(options: &Options, collective: Option<&str>, ranks: Option<usize>) -> String {
        placed(options, collective, ranks, None)
    }

    fn placed(
        options: &Options,
        collective: Option<&str>,
        ranks: Option<usize>,
        ranks_per_host: Option<usize>,
    ) -> String {
        anstream::adapter::strip_str(&table(options, collective, ranks, ranks_per_host)).to_string()
    }

    #[test]
    fn the_overview_fits_a_screen_and_names_each_collective_once() {
        let text = plain(&Options::new(), None, None);
        let long = text.lines().find(|line| line.chars().count() > 110);
        assert_eq!(long, None);
        for collective in ["barrier", "all-reduce", "all-to-all"] {
            assert_eq!(text.lines().filter(|line| *line == collective).count(), 1, "{text}");
        }
        assert!(text.lines().count() < 140, "{} lines", text.lines().count());
        for algorithm in Algorithm::ALL {
            assert!(text.contains(name_of(algorithm.path())), "{} can be forced", algorithm.path());
        }
        assert!(!text.contains("all-reduce/"), "the collective stands in the heading alone");
    }

    #[test]
    fn one_collective_and_one_world_can_be_asked_for() {
        let text = plain(&Options::new(), Some("broadcast"), None);
        assert!(text.starts_with("broadcast\n") && !text.contains("all-reduce\n"), "{text}");
        let text = plain(&Options::new(), Some("all-reduce"), Some(8));
        assert!(text.starts_with("all-reduce on 8 ranks of several hosts\n  from 4 bytes"), "{text}");
        assert!(text.contains("because ") && text.contains("KiB") && text.contains("of one host"), "{text}");
    }

    #[test]
    fn hosts_of_several_ranks_can_be_asked_for() {
        let shown = |ranks, each| placed(&Options::new(), Some("all-reduce"), ranks, Some(each));
        let text = shown(Some(8), 4);
        assert!(text.starts_with("all-reduce on 8 ranks of 2 hosts, 4 on each\n"), "{text}");
        assert!(text.contains("two-level") && !text.contains("several hosts"), "{text}");
        assert!(shown(Some(10), 4).starts_with("all-reduce on 10 ranks of 3 hosts, up to 4 on each\n"));
        assert!(shown(Some(8), 8).starts_with("all-reduce on 8 ranks of one host\n"));
        assert!(shown(Some(8), 1).starts_with("all-reduce on 8 ranks of several hosts\n"));
        let text = shown(None, 4);
        let line = text.lines().find(|line| line.trim_start().starts_with("4 per host")).unwrap();
        assert!(line.contains("two-level"), "{line}");
        assert!(text.contains("  several hosts ") && text.contains("  one host "), "{text}");
    }
}
