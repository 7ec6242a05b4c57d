//! Runs a set of schedules in one process, on any kind of value, in any order that the dependencies allow.
//!
//! A message is a rendezvous (it moves at some moment after both sides have started, and both complete) or eager
//! (it is taken when the send starts, which completes at once). Invariant: whatever [`Order`] picks, a set of
//! schedules without races and deadlocks gives the same values. Neighbours: [`super::check`] runs it on
//! expressions, [`super::execute`](fn@super::execute) on numbers.

use super::Fault;
use super::memory::Memory;
use crate::{Action, Schedule, Span};

/// Picks what happens next.
pub(crate) trait Order {
    /// One of `len` events that are possible now.
    fn pick(&mut self, len: usize) -> usize;
    /// Whether the next send that starts is eager.
    fn eager(&mut self) -> bool;
}

/// The latest event first, and no send completes before its receive is posted: the strictest rule, under which a
/// deadlock shows if there is one.
pub(crate) struct InOrder;

impl Order for InOrder {
    fn pick(&mut self, len: usize) -> usize {
        len - 1
    }

    fn eager(&mut self) -> bool {
        false
    }
}

#[derive(Clone, Copy)]
enum Event {
    Start {
        rank: usize,
        step: u32,
    },
    /// A message moves; named by its receiver.
    Move {
        rank: usize,
        step: u32,
    },
}

struct Rank<V> {
    waits: Vec<usize>,
    started: Vec<bool>,
    completed: Vec<bool>,
    /// Messages on the longest chain that leads to the completion of each step, or to its start so far.
    depth: Vec<usize>,
    /// What eager sends have taken from their memory.
    eager_payload: Vec<Option<Vec<V>>>,
}

/// A run under way.
pub(crate) struct Run<'a, V> {
    schedules: &'a [Schedule],
    memories: &'a [Memory],
    partners: &'a [Vec<Option<u32>>],
    /// The memory of each rank; an empty row keeps no values, only the order of events matters then.
    pub(crate) cells: Vec<Vec<V>>,
    ranks: Vec<Rank<V>>,
    events: Vec<Event>,
}

/// Combines two values, in a reduction that is the last of its elements or not.
type Combine<'c, V> = &'c mut dyn FnMut(&V, &V, bool) -> Result<V, String>;

impl<'a, V: Clone> Run<'a, V> {
    pub(crate) fn new(
        schedules: &'a [Schedule],
        memories: &'a [Memory],
        partners: &'a [Vec<Option<u32>>],
        cells: Vec<Vec<V>>,
    ) -> Self {
        let ranks = schedules
            .iter()
            .map(|schedule| Rank {
                waits: (0..schedule.len()).map(|step| schedule.dependencies(step)).collect(),
                started: vec![false; schedule.len()],
                completed: vec![false; schedule.len()],
                depth: vec![0; schedule.len()],
                eager_payload: vec![None; schedule.len()],
            })
            .collect();
        let events = schedules
            .iter()
            .enumerate()
            .flat_map(|(rank, schedule)| {
                schedule.roots().iter().map(move |&step| Event::Start { rank, step })
            })
            .collect();
        Self { schedules, memories, partners, cells, ranks, events }
    }

    /// Runs until all is done.
    pub(crate) fn finish(&mut self, order: &mut dyn Order, combine: Combine<'_, V>) -> Result<(), Fault> {
        while !self.events.is_empty() {
            let next = order.pick(self.events.len());
            match self.events.swap_remove(next) {
                Event::Start { rank, step } => self.start(rank, step as usize, order.eager(), combine)?,
                Event::Move { rank, step } => self.transfer(rank, step as usize),
            }
        }
        self.all_complete()
    }

    /// The most messages that follow from each other.
    pub(crate) fn latencies(&self) -> usize {
        self.ranks.iter().flat_map(|rank| &rank.depth).copied().max().unwrap_or(0)
    }

    fn start(&mut self, rank: usize, step: usize, eager: bool, combine: Combine<'_, V>) -> Result<(), Fault> {
        self.ranks[rank].started[step] = true;
        match *self.schedules[rank].action(step) {
            Action::Send { to, from, .. } => {
                if eager {
                    self.ranks[rank].eager_payload[step] = Some(self.read(rank, from));
                    self.complete(rank, step);
                }
                if let Some(other) = self.partners[rank][step]
                    && self.ranks[to].started[other as usize]
                {
                    self.events.push(Event::Move { rank: to, step: other });
                }
            }
            Action::Recv { from, .. } => {
                if let Some(other) = self.partners[rank][step]
                    && self.ranks[from].started[other as usize]
                {
                    self.events.push(Event::Move { rank, step: step as u32 });
                }
            }
            Action::Reduce { left, right, into, last } => {
                let (left, right) = (self.read(rank, left), self.read(rank, right));
                let mut values = Vec::with_capacity(left.len());
                for (element, (left, right)) in left.iter().zip(&right).enumerate() {
                    let value = combine(left, right, last).map_err(|reason| Fault::Combine {
                        rank,
                        step,
                        element,
                        reason,
                    })?;
                    values.push(value);
                }
                self.write(rank, into, values);
                self.complete(rank, step);
            }
            Action::Copy { from, into } => {
                let values = self.read(rank, from);
                self.write(rank, into, values);
                self.complete(rank, step);
            }
        }
        Ok(())
    }

    fn transfer(&mut self, to: usize, step: usize) {
        let (Action::Recv { from, into, .. }, Some(other)) =
            (*self.schedules[to].action(step), self.partners[to][step])
        else {
            return;
        };
        let other = other as usize;
        let eager_payload = self.ranks[from].eager_payload[other].take();
        let values = match (eager_payload, *self.schedules[from].action(other)) {
            (Some(values), _) => values,
            (None, Action::Send { from: span, .. }) => self.read(from, span),
            (None, _) => return,
        };
        self.write(to, into, values);
        let depth = self.ranks[from].depth[other] + 1;
        self.ranks[to].depth[step] = self.ranks[to].depth[step].max(depth);
        self.complete(to, step);
        self.complete(from, other);
    }

    fn complete(&mut self, rank: usize, step: usize) {
        if std::mem::replace(&mut self.ranks[rank].completed[step], true) {
            return;
        }
        let depth = self.ranks[rank].depth[step];
        for &later in self.schedules[rank].dependents(step) {
            let state = &mut self.ranks[rank];
            let at = later as usize;
            state.depth[at] = state.depth[at].max(depth);
            state.waits[at] -= 1;
            if state.waits[at] == 0 {
                self.events.push(Event::Start { rank, step: later });
            }
        }
    }

    fn read(&self, rank: usize, span: Span) -> Vec<V> {
        let values = self.memories[rank].range(span).and_then(|range| self.cells[rank].get(range));
        values.map_or_else(Vec::new, <[V]>::to_vec)
    }

    fn write(&mut self, rank: usize, span: Span, values: Vec<V>) {
        let cells = &mut self.cells[rank];
        if let Some(cells) = self.memories[rank].range(span).and_then(|range| cells.get_mut(range)) {
            for (cell, value) in cells.iter_mut().zip(values) {
                *cell = value;
            }
        }
    }

    fn all_complete(&self) -> Result<(), Fault> {
        let open = |rank: usize| {
            (0..self.schedules[rank].len())
                .filter(move |step| !self.ranks[rank].completed[*step])
                .map(move |step| (rank, step))
        };
        let left = (0..self.ranks.len()).flat_map(open).count();
        let stuck =
            (0..self.ranks.len()).flat_map(open).find(|(rank, step)| self.ranks[*rank].started[*step]);
        match stuck.or_else(|| (0..self.ranks.len()).flat_map(open).next()) {
            Some((rank, step)) => {
                let action = self.schedules[rank].action(step).to_string();
                Err(Fault::Deadlock { left, rank, step, action })
            }
            None => Ok(()),
        }
    }
}
