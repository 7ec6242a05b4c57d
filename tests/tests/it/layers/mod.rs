//! The arrows between the crates point one way, and so do the imports between the files and folders of each.
//!
//! Reads the manifests by `cargo metadata` and the sources; needs no build and no network. `scan` finds out which file
//! imports from which, `order` finds circles and what runs upward. Neighbours: ARCHITECTURE.md draws the picture that
//! this folder enforces.

mod order;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// What each crate may depend on, apart from crates of others. Optional ones only behind a feature.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("ringworld-auth", &[], &[]),
    ("ringworld-transport", &[], &[]),
    ("ringworld-protocol", &[], &[]),
    ("ringworld-collectives", &[], &[]),
    ("ringworld-trace", &[], &[]),
    (
        "ringworld-engine",
        &["ringworld-protocol", "ringworld-collectives", "ringworld-trace", "ringworld-transport"],
        &[],
    ),
    ("ringworld-membership", &[], &[]),
    ("ringworld-bootstrap", &["ringworld-auth", "ringworld-membership"], &[]),
    ("ringworld-transport-sim", &["ringworld-transport"], &[]),
    ("ringworld-transport-shm", &["ringworld-transport", "ringworld-auth"], &[]),
    ("ringworld-transport-tcp", &["ringworld-transport", "ringworld-auth"], &[]),
    // Over the TCP transport two ranks tell one another of their queue pairs, and notice each other's death.
    ("ringworld-transport-ibverbs", &["ringworld-transport", "ringworld-auth"], &["ringworld-transport-tcp"]),
    (
        "ringworld",
        &[
            "ringworld-engine",
            "ringworld-protocol",
            "ringworld-collectives",
            "ringworld-bootstrap",
            "ringworld-transport",
        ],
        &["ringworld-transport-shm", "ringworld-transport-tcp", "ringworld-transport-ibverbs"],
    ),
    ("ringworld-simulate", &["ringworld-collectives"], &[]),
    ("ringworld-mpi", &["ringworld"], &[]),
    ("ringworld-mpi-abi", &["ringworld-mpi"], &[]),
    ("ringworld-mpi-mpich", &["ringworld-mpi"], &[]),
    (
        "ringworld-launcher",
        &[
            "ringworld",
            "ringworld-bootstrap",
            "ringworld-auth",
            "ringworld-collectives",
            "ringworld-simulate",
            "ringworld-trace",
        ],
        &[],
    ),
];

/// Those that look at the whole from outside.
const FREE: &[&str] = &["ringworld-tests", "ringworld-benches", "ringworld-trainer", "xtask"];

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
        assert!(placed, "{name} has no place in the picture; give it one in tests/tests/it/layers/mod.rs");
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
    let names = ["ringworld_transport_shm", "ringworld_transport_tcp", "ringworld_transport_ibverbs"];
    let found = lines_with("runtime/src", &names);
    assert!(!found.is_empty(), "the search finds nothing at all");
    let elsewhere: Vec<_> =
        found.iter().filter(|line| !line.starts_with("runtime/src/world/transports.rs:")).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

/// The parts of the large crates, from the ground up: each imports only from those before it.
const ORDERS: &[(&str, &[&str])] = &[
    (
        "engine",
        &[
            "sync",
            "fault",
            "affinity",
            "limits",
            "notifier",
            "backoff",
            "panics",
            "reduce",
            "inside",
            "buffer",
            "router",
            "signature",
            "told",
            "tally",
            "tracer",
            "observe",
            "whereabouts",
            "early",
            "last_calls",
            "under_way",
            "waiters",
            "calls",
            "sleepers",
            "inbox",
            "owners",
            "runs",
            "wait/share",
            "helper/state",
            "parts",
            "shell",
            "core",
            "startable",
            "engine",
            "helper",
            "leaving",
            "wait",
            "lend",
        ],
    ),
    (
        "protocol",
        &[
            "malformed",
            "rank",
            "slab",
            "envelope",
            "request",
            "config",
            "matching",
            "wire",
            "action",
            "credit",
            "machine",
        ],
    ),
    (
        "collectives",
        &[
            "action",
            "placement",
            "counts",
            "request",
            "algorithm",
            "error",
            "parse",
            "schedule",
            "conflicts",
            "builder",
            "validate",
            "tuning",
            "select",
            "exchange",
            "window",
            "tree",
            "fold",
            "left",
            "cut",
            "barrier",
            "broadcast",
            "gather",
            "scatter",
            "all_gather",
            "all_to_all",
            "reduce",
            "all_reduce",
            "reduce_scatter",
            "scan",
            "flat",
            "levels",
            "barrier/two_level",
            "broadcast/two_level",
            "all_gather/two_level",
            "reduce/two_level",
            "all_reduce/two_level",
            "reduce_scatter/two_level",
            "all_to_all/two_level",
            "cost",
            "check",
        ],
    ),
    (
        "runtime",
        &["error", "communicator", "message", "request", "collective", "foreign", "world", "testing"],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folders of all crates.
fn crates() -> Vec<String> {
    let manifests = workspace().packages.into_iter().map(|package| package.manifest_path);
    manifests.filter_map(|manifest| Some(manifest.parent()?.file_name()?.to_owned())).collect()
}

#[test]
fn the_picture_names_every_crate_and_no_folder_that_is_not_there() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = page.split("| crate | folder |").nth(1).unwrap().split("\n\n").next().unwrap();
    let in_ticks = |column: &str| column.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let mut named = BTreeMap::new();
    for row in table.lines().skip(2) {
        let columns: Vec<&str> = row.split('|').collect();
        let (crates, folders) = (in_ticks(columns[1]), in_ticks(columns[2]));
        assert_eq!(crates.len(), folders.len(), "{row}");
        named.extend(
            crates.into_iter().zip(folders.into_iter().map(|folder| folder.trim_end_matches('/').to_owned())),
        );
    }
    let folder = |manifest: &cargo_metadata::camino::Utf8Path| {
        manifest.parent().unwrap().file_name().unwrap().to_owned()
    };
    let packages = workspace().packages;
    let there = packages.iter().map(|package| (package.name.to_string(), folder(&package.manifest_path)));
    assert_eq!(named, there.collect(), "the table in ARCHITECTURE.md and the crates of the workspace");
}

#[test]
fn no_files_of_a_crate_import_from_one_another_in_a_circle() {
    let mut found = Vec::new();
    for folder in crates() {
        let imports = scan::imports(&root().join(&folder).join("src"));
        found
            .extend(order::circles(&imports).iter().map(|circle| format!("{folder}: {}", circle.join(", "))));
    }
    assert!(found.is_empty(), "files that import from one another in a circle:\n  {}", found.join("\n  "));
}

#[test]
fn the_parts_of_a_crate_import_only_from_those_below_them() {
    for (folder, parts) in ORDERS {
        let found = order::upward(&scan::imports(&root().join(folder).join("src")), parts);
        assert!(found.is_empty(), "{folder}: imports that run upward:\n  {}", found.join("\n  "));
    }
}

/// Sources on disk, as `scan` reads them: paths below a folder of their own, and texts. The folder is this process's,
/// for another one that plants the same would empty files that are read here.
fn planted(name: &str, files: &[(&str, &str)]) -> BTreeSet<scan::Import> {
    let folder = format!("{}/layers-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let folder = Path::new(&folder).join(name);
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let found = scan::imports(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    found
}

#[test]
fn a_planted_circle_is_found_whatever_it_is_hidden_behind() {
    let ways = [
        ("a use", "use crate::above::Above;\npub struct Below(Above);"),
        ("a path", "pub struct Below(crate::above::Above);"),
        ("a re-export", "use crate::Above;\npub struct Below(Above);"),
        ("a glob", "use super::above::*;\npub struct Below(Above);"),
        ("a macro", "pub struct Below;\npub fn f() { println!(\"{}\", crate::above::f()); }"),
        (
            "an inline module",
            "pub struct Below;\nmod inner { use super::super::above::Above; type A = Above; }",
        ),
    ];
    for (index, (way, below)) in ways.iter().enumerate() {
        let files = [
            ("lib.rs", "mod above;\nmod below;\npub use above::Above;\npub use below::Below;"),
            ("above/mod.rs", "mod deep;\npub use deep::Above;\npub fn f() -> u8 { deep::f() }"),
            ("above/deep.rs", "use crate::Below;\npub struct Above(Box<Below>);\npub fn f() -> u8 { 0 }"),
            ("below.rs", below),
        ];
        let imports = planted(&format!("circle-{index}"), &files);
        let found = order::circles(&imports);
        assert!(found.iter().flatten().any(|file| file == "below.rs"), "{way}: {imports:?}");
        let upward = order::upward(&imports, &["below", "above"]);
        assert!(upward.iter().any(|import| import.starts_with("below.rs -> above/")), "{way}: {upward:?}");
    }
}

#[test]
fn what_only_tests_and_re_exports_do_is_no_circle() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;"),
        ("a.rs", "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; type T = B; }"),
        ("b.rs", "use crate::A;\npub struct B(A);"),
    ];
    let imports = planted("no-circle", &files);
    assert_eq!(imports, [("b.rs".to_owned(), "a.rs".to_owned())].into());
    assert_eq!(order::circles(&imports), [[""; 0]; 0]);
    assert_eq!(order::upward(&imports, &["a", "b"]), [""; 0]);
}
