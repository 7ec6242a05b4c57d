//! Programs that must not compile: memory in flight that is touched, handles that escape, elements that are
//! no plain data.
//!
//! The programs are in `compile_fail/`; a comment `//~ E0499` says that exactly this error has its place on
//! that line. Codes and lines are compared, not texts, so that another compiler's words change nothing; all
//! errors must be announced and all announced ones must come, so that no program fails for another reason.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Lines and codes of errors.
type Errors = BTreeSet<(usize, String)>;

fn programs() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

fn announced(path: &Path) -> Errors {
    let text = fs::read_to_string(path).unwrap();
    let code = |line: &str| line.split_once("//~ ").map(|(_, code)| code.trim().to_owned());
    text.lines().zip(1..).filter_map(|(line, number)| Some((number, code(line)?))).collect()
}

/// The library as this test is linked with it: the newest of those beside this program. Cargo has just built it, or
/// found nothing newer than it. Checking a package with the programs instead would compile every dependency once more.
fn library() -> (PathBuf, PathBuf) {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let built = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()).filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("libringworld-") && name.ends_with(".rlib")
    });
    let newest = built.max_by_key(|entry| entry.metadata().unwrap().modified().unwrap());
    (newest.expect("a library that this test is linked with").path(), folder)
}

/// The errors that the compiler finds in a program, and everything it says. `None` if it says something of no line,
/// which is not about the program.
fn found(path: &Path) -> (Option<Errors>, String) {
    let (library, dependencies) = library();
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "bin",
            "--emit",
            "metadata",
            "--error-format",
            "json",
            "-o",
        ])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(path.file_stem().unwrap()).with_extension("rmeta"))
        .arg("-L")
        .arg(dependencies)
        .arg("--extern")
        .arg(format!("ringworld={}", library.display()))
        .arg(path)
        .output()
        .unwrap();
    let mut said = String::new();
    let mut found = Errors::new();
    let mut placed = true;
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if message["level"] != "error" {
            continue;
        }
        said += message["rendered"].as_str().unwrap_or_default();
        let spans = message["spans"].as_array().unwrap();
        let text = message["message"].as_str().unwrap();
        let Some(span) = spans.iter().find(|span| span["is_primary"] == true) else {
            // The closing "aborting due to 3 errors" has no place.
            placed &= text.starts_with("aborting");
            continue;
        };
        let line = usize::try_from(span["line_start"].as_u64().unwrap()).unwrap();
        found.insert((line, message["code"]["code"].as_str().unwrap_or(text).to_owned()));
    }
    let whole = placed && output.status.success() == found.is_empty();
    (whole.then_some(found), said)
}

#[test]
fn memory_in_flight_and_what_is_no_plain_data_are_out_of_reach() {
    let programs = programs();
    for (program, path) in &programs {
        let (found, said) = found(path);
        let errors = found.unwrap_or_else(|| panic!("the compiler did not come to {program}:\n{said}"));
        assert_eq!(errors, announced(path), "{program}: found, and announced; the compiler says\n{said}");
    }
    assert!(announced(&programs["control"]).is_empty());
    let all: usize = programs.values().map(|path| announced(path).len()).sum();
    assert!(all >= 20, "only {all} errors are announced");
}
