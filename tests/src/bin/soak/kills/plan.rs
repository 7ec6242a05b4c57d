//! Who is killed in a round, how and when, and what the world is doing. Pure: the same seed gives the same plan.

use clap::ValueEnum;
use rustix::process::Signal;

use crate::rng::Rng;

/// What the ranks do until one is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Random programs of everything there is, and long messages and vectors between them
    Mixed,
    /// `send_sync` and `recv` in rings
    Sync,
    /// Collectives, each of whose messages asks first
    Collectives,
}

/// How the ranks are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// By their own environment, with ranks given.
    Given,
    /// Likewise, and the master gives out the ranks.
    Free,
    /// By `ringworld run`.
    Launcher,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) mode: Mode,
    pub(crate) start: Start,
    pub(crate) size: usize,
    /// Indices of processes; ranks where they are given.
    pub(crate) victims: Vec<usize>,
    pub(crate) signal: Signal,
    /// While the world forms, and not after.
    pub(crate) forming: bool,
    /// From the moment when all have started, or formed the world.
    pub(crate) delay_us: u64,
    /// Settings for all ranks.
    pub(crate) settings: Vec<(&'static str, &'static str)>,
}

impl Plan {
    pub(crate) fn draw(seed: u64, mode: Option<Mode>) -> Self {
        let rng = &mut Rng::new(seed);
        let drawn = rng.pick(&[Mode::Mixed, Mode::Mixed, Mode::Sync, Mode::Collectives]);
        let mode = mode.unwrap_or(drawn);
        let start = rng.pick(&[Start::Given, Start::Given, Start::Free, Start::Launcher]);
        let size = rng.between(2, 8);
        let first = rng.below(size);
        let mut victims = vec![first];
        if size > 2 && rng.chance(15) {
            victims.push((first + rng.between(1, size - 1)) % size);
        }
        let signal =
            rng.pick(&[Signal::KILL, Signal::KILL, Signal::KILL, Signal::KILL, Signal::TERM, Signal::ABORT]);
        // Which rank a process will be is known only where it is given.
        let forming = rng.chance(12) && start != Start::Free;
        let delay_us = if forming { rng.below(60_000) } else { rng.below(300_000) } as u64;
        let mut settings = Vec::new();
        if mode == Mode::Collectives {
            settings.push(("RINGWORLD_EAGER_LIMIT", "0"));
        } else if rng.chance(40) {
            settings.extend([("RINGWORLD_EAGER_LIMIT", "256"), ("RINGWORLD_WINDOW", "1024")]);
        }
        if rng.chance(20) {
            settings.push(("RINGWORLD_TCP_LANES", rng.pick(&["1", "4"])));
        }
        Self { mode, start, size, victims, signal, forming, delay_us, settings }
    }
}

impl Mode {
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Called so on the command line.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::from_str(name, true).ok()
    }
}
