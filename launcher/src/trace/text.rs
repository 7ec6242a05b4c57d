//! The summary for people: what took how long, who waited for whom, and what is missing.

use std::fmt::Write as _;

use ringworld_trace::summary::{Operation, Summary};

use crate::{style, units};

/// How many lines there are of anything that there may be thousands of.
const SHOWN: usize = 12;

/// The whole report.
pub(super) fn report(summary: &Summary) -> String {
    let mut text = String::new();
    let ranks = units::counted(summary.ranks.len(), "rank");
    let of =
        if summary.ranks.len() == summary.size { String::new() } else { format!(" of {}", summary.size) };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{}", style::heading(format!("{ranks}{of}, {}", time(summary.length))));
    warnings(&mut text, summary);
    operations(&mut text, summary);
    shares(&mut text, summary);
    debts(&mut text, summary);
    if let Some(latency) = summary.latency {
        let count = summary.messages;
        let _ = writeln!(
            text,
            "\n{count} messages of which both ends are known; the median took {}",
            time(latency)
        );
    }
    clocks(&mut text, summary);
    // Columns that are empty leave blanks at the end.
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn warnings(text: &mut String, summary: &Summary) {
    let lost = summary.ranks.iter().filter(|rank| rank.lost > 0);
    let (ranks, most) = lost.fold((0, 0), |(ranks, most), rank| (ranks + 1, rank.lost.max(most)));
    if ranks > 0 {
        let ranks = units::counted(ranks, "rank");
        let _ = writeln!(
            text,
            "{}",
            style::bad(format!(
                "the oldest records of {ranks} have gone, up to {most} of one: RINGWORLD_TRACE_SIZE says how many fit"
            ))
        );
    }
    let open: Vec<String> =
        summary.ranks.iter().filter(|rank| !rank.closed).map(|rank| rank.rank.to_string()).collect();
    if let Some(first) = open.get(..SHOWN.min(open.len())).filter(|first| !first.is_empty()) {
        let more = if open.len() > first.len() {
            format!(" and {} more", open.len() - first.len())
        } else {
            String::new()
        };
        let (noun, verb) = if open.len() == 1 { ("rank", "has") } else { ("ranks", "have") };
        let _ = writeln!(
            text,
            "{}",
            style::bad(format!(
                "{noun} {}{more} {verb} not ended: killed, or still at work",
                first.join(", ")
            ))
        );
    }
}

fn operations(text: &mut String, summary: &Summary) {
    let _ = writeln!(
        text,
        "\n{:<22}  {:>9}  {:>10}  {:>8}  {:>8}  {:>10}  {:>10}  {:>10}  {:>9}  {:>9}",
        "call", "calls", "in all", "waiting", "reducing", "mean", "longest", "bytes", "MB/s", "at best"
    );
    for operation in &summary.operations {
        let Operation { name, calls, time: all, waited, reducing, longest, bytes, .. } = operation;
        let mean = all.checked_div(*calls).unwrap_or(0);
        let rate = |rate: Option<f64>| rate.map_or(String::new(), |rate| format!("{:.0}", rate / 1e6));
        let _ = writeln!(
            text,
            "{name:<22}  {calls:>9}  {:>10}  {:>8}  {:>8}  {:>10}  {:>10}  {:>10}  {:>9}  {:>9}",
            time(*all),
            share(*waited, *all),
            share(*reducing, *all),
            time(mean),
            time(*longest),
            units::short(*bytes),
            rate(operation.achieved),
            rate(operation.possible),
        );
        if !operation.algorithms.is_empty() {
            let each: Vec<String> =
                operation.algorithms.iter().map(|(name, calls)| format!("{name} {calls}")).collect();
            let _ = writeln!(text, "  {}", style::faint(format!("by {}", each.join(", "))));
        }
    }
    if summary.operations.iter().any(|operation| operation.achieved.is_some()) {
        let _ = writeln!(
            text,
            "{}",
            style::faint(
                "MB/s of calls of 64 KiB and more, on average; at best: of the quickest tenth of them"
            )
        );
    }
}

fn shares(text: &mut String, summary: &Summary) {
    let hosts = summary.ranks.iter().map(|rank| rank.host.len()).max().unwrap_or(0).max(4);
    let _ = writeln!(
        text,
        "\n{:>6}  {:<hosts$}  {:>10}  {:>9}  {:>9}  {:>13}",
        "rank", "host", "traced", "in calls", "waiting", "waited for it"
    );
    // Of many ranks those that others wait for most, and those that wait most.
    let mut shown: Vec<usize> = (0..summary.ranks.len()).collect();
    if shown.len() > 2 * SHOWN {
        let of = |index: &usize| summary.ranks.get(*index);
        shown.sort_by_key(|index| std::cmp::Reverse(of(index).map(|rank| rank.waited_for)));
        let mut rest = shown.split_off(SHOWN);
        rest.sort_by_key(|index| std::cmp::Reverse(of(index).map(|rank| rank.waited)));
        shown.extend(rest.into_iter().take(SHOWN));
        shown.sort_unstable();
    }
    for rank in shown.iter().filter_map(|index| summary.ranks.get(*index)) {
        let _ = writeln!(
            text,
            "{:>6}  {:<hosts$}  {:>10}  {:>9}  {:>9}  {:>13}",
            rank.rank,
            rank.host,
            time(rank.time),
            share(rank.calling, rank.time),
            share(rank.waited, rank.time),
            time(rank.waited_for),
        );
    }
    let others = summary.ranks.len() - shown.len();
    if others > 0 {
        let _ = writeln!(
            text,
            "  and {}, of which others wait less and which wait less",
            units::counted(others, "rank")
        );
    }
}

fn debts(text: &mut String, summary: &Summary) {
    if summary.debts.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nwho waited for whom");
    for debt in summary.debts.iter().take(SHOWN) {
        let calls = units::counted(usize::try_from(debt.calls).unwrap_or(usize::MAX), "call");
        let _ = writeln!(
            text,
            "  rank {} for rank {}: {} in {calls}, mostly {}",
            debt.waiter,
            debt.late,
            time(debt.time),
            debt.mostly
        );
    }
    let others = summary.debts.len().saturating_sub(SHOWN);
    if others > 0 {
        let _ = writeln!(text, "  and {} that are shorter", units::counted(others, "pair"));
    }
}

fn clocks(text: &mut String, summary: &Summary) {
    let others: Vec<_> = summary.clocks.iter().skip(1).collect();
    let Some(worst) = others.iter().filter_map(|clock| clock.within).max() else {
        if !others.is_empty() {
            let _ = writeln!(
                text,
                "the clocks of the hosts are compared by their dates alone, for want of messages"
            );
        }
        return;
    };
    let hosts = units::counted(others.len() + 1, "host");
    let _ = writeln!(text, "the clocks of {hosts} are compared by messages, to within {}", time(worst));
    let dates = others.iter().filter(|clock| clock.within.is_none()).count();
    if dates > 0 {
        let hosts = units::counted(dates, "host");
        let _ =
            writeln!(text, "{}", style::bad(format!("but for {hosts}, by the date alone: too few messages")));
    }
}

/// A part in per cent.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".into();
    }
    format!("{:.0} %", part as f64 * 100.0 / whole as f64)
}

/// Nanoseconds in a unit that suits.
fn time(nanoseconds: u64) -> String {
    let (value, unit) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => (nanoseconds as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (nanoseconds as f64 / 1e6, "ms"),
        _ => (nanoseconds as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use ringworld_trace::summary::{Debt, Share};

    use super::*;

    #[test]
    fn times_are_told_in_fitting_units() {
        assert_eq!(
            [0, 999, 1_500, 25_000_000, 7_000_000_000].map(time),
            ["0 ns", "999 ns", "1.50 us", "25.0 ms", "7.00 s"]
        );
        assert_eq!([share(1, 4), share(0, 0)], ["25 %", "0 %"]);
    }

    #[test]
    fn a_thousand_ranks_make_no_thousand_lines() {
        let ranks = (0..1_000).map(|rank| Share {
            rank,
            host: "n".into(),
            time: 10,
            closed: rank % 2 == 0,
            ..Share::default()
        });
        let debts =
            (0..900).map(|waiter| Debt { waiter, late: 999, time: 5, calls: 1, mostly: "recv".into() });
        let summary =
            Summary { size: 1_000, ranks: ranks.collect(), debts: debts.collect(), ..Summary::default() };
        let text = report(&summary);
        assert!(text.lines().count() < 60, "{text}");
        assert!(text.contains("and 976 ranks") && text.contains("and 488 more"), "{text}");
    }
}
