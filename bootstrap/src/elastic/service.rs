//! The thread of a process that agrees with others on generations: it owns the machine, its links and its clock.
//!
//! Everything that decides is in `ringworld_membership`; here is what it decides over. Neighbours: `link` carries what
//! is said, `listen` lets others in, `mod` is the public face.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringworld_membership::{Action, Failure, Id, Machine, Message, Node, Table};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::sleep_until;

use super::link::{self, Common, Event, Words};
use super::place::Place;

/// How long links without use are kept.
const IDLE: Duration = Duration::from_secs(5);
/// How long last words may take to leave.
const LINGER: Duration = Duration::from_millis(500);

/// What becomes of a wish to go on.
#[derive(Clone, Debug)]
pub(super) enum Next {
    Table(Table),
    Left,
    Failed(Failure),
}

/// Whom a process could not reach, which has ended a generation for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// That rank.
    Rank(usize),
    /// Whoever served.
    Server,
    /// Whoever was to serve, unless somebody without whom the generation could not form was gone.
    Forming,
}

/// What the owner asks of the thread.
pub(super) enum Order {
    /// This machine takes part from now on.
    Begin(Box<Machine>),
    /// The program has done with this generation.
    Next { leaving: bool, lost: Option<Lost>, reply: SyncSender<Next> },
    /// The control plane of this generation says that a rank is gone.
    Down { generation: u64, rank: usize },
    /// `cancel` is set when those without whom this generation cannot form are gone.
    Forming { generation: u64, cancel: watch::Sender<bool> },
    /// The generation has formed.
    Formed,
    /// All members of that generation have ended; `done`: some of them because they had done. For the one that decides
    /// alone.
    Ended { generation: u64, done: bool },
    /// Ends the thread.
    Close,
}

/// What the owner may know at any time.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) table: Option<Table>,
    pub(super) waiting: usize,
    /// No generation follows.
    pub(super) ended: bool,
    /// Those of the last generation that are out of reach.
    pub(super) away: HashSet<Id>,
}

pub(super) fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody whom this process talks to.
#[derive(Default)]
struct Peer {
    /// Those that are open, the last one in use.
    links: Vec<(u64, mpsc::UnboundedSender<Words>)>,
    dialing: bool,
    /// What waits for a link.
    queue: Vec<Message>,
}

/// A generation that has not formed yet, and those that it cannot do without.
struct Forming {
    members: Vec<Id>,
    cancel: watch::Sender<bool>,
}

pub(super) struct Service {
    common: Arc<Common>,
    machine: Option<Machine>,
    known: Arc<Mutex<Known>>,
    peers: HashMap<Id, Peer>,
    /// Whose each link is.
    nodes: HashMap<u64, Node>,
    next_link: u64,
    reply: Option<SyncSender<Next>>,
    forming: Option<Forming>,
    /// The last generation with which somebody of it has done: whoever has not seen it form never will.
    outdated: Option<u64>,
    /// The task that lets others in.
    listening: AbortHandle,
    /// Hears of every generation.
    tables: watch::Sender<Option<Table>>,
    begin: Instant,
    used: Instant,
    /// What there is to say to whoever asks after the end.
    end: Option<Next>,
}

impl Service {
    pub(super) fn new(
        common: Arc<Common>,
        known: Arc<Mutex<Known>>,
        tables: watch::Sender<Option<Table>>,
        listening: AbortHandle,
    ) -> Self {
        let now = Instant::now();
        Self {
            common,
            machine: None,
            known,
            peers: HashMap::new(),
            nodes: HashMap::new(),
            // Those that come in have even numbers.
            next_link: 1,
            reply: None,
            forming: None,
            outdated: None,
            listening,
            tables,
            begin: now,
            used: now,
            end: None,
        }
    }

    pub(super) async fn run(
        mut self,
        mut orders: mpsc::UnboundedReceiver<Order>,
        mut events: mpsc::UnboundedReceiver<Event>,
    ) {
        loop {
            let tick = self.machine.as_ref().and_then(Machine::next_tick).map(|at| self.begin + at);
            let idle = (!self.nodes.is_empty()).then(|| self.used + IDLE);
            let wake = [tick, idle].into_iter().flatten().min();
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(Order::Close) | None => break,
                    Some(order) => self.order(order),
                },
                Some(event) = events.recv() => self.event(event),
                () = sleep_until(wake.unwrap_or_else(Instant::now).into()), if wake.is_some() => {}
            }
            let now = self.begin.elapsed();
            if let Some(machine) = &mut self.machine
                && machine.next_tick().is_some_and(|at| now >= at)
            {
                machine.tick(now);
            }
            self.act();
            self.rest();
        }
        // What was decided must reach those who wait for it.
        self.peers.clear();
        let end = Instant::now() + LINGER;
        while !self.nodes.is_empty() {
            tokio::select! {
                Some(event) = events.recv() => {
                    if let Event::Closed { link, .. } = event {
                        self.nodes.remove(&link);
                    }
                }
                () = sleep_until(end.into()) => return,
            }
        }
    }

    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    fn order(&mut self, order: Order) {
        let now = self.now();
        match order {
            Order::Begin(machine) => {
                lock(&self.known).table = Some(machine.table().clone());
                self.machine = Some(*machine);
            }
            Order::Next { leaving, lost, reply } => {
                if let Some(end) = &self.end {
                    let _ = reply.send(end.clone());
                    return;
                }
                self.reply = Some(reply);
                let cancelled = self.forming.is_none();
                if let Some(machine) = &mut self.machine {
                    let table = machine.table();
                    let lost = match lost {
                        Some(Lost::Rank(rank)) => table.members.get(rank).map(|member| member.id),
                        Some(Lost::Server) => Some(table.serves),
                        Some(Lost::Forming) => Some(table.serves).filter(|_| !cancelled),
                        None => None,
                    };
                    lost.into_iter().for_each(|lost| machine.lost(lost));
                    machine.go_on(now, leaving);
                }
            }
            Order::Down { generation, rank } => {
                let Some(machine) = &self.machine else { return };
                let table = machine.table();
                let Some(node) = table.members.get(rank).filter(|_| table.generation == generation).cloned()
                else {
                    return;
                };
                // Only a hint: it may live, and have lost somebody. Who has a link to it hears of its end by that, and
                // who has none finds out now.
                self.dial(node);
            }
            Order::Forming { generation, cancel } => {
                let Some(machine) = &self.machine else { return };
                let table = machine.table();
                if table.generation != generation || self.outdated == Some(generation) {
                    let _ = cancel.send(true);
                    return;
                }
                let serves = table.serves == self.common.me.id;
                let others = table.members.iter().chain(&table.arbiter);
                let needed = others.filter(|node| {
                    let member = table.rank_of(node.id).is_some();
                    node.id != self.common.me.id && (node.id == table.serves || (serves && member))
                });
                let needed: Vec<Node> = needed.cloned().collect();
                self.forming = Some(Forming { members: needed.iter().map(|node| node.id).collect(), cancel });
                for node in needed {
                    self.dial(node);
                }
            }
            Order::Formed => self.forming = None,
            Order::Ended { generation, done } => {
                if let Some(machine) = &mut self.machine {
                    machine.ended(now, generation, done);
                    lock(&self.known).ended |= done && machine.table().generation == generation;
                }
            }
            Order::Close => {}
        }
    }

    fn event(&mut self, event: Event) {
        let now = self.now();
        self.used = Instant::now();
        match event {
            // Its end tells the other side.
            Event::Opened { .. } if self.end.is_some() => {}
            Event::Opened { link, node, outbox } => {
                let peer = self.peers.entry(node.id).or_default();
                // Links that others have made have even numbers.
                if link % 2 == 1 {
                    peer.dialing = false;
                }
                for message in peer.queue.drain(..) {
                    let _ = outbox.send(Words::Say(message));
                }
                peer.links.push((link, outbox));
                let id = node.id;
                self.nodes.insert(link, node);
                if let Some(machine) = &mut self.machine {
                    machine.up(now, id);
                }
            }
            Event::Said { link, message } => {
                if let (Some(node), Some(machine)) = (self.nodes.get(&link), &mut self.machine) {
                    let done = match message {
                        Message::Ready { generation, .. } | Message::Summons { generation } => {
                            Some(generation)
                        }
                        _ => None,
                    };
                    machine.receive(now, node, message);
                    self.outdate(done);
                }
            }
            Event::Closed { link, bye } => {
                let Some(node) = self.nodes.remove(&link) else { return };
                let Some(peer) = self.peers.get_mut(&node.id) else { return };
                peer.links.retain(|(open, _)| *open != link);
                if !peer.links.is_empty() || peer.dialing {
                    return;
                }
                let idle = peer.queue.is_empty();
                if bye && idle {
                    self.peers.remove(&node.id);
                } else {
                    // It may have ended; whoever is there takes a new connection.
                    self.dial(node);
                }
            }
            Event::Unreached { id, certain, why } => {
                let Some(peer) = self.peers.get_mut(&id) else { return };
                peer.dialing = false;
                if !peer.links.is_empty() {
                    return;
                }
                self.peers.remove(&id);
                tracing::debug!("a process of this job cannot be reached ({why})");
                if let Some(machine) = &mut self.machine {
                    machine.down(now, id, certain);
                }
                self.gone(id);
            }
        }
    }

    /// Somebody has done with that generation. Where it is still forming somebody has died without whom it cannot, and
    /// whoever is to serve it may have given it up and never say so: what waits for it there would wait for long, and
    /// be left behind.
    fn outdate(&mut self, generation: Option<u64>) {
        let Some(machine) = self.machine.as_ref().filter(|_| generation.is_some()) else { return };
        if Some(machine.table().generation) != generation {
            return;
        }
        self.outdated = generation;
        if let Some(forming) = self.forming.take() {
            let _ = forming.cancel.send(true);
        }
    }

    /// A generation that cannot do without that process cannot form.
    fn gone(&mut self, id: Id) {
        if let Some(forming) = self.forming.take_if(|forming| forming.members.contains(&id)) {
            let _ = forming.cancel.send(true);
        }
    }

    /// Does what the machine wants.
    fn act(&mut self) {
        let Some(machine) = &mut self.machine else { return };
        let actions: Vec<Action> = machine.actions().collect();
        for action in actions {
            match action {
                Action::Send { to, message } => self.send(to, message),
                Action::Decided(table) => {
                    tracing::debug!("generation {} has {} members", table.generation, table.members.len());
                    // What is forming is of an older generation.
                    if let Some(forming) = self.forming.take() {
                        let _ = forming.cancel.send(true);
                    }
                    lock(&self.known).table = Some(table.clone());
                    self.tables.send_replace(Some(table.clone()));
                    self.answer(Next::Table(table));
                }
                Action::Left => self.over(Next::Left),
                Action::Failed(failure) => self.over(Next::Failed(failure)),
                Action::Waiting(count) => lock(&self.known).waiting = count,
            }
        }
        if let Some(machine) = &self.machine {
            let mut known = lock(&self.known);
            known.waiting = machine.waiting();
            if known.away.len() != machine.away().count()
                || machine.away().any(|id| !known.away.contains(&id))
            {
                known.away = machine.away().collect();
            }
        }
    }

    fn answer(&mut self, next: Next) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(next);
        }
    }

    /// There is nothing more to hope for here. The others must not take this process for one that goes on: it takes no
    /// connections any more, and ends those that there are when what was said has left.
    fn over(&mut self, next: Next) {
        self.end = Some(next.clone());
        self.answer(next);
        self.listening.abort();
        self.peers.clear();
    }

    fn send(&mut self, to: Node, message: Message) {
        self.used = Instant::now();
        let peer = self.peers.entry(to.id).or_default();
        match peer.links.last() {
            Some((_, outbox)) => drop(outbox.send(Words::Say(message))),
            None => {
                peer.queue.push(message);
                self.dial(to);
            }
        }
    }

    /// Makes a link to a node, unless there is one.
    fn dial(&mut self, node: Node) {
        if node.id == self.common.me.id || Place::of(&node).is_none() {
            return;
        }
        let peer = self.peers.entry(node.id).or_default();
        if peer.dialing || !peer.links.is_empty() {
            return;
        }
        peer.dialing = true;
        let link = self.next_link;
        self.next_link += 2;
        tokio::spawn(link::dial(link, node, Arc::clone(&self.common)));
    }

    /// Closes links that nobody has used for a while, so that a world that runs costs nothing.
    fn rest(&mut self) {
        let idle = self.machine.as_ref().is_none_or(Machine::is_idle) && self.forming.is_none();
        if self.used.elapsed() >= IDLE {
            self.used = Instant::now();
            if idle {
                for (_, outbox) in self.peers.values_mut().flat_map(|peer| peer.links.drain(..)) {
                    let _ = outbox.send(Words::Bye);
                }
            }
        }
    }
}
