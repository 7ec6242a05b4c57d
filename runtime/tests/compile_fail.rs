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

use cargo_metadata::Message;
use cargo_metadata::diagnostic::DiagnosticLevel;

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

/// A package with the programs as binaries, apart from this workspace but with its versions.
fn package(programs: &BTreeMap<String, PathBuf>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    fs::create_dir_all(&folder).unwrap();
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut manifest = format!(
        "[package]\nname = \"compile-fail\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [workspace]\n\n[dependencies]\nringworld = {{ path = {library:?} }}\n"
    );
    for (name, path) in programs {
        manifest += &format!("\n[[bin]]\nname = \"{name}\"\npath = {path:?}\n");
    }
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(library.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

/// The errors that the compiler finds, by program, and everything it says.
fn found(folder: &Path, programs: &BTreeMap<String, PathBuf>) -> (BTreeMap<String, Errors>, String) {
    let output = Command::new(env!("CARGO"))
        .args(["check", "--bins", "--keep-going", "--offline", "--quiet", "--message-format=json"])
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(folder.join("target"))
        .output()
        .unwrap();
    let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut found: BTreeMap<String, Errors> = BTreeMap::new();
    for message in Message::parse_stream(output.stdout.as_slice()) {
        let message = match message.unwrap() {
            Message::CompilerArtifact(artifact) => {
                // Compiled: no errors, rather than not looked at.
                found.entry(artifact.target.name.to_string()).or_default();
                continue;
            }
            Message::CompilerMessage(message) => message,
            _ => continue,
        };
        let diagnostic = message.message;
        if !matches!(diagnostic.level, DiagnosticLevel::Error) {
            continue;
        }
        let program = message.target.name.to_string();
        said += diagnostic.rendered.as_deref().unwrap_or_default();
        // The closing "aborting due to 3 errors" has no place.
        let Some(span) = diagnostic.spans.iter().find(|span| span.is_primary) else { continue };
        assert!(programs.contains_key(&program), "{program} does not compile:\n{said}");
        let code = diagnostic.code.map_or_else(|| diagnostic.message.clone(), |code| code.code);
        found.entry(program).or_default().insert((span.line_start, code));
    }
    (found, said)
}

#[test]
fn memory_in_flight_and_what_is_no_plain_data_are_out_of_reach() {
    let programs = programs();
    let (found, said) = found(&package(&programs), &programs);
    for (program, path) in &programs {
        let Some(errors) = found.get(program) else {
            panic!("the compiler did not come to {program}:\n{said}");
        };
        let announced = announced(path);
        assert_eq!(errors, &announced, "{program}: found, and announced; the compiler says\n{said}");
    }
    assert!(announced(&programs["control"]).is_empty());
    let all: usize = programs.values().map(|path| announced(path).len()).sum();
    assert!(all >= 20, "only {all} errors are announced");
}
