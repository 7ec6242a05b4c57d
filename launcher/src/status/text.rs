//! The status for people: how the world stands, who is late, and a line for each rank.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use ringworld_bootstrap::{JobStatus, RankStatus, Standing};

use crate::{style, units};

/// The whole report.
pub(super) fn report(status: &JobStatus) -> String {
    let mut text = String::new();
    let job = status.job.as_ref().map_or_else(String::new, |job| format!("job {job}: "));
    let size = units::counted(usize::try_from(status.size).unwrap_or(usize::MAX), "rank");
    let Some(age) = status.age else {
        // Writing to a string cannot fail, here and below.
        let _ =
            writeln!(text, "{job}a world of {size} that has not formed yet: {} have joined", status.present);
        return text;
    };
    let head = format!("{job}a world of {size}, formed {} ago; {} are there", seconds(age), status.present);
    let _ = writeln!(text, "{}", style::heading(head));
    if !status.story.is_empty() {
        let _ = writeln!(text, "{}", style::bad(&status.story));
    }
    let hosts = status.ranks.iter().map(|rank| rank.host.len()).max().unwrap_or(0).max(4);
    let _ = writeln!(
        text,
        "\n{:>6}  {:<hosts$}  {:>8}  {:>7}  {:>8}  {:>7}  {:>10}  doing",
        "rank", "host", "pid", "sent", "received", "sent/s", "received/s"
    );
    for (number, rank) in status.ranks.iter().enumerate() {
        let moved = match &rank.told {
            None => format!("{:>7}  {:>8}  {:>7}  {:>10}", "", "", "", ""),
            Some(told) => {
                let [sent, received] = told.bytes.map(units::short);
                let [out, into] = told.rates.map(units::short);
                format!("{sent:>7}  {received:>8}  {out:>7}  {into:>10}")
            }
        };
        let _ = writeln!(
            text,
            "{number:>6}  {:<hosts$}  {:>8}  {moved}  {}",
            rank.host,
            rank.pid,
            if rank.late { style::bad(doing(rank)) } else { doing(rank) }
        );
    }
    let _ = writeln!(text, "\nroutes");
    for (routes, ranks) in routes(status) {
        let _ = writeln!(text, "  {routes}: {ranks}");
    }
    text
}

/// What a rank does.
fn doing(rank: &RankStatus) -> String {
    match rank.standing {
        Standing::Finished => return "has left in good order".into(),
        Standing::Down => return "is down".into(),
        _ => {}
    }
    let late = if rank.late { "late: " } else { "" };
    let Some(told) = &rank.told else { return format!("{late}does not answer") };
    if !told.waits.is_empty() {
        let each =
            told.waits.iter().map(|waits| format!("waits {} in {}", seconds(waits.waited), waits.call));
        return each.collect::<Vec<_>>().join("; ");
    }
    if told.leaves {
        return format!("{late}is leaving");
    }
    if told.busy {
        return format!("{late}is busy inside a call");
    }
    match &told.last {
        None => format!("{late}has made no call yet"),
        Some(last) if told.idle < Duration::from_secs(1) => format!("{late}at work, last {last}"),
        Some(last) => format!("{late}computing for {} or more, since {last}", seconds(told.idle)),
    }
}

/// By which transports peers are reached, and the ranks for which that is so.
fn routes(status: &JobStatus) -> Vec<(String, String)> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, rank) in status.ranks.iter().enumerate() {
        if let Some(told) = &rank.told {
            let each: Vec<String> =
                told.routes.iter().map(|(name, peers)| format!("{peers} by {name}")).collect();
            groups.entry(each.join(", ")).or_default().push(number);
        }
    }
    let named = |ranks: &Vec<usize>| match &ranks[..] {
        [] => String::new(),
        [one] => format!("rank {one}"),
        [first, .., last] if last - first + 1 == ranks.len() => format!("ranks {first}-{last}"),
        [first, .., last] => format!("{} ranks from {first} to {last}", ranks.len()),
    };
    groups.into_iter().map(|(routes, ranks)| (routes, named(&ranks))).collect()
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..100 => format!("{:.1} s", time.as_secs_f64()),
        100..6000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_fitting_units() {
        let of = |seconds| super::seconds(Duration::from_secs(seconds));
        assert_eq!([2, 100, 7200].map(of), ["2.0 s", "1 min 40 s", "2 h 0 min"]);
    }
}
