//! Which process of MPICH's or Intel MPI's launcher this one descends from.
//!
//! Hydra gives its jobs no name. Where all ranks are on one host they descend from one proxy there, and the ranks of
//! another job from another: its process id and start time tell them apart, however many shells are between.

/// What the kernel calls the proxy: the first 15 characters of its name, which has no more.
const PROXY: &str = "hydra_pmi_proxy";
/// How far up the proxy is looked for.
const GENERATIONS: usize = 32;

/// The proxy's name, made of its process id and start time; `None` without one, or where the system does not tell.
pub(super) fn proxy() -> Option<String> {
    let mut pid = std::process::id();
    for _ in 0..GENERATIONS {
        let (name, parent, start) = read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
        if name == PROXY {
            return Some(format!("hydra-{pid}-{start}"));
        }
        pid = parent;
    }
    None
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
