//! What this process runs: a program's file name and digests of its arguments.
//!
//! The last net for jobs that nobody has named: ranks that were not started alike may be those of two jobs that met at
//! one address. Arguments never travel, for they may hold what others should not see. A rank's own number among them is
//! passed over, since many programs are told it that way. But it may be there by chance, as the 2 of `--threads 2` is
//! for rank 2 alone. One process cannot know, so it gives a digest for each way to read its arguments, and ranks are
//! alike if there is one that all of them share: what says the rank stands at the same places everywhere.

use std::ffi::OsStr;
use std::hash::Hasher as _;
use std::path::Path;

use fnv::FnvHasher;
use serde::{Deserialize, Serialize};

/// So many places at which a rank's own number stands are judged one by one, which takes a digest for each choice of
/// them. Those behind them are passed over where all are, or not at all.
const PLACES: usize = 5;

/// What a process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) name: String,
    /// Digests, first that of all arguments as they are.
    pub(crate) arguments: Vec<u64>,
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
        // Each with what is left of it where the rank's number is passed over, if it has that.
        let arguments: Vec<(&[u8], Option<String>)> = arguments
            .map(|argument| {
                let text = argument.to_string_lossy();
                let (flag, value) = text.split_once('=').unwrap_or(("", &text));
                let rest = own.iter().any(|own| own == value).then(|| flag.to_owned());
                (argument.as_encoded_bytes(), rest)
            })
            .collect();
        let digest = |passes_over: &dyn Fn(usize) -> bool| {
            // FNV-1a: processes built by different compilers must agree, which `DefaultHasher` does not promise.
            let mut hash = FnvHasher::default();
            let mut place = 0;
            for (whole, rest) in &arguments {
                match rest {
                    Some(rest) if passes_over(place) => hash.write(rest.as_bytes()),
                    _ => hash.write(whole),
                }
                hash.write(&[0]);
                place += usize::from(rest.is_some());
            }
            hash.finish()
        };
        let places = arguments.iter().filter(|(_, rest)| rest.is_some()).count();
        let choices = 0..1_usize << places.min(PLACES);
        let chosen = choices.map(|chosen| digest(&|place| place < PLACES && chosen >> place & 1 == 1));
        let all = (places > PLACES).then(|| digest(&|_| true));
        let arguments = chosen.chain(all).collect();
        Self { name, arguments }
    }
}

/// Ranks that may all run the same.
struct Line<'a> {
    name: &'a str,
    /// Digests that all of them have.
    common: Vec<u64>,
    ranks: Vec<usize>,
}

impl Line<'_> {
    /// Takes a rank in, if it may run the same as all that are in.
    fn takes(&mut self, rank: usize, program: &Program) -> bool {
        let shared = |digest: &u64| program.arguments.contains(digest);
        if self.name != program.name || !self.common.iter().any(shared) {
            return false;
        }
        self.common.retain(shared);
        self.ranks.push(rank);
        true
    }
}

/// Says so if the programs, by rank, are not all the same.
pub(crate) fn unlike<'a>(programs: impl Iterator<Item = &'a Program>) -> Option<String> {
    /// How many different lines are told, and how many ranks of each.
    const TOLD: usize = 4;
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut others = 0;
    for (rank, program) in programs.enumerate() {
        if lines.iter_mut().any(|line| line.takes(rank, program)) {
            continue;
        }
        if lines.len() < TOLD {
            lines.push(Line { name: &program.name, common: program.arguments.clone(), ranks: vec![rank] });
        } else {
            others += 1;
        }
    }
    if lines.len() < 2 {
        return None;
    }
    let mut told: Vec<String> = Vec::new();
    for (index, Line { name, ranks, .. }) in lines.iter().enumerate() {
        let named: Vec<String> = ranks.iter().take(TOLD).map(ToString::to_string).collect();
        let more = if ranks.len() > TOLD { ", …" } else { "" };
        let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
        let known = lines.iter().take(index).any(|known| known.name == *name);
        let with = if known { " with other arguments" } else { "" };
        // What another process says of itself may hold anything.
        told.push(format!("{noun} {}{more} {name:?}{with}", named.join(", ")));
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
        let alike = |one: &Program, other: &Program| unlike([one, other].into_iter()).is_none();
        let plain = program("/a/trainer --lr 3", &[]);
        assert!(alike(&plain, &program("b/trainer --lr 3", &["7"])));
        assert!(!alike(&plain, &program("b/trainer --lr 4", &[])));
        assert!(!alike(&plain, &program("b/trainer --lr3", &[])));
        assert!(!alike(&plain, &program("b/tuner --lr 3", &[])));
        for line in ["t --rank # -x 9", "t --rank=# -x 9", "t -x 9 #", "t # # # # # #"] {
            let of = |rank: &str| program(&line.replace('#', rank), &[rank]);
            assert!(alike(&of("1"), &of("20")), "{line}");
            assert!(!alike(&of("1"), &program(&line.replace('#', "5"), &["1"])), "{line}");
        }
    }

    #[test]
    fn a_number_that_is_a_rank_only_by_chance_makes_no_difference() {
        let world = |line: &str, size: usize| {
            let of = |rank: usize| {
                let (own, here) = (rank.to_string(), (rank % 3).to_string());
                program(&line.replace('#', &own).replace('@', &here), &[&own, &here])
            };
            (0..size).map(of).collect::<Vec<_>>()
        };
        let lines = [
            "t short 2",
            "t 2 # 1",
            "t --fold=2 --rank=#",
            "t # @ 0 1 2",
            "t 1 1 1 1 1 1",
            "t @ 1 # 2 -n 3 4 -l=@",
        ];
        for line in lines {
            assert_eq!(unlike(world(line, 7).iter()), None, "{line}");
        }
        // Two jobs that a number tells apart, which is the number of a rank in each.
        for (one, other) in [("t --fold 1", "t --fold 2"), ("t # 1", "t # 2"), ("t # 1 2", "t # 2 1")] {
            let (one, other) = (world(one, 4), world(other, 4));
            let text = unlike([&one[0], &one[1], &other[2], &other[3]].into_iter()).unwrap();
            assert!(text.contains(r#": ranks 0, 1 "t"; ranks 2, 3 "t" with other arguments; if"#), "{text}");
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
