//! The arrows between the crates point one way.
//!
//! Reads the manifests by `cargo metadata` and the sources of the crates that decide; needs no build and
//! no network. Neighbours: ARCHITECTURE.md draws the picture that this file enforces.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which fail by a panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// What each crate may depend on, apart from crates of others. Optional ones only behind a feature.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("ringworld-auth", &[], &[]),
    ("ringworld-transport", &[], &[]),
    ("ringworld-protocol", &[], &[]),
    ("ringworld-collectives", &[], &[]),
    ("ringworld-bootstrap", &["ringworld-auth"], &[]),
    ("ringworld-transport-sim", &["ringworld-transport"], &[]),
    ("ringworld-transport-tcp", &["ringworld-transport", "ringworld-auth"], &[]),
    // Over the TCP transport two ranks tell one another of their queue pairs, and notice each other's death.
    ("ringworld-transport-ibverbs", &["ringworld-transport", "ringworld-auth"], &["ringworld-transport-tcp"]),
    (
        "ringworld",
        &["ringworld-protocol", "ringworld-collectives", "ringworld-bootstrap", "ringworld-transport"],
        &["ringworld-transport-tcp", "ringworld-transport-ibverbs"],
    ),
    ("ringworld-simulate", &["ringworld-collectives"], &[]),
    (
        "ringworld-launcher",
        &[
            "ringworld",
            "ringworld-bootstrap",
            "ringworld-auth",
            "ringworld-collectives",
            "ringworld-simulate",
        ],
        &[],
    ),
];

/// Those that look at the whole from outside.
const FREE: &[&str] = &["ringworld-tests", "ringworld-benches", "xtask"];

/// Those that may not know one another even in their tests.
const APART: &[&str] = &["ringworld-protocol", "ringworld-collectives", "ringworld-bootstrap"];

fn workspace() -> Metadata {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let options = ["--offline".to_owned(), "--locked".to_owned()];
    MetadataCommand::new().manifest_path(manifest).no_deps().other_options(options).exec().unwrap()
}

/// From, to, of which kind, optional.
type Arrow = (String, String, DependencyKind, bool);

fn arrows(metadata: &Metadata) -> Vec<Arrow> {
    let ours: BTreeSet<String> = metadata.packages.iter().map(|p| p.name.to_string()).collect();
    let mut arrows = Vec::new();
    for package in &metadata.packages {
        for dependency in package.dependencies.iter().filter(|d| ours.contains(&d.name)) {
            arrows.push((
                package.name.to_string(),
                dependency.name.clone(),
                dependency.kind,
                dependency.optional,
            ));
        }
    }
    arrows
}

/// The arrows that the design does not have.
fn wrong(arrows: &[Arrow]) -> Vec<String> {
    let rules: BTreeMap<_, _> =
        ARROWS.iter().map(|&(from, always, optional)| (from, (always, optional))).collect();
    let mut wrong = Vec::new();
    for (from, to, kind, is_optional) in arrows {
        let Some((always, optional)) = rules.get(from.as_str()) else { continue };
        let allowed = always.contains(&to.as_str()) || (*is_optional && optional.contains(&to.as_str()));
        if *kind != DependencyKind::Development && !allowed {
            wrong.push(format!("{from} -> {to}{}", if *is_optional { " (optional)" } else { "" }));
        }
    }
    wrong
}

#[test]
fn arrows_between_crates_point_one_way() {
    let metadata = workspace();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let placed = ARROWS.iter().any(|&(from, ..)| from == name) || FREE.contains(&name);
        assert!(placed, "{name} has no place in the picture; give it one in tests/tests/layers.rs");
    }
    let wrong = wrong(&arrows(&metadata));
    assert!(wrong.is_empty(), "arrows that the design does not have:\n  {}", wrong.join("\n  "));
}

#[test]
fn an_arrow_that_the_design_does_not_have_is_found() {
    let arrow = |from: &str, to: &str, kind, optional| (from.to_owned(), to.to_owned(), kind, optional);
    let (normal, dev) = (DependencyKind::Normal, DependencyKind::Development);
    let tried = [
        arrow("ringworld-protocol", "ringworld-bootstrap", normal, false),
        arrow("ringworld", "ringworld-transport-tcp", normal, false),
        arrow("ringworld", "ringworld-transport-tcp", normal, true),
        arrow("ringworld-transport-tcp", "ringworld", DependencyKind::Build, false),
        arrow("ringworld-launcher", "ringworld-protocol", normal, true),
        arrow("ringworld", "ringworld-transport-sim", dev, false),
        arrow("xtask", "ringworld-protocol", normal, false),
    ];
    let expected = [
        "ringworld-protocol -> ringworld-bootstrap",
        "ringworld -> ringworld-transport-tcp",
        "ringworld-transport-tcp -> ringworld",
        "ringworld-launcher -> ringworld-protocol (optional)",
    ];
    assert_eq!(wrong(&tried), expected);
}

#[test]
fn protocol_collectives_and_bootstrap_do_not_know_one_another_even_in_tests() {
    let wrong: Vec<String> = arrows(&workspace())
        .into_iter()
        .filter(|(from, to, ..)| APART.contains(&from.as_str()) && APART.contains(&to.as_str()))
        .map(|(from, to, ..)| format!("{from} -> {to}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_arrows_are_really_read() {
    let found = arrows(&workspace());
    let has = |from: &str, to: &str| found.iter().any(|(f, t, ..)| f == from && t == to);
    assert!(has("ringworld", "ringworld-protocol") && has("ringworld-transport-tcp", "ringworld-transport"));
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Lines of code, without comments, that contain one of the words: `file:line: text`.
fn lines_with(folder: &str, words: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut found = Vec::new();
    for file in sources(&root) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if words.iter().any(|word| code.contains(word)) {
                let file = file.strip_prefix(&root).unwrap().display();
                found.push(format!("{folder}/{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    found
}

#[test]
fn what_decides_uses_no_clock_socket_thread_file_or_environment() {
    let words = [
        "Instant::now",
        "SystemTime",
        "std::env",
        "env::var",
        "std::fs",
        "std::net",
        "std::thread",
        "thread::sleep",
        "RandomState",
    ];
    for folder in ["protocol/src", "collectives/src", "simulate/src", "transport-sim/src"] {
        let found = lines_with(folder, &words);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn concrete_transports_are_named_in_one_file_of_the_runtime() {
    let found = lines_with("runtime/src", &["ringworld_transport_tcp", "ringworld_transport_ibverbs"]);
    assert!(!found.is_empty(), "the search finds nothing at all");
    let elsewhere: Vec<_> =
        found.iter().filter(|line| !line.starts_with("runtime/src/transports.rs:")).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}
