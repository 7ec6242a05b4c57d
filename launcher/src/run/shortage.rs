//! Whether the kernel has ended processes for lack of memory while the job ran. It tells nobody why it killed; a rank
//! that was killed then was probably one of them.

/// How often it had happened on this host when the job began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shortage {
    before: Option<u64>,
}

impl Shortage {
    pub(super) fn watch() -> Self {
        Self { before: count() }
    }

    /// Whether it has happened since, in any container of this host.
    pub(super) fn has_struck(self) -> bool {
        matches!((self.before, count()), (Some(before), Some(now)) if now > before)
    }
}

/// Kernels before 4.13 do not count.
fn count() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/vmstat").ok()?)
}

fn parse(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernels_count_is_read() {
        assert_eq!(super::parse("nr_free_pages 7\noom_kill 3\noom_kill_x 9\n"), Some(3));
        assert_eq!(super::parse("nr_free_pages 7\n"), None);
    }
}
