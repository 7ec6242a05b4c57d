//! One run: its steps, what they work with, and the memory they work on.
//!
//! Reductions and copies are done on the spot. A send of few bytes leaves at once where it can, a receive of few bytes
//! may be *awaited*; all else is handed to the protocol. Neighbours: `runs` says when which step is done.

use std::panic::Location;
use std::sync::Arc;

use ringworld_collectives::{Action, Buffer, Schedule, Span as Elements};
use ringworld_protocol::{
    BufferId, Element, Envelope, Header, Machine, Mode, RequestId, Selector, Span, TagSelector,
};

use super::super::buffer::{Block, Buffers};
use super::super::calls::CallId;
use super::super::observe::Observed;
use super::super::owners::Owners;
use super::super::reduce::{Panicked, Reducer, When};
use super::super::router::Router;
use super::super::signature::{Signature, SignatureBytes};
use super::context::Called;
use super::exchange::Exchange;
use super::tag::{self, sequence_of};

/// The longest message that is awaited. Longer ones may come in pieces, and gain nothing by one copy more.
const SHORT: usize = 4 << 10;

/// A collective as it is called again and again: all but where the call stands, and what combines elements, which may
/// be the user's.
#[derive(Clone)]
pub struct Planned {
    /// What is to be done.
    pub schedule: Arc<Schedule>,
    /// World ranks by rank in the communicator; `None`: they are the same.
    pub group: Option<Arc<[usize]>>,
    /// That of the communicator's collectives.
    pub context: u64,
    /// What is called; its place is that of each call.
    pub signature: Signature,
    /// The size of an element, in bytes.
    pub element: usize,
    /// How many elements at the start of the output are the result; 0 where this rank gets none.
    pub result: usize,
    /// How many ranks' contributions are combined in it.
    pub combined: usize,
    /// What is given and to whom, where the schedule is an [exchange](ringworld_collectives::is_exchange).
    pub exchange: Option<Exchange>,
}

/// Everything a run needs.
#[derive(Clone)]
pub struct CollectiveCall {
    /// What is called.
    pub what: Arc<Planned>,
    /// What combines elements.
    pub reducer: Reducer,
    /// Where the call stands.
    pub caller: &'static Location<'static>,
    /// The same, as it travels: [`site`](crate::signature::site).
    pub site: [u8; 8],
}

impl CollectiveCall {
    /// With the place of the call.
    #[must_use]
    #[inline]
    pub fn signature(&self) -> Signature {
        Signature { site: self.site, ..self.what.signature }
    }
}

/// A run: what was called, and how far it has come.
pub(super) struct Run {
    pub(super) what: Arc<Planned>,
    pub(super) reducer: Reducer,
    pub(super) caller: &'static Location<'static>,
    /// Which collective of its communicator: the same number on all ranks.
    pub(super) sequence: u32,
    pub(super) signature: SignatureBytes,
    /// How many of its messages have not been announced yet.
    pub(super) due: usize,
    /// What ends with it; `None` while its caller polls under the lock.
    pub(super) call: Option<CallId>,
    /// Lent memory to read.
    pub(super) input: Option<BufferId>,
    /// Lent memory to write.
    pub(super) output: Option<BufferId>,
    pub(super) scratch: Option<(Block, Span)>,
    /// Before it is kept: how many of its first steps are done.
    pub(super) done: usize,
    /// Since it is kept.
    pub(super) steps: Counters,
    /// What others give may be shown to this rank.
    pub(super) looks: bool,
    /// What this rank gives, it has shown: nothing is to be sent.
    pub(super) shown: bool,
    /// It is on the list of those who look for something, most often because it does.
    pub(super) is_listed: bool,
    pub(super) remaining: usize,
}

/// The steps of a run that is under way.
#[derive(Default)]
pub(super) struct Counters {
    /// For how many others each one waits.
    pub(super) waits: Vec<u32>,
    pub(super) ready: Vec<u32>,
    /// Receives that may be done and are not posted.
    pub(super) awaited: Vec<u32>,
    /// Receives whose sender may show this rank instead what it would send; posted or awaited as well.
    pub(super) looked_for: Vec<u32>,
}

/// What the steps of runs work with.
pub(crate) struct Wires<'a> {
    pub machine: &'a mut Machine,
    pub router: &'a mut Router,
    pub buffers: &'a mut Buffers,
    pub owners: &'a mut Owners,
    pub observed: &'a mut Observed,
}

impl Wires<'_> {
    /// Sends a message of which all leaves now; `false`: nothing has happened.
    #[inline]
    pub(crate) fn send_at_once(&mut self, to: usize, envelope: &Envelope, data: Span) -> bool {
        if !self.router.may_inject(to, data.len) {
            return false;
        }
        let Some(departure) = self.machine.depart(to, envelope, data.len) else { return false };
        let mut room = [0; Header::MAX];
        let left = self.router.inject(to, departure.encode(&mut room), self.buffers.bytes(data));
        if left {
            departure.left();
            self.observed.sent(to, data.len);
        }
        left
    }
}

impl Run {
    /// One that has done nothing yet.
    #[inline]
    pub(super) fn new(
        called: CollectiveCall,
        signature: SignatureBytes,
        sequence: u32,
        [input, output]: [Option<BufferId>; 2],
        call: Option<CallId>,
        buffers: &mut Buffers,
    ) -> Self {
        let CollectiveCall { what, reducer, caller, .. } = called;
        let schedule = &what.schedule;
        let scratch = (schedule.scratch() > 0).then(|| {
            let mut block = buffers.block(schedule.scratch() * what.element);
            let lent = buffers.lend_block(&mut block);
            (block, lent)
        });
        let (due, remaining) = (schedule.receives(), schedule.len());
        Self {
            what,
            reducer,
            caller,
            sequence,
            signature,
            due,
            call,
            input,
            output,
            scratch,
            done: 0,
            steps: Counters::default(),
            looks: false,
            shown: false,
            is_listed: false,
            remaining,
        }
    }

    /// Counts what each step waits for, in the room of an earlier run.
    pub(super) fn count(&mut self, mut steps: Counters) {
        let schedule = &self.what.schedule;
        let Counters { waits, ready, awaited, looked_for } = &mut steps;
        waits.clear();
        // Step numbers are 32 bits wide, and so is any count of them.
        waits.extend((0..schedule.len()).map(|step| schedule.dependencies(step) as u32));
        ready.clear();
        if self.done == 0 {
            ready.extend(schedule.roots().iter().rev());
        } else {
            let dependents = (0..self.done).flat_map(|step| schedule.dependents(step));
            dependents.for_each(|dependent| waits[*dependent as usize] -= 1);
            ready.extend(
                (self.done..schedule.len()).rev().filter(|step| waits[*step] == 0).map(|step| step as u32),
            );
        }
        awaited.clear();
        looked_for.clear();
        self.remaining = schedule.len() - self.done;
        self.steps = steps;
    }

    /// Gives its scratch memory back.
    #[inline]
    pub(super) fn let_go(&mut self, buffers: &mut Buffers) {
        if let Some((block, lent)) = self.scratch.take() {
            buffers.retire(block, lent.buffer);
        }
    }

    pub(super) fn called(&self) -> Called {
        Called { sequence: self.sequence, signature: self.signature, caller: self.caller }
    }

    #[inline]
    pub(super) fn complete_step(&mut self, step: u32) {
        self.remaining -= 1;
        if !self.steps.looked_for.is_empty() {
            self.steps.looked_for.retain(|other| *other != step);
        }
        for dependent in self.what.schedule.dependents(step as usize).iter().rev() {
            let waits = &mut self.steps.waits[*dependent as usize];
            *waits -= 1;
            if *waits == 0 {
                self.steps.ready.push(*dependent);
            }
        }
    }

    /// Where among the awaited receives that of a message is.
    #[inline]
    pub(super) fn place_awaited(&self, source: usize, envelope: &Envelope) -> Option<usize> {
        let Envelope { context, tag, .. } = *envelope;
        if context != self.what.context || sequence_of(tag) != self.sequence {
            return None;
        }
        self.steps.awaited.iter().position(|step| {
            matches!(*self.what.schedule.action(*step as usize), Action::Recv { from, tag: number, .. }
                if number == tag as u32 && self.world(from) == source)
        })
    }

    /// What a receive selects, and where it goes.
    #[inline]
    pub(super) fn receive_of(&self, step: u32) -> Option<(Selector, Span)> {
        let Action::Recv { from, into, tag } = *self.what.schedule.action(step as usize) else { return None };
        let selector = Selector {
            context: self.what.context,
            source: Some(self.world(from)),
            tag: TagSelector::Exact(tag::tag(self.sequence, tag)),
        };
        Some((selector, self.span(into)))
    }

    /// How many bytes a receive expects.
    #[inline]
    pub(super) fn bytes_of(&self, step: u32) -> usize {
        match *self.what.schedule.action(step as usize) {
            Action::Recv { into, .. } => into.len * self.what.element,
            _ => 0,
        }
    }

    /// Whether a step is a receive that may be awaited: of a short message, which will be delivered whole, or of what
    /// is looked for, which mostly does not come as a message; and it has not come.
    #[inline]
    pub(super) fn may_await(&self, step: u32, wires: &mut Wires<'_>) -> bool {
        let Action::Recv { into, .. } = *self.what.schedule.action(step as usize) else { return false };
        let bytes = into.len * self.what.element;
        if bytes > SHORT && !self.steps.looked_for.contains(&step) {
            return false;
        }
        let Some((selector, _)) = self.receive_of(step) else { return false };
        wires.router.delivers(selector.source, bytes.min(SHORT)) && wires.machine.may_expect(&selector)
    }

    /// Does a local step or a send that leaves at once, or hands a send or receive to the protocol.
    #[inline]
    pub(super) fn perform(&self, step: u32, wires: &mut Wires<'_>) -> Result<Option<RequestId>, Panicked> {
        let Wires { machine, buffers, .. } = wires;
        Ok(match *self.what.schedule.action(step as usize) {
            Action::Send { to, from, tag } => {
                let envelope = Envelope {
                    context: self.what.context,
                    // The signature says what they are.
                    element: Element::RAW,
                    tag: tag::tag(self.sequence, tag),
                    signature: self.signature,
                };
                let (to, data) = (self.world(to), self.span(from));
                if self.shown {
                    wires.observed.shown(to, data.len);
                    return Ok(None);
                }
                if wires.send_at_once(to, &envelope, data) {
                    return Ok(None);
                }
                wires.router.note_first(to, &envelope);
                Some(wires.machine.send(to, envelope, data, Mode::Standard))
            }
            Action::Recv { .. } => {
                let receive = self.receive_of(step);
                receive.map(|(selector, into)| machine.receive(selector, into, Element::RAW))
            }
            Action::Reduce { left, right, into, last } => {
                let (reducer, combined) = (&self.reducer, self.what.combined);
                let into = self.span(into);
                buffers.reduce(&reducer.kernel, self.span(left), self.span(right), into)?;
                // At once, while the elements are in the cache: those that are copied on are complete then.
                if last && reducer.completes(When::LastReduction, combined) {
                    buffers.change(into, |bytes| reducer.complete(bytes, combined));
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
    #[inline]
    pub(super) fn scale_contribution(&self, buffers: &Buffers) {
        if self.what.result > 0 && self.reducer.scales_before() {
            let contribution = self.span(Elements::output(0, self.what.result));
            buffers.change(contribution, |bytes| self.reducer.scale_before(bytes));
        }
    }

    /// Completes the result where its last reductions have not done so already.
    #[inline]
    pub(super) fn complete_result(&self, buffers: &Buffers) {
        let ranks = self.what.combined;
        if self.what.result > 0 && self.reducer.completes(When::End, ranks) {
            let result = self.span(Elements::output(0, self.what.result));
            buffers.change(result, |bytes| self.reducer.complete(bytes, ranks));
        }
    }

    #[inline]
    pub(super) fn world(&self, rank: usize) -> usize {
        self.what.group.as_ref().map_or(rank, |group| group[rank])
    }

    #[inline]
    pub(super) fn span(&self, elements: Elements) -> Span {
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
