//! `ringworld cc` and `ringworld c++`: the system's compiler, told where our header and our library are.
//!
//! `arguments` and `compiler` decide, from words alone; this process then becomes the compiler.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::kit::{Kit, find};
use crate::exit::{Failure, Status};
use crate::style;

/// `ringworld cc`, `ringworld c++`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// What the compiler is given; --show prints the command instead
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Which language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Language {
    /// What the command is called.
    command: &'static str,
    name: &'static str,
    /// The variable that names a compiler, and the one to take without it.
    variable: &'static str,
    default: &'static str,
}

pub(crate) const C: Language = Language { command: "cc", name: "C", variable: "CC", default: "cc" };
pub(crate) const CXX: Language = Language { command: "c++", name: "C++", variable: "CXX", default: "c++" };

/// Becomes the compiler; comes back only when that cannot be, or when there was nothing to compile.
pub(crate) fn compile(language: Language, options: &Options) -> Status {
    match run(language, &options.arguments) {
        Ok(()) => Status::SUCCESS,
        Err(failure) => {
            style::err(language.command, &failure.message);
            failure.status
        }
    }
}

fn run(language: Language, given: &[OsString]) -> Result<(), Failure> {
    let kit = find(&super::here()?)?;
    let (words, show) = arguments(&kit, given);
    let named = compiler(language, std::env::var_os(language.variable).as_deref());
    if show {
        let line: Vec<_> = named.iter().chain(&words).map(|word| quoted(word)).collect();
        return style::out(&format!("{}\n", line.join(" ")));
    }
    // A compiler that is ours again, by a name that nobody could see through, finds the system's.
    let mut command = Command::new(&named[0]);
    let error = command.args(&named[1..]).args(words).env_remove(language.variable).exec();
    let compiler = named[0].display();
    let Language { name, variable, .. } = language;
    Err(match error.kind() {
        ErrorKind::NotFound => Failure {
            status: Status::NOT_FOUND,
            message: format!(
                "there is no compiler {compiler}: install one for {name}, or name one by {variable}"
            ),
        },
        ErrorKind::PermissionDenied => Failure {
            status: Status::NOT_EXECUTABLE,
            message: format!("the compiler {compiler}, which {variable} names, cannot be executed"),
        },
        _ => Failure::system(format!("starting the compiler {compiler}"), error),
    })
}

/// The compiler and its first arguments, from the variable if it names no compiler for MPI, such as this program.
fn compiler(language: Language, variable: Option<&OsStr>) -> Vec<OsString> {
    let words: Vec<_> = variable.and_then(OsStr::to_str).unwrap_or("").split_whitespace().collect();
    let ours = ["ringworld", "mpicc", "mpicxx", "mpic++"];
    let itself =
        words.first().is_none_or(|first| first.rsplit('/').next().is_some_and(|it| ours.contains(&it)));
    if itself { vec![language.default.into()] } else { words.into_iter().map(OsString::from).collect() }
}

/// What the compiler is told, and whether only to say so.
fn arguments(kit: &Kit, given: &[OsString]) -> (Vec<OsString>, bool) {
    let is = |word: &OsString, known: &[&str]| known.iter().any(|known| word == known);
    let asks = |word: &&OsString| is(word, &["--show", "-show"]);
    let show = given.iter().any(|word| asks(&word));
    let given: Vec<_> = given.iter().filter(|word| !asks(word)).collect();
    // Some compilers warn of libraries where nothing is linked, and without any file most fail.
    let stops = given.iter().any(|word| is(word, &["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"]));
    let has_file = given.iter().any(|word| *word == "-" || !word.as_encoded_bytes().starts_with(b"-"));
    let mut words = vec![joined("-I", kit.include.as_os_str())];
    words.extend(given.into_iter().cloned());
    if !stops && (show || has_file) {
        let library = kit.library.as_os_str();
        words.extend([joined("-L", library), joined("-Wl,-rpath,", library), "-lmpi_abi".into()]);
    }
    (words, show)
}

fn joined(option: &str, path: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// A word as shells take it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(given: &[&str]) -> String {
        let kit = Kit { include: "/m/include".into(), library: "/m".into() };
        let given: Vec<OsString> = given.iter().map(Into::into).collect();
        let (words, show) = arguments(&kit, &given);
        let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        format!("{}{}", if show { "show: " } else { "" }, words.join(" "))
    }

    #[test]
    fn the_library_is_told_of_where_something_is_linked() {
        let linked = "-L/m -Wl,-rpath,/m -lmpi_abi";
        assert_eq!(told(&["a.c", "-o", "a b"]), format!("-I/m/include a.c -o 'a b' {linked}"));
        assert_eq!(told(&["-x", "c", "-"]), format!("-I/m/include -x c - {linked}"));
        assert_eq!(told(&["-c", "a.c"]), "-I/m/include -c a.c");
        assert_eq!(told(&["--version"]), "-I/m/include --version");
        assert_eq!(told(&["-show"]), format!("show: -I/m/include {linked}"));
        assert_eq!(told(&["--show", "-c", "a.c"]), "show: -I/m/include -c a.c");
    }

    #[test]
    fn a_variable_names_the_compiler_unless_that_is_ourselves() {
        let named = |variable: Option<&str>| compiler(C, variable.map(OsStr::new));
        assert_eq!(named(Some("ccache gcc -m64")), ["ccache", "gcc", "-m64"]);
        for none in [None, Some(""), Some("ringworld cc"), Some("/usr/bin/ringworld cc -g"), Some("mpicc")] {
            assert_eq!(named(none), ["cc"]);
        }
    }

    #[test]
    fn words_are_quoted_for_shells() {
        assert_eq!(quoted(OsStr::new("it's")), r"'it'\''s'");
        assert_eq!(quoted(OsStr::new("")), "''");
    }
}
