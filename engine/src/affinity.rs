//! Where a waiting thread runs: on a core that the other ranks of this host leave to it.
//!
//! The scheduler wakes a thread near the one that wakes it, so ranks that talk to one another gather on
//! one core while another is idle, and stay there as long as they hand the core to each other without ever
//! being runnable long enough to be balanced. Measured with four ranks on two cores, an all-reduce of 8
//! bytes then takes 75 us instead of 35, and a ping-pong of two ranks 10 us instead of 4, for whole runs.
//!
//! So each rank has a *preferred core*, one of the cores that its process may use, and a waiting thread that finds
//! its core crowded moves there. Nothing is pinned: the thread's affinity is what it was directly
//! afterwards, threads made later inherit nothing, and a core that the user has ruled out is never used.
//! Neighbours: `wait`, which notices the crowd.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// A thread moves at most this often: a move costs some 20 us, and where the scheduler insists, it shall win.
const INTERVAL: Duration = Duration::from_millis(5);

/// The core for one rank, and when it was last moved to.
pub(super) struct PreferredCore {
    /// `None` where there is nothing to choose.
    core: Option<usize>,
    epoch: Instant,
    /// When the next move is allowed, in microseconds since `epoch`.
    next: AtomicU64,
}

impl PreferredCore {
    /// That of the rank that is number `rank` of `ranks` on this host.
    pub(super) fn new(rank: usize, ranks: usize) -> Self {
        let allowed = sched_getaffinity(None).ok();
        let core = allowed.and_then(|allowed| choose(&allowed, rank, ranks));
        Self { core, epoch: Instant::now(), next: AtomicU64::new(0) }
    }

    /// Moves the calling thread there if it is elsewhere and was not moved just now.
    pub(super) fn migrate(&self) {
        let Some(core) = self.core else { return };
        if sched_getcpu() == core {
            return;
        }
        let now = self.epoch.elapsed();
        let next = self.next.load(Ordering::Relaxed);
        if micros(now) < next {
            return;
        }
        self.next.store(micros(now + INTERVAL), Ordering::Relaxed);
        let Ok(allowed) = sched_getaffinity(None) else { return };
        // The user may have pinned this thread since.
        if allowed.count() < 2 || !allowed.is_set(core) {
            return;
        }
        let mut only = CpuSet::new();
        only.set(core);
        // Setting the affinity moves the thread at once; putting it back leaves it where it is. A refusal
        // leaves everything as it was.
        if sched_setaffinity(None, &only).is_ok() {
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Spreads the ranks evenly over the cores, in order; with more ranks than cores, neighbours share.
fn choose(allowed: &CpuSet, rank: usize, ranks: usize) -> Option<usize> {
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if cores.len() < 2 || ranks < 2 || rank >= ranks {
        return None;
    }
    cores.get(rank * cores.len() / ranks).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes(cores: &[usize], ranks: usize) -> Vec<Option<usize>> {
        let mut allowed = CpuSet::new();
        cores.iter().for_each(|core| allowed.set(*core));
        (0..ranks).map(|rank| choose(&allowed, rank, ranks)).collect()
    }

    #[test]
    fn ranks_spread_over_the_cores_that_are_allowed() {
        assert_eq!(homes(&[0, 1], 2), [Some(0), Some(1)]);
        assert_eq!(homes(&[0, 1], 4), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(homes(&[3, 5, 8, 13], 2), [Some(3), Some(8)]);
        assert_eq!(homes(&[0, 1], 3), [Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn where_there_is_no_choice_there_is_no_home() {
        assert_eq!(homes(&[7], 2), [None, None]);
        assert_eq!(homes(&[0, 1], 1), [None]);
    }

    #[test]
    fn moving_keeps_the_affinity() {
        let before = sched_getaffinity(None).unwrap();
        for rank in 0..2 {
            let preferred = PreferredCore::new(rank, 2);
            preferred.migrate();
            assert_eq!(sched_getaffinity(None).unwrap(), before);
        }
    }
}
