//! The table of constants in Rust, for the semantic layer: numbers, handles, and what classes of errors mean.
//!
//! Names are the standard's without `MPI_`. Types of C's and the tools interface have nothing to say there.

use std::fmt::Write as _;

use super::constants::{Entry, Kind, Section, Value};

const HEAD: &str = "\
// Constants and handles of the standard's ABI. Made by `cargo xtask mpi` from constants.txt; not to be edited.
//
// Included by src/standard.rs, which has the types.
";

pub(crate) fn values(sections: &[Section]) -> Result<String, String> {
    let mut text = HEAD.to_owned();
    for section in sections {
        let of_tools = |entry: &Entry| entry.name.starts_with("MPI_T_");
        if section.entries.iter().all(of_tools) {
            continue;
        }
        let lines = match &section.kind {
            Kind::Number => constants(section, "i32")?,
            Kind::Size => constants(section, "usize")?,
            Kind::Handle(_) => constants(section, "Self")?,
            Kind::Enum(_) | Kind::Type | Kind::Struct(_) | Kind::Callbacks => continue,
        };
        // Cannot fail: a string takes everything.
        let _ = match &section.kind {
            Kind::Handle(name) => {
                let lines: Vec<_> = lines.iter().map(|line| format!("    {line}\n")).collect();
                write!(text, "\nimpl {} {{\n{}}}\n", name.trim_start_matches("MPI_"), lines.concat())
            }
            _ => write!(text, "\n// {}\n{}\n", section.title, lines.join("\n")),
        };
    }
    text.push_str(&meanings(sections));
    Ok(text)
}

/// What Rust calls it, if that is a name: `MPI_2INT` has none.
fn name(entry: &Entry, without: &[String]) -> Option<String> {
    let prefixes = without.iter().map(String::as_str).chain(["MPI_"]);
    let name = prefixes.filter_map(|prefix| entry.name.strip_prefix(prefix)).next()?;
    (!name.starts_with(|c: char| c.is_ascii_digit())).then(|| name.to_owned())
}

fn constants(section: &Section, kind: &str) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for entry in &section.entries {
        let Some(name) = name(entry, &section.without) else { continue };
        lines.push(match entry.value()? {
            Value::Number(_) if kind == "Self" => {
                format!("pub const {name}: Self = Self({});", entry.value)
            }
            Value::Number(value) => format!("pub const {name}: {kind} = {value};"),
            Value::Cast(pointer, value) if pointer.ends_with('*') => {
                format!("pub const {name}: usize = {value};")
            }
            Value::Cast(_, value) => format!("pub const {name}: i64 = {value};"),
            // Another name for the same.
            Value::Same(_) => continue,
        });
    }
    Ok(lines)
}

fn meanings(sections: &[Section]) -> String {
    let mut text =
        "\n/// What a class of errors means.\npub(crate) fn class_text(class: i32) -> Option<&'static str> \
                    {\n    match class {\n"
            .to_owned();
    for Entry { name, value, meaning } in sections.iter().flat_map(|section| &section.entries) {
        if !meaning.is_empty() {
            // Cannot fail: a string takes everything.
            let _ = writeln!(text, "        {value} => Some(\"{name}: {meaning}\"),");
        }
    }
    text.push_str("        _ => None,\n    }\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::super::constants::sections;
    use super::*;

    #[test]
    fn names_are_the_standards_without_what_they_begin_with() {
        let table = "handle MPI_X without MPI_X_ MPI_XS_: things\n    MPI_X_NULL 0x10\n    MPI_XS_ALL 0x11\n    \
                     MPI_OTHER 0x12\n    MPI_2X 0x13\n    MPI_SAME MPI_OTHER\n\
                     number: numbers\n    MPI_ONE 1 first\n    MPI_AT (void*)2\n    MPI_PLACE (MPI_Offset)-1\n\
                     size: rooms\n    MPI_ROOM 8\nnumber: tools\n    MPI_T_X 1\n";
        let text = sections(table).and_then(|sections| values(&sections)).unwrap_or_default();
        let expected = "
impl X {
    pub const NULL: Self = Self(0x10);
    pub const ALL: Self = Self(0x11);
    pub const OTHER: Self = Self(0x12);
}

// numbers
pub const ONE: i32 = 1;
pub const AT: usize = 2;
pub const PLACE: i64 = -1;

// rooms
pub const ROOM: usize = 8;

/// What a class of errors means.
pub(crate) fn class_text(class: i32) -> Option<&'static str> {
    match class {
        1 => Some(\"MPI_ONE: first\"),
        _ => None,
    }
}
";
        assert_eq!(text.strip_prefix(HEAD), Some(expected));
    }
}
