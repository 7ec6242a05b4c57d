//! Runs: schedules under way. One executor for every collective and every transport.
//!
//! A run starts the steps that wait for nothing, and whenever a step completes, those that waited for it
//! last. Reductions and copies are done on the spot; sends and receives go to the protocol and come back
//! as completions. Nothing is allocated in the steady state: finished runs and their scratch memory are
//! used again.
//!
//! The first message that reaches a rank tells whether its sender runs the same collective: stamps are
//! compared on arrival (see [`Runs::check`]), before any byte is combined.

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;

use ringworld_collectives::{Action, Buffer, Schedule, Span as Elements};
use ringworld_protocol::{
    BufferId, Element, Envelope, Incoming, Machine, Mode, RequestId, Selector, Span, TagSelector,
};
use rustc_hash::FxHashMap;

use super::slots::SlotId;
use crate::buffer::{Block, Buffers};
use crate::reduce::{Panicked, Reducer, When};
use crate::stamp::{Stamp, StampBytes, agree};

/// Everything a run needs.
pub(crate) struct Start {
    pub(crate) schedule: Arc<Schedule>,
    /// World ranks by rank in the communicator; `None`: they are the same.
    pub(crate) group: Option<Arc<[usize]>>,
    pub(crate) context: u64,
    pub(crate) stamp: Stamp,
    /// Where the call stands.
    pub(crate) caller: &'static Location<'static>,
    pub(crate) element: usize,
    pub(crate) reducer: Reducer,
    /// How many elements at the start of the output are the result; 0 where this rank gets none.
    pub(crate) result: usize,
    /// How many ranks' contributions are combined in it.
    pub(crate) combined: usize,
    pub(crate) input: Option<BufferId>,
    pub(crate) output: Option<BufferId>,
}

/// The index of a run; used again when it has ended.
pub(crate) type RunId = usize;

struct Run {
    start: Start,
    /// Which collective of its communicator: the same number on all ranks.
    sequence: u32,
    slot: SlotId,
    scratch: Option<(Block, BufferId)>,
    waits: Vec<u32>,
    ready: Vec<u32>,
    remaining: usize,
}

/// The counters of a finished run, kept for the next one.
#[derive(Default)]
struct Counters {
    waits: Vec<u32>,
    ready: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Runs {
    runs: Vec<Option<Run>>,
    free: Vec<RunId>,
    counters: Vec<Counters>,
    /// Of each context with collectives: the runs under way and the latest stamps.
    contexts: FxHashMap<u64, Context>,
}

#[derive(Default)]
struct Context {
    active: Vec<(u32, StampBytes)>,
    next: u32,
    /// The latest collectives, finished ones included, so that an error can quote them.
    recent: VecDeque<Called>,
}

/// A collective as this rank has called it.
#[derive(Clone, Copy)]
struct Called {
    sequence: u32,
    stamp: StampBytes,
    caller: &'static Location<'static>,
}

/// How many finished collectives an error can still quote; a rank that has sent everything may be some
/// ahead of the rank that finds the disagreement.
const QUOTABLE: usize = 64;

/// A step that has been handed to the protocol.
pub(crate) struct Issued {
    pub(crate) request: RequestId,
    pub(crate) step: u32,
}

/// What a peer wants and what this rank wants, when they differ.
pub(crate) struct Disagreement {
    pub(crate) sequence: u32,
    pub(crate) theirs: StampBytes,
    /// `None`: this rank has finished that collective so long ago that it is forgotten.
    pub(crate) mine: Option<(StampBytes, &'static Location<'static>)>,
}

/// The tag of a step's message: which collective of the communicator, which message of the pair.
fn tag(sequence: u32, step: u32) -> u64 {
    u64::from(sequence) << 32 | u64::from(step)
}

fn sequence_of(tag: u64) -> u32 {
    (tag >> 32) as u32
}

/// In place of a message's number: an empty message that only carries its sender's stamp. A rank sends it
/// to those it has waited for in vain, because ranks that disagree about a root may all wait for one
/// another and send nothing.
const REMINDER: u32 = u32::MAX;

/// Whether a message of a collective is a reminder.
pub(crate) fn is_reminder(tag: u64) -> bool {
    tag as u32 == REMINDER
}

impl Runs {
    /// Makes a run; [`Runs::advance`] starts it. Says which collective of its communicator it is: numbers
    /// are given out here, under the engine's lock, so that threads cannot start them in another order.
    pub(crate) fn insert(&mut self, start: Start, slot: SlotId, buffers: &mut Buffers) -> (RunId, u32) {
        let schedule = &start.schedule;
        let scratch = (schedule.scratch() > 0).then(|| {
            let mut block = buffers.block(schedule.scratch() * start.element);
            let id = buffers.lend_block(&mut block);
            (block, id)
        });
        let Counters { mut waits, mut ready } = self.counters.pop().unwrap_or_default();
        waits.clear();
        // Step numbers are 32 bits wide, and so is any count of them.
        waits.extend((0..schedule.len()).map(|step| schedule.dependencies(step) as u32));
        ready.clear();
        ready.extend(schedule.roots().iter().rev());
        let context = self.contexts.entry(start.context).or_default();
        let stamp = start.stamp.to_bytes();
        let sequence = context.next;
        context.next = sequence.wrapping_add(1);
        context.active.push((sequence, stamp));
        if context.recent.len() == QUOTABLE {
            context.recent.pop_front();
        }
        context.recent.push_back(Called { sequence, stamp, caller: start.caller });
        let remaining = schedule.len();
        let run = Run { start, sequence, slot, scratch, waits, ready, remaining };
        run.begin(buffers);
        let id = match self.free.pop() {
            Some(id) => {
                self.runs[id] = Some(run);
                id
            }
            None => {
                self.runs.push(Some(run));
                self.runs.len() - 1
            }
        };
        (id, sequence)
    }

    /// Starts every step that is ready. `Some`: the run is over, and this is its slot.
    ///
    /// # Errors
    ///
    /// When a user's operation panics. The run is as good as over then: the world must end.
    pub(crate) fn advance(
        &mut self,
        id: RunId,
        machine: &mut Machine,
        buffers: &mut Buffers,
        mut issued: impl FnMut(Issued),
    ) -> Result<Option<SlotId>, Panicked> {
        let Some(Some(run)) = self.runs.get_mut(id) else { return Ok(None) };
        while let Some(step) = run.ready.pop() {
            if let Some(request) = run.perform(step, machine, buffers)? {
                issued(Issued { request, step });
            } else {
                run.complete(step);
            }
        }
        if run.remaining > 0 {
            return Ok(None);
        }
        run.finish(buffers);
        Ok(self.remove(id, buffers))
    }

    /// A send or receive of the run has moved `bytes`.
    ///
    /// # Errors
    ///
    /// Why the run cannot go on: with per-rank counts, ranks may disagree about a length without their
    /// stamps telling.
    pub(crate) fn step_done(&mut self, id: RunId, step: u32, bytes: usize) -> Result<(), String> {
        let Some(Some(run)) = self.runs.get_mut(id) else { return Ok(()) };
        let start = &run.start;
        if let Action::Recv { from, into, .. } = *start.schedule.action(step as usize)
            && bytes != into.len * start.element
        {
            return Err(format!(
                "rank {from} of the communicator sent {bytes} bytes in {} #{} where this rank expects {}: \
                 the counts that ranks give must agree",
                start.stamp,
                run.sequence,
                into.len * start.element
            ));
        }
        run.complete(step);
        Ok(())
    }

    fn remove(&mut self, id: RunId, buffers: &mut Buffers) -> Option<SlotId> {
        let run = self.runs.get_mut(id)?.take()?;
        self.free.push(id);
        if let Some((block, name)) = run.scratch {
            buffers.retire(block, Some(name));
        }
        self.counters.push(Counters { waits: run.waits, ready: run.ready });
        if let Some(context) = self.contexts.get_mut(&run.start.context) {
            context.active.retain(|(sequence, _)| *sequence != run.sequence);
        }
        Some(run.slot)
    }

    /// Ends every run, in no particular order; only after the transports have dropped everything.
    pub(crate) fn remove_all(&mut self, buffers: &mut Buffers) -> Vec<SlotId> {
        (0..self.runs.len()).filter_map(|id| self.remove(id, buffers)).collect()
    }

    /// Compares a message of a collective with what this rank is doing in the same communicator.
    ///
    /// A message of a collective that this rank has not come to yet is in order; it is checked again
    /// when the rank gets there, with the messages that lie unexpected.
    pub(crate) fn check(&self, envelope: &Envelope) -> Option<Disagreement> {
        let sequence = sequence_of(envelope.tag);
        let context = self.contexts.get(&envelope.context)?;
        let theirs = envelope.stamp;
        let called = || {
            let called = context.recent.iter().rev().find(|called| called.sequence == sequence)?;
            Some((called.stamp, called.caller))
        };
        if let Some((_, mine)) = context.active.iter().find(|(active, _)| *active == sequence) {
            return (!agree(mine, &theirs)).then(|| Disagreement { sequence, theirs, mine: called() });
        }
        let behind = context.is_behind(sequence);
        if is_reminder(envelope.tag) {
            // In order when this rank has done its part already; what it was may be forgotten by now.
            let (mine, caller) = called().filter(|(mine, _)| behind && !agree(mine, &theirs))?;
            return Some(Disagreement { sequence, theirs, mine: Some((mine, caller)) });
        }
        behind.then(|| Disagreement { sequence, theirs, mine: called() })
    }

    /// Checks the messages that came before this rank did.
    pub(crate) fn check_early<'a>(
        &self,
        mut early: impl Iterator<Item = Incoming> + 'a,
    ) -> Option<(usize, Disagreement)> {
        early.find_map(|incoming| Some((incoming.source, self.check(&incoming.envelope)?)))
    }

    /// Whether this rank has come to the collective of a message already, or knows nothing of it.
    pub(crate) fn has_come_to(&self, envelope: &Envelope) -> bool {
        let sequence = sequence_of(envelope.tag);
        self.contexts.get(&envelope.context).is_some_and(|context| context.is_behind(sequence))
    }

    /// What to send to those whom a run waits for in vain.
    pub(crate) fn reminder(&self, id: RunId) -> Option<Envelope> {
        let Run { start, sequence, .. } = self.runs.get(id)?.as_ref()?;
        let (context, stamp) = (start.context, start.stamp.to_bytes());
        Some(Envelope { context, element: Element::RAW, tag: tag(*sequence, REMINDER), stamp })
    }

    /// Where this rank has called collectives lately.
    pub(crate) fn callers(&self) -> impl Iterator<Item = &'static Location<'static>> + '_ {
        self.contexts.values().flat_map(|context| context.recent.iter().map(|called| called.caller))
    }

    /// Forgets what was called on a communicator that this process has dropped; whether it could: a run
    /// that nobody waits for may still be under way.
    pub(crate) fn forget(&mut self, context: u64) -> bool {
        let idle = self.contexts.get(&context).is_none_or(|context| context.active.is_empty());
        if idle {
            self.contexts.remove(&context);
        }
        idle
    }

    /// How many communicators it remembers calls of.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.contexts.len()
    }

    /// The slots that runs will end.
    pub(crate) fn slots(&self) -> impl Iterator<Item = SlotId> + '_ {
        self.runs.iter().flatten().map(|run| run.slot)
    }

    /// The slot that a run will end.
    pub(crate) fn slot(&self, id: RunId) -> Option<SlotId> {
        Some(self.runs.get(id)?.as_ref()?.slot)
    }
}

impl Context {
    /// Whether this rank has called that collective. Half of the circle lies ahead, half behind.
    fn is_behind(&self, sequence: u32) -> bool {
        self.next.wrapping_sub(sequence).wrapping_sub(1) < u32::MAX / 2
    }
}

impl Run {
    fn complete(&mut self, step: u32) {
        self.remaining -= 1;
        for dependent in self.start.schedule.dependents(step as usize).iter().rev() {
            let waits = &mut self.waits[*dependent as usize];
            *waits -= 1;
            if *waits == 0 {
                self.ready.push(*dependent);
            }
        }
    }

    /// Does a local step, or hands a send or receive to the protocol.
    fn perform(
        &self,
        step: u32,
        machine: &mut Machine,
        buffers: &Buffers,
    ) -> Result<Option<RequestId>, Panicked> {
        Ok(match *self.start.schedule.action(step as usize) {
            Action::Send { to, from, tag } => {
                let envelope = Envelope {
                    context: self.start.context,
                    // The stamp says what they are.
                    element: Element::RAW,
                    tag: self::tag(self.sequence, tag),
                    stamp: self.start.stamp.to_bytes(),
                };
                Some(machine.send(self.world(to), envelope, self.span(from), Mode::Standard))
            }
            Action::Recv { from, into, tag } => {
                let selector = Selector {
                    context: self.start.context,
                    source: Some(self.world(from)),
                    tag: TagSelector::Exact(self::tag(self.sequence, tag)),
                };
                Some(machine.receive(selector, self.span(into), Element::RAW))
            }
            Action::Reduce { left, right, into, last } => {
                let Start { reducer, combined, .. } = &self.start;
                let into = self.span(into);
                buffers.reduce(&reducer.kernel, self.span(left), self.span(right), into)?;
                // At once, while the elements are in the cache: those that are copied on are complete then.
                if last && reducer.finishes(When::LastReduction, *combined) {
                    buffers.change(into, |bytes| reducer.finish(bytes, *combined));
                }
                None
            }
            Action::Copy { from, into } => {
                buffers.copy(self.span(from), self.span(into));
                None
            }
        })
    }

    /// Applies the factor that comes before the reduction; such calls are in place.
    fn begin(&self, buffers: &Buffers) {
        if self.start.result > 0 && self.start.reducer.begins() {
            let contribution = self.span(Elements::output(0, self.start.result));
            buffers.change(contribution, |bytes| self.start.reducer.begin(bytes));
        }
    }

    /// Completes the result where its last reductions have not done so already.
    fn finish(&self, buffers: &Buffers) {
        let ranks = self.start.combined;
        if self.start.result > 0 && self.start.reducer.finishes(When::End, ranks) {
            let result = self.span(Elements::output(0, self.start.result));
            buffers.change(result, |bytes| self.start.reducer.finish(bytes, ranks));
        }
    }

    fn world(&self, rank: usize) -> usize {
        self.start.group.as_ref().map_or(rank, |group| group[rank])
    }

    fn span(&self, elements: Elements) -> Span {
        let buffer = match elements.buffer {
            Buffer::Input => self.start.input.or(self.start.output),
            Buffer::Output => self.start.output,
            Buffer::Scratch => self.scratch.as_ref().map(|(_, id)| *id),
        };
        let (offset, len) = (elements.offset * self.start.element, elements.len * self.start.element);
        // A barrier has no buffers and only empty spans: any name will do, nothing is looked up.
        Span { buffer: buffer.unwrap_or(BufferId(u32::MAX)), offset, len }
    }
}
