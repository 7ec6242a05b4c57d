//! docs/mpi.md says what is called what: every name in it exists, and no call of a communicator is left out.
//!
//! Reads the page and the sources as text; needs no build. It looks for definitions, not for occurrences, so a
//! method that is renamed or removed makes the page wrong here before it does for a reader. Neighbour: `aliases` looks
//! at the names by which the library's own pages are searched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Words on our side of the tables that others define: letters that stand for anything, Rust, bytemuck, the shell.
const FOREIGN: [&[&str]; 4] = [
    &["x", "start_x", "prepare_x", "s", "a", "b", "T", "I", "before", "after", "name"],
    &["Future", "Result", "Display", "None", "clone", "await", "iter", "all", "std", "time", "Instant"],
    &["Pod"],
    &["ringworld", "run", "n", "MASTER_NODE", "MASTER_PORT", "NUM_NODES"],
];

const COMMUNICATOR: &str = "impl Communicator {";
const SCOPE: &str = "impl<'scope, 'env> Scope<'scope, 'env> {";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(super) fn page() -> String {
    std::fs::read_to_string(root().join("docs/mpi.md")).unwrap()
}

/// All sources of the library that users import.
pub(super) fn sources() -> Vec<String> {
    fn collect(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut found = Vec::new();
    // What users import, and what it hands on from the engine.
    for folder in ["runtime/src", "engine/src"] {
        collect(&root().join(folder), &mut found);
    }
    assert!(found.len() > 20, "only {} sources", found.len());
    found
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_part(c)).filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// What stands between backticks.
pub(super) fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Our side of every row: all cells but the first, with the line they are in.
fn rows(page: &str) -> impl Iterator<Item = (usize, String)> {
    page.lines().enumerate().filter(|(_, line)| line.starts_with('|')).map(|(index, line)| {
        // A bar inside of a cell is written `\|`.
        let line = line.replace("\\|", " ");
        let ours = line.trim_matches('|').split_once('|').map_or("", |(_, ours)| ours);
        (index + 1, ours.to_owned())
    })
}

/// Every name that the sources define and other crates can see or write: public items, fields, and variants.
pub(super) fn defined(sources: &[String]) -> BTreeSet<String> {
    const ITEMS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "mod", "const"];
    let mut names = BTreeSet::new();
    names.extend(sources.iter().flat_map(|source| from_the_table(source, COMMUNICATOR)));
    for line in sources.iter().flat_map(|source| source.lines()) {
        let line = line.trim();
        let mut tokens = line.strip_prefix("pub ").unwrap_or_default().split_whitespace().peekable();
        while tokens.next_if(|token| ["unsafe", "async"].contains(token)).is_some() {}
        if let Some(mut first) = tokens.next() {
            if first == "const" && tokens.peek() == Some(&"fn") {
                first = tokens.next().unwrap();
            }
            let name = if ITEMS.contains(&first) { tokens.next() } else { Some(first) };
            names.extend(name.and_then(|name| words(name).next()).map(str::to_owned));
        }
        // A method of a public trait.
        names.extend(line.strip_prefix("fn ").and_then(|rest| words(rest).next()).map(str::to_owned));
        // A variant stands alone on its line, or with what it holds.
        if line.starts_with(|c: char| c.is_ascii_uppercase())
            && (line.ends_with(',') || line.ends_with('{') || line.ends_with('('))
        {
            names.extend(words(line).next().map(str::to_owned));
        }
    }
    names
}

/// The methods that the table of collectives makes (`collective/families.rs`).
fn from_the_table(source: &str, header: &str) -> Vec<String> {
    let Some((_, table)) = source.split_once("macro_rules! collectives") else { return Vec::new() };
    let mut names = Vec::new();
    let mut made = false;
    for line in table.lines().take_while(|line| *line != "}").map(str::trim) {
        made |= ["owned", "persistent"].iter().any(|way| line.starts_with(&format!("{way} #[doc(alias")));
        let name = match line.split_once('(') {
            // More aliases follow, and then the name.
            _ if made && line.ends_with(']') => None,
            _ if made => {
                made = false;
                words(line).last().filter(|_| header == COMMUNICATOR)
            }
            Some((name, arguments)) if header == SCOPE && arguments.ends_with(')') && !name.contains(' ') => {
                Some(name)
            }
            _ => None,
        };
        names.extend(name.map(str::to_owned));
    }
    names
}

/// The public methods in `impl` blocks that begin with this line.
fn methods(sources: &[String], header: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for source in sources {
        let mut inside = false;
        for line in source.lines() {
            match line {
                _ if line == header => inside = true,
                "}" => inside = false,
                _ if inside => {
                    let name = line.strip_prefix("    pub fn ").and_then(|rest| words(rest).next());
                    names.extend(name.map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    names.extend(sources.iter().flat_map(|source| from_the_table(source, header)));
    assert!(names.contains("all_reduce"), "not found in `{header}`: {names:?}");
    names
}

#[test]
fn every_name_on_our_side_of_the_tables_is_defined() {
    let defined = defined(&sources());
    let mut seen = 0;
    for (line, ours) in rows(&page()) {
        for name in code(&ours).flat_map(words) {
            seen += 1;
            assert!(
                name.starts_with("MPI_") || FOREIGN.concat().contains(&name) || defined.contains(name),
                "docs/mpi.md, line {line}: `{name}` is defined nowhere in runtime/src and engine/src; correct the \
                 page, or add it to FOREIGN in this test if somebody else defines it"
            );
        }
    }
    assert!(seen > 200, "only {seen} names: the page is no longer read rightly");
}

#[test]
fn every_public_method_of_a_communicator_is_in_the_tables() {
    let page = page();
    let named: BTreeSet<String> = rows(&page)
        .flat_map(|(_, ours)| code(&ours).flat_map(words).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for method in methods(&sources(), COMMUNICATOR) {
        // "Each exists blocking, as `start_*`, in a scope, and as `prepare_*`."
        let call = ["start_", "prepare_"].iter().find_map(|way| method.strip_prefix(way)).unwrap_or(&method);
        assert!(
            named.contains(&method) || named.contains(call),
            "`Communicator::{method}` is not in docs/mpi.md; write there what it is in MPI, or that MPI has no such \
             call"
        );
    }
}

#[test]
fn every_collective_can_be_called_in_all_four_ways() {
    let sources = sources();
    let (calls, scoped) = (methods(&sources, COMMUNICATOR), methods(&sources, SCOPE));
    let mut collectives: BTreeSet<&str> = ["start_", "prepare_"]
        .iter()
        .flat_map(|way| calls.iter().filter_map(move |call| call.strip_prefix(way)))
        .collect();
    collectives.extend(scoped.iter().map(String::as_str));
    // No collectives; docs/mpi.md says which ways they have.
    for message in ["send", "recv", "send_sync", "probe_matched", "send_object", "recv_object"] {
        assert!(collectives.remove(message), "{message}");
    }
    assert!(collectives.len() >= 15, "{collectives:?}");
    for name in collectives {
        for way in [name.to_owned(), format!("start_{name}"), format!("prepare_{name}")] {
            assert!(
                calls.contains(&way),
                "there are other ways to call `{name}`, but no `Communicator::{way}`"
            );
        }
        assert!(scoped.contains(name), "there are other ways to call `{name}`, but no `Scope::{name}`");
    }
}
