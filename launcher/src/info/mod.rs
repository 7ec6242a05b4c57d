//! `ringworld info`: what a rank started here and now would use, and why. It decides nothing itself: the
//! choices come from the same functions that a rank calls, so that what is printed is what would happen.

mod report;
mod tuning;

use crate::cli::InfoOptions;
use crate::exit::{Failure, Status};
use crate::style;
use ringworld::World;
use ringworld_collectives::Collective;
use std::fmt::Write as _;

/// Prints the report.
pub(crate) fn info(options: &InfoOptions) -> Status {
    let report = match options {
        InfoOptions { tuning: true, collective, ranks, ranks_per_host, .. } => {
            tuning(collective.as_ref(), *ranks, *ranks_per_host)
        }
        InfoOptions { join: true, .. } => routes(),
        InfoOptions { all, .. } => report::report(*all),
    };
    match report.and_then(|(text, status)| style::out(&text).map(|()| status)) {
        Ok(status) => status,
        Err(Failure { status, message }) => {
            style::err("info", &message);
            status
        }
    }
}

fn tuning(
    collective: Option<&Collective>,
    ranks: Option<usize>,
    ranks_per_host: Option<usize>,
) -> Result<(String, Status), Failure> {
    let options = ringworld::Options::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    let collective = collective.map(Collective::name);
    Ok((tuning::table(&options, collective, ranks, ranks_per_host), Status::SUCCESS))
}

/// Joins the world that the environment describes; rank 0 says by which transport each rank reaches each other.
fn routes() -> Result<(String, Status), Failure> {
    let failed = |error: ringworld::Error| Failure { status: Status::SYSTEM, message: error.to_string() };
    let world = World::from_env().map_err(failed)?;
    let ways = |rank| world.route(rank).to_string();
    let mine = format!("rank {} on {}", world.rank(), world.host(world.rank()));
    let lines =
        grouped((0..world.size()).filter(|rank| *rank != world.rank()).map(|rank| (rank, ways(rank))));
    let all = world.gather_objects(&(mine, lines), 0).map_err(failed)?;
    let mut text = String::new();
    for (rank, lines) in all.into_iter().flatten() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{rank}");
        for (ranks, way) in lines {
            let _ = writeln!(text, "  to {ranks:<12} {way}");
        }
    }
    Ok((text, Status::SUCCESS))
}

/// Ranks that are reached in the same way, as in `1-3,5`, with the way; in the order of their first ranks.
fn grouped(ways: impl Iterator<Item = (usize, String)>) -> Vec<(String, String)> {
    let mut groups: Vec<(Vec<(usize, usize)>, String)> = Vec::new();
    for (rank, way) in ways {
        let place = groups.iter().position(|(_, known)| *known == way).unwrap_or_else(|| {
            groups.push((Vec::new(), way));
            groups.len() - 1
        });
        match groups[place].0.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => groups[place].0.push((rank, rank)),
        }
    }
    let range = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let words = |ranges: Vec<(usize, usize)>| ranges.iter().map(range).collect::<Vec<_>>().join(",");
    groups.into_iter().map(|(ranges, way)| (words(ranges), way)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_are_reached_alike_share_a_line() {
        let ways = [(0, "a"), (1, "b"), (3, "a"), (4, "a"), (5, "b"), (6, "a")];
        let lines = grouped(ways.into_iter().map(|(rank, way)| (rank, way.to_owned())));
        assert_eq!(lines, [("0,3-4,6".to_owned(), "a".to_owned()), ("1,5".to_owned(), "b".to_owned())]);
        assert!(grouped(std::iter::empty()).is_empty());
    }
}
