//! Which ranks are started again when they fail, when, and which failures a job bears. Pure: events and times in,
//! decisions out; [`supervisor`](super::supervisor) turns them into actions and words.
//!
//! The launcher knows processes and no worlds: a rank that has exited with 0 may have finished or left, and one that
//! was started again may be in the world or still at its door. Whoever is at the door of a world that is gone waits
//! there for the rendezvous' `timeout` and fails then, through no fault of the job's. Two things are inferred from
//! times, therefore: who may be in a world ([`TOGETHER`] after its start a rank that was started again may be; before,
//! it is not counted on), and who came too late for one ([`Mending::came_too_late`]).

use crate::cli::RunOptions;
use ringworld_bootstrap::Settings;
use std::time::{Duration, Instant};

/// Tells a process that its world runs already.
pub(crate) const REJOIN: &str = "RINGWORLD_REJOIN";

/// Failures within so long may have one cause; and after so long a rank that was started again may be in the world.
pub(crate) const TOGETHER: Duration = Duration::from_millis(200);

/// A rank that was started again and fails within so long is in a loop: the next start waits.
const QUICK: Duration = Duration::from_secs(2);

/// The first pause before such a start; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// From the end of `timeout` to that of a process that nobody let in.
const GIVING_UP: Duration = Duration::from_secs(5);

/// How many ranks a world is to have that goes on after failures, as the command line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min_ranks: Option<usize>,
    pub(crate) max_ranks: Option<usize>,
}

impl Bounds {
    /// The variables that say so to the ranks.
    pub(crate) fn variables(self) -> impl Iterator<Item = (&'static str, String)> {
        let counts = [("RINGWORLD_MIN_RANKS", self.min_ranks), ("RINGWORLD_MAX_RANKS", self.max_ranks)];
        let counts = counts.into_iter().filter_map(|(name, count)| Some((name, count?.to_string())));
        [("RINGWORLD_ELASTIC", "1".to_owned())].into_iter().chain(counts)
    }

    /// What these options ask for, if they do; `all` ranks are in the job.
    ///
    /// # Errors
    ///
    /// A sentence, when it cannot be meant.
    pub(crate) fn of(options: &RunOptions, all: usize) -> Result<Option<Self>, String> {
        let RunOptions { restarts, min_ranks, max_ranks, .. } = *options;
        if restarts.is_none() && min_ranks.is_none() {
            return match max_ranks {
                Some(most) => Err(format!(
                    "--max-ranks {most} is for a world that goes on after failures; give --restarts or --min-ranks \
                     as well"
                )),
                None => Ok(None),
            };
        }
        let ranks = crate::units::counted(all, "rank");
        if let Some(least) = min_ranks.filter(|least| *least > all) {
            return Err(format!("--min-ranks {least} can never be met: the job starts with {ranks}"));
        }
        if let Some(most) = max_ranks.filter(|most| *most < all) {
            return Err(format!("--max-ranks {most} is too few: the job starts with {ranks}"));
        }
        let elastic = Self { min_ranks, max_ranks };
        let taken =
            |key: &str| ["RINGWORLD_ELASTIC", "RINGWORLD_MIN_RANKS", "RINGWORLD_MAX_RANKS"].contains(&key);
        let parts = [&options.first].into_iter().chain(&options.more);
        match parts.flat_map(|part| &part.env).find(|assignment| taken(&assignment.key)) {
            Some(assignment) => Err(format!(
                "--env {}: this variable is set by the launcher; use --restarts, --min-ranks and --max-ranks",
                assignment.key
            )),
            None => Ok(Some(elastic)),
        }
    }
}

/// What a launcher may do about failures among its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// How often ranks may be started again, all of them together.
    pub(crate) restarts: usize,
    /// The fewest ranks that the world goes on with, on all hosts.
    pub(crate) min_ranks: usize,
    /// Ranks that other launchers have started.
    pub(crate) elsewhere: usize,
    /// How long a process waits at the door of the world.
    pub(crate) timeout: Duration,
}

impl Limits {
    /// What these options and settings amount to, for so many ranks of this host.
    pub(crate) fn new(options: &RunOptions, ranks: usize, settings: &Settings) -> Self {
        let others = options.nnodes.map_or(0, |nodes| nodes.saturating_sub(1));
        Self {
            restarts: options.restarts.unwrap_or(0),
            min_ranks: settings.min_ranks,
            elsewhere: others.saturating_mul(ranks),
            timeout: settings.timeout,
        }
    }
}

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// Start the rank again after the pause; the `number`th time that one is.
    Again { number: usize, pause: Duration },
    /// Go on without it; so many ranks are left.
    Without { left: usize },
    /// Nothing: it was started again for a world that has ended well meanwhile.
    TooLate,
    /// Nothing: all others have ended well.
    Last,
    /// Nothing helps: nobody is left whose world it could join.
    NoWorld,
    /// Nothing helps: so many ranks would be left, which are too few.
    TooFew { left: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Alive,
    /// To be started again at this time.
    Pausing(Instant),
    /// Being started.
    Starting,
    Well,
    Failed,
}

#[derive(Clone, Copy, Debug)]
struct Life<E> {
    state: State,
    /// When it was started last.
    since: Instant,
    /// It was started again.
    again: bool,
    /// The last pause before that.
    pause: Duration,
    /// How it has ended last.
    ending: Option<E>,
}

/// The failure of a process, which may have a successor, with how it has ended in the words of who asks.
#[derive(Clone, Debug)]
pub(crate) struct Failure<E> {
    pub(crate) at: Instant,
    pub(crate) rank: usize,
    pub(crate) ending: E,
    pub(crate) name: String,
    /// Another can be started in its place.
    pub(crate) again: bool,
}

impl<E> Failure<E> {
    fn is_of_late(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) <= TOGETHER
    }
}

/// The ranks of this launcher, and what has been done about those that failed.
#[derive(Debug)]
pub(crate) struct Mending<E> {
    limits: Limits,
    lives: Vec<Life<E>>,
    used: usize,
    /// Ranks that the job has gone on without.
    lost: usize,
    /// When a rank ended well last.
    last_well: Option<Instant>,
    /// How many were lost since.
    lost_since: usize,
    recent: Vec<Failure<E>>,
    /// When to look whether the failures of late were a job that was given up.
    look: Option<Instant>,
}

impl<E: Copy> Mending<E> {
    /// All of so many ranks are alive from now on.
    pub(crate) fn new(limits: Limits, ranks: usize, now: Instant) -> Self {
        let life =
            Life { state: State::Alive, since: now, again: false, pause: Duration::ZERO, ending: None };
        Self {
            limits,
            lives: vec![life; ranks],
            used: 0,
            lost: 0,
            last_well: None,
            lost_since: 0,
            recent: Vec::new(),
            look: None,
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The rank has ended well.
    pub(crate) fn well(&mut self, now: Instant, rank: usize) {
        self.set(rank, State::Well);
        self.last_well = Some(now);
        self.lost_since = 0;
    }

    /// These have failed; what to do about each, in that order, up to the first that cannot be mended.
    pub(crate) fn failed(&mut self, now: Instant, failed: &[Failure<E>]) -> Vec<Mend> {
        for failure in failed {
            self.set(failure.rank, State::Failed);
            if let Some(life) = self.lives.get_mut(failure.rank) {
                life.ending = Some(failure.ending);
            }
        }
        self.recent.retain(|failure| failure.is_of_late(now));
        self.recent.extend_from_slice(failed);
        self.look = Some(now + TOGETHER);
        let mut mends = Vec::new();
        for failure in failed {
            let mend = self.mend(now, failure.rank, failed.len(), failure.again);
            mends.push(mend);
            if matches!(mend, Mend::NoWorld | Mend::TooFew { .. }) {
                break;
            }
        }
        mends
    }

    /// One of so many that have failed together.
    fn mend(&mut self, now: Instant, rank: usize, together: usize, again: bool) -> Mend {
        let Some(life) = self.lives.get(rank).copied() else { return Mend::NoWorld };
        if self.came_too_late(now, life) {
            return Mend::TooLate;
        }
        let alone = self.limits.elsewhere == 0;
        let settled =
            |other: &Life<E>| !other.again || now.saturating_duration_since(other.since) >= TOGETHER;
        let somebody = self.lives.iter().any(|other| other.state == State::Alive && settled(other));
        let well = self.lives.iter().any(|other| other.state == State::Well);
        if !somebody && well && together == 1 && self.lost_since == 0 && (alone || self.left() == 0) {
            return Mend::Last;
        }
        if !somebody && alone {
            return Mend::NoWorld;
        }
        if again && self.used < self.limits.restarts {
            self.used += 1;
            let lived = now.saturating_duration_since(life.since);
            let pause = match life.again && lived < QUICK {
                true => (life.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE),
                false => Duration::ZERO,
            };
            if let Some(life) = self.lives.get_mut(rank) {
                life.state = State::Pausing(now + pause);
                life.pause = pause;
            }
            return Mend::Again { number: self.used, pause };
        }
        self.lost += 1;
        self.lost_since += 1;
        // Of other hosts' ranks nothing is known here: they are taken to be well.
        let world = self.lives.len().saturating_add(self.limits.elsewhere).saturating_sub(self.lost);
        match self.left() {
            0 => Mend::TooFew { left: 0 },
            left if world < self.limits.min_ranks => Mend::TooFew { left },
            left => Mend::Without { left },
        }
    }

    /// Whether a rank that fails now was started again for a world that has ended well since: somebody has ended well
    /// in its time, it has not lived longer than it would wait at the door, and nobody is there who is sure to be in a
    /// world.
    fn came_too_late(&self, now: Instant, life: Life<E>) -> bool {
        let wait = self.limits.timeout.saturating_add(GIVING_UP);
        let waits = |life: &Life<E>| life.again && now.saturating_duration_since(life.since) <= wait;
        let mut alive = self.lives.iter().filter(|other| other.state == State::Alive);
        waits(&life) && self.last_well.is_some_and(|well| well >= life.since) && alive.all(waits)
    }

    /// Ranks that are alive or will be.
    fn left(&self) -> usize {
        let gone = |life: &&Life<E>| !matches!(life.state, State::Well | State::Failed);
        self.lives.iter().filter(gone).count()
    }

    /// Whether a rank is to be started.
    pub(crate) fn pausing(&self) -> bool {
        self.lives.iter().any(|life| matches!(life.state, State::Pausing(_) | State::Starting))
    }

    /// Ranks that were to be started, and are not, since all others have ended well meanwhile.
    pub(crate) fn spared(&mut self) -> Vec<usize> {
        let is = |state: State| self.lives.iter().any(|life| life.state == state);
        if self.limits.elsewhere > 0 || is(State::Alive) || !is(State::Well) {
            return Vec::new();
        }
        let pauses = |life: &Life<E>| matches!(life.state, State::Pausing(_));
        let spared: Vec<usize> =
            (0..self.lives.len()).filter(|rank| self.lives.get(*rank).is_some_and(pauses)).collect();
        for rank in &spared {
            self.set(*rank, State::Failed);
        }
        spared
    }

    /// A rank whose time has come, if there is one; whether it could be started is to be said before the next is asked
    /// for.
    pub(crate) fn due(&mut self, now: Instant) -> Option<usize> {
        let due = |life: &Life<E>| matches!(life.state, State::Pausing(at) if now >= at);
        let rank = self.lives.iter().position(due)?;
        self.set(rank, State::Starting);
        Some(rank)
    }

    /// The rank has been started again.
    pub(crate) fn started(&mut self, now: Instant, rank: usize) {
        if let Some(life) = self.lives.get_mut(rank) {
            (life.state, life.since, life.again) = (State::Alive, now, true);
        }
    }

    /// When [`Self::due`] or [`Self::looked`] have something to say, if nothing else happens.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let starts = self.lives.iter().filter_map(|life| match life.state {
            State::Pausing(at) => Some(at),
            _ => None,
        });
        starts.chain(self.look).min()
    }

    /// Whether it is time to look for a job that was given up.
    pub(crate) fn look_due(&self, now: Instant) -> bool {
        self.look.is_some_and(|at| now >= at)
    }

    /// Somebody has looked.
    pub(crate) fn looked(&mut self) {
        self.look = None;
    }

    /// The rank could not be started again; how the process has ended that was to be replaced.
    pub(crate) fn not_started(&mut self, rank: usize) -> Option<E> {
        self.set(rank, State::Failed);
        self.lives.get(rank)?.ending
    }

    /// Failures that may have to do with one now, in the order in which they were seen.
    pub(crate) fn of_late(&self, now: Instant) -> impl Iterator<Item = &Failure<E>> {
        self.recent.iter().filter(move |failure| failure.is_of_late(now))
    }

    fn set(&mut self, rank: usize, state: State) {
        if let Some(life) = self.lives.get_mut(rank) {
            life.state = state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: &str = "killed";
    const SECOND: Duration = Duration::from_secs(1);

    /// So many ranks, of which all are alive, and a launcher that may start so many again.
    fn job(ranks: usize, restarts: usize, min_ranks: usize) -> (Mending<&'static str>, Instant) {
        let limits = Limits { restarts, min_ranks, elsewhere: 0, timeout: 60 * SECOND };
        let now = Instant::now();
        (Mending::new(limits, ranks, now), now)
    }

    fn fail(mending: &mut Mending<&'static str>, now: Instant, ranks: &[usize]) -> Vec<Mend> {
        let failure =
            |&rank| Failure { at: now, rank, ending: KILLED, name: format!("rank {rank}"), again: true };
        mending.failed(now, &ranks.iter().map(failure).collect::<Vec<_>>())
    }

    fn again(number: usize, pause: u64) -> Mend {
        Mend::Again { number, pause: Duration::from_millis(pause) }
    }

    /// Starts all whose time has come; they are named.
    fn start(mending: &mut Mending<&'static str>, now: Instant) -> Vec<usize> {
        let due: Vec<usize> = std::iter::from_fn(|| mending.due(now)).collect();
        due.iter().for_each(|rank| mending.started(now, *rank));
        due
    }

    #[test]
    fn a_rank_that_is_lost_with_its_host_is_missed_and_costs_no_restart() {
        let (mut m, now) = job(4, 5, 2);
        let lost = |rank| Failure { at: now, rank, ending: "lost", name: String::new(), again: false };
        assert_eq!(m.failed(now, &[lost(3)]), [Mend::Without { left: 3 }]);
        assert_eq!(fail(&mut m, now, &[1]), [again(1, 0)]);
        start(&mut m, now);
        assert_eq!(m.failed(now, &[lost(2), lost(1)]), [Mend::Without { left: 1 }, Mend::TooFew { left: 1 }]);
    }

    #[test]
    fn a_rank_is_started_again_at_once_and_then_after_growing_pauses() {
        let (mut m, mut now) = job(2, 20, 1);
        let mut pauses = Vec::new();
        for number in 1..=9 {
            now += SECOND;
            let [Mend::Again { number: given, pause }] = fail(&mut m, now, &[1])[..] else { panic!("{m:?}") };
            assert_eq!(given, number);
            assert_eq!(m.due(now).is_some(), pause.is_zero(), "{pause:?}");
            assert!(m.pausing());
            now += pause;
            m.looked();
            assert_eq!(m.deadline(), (!pause.is_zero()).then_some(now));
            if !pause.is_zero() {
                assert_eq!(m.due(now), Some(1));
            }
            assert_eq!((m.due(now), m.deadline()), (None, None), "it is started once");
            m.started(now, 1);
            assert!(!m.pausing());
            pauses.push(pause.as_millis());
        }
        assert_eq!(pauses, [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        // One that has run for long is in no loop, and another one never was.
        now += QUICK;
        assert_eq!(fail(&mut m, now, &[1]), [again(10, 0)]);
        start(&mut m, now);
        now += SECOND;
        assert_eq!(fail(&mut m, now, &[0]), [again(11, 0)]);
    }

    #[test]
    fn restarts_are_counted_over_all_ranks_and_then_ranks_are_missed_until_they_are_too_few() {
        let (mut m, now) = job(5, 2, 3);
        let at = |seconds: u32| now + seconds * SECOND;
        assert_eq!(fail(&mut m, at(1), &[0, 4]), [again(1, 0), again(2, 0)]);
        assert_eq!(start(&mut m, at(1)), [0, 4]);
        assert_eq!(fail(&mut m, at(2), &[4]), [Mend::Without { left: 4 }]);
        assert_eq!(fail(&mut m, at(3), &[1]), [Mend::Without { left: 3 }]);
        assert_eq!(fail(&mut m, at(4), &[2]), [Mend::TooFew { left: 2 }]);
        assert!(!m.pausing());
    }

    #[test]
    fn ranks_that_have_ended_well_are_not_missed() {
        let (mut m, now) = job(4, 0, 3);
        m.well(now + SECOND, 0);
        m.well(now + SECOND, 1);
        assert_eq!(fail(&mut m, now + 2 * SECOND, &[2]), [Mend::Without { left: 1 }]);
        m.well(now + 3 * SECOND, 3);
        assert!(!m.pausing());
    }

    #[test]
    fn nobody_is_started_for_a_world_that_is_gone() {
        let (mut m, now) = job(3, 9, 1);
        assert_eq!(fail(&mut m, now, &[2, 0, 1]), [Mend::NoWorld], "all at once");
        assert!(!m.pausing());
        // One by one, but so soon that none of those that were started again can have been let in.
        let (mut m, now) = job(3, 9, 1);
        assert_eq!(fail(&mut m, now, &[2]), [again(1, 0)]);
        start(&mut m, now);
        let soon = now + TOGETHER / 3;
        assert_eq!(fail(&mut m, soon, &[0]), [again(2, 0)]);
        start(&mut m, soon);
        assert_eq!(fail(&mut m, soon + TOGETHER / 3, &[1]), [Mend::NoWorld]);
        assert_eq!(m.of_late(soon + TOGETHER / 3).map(|failure| failure.rank).collect::<Vec<_>>(), [2, 0, 1]);
        // Later they may have been.
        let (mut m, now) = job(2, 9, 1);
        assert_eq!(fail(&mut m, now, &[1]), [again(1, 0)]);
        start(&mut m, now);
        assert_eq!(fail(&mut m, now + TOGETHER, &[0]), [again(2, 0)]);
        assert_eq!(m.of_late(now + 2 * TOGETHER).count(), 1, "the other is long past");
    }

    #[test]
    fn on_several_hosts_others_may_have_the_world() {
        let limits = Limits { restarts: 2, min_ranks: 3, elsewhere: 2, timeout: 60 * SECOND };
        let now = Instant::now();
        let mut m = Mending::new(limits, 2, now);
        assert_eq!(fail(&mut m, now, &[0, 1]), [again(1, 0), again(2, 0)], "both of this host");
        start(&mut m, now);
        assert_eq!(fail(&mut m, now + SECOND, &[0]), [Mend::Without { left: 1 }], "three are left in all");
        assert_eq!(
            fail(&mut m, now + SECOND, &[1]),
            [Mend::TooFew { left: 0 }],
            "nothing is left to do here"
        );
        let mut m = Mending::new(Limits { restarts: 0, ..limits }, 3, now);
        assert_eq!(fail(&mut m, now, &[0, 1]), [Mend::Without { left: 1 }; 2]);
        let mut m = Mending::new(Limits { restarts: 0, min_ranks: 4, ..limits }, 3, now);
        assert_eq!(fail(&mut m, now, &[0, 1]), [Mend::Without { left: 1 }, Mend::TooFew { left: 1 }]);
    }

    #[test]
    fn the_last_rank_may_fail_once_all_others_have_ended_well() {
        for restarts in [0, 5] {
            let (mut m, now) = job(3, restarts, 3);
            m.well(now, 0);
            m.well(now, 2);
            assert_eq!(fail(&mut m, now + SECOND, &[1]), [Mend::Last]);
        }
        // Somebody who leaves ends well, too; that makes nothing good of a world that falls afterwards.
        let (mut m, now) = job(4, 0, 1);
        m.well(now, 3);
        assert_eq!(fail(&mut m, now + SECOND, &[0]), [Mend::Without { left: 2 }]);
        assert_eq!(fail(&mut m, now + 2 * SECOND, &[1]), [Mend::Without { left: 1 }]);
        assert_eq!(fail(&mut m, now + 3 * SECOND, &[2]), [Mend::NoWorld]);
        let (mut m, now) = job(3, 5, 1);
        m.well(now, 2);
        assert_eq!(fail(&mut m, now + SECOND, &[0, 1]), [Mend::NoWorld]);
    }

    #[test]
    fn who_was_started_again_for_a_world_that_has_ended_is_not_missed() {
        let (mut m, now) = job(4, 5, 4);
        assert_eq!(fail(&mut m, now + SECOND, &[2, 3]), [again(1, 0), again(2, 0)]);
        start(&mut m, now + SECOND);
        m.well(now + 2 * SECOND, 0);
        m.well(now + 2 * SECOND, 1);
        let late = now + SECOND + 60 * SECOND;
        assert_eq!(fail(&mut m, late, &[2]), [Mend::TooLate]);
        assert_eq!(fail(&mut m, late, &[3]), [Mend::TooLate]);
        assert!(!m.pausing() && m.deadline() == Some(late + TOGETHER));
        // While somebody is there from the beginning there may be a world, and whoever has lived for longer than one
        // waits at the door was in one.
        let (mut m, now) = job(3, 5, 1);
        assert_eq!(fail(&mut m, now + SECOND, &[1]), [again(1, 0)]);
        start(&mut m, now + SECOND);
        m.well(now + 2 * SECOND, 2);
        assert_eq!(fail(&mut m, now + 2 * SECOND, &[1]), [again(2, 100)]);
        assert_eq!((start(&mut m, now + 4 * SECOND), m.spared()), (vec![1], vec![]));
        m.well(now + 5 * SECOND, 0);
        assert_eq!(fail(&mut m, now + 100 * SECOND, &[1]), [Mend::Last]);
    }

    #[test]
    fn nobody_is_started_once_all_others_have_ended_well() {
        for elsewhere in [0, 2] {
            let (mut m, now) = job(3, 5, 1);
            m.limits.elsewhere = elsewhere;
            fail(&mut m, now, &[1]);
            start(&mut m, now);
            assert_eq!(fail(&mut m, now + SECOND, &[1]), [again(2, 100)]);
            m.well(now + SECOND, 0);
            assert!(m.spared().is_empty());
            m.well(now + SECOND, 2);
            let spared = if elsewhere == 0 { vec![1] } else { vec![] };
            assert_eq!((m.spared(), m.pausing()), (spared, elsewhere > 0));
            assert_eq!(start(&mut m, now + 2 * SECOND).is_empty(), elsewhere == 0);
        }
    }

    #[test]
    fn one_that_cannot_be_started_has_ended_as_the_one_before() {
        let (mut m, now) = job(2, 5, 1);
        fail(&mut m, now, &[1]);
        assert_eq!((m.due(now), m.not_started(1)), (Some(1), Some(KILLED)));
        assert!(!m.pausing());
        assert_eq!(m.not_started(7), None);
    }
}
