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
    /// The host of each process, where they are on several.
    pub(crate) hosts: Option<Vec<usize>>,
    /// The processes that share no memory with anybody.
    pub(crate) apart: Vec<usize>,
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
        let several = rng.chance(50) && size > 2 && start == Start::Given;
        let (hosts, scattered) = (rng.between(2, size.clamp(2, 4)), rng.chance(30));
        let host = |index: usize| if scattered { index % hosts } else { index * hosts / size };
        let hosts = several.then(|| (0..size).map(host).collect());
        let some = rng.chance(20) && start != Start::Launcher;
        let apart = (0..size).filter(|_| some && rng.chance(30)).collect();
        Self { mode, start, size, victims, signal, forming, delay_us, settings, hosts, apart }
    }

    /// How many ranks each host has, if they stand in its order and each has as many.
    pub(crate) fn ranks_per_host(&self) -> Option<usize> {
        let Some(hosts) = &self.hosts else { return Some(self.size) };
        let first = hosts.iter().take_while(|host| **host == hosts[0]).count();
        hosts.iter().enumerate().all(|(rank, host)| rank / first == *host).then_some(first)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_are_drawn_on_one_host_and_on_several_in_order_and_not() {
        let plans: Vec<Plan> = (0..200).map(|seed| Plan::draw(seed, None)).collect();
        let several = |plan: &&Plan| plan.hosts.is_some();
        assert!((20..100).contains(&plans.iter().filter(several).count()));
        assert!(plans.iter().filter(several).any(|plan| plan.ranks_per_host().is_some()));
        assert!(plans.iter().filter(several).any(|plan| plan.ranks_per_host().is_none()));
        assert!(plans.iter().filter(|plan| plan.hosts.is_none()).all(|plan| plan.ranks_per_host().is_some()));
        assert!(plans.iter().any(|plan| !plan.apart.is_empty()));
        let on = |hosts: &[usize]| Plan { hosts: Some(hosts.to_vec()), ..plans[0].clone() }.ranks_per_host();
        assert_eq!([on(&[0, 0, 1, 1]), on(&[0, 1, 2, 3]), on(&[0, 0, 1])], [Some(2), Some(1), Some(2)]);
        assert_eq!([on(&[0, 1, 0, 1]), on(&[0, 1, 1]), on(&[0, 0, 0, 1, 2])], [None; 3]);
    }
}
