//! `ringworld info`: what a rank started here and now would use, and why. It decides nothing itself: the
//! choices come from the same functions that a rank calls, so that what is printed is what would happen.

use crate::cli::InfoOptions;
use crate::exit::{Failure, Status};
use ringworld_bootstrap::{Interface, KNOBS, Settings, interfaces};
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};

/// Prints the report.
pub(crate) fn info(options: &InfoOptions) -> Status {
    let report = if options.tuning { tuning() } else { report() };
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
    for &name in ringworld::transports() {
        let allowed =
            if settings.transport.allows(name) { "usable" } else { "excluded by RINGWORLD_TRANSPORT" };
        writeln!(text, "  {name:<18}{allowed}")?;
    }
    if !ringworld::transports().contains(&"ibverbs") {
        writeln!(
            text,
            "  {:<18}not compiled in; cargo feature `ibverbs` of the crate `ringworld`",
            "ibverbs"
        )?;
    }
    let kernel = |name: &str| {
        let path = format!("/proc/sys/net/ipv4/{name}");
        std::fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |value| value.trim().to_owned())
    };
    let (system, offered) = (kernel("tcp_congestion_control"), kernel("tcp_available_congestion_control"));
    let (chosen, by) = match &settings.tcp_congestion {
        Some(name) => (name.as_str(), "RINGWORLD_TCP_CONGESTION"),
        None => (system.as_str(), "the system's"),
    };
    writeln!(text, "  {:<18}{chosen} ({by}; the kernel offers {offered})", "tcp congestion")
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
    fn lines_are_broken_between_words_only() {
        assert_eq!(wrap("aa bb  cc\ndddddd", 5), ["aa bb", "cc", "dddddd"]);
        assert!(wrap("", 5).is_empty());
    }
}
