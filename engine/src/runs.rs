//! Runs: schedules under way. One executor for every collective and every transport.
//!
//! A run starts the steps that wait for nothing, and whenever a step completes, those that waited for it
//! last. Reductions and copies are done on the spot; sends and receives go to the protocol and come back
//! as completions. Nothing is allocated in the steady state: finished runs and their scratch memory are
//! used again.
//!
//! Two steps have a short path, of which the protocol's lists know nothing: a short send that leaves at once, and,
//! while their caller polls under the lock, receives that are *awaited* instead of posted ([`Runs::take_awaited`]);
//! what is still awaited when that ends is posted after all ([`Runs::post_awaited`]).
//!
//! And where ranks share memory, few of them *show* one another what is short instead of sending it (`shown`).
//!
//! In rooms of their own: `run` does the steps of one, `shown` shows and looks, `context` remembers what was called in
//! a communicator, `agreement` compares that with what others have called, and `tag` tells their messages apart.

mod agreement;
mod channel;
mod context;
mod exchange;
mod run;
mod shown;
mod tag;
#[cfg(test)]
mod tests;

use std::panic::Location;

use ringworld_collectives::Action;
use ringworld_protocol::{BufferId, Element, Envelope, Machine};
use rustc_hash::FxHashMap;

use super::buffer::{Buffers, Copier};
use super::calls::CallId;
use super::early::Early;
use super::owners::{Owner, Owners, RunId};
use super::reduce::{Operation, Panicked};
use super::signature::agree;

use context::Context;
use exchange::Look;
use run::{Counters, Run};

pub(crate) use context::{Called, Disagreement, Mine};
pub use exchange::Exchange;
pub(crate) use exchange::Trouble;
pub(crate) use run::Wires;
pub use run::{CollectiveCall, Planned};
pub(crate) use shown::Patience;
pub(crate) use tag::is_reminder;

#[derive(Default)]
pub(crate) struct Runs {
    runs: Vec<Option<Run>>,
    free: Vec<RunId>,
    /// Of finished runs, kept for the next ones.
    counters: Vec<Counters>,
    /// Of each context with collectives: the runs under way and the latest signatures.
    contexts: FxHashMap<u64, Context>,
    early: Early,
    /// Those that look for something.
    looking: Vec<RunId>,
    /// What has been seen that cannot be.
    trouble: Option<Trouble>,
    /// Operations of runs that are over, of which nobody else has any.
    left: Vec<Operation>,
}

/// A run that has been made; what its rank has to know of it.
pub(crate) struct Made {
    pub run: RunId,
    pub sequence: u32,
    /// Somebody has called something else, and said so before.
    pub clash: Option<(usize, Disagreement)>,
}

impl Runs {
    /// Makes a run, which is to be [kept](Runs::keep) unless [it is over at once](Runs::try_at_once). Says which
    /// collective of its communicator it is: numbers are given out here, under the engine's lock, so that threads
    /// cannot start them in another order.
    ///
    /// Compares it with what has come early. Only messages of this very collective have to be looked at: those of
    /// earlier ones were compared when they came, and those of later ones will be when they are called.
    #[inline]
    pub(crate) fn make(
        &mut self,
        called: CollectiveCall,
        lent: [Option<BufferId>; 2],
        call: Option<CallId>,
        buffers: &mut Buffers,
    ) -> Made {
        let id = self.free.pop().unwrap_or_else(|| {
            self.runs.push(None);
            self.runs.len() - 1
        });
        let context = self.contexts.entry(called.what.context).or_default();
        let (sequence, signature, caller) = (context.next, called.signature().to_bytes(), called.caller);
        context.enter(Called { sequence, signature, caller });
        // Made where it stays: to move one takes as long as a step of it.
        let run = self.runs[id].insert(Run::new(called, signature, sequence, lent, call, buffers));
        let mut clash = None;
        self.early.take((run.what.context, run.sequence), |note| {
            let left = run.due.checked_sub(note.messages).filter(|_| agree(&run.signature, &note.signature));
            match left {
                Some(left) => run.due = left,
                None => {
                    let (sequence, mine) = (run.sequence, Mine::Called(run.called()));
                    clash = Some((note.source, Disagreement { sequence, theirs: note.signature, mine }));
                }
            }
        });
        run.scale_contribution(buffers);
        Made { run: id, sequence: run.sequence, clash }
    }

    /// From here on a run that has been made is under way; [`Runs::advance`] starts what it has not done.
    pub(crate) fn keep(&mut self, id: RunId) {
        let Some(Some(run)) = self.runs.get_mut(id) else { return };
        run.count(self.counters.pop().unwrap_or_default());
        if let Some(context) = self.contexts.get_mut(&run.what.context) {
            context.under_way.insert(run.sequence, id);
        }
    }

    /// The number of the next collective of a communicator.
    pub(crate) fn next(&self, context: u64) -> u32 {
        self.contexts.get(&context).map_or(0, |context| context.next)
    }

    /// Starts every step that is ready; receives are awaited if their caller `polls`. `Some`: the run is over, and this
    /// is its call, if it has one.
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
        while let Some(step) = run.steps.ready.pop() {
            if run.looks {
                match run.look(step, wires) {
                    Look::Taken => {
                        run.complete_step(step);
                        continue;
                    }
                    Look::NotYet => {
                        if !run.is_listed {
                            run.is_listed = true;
                            self.looking.push(id);
                        }
                        run.steps.looked_for.push(step);
                    }
                    Look::Wrong(trouble) => {
                        self.trouble.get_or_insert(trouble);
                        return Ok(None);
                    }
                    Look::Nowhere => {}
                }
            }
            if polls && run.may_await(step, wires) {
                run.steps.awaited.push(step);
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
        let context = run.what.context;
        let call = self.remove(id, wires.buffers);
        if wires.router.can_show() {
            self.pass(context, wires.router);
        }
        Ok(call)
    }

    /// Takes an eager message, all of which has arrived, if it is what a step of the run awaits; whether it was. The
    /// run is to be advanced then.
    #[inline]
    pub(crate) fn take_awaited(
        &mut self,
        id: RunId,
        machine: &mut Machine,
        buffers: &Buffers,
        source: usize,
        header: &[u8],
        (length, copy): (usize, Copier<'_>),
    ) -> bool {
        let Some(Some(run)) = self.runs.get_mut(id) else { return false };
        let wanted = |envelope: &Envelope| {
            let place = run.place_awaited(source, envelope)?;
            // What is wrong about it is told on the ordinary path.
            let right = run.due > 0
                && run.bytes_of(run.steps.awaited[place]) == length
                && agree(&run.signature, &envelope.signature);
            right.then_some(place)
        };
        let Some(place) = machine.take_wanted(source, header, length, wanted) else { return false };
        let step = run.steps.awaited.swap_remove(place);
        if let Action::Recv { into, .. } = *run.what.schedule.action(step as usize) {
            buffers.fill(run.span(into), copy);
        }
        run.due -= 1;
        run.complete_step(step);
        true
    }

    /// Whether any receive of the run is awaited.
    #[inline]
    pub(crate) fn is_awaiting(&self, id: RunId) -> bool {
        self.runs.get(id).and_then(Option::as_ref).is_some_and(|run| !run.steps.awaited.is_empty())
    }

    /// Whether a message that goes the ordinary way is what a step of the run awaits.
    pub(crate) fn awaits(&self, id: RunId, source: usize, envelope: &Envelope) -> bool {
        let run = self.runs.get(id).and_then(Option::as_ref);
        run.is_some_and(|run| run.place_awaited(source, envelope).is_some())
    }

    /// Posts the receives that are awaited: their caller polls no more, or not for them alone.
    pub(crate) fn post_awaited(&mut self, id: RunId, machine: &mut Machine, owners: &mut Owners) {
        let Some(Some(run)) = self.runs.get_mut(id) else { return };
        while let Some(step) = run.steps.awaited.pop() {
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
        let place = self.runs.get_mut(id)?;
        let run = place.as_mut()?;
        run.let_go(buffers);
        if run.is_listed {
            self.looking.retain(|other| *other != id);
        }
        self.counters.push(std::mem::take(&mut run.steps));
        if let Some(context) = self.contexts.get_mut(&run.what.context) {
            context.under_way.remove(run.sequence);
        }
        let call = run.call;
        if let Some(operation) = run.reducer.kernel.take_last() {
            self.left.push(operation);
        }
        *place = None;
        self.free.push(id);
        call
    }

    /// Whether there are operations to be dropped without the engine's lock.
    #[inline]
    pub(crate) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// Those operations.
    pub(crate) fn left(&mut self) -> impl Iterator<Item = Operation> {
        self.left.drain(..)
    }

    /// Whether a run is under way.
    #[inline]
    pub(crate) fn has(&self, id: RunId) -> bool {
        self.runs.get(id).is_some_and(Option::is_some)
    }

    /// From here on a call ends with the run.
    pub(crate) fn give_to(&mut self, id: RunId, call: CallId) {
        if let Some(Some(run)) = self.runs.get_mut(id) {
            run.call = Some(call);
        }
    }

    /// Ends every run, in no particular order; only after the transports have dropped everything.
    pub(crate) fn remove_all(&mut self, buffers: &mut Buffers) -> Vec<CallId> {
        (0..self.runs.len()).filter_map(|id| self.remove(id, buffers)).collect()
    }

    /// The context of a run, and what was called.
    pub(crate) fn called(&self, id: RunId) -> Option<(u64, Called)> {
        let run = self.runs.get(id)?.as_ref()?;
        Some((run.what.context, run.called()))
    }

    /// Where this rank has called collectives lately.
    pub(crate) fn callers(&self) -> impl Iterator<Item = &'static Location<'static>> + '_ {
        self.contexts.values().flat_map(|context| context.recent.iter().map(|called| called.caller))
    }

    /// The context and the number of the collective that was called last, if it stands there.
    pub(crate) fn latest_at(&self, place: &Location<'_>) -> Option<(u64, u32)> {
        let latest =
            self.contexts.iter().filter_map(|(context, called)| Some((context, called.recent.back()?)));
        let there = latest.into_iter().find(|(_, called)| called.caller == place);
        there.map(|(context, called)| (*context, called.sequence))
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
        self.runs.iter().flatten().filter_map(|run| run.call)
    }

    /// The call that a run will end.
    pub(crate) fn call(&self, id: RunId) -> Option<CallId> {
        self.runs.get(id)?.as_ref()?.call
    }
}
