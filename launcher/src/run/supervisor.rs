//! What to do when a rank ends, a signal arrives or a time passes. Pure: events and times in, actions
//! out; `job` carries them out and tests drive it with made-up clocks.
//!
//! Invariant: the status is decided once, by what happened first, and every action after that only
//! serves to end the job: the signal that was asked for, SIGTERM half way, SIGKILL after the grace.
//!
//! What happened first is not what is seen first. The sockets of a killed process close before the system
//! reports its death, so that ranks which lose a peer, and give up with an error, may be seen to end
//! before the peer does. The verdict therefore waits for [`SETTLING`], in which survivors can also say
//! what they lost.
//!
//! Nor is everything seen as it happens: on a busy machine the launcher may come to look long after a deadline. So what
//! is due goes by the time up to which all is known, and what is given from then on, such as a grace, by the clock.
//!
//! Where the world may go on after failures, [`restart`](super::restart) is asked first what to do about each. One that
//! it cannot mend is treated like any failure of any other job; so is a job that was given up.

use super::restart::{Failure, Limits, Mend, Mending};
use crate::exit::Status;
use crate::signals;
use signal_hook::consts::{SIGCONT, SIGINT, SIGKILL, SIGTERM, SIGTSTP};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// From the first failure seen to the verdict, unless all ranks end sooner.
pub(crate) const SETTLING: Duration = Duration::from_millis(200);

/// From SIGKILL to giving up ranks that do not end even then: they hang in the kernel, on a file system that is gone.
pub(crate) const UNDEAD: Duration = Duration::from_secs(5);

/// Why a rank was killed by a signal that the launcher did not send, as far as can be told.
const STARVED: &str =
    ", probably for lack of memory: the system's out-of-memory killer has ended processes meanwhile";

/// How a rank ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Ending {
    Exited(i32),
    /// `starved`: the kernel has ended processes for lack of memory meanwhile.
    Killed {
        signal: i32,
        core: bool,
        starved: bool,
    },
    /// Nobody knows: its host is no longer connected. Whoever finds out has said how.
    Lost,
}

impl Ending {
    fn status(self) -> Status {
        match self {
            Self::Exited(code) => Status(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
            Self::Killed { signal, .. } => Status::signal(signal),
            Self::Lost => Status::SYSTEM,
        }
    }

    fn describe(self) -> String {
        match self {
            Self::Exited(code) => format!("exited with status {code}"),
            Self::Killed { signal, core, starved } => {
                let core = if core { ", core dumped" } else { "" };
                let why = if starved && signal == SIGKILL { STARVED } else { "" };
                format!("was killed by signal {signal} ({}{core}){why}", signals::name(signal))
            }
            Self::Lost => "was lost with its host".to_owned(),
        }
    }
}

/// What somebody who watched the world has seen of its end; nothing when nobody did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// The rank that gave the job up of its own will, and the code that it asked for.
    pub(crate) aborted: Option<(usize, i32)>,
    /// Who left the world, in that order, and whether with a goodbye.
    pub(crate) departures: Vec<(usize, bool)>,
}

/// What `job` must do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send the signal to the process group of every rank.
    Signal(i32),
    /// Print the sentence.
    Say(String),
    /// Stop the launcher too, as Ctrl-Z asked; it goes on from here after SIGCONT.
    Suspend,
    /// End whatever is left of the process group of this rank, which has failed.
    Clear(usize),
    /// Start this rank again, and tell how that went: [`Supervisor::started`], [`Supervisor::not_started`].
    Start(usize),
}

#[derive(Debug)]
enum Phase {
    Running,
    /// Ranks have failed; which of them was first is not decided. In the order in which they were seen.
    Settling {
        until: Instant,
        failed: Vec<(usize, Ending)>,
    },
    Ending {
        term_at: Option<Instant>,
        kill_at: Instant,
    },
    Killed {
        give_up_at: Instant,
    },
}

/// The state of the job, seen from above.
#[derive(Debug)]
pub(crate) struct Supervisor {
    /// One per rank, for messages: `rank 2 (pid 123) on node0`.
    names: Vec<String>,
    alive: BTreeSet<usize>,
    /// Who failed first.
    accused: Option<usize>,
    phase: Phase,
    status: Status,
    grace: Duration,
    timeout: Option<Duration>,
    /// When that is over.
    until: Option<Instant>,
    /// What may be done about failures, if anything.
    mending: Option<Mending<Ending>>,
    /// Why it is of no use any more.
    beyond: Option<String>,
    /// What those were called that had failed then; others may have taken their places since.
    former: BTreeMap<usize, String>,
}

impl Supervisor {
    /// All ranks are alive from now on.
    pub(crate) fn new(names: Vec<String>, grace: Duration, timeout: Option<Duration>, now: Instant) -> Self {
        Self {
            alive: (0..names.len()).collect(),
            accused: None,
            names,
            phase: Phase::Running,
            status: Status::SUCCESS,
            grace,
            timeout,
            // A time-out too far away to be named is none.
            until: timeout.and_then(|timeout| now.checked_add(timeout)),
            mending: None,
            beyond: None,
            former: BTreeMap::new(),
        }
    }

    /// The world goes on after failures, within these limits.
    pub(crate) fn mending(self, limits: Limits, now: Instant) -> Self {
        Self { mending: Some(Mending::new(limits, self.names.len(), now)), ..self }
    }

    /// Whether every rank has ended, and a verdict has been given if one was due.
    pub(crate) fn finished(&self) -> bool {
        self.alive.is_empty() && !self.starting() && !matches!(self.phase, Phase::Settling { .. })
    }

    /// Whether nothing has ended the job yet: no failure has been seen, or none that has to.
    fn running(&self) -> bool {
        match self.phase {
            Phase::Running => true,
            Phase::Settling { .. } => self.mending.is_some() && self.beyond.is_none(),
            _ => false,
        }
    }

    /// Whether ranks are to be started again.
    fn starting(&self) -> bool {
        matches!(self.phase, Phase::Running) && self.mending.as_ref().is_some_and(Mending::pausing)
    }

    /// Whether it is time for [`Self::conclude`]: all that had happened by `seen` is known.
    pub(crate) fn verdict_due(&self, seen: Instant) -> bool {
        match self.phase {
            Phase::Settling { until, .. } => seen >= until || self.alive.is_empty(),
            Phase::Running => self.mending.as_ref().is_some_and(|mending| mending.look_due(seen)),
            _ => false,
        }
    }

    /// Whether every rank has ended.
    pub(crate) fn all_ended(&self) -> bool {
        self.alive.is_empty()
    }

    /// The rank that failed first, once that is decided.
    pub(crate) fn accused(&self) -> Option<usize> {
        self.accused
    }

    /// What the launcher will return, once finished.
    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// When [`Self::tick`] has something to do, if nothing else happens.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => {
                self.until.into_iter().chain(self.mending.as_ref().and_then(Mending::deadline)).min()
            }
            Phase::Settling { until, .. } => Some(until),
            Phase::Ending { term_at, kill_at } => Some(term_at.map_or(kill_at, |term| term.min(kill_at))),
            Phase::Killed { give_up_at } => Some(give_up_at).filter(|_| !self.alive.is_empty()),
        }
    }

    /// These ranks were found to have ended.
    pub(crate) fn ended(&mut self, now: Instant, mut ranks: Vec<(usize, Ending)>) {
        for (rank, ending) in &ranks {
            self.alive.remove(rank);
            if let Some(mending) = self.mending.as_mut().filter(|_| *ending == Ending::Exited(0)) {
                mending.well(now, *rank);
            }
        }
        ranks.retain(|(_, ending)| *ending != Ending::Exited(0));
        match &mut self.phase {
            Phase::Running if !ranks.is_empty() => {
                // What can be mended is mended at once.
                let settling = if self.mending.is_some() { Duration::ZERO } else { SETTLING };
                self.phase = Phase::Settling { until: now + settling, failed: ranks };
            }
            Phase::Settling { failed, .. } => failed.extend(ranks),
            _ => {}
        }
    }

    /// Decides which failure was the first, says so and ends the other ranks.
    ///
    /// `account` is that of a witness, such as the master: whoever left the world first goes first, also with a
    /// goodbye, since who has left in good order does not fail because of others. So a rank that gave the job up
    /// because it had lost a peer, as MPI's programs do unless they ask for errors, does not outrank that peer. Without
    /// one, a rank that was killed, or lost with its host, goes before one that exited, since nobody is killed for
    /// losing a peer; then the one that was seen first. Where failures are mended, the account may be of a generation
    /// long past, and only a job that was given up is believed.
    pub(crate) fn conclude(&mut self, now: Instant, account: &Account) -> Vec<Action> {
        let mut account = account.clone();
        if self.mending.is_some() {
            account.departures.clear();
            if self.beyond.is_none() {
                match account.aborted {
                    None => return self.mend(now),
                    Some((rank, code)) => {
                        let mut failed = self.of_late(now);
                        if let Phase::Settling { failed: seen, .. } = &self.phase {
                            let named = |&(rank, ending): &(usize, Ending)| Failure {
                                at: now,
                                rank,
                                ending,
                                name: self.name(rank).to_owned(),
                                again: false,
                            };
                            failed.extend(seen.iter().map(named));
                        }
                        // Its number is that of a generation, in which others may have had it; the status is its own.
                        let status = Ending::Exited(i32::from(ringworld_bootstrap::exit_status(code)));
                        let mut fits = failed.iter().filter(|failure| failure.ending == status);
                        let who = fits.clone().find(|failure| failure.rank == rank).or(fits.next());
                        account.aborted = Some((who.map_or(usize::MAX, |failure| failure.rank), code));
                        self.give_up(now, failed, String::new());
                    }
                }
            }
        }
        let Phase::Settling { failed, .. } = &self.phase else { return Vec::new() };
        let find = |wanted: usize| failed.iter().copied().find(|&(rank, _)| rank == wanted);
        let killed = || failed.iter().copied().find(|(_, ending)| !matches!(ending, Ending::Exited(_)));
        // Whoever gave the job up may still be about to exit; its status counts all the same.
        let given_up = account
            .aborted
            .filter(|(rank, _)| find(*rank).is_none())
            .map(|(rank, code)| (rank, Ending::Exited(i32::from(ringworld_bootstrap::exit_status(code)))));
        let left = account.departures.iter().map(|(rank, _)| rank);
        let mut left = left.chain(account.aborted.iter().map(|(rank, _)| rank));
        let accused = left.find_map(|rank| find(*rank).or(given_up.filter(|given| given.0 == *rank)));
        let verdict = accused.or_else(killed).or(failed.first().copied());
        let Some((rank, ending)) = verdict else { return Vec::new() };
        self.accused = Some(rank).filter(|rank| *rank < self.names.len());
        // Of several processes that were this rank, the one that is meant.
        if let (Some(former), Some(name)) = (self.former.remove(&rank), self.names.get_mut(rank)) {
            *name = former;
        }
        self.status = ending.status();
        let how = if given_up.is_some_and(|given| given.0 == rank) {
            format!("gave the job up with status {}", self.status.0)
        } else {
            ending.describe()
        };
        let mut said = format!("{} {how}", self.name(rank));
        // One that has no failure to show, but left the others in the middle of something.
        let mut before = account.departures.iter().take_while(|(departed, _)| *departed != rank);
        if let Some((quitter, _)) = before.find(|(_, finished)| !finished) {
            said.push_str(&format!(", after {} had left the world without finishing", self.name(*quitter)));
        }
        if let Some(why) = self.beyond.as_ref().filter(|why| !why.is_empty()) {
            said.push_str(&format!("; {why}"));
        }
        match self.alive.len() {
            0 => {}
            1 => said.push_str("; ending the other rank"),
            others => said.push_str(&format!("; ending the other {others} ranks")),
        }
        let mut actions = vec![Action::Say(said)];
        actions.extend(self.end(now, SIGTERM));
        actions
    }

    /// Does what can be done about the failures that were seen.
    fn mend(&mut self, now: Instant) -> Vec<Action> {
        let Some(mending) = &mut self.mending else { return Vec::new() };
        let failed = match std::mem::replace(&mut self.phase, Phase::Running) {
            Phase::Settling { failed, .. } => failed,
            // Nobody has given the job up.
            Phase::Running => {
                mending.looked();
                return Vec::new();
            }
            other => {
                self.phase = other;
                return Vec::new();
            }
        };
        let name = |rank: usize| self.names.get(rank).cloned().unwrap_or_default();
        let mut failed: Vec<Failure<Ending>> = failed
            .into_iter()
            // Where a host is lost, nobody can start anything.
            .map(|(rank, ending)| Failure {
                at: now,
                rank,
                ending,
                name: name(rank),
                again: ending != Ending::Lost,
            })
            .collect();
        let mends = mending.failed(now, &failed);
        let (limits, ranks) = (mending.limits(), self.names.len());
        let mut actions = Vec::new();
        for (place, mend) in mends.into_iter().enumerate() {
            let Some(Failure { rank, ending, name, .. }) = failed.get(place).cloned() else { break };
            let what = match mend {
                Mend::Again { number, pause } => {
                    let when = match pause {
                        Duration::ZERO => String::new(),
                        pause => format!(" in {}", humantime::format_duration(pause)),
                    };
                    format!("; starting it again{when} ({number} of {})", limits.restarts)
                }
                Mend::Without { left: 1 } => format!("; 1 of {ranks} ranks goes on"),
                Mend::Without { left } => format!("; {left} of {ranks} ranks go on"),
                Mend::TooLate => {
                    " after others had ended well; it was started again too late to join them".to_owned()
                }
                Mend::Last => " after all others had ended well".to_owned(),
                Mend::NoWorld => {
                    // What brought the world down may have been mended, so it seemed.
                    let failed = self.of_late(now);
                    self.give_up(
                        now,
                        failed,
                        "no rank is left that it could join if it were started again".to_owned(),
                    );
                    break;
                }
                Mend::TooFew { left } => {
                    let why = match (limits.restarts, left) {
                        (_, 1..) if ending == Ending::Lost => {
                            format!("fewer than --min-ranks {} are left", limits.min_ranks)
                        }
                        (0, 0) => "no rank is left on this host".to_owned(),
                        (0, _) => format!("fewer than --min-ranks {} are left", limits.min_ranks),
                        (all, 0) => format!("no restart is left of {all}, and no rank on this host"),
                        (all, _) => {
                            let least = limits.min_ranks;
                            format!(
                                "no restart is left of {all}, and fewer than --min-ranks {least} are left"
                            )
                        }
                    };
                    let failed = failed.split_off(place);
                    self.give_up(now, failed, why);
                    break;
                }
            };
            actions.push(Action::Clear(rank));
            actions.push(Action::Say(format!("{name} {}{what}", ending.describe())));
        }
        if self.beyond.is_some() && self.alive.is_empty() {
            actions.extend(self.conclude(now, &Account::default()));
        }
        actions
    }

    /// From here on a failure is what it is in any job; so are these.
    fn give_up(&mut self, now: Instant, failed: Vec<Failure<Ending>>, why: String) {
        let seen = failed.iter().map(|failure| (failure.rank, failure.ending)).collect();
        self.phase = Phase::Settling { until: now + SETTLING, failed: seen };
        self.former = failed.into_iter().rev().map(|failure| (failure.rank, failure.name)).collect();
        self.beyond = Some(why);
    }

    /// Failures of late for which something has been done.
    fn of_late(&self, now: Instant) -> Vec<Failure<Ending>> {
        self.mending.iter().flat_map(|mending| mending.of_late(now)).cloned().collect()
    }

    /// The rank runs again, and is called so.
    pub(crate) fn started(&mut self, now: Instant, rank: usize, name: String) {
        self.alive.insert(rank);
        self.renamed(rank, name);
        if let Some(mending) = &mut self.mending {
            mending.started(now, rank);
        }
    }

    /// The rank is called so from now on.
    pub(crate) fn renamed(&mut self, rank: usize, name: String) {
        if let Some(known) = self.names.get_mut(rank) {
            *known = name;
        }
    }

    /// The rank could not be started again, as `why` says.
    pub(crate) fn not_started(&mut self, now: Instant, rank: usize, why: &str) -> Vec<Action> {
        self.alive.remove(&rank);
        let ending = self.mending.as_mut().and_then(|mending| mending.not_started(rank));
        let Some(ending) = ending.filter(|_| matches!(self.phase, Phase::Running)) else { return Vec::new() };
        self.beyond = Some(format!("it cannot be started again: {why}"));
        self.phase = Phase::Settling { until: now, failed: vec![(rank, ending)] };
        self.conclude(now, &Account::default())
    }

    /// The launcher received a signal.
    pub(crate) fn signalled(&mut self, now: Instant, signal: i32) -> Vec<Action> {
        if signals::PASSED_ON.contains(&signal) || signal == SIGCONT {
            return vec![Action::Signal(signal)];
        }
        if signal == SIGTSTP {
            return vec![Action::Signal(SIGTSTP), Action::Suspend];
        }
        if !signals::ENDING.contains(&signal) {
            return Vec::new();
        }
        let name = signals::name(signal);
        match self.phase {
            // The job had failed before it was told to end.
            Phase::Settling { .. } if !self.running() => self.conclude(now, &Account::default()),
            Phase::Running | Phase::Settling { .. } => {
                self.status = Status::signal(signal);
                let hint = if signal == SIGINT { " (once more kills at once)" } else { "" };
                let mut actions = vec![Action::Say(format!("received {name}; ending the job{hint}"))];
                actions.extend(self.end(now, signal));
                actions
            }
            Phase::Ending { .. } => {
                self.phase = Phase::Killed { give_up_at: now + UNDEAD };
                vec![
                    Action::Say(format!("received {name} again; killing {}", self.living())),
                    Action::Signal(SIGKILL),
                ]
            }
            Phase::Killed { .. } => Vec::new(),
        }
    }

    /// Output was lost, as `what` says: nobody may take the job for a success.
    pub(crate) fn lost_output(&mut self, now: Instant, what: &str) -> Vec<Action> {
        if self.status == Status::SUCCESS && (self.running() || !matches!(self.phase, Phase::Settling { .. }))
        {
            self.status = Status::SYSTEM;
        }
        if self.running() && (!self.alive.is_empty() || self.starting()) {
            let mut actions = vec![Action::Say(format!("{what}; ending the job"))];
            actions.extend(self.end(now, SIGTERM));
            return actions;
        }
        vec![Action::Say(what.to_owned())]
    }

    /// Time has passed, and all that had happened by `seen` is known; call at [`Self::deadline`].
    pub(crate) fn tick(&mut self, seen: Instant, now: Instant) -> Vec<Action> {
        match &mut self.phase {
            Phase::Running if self.until.is_some_and(|until| seen >= until) => {
                self.status = Status::TIMEOUT;
                let limit = humantime::format_duration(self.timeout.unwrap_or_default());
                let said = format!("the job ran longer than --timeout {limit}; ending {}", self.living());
                let mut actions = vec![Action::Say(said)];
                actions.extend(self.end(now, SIGTERM));
                actions
            }
            Phase::Running => {
                let Some(mending) = &mut self.mending else { return Vec::new() };
                let spared = mending.spared();
                let due = mending.due(seen).map(Action::Start);
                let said = spared.into_iter().map(|rank| {
                    Action::Say(format!(
                        "{} is not started again: all others have ended well",
                        self.name(rank)
                    ))
                });
                said.chain(due).collect()
            }
            Phase::Ending { kill_at, .. } if seen >= *kill_at => {
                self.phase = Phase::Killed { give_up_at: now + UNDEAD };
                let grace = humantime::format_duration(self.grace);
                let said = format!("{} did not end within --grace {grace}; killing", self.living());
                vec![Action::Say(said), Action::Signal(SIGKILL)]
            }
            Phase::Ending { term_at, .. } if term_at.is_some_and(|at| seen >= at) => {
                *term_at = None;
                vec![Action::Signal(SIGTERM), Action::Signal(SIGCONT)]
            }
            Phase::Killed { give_up_at } if seen >= *give_up_at && !self.alive.is_empty() => {
                let said = format!(
                    "{} did not end within {} of SIGKILL, as a process does that waits for a device or a file system; \
                     leaving it behind",
                    self.living(),
                    humantime::format_duration(UNDEAD)
                );
                self.alive.clear();
                vec![Action::Say(said)]
            }
            _ => Vec::new(),
        }
    }

    fn end(&mut self, now: Instant, signal: i32) -> Vec<Action> {
        // No program needs a longer grace than a year, and an `Instant` cannot hold every length.
        let grace = self.grace.min(Duration::from_secs(365 * 86400));
        let term_at = (signal != SIGTERM).then(|| now + grace / 2);
        self.phase = Phase::Ending { term_at, kill_at: now + grace };
        // A stopped process hears SIGTERM only once it goes on.
        vec![Action::Signal(signal), Action::Signal(SIGCONT)]
    }

    /// What messages call the rank.
    pub(crate) fn name(&self, rank: usize) -> &str {
        self.names.get(rank).map_or("a rank", String::as_str)
    }

    fn living(&self) -> String {
        const NAMED: usize = 4;
        let mut names: Vec<&str> = self.alive.iter().take(NAMED).map(|&rank| self.name(rank)).collect();
        let more = format!("{} more", self.alive.len().saturating_sub(NAMED));
        if self.alive.len() > NAMED {
            names.push(&more);
        }
        names.join(", ")
    }
}

#[cfg(test)]
mod tests;
