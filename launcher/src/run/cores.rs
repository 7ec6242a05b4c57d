//! Which core each rank is bound to, with `--bind-to core`.
//!
//! A core is one of the processor's, with all of its hardware threads that this process may use. Ranks are spread over
//! the cores evenly and in order. Pure, but for what the system says of its processors. Neighbours: `job` tells each
//! rank's `exec-rank`, which binds itself before it becomes the program.

use crate::exit::Failure;
use crate::units;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// In place of processors: a rank that is not bound.
pub(super) const UNBOUND: &str = "-";

/// The processors, by number, of one core.
type Core = Vec<usize>;

/// What to bind each of `ranks` to, in the words of [`bind`].
///
/// # Errors
///
/// When there are fewer cores than ranks, or the system does not say which there are.
pub(super) fn assign(ranks: usize) -> Result<Vec<String>, Failure> {
    let allowed = sched_getaffinity(None)
        .map_err(|error| Failure::system("cannot ask which cores this process may use", error))?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let siblings = |cpu: usize| {
        let list = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        std::fs::read_to_string(list).ok().and_then(|text| processors(text.trim()))
    };
    let cores = spread(&group(&allowed, siblings), ranks).map_err(Failure::usage)?;
    Ok(cores.iter().map(words).collect())
}

/// What to bind each of so many ranks to that are not bound.
pub(super) fn unbound(ranks: usize) -> Vec<String> {
    vec![UNBOUND.to_owned(); ranks]
}

/// Binds this process.
///
/// # Errors
///
/// Why it cannot be.
pub(super) fn bind(words: &str) -> Result<(), String> {
    if words == UNBOUND {
        return Ok(());
    }
    let core = processors(words).ok_or_else(|| format!("{words:?} is no list of processors"))?;
    let mut set = CpuSet::new();
    core.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
    sched_setaffinity(None, &set)
        .map_err(|error| format!("cannot bind this rank to processor {words}: {error}"))
}

/// The numbers of a list as the kernel writes it, such as `0-3,8`.
fn processors(list: &str) -> Option<Core> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CpuSet::MAX_CPU {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

fn words(core: &Core) -> String {
    let numbers: Vec<String> = core.iter().map(usize::to_string).collect();
    numbers.join(",")
}

/// The cores to which the processors belong; one of which the system says nothing is a core of its own.
fn group(allowed: &[usize], siblings: impl Fn(usize) -> Option<Core>) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::new();
    for &cpu in allowed {
        if cores.iter().any(|core| core.contains(&cpu)) {
            continue;
        }
        let mut core = siblings(cpu).unwrap_or_default();
        core.retain(|other| allowed.contains(other));
        if !core.contains(&cpu) {
            core = vec![cpu];
        }
        cores.push(core);
    }
    cores
}

fn spread(cores: &[Core], ranks: usize) -> Result<Vec<Core>, String> {
    if ranks > cores.len() {
        return Err(format!(
            "--bind-to core gives each rank a core of its own; {} start here, and this process may use {}: start \
             fewer, or leave --bind-to out",
            units::counted(ranks, "rank"),
            units::counted(cores.len(), "core")
        ));
    }
    Ok((0..ranks).map(|rank| cores[rank * cores.len() / ranks].clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read_as_the_kernel_writes_them() {
        assert_eq!(processors("0"), Some(vec![0]));
        assert_eq!(processors("0-2,8,10-11"), Some(vec![0, 1, 2, 8, 10, 11]));
        for wrong in ["", "-", "a", "1-", "3,", "0-99999999999", "5-100000000"] {
            assert_eq!(processors(wrong), None, "{wrong:?}");
        }
        assert_eq!(words(&vec![0, 64]), "0,64");
    }

    #[test]
    fn hardware_threads_of_one_core_stay_together() {
        // Four cores of two threads each, of which some may not be used.
        let siblings = |cpu: usize| Some(vec![cpu % 4, cpu % 4 + 4]);
        assert_eq!(group(&[0, 1, 4, 5, 6], siblings), [vec![0, 4], vec![1, 5], vec![6]]);
        assert_eq!(group(&[2, 3], |_| None), [vec![2], vec![3]]);
        assert_eq!(group(&[2, 3], |_| Some(vec![9])), [vec![2], vec![3]]);
    }

    #[test]
    fn ranks_are_spread_over_cores_that_are_theirs_alone() {
        let cores: Vec<Core> = (0..8).map(|cpu| vec![cpu]).collect();
        assert_eq!(spread(&cores, 2).unwrap(), [[0], [4]]);
        assert_eq!(spread(&cores, 3).unwrap(), [[0], [2], [5]]);
        assert_eq!(spread(&cores, 8).unwrap(), cores);
        let told = spread(&cores, 9).unwrap_err();
        assert!(told.contains("9 ranks") && told.contains("8 cores"), "{told}");
    }

    #[test]
    fn nonsense_binds_nothing() {
        let before = sched_getaffinity(None).unwrap();
        assert!(bind("x").is_err() && bind(UNBOUND).is_ok());
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
