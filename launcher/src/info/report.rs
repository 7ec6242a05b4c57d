//! What a rank started here would use: this host, the world, the master, transports, interfaces, settings.

use std::fmt::{self, Write as _};

use ringworld_bootstrap::{Interface, KNOBS, Settings, Sighting, Source, interfaces};

use crate::exit::{Failure, Status};
use crate::{style, units};

/// The whole report. `all`: also the settings that are at their defaults, each with its reason.
pub(super) fn report(all: bool) -> Result<(String, Status), Failure> {
    let settings = Settings::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    let mut text = String::new();
    let mut status = Status::SUCCESS;
    let found = interfaces::enumerate();
    // Writing to a string cannot fail, here and below.
    let _ = world(&mut text, &settings, found.as_deref().unwrap_or(&[]));
    let _ = transports(&mut text);
    let _ = writeln!(text, "\n{}", style::heading("Interfaces"));
    match found {
        Ok(found) => match interfaces::choose(&found, &settings) {
            Ok(choice) => {
                let _ = choices(&mut text, &choice);
            }
            Err(error) => {
                status = Status::USAGE;
                let _ = writeln!(text, "  {}", style::bad(error));
            }
        },
        Err(error) => {
            status = Status::SYSTEM;
            let _ = writeln!(text, "  {}", style::bad(error));
        }
    }
    let _ = given(&mut text, &settings, all);
    for warning in settings.warnings() {
        let _ = writeln!(text, "  {}", style::bad(warning));
    }
    if all {
        let _ = defaults(&mut text, &settings);
    }
    Ok((text, status))
}

fn world(text: &mut String, settings: &Settings, interfaces: &[Interface]) -> fmt::Result {
    let cores = processors();
    let host = ringworld_bootstrap::host_name();
    let version = env!("CARGO_PKG_VERSION");
    writeln!(text, "{}", style::heading(format!("ringworld {version} on {host}, with {cores}")))?;
    let size = match settings.size() {
        None => "1 rank, since nothing is set".to_owned(),
        Some(size) => units::counted(size, "rank"),
    };
    writeln!(text, "  {:<10} {size}", "world")?;
    let Some(node) = &settings.master_node else { return Ok(()) };
    let port = settings.master_port;
    match Sighting::of(settings, node, interfaces) {
        Ok(sighting) => writeln!(text, "  {:<10} {}", "master", master(node, port, &sighting)),
        Err(error) => writeln!(text, "  {:<10} {node}, port {port}: {}", "master", style::bad(error)),
    }
}

/// How many processors this process may use, and of how many, where others are kept from it.
fn processors() -> String {
    let Ok(usable) = std::thread::available_parallelism() else {
        return "an unknown number of processors".to_owned();
    };
    let online = rustix::thread::sched_getaffinity(None).ok().zip(online());
    match online {
        Some((allowed, online)) if (allowed.count() as usize) < online => {
            let numbers = (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
            let numbers: Vec<String> = numbers.map(|cpu| cpu.to_string()).collect();
            format!("{} of {online} processors (number {})", allowed.count(), numbers.join(", "))
        }
        _ => units::counted(usable.get(), "processor"),
    }
}

/// How many processors there are.
fn online() -> Option<usize> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    let of = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first).map(|more| more + 1)
    };
    list.trim().split(',').map(of).sum()
}

/// Where the master is and who answers there.
fn master(node: &str, port: u16, sighting: &Sighting) -> String {
    let addresses: Vec<String> = sighting.addresses.iter().map(ToString::to_string).collect();
    let addresses = match &addresses[..] {
        [] => String::new(),
        [only] if only == node => String::new(),
        all => format!(" = {}", all.join(", ")),
    };
    let place = match (sighting.here, sighting.addresses.is_empty()) {
        (_, true) => "",
        (true, false) => ", this host",
        (false, false) => ", another host",
    };
    format!("{}{addresses}{place}; port {port}: {}", style::name(node), sighting.answer)
}

fn transports(text: &mut String) -> fmt::Result {
    writeln!(text, "\n{}", style::heading("Transports"))?;
    match ringworld::available_transports() {
        Ok(transports) => {
            for transport in transports {
                let verdict = if transport.usable {
                    style::good(&transport.verdict)
                } else {
                    style::bad(&transport.verdict)
                };
                writeln!(text, "  {:<10} {verdict}", transport.name)?;
                for line in transport.details {
                    writeln!(text, "    {line}")?;
                }
            }
        }
        Err(error) => writeln!(text, "  {}", style::bad(error))?,
    }
    if !ringworld::transports().contains(&"ibverbs") {
        let missing = style::faint("not compiled in; cargo feature `ibverbs` of the crate `ringworld`");
        writeln!(text, "  {:<10} {missing}", "ibverbs")?;
    }
    Ok(())
}

fn choices(text: &mut String, choice: &interfaces::Choice) -> fmt::Result {
    let mut list = |verdict: String, entries: &[(Interface, String)]| -> fmt::Result {
        for (interface, why) in entries {
            let address = format!("{}/{}", interface.addr, interface.prefix);
            writeln!(text, "  {verdict} {:<12} {address:<26} {}", interface.name, style::faint(why))?;
        }
        Ok(())
    };
    list(style::good(format_args!("{:<9}", "chosen")), &choice.chosen)?;
    list(format!("{:<9}", "excluded"), &choice.excluded)
}

fn is_default(source: &Source) -> bool {
    source.source == "default"
}

/// What somebody has set.
fn given(text: &mut String, settings: &Settings, all: bool) -> fmt::Result {
    writeln!(text, "\n{}", style::heading("Settings"))?;
    let (defaults, given): (Vec<_>, Vec<_>) =
        settings.sources().iter().partition(|source| is_default(source));
    for source in &given {
        let Some(knob) = KNOBS.iter().find(|knob| knob.key == source.key) else { continue };
        let from = style::faint(format!("{}; default: {}", source.source, knob.default));
        writeln!(text, "  {} = {}    {from}", style::name(knob.env()), source.value)?;
    }
    let defaults = defaults.len();
    match (given.is_empty(), all) {
        (_, true) => Ok(()),
        (true, false) => {
            writeln!(text, "  all {defaults} are at their defaults; --all lists them with their reasons")
        }
        (false, false) => writeln!(text, "  the other {defaults} are at their defaults; --all lists them"),
    }
}

/// What nobody has set, with the reasons.
fn defaults(text: &mut String, settings: &Settings) -> fmt::Result {
    writeln!(
        text,
        "\n{}",
        style::heading("Settings at their defaults (each also as key in the file of RINGWORLD_CONFIG)")
    )?;
    for source in settings.sources().iter().filter(|source| is_default(source)) {
        let Some(knob) = KNOBS.iter().find(|knob| knob.key == source.key) else { continue };
        writeln!(text, "  {} = {}", style::name(knob.env()), source.value)?;
        for line in wrap(knob.why, 94) {
            writeln!(text, "      {}", style::faint(line))?;
        }
    }
    Ok(())
}

/// Breaks a text between words, so that no line is longer than `width` unless a word is.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
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
    use ringworld_bootstrap::Answer;

    #[test]
    fn the_master_is_shown_with_its_addresses_and_who_answers() {
        let shown = |node: &str, addresses: &[&str], here, answer| {
            let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
            let text = master(node, 29500, &Sighting { addresses, here, answer });
            anstream::adapter::strip_str(&text).to_string()
        };
        let forming = Answer::Forming { joined: 2, size: 3 };
        assert_eq!(
            shown("n1", &["10.77.0.1"], false, forming),
            "n1 = 10.77.0.1, another host; port 29500: a ringworld master answers; 2 of 3 ranks have joined"
        );
        let nobody = Answer::Nobody("Connection refused".into());
        let text = shown("127.0.0.1", &["127.0.0.1"], true, nobody);
        assert_eq!(text, "127.0.0.1, this host; port 29500: nobody answers (Connection refused)");
        let text = shown("x", &[], false, Answer::Unknown("no".into()));
        assert_eq!(text, "x; port 29500: the name cannot be resolved (no)");
    }

    #[test]
    fn lines_are_broken_between_words_only() {
        assert_eq!(wrap("aa bb  cc\ndddddd", 5), ["aa bb", "cc", "dddddd"]);
        assert!(wrap("", 5).is_empty());
    }
}
