//! The table of constants, read: sections of handles, numbers and types. What each kind of section is, the table says.

/// A section, in the order of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) kind: Kind,
    /// What it is about.
    pub(crate) title: String,
    /// Beginnings of names that Rust leaves out.
    pub(crate) without: Vec<String>,
    pub(crate) entries: Vec<Entry>,
}

/// What the entries of a section are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Size,
    Handle(String),
    Enum(String),
    Type,
    Struct(String),
    Callbacks,
}

/// A name, what it is, and what that means; of a callback only its declaration, as `value`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) meaning: String,
}

/// What C takes a value for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Number(i64),
    /// A number as another type: `(void*)1`.
    Cast(&'a str, i64),
    /// Another name for that one.
    Same(&'a str),
}

impl Entry {
    pub(crate) fn value(&self) -> Result<Value<'_>, String> {
        let value = match self.value.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((kind, value)) => number(value).map(|value| Value::Cast(kind, value)),
            None if self.value.starts_with("MPI_") => Some(Value::Same(&self.value)),
            None => number(&self.value).map(Value::Number),
        };
        value.ok_or_else(|| format!("{} is {}, which is no number and no name", self.name, self.value))
    }
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok(),
        None => text.parse().ok(),
    }
}

/// All of them, in the order of the table.
pub(crate) fn sections(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        if !line.starts_with(' ') {
            sections.push(section(line).ok_or_else(|| format!("no kind of section: {line}"))?);
            continue;
        }
        let section = sections.last_mut().ok_or_else(|| format!("in no section: {line}"))?;
        // A declaration may go on in the next line.
        match section.entries.last_mut() {
            Some(last) if section.kind == Kind::Callbacks && line.starts_with("        ") => {
                last.value.push(' ');
                last.value.push_str(line.trim());
            }
            _ => section.entries.push(entry(line, &section.kind).ok_or_else(|| format!("no entry: {line}"))?),
        }
    }
    Ok(sections)
}

fn section(line: &str) -> Option<Section> {
    let (head, title) = line.split_once(": ")?;
    let (head, without) = head.split_once(" without ").unwrap_or((head, ""));
    let (kind, of) = head.split_once(' ').unwrap_or((head, ""));
    let kind = match kind {
        "number" => Kind::Number,
        "size" => Kind::Size,
        "handle" => Kind::Handle(of.to_owned()),
        "enum" => Kind::Enum(of.to_owned()),
        "type" => Kind::Type,
        "struct" => Kind::Struct(of.to_owned()),
        "callbacks" => Kind::Callbacks,
        _ => return None,
    };
    let without = without.split_whitespace().map(str::to_owned).collect();
    Some(Section { kind, title: title.to_owned(), without, entries: Vec::new() })
}

fn entry(line: &str, kind: &Kind) -> Option<Entry> {
    let line = line.trim();
    if *kind == Kind::Callbacks {
        return Some(Entry { name: String::new(), value: line.to_owned(), meaning: String::new() });
    }
    let (name, rest) = line.split_once(' ')?;
    let (value, meaning) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    Some(Entry { name: name.to_owned(), value: value.to_owned(), meaning: meaning.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_taken_apart() {
        let text = "# a comment\nhandle MPI_X without MPI_X_ MPI_Y_: things\n    MPI_X_NULL 0x10\n\n\
                    number: numbers\n    MPI_ONE   1   the first\n    MPI_AT    (void*)-1\n    MPI_UNO   MPI_ONE\n\
                    callbacks: functions\n    int MPI_F(int a,\n        int b)\n";
        let sections = sections(text).unwrap_or_default();
        let values: Vec<_> = sections[..2].iter().flat_map(|s| &s.entries).map(Entry::value).collect();
        let expected =
            [Value::Number(16), Value::Number(1), Value::Cast("void*", -1), Value::Same("MPI_ONE")];
        assert_eq!(values, expected.map(Ok));
        assert_eq!(sections[0].kind, Kind::Handle("MPI_X".into()));
        assert_eq!(sections[0].without, ["MPI_X_", "MPI_Y_"]);
        assert_eq!(sections[1].entries[0].meaning, "the first");
        assert_eq!(sections[2].entries[0].value, "int MPI_F(int a, int b)");
    }

    #[test]
    fn nonsense_is_named() {
        assert_eq!(sections("thing: x\n"), Err("no kind of section: thing: x".into()));
        assert_eq!(sections("    MPI_X 1\n"), Err("in no section:     MPI_X 1".into()));
        let entry = Entry { name: "MPI_X".into(), value: "one".into(), meaning: String::new() };
        assert_eq!(entry.value(), Err("MPI_X is one, which is no number and no name".into()));
    }
}
