//! All that can happen in a small world: every order of every step, each state once.
//!
//! What was said stays in the air: at any time it may reach the one it is meant for, again and again, or never. That is
//! delay, loss, doubling and any order in one. Every process may think any other lost, and be told better; it may go
//! on, find that it is late, or die, and the others may hear of that for certain. A world bounds how often each may
//! happen, so that its states are finite; the figures stand with the tests.
//!
//! Machines and messages are numbered as they come up, and what a machine does about a step is computed once, so a
//! state is a handful of numbers. Of states that were visited 64 bits are kept: of ten million, two are taken for one
//! another with a chance of one in a hundred thousand.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::rc::Rc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::judge::{Promise, brief};
use super::{ms, node};
use crate::machine::Planted;
use crate::{Action, Id, Limits, Machine, Message, Node, Patience, Table};

/// The most processes.
const MOST: usize = 5;
/// In place of a machine: it has ended.
const DEAD: u32 = u32::MAX;

/// How large a world is, and how much may happen in it.
#[derive(Clone, Copy, Debug)]
struct Small {
    voters: usize,
    arbiter: bool,
    newcomers: usize,
    /// Members may leave, and not only go on.
    leaves: bool,
    /// Between the first two messages of the program do not get through.
    apart: bool,
    /// All members have done with their generation from the start; else each whenever it likes.
    ready: bool,
    /// How many generations follow on the first.
    generations: u64,
    /// How often anybody may think another one lost, who is not.
    suspicions: u8,
    crashes: u8,
    /// How often times are up, of all processes.
    ticks: u8,
    /// Beyond so many states nothing is visited.
    most: u64,
    planted: Option<Planted>,
}

/// What happens to one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Hears(u32),
    Tick,
    Down(u8, bool),
    Up(u8),
    /// All members have died, as an arbiter hears.
    Orphaned,
    GoOn {
        leaving: bool,
    },
}

/// A machine, and how late it is for it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Local {
    machine: Machine,
    now: Duration,
}

/// What comes of a step of one process.
#[derive(Clone)]
struct Outcome {
    local: u32,
    said: Rc<[u32]>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    locals: [u32; MOST],
    /// The numbers of all messages that were ever sent, as bits.
    air: Vec<u64>,
    /// In which generations each has said that it goes on, as bits.
    said: [u8; MOST],
    suspicions: u8,
    crashes: u8,
    ticks: u8,
}

/// Numbers for things, in the order in which they come up.
struct Numbers<T> {
    of: HashMap<T, u32>,
    all: Vec<T>,
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    fn new() -> Self {
        Self { of: HashMap::new(), all: Vec::new() }
    }

    fn number(&mut self, thing: &T) -> u32 {
        if let Some(number) = self.of.get(thing) {
            return *number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(DEAD);
        self.of.insert(thing.clone(), number);
        self.all.push(thing.clone());
        number
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Said {
    from: usize,
    to: usize,
    message: Message,
}

struct Explorer {
    small: Small,
    nodes: Vec<Node>,
    limits: Limits,
    locals: Numbers<Local>,
    said: Numbers<Said>,
    outcomes: FxHashMap<(u32, Step), Outcome>,
    visited: FxHashSet<u64>,
}

/// What an exploration came to.
#[derive(Debug)]
struct Explored {
    states: u64,
    steps: u64,
    depth: u64,
    /// No state was left out.
    whole: bool,
    machines: usize,
    messages: usize,
    /// How many ways the first generation ended.
    tables: usize,
}

type Wrong = (Promise, String);

impl Explorer {
    fn new(small: Small) -> (Self, State) {
        let all = small.voters + usize::from(small.arbiter) + small.newcomers;
        assert!(all <= MOST);
        let nodes: Vec<Node> = (0..all as u64).map(node).collect();
        let arbiter = small.arbiter.then(|| nodes[small.voters].clone());
        let serves = arbiter.as_ref().map_or(Id(0), |arbiter| arbiter.id);
        let first = Table {
            generation: 0,
            members: nodes[..small.voters].to_vec(),
            arbiter,
            serves,
            broken: Vec::new(),
        };
        // One tick is enough for each of them.
        let patience = Patience { gather: ms(4), limit: ms(100_000), retry: ms(1), repeat: ms(4) };
        let limits = Limits { least: 1, most: 4 };
        let mut explorer = Self {
            small,
            nodes: nodes.clone(),
            limits,
            locals: Numbers::new(),
            said: Numbers::new(),
            outcomes: FxHashMap::default(),
            visited: FxHashSet::default(),
        };
        let (suspicions, crashes, ticks) = (small.suspicions, small.crashes, small.ticks);
        let mut state =
            State { locals: [DEAD; MOST], air: Vec::new(), said: [0; MOST], suspicions, crashes, ticks };
        for (at, node) in nodes.iter().enumerate() {
            let (node, table) = (node.clone(), first.clone());
            let machine = if at < small.voters {
                Machine::member(node, table, limits, patience)
            } else if first.knows(node.id) {
                Machine::arbiter(node, table, limits, patience)
            } else {
                Machine::newcomer(Duration::ZERO, node, table, limits, patience)
            };
            let mut machine = machine.expect("a table that can be");
            machine.planted = small.planted;
            if small.ready && at < small.voters {
                explorer.loses(at).into_iter().for_each(|lost| machine.lost(lost));
                machine.go_on(Duration::ZERO, false);
                state.said[at] = 1;
            }
            let outcome = explorer.settle(at, Local { machine, now: Duration::ZERO });
            state.take(at, &outcome);
        }
        (explorer, state)
    }

    /// Whom a process has no link to.
    fn loses(&self, at: usize) -> Option<Id> {
        let other = Some(1 - at.min(1)).filter(|_| self.small.apart && at < 2)?;
        self.nodes.get(other).map(|node| node.id)
    }

    /// Numbers what a machine has become, and what it has said.
    fn settle(&mut self, at: usize, mut local: Local) -> Outcome {
        let mut said = Vec::new();
        for action in local.machine.actions().collect::<Vec<_>>() {
            // What is only for people decides nothing.
            if let Action::Send { to, message } = action
                && !matches!(message, Message::Waiting { .. } | Message::Missing { .. })
                && let Some(to) = self.nodes.iter().position(|node| node.id == to.id)
            {
                said.push(self.said.number(&Said { from: at, to, message }));
            }
        }
        Outcome { local: self.locals.number(&local), said: said.into() }
    }

    /// What a process does about a step.
    fn outcome(&mut self, at: usize, local: u32, step: Step) -> Outcome {
        if let Some(outcome) = self.outcomes.get(&(local, step)) {
            return outcome.clone();
        }
        let mut after = self.locals.all[local as usize].clone();
        let (machine, now) = (&mut after.machine, after.now);
        match step {
            Step::Hears(number) => {
                let said = self.said.all[number as usize].clone();
                machine.receive(now, &self.nodes[said.from], said.message);
            }
            Step::Tick => {
                if let Some(next) = machine.next_tick() {
                    after.now = next.max(now);
                    machine.tick(after.now);
                }
            }
            Step::Down(of, certain) => machine.down(now, self.nodes[usize::from(of)].id, certain),
            Step::Orphaned => machine.ended(now, machine.table().generation, false),
            Step::Up(of) => machine.up(now, self.nodes[usize::from(of)].id),
            Step::GoOn { leaving } => {
                self.loses(at).into_iter().for_each(|lost| machine.lost(lost));
                machine.go_on(now, leaving);
            }
        }
        let outcome = self.settle(at, after);
        self.outcomes.insert((local, step), outcome.clone());
        outcome
    }

    /// All steps that may be next.
    fn steps(&self, state: &State) -> Vec<(usize, Step)> {
        let mut steps = Vec::new();
        for (word, bits) in state.air.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                let number = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                steps.push((self.said.all[number as usize].to, Step::Hears(number)));
            }
        }
        for at in 0..self.nodes.len() {
            if state.locals[at] == DEAD {
                continue;
            }
            let machine = &self.locals.all[state.locals[at] as usize].machine;
            let generation = machine.table().generation;
            if machine.table().rank_of(self.nodes[at].id).is_some()
                && generation < self.small.generations
                && state.said[at] >> generation & 1 == 0
                && !machine.is_over()
            {
                steps.push((at, Step::GoOn { leaving: false }));
                if self.small.leaves {
                    steps.push((at, Step::GoOn { leaving: true }));
                }
            }
            if state.ticks > 0 {
                steps.push((at, Step::Tick));
            }
            let dead = |id: Id| state.locals[id.0 as usize] == DEAD;
            if self.small.arbiter && machine.table().members.iter().all(|member| dead(member.id)) {
                steps.push((at, Step::Orphaned));
            }
            for (of, node) in self.nodes.iter().enumerate().filter(|(of, _)| *of != at) {
                let other = of as u8;
                if state.locals[of] == DEAD {
                    steps.push((at, Step::Down(other, true)));
                } else if state.suspicions > 0 {
                    steps.push((at, Step::Down(other, false)));
                }
                if machine.misses(node.id) {
                    steps.push((at, Step::Up(other)));
                }
            }
        }
        steps.retain(|(at, _)| state.locals[*at] != DEAD);
        steps
    }

    /// The state after a step, unless that changes nothing.
    fn next(&mut self, state: &State, at: usize, step: Step) -> Result<Option<State>, Wrong> {
        let before = state.locals[at];
        let outcome = self.outcome(at, before, step);
        let mut next = state.clone();
        next.take(at, &outcome);
        match step {
            Step::Tick => next.ticks -= 1,
            Step::Down(_, false) => next.suspicions -= 1,
            Step::GoOn { .. } => {
                let generation = self.locals.all[before as usize].machine.table().generation;
                next.said[at] |= 1 << generation;
            }
            _ => {}
        }
        if next.locals[at] == before && next.air == state.air && next.said == state.said {
            return Ok(None);
        }
        let table = |local: u32| self.locals.all[local as usize].machine.table();
        if table(outcome.local).generation != table(before).generation {
            let told = match step {
                Step::Hears(number) => {
                    matches!(self.said.all[number as usize].message, Message::Decided { .. })
                }
                _ => false,
            };
            self.judge(&next, at, table(before), table(outcome.local), told)?;
        }
        Ok(Some(next))
    }

    /// Whether a decision may be one.
    fn judge(&self, state: &State, at: usize, old: &Table, new: &Table, told: bool) -> Result<(), Wrong> {
        let air = || state.heard().map(|number| &self.said.all[number as usize]);
        let others = air().filter_map(|said| match &said.message {
            Message::Decided { table } => Some(table),
            _ => None,
        });
        let theirs = state.locals.iter().filter(|local| **local != DEAD);
        let theirs = theirs.map(|local| self.locals.all[*local as usize].machine.table());
        for other in others.chain(theirs).filter(|other| other.generation == new.generation) {
            if other != new {
                return Err((Promise::OneWorld, format!("{} and {}", brief(other), brief(new))));
            }
        }
        if told {
            return Ok(());
        }
        let proposed = air().filter_map(|said| match &said.message {
            Message::Accept { ballot, table } if said.from == at && table == new => Some(*ballot),
            _ => None,
        });
        let agreed = |by: &BTreeSet<Id>| old.quorum(|id| id == self.nodes[at].id || by.contains(&id));
        let enough = proposed.chain([Default::default()]).any(|proposed| {
            let accepted = air().filter_map(|said| match said.message {
                Message::Accepted { generation, ballot }
                    if generation == old.generation && ballot == proposed =>
                {
                    Some(self.nodes[said.from].id)
                }
                _ => None,
            });
            agreed(&accepted.collect())
        });
        if new.generation != old.generation + 1 || !enough {
            return Err((Promise::Quorum, format!("{} after {}", brief(new), brief(old))));
        }
        let stayed: Vec<usize> = new.members.iter().map_while(|member| old.rank_of(member.id)).collect();
        let came = &new.members[stayed.len()..];
        if !stayed.is_sorted() || came.iter().any(|member| old.rank_of(member.id).is_some()) {
            return Err((Promise::Order, format!("{} after {}", brief(new), brief(old))));
        }
        for member in &new.members {
            let at = member.id.0 as usize;
            let knocks = |said: &Said| match &said.message {
                Message::Knock { generation, node } => *generation == old.generation && node.id == member.id,
                _ => false,
            };
            let consents = match old.rank_of(member.id) {
                Some(_) => state.said[at] >> old.generation & 1 == 1,
                None => air().any(knocks),
            };
            if !consents {
                return Err((Promise::Consent, format!("{} in {}", member.id.0, brief(new))));
            }
        }
        let apart = self.small.apart && new.generation > 1;
        if apart && self.nodes[..2].iter().all(|node| new.rank_of(node.id).is_some()) {
            return Err((Promise::Links, brief(new)));
        }
        if new.members.len() < self.limits.least || new.members.len() > self.limits.most {
            return Err((Promise::Bounds, brief(new)));
        }
        Ok(())
    }

    /// Visits all states, those that are fewest steps away first.
    fn explore(&mut self, first: State) -> Result<Explored, Wrong> {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let (mut steps, mut depth, mut whole) = (0, 0, true);
        let mut level = VecDeque::from([first]);
        let mut tables = HashSet::new();
        while !level.is_empty() {
            for _ in 0..level.len() {
                let Some(state) = level.pop_front() else { break };
                let mut next: Vec<State> = Vec::new();
                for (at, step) in self.steps(&state) {
                    steps += 1;
                    next.extend(self.next(&state, at, step)?);
                }
                if state.crashes > 0 {
                    for at in 0..self.nodes.len() {
                        let mut dead = state.clone();
                        (dead.locals[at], dead.crashes) = (DEAD, state.crashes - 1);
                        next.push(dead);
                    }
                }
                for state in next {
                    if !self.visited.insert(hasher.hash_one(&state)) {
                        continue;
                    }
                    if self.visited.len() as u64 > self.small.most {
                        whole = false;
                        continue;
                    }
                    for local in state.locals.iter().filter(|local| **local != DEAD) {
                        let table = self.locals.all[*local as usize].machine.table();
                        if table.generation == 1 && !tables.contains(table) {
                            tables.insert(table.clone());
                        }
                    }
                    level.push_back(state);
                }
            }
            if !whole {
                break;
            }
            depth += 1;
        }
        Ok(Explored {
            states: self.visited.len() as u64,
            steps,
            depth,
            whole,
            machines: self.locals.all.len(),
            messages: self.said.all.len(),
            tables: tables.len(),
        })
    }
}

impl State {
    fn take(&mut self, at: usize, outcome: &Outcome) {
        self.locals[at] = outcome.local;
        for number in outcome.said.iter() {
            let (word, bit) = (*number as usize / 64, number % 64);
            if self.air.len() <= word {
                self.air.resize(word + 1, 0);
            }
            self.air[word] |= 1 << bit;
        }
    }

    /// The numbers of what is in the air.
    fn heard(&self) -> impl Iterator<Item = u32> {
        let bits = self.air.iter().enumerate();
        bits.flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word as u32 * 64 + bit)
        })
    }
}

fn explore(small: Small) -> Result<Explored, Wrong> {
    let (mut explorer, first) = Explorer::new(small);
    explorer.explore(first)
}

/// Explores a world to its end.
fn holds(small: Small) {
    match explore(small) {
        Ok(Explored { states, steps, depth, whole, machines, messages, tables }) => {
            println!(
                "{small:?}: {states} states by {steps} steps, at most {depth} away; {machines} states of a machine, \
                 {messages} messages, {tables} tables"
            );
            assert!(whole, "more than {states} states");
            assert!(tables > 0, "nothing was ever decided");
        }
        Err((promise, how)) => panic!("{promise:?}: {how}"),
    }
}

/// The worlds of a plain run take a second each; those that are ignored are for `ci/model.sh`.
const TWO: Small = Small {
    voters: 2,
    arbiter: false,
    newcomers: 1,
    leaves: false,
    apart: false,
    ready: false,
    generations: 1,
    suspicions: 1,
    crashes: 1,
    ticks: 0,
    most: 20_000_000,
    planted: None,
};

/// All are ready: what they do about that is where they get in each other's way.
const THREE: Small = Small { voters: 3, newcomers: 0, ready: true, crashes: 0, ..TWO };

#[test]
fn two_voters_and_a_newcomer() {
    holds(TWO);
}

#[test]
fn two_voters_and_a_newcomer_whose_time_is_up() {
    holds(Small { crashes: 0, ticks: 1, ready: true, ..TWO });
}

#[test]
fn an_arbiter_two_members_and_a_newcomer() {
    holds(Small { arbiter: true, ..TWO });
}

#[test]
fn two_voters_and_two_generations() {
    holds(Small { newcomers: 0, generations: 2, ready: true, ..TWO });
}

#[test]
fn two_voters_that_may_leave_and_a_newcomer() {
    holds(Small { leaves: true, ..TWO });
}

#[test]
fn three_voters_two_of_which_do_not_reach_one_another() {
    holds(Small { apart: true, suspicions: 0, generations: 2, ..THREE });
}

#[test]
fn three_voters() {
    holds(THREE);
}

#[test]
#[ignore = "a quarter of a minute"]
fn three_voters_one_of_whom_dies() {
    holds(Small { crashes: 1, ..THREE });
}

#[test]
#[ignore = "a quarter of a minute"]
fn three_voters_and_two_suspicions() {
    holds(Small { suspicions: 2, ..THREE });
}

#[test]
#[ignore = "a quarter of a minute"]
fn three_voters_and_a_newcomer() {
    holds(Small { newcomers: 1, ..THREE });
}

#[test]
#[ignore = "half a minute"]
fn three_voters_whose_time_is_up() {
    holds(Small { suspicions: 0, crashes: 1, ticks: 1, ..THREE });
}

#[test]
#[ignore = "half a minute"]
fn two_voters_a_newcomer_and_two_generations() {
    holds(Small { generations: 2, suspicions: 0, ready: true, ..TWO });
}

#[test]
fn faults_are_found() {
    let voters = Small { most: 2_000_000, ..THREE };
    for (planted, small, as_what) in [
        (Planted::HalfIsEnough, TWO, Promise::Quorum),
        (Planted::DecidesAlone, THREE, Promise::Quorum),
        (Planted::OutOfOrder, THREE, Promise::Order),
        (
            Planted::KeepsBrokenLinks,
            Small { apart: true, suspicions: 0, generations: 2, ..THREE },
            Promise::Links,
        ),
        (Planted::CountsTheSilent, Small { ready: false, ticks: 1, crashes: 0, ..TWO }, Promise::Consent),
        (Planted::ForgetsPromises, voters, Promise::OneWorld),
    ] {
        match explore(Small { planted: Some(planted), ..small }) {
            Err((promise, how)) => {
                println!("{planted:?}: found, as {promise:?}: {how}");
                assert_eq!(promise, as_what, "{how}");
            }
            Ok(explored) => panic!("{planted:?} was not found in {} states", explored.states),
        }
    }
}
