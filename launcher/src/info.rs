//! `ringworld info`: what a rank started here and now would use, and why. It decides nothing itself: the
//! choices come from the same functions that a rank calls, so that what is printed is what would happen.

use crate::cli::InfoOptions;
use crate::exit::{Failure, Status};
use ringworld::World;
use ringworld_bootstrap::{Interface, KNOBS, Settings, interfaces};
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};

/// Prints the report.
pub(crate) fn info(options: &InfoOptions) -> Status {
    let report = match options {
        InfoOptions { tuning: true, .. } => tuning(),
        InfoOptions { join: true, .. } => routes(),
        _ => report(),
    };
    match report {
        Ok((text, status)) => {
            // A reader that has seen enough (`| head`) is no failure.
            let _ = io::stdout().write_all(text.as_bytes());
            status
        }
        Err(Failure { status, message }) => {
            // There is nobody else to tell.
            let _ = writeln!(io::stderr(), "ringworld info: {message}");
            status
        }
    }
}

fn tuning() -> Result<(String, Status), Failure> {
    let options = ringworld::Options::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    Ok((ringworld::tuning_table(&options), Status::SUCCESS))
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

fn report() -> Result<(String, Status), Failure> {
    let settings = Settings::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    let mut text = String::new();
    let mut status = Status::SUCCESS;
    // Writing to a string cannot fail.
    let _ = system(&mut text, &settings);
    let _ = match interfaces::enumerate() {
        Ok(all) => {
            let choice = interfaces::choose(&all, &settings);
            if choice.is_err() {
                status = Status::USAGE;
            }
            interfaces_section(&mut text, choice)
        }
        Err(error) => {
            status = Status::SYSTEM;
            writeln!(text, "\nInterfaces\n  {error}")
        }
    };
    let _ = settings_section(&mut text, &settings);
    Ok((text, status))
}

fn system(text: &mut String, settings: &Settings) -> fmt::Result {
    let cores = std::thread::available_parallelism().map_or_else(|_| "unknown".to_owned(), |n| n.to_string());
    writeln!(text, "ringworld {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(text, "host                {}", ringworld_bootstrap::host_name())?;
    writeln!(text, "cores               {cores}")?;
    let world =
        settings.size().map_or_else(|| "1 rank (nothing is set)".to_owned(), |n| format!("{n} ranks"));
    writeln!(text, "world               {world}")?;
    writeln!(text, "\nTransports")?;
    match ringworld::survey() {
        Ok(transports) => {
            for transport in transports {
                writeln!(text, "  {:<18}{}", transport.name, transport.verdict)?;
                for line in transport.details {
                    writeln!(text, "    {line}")?;
                }
            }
        }
        Err(error) => writeln!(text, "  {error}")?,
    }
    if !ringworld::transports().contains(&"ibverbs") {
        writeln!(
            text,
            "  {:<18}not compiled in; cargo feature `ibverbs` of the crate `ringworld`",
            "ibverbs"
        )?;
    }
    Ok(())
}

fn interfaces_section(
    text: &mut String,
    choice: Result<interfaces::Choice, interfaces::InterfaceError>,
) -> fmt::Result {
    writeln!(text, "\nInterfaces")?;
    let choice = match choice {
        Ok(choice) => choice,
        Err(error) => return writeln!(text, "  {error}"),
    };
    let mut list = |verdict: &str, entries: &[(Interface, String)]| -> fmt::Result {
        for (interface, why) in entries {
            let address = format!("{}/{}", interface.addr, interface.prefix);
            writeln!(text, "  {verdict:<9} {:<15} {address:<28} {why}", interface.name)?;
        }
        Ok(())
    };
    list("chosen", &choice.chosen)?;
    list("excluded", &choice.excluded)
}

fn settings_section(text: &mut String, settings: &Settings) -> fmt::Result {
    writeln!(text, "\nSettings (each also as key in the file named by RINGWORLD_CONFIG)")?;
    for source in settings.sources() {
        let Some(knob) = KNOBS.iter().find(|knob| knob.key == source.key) else { continue };
        writeln!(text, "  {} = {}", knob.env(), source.value)?;
        if source.source == "default" {
            writeln!(text, "      from default")?;
        } else {
            writeln!(text, "      from {}; default: {}", source.source, knob.default)?;
        }
        for line in wrap(knob.why, 96) {
            writeln!(text, "      {line}")?;
        }
    }
    Ok(())
}

/// Breaks a text between words, so that no line is longer than `width` unless a word is.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
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

    #[test]
    fn lines_are_broken_between_words_only() {
        assert_eq!(wrap("aa bb  cc\ndddddd", 5), ["aa bb", "cc", "dddddd"]);
        assert!(wrap("", 5).is_empty());
    }
}
