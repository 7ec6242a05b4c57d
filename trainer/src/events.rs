//! What happens to a rank, in lines for programs: `event key=value …`, with the time on the machine's monotonic clock.

use std::io::Write as _;

use ringworld::World;

/// Tells, or does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Events {
    wanted: bool,
}

impl Events {
    pub(crate) fn new(wanted: bool) -> Self {
        Self { wanted }
    }

    /// Tells of something that has just happened in `world`.
    pub(crate) fn say(self, event: &str, world: &World, more: &str) {
        if !self.wanted {
            return;
        }
        let (rank, size, generation) = (world.rank(), world.size(), world.generation());
        let (at, pid) = (now(), std::process::id());
        let mut out = std::io::stdout().lock();
        // Nobody may be listening any more.
        let _ =
            writeln!(out, "{event} rank={rank} size={size} generation={generation} at={at} pid={pid} {more}")
                .and_then(|()| out.flush());
    }
}

/// Nanoseconds, comparable between the processes of a machine.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
