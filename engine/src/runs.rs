//! Runs: schedules under way. One executor for every collective and every transport.
//!
//! A run starts the steps that wait for nothing, and whenever a step completes, those that waited for it
//! last. Reductions and copies are done on the spot; sends and receives go to the protocol and come back
//! as completions. Nothing is allocated in the steady state: finished runs and their scratch memory are
//! used again.
//!
//! Two steps have a short path, of which the protocol's lists know nothing: a short send that leaves at once
//! ([`Wires::send_at_once`]), and, while their caller polls under the lock, receives that are *awaited* instead of posted
//! ([`Runs::take_awaited`]); what is still awaited when that ends is posted after all ([`Runs::post_awaited`]).
//!
//! The first message that reaches a rank tells whether its sender runs the same collective: signatures are
//! compared on arrival (see [`Runs::arrive`]), before any byte is combined. What comes before the call has been
//! made waits in `early`, and is compared with the call.

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;

use ringworld_collectives::{Action, Buffer, Schedule, Span as Elements};
use ringworld_protocol::{
    BufferId, Element, Envelope, Header, Machine, Mode, RequestId, Selector, Span, TagSelector,
};
use rustc_hash::FxHashMap;

use super::buffer::{Block, Buffers};
use super::calls::CallId;
use super::early::Early;
use super::last_calls::{LastCall, LastCalls};
use super::owners::{Owner, Owners, RunId};
use super::reduce::{Panicked, Reducer, When};
use super::router::Router;
use super::signature::{Signature, SignatureBytes, agree};
use super::under_way::UnderWay;

/// Everything a run needs.
#[derive(Clone)]
pub struct CollectiveCall {
    /// What is to be done.
    pub schedule: Arc<Schedule>,
    /// World ranks by rank in the communicator; `None`: they are the same.
    pub group: Option<Arc<[usize]>>,
    /// That of the communicator's collectives.
    pub context: u64,
    /// What was called.
    pub signature: Signature,
    /// Where the call stands.
    pub caller: &'static Location<'static>,
    /// The size of an element, in bytes.
    pub element: usize,
    /// What combines elements.
    pub reducer: Reducer,
    /// How many elements at the start of the output are the result; 0 where this rank gets none.
    pub result: usize,
    /// How many ranks' contributions are combined in it.
    pub combined: usize,
}

struct Run {
    what: CollectiveCall,
    /// Which collective of its communicator: the same number on all ranks.
    sequence: u32,
    signature: SignatureBytes,
    /// How many of its messages have not been announced yet.
    due: usize,
    call: CallId,
    /// Lent memory to read.
    input: Option<BufferId>,
    /// Lent memory to write.
    output: Option<BufferId>,
    scratch: Option<(Block, Span)>,
    waits: Vec<u32>,
    ready: Vec<u32>,
    /// Receives that may be done and are not posted.
    awaited: Vec<u32>,
    remaining: usize,
}

/// What the steps of runs work with.
pub(crate) struct Wires<'a> {
    pub machine: &'a mut Machine,
    pub router: &'a mut Router,
    pub buffers: &'a mut Buffers,
    pub owners: &'a mut Owners,
}

/// The counters of a finished run, kept for the next one.
#[derive(Default)]
struct Counters {
    waits: Vec<u32>,
    ready: Vec<u32>,
    awaited: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Runs {
    runs: Vec<Option<Run>>,
    free: Vec<RunId>,
    counters: Vec<Counters>,
    /// Of each context with collectives: the runs under way and the latest signatures.
    contexts: FxHashMap<u64, Context>,
    early: Early,
}

#[derive(Default)]
struct Context {
    under_way: UnderWay<RunId>,
    next: u32,
    /// The latest collectives, finished ones included, so that an error can quote them.
    recent: VecDeque<Called>,
}

/// A collective as this rank has called it.
#[derive(Clone, Copy)]
pub(crate) struct Called {
    pub sequence: u32,
    pub signature: SignatureBytes,
    pub caller: &'static Location<'static>,
}

/// How many finished collectives an error can still quote; a rank that has sent everything may be some
/// ahead of the rank that finds the disagreement.
const QUOTABLE: usize = 64;

/// What a peer wants and what this rank wants, when they differ.
pub(crate) struct Disagreement {
    pub sequence: u32,
    pub theirs: SignatureBytes,
    pub mine: Mine,
}

/// What this rank has to say of a collective.
pub(crate) enum Mine {
    /// Another call; or the same one, which does not need what the peer has sent.
    Called(Called),
    /// It finished that one so long ago that it is forgotten.
    Finished,
    /// It has not called it, and never will.
    NeverCalled,
}

/// A run that has been made; what its rank has to know of it.
pub(crate) struct Made {
    pub run: RunId,
    pub sequence: u32,
    /// Somebody has called something else, and said so before.
    pub clash: Option<(usize, Disagreement)>,
}

/// The tag of a step's message: which collective of the communicator, which message of the pair.
fn tag(sequence: u32, step: u32) -> u64 {
    u64::from(sequence) << 32 | u64::from(step)
}

fn sequence_of(tag: u64) -> u32 {
    (tag >> 32) as u32
}

/// The longest message of the short path. Longer ones may come in pieces, and gain nothing by one copy more.
const SHORT: usize = 4 << 10;

/// In place of a message's number: an empty message that only carries its sender's signature. A rank sends it
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
    ///
    /// Compares it with what has come early. Only messages of this very collective have to be looked at: those of
    /// earlier ones were compared when they came, and those of later ones will be when they are called.
    pub(crate) fn insert(
        &mut self,
        what: CollectiveCall,
        [input, output]: [Option<BufferId>; 2],
        call: CallId,
        buffers: &mut Buffers,
    ) -> Made {
        let schedule = &what.schedule;
        let scratch = (schedule.scratch() > 0).then(|| {
            let mut block = buffers.block(schedule.scratch() * what.element);
            let lent = buffers.lend_block(&mut block);
            (block, lent)
        });
        let Counters { mut waits, mut ready, awaited } = self.counters.pop().unwrap_or_default();
        waits.clear();
        // Step numbers are 32 bits wide, and so is any count of them.
        waits.extend((0..schedule.len()).map(|step| schedule.dependencies(step) as u32));
        ready.clear();
        ready.extend(schedule.roots().iter().rev());
        let id = self.free.pop().unwrap_or_else(|| {
            self.runs.push(None);
            self.runs.len() - 1
        });
        let context = self.contexts.entry(what.context).or_default();
        let signature = what.signature.to_bytes();
        let sequence = context.next;
        context.next = sequence.wrapping_add(1);
        context.under_way.insert(sequence, id);
        if context.recent.len() == QUOTABLE {
            context.recent.pop_front();
        }
        let called = Called { sequence, signature, caller: what.caller };
        context.recent.push_back(called);

        let mut due = schedule.receives();
        let mut clash = None;
        self.early.take((what.context, sequence), |note| {
            let left = due.checked_sub(note.messages).filter(|_| agree(&signature, &note.signature));
            match left {
                Some(left) => due = left,
                None => {
                    let mine = Mine::Called(called);
                    clash = Some((note.source, Disagreement { sequence, theirs: note.signature, mine }));
                }
            }
        });
        let remaining = schedule.len();
        let run = Run {
            what,
            sequence,
            signature,
            due,
            call,
            input,
            output,
            scratch,
            waits,
            ready,
            awaited,
            remaining,
        };
        run.scale_contribution(buffers);
        self.runs[id] = Some(run);
        Made { run: id, sequence, clash }
    }

    /// The number of the next collective of a communicator.
    pub(crate) fn next(&self, context: u64) -> u32 {
        self.contexts.get(&context).map_or(0, |context| context.next)
    }

    /// Starts every step that is ready; receives are awaited if their caller `polls`. `Some`: the run is over, and this
    /// is its call.
    ///
    /// # Errors
    ///
    /// When a user's operation panics. The run is as good as over then: the world must end.
    pub(crate) fn advance(
        &mut self,
        id: RunId,
        wires: &mut Wires<'_>,
        polls: bool,
    ) -> Result<Option<CallId>, Panicked> {
        let Some(Some(run)) = self.runs.get_mut(id) else { return Ok(None) };
        while let Some(step) = run.ready.pop() {
            if polls && run.may_await(step, wires) {
                run.awaited.push(step);
            } else if let Some(request) = run.perform(step, wires)? {
                wires.owners.insert(request, Owner::Step { run: id, step });
            } else {
                run.complete_step(step);
            }
        }
        if run.remaining > 0 {
            return Ok(None);
        }
        run.complete_result(wires.buffers);
        Ok(self.remove(id, wires.buffers))
    }

    /// Takes an eager message, all of which has arrived, if it is what a step of the run awaits; whether it was. The run
    /// is to be advanced then.
    #[inline]
    pub(crate) fn take_awaited(
        &mut self,
        id: RunId,
        machine: &mut Machine,
        buffers: &Buffers,
        source: usize,
        header: &[u8],
        payload: &[u8],
    ) -> bool {
        let Some(Some(run)) = self.runs.get_mut(id) else { return false };
        let wanted = |envelope: &Envelope| {
            let place = run.place_awaited(source, envelope)?;
            // What is wrong about it is told on the ordinary path.
            let right = run.due > 0
                && run.bytes_of(run.awaited[place]) == payload.len()
                && agree(&run.signature, &envelope.signature);
            right.then_some(place)
        };
        let Some(place) = machine.take_wanted(source, header, payload.len(), wanted) else { return false };
        let step = run.awaited.swap_remove(place);
        if let Action::Recv { into, .. } = *run.what.schedule.action(step as usize) {
            buffers.fill(run.span(into), payload);
        }
        run.due -= 1;
        run.complete_step(step);
        true
    }

    /// Whether any receive of the run is awaited.
    #[inline]
    pub(crate) fn is_awaiting(&self, id: RunId) -> bool {
        self.runs.get(id).and_then(Option::as_ref).is_some_and(|run| !run.awaited.is_empty())
    }

    /// Whether a message that goes the ordinary way is what a step of the run awaits.
    pub(crate) fn awaits(&self, id: RunId, source: usize, envelope: &Envelope) -> bool {
        let run = self.runs.get(id).and_then(Option::as_ref);
        run.is_some_and(|run| run.place_awaited(source, envelope).is_some())
    }

    /// Posts the receives that are awaited: their caller polls no more, or not for them alone.
    pub(crate) fn post_awaited(&mut self, id: RunId, machine: &mut Machine, owners: &mut Owners) {
        let Some(Some(run)) = self.runs.get_mut(id) else { return };
        while let Some(step) = run.awaited.pop() {
            if let Some((selector, into)) = run.receive_of(step) {
                let request = machine.receive(selector, into, Element::RAW);
                owners.insert(request, Owner::Step { run: id, step });
            }
        }
    }

    /// A send or receive of the run has moved `bytes`.
    ///
    /// # Errors
    ///
    /// Why the run cannot go on: with per-rank counts, ranks may disagree about a length without their
    /// signatures telling.
    pub(crate) fn step_done(&mut self, id: RunId, step: u32, bytes: usize) -> Result<(), String> {
        let Some(Some(run)) = self.runs.get_mut(id) else { return Ok(()) };
        let what = &run.what;
        if let Action::Recv { from, into, .. } = *what.schedule.action(step as usize)
            && bytes != into.len * what.element
        {
            return Err(format!(
                "rank {from} of the communicator sent {bytes} bytes in {} #{} where rank {} of it expects {}: \
                 the counts that ranks give must agree",
                what.signature,
                run.sequence,
                what.schedule.rank(),
                into.len * what.element
            ));
        }
        run.complete_step(step);
        Ok(())
    }

    fn remove(&mut self, id: RunId, buffers: &mut Buffers) -> Option<CallId> {
        let run = self.runs.get_mut(id)?.take()?;
        self.free.push(id);
        if let Some((block, lent)) = run.scratch {
            buffers.retire(block, lent.buffer);
        }
        let mut awaited = run.awaited;
        awaited.clear();
        self.counters.push(Counters { waits: run.waits, ready: run.ready, awaited });
        if let Some(context) = self.contexts.get_mut(&run.what.context) {
            context.under_way.remove(run.sequence);
        }
        Some(run.call)
    }

    /// Ends every run, in no particular order; only after the transports have dropped everything.
    pub(crate) fn remove_all(&mut self, buffers: &mut Buffers) -> Vec<CallId> {
        (0..self.runs.len()).filter_map(|id| self.remove(id, buffers)).collect()
    }

    /// Compares a message of a collective with what this rank has called in the same communicator. One that can belong
    /// to no call of this rank is a disagreement.
    ///
    /// A message of a collective that this rank has not come to yet is in order; it is noted, and compared when the
    /// rank gets there, or never does: see [`Runs::uncalled`].
    pub(crate) fn arrive(&mut self, source: usize, envelope: &Envelope) -> Option<Disagreement> {
        let sequence = sequence_of(envelope.tag);
        let theirs = envelope.signature;
        let reminds = is_reminder(envelope.tag);
        let Some(context) =
            self.contexts.get(&envelope.context).filter(|context| context.is_behind(sequence))
        else {
            let number = (envelope.context, sequence);
            if reminds {
                self.early.reminder(number, source, theirs);
            } else {
                self.early.message(number, source, theirs);
            }
            return None;
        };
        if let Some(run) = context.under_way.find(sequence).and_then(|id| self.runs[id].as_mut()) {
            if agree(&run.signature, &theirs) {
                if reminds {
                    return None;
                }
                // Lengths that only the ranks concerned know decide who sends anything at all.
                if let Some(due) = run.due.checked_sub(1) {
                    run.due = due;
                    return None;
                }
            }
            return Some(Disagreement { sequence, theirs, mine: Mine::Called(run.called()) });
        }
        let mine = match context.recent.iter().rev().find(|called| called.sequence == sequence) {
            // In order when this rank has done its part already; what it was may be forgotten by now.
            None if reminds => return None,
            Some(called) if reminds && agree(&called.signature, &theirs) => return None,
            None => Mine::Finished,
            Some(called) => Mine::Called(*called),
        };
        Some(Disagreement { sequence, theirs, mine })
    }

    /// At the end of this rank's part: something that others have sent of a collective that this rank has never called,
    /// by sender and context.
    pub(crate) fn uncalled(&self) -> Option<(usize, u64, Disagreement)> {
        // Who waits for a rank that is done with a communicator, and has dropped it, may just not have got everything
        // yet.
        let counts = |(number, note): &((u64, u32), &super::early::Note)| {
            note.messages > 0 || self.contexts.contains_key(&number.0)
        };
        let ((context, sequence), note) =
            self.early.iter().filter(counts).min_by_key(|(number, note)| (*number, note.source))?;
        Some((
            note.source,
            context,
            Disagreement { sequence, theirs: note.signature, mine: Mine::NeverCalled },
        ))
    }

    /// What this rank has called last, for those who still wait for it when it has left.
    pub(crate) fn last_calls(&self) -> LastCalls {
        let called = |context: &Context| {
            let calls: Vec<_> =
                context.recent.iter().map(|called| (called.sequence, called.signature)).collect();
            calls.into_iter()
        };
        LastCalls::of(self.contexts.iter().map(|(number, context)| (*number, called(context))).collect())
    }

    /// The context of a run, and what was called.
    pub(crate) fn called(&self, id: RunId) -> Option<(u64, Called)> {
        let run = self.runs.get(id)?.as_ref()?;
        Some((run.what.context, run.called()))
    }

    /// What to send to those whom a run waits for in vain.
    pub(crate) fn reminder(&self, id: RunId) -> Option<Envelope> {
        let (context, Called { sequence, signature, .. }) = self.called(id)?;
        Some(Envelope { context, element: Element::RAW, tag: tag(sequence, REMINDER), signature })
    }

    /// The first of another rank's calls of a communicator that is not what this rank has called.
    pub(crate) fn first_disagreement<'a>(
        &self,
        context: u64,
        mut theirs: impl Iterator<Item = &'a LastCall>,
    ) -> Option<Disagreement> {
        let recent = &self.contexts.get(&context)?.recent;
        theirs.find_map(|LastCall { sequence, signature, .. }| {
            let mine = recent.iter().find(|called| called.sequence == *sequence)?;
            let (sequence, theirs) = (*sequence, *signature);
            (!agree(&mine.signature, &theirs)).then_some(Disagreement {
                sequence,
                theirs,
                mine: Mine::Called(*mine),
            })
        })
    }

    /// Where this rank has called collectives lately.
    pub(crate) fn callers(&self) -> impl Iterator<Item = &'static Location<'static>> + '_ {
        self.contexts.values().flat_map(|context| context.recent.iter().map(|called| called.caller))
    }

    /// Forgets what was called on a communicator that this process has dropped; whether it could: a run
    /// that nobody waits for may still be under way.
    pub(crate) fn forget(&mut self, context: u64) -> bool {
        let idle = self.contexts.get(&context).is_none_or(|context| context.under_way.is_empty());
        if idle {
            self.contexts.remove(&context);
            self.early.forget_reminders(|of| of == context);
        }
        idle
    }

    /// How many communicators it remembers calls of.
    pub(crate) fn remembered(&self) -> usize {
        self.contexts.len()
    }

    /// The calls that runs will end.
    pub(crate) fn calls(&self) -> impl Iterator<Item = CallId> + '_ {
        self.runs.iter().flatten().map(|run| run.call)
    }

    /// The call that a run will end.
    pub(crate) fn call(&self, id: RunId) -> Option<CallId> {
        Some(self.runs.get(id)?.as_ref()?.call)
    }
}

impl Context {
    /// Whether this rank has called that collective. Half of the circle lies ahead, half behind.
    fn is_behind(&self, sequence: u32) -> bool {
        self.next.wrapping_sub(sequence).wrapping_sub(1) < u32::MAX / 2
    }
}

impl Run {
    fn called(&self) -> Called {
        Called { sequence: self.sequence, signature: self.signature, caller: self.what.caller }
    }

    fn complete_step(&mut self, step: u32) {
        self.remaining -= 1;
        for dependent in self.what.schedule.dependents(step as usize).iter().rev() {
            let waits = &mut self.waits[*dependent as usize];
            *waits -= 1;
            if *waits == 0 {
                self.ready.push(*dependent);
            }
        }
    }

    /// Where among the awaited receives that of a message is.
    #[inline]
    fn place_awaited(&self, source: usize, envelope: &Envelope) -> Option<usize> {
        let Envelope { context, tag, .. } = *envelope;
        if context != self.what.context || sequence_of(tag) != self.sequence {
            return None;
        }
        self.awaited.iter().position(|step| {
            matches!(*self.what.schedule.action(*step as usize), Action::Recv { from, tag: number, .. }
                if number == tag as u32 && self.world(from) == source)
        })
    }

    /// What a receive selects, and where it goes.
    #[inline]
    fn receive_of(&self, step: u32) -> Option<(Selector, Span)> {
        let Action::Recv { from, into, tag } = *self.what.schedule.action(step as usize) else { return None };
        let selector = Selector {
            context: self.what.context,
            source: Some(self.world(from)),
            tag: TagSelector::Exact(self::tag(self.sequence, tag)),
        };
        Some((selector, self.span(into)))
    }

    /// How many bytes a receive expects.
    #[inline]
    fn bytes_of(&self, step: u32) -> usize {
        match *self.what.schedule.action(step as usize) {
            Action::Recv { into, .. } => into.len * self.what.element,
            _ => 0,
        }
    }

    /// Whether a step is a receive that may be awaited: of a short message, which will be delivered whole, and has not
    /// come.
    #[inline]
    fn may_await(&self, step: u32, wires: &Wires<'_>) -> bool {
        let Action::Recv { into, .. } = *self.what.schedule.action(step as usize) else { return false };
        if into.len * self.what.element > SHORT {
            return false;
        }
        let Some((selector, _)) = self.receive_of(step) else { return false };
        wires.router.delivers(selector.source) && wires.machine.may_expect(&selector)
    }

    /// Does a local step or a send that leaves at once, or hands a send or receive to the protocol.
    fn perform(&self, step: u32, wires: &mut Wires<'_>) -> Result<Option<RequestId>, Panicked> {
        let Wires { machine, buffers, .. } = wires;
        Ok(match *self.what.schedule.action(step as usize) {
            Action::Send { to, from, tag } => {
                let envelope = Envelope {
                    context: self.what.context,
                    // The signature says what they are.
                    element: Element::RAW,
                    tag: self::tag(self.sequence, tag),
                    signature: self.signature,
                };
                let (to, data) = (self.world(to), self.span(from));
                if wires.send_at_once(to, &envelope, data) {
                    return Ok(None);
                }
                Some(wires.machine.send(to, envelope, data, Mode::Standard))
            }
            Action::Recv { .. } => {
                let receive = self.receive_of(step);
                receive.map(|(selector, into)| machine.receive(selector, into, Element::RAW))
            }
            Action::Reduce { left, right, into, last } => {
                let CollectiveCall { reducer, combined, .. } = &self.what;
                let into = self.span(into);
                buffers.reduce(&reducer.kernel, self.span(left), self.span(right), into)?;
                // At once, while the elements are in the cache: those that are copied on are complete then.
                if last && reducer.completes(When::LastReduction, *combined) {
                    buffers.change(into, |bytes| reducer.complete(bytes, *combined));
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
    fn scale_contribution(&self, buffers: &Buffers) {
        if self.what.result > 0 && self.what.reducer.scales_before() {
            let contribution = self.span(Elements::output(0, self.what.result));
            buffers.change(contribution, |bytes| self.what.reducer.scale_before(bytes));
        }
    }

    /// Completes the result where its last reductions have not done so already.
    fn complete_result(&self, buffers: &Buffers) {
        let ranks = self.what.combined;
        if self.what.result > 0 && self.what.reducer.completes(When::End, ranks) {
            let result = self.span(Elements::output(0, self.what.result));
            buffers.change(result, |bytes| self.what.reducer.complete(bytes, ranks));
        }
    }

    fn world(&self, rank: usize) -> usize {
        self.what.group.as_ref().map_or(rank, |group| group[rank])
    }

    fn span(&self, elements: Elements) -> Span {
        let buffer = match elements.buffer {
            Buffer::Input => self.input.or(self.output),
            Buffer::Output => self.output,
            Buffer::Scratch => self.scratch.as_ref().and_then(|(_, lent)| lent.buffer),
        };
        let (offset, len) = (elements.offset * self.what.element, elements.len * self.what.element);
        // A barrier has no buffers and only empty spans.
        Span { buffer, offset, len }
    }
}

impl Wires<'_> {
    /// Sends a message of which all leaves now; `false`: nothing has happened.
    #[inline]
    pub(crate) fn send_at_once(&mut self, to: usize, envelope: &Envelope, data: Span) -> bool {
        if data.len > SHORT || !self.router.may_inject(to, data.len) {
            return false;
        }
        let Some(departure) = self.machine.depart(to, envelope, data.len) else { return false };
        let mut room = [0; Header::MAX];
        let left = self.router.inject(to, departure.header.encode(&mut room), self.buffers.bytes(data));
        if left {
            departure.left();
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::reduce::DType;
    use super::super::reduce::OpCode;
    use super::super::signature::Call;
    use super::*;
    use crate::calls::Calls;
    use ringworld_collectives::{Collective, Counts, Order, Request, Tuning};
    use ringworld_protocol::Config;

    const CONTEXT: u64 = 1;

    fn signature(root: u32) -> Signature {
        let (dtype, op) = (DType::Bytes.into(), OpCode::NONE);
        Signature { call: Call::Gather, dtype, op, root, count: 1, tuning: 0, site: [0; 8] }
    }

    /// A gather as its root or another rank of four sees it.
    fn gather(rank: usize) -> CollectiveCall {
        let request = Request {
            collective: Collective::Gather { root: 0 },
            rank,
            size: 4,
            counts: Counts::Same(1),
            element: 1,
            order: Order::Free,
            in_place: false,
        };
        CollectiveCall {
            schedule: Arc::new(ringworld_collectives::schedule(&request, &Tuning::default()).unwrap()),
            group: None,
            context: CONTEXT,
            signature: signature(0),
            caller: Location::caller(),
            element: 1,
            reducer: Reducer::moving(DType::Bytes.into()),
            result: 0,
            combined: 4,
        }
    }

    fn message(sequence: u32, root: u32) -> Envelope {
        Envelope {
            context: CONTEXT,
            element: Element::RAW,
            tag: tag(sequence, 0),
            signature: signature(root).to_bytes(),
        }
    }

    fn reminder(sequence: u32, root: u32) -> Envelope {
        Envelope { tag: tag(sequence, REMINDER), ..message(sequence, root) }
    }

    /// Calls the next gather; who has called something else before.
    fn call(runs: &mut Runs, rank: usize) -> (RunId, Option<usize>) {
        let mut buffers = Buffers::new();
        let made = runs.insert(gather(rank), [None; 2], Calls::default().insert([None, None]), &mut buffers);
        (made.run, made.clash.map(|(source, _)| source))
    }

    /// What rank `source` sends to rank 0, as its header and as what becomes of it there.
    fn offer(
        runs: &mut Runs,
        run: RunId,
        machine: &mut Machine,
        buffers: &Buffers,
        source: usize,
        envelope: &Envelope,
        payload: &[u8],
    ) -> bool {
        let mut sender = Machine::new(Config::new(source, 4, 1024, 8192).unwrap());
        let departure = sender.depart(0, envelope, payload.len()).unwrap();
        let mut room = [0; Header::MAX];
        runs.take_awaited(run, machine, buffers, source, departure.header.encode(&mut room), payload)
    }

    #[test]
    fn what_is_awaited_is_taken_and_all_else_goes_the_ordinary_way() {
        let (mut runs, mut owners) = (Runs::default(), Owners::default());
        let mut machine = Machine::new(Config::new(0, 4, 1024, 8192).unwrap());
        let mut router = Router::new(0, Vec::new(), vec![None; 4]);
        let mut buffers = Buffers::new();
        let mut blocks = [1, 4].map(|bytes| buffers.block(bytes));
        let [input, output] = blocks.each_mut().map(|block| buffers.lend_block(block));
        let call = Calls::default().insert([None, None]);
        let run = runs.insert(gather(0), [input.buffer, output.buffer], call, &mut buffers).run;
        let mut advance =
            |runs: &mut Runs, machine: &mut Machine, buffers: &mut Buffers, owners: &mut Owners| {
                let mut wires = Wires { machine, router: &mut router, buffers, owners };
                runs.advance(run, &mut wires, true).map_err(|_| "a panic").unwrap()
            };
        assert_eq!(advance(&mut runs, &mut machine, &mut buffers, &mut owners), None);
        assert!(runs.is_awaiting(run) && machine.pending() == 0, "three receives, and none is posted");

        // Rank 1's message, and what is not quite it: its length, collective, signature, sender, number.
        let right = message(0, 0);
        let number = |run: &Run, from: usize| {
            let mut actions = run.what.schedule.actions().iter();
            actions.find_map(|action| match action {
                Action::Recv { from: sender, tag, .. } if *sender == from => Some(*tag),
                _ => None,
            })
        };
        let number = number(runs.runs[run].as_ref().unwrap(), 1).unwrap();
        let right = Envelope { tag: tag(0, number), ..right };
        let mut offer = |source, envelope: &Envelope, payload: &[u8]| {
            offer(&mut runs, run, &mut machine, &buffers, source, envelope, payload)
        };
        assert!(!offer(1, &right, &[7, 7]));
        assert!(!offer(1, &Envelope { tag: tag(1, number), ..right }, &[7]));
        assert!(!offer(1, &Envelope { context: CONTEXT + 2, ..right }, &[7]));
        assert!(!offer(1, &Envelope { signature: signature(3).to_bytes(), ..right }, &[7]));
        assert!(!offer(1, &Envelope { tag: tag(0, REMINDER), ..right }, &[7]));
        assert!(offer(1, &right, &[7]));
        assert!(!offer(1, &right, &[8]), "the same once more");
        assert!(!runs.awaits(run, 1, &right) && runs.is_awaiting(run));
        assert_eq!(advance(&mut runs, &mut machine, &mut buffers, &mut owners), None);
        assert_eq!(buffers.bytes(output)[1], 7);

        // The other two are posted, and known to the protocol from here on.
        runs.post_awaited(run, &mut machine, &mut owners);
        assert!(!runs.is_awaiting(run));
        assert_eq!((machine.pending(), owners.iter().count()), (2, 2));
        assert_eq!(runs.runs[run].as_ref().unwrap().due, 2);
    }

    #[test]
    fn what_has_come_early_is_compared_with_the_call_it_is_for() {
        let mut runs = Runs::default();
        for sequence in [0, 1, 2] {
            assert!(runs.arrive(1, &message(sequence, 0)).is_none());
        }
        assert!(runs.arrive(2, &message(1, 3)).is_none());
        assert!(runs.arrive(3, &reminder(2, 3)).is_none());
        assert_eq!(call(&mut runs, 0).1, None);
        assert_eq!(call(&mut runs, 0).1, Some(2));
        assert_eq!(call(&mut runs, 0).1, Some(3));
        assert!(runs.uncalled().is_none());
        assert!(runs.arrive(1, &message(3, 0)).is_none());
        let (source, context, what) = runs.uncalled().unwrap();
        assert_eq!((source, context, what.sequence), (1, CONTEXT, 3));
    }

    #[test]
    fn a_message_too_many_is_one_whenever_it_comes() {
        let receives = gather(0).schedule.receives();
        for early in 0..=receives + 1 {
            let mut runs = Runs::default();
            let mut told = 0;
            for sent in 0..=receives {
                if sent == early {
                    told += usize::from(call(&mut runs, 0).1.is_some());
                }
                told += usize::from(runs.arrive(1 + sent % 3, &message(0, 0)).is_some());
            }
            if early > receives {
                told += usize::from(call(&mut runs, 0).1.is_some());
            }
            assert_eq!(told, 1, "{early} of {} before the call", receives + 1);
        }
    }

    #[test]
    fn what_comes_after_the_end_is_a_disagreement_unless_it_only_asks() {
        let (mut runs, mut buffers) = (Runs::default(), Buffers::new());
        let (run, _) = call(&mut runs, 1);
        runs.remove(run, &mut buffers);
        assert!(runs.arrive(2, &reminder(0, 0)).is_none());
        for late in [message(0, 0), message(0, 1), reminder(0, 1)] {
            assert!(matches!(runs.arrive(2, &late), Some(Disagreement { mine: Mine::Called(_), .. })));
        }
    }

    #[test]
    fn a_message_for_a_communicator_that_has_been_dropped_is_left_over_and_a_reminder_is_not() {
        let (mut runs, mut buffers) = (Runs::default(), Buffers::new());
        let (run, _) = call(&mut runs, 1);
        assert!(!runs.forget(CONTEXT), "under way");
        runs.remove(run, &mut buffers);
        runs.arrive(2, &reminder(1, 0));
        assert!(runs.uncalled().is_some(), "the communicator is there, and somebody waits");
        assert!(runs.forget(CONTEXT));
        assert!(runs.uncalled().is_none());
        runs.arrive(2, &reminder(0, 0));
        assert!(runs.uncalled().is_none(), "somebody may just not have got everything");
        runs.arrive(2, &message(1, 0));
        assert!(runs.uncalled().is_some());
    }

    /// How long a call takes beside so many messages for later ones, and so many collectives under way.
    fn per_call(ahead: u32, under_way: u32) -> Duration {
        let (mut runs, mut buffers) = (Runs::default(), Buffers::new());
        let call = Calls::default().insert([None, None]);
        assert!((0..ahead).all(|early| runs.arrive(1, &message(1_000_000 + early, 0)).is_none()));
        for _ in 0..under_way {
            runs.insert(gather(1), [None; 2], call, &mut buffers);
        }
        let calls: Vec<CollectiveCall> = (0..2_000).map(|_| gather(1)).collect();
        let begun = Instant::now();
        for again in calls {
            let Made { run, sequence, .. } = runs.insert(again, [None; 2], call, &mut buffers);
            runs.arrive(2, &reminder(sequence, 0));
            runs.remove(run, &mut buffers);
        }
        begun.elapsed()
    }

    #[test]
    fn a_call_costs_the_same_however_far_others_are_ahead_and_however_many_are_under_way() {
        let least = |ahead, under_way| (0..5).map(|_| per_call(ahead, under_way)).min().unwrap();
        let (few, ahead, many) = (least(20, 20), least(20_000, 20), least(20, 20_000));
        assert!(ahead < 5 * few && many < 5 * few, "{few:?}, far ahead {ahead:?}, many under way {many:?}");
    }
}
