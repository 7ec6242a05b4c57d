//! Which processes this one descends from, and which of them is the proxy of MPICH's or Intel MPI's launcher.
//!
//! Hydra gives its jobs no name. Where all ranks are on one host they descend from one proxy there, and the ranks of
//! another job from another: its process id and start time tell them apart, however many shells are between.

/// What the kernel calls the proxy: the first 15 characters of its name, which has no more.
const PROXY: &str = "hydra_pmi_proxy";
/// How far up is looked.
const GENERATIONS: usize = 32;

/// The proxy's name, made of its process id and start time; `None` without one, or where the system does not tell.
pub(super) fn proxy() -> Option<String> {
    line().find_map(|pid| {
        let (name, _, start) = look(pid)?;
        (name == PROXY).then(|| format!("hydra-{pid}-{start}"))
    })
}

/// This process, its parent, and so on, as far as the system tells.
pub(super) fn line() -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| look(*pid).map(|(_, parent, _)| parent);
    std::iter::successors(Some(std::process::id()), parent).take(GENERATIONS)
}

fn look(pid: u32) -> Option<(String, u32, u64)> {
    read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Name, parent and start time, from a line of `/proc/PID/stat`. A name may hold blanks and brackets.
fn read(line: &str) -> Option<(String, u32, u64)> {
    let (before, after) = line.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = after.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some((name.into(), parent, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let rest = "S 41 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3";
        for name in ["hydra_pmi_proxy", "a) S 7 (b", "sh"] {
            let line = format!("42 ({name}) {rest}");
            assert_eq!(read(&line), Some((name.to_string(), 41, 987_654)));
        }
        assert_eq!(read("42 (sh) S"), None);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert_eq!(read(&own).unwrap().1, std::os::unix::process::parent_id());
    }

    #[test]
    fn who_descends_from_no_proxy_has_none() {
        assert_eq!(proxy(), None);
    }
}
