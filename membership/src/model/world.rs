//! Processes, the network between them, and a clock; what happens when is decided by a seed.
//!
//! A connection between two processes may be cut, or break and be made again: what is on the way is lost then, and each
//! end is told sooner or later, or not at all. What is said may be late, doubled, overtaken, or lost without a word.
//! When a process ends, half of its last words may be lost, and others hear of it for certain, vaguely, or never. A
//! process whose machine is over ends soon: that is what the machine's owner owes to the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use fastrand::Rng;

use super::fault::Fault;
use super::judge::{Broken, Judge, Promise, broken};
use super::{ms, node};
use crate::{Action, Id, Limits, Machine, Message, Node, Patience, Table};

/// More messages than any schedule needs.
const MOST_MESSAGES: u64 = 100_000;

/// What befalls the network, in percent of what can happen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weather {
    /// Of messages.
    pub(super) lost: u8,
    pub(super) doubled: u8,
    /// They arrive in any order.
    pub(super) disorder: bool,
    /// The longest that a message takes.
    pub(super) delay: Duration,
    /// Of the moments in which a leader has something to say: it dies, and half of it is lost.
    pub(super) last_words: u8,
    /// Of the ends that lose somebody: they are not told, for as long as faults last.
    pub(super) unaware: u8,
}

/// What the programs do after a decision, in a part of the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    /// Compute for some time, now and then long, and go on or leave.
    Busy { leaves: u8 },
    /// Go on at once up to the generation after this one, and stay there.
    Until(u64),
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    Deliver {
        to: usize,
        from: usize,
        epoch: u32,
        message: Message,
    },
    Down {
        at: usize,
        of: usize,
        certain: bool,
    },
    Up {
        at: usize,
        of: usize,
    },
    Tick {
        at: usize,
    },
    /// Only if it is still in that generation.
    GoOn {
        at: usize,
        generation: u64,
        leaving: bool,
    },
    Crash {
        at: usize,
    },
    Break {
        a: usize,
        b: usize,
    },
    Cut {
        part: u32,
    },
    Heal,
    Knock,
}

struct Entry {
    at: Duration,
    number: u64,
    event: Event,
}

impl Entry {
    fn key(&self) -> (Duration, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

pub(super) struct Process {
    pub(super) node: Node,
    pub(super) machine: Machine,
    pub(super) alive: bool,
    tick_at: Option<Duration>,
    /// Whom it was told to have lost.
    lost: u32,
}

/// The two directions of a connection.
#[derive(Clone, Copy, Default)]
struct Link {
    /// How often it was made.
    epoch: u32,
    cut: bool,
}

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) now: Duration,
    queue: BinaryHeap<Reverse<Entry>>,
    number: u64,
    pub(super) processes: Vec<Process>,
    links: Vec<Link>,
    /// When the last message on each way arrives.
    last: Vec<Duration>,
    pub(super) judge: Judge,
    pub(super) limits: Limits,
    pub(super) patience: Patience,
    pub(super) weather: Weather,
    pub(super) plan: Plan,
    pub(super) fault: Option<Fault>,
    /// Two processes between which messages of the program do not get through.
    pub(super) apart: Option<(usize, usize)>,
    /// Faults have stopped.
    pub(super) calm: bool,
    pub(super) messages: u64,
    /// Of those, what does not come from newcomers or tell how many they are.
    pub(super) to_agree: u64,
    pub(super) events: u64,
    pub(super) trace: bool,
}

/// The most processes of one schedule.
pub(super) const MOST: usize = 20;

impl World {
    pub(super) fn new(
        rng: Rng,
        members: usize,
        arbiter: bool,
        limits: Limits,
        patience: Patience,
        fault: Option<Fault>,
    ) -> Self {
        let members: Vec<Node> = (1..=members as u64).map(node).collect();
        let arbiter = arbiter.then(|| node(members.len() as u64 + 1));
        let serves = arbiter.as_ref().map_or(Id(1), |arbiter| arbiter.id);
        let table = Table { generation: 0, members, arbiter, serves, broken: Vec::new() };
        let judge = Judge::new(table.clone(), limits, patience.limit);
        let mut world = Self {
            rng,
            now: Duration::ZERO,
            queue: BinaryHeap::new(),
            number: 0,
            processes: Vec::new(),
            links: vec![Link::default(); MOST * MOST],
            last: vec![Duration::ZERO; MOST * MOST],
            judge,
            limits,
            patience,
            weather: Weather::default(),
            plan: Plan::Busy { leaves: 0 },
            fault,
            apart: None,
            calm: false,
            messages: 0,
            to_agree: 0,
            events: 0,
            trace: false,
        };
        let (limits, patience) = world.settings();
        for node in &table.members {
            let machine = Machine::member(node.clone(), table.clone(), limits, patience);
            world.add(node.clone(), machine.expect("a member"));
        }
        if let Some(arbiter) = &table.arbiter {
            let machine = Machine::arbiter(arbiter.clone(), table.clone(), limits, patience);
            world.add(arbiter.clone(), machine.expect("an arbiter"));
        }
        world
    }

    /// What the machines are told, which a fault may make something else than what is promised.
    fn settings(&self) -> (Limits, Patience) {
        let (mut limits, mut patience) = (self.limits, self.patience);
        match self.fault {
            Some(Fault::NoLeast) => limits.least = 1,
            Some(Fault::NoMost) => limits.most = usize::MAX,
            Some(Fault::NoEnd) => patience.limit *= 100,
            Some(Fault::NoRepeat) => patience.repeat = patience.limit * 100,
            Some(Fault::Chatter) => patience.repeat = ms(1),
            _ => {}
        }
        (limits, patience)
    }

    fn add(&mut self, node: Node, mut machine: Machine) {
        machine.planted = self.fault.and_then(Fault::planted);
        self.processes.push(Process { node, machine, alive: true, tick_at: None, lost: 0 });
    }

    pub(super) fn alive(&self) -> impl Iterator<Item = usize> + use<> {
        let alive: Vec<bool> = self.processes.iter().map(|process| process.alive).collect();
        (0..alive.len()).filter(move |at| alive[*at])
    }

    pub(super) fn dead(&self) -> Vec<usize> {
        (0..self.processes.len()).filter(|at| !self.processes[*at].alive).collect()
    }

    pub(super) fn at(&mut self, after: Duration, event: Event) {
        self.number += 1;
        self.queue.push(Reverse(Entry { at: self.now + after, number: self.number, event }));
    }

    pub(super) fn upto(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.rng.u64(0..=u64::try_from(most.as_micros()).unwrap_or(u64::MAX)))
    }

    pub(super) fn chance(&mut self, percent: u8) -> bool {
        self.rng.u8(0..100) < percent
    }

    fn link(&mut self, a: usize, b: usize) -> &mut Link {
        &mut self.links[a.min(b) * MOST + a.max(b)]
    }

    /// All that happens until then.
    pub(super) fn run(&mut self, until: Duration) -> Result<(), Broken> {
        while let Some(Reverse(entry)) = self.queue.peek() {
            if entry.at > until {
                break;
            }
            let Some(Reverse(entry)) = self.queue.pop() else { break };
            self.now = entry.at;
            self.events += 1;
            if self.trace && !matches!(entry.event, Event::Tick { .. }) {
                println!("{:>10.3?} {:?}", self.now, entry.event);
            }
            self.happen(entry.event)?;
        }
        self.now = until;
        self.judge.waits(until)
    }

    fn happen(&mut self, event: Event) -> Result<(), Broken> {
        let now = self.now;
        match event {
            Event::Deliver { to, from, epoch, mut message } => {
                if !self.processes[to].alive || self.link(to, from).epoch != epoch {
                    return Ok(());
                }
                if let (Some(Fault::IgnoresAccepted), Message::Promise { accepted, .. }) =
                    (self.fault, &mut message)
                {
                    *accepted = None;
                }
                if !self.processes[from].alive && self.processes[to].lost >> from & 1 == 1 {
                    // Last words, on a connection whose end is still to be seen.
                    let certain = self.rng.bool();
                    let after = self.upto(ms(20));
                    self.at(after, Event::Down { at: to, of: from, certain });
                }
                let sender = self.processes[from].node.clone();
                let heard = matches!(message, Message::Decided { .. });
                self.step(to, heard, |machine| machine.receive(now, &sender, message))
            }
            Event::Down { at, of, certain } => self.down(at, of, certain),
            Event::Up { at, of } => {
                if !self.processes[at].alive || !self.processes[of].alive || self.link(at, of).cut {
                    return Ok(());
                }
                self.processes[at].lost &= !(1 << of);
                let id = self.processes[of].node.id;
                self.step(at, false, |machine| machine.up(now, id))
            }
            Event::Tick { at } => {
                let process = &mut self.processes[at];
                if process.tick_at != Some(now) || !process.alive {
                    return Ok(());
                }
                process.tick_at = None;
                self.step(at, false, |machine| machine.tick(now))?;
                if self.processes[at].machine.next_tick().is_some_and(|next| next <= now) {
                    return broken(
                        Promise::Idleness,
                        format!("{:?} wants to be told the time at once", at + 1),
                    );
                }
                Ok(())
            }
            Event::GoOn { at, generation, leaving } => {
                let process = &self.processes[at];
                let there = process.alive && !process.machine.is_over();
                if !there || process.machine.table().generation != generation || (leaving && self.calm) {
                    return Ok(());
                }
                let lost = self.misses_a_link(at);
                let id = process.node.id;
                self.judge.goes_on(now, id, leaving, lost);
                self.step(at, false, |machine| {
                    lost.into_iter().for_each(|lost| machine.lost(lost));
                    machine.go_on(now, leaving);
                })
            }
            Event::Crash { at } => {
                self.crash(at, false);
                Ok(())
            }
            Event::Break { a, b } => {
                self.link(a, b).epoch += 1;
                // At least one end sees it.
                let both = self.rng.bool();
                for (at, of) in [(a, b), (b, a)].into_iter().skip(usize::from(!both)) {
                    let after = self.upto(ms(20));
                    self.at(after, Event::Down { at, of, certain: false });
                }
                Ok(())
            }
            Event::Cut { part } => {
                for a in 0..self.processes.len() {
                    for b in (0..a).filter(|b| part >> a & 1 != part >> b & 1) {
                        let link = self.link(a, b);
                        (link.epoch, link.cut) = (link.epoch + 1, true);
                        for (at, of) in [(a, b), (b, a)] {
                            if !self.chance(self.weather.unaware) {
                                let after = self.upto(ms(150));
                                self.at(after, Event::Down { at, of, certain: false });
                            }
                        }
                    }
                }
                Ok(())
            }
            Event::Heal => {
                self.links.iter_mut().for_each(|link| link.cut = false);
                for at in self.alive() {
                    let lost = self.processes[at].lost;
                    for of in self.alive().filter(|of| lost >> of & 1 == 1) {
                        let after = self.upto(ms(40));
                        self.at(after, Event::Up { at, of });
                    }
                }
                Ok(())
            }
            Event::Knock => self.knock(),
        }
    }

    /// The member without a link to this one, in a generation of both.
    fn misses_a_link(&self, at: usize) -> Option<Id> {
        let (a, b) = self.apart.filter(|_| !self.calm)?;
        let other = if at == a { b } else { Some(a).filter(|_| at == b)? };
        let id = self.processes[other].node.id;
        self.processes[at].machine.table().rank_of(id).map(|_| id)
    }

    /// Whether nobody goes on whom this process could hear, when it says that the world is over.
    fn may_end(&self, at: usize, generation: u64) -> Result<(), Broken> {
        let speaker = &self.processes[at].machine;
        let goes_on = |other: &&Process| {
            let id = other.node.id;
            let there = other.alive && other.machine.table().generation == generation;
            let wants = self.judge.waiting(id) && !self.judge.leaves(id);
            there && wants && other.machine.table().rank_of(id).is_some() && !speaker.misses(id)
        };
        match self.processes.iter().find(goes_on) {
            Some(other) => {
                broken(Promise::GoingOn, format!("the world ends, and {:?} goes on", other.node.id))
            }
            None => Ok(()),
        }
    }

    fn down(&mut self, at: usize, of: usize, certain: bool) -> Result<(), Broken> {
        let now = self.now;
        if !self.processes[at].alive {
            return Ok(());
        }
        let lives = self.processes[of].alive;
        let certain = certain && !lives;
        let id = self.processes[of].node.id;
        if certain {
            self.judge.ended(self.processes[at].node.id, id);
        }
        self.processes[at].lost |= 1 << of;
        if lives && !self.link(at, of).cut {
            let after = ms(1) + self.upto(ms(40));
            self.at(after, Event::Up { at, of });
        }
        let table = self.processes[at].machine.table().clone();
        let dead = |id| self.processes.iter().any(|process| process.node.id == id && !process.alive);
        let all_dead = table.members.iter().all(|member| dead(member.id));
        self.step(at, false, |machine| {
            machine.down(now, id, certain);
            if all_dead {
                machine.ended(now, table.generation, false);
            }
        })
    }

    /// A process ends, on purpose or not.
    fn crash(&mut self, at: usize, clean: bool) {
        if !std::mem::take(&mut self.processes[at].alive) {
            return;
        }
        self.judge.died(self.processes[at].node.id);
        for other in self.alive() {
            if self.calm || clean || !self.chance(self.weather.unaware) {
                let after = self.upto(if clean { ms(20) } else { ms(100) });
                let certain = clean || self.chance(70);
                self.at(after, Event::Down { at: other, of: at, certain });
            }
        }
    }

    /// Another process starts, and knows what some other one knows.
    fn knock(&mut self) -> Result<(), Broken> {
        if self.processes.len() == MOST {
            return Ok(());
        }
        let alive: Vec<usize> = self.alive().filter(|at| !self.processes[*at].machine.is_over()).collect();
        let Some(host) = self.rng.choice(&alive).copied() else { return Ok(()) };
        let now = self.processes[host].machine.table().clone();
        // From a list that may be old.
        let known = match self.chance(30) {
            true => self.rng.u64(0..=now.generation),
            false => now.generation,
        };
        let table = self.judge.tables.get(&known).cloned().unwrap_or(now);
        let node = node(self.processes.len() as u64 + 1);
        self.judge.newcomer(node.id, table.generation);
        let (limits, patience) = self.settings();
        let machine = Machine::newcomer(self.now, node.clone(), table, limits, patience).expect("a table");
        self.add(node, machine);
        let at = self.processes.len() - 1;
        if self.fault == Some(Fault::AdmitsStrangers) {
            let node = super::node(1000 + at as u64);
            let (now, from) = (self.now, self.processes[at].node.clone());
            let generation = self.processes[host].machine.table().generation;
            self.step(host, false, |machine| {
                machine.receive(now, &from, Message::Knock { generation, node })
            })?;
        }
        self.step(at, false, |_| ())
    }

    /// Lets a machine do something, and then does what it wants.
    fn step(&mut self, at: usize, heard: bool, what: impl FnOnce(&mut Machine)) -> Result<(), Broken> {
        let process = &mut self.processes[at];
        if !process.alive {
            return Ok(());
        }
        what(&mut process.machine);
        let actions: Vec<Action> = process.machine.actions().collect();
        self.judge.acts(self.now, process.node.id, &actions, process.machine.table(), heard)?;
        let leads = actions.iter().any(|action| {
            matches!(action, Action::Send { message: Message::Accept { .. } | Message::Decided { .. }, .. })
        });
        let dies = leads && !self.calm && self.chance(self.weather.last_words);
        for action in actions {
            if self.trace && !matches!(action, Action::Send { .. }) {
                println!("{:>10.3?}     {} {action:?}", self.now, at + 1);
            }
            match action {
                Action::Send { to, message } => {
                    if let Message::Over { generation } = message {
                        self.may_end(at, generation)?;
                    }
                    if !dies || self.rng.bool() {
                        self.post(at, to.id, message)?;
                    }
                }
                Action::Decided(table) => self.decided(at, &table),
                Action::Left | Action::Failed(_) => {
                    let after = self.upto(ms(10));
                    self.at(after, Event::Crash { at });
                }
                Action::Waiting(_) => {}
            }
        }
        if dies {
            self.crash(at, false);
        }
        let process = &mut self.processes[at];
        let next = process.machine.next_tick().map(|next| next.max(self.now));
        if next != process.tick_at {
            process.tick_at = next;
            if let Some(next) = next {
                let after = next - self.now;
                self.at(after, Event::Tick { at });
            }
        }
        Ok(())
    }

    /// What the program does in its new generation.
    fn decided(&mut self, at: usize, table: &Table) {
        if table.rank_of(self.processes[at].node.id).is_none() {
            return;
        }
        let generation = table.generation;
        let (after, leaving) = match self.plan {
            Plan::Busy { leaves } => {
                let after = match self.rng.u8(0..10) {
                    // What it is in has not formed.
                    0..=4 => self.upto(ms(5)),
                    5..=8 => self.upto(ms(200)),
                    _ => self.upto(ms(2000)),
                };
                (after, self.chance(leaves))
            }
            Plan::Until(last) if generation <= last => (self.upto(ms(5)), false),
            Plan::Until(_) => return,
        };
        self.at(after, Event::GoOn { at, generation, leaving });
    }

    fn post(&mut self, from: usize, to: Id, message: Message) -> Result<(), Broken> {
        self.messages += 1;
        self.to_agree += u64::from(!matches!(message, Message::Knock { .. } | Message::Waiting { .. }));
        if self.messages > MOST_MESSAGES {
            return broken(Promise::Messages, format!("{MOST_MESSAGES} messages and no end"));
        }
        let Some(to) = usize::try_from(to.0 - 1).ok().filter(|to| *to < self.processes.len()) else {
            return Ok(());
        };
        let link = *self.link(from, to);
        if link.cut || !self.processes[to].alive {
            // Whoever tries finds out, sooner or later.
            if self.processes[from].lost >> to & 1 == 0 && !self.chance(self.weather.unaware) {
                let certain = self.rng.bool();
                let after = self.upto(ms(100));
                self.at(after, Event::Down { at: from, of: to, certain });
            }
            return Ok(());
        }
        if !self.calm && self.chance(self.weather.lost) {
            return Ok(());
        }
        let copies = 1 + u8::from(self.chance(self.weather.doubled));
        for _ in 0..copies {
            let mut after = ms(1) / 10 + self.upto(self.weather.delay);
            let last = &mut self.last[from * MOST + to];
            if !self.weather.disorder {
                after = after.max(last.saturating_sub(self.now));
            }
            *last = self.now + after;
            self.at(after, Event::Deliver { to, from, epoch: link.epoch, message: message.clone() });
        }
        Ok(())
    }
}
