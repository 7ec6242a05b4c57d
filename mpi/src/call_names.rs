//! The runtime's words say where a call stands in this library; programs know it by MPI's name.
//!
//! Looked up in the sources only when something has failed, so that a call that goes well carries no name: the name
//! that stands last before the line is that of the function. Ranks that run different builds of this library could be
//! given the name of a neighbouring function.

/// The files that call the runtime for a program.
const SOURCES: [(&str, &str); 6] = [
    ("collectives.rs", include_str!("calls/collectives.rs")),
    ("communicators.rs", include_str!("calls/communicators.rs")),
    ("neighbourhood.rs", include_str!("calls/neighbourhood.rs")),
    ("persistent.rs", include_str!("calls/persistent.rs")),
    ("starting.rs", include_str!("calls/starting.rs")),
    ("topologies.rs", include_str!("calls/topologies.rs")),
];

/// The text with names of functions where it says ` at …/calls/FILE:LINE`.
pub(crate) fn named(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(" at ") {
        let (before, place) = rest.split_at(at);
        let place = &place[" at ".len()..];
        let end = place.find(|c: char| c.is_whitespace() || c == ',' || c == ';').unwrap_or(place.len());
        words.push_str(before);
        match name_at(place[..end].trim_end_matches(['.', ':', ')'])) {
            Some((name, length)) => {
                words.push_str(" in ");
                words.push_str(name);
                rest = &place[length..];
            }
            None => {
                words.push_str(" at ");
                rest = place;
            }
        }
    }
    words.push_str(rest);
    words
}

/// The function at a place, and how long the place is in the text.
fn name_at(place: &str) -> Option<(&'static str, usize)> {
    let (path, line) = place.rsplit_once(':')?;
    let (folders, file) = path.rsplit_once('/')?;
    if !folders.ends_with("src/calls") {
        return None;
    }
    let (_, source) = SOURCES.iter().find(|(known, _)| *known == file)?;
    Some((name_before(source, line.parse().ok()?)?, place.len()))
}

/// The name that stands last in the lines up to this one, in the same function.
fn name_before(source: &'static str, line: usize) -> Option<&'static str> {
    source.lines().take(line).fold(None, |name, text| {
        let begins = ["fn ", "pub fn ", "pub(super) fn "].iter().any(|begin| text.starts_with(begin));
        let named = text.split('"').find(|text| text.starts_with("MPI_"));
        named.or(if begins { None } else { name })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The functions of a file in which something is done, with the line.
    fn done(source: &'static str) -> impl Iterator<Item = (&'static str, usize)> {
        let mut function = "";
        source.lines().zip(1..).filter_map(move |(text, line)| {
            if let Some(signature) = text.strip_prefix("pub fn ") {
                function = signature.split('(').next().unwrap_or_default();
            } else if text.starts_with("fn ") {
                function = "";
            }
            [".run()", ".start()", "making::"]
                .iter()
                .any(|call| text.contains(call))
                .then_some((function, line))
        })
    }

    #[test]
    fn every_line_that_does_something_has_the_name_of_its_function() {
        let mut seen = 0;
        for (file, source) in SOURCES {
            for (function, line) in done(source).filter(|(function, _)| !function.is_empty()) {
                let name = name_before(source, line).unwrap_or_default();
                assert_eq!(name.trim_start_matches("MPI_").to_lowercase(), function, "{file}:{line}");
                seen += 1;
            }
        }
        assert!(seen > 60, "only {seen} lines");
    }

    #[test]
    fn places_in_this_library_become_names() {
        let (file, source) = SOURCES[0];
        let line = |name: &str| source.lines().position(|text| text.contains(name)).expect("is there") + 1;
        let text = format!(
            "rank 0 on a called broadcast at /x/mpi/src/calls/{file}:{}, but rank 1 called scan at \
             mpi/src/calls/{file}:{}; look at src/main.rs:7: done",
            line("MPI_Bcast"),
            line("MPI_Scan"),
        );
        let expected = "rank 0 on a called broadcast in MPI_Bcast, but rank 1 called scan in MPI_Scan; look at \
                        src/main.rs:7: done";
        assert_eq!(named(&text), expected);
        for text in
            ["", " at ", "at", "a at b at c", " at src/calls/collectives.rs:0", " at src/calls/none.rs:9"]
        {
            assert_eq!(named(text), text);
        }
    }
}
