//! What the imports between files come to: circles, and imports that run upward.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::Import;

/// Files that import from one another, in a circle or several: each group once, in the order of their names.
pub(super) fn circles(imports: &BTreeSet<Import>) -> Vec<Vec<String>> {
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let files: BTreeSet<&str> = imports.iter().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect();
    for file in &files {
        let mut seen = BTreeSet::new();
        let mut open = vec![*file];
        while let Some(at) = open.pop() {
            for (_, to) in imports.iter().filter(|(from, _)| from == at) {
                if seen.insert(to.as_str()) {
                    open.push(to);
                }
            }
        }
        reached.insert(file, seen);
    }
    let mut groups = BTreeSet::new();
    for file in files.iter().filter(|file| reached[**file].contains(**file)) {
        let group: Vec<String> = reached[file]
            .iter()
            .filter(|other| reached[**other].contains(file))
            .map(|other| (*other).to_owned())
            .collect();
        groups.insert(group);
    }
    groups.into_iter().collect()
}

/// Imports from a part of a crate into one that stands above it. `order`: the parts from the ground up, which are
/// folders and files below `src`; a file belongs to the longest that its path begins with. The root of a crate stands
/// above all unless it is among them.
pub(super) fn upward(imports: &BTreeSet<Import>, order: &[&str]) -> Vec<String> {
    let is_in = |file: &str, part: &str| {
        file.strip_prefix(part).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let height = |file: &str| {
        let parts = order.iter().enumerate().filter(|(_, part)| is_in(file, part));
        match parts.max_by_key(|(_, part)| part.len()) {
            Some((height, _)) => height,
            None => {
                assert!(["lib.rs", "main.rs"].contains(&file), "{file} has no place in ORDERS; give it one");
                order.len()
            }
        }
    };
    let runs_up = |(from, to): &&Import| height(to) > height(from);
    imports.iter().filter(runs_up).map(|(from, to)| format!("{from} -> {to}")).collect()
}
