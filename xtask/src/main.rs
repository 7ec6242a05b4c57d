//! Helpers of the workspace: `cargo demo` and `cargo xtask mpi`.
//!
//! `cargo demo [-n RANKS] [--profile NAME] [TRAINER ARGUMENTS]` builds the launcher and the trainer, with the cargo
//! that called it, and runs `ringworld run -n RANKS -- trainer …`. It returns the launcher's exit status. `cargo
//! xtask mpi [--check]` makes what is made of the table of MPI's functions ([`mpi`]). Neither needs a dependency, so
//! that this is built in a moment.

#![forbid(unsafe_code)]

mod mpi;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo demo [-n RANKS] [--profile NAME] [TRAINER ARGUMENTS]

Trains a small network on handwritten digits with RANKS processes (4 unless given) that average their
gradients in shared memory. Built by cargo's profile dev unless another is given: dist runs fastest, and
takes minutes to build. Trainer arguments: --epochs N, --batch N, --seed N, --hidden WIDTHS, --bucket BYTES,
--overlap on|off, --elastic, --check, --events; `cargo demo -n 1 --help` explains them.";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let result = match arguments.next() {
        Some(task) if task == "demo" => demo(arguments.collect()),
        Some(task) if task == "mpi" => {
            mpi::mpi(arguments.any(|it| it == "--check")).map(|()| ExitCode::SUCCESS)
        }
        Some(task) => Err(format!("there is no task {}\n\n{USAGE}", task.display())),
        None => Err(USAGE.to_owned()),
    };
    match result {
        Ok(status) => status,
        Err(message) => {
            // There is nobody else to tell.
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::from(2)
        }
    }
}

/// Builds, then becomes the launcher; returns only when something is in the way.
fn demo(arguments: Vec<OsString>) -> Result<ExitCode, String> {
    let Demo { ranks, profile, trainer } = parse(arguments)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // There is nobody to tell if it cannot be written.
    let _ = writeln!(
        std::io::stderr(),
        "building by cargo's profile {} (--profile dist is what to measure)",
        profile.display()
    );
    // Both in one, so that nothing is built twice with different features.
    let status = Command::new(&cargo)
        .args(["build", "--package", "ringworld-launcher", "--bin", "ringworld"])
        .args(["--package", "ringworld-trainer", "--bin", "trainer", "--profile"])
        .arg(&profile)
        .status()
        .map_err(|error| format!("cannot run {}: {error}", cargo.display()))?;
    if !status.success() {
        return Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
    }
    let built = built(&profile)?;
    let launcher = built.join("ringworld");
    // Becoming the launcher, rather than starting it, leaves signals and exit status to it alone.
    let error = Command::new(&launcher)
        .args(["run", "-n"])
        .arg(ranks)
        .arg("--")
        .arg(built.join("trainer"))
        .args(trainer)
        .exec();
    Err(format!("cannot start {}: {error}", launcher.display()))
}

#[derive(Debug, PartialEq, Eq)]
struct Demo {
    ranks: OsString,
    profile: OsString,
    trainer: Vec<OsString>,
}

/// The number of ranks is the launcher's to judge.
fn parse(arguments: Vec<OsString>) -> Result<Demo, String> {
    let mut demo = Demo { ranks: "4".into(), profile: "dev".into(), trainer: Vec::new() };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-n") => {
                demo.ranks = arguments.next().ok_or(format!("-n needs a number of ranks\n\n{USAGE}"))?
            }
            Some("--profile") => {
                demo.profile = arguments.next().ok_or(format!("--profile needs a name\n\n{USAGE}"))?
            }
            Some("--") => {}
            _ => {
                demo.trainer.push(argument);
                demo.trainer.extend(arguments.by_ref());
            }
        }
    }
    Ok(demo)
}

/// Where builds of a profile go: this program lies beside them, in the folder of its own.
fn built(profile: &OsStr) -> Result<PathBuf, String> {
    let myself = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let target = myself.ancestors().nth(2).ok_or("this program lies outside a target folder")?;
    Ok(target.join(if profile == "dev" { OsStr::new("debug") } else { profile }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &[&str]) -> Result<Demo, String> {
        parse(line.iter().map(OsString::from).collect())
    }

    fn demo(ranks: &str, trainer: &[&str]) -> Demo {
        let trainer = trainer.iter().map(OsString::from).collect();
        Demo { ranks: ranks.into(), profile: "dev".into(), trainer }
    }

    #[test]
    fn four_ranks_unless_another_number_is_given() {
        assert_eq!(parsed(&[]), Ok(demo("4", &[])));
        assert_eq!(parsed(&["-n", "2"]), Ok(demo("2", &[])));
        assert!(parsed(&["-n"]).unwrap_err().starts_with("-n needs a number"));
    }

    #[test]
    fn the_profile_is_dev_unless_another_is_given() {
        let dist = parsed(&["--profile", "dist", "-n", "2", "--seed", "1"]);
        assert_eq!(dist, Ok(Demo { profile: "dist".into(), ..demo("2", &["--seed", "1"]) }));
        assert!(parsed(&["--profile"]).unwrap_err().starts_with("--profile needs a name"));
    }

    #[test]
    fn the_rest_is_the_trainers_own() {
        assert_eq!(parsed(&["--epochs", "3", "-n", "9"]), Ok(demo("4", &["--epochs", "3", "-n", "9"])));
        assert_eq!(parsed(&["-n", "2", "--", "--seed", "1"]), Ok(demo("2", &["--seed", "1"])));
    }
}
