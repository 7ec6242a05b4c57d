//! What this process runs: a program's file name and a digest of its arguments.
//!
//! The last net for jobs that nobody has named: ranks that were not started alike may be those of two jobs that met at
//! one address. Arguments never travel, for they may hold what others should not see. A rank's own number among them is
//! passed over, since many programs are told it that way.

use std::ffi::OsStr;
use std::hash::Hasher as _;
use std::path::Path;

use fnv::FnvHasher;
use serde::{Deserialize, Serialize};

/// What a process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) arguments: u64,
}

impl Program {
    /// That of this process, which has these ranks if they are known.
    pub(crate) fn of_this_process(rank: Option<usize>, local_rank: Option<usize>) -> Self {
        let mut line = std::env::args_os();
        let first = line.next().unwrap_or_default();
        let own: Vec<String> = [rank, local_rank].iter().flatten().map(ToString::to_string).collect();
        let arguments: Vec<_> = line.collect();
        Self::new(&first, arguments.iter().map(AsRef::as_ref), &own)
    }

    fn new<'a>(first: &OsStr, arguments: impl Iterator<Item = &'a OsStr>, own: &[String]) -> Self {
        let name = Path::new(first).file_name().unwrap_or(first).to_string_lossy().into_owned();
        // FNV-1a: processes built by different compilers must agree, which `DefaultHasher` does not promise.
        let mut hash = FnvHasher::default();
        for argument in arguments {
            let text = argument.to_string_lossy();
            let (flag, value) = text.split_once('=').unwrap_or(("", &text));
            if own.iter().any(|own| own == value) {
                hash.write(flag.as_bytes());
            } else {
                hash.write(argument.as_encoded_bytes());
            }
            hash.write(&[0]);
        }
        Self { name, arguments: hash.finish() }
    }
}

/// Says so if the programs, by rank, are not all the same.
pub(crate) fn unlike<'a>(programs: impl Iterator<Item = &'a Program>) -> Option<String> {
    /// How many different lines are told, and how many ranks of each.
    const TOLD: usize = 4;
    let mut lines: Vec<(&Program, Vec<usize>)> = Vec::new();
    let mut others = 0;
    for (rank, program) in programs.enumerate() {
        if let Some((_, ranks)) = lines.iter_mut().find(|(known, _)| *known == program) {
            ranks.push(rank);
        } else if lines.len() < TOLD {
            lines.push((program, vec![rank]));
        } else {
            others += 1;
        }
    }
    if lines.len() < 2 {
        return None;
    }
    let mut told: Vec<String> = Vec::new();
    for (index, (program, ranks)) in lines.iter().enumerate() {
        let named: Vec<String> = ranks.iter().take(TOLD).map(ToString::to_string).collect();
        let more = if ranks.len() > TOLD { ", …" } else { "" };
        let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
        let known = lines.iter().take(index).any(|(known, _)| known.name == program.name);
        let with = if known { " with other arguments" } else { "" };
        // What another process says of itself may hold anything.
        told.push(format!("{noun} {}{more} {:?}{with}", named.join(", "), program.name));
    }
    let others = if others > 0 { format!("; {others} others differ again") } else { String::new() };
    Some(format!(
        "not all ranks of this world run the same: {}{others}; if two jobs have met here, give each a MASTER_PORT or a \
         RINGWORLD_JOB of its own; if it is meant, any RINGWORLD_JOB, the same for all ranks, says so",
        told.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(line: &str, own: &[&str]) -> Program {
        let mut words = line.split(' ').map(OsStr::new);
        let own: Vec<String> = own.iter().map(ToString::to_string).collect();
        Program::new(words.next().unwrap(), words, &own)
    }

    #[test]
    fn programs_are_alike_by_file_name_and_arguments_whatever_their_rank() {
        let plain = program("/a/trainer --lr 3", &[]);
        assert_eq!(plain, program("b/trainer --lr 3", &["7"]));
        assert_ne!(plain, program("b/trainer --lr 4", &[]));
        assert_ne!(plain, program("b/trainer --lr3", &[]));
        assert_ne!(plain, program("b/tuner --lr 3", &[]));
        for line in ["t --rank # -x 9", "t --rank=# -x 9", "t -x 9 #"] {
            let of = |rank: &str| program(&line.replace('#', rank), &[rank]);
            assert_eq!(of("1"), of("20"), "{line}");
            assert_ne!(of("1"), program(&line.replace('#', "5"), &["1"]), "{line}");
        }
    }

    #[test]
    fn ranks_that_run_something_else_are_named_with_the_program_and_not_with_its_arguments() {
        let [a, b, c] = ["t --password hush", "t --password other", "u"].map(|line| program(line, &[]));
        assert_eq!(unlike([&a, &a, &a].into_iter()), None);
        assert_eq!(unlike([].into_iter()), None);
        let text = unlike([&a, &b, &a, &a, &a, &a, &c].into_iter()).unwrap();
        assert!(
            text.contains(r#": ranks 0, 2, 3, 4, … "t"; rank 1 "t" with other arguments; rank 6 "u"; if"#),
            "{text}"
        );
        assert!(!text.contains("hush") && text.contains("RINGWORLD_JOB"), "{text}");
        let many: Vec<Program> = (0..9).map(|index| program(&format!("t {index}"), &[])).collect();
        assert!(unlike(many.iter()).unwrap().contains("; 5 others differ again;"));
    }
}
