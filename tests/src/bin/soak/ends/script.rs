//! What the ranks of a world do before they end it in disorder. Pure: the same seed gives the same scripts.
//!
//! Scripts are right in one respect: they leave nobody waiting for ever. All operations without waiting come before all
//! waiting; a rank waits for what a peer surely does, or else for ranks that leave without waiting for it. So a world
//! that does not end is a finding.

use clap::ValueEnum;

use crate::rng::Rng;

/// What the disorder is mostly about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Each sends to the next and receives from the one before, and waits for neither
    Ring,
    /// Long messages that nobody receives
    Unreceived,
    /// Messages all over the place, some without their other half
    Crossed,
    /// One rank returns early, between a send and a receive
    Early,
    /// One rank panics amid messages
    Panic,
    /// An operation of the program panics
    Operation,
    /// Collectives that all begin and nobody waits for
    Collectives,
    /// Collectives that only some begin
    Partial,
    /// Messages that are probed and set aside, and not received
    Probes,
    /// Communicators and operations that outlive the world
    Beyond,
    /// Operations in scopes, left by an error or a panic
    Scoped,
    /// Prepared operations
    Prepared,
}

impl Mode {
    pub(crate) const ALL: [Self; 12] = [
        Self::Ring,
        Self::Unreceived,
        Self::Crossed,
        Self::Early,
        Self::Panic,
        Self::Operation,
        Self::Collectives,
        Self::Partial,
        Self::Probes,
        Self::Beyond,
        Self::Scoped,
        Self::Prepared,
    ];

    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Called so on the command line.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::from_str(name, true).ok()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Send {
        to: usize,
        tag: u32,
        bytes: usize,
    },
    Sync {
        to: usize,
        tag: u32,
        bytes: usize,
    },
    Recv {
        from: usize,
        tag: u32,
        bytes: usize,
    },
    Barrier,
    /// Of u64; the operation panics on one rank.
    AllReduce {
        count: usize,
        panics: Option<usize>,
    },
    Broadcast {
        root: usize,
        bytes: usize,
    },
    /// So many bytes for each.
    AllToAll {
        bytes: usize,
    },
}

impl Operation {
    /// The receiver of a message that may not leave before it is received.
    fn awaits_receiver(self) -> Option<usize> {
        match self {
            Self::Send { to, bytes, .. } if bytes > 256 => Some(to),
            Self::Sync { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Whether this is a send of `rank` that `theirs`, of `other`, receives.
    fn meets(self, rank: usize, theirs: Self, other: usize) -> bool {
        match (self, theirs) {
            (
                Self::Send { to, tag, .. } | Self::Sync { to, tag, .. },
                Self::Recv { from, tag: wanted, .. },
            ) => (to, from, wanted) == (other, rank, tag),
            _ => false,
        }
    }
}

/// What becomes of an operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Dropped at once.
    Drop,
    /// Dropped when the script is at its end, before or after the World.
    Late,
    /// Leaked.
    Forget,
    /// Polled once as a future, then dropped.
    Poll,
    /// Likewise, but dropped late.
    PollLate,
    /// Asked whether it is done, then dropped.
    Ask,
    /// Waited for at the end of the script.
    Wait,
}

impl Fate {
    /// Whether the operation stays until its rank has waited for everything.
    fn holds(self) -> bool {
        matches!(self, Self::Late | Self::PollLate | Self::Forget | Self::Wait)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Pending,
    Prepared,
}

/// How a scope is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Well,
    Err,
    Panic,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Start {
        operation: Operation,
        held: Held,
        fate: Fate,
    },
    /// A blocking call; its error ends the script.
    Block(Operation),
    /// Begins all and waits for none itself; in registered memory or not.
    Scope {
        operations: Vec<Operation>,
        leave: Leave,
        registered: bool,
    },
    /// Sets a message aside; received or dropped, late or at once.
    Probe {
        from: usize,
        tag: u32,
        bytes: usize,
        receive: bool,
        late: bool,
    },
    /// Keeps the world's communicator, or (all ranks together) a duplicate, beyond the World.
    Keep {
        duplicate: bool,
    },
    /// In microseconds.
    Pause(u64),
    Panic,
}

/// How a rank's process ends; a thread knows only the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// The World is dropped.
    Drop,
    /// The World is leaked, and main returns.
    Forget,
    /// `exit`, with everything under way.
    Exit,
    /// The rank calls `abort` of its communicator.
    Abort,
    /// The process aborts.
    Crash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) acts: Vec<Act>,
    /// The World goes before everything that is held.
    pub(crate) world_first: bool,
    pub(crate) last: Last,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) mode: Mode,
    pub(crate) settings: Vec<(&'static str, &'static str)>,
    /// By rank.
    pub(crate) scripts: Vec<Script>,
}

/// Messages longer than this are not sent without asking, by any settings.
const SHORT: [usize; 4] = [0, 1, 64, 256];
const MIDDLE: [usize; 4] = [1_000, 5_000, 70_000, 200_000];
const LONG: [usize; 4] = [262_145, 400_000, 524_288, 1 << 20];

impl Plan {
    pub(crate) fn draw(seed: u64, mode: Option<Mode>) -> Self {
        let rng = &mut Rng::new(seed);
        let drawn = rng.pick(&Mode::ALL);
        let mode = mode.unwrap_or(drawn);
        let size = rng.pick(&[2, 2, 3, 3, 3, 4, 5]);
        let mut settings = Vec::new();
        match rng.below(10) {
            0 | 1 => settings.extend([("eager_limit", "256"), ("window", "2048")]),
            2 => settings.push(("eager_limit", "256")),
            3 => settings.push(("tcp_lanes", rng.pick(&["1", "4"]))),
            _ => {}
        }
        let script = Script { acts: Vec::new(), world_first: false, last: Last::Drop };
        let mut draft = Draft { rng, scripts: vec![script; size], tag: 0 };
        // Worlds end with and without connections.
        if draft.rng.chance(50) {
            draft.all(Act::Block(Operation::Barrier));
        }
        draft.write(mode);
        draft.wait_in_no_circle();
        for script in &mut draft.scripts {
            script.world_first = draft.rng.chance(30);
            if draft.rng.chance(30) {
                let at = draft.rng.below(script.acts.len() + 1);
                let us = draft.rng.pick(&[0, 50, 300, 1_500]);
                script.acts.insert(at, Act::Pause(us));
            }
        }
        Self { mode, settings, scripts: draft.scripts }
    }

    /// The same, for processes: one of them may end in a way that threads cannot.
    pub(crate) fn draw_for_processes(seed: u64, mode: Option<Mode>) -> Self {
        let mut plan = Self::draw(seed, mode);
        let rng = &mut Rng::new(!seed);
        let lasts =
            [Last::Drop, Last::Forget, Last::Forget, Last::Exit, Last::Exit, Last::Abort, Last::Crash];
        let one = rng.below(plan.scripts.len());
        plan.scripts[one].last = rng.pick(&lasts);
        plan
    }
}

/// All that ranks do, with their ranks.
fn acts(scripts: &[Script]) -> impl Iterator<Item = (usize, &Act)> {
    scripts.iter().enumerate().flat_map(|(rank, script)| script.acts.iter().map(move |act| (rank, act)))
}

/// Whether `from` waits for `to`, or for one that does.
fn leads(waits: &[Vec<bool>], from: usize, to: usize) -> bool {
    let (mut seen, mut next) = (vec![false; waits.len()], vec![from]);
    while let Some(rank) = next.pop() {
        if rank == to {
            return true;
        }
        if !std::mem::replace(&mut seen[rank], true) {
            next.extend((0..waits.len()).filter(|other| waits[rank][*other]));
        }
    }
    false
}

struct Draft<'r> {
    rng: &'r mut Rng,
    scripts: Vec<Script>,
    tag: u32,
}

impl Draft<'_> {
    fn size(&self) -> usize {
        self.scripts.len()
    }

    fn add(&mut self, rank: usize, act: Act) {
        self.scripts[rank].acts.push(act);
    }

    fn all(&mut self, act: Act) {
        for rank in 0..self.size() {
            self.add(rank, act.clone());
        }
    }

    fn start(&mut self, rank: usize, operation: Operation, fate: Fate) {
        let held = if self.rng.chance(15) { Held::Prepared } else { Held::Pending };
        self.add(rank, Act::Start { operation, held, fate });
    }

    fn tag(&mut self) -> u32 {
        self.tag += 1;
        self.tag
    }

    fn bytes(&mut self) -> usize {
        let of = self.rng.pick(&[&SHORT, &MIDDLE, &LONG, &LONG]);
        self.rng.pick(of)
    }

    fn fate(&mut self) -> Fate {
        let fates = [
            Fate::Drop,
            Fate::Drop,
            Fate::Drop,
            Fate::Late,
            Fate::Late,
            Fate::Poll,
            Fate::PollLate,
            Fate::Ask,
            Fate::Wait,
        ];
        // Leaks are rare, for a process that plays many worlds keeps them.
        if self.rng.chance(3) { Fate::Forget } else { self.rng.pick(&fates) }
    }

    fn other(&mut self, rank: usize) -> usize {
        (rank + self.rng.between(1, self.size() - 1)) % self.size()
    }

    fn send(&mut self, to: usize, tag: u32, bytes: usize) -> Operation {
        if self.rng.chance(20) {
            Operation::Sync { to, tag, bytes }
        } else {
            Operation::Send { to, tag, bytes }
        }
    }

    /// Messages; some lack one half.
    fn messages(&mut self, count: usize) {
        for _ in 0..count {
            let from = self.rng.below(self.size());
            let to = self.other(from);
            let (tag, bytes) = (self.tag(), self.bytes());
            let send = self.send(to, tag, bytes);
            let recv = Operation::Recv { from, tag, bytes };
            match self.rng.below(10) {
                // Nobody receives it; short enough that nobody needs to.
                0 => {
                    let bytes = self.rng.pick(&SHORT);
                    let fate = self.fate();
                    self.start(from, Operation::Send { to, tag, bytes }, fate);
                }
                // Nobody sends it.
                1 | 2 => {
                    let fate = self.fate();
                    self.start(to, recv, fate);
                }
                _ => {
                    let (first, second) = (self.fate(), self.fate());
                    self.start(from, send, first);
                    self.start(to, recv, second);
                }
            }
        }
    }

    fn collective(&mut self) -> Operation {
        match self.rng.below(5) {
            0 => Operation::Barrier,
            1 | 2 => {
                Operation::AllReduce { count: self.rng.pick(&[0, 1, 100, 10_000, 100_000]), panics: None }
            }
            3 => Operation::Broadcast { root: self.rng.below(self.size()), bytes: self.bytes() },
            _ => Operation::AllToAll { bytes: self.rng.pick(&[0, 8, 5_000, 100_000, 300_000]) },
        }
    }

    fn write(&mut self, mode: Mode) {
        let size = self.size();
        match mode {
            Mode::Ring => {
                let bytes = self.rng.pick(&[300_000, 1 << 20, 1 << 20]);
                let usual = self.rng.chance(60);
                for rank in 0..size {
                    let fates = if usual { [Fate::Drop; 2] } else { [self.fate(), self.fate()] };
                    self.start(rank, Operation::Send { to: (rank + 1) % size, tag: 1, bytes }, fates[0]);
                    let from = (rank + size - 1) % size;
                    self.start(rank, Operation::Recv { from, tag: 1, bytes }, fates[1]);
                }
            }
            Mode::Unreceived => {
                let some = self.rng.chance(50);
                for rank in 0..size {
                    if some && self.rng.chance(50) {
                        continue;
                    }
                    let (to, tag, bytes) = (self.other(rank), self.tag(), self.rng.pick(&LONG));
                    let send = self.send(to, tag, bytes);
                    let fate = self.fate();
                    self.start(rank, send, fate);
                }
                self.messages(1);
            }
            Mode::Crossed => {
                let count = self.rng.between(1, 3 * size);
                self.messages(count);
            }
            Mode::Early => self.early(),
            Mode::Panic => {
                let count = self.rng.between(1, 2 * size);
                self.messages(count);
                let rank = self.rng.below(size);
                let at = self.rng.below(self.scripts[rank].acts.len() + 1);
                self.scripts[rank].acts.insert(at, Act::Panic);
            }
            Mode::Operation => {
                let panics = Some(self.rng.below(size));
                let operation = Operation::AllReduce { count: self.rng.pick(&[1, 100, 10_000]), panics };
                for rank in 0..size {
                    if self.rng.chance(50) {
                        self.add(rank, Act::Block(operation));
                    } else {
                        let fate = self.fate();
                        self.start(rank, operation, fate);
                    }
                }
            }
            Mode::Collectives => {
                for _ in 0..self.rng.between(1, 4) {
                    let operation = self.collective();
                    for rank in 0..size {
                        let fate = self.fate();
                        self.start(rank, operation, fate);
                    }
                }
            }
            Mode::Partial => {
                // Always the same: ranks that call different ones disagree, which is another matter.
                let operation = self.collective();
                for _ in 0..self.rng.between(1, 2) {
                    let missing = self.rng.below(size);
                    for rank in 0..size {
                        if rank != missing && self.rng.chance(70) {
                            let fate = match self.fate() {
                                Fate::Wait if rank < missing => Fate::Late,
                                fate => fate,
                            };
                            self.start(rank, operation, fate);
                        }
                    }
                }
            }
            Mode::Probes => {
                for _ in 0..self.rng.between(1, size) {
                    let from = self.rng.below(size);
                    let (to, tag, bytes) = (self.other(from), self.tag(), self.bytes());
                    let send = self.send(to, tag, bytes);
                    // Not waited for: the message may be discarded.
                    let fate = self.rng.pick(&[Fate::Drop, Fate::Late]);
                    self.scripts[from]
                        .acts
                        .insert(0, Act::Start { operation: send, held: Held::Pending, fate });
                    let (receive, late) = (self.rng.chance(40), self.rng.chance(50));
                    self.add(to, Act::Probe { from, tag, bytes, receive, late });
                }
            }
            Mode::Beyond => {
                if self.rng.chance(50) {
                    self.all(Act::Keep { duplicate: true });
                }
                for rank in 0..size {
                    if self.rng.chance(70) {
                        self.add(rank, Act::Keep { duplicate: false });
                    }
                }
                let count = self.rng.between(0, size);
                self.messages(count);
            }
            Mode::Scoped => self.scoped(),
            Mode::Prepared => {
                let count = self.rng.between(1, 2 * size);
                self.messages(count);
                let operation = self.collective();
                for rank in 0..size {
                    let fate = self.fate();
                    self.start(rank, operation, fate);
                }
                for act in self.scripts.iter_mut().flat_map(|script| &mut script.acts) {
                    if let Act::Start { held, .. } = act {
                        *held = Held::Prepared;
                    }
                }
            }
        }
    }

    /// Rounds in a ring, or of collectives, of which one rank does not make all.
    fn early(&mut self) {
        let size = self.size();
        let (leaver, rounds) = (self.rng.below(size), self.rng.between(1, 4));
        let at = self.rng.below(rounds);
        let collective = self.rng.chance(40).then(|| self.collective());
        let bytes = self.bytes();
        for round in 0..rounds {
            let tag = self.tag();
            for rank in 0..size {
                let gone = rank == leaver && round >= at;
                if let Some(operation) = collective {
                    if !gone {
                        self.add(rank, Act::Block(operation));
                    }
                    continue;
                }
                if rank == leaver && round > at {
                    continue;
                }
                let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
                // What is sent in the last round of one that returns early is for somebody who receives.
                let recv = Operation::Recv { from: before, tag, bytes };
                if !gone {
                    self.start(rank, recv, Fate::Wait);
                }
                let send = Operation::Send { to: next, tag, bytes };
                if gone {
                    let fate = self.rng.pick(&[Fate::Drop, Fate::Late]);
                    self.start(rank, send, fate);
                } else {
                    self.add(rank, Act::Block(send));
                }
            }
        }
    }

    /// Lets nobody wait in a circle. A receive that is dropped before its message has come is withdrawn, and a rank
    /// whose long send was not received leaves only when the receiver does: so it waits for that rank. A rank that
    /// waits for what nobody does waits for the other to leave.
    fn wait_in_no_circle(&mut self) {
        let size = self.size();
        let mut waits = vec![vec![false; size]; size];
        let starts = |act: &Act| match act {
            Act::Start { operation, fate, .. } => Some((*operation, *fate)),
            Act::Block(operation) => Some((*operation, Fate::Wait)),
            _ => None,
        };
        let all: Vec<(usize, Operation, Fate)> = acts(&self.scripts)
            .filter_map(|(rank, act)| starts(act).map(|(operation, fate)| (rank, operation, fate)))
            .collect();
        let is_met = |rank: usize, operation: Operation| {
            all.iter().any(|(other, theirs, fate)| operation.meets(rank, *theirs, *other) && fate.holds())
        };
        for (rank, operation, _) in &all {
            if let Some(other) = operation.awaits_receiver()
                && !is_met(*rank, *operation)
            {
                waits[*rank][other] = true;
            }
        }
        for (rank, script) in self.scripts.iter_mut().enumerate() {
            for act in &mut script.acts {
                let Act::Start { operation, fate: fate @ Fate::Wait, .. } = act else { continue };
                let operation = *operation;
                let other = match operation {
                    Operation::Recv { from, .. } => {
                        let sent = all.iter().any(|(other, theirs, _)| theirs.meets(*other, operation, rank));
                        (!sent).then_some(from)
                    }
                    _ => operation.awaits_receiver().filter(|_| !is_met(rank, operation)),
                };
                let Some(other) = other else { continue };
                if leads(&waits, other, rank) {
                    *fate = Fate::Late;
                } else {
                    waits[rank][other] = true;
                }
            }
        }
    }

    /// One scope on each rank, with both halves of messages and some without their other.
    fn scoped(&mut self) {
        let size = self.size();
        let mut operations = vec![Vec::new(); size];
        for _ in 0..self.rng.between(1, 2 * size) {
            let from = self.rng.below(size);
            let (to, tag, bytes) = (self.other(from), self.tag(), self.bytes());
            let only = from < to && self.rng.chance(30);
            if !only {
                let send = self.send(to, tag, bytes);
                operations[from].push(send);
            }
            operations[to].push(Operation::Recv { from, tag, bytes });
        }
        if self.rng.chance(40) {
            let operation = self.collective();
            operations.iter_mut().for_each(|operations| operations.push(operation));
        }
        let odd = self.rng.below(size);
        let odd_leave = self.rng.pick(&[Leave::Well, Leave::Err, Leave::Panic]);
        for (rank, operations) in operations.into_iter().enumerate() {
            let leave = if rank == odd { odd_leave } else { Leave::Well };
            let registered = self.rng.chance(30);
            self.add(rank, Act::Scope { operations, leave, registered });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_drawn_and_each_seed_gives_one_plan() {
        let plans: Vec<Plan> = (0..500).map(|seed| Plan::draw(seed, None)).collect();
        for mode in Mode::ALL {
            assert!(plans.iter().any(|plan| plan.mode == mode), "{mode:?}");
            assert_eq!(Mode::named(&mode.name()), Some(mode));
        }
        for (seed, plan) in (0..).zip(&plans) {
            assert_eq!(Plan::draw(seed, None).scripts, plan.scripts);
        }
    }

    /// Two ranks that wait for what the other has withdrawn would wait for ever, rightly; so would one that waits for a
    /// message of another whose own message it does not receive.
    #[test]
    fn nobody_waits_for_one_that_waits_for_it() {
        let start = |operation, fate| Act::Start { operation, held: Held::Pending, fate };
        let send = |to| start(Operation::Send { to, tag: 1, bytes: 1 << 20 }, Fate::Wait);
        let recv = |from, fate| start(Operation::Recv { from, tag: 1, bytes: 1 << 20 }, fate);
        let waits = |zero: Vec<Act>, one: Vec<Act>| {
            let script = |acts| Script { acts, world_first: false, last: Last::Drop };
            let mut draft = Draft { rng: &mut Rng::new(1), scripts: vec![script(zero), script(one)], tag: 0 };
            draft.wait_in_no_circle();
            let waits =
                acts(&draft.scripts).filter(|(_, act)| matches!(act, Act::Start { fate: Fate::Wait, .. }));
            waits.count()
        };
        assert_eq!(waits(vec![send(1), recv(1, Fate::Drop)], vec![send(0), recv(0, Fate::Ask)]), 0);
        assert_eq!(waits(vec![send(1), recv(1, Fate::Late)], vec![send(0), recv(0, Fate::Wait)]), 3);
        assert_eq!(waits(vec![send(1)], vec![]), 1);
        assert_eq!(
            waits(
                vec![start(Operation::Send { to: 1, tag: 2, bytes: 1 << 20 }, Fate::Drop)],
                vec![recv(0, Fate::Wait)]
            ),
            0
        );
        assert_eq!(waits(vec![], vec![recv(0, Fate::Wait)]), 1);
    }

    /// Otherwise a world that does not end would be no finding.
    #[test]
    fn long_messages_lack_their_receive_only_where_that_is_the_point() {
        for seed in 0..2_000 {
            let plan = Plan::draw(seed, None);
            let acts = || plan.scripts.iter().flat_map(|script| &script.acts);
            let received = |wanted: u32| {
                acts().any(|act| match act {
                    Act::Start { operation: Operation::Recv { tag, .. }, .. } | Act::Probe { tag, .. } => {
                        *tag == wanted
                    }
                    _ => false,
                })
            };
            for act in acts() {
                if let Act::Start {
                    operation: Operation::Send { tag, bytes, .. } | Operation::Sync { tag, bytes, .. },
                    ..
                } = act
                {
                    let short = *bytes <= 256;
                    let free = matches!(plan.mode, Mode::Unreceived | Mode::Early);
                    assert!(short || free || received(*tag), "seed {seed}: {act:?}");
                }
            }
        }
    }
}
