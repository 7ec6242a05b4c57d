//! When ranks do not call the same: who finds out, whom it tells, and in which words.
//!
//! A collective message that can belong to no call of this rank is a disagreement on arrival ([`Core::disagree`]).
//! Ranks that wait for one another and send nothing are reminded ([`Core::remind`]). One that waits for a rank which
//! has left asks what that one did instead ([`Desertion`]). And a rank that leaves looks once more
//! ([`Core::look_once_more`]).

use ringworld_protocol::{Envelope, Failure, Kind, Mode, Selector, Span, TagSelector};
use std::time::{Duration, Instant};

use super::super::calls::CallId;
use super::super::fault::Fault;
use super::super::last_calls::LastCalls;
use super::super::owners::{Owner, RunId};
use super::super::runs::{Called, Disagreement, Mine, Runs};
use super::super::signature::{Signature, SignatureBytes, describe_site};
use super::Core;
use super::suspicion::{Desertion, Doubt};

/// How long the others, and the master, have to say what a rank has called that has left. The error is the better for
/// it, and the end still inside the promised second.
const ANSWER: Duration = Duration::from_millis(900);

impl Core {
    /// Ends the world for every rank.
    pub(super) fn tell(&mut self, fault: Fault) {
        if self.fault.is_none() {
            self.control.fault(&fault);
            self.fail(fault);
        }
    }

    pub(super) fn rank_on_host(&self, rank: usize) -> String {
        format!("rank {rank} on {}", self.hosts.get(rank).map_or("an unknown host", String::as_str))
    }

    // ---- reminders -----------------------------------------------------------------------------------

    /// Tells those whom the collectives of these calls wait for what this rank has called, so that ranks
    /// that disagree about a root find out although none of them sends anything else.
    pub(crate) fn remind(&mut self, calls: &[CallId]) {
        self.remind_of(|core, run| core.runs.call(run).is_some_and(|call| calls.contains(&call)));
    }

    fn remind_of(&mut self, concerns: impl Fn(&Self, RunId) -> bool) {
        let waits = self.owners.iter().filter_map(|(request, owner)| {
            let Owner::Step { run, .. } = *owner else { return None };
            let described = self.machine.describe(*request)?;
            let waited_for = described.kind == Kind::Receive && concerns(self, run);
            if waited_for { Some((described.peer?, self.runs.reminder(run)?)) } else { None }
        });
        let mut reminders: Vec<(usize, Envelope)> = waits.collect();
        reminders.sort_unstable_by_key(|(peer, envelope)| (*peer, envelope.context, envelope.tag));
        reminders.dedup();
        for (peer, envelope) in reminders {
            // Nobody asks how it ends.
            let _unowned = self.machine.send(peer, envelope, Span::EMPTY, Mode::Standard);
        }
        self.settle();
    }

    /// Takes reminders away from the protocol, in whose lists they would lie for ever: whatever they had to say has
    /// been compared or noted.
    pub(super) fn drop_reminders(&mut self, reminders: Vec<(usize, Envelope)>) {
        for (source, Envelope { context, tag, .. }) in reminders {
            let selector = Selector { context, source: Some(source), tag: TagSelector::Exact(tag) };
            if let Some(taken) = self.machine.take_matched(&selector) {
                self.machine.release(taken.handle);
            }
        }
    }

    // ---- steps that cannot be done -----------------------------------------------------------------

    pub(super) fn step_failed(&mut self, run: RunId, step: u32, failure: Failure) {
        match failure {
            Failure::Aborted => {}
            // What it has shown before is there.
            Failure::PeerFinished { .. } if self.take_shown(run, step, false) => {}
            Failure::PeerFinished { peer } => self.deserted(run, peer),
            // Longer than what this rank expects, which is told as any other wrong length is.
            Failure::Truncated { needed, .. } => {
                if let Err(detail) = self.runs.step_done(run, step, needed) {
                    self.step_wrong(detail);
                }
            }
            failure => {
                let call = self.runs.called(run).map(|(_, called)| self.quoted(&called)).unwrap_or_default();
                let here = self.rank_on_host(self.rank);
                self.tell(Fault::System { detail: format!("{here} could not go on in {call}: {failure}") });
            }
        }
    }

    /// A collective cannot go on because ranks disagree about it.
    pub(super) fn step_wrong(&mut self, detail: String) {
        self.tell(Fault::Mismatch { detail });
    }

    /// A collective needs a rank that has left in good order.
    fn deserted(&mut self, run: RunId, peer: usize) {
        if self.fault.is_some() || self.desertion.is_some() {
            return;
        }
        let Some((context, called)) = self.runs.called(run) else { return };
        self.desertion = Some(Desertion { peer, context, called, until: Instant::now() + ANSWER });
        self.control.ask_last_calls(peer);
        // It may be that the one who has left did right, and another one of those that are waited for did not.
        self.remind_of(|_, other| other == run);
    }

    /// Believes the worst of a rank that has left when nobody has said anything else in time. An answer that has come,
    /// and that this rank had no time to read, is in time.
    pub(super) fn judge_desertion(&mut self) {
        let is_due = |desertion: &Desertion| Instant::now() >= desertion.until;
        if self.desertion.as_ref().is_some_and(is_due) && !self.inbox.is_full() {
            self.convict(&LastCalls::default());
        }
        // Not asked at every poll what time it is.
        if !self.doubts.is_empty() && !self.inbox.is_full() {
            let is_due = |doubt: &Doubt| Instant::now() >= doubt.until;
            while let Some(due) = self.doubts.0.iter().position(is_due) {
                let Doubt { peer, unread, .. } = self.doubts.0.remove(due);
                if let Some(unread) = unread {
                    self.never_read(peer, &unread, &LastCalls::default());
                }
            }
        }
    }

    /// A connection has ended without a goodbye, to a rank that has left, or while this rank leaves.
    pub(super) fn doubt(&mut self, peer: usize) {
        self.doubt_whether_read(peer, None);
    }

    /// What had been accepted for a peer never left, and whoever sent it has gone on. Where that was a collective, the
    /// peer cannot have done its part in it: it has left without calling it, or it is dead, as the control plane knows.
    pub(super) fn undelivered(&mut self, peer: usize) {
        if let Some(unread) = self.router.take_first(peer) {
            self.doubt_whether_read(peer, Some(unread));
        }
    }

    fn doubt_whether_read(&mut self, peer: usize, unread: Option<Envelope>) {
        if let Some(doubt) = self.doubts.0.iter_mut().find(|doubt| doubt.peer == peer) {
            doubt.unread = doubt.unread.take().or(unread);
        } else {
            self.doubts.0.push(Doubt { peer, until: Instant::now() + ANSWER, unread });
            self.control.ask_last_calls(peer);
        }
    }

    pub(super) fn heard_last_calls(&mut self, rank: usize, calls: &LastCalls) {
        let doubted = self.doubts.0.iter().position(|doubt| doubt.peer == rank);
        let unread = doubted.and_then(|index| self.doubts.0.remove(index).unread);
        if self.desertion.as_ref().is_some_and(|desertion| desertion.peer == rank) {
            return self.convict(calls);
        }
        let differs = |context: &u64| self.runs.first_disagreement(*context, calls.of_context(*context));
        let first = calls.contexts().into_iter().find_map(|context| Some((context, differs(&context)?)));
        if let Some((context, disagreement)) = first {
            return self.disagree(rank, context, &disagreement);
        }
        if let Some(unread) = unread {
            self.never_read(rank, &unread, calls);
        }
    }

    /// A rank has left, and has not read what a collective of this rank had sent there.
    fn never_read(&mut self, peer: usize, unread: &Envelope, last: &LastCalls) {
        let (context, sequence) = (unread.context, Runs::sequence_of(unread));
        let (done, before) = self.in_the_end(context, sequence, last);
        let how = if done { "without reading it" } else { "without calling it" };
        let detail = format!(
            "{} called {} as collective #{sequence} of communicator {} and sent something to {}, which has left the \
             world {how}{before}",
            self.rank_on_host(self.rank),
            self.described(&unread.signature),
            context / 2,
            self.rank_on_host(peer),
        );
        self.tell(Fault::Mismatch { detail });
    }

    /// Whether a rank that has left had called a collective, and in words what it called last on that communicator.
    fn in_the_end(&self, context: u64, sequence: u32, last: &LastCalls) -> (bool, String) {
        let Some(last) = last.last(context) else { return (false, String::new()) };
        let call = self.described(&last.signature);
        let words = format!("; its last collective on this communicator was #{}, {call}", last.sequence);
        // Numbers go round the circle; what has not been called lies ahead.
        (last.sequence.wrapping_sub(sequence) < u32::MAX / 2, words)
    }

    fn convict(&mut self, last: &LastCalls) {
        let Some(Desertion { peer, context, called, .. }) = self.desertion.take() else { return };
        // Ranks may have parted before: what one of them only sends, the other never reads.
        if let Some(disagreement) = self.runs.first_disagreement(context, last.of_context(context)) {
            return self.disagree(peer, context, &disagreement);
        }
        let (done, before) = self.in_the_end(context, called.sequence, last);
        let how = if done { "" } else { " without calling it" };
        let detail = format!(
            "{} called {} as collective #{} of communicator {} and needs {}, which has left the world{how}{before}",
            self.rank_on_host(self.rank),
            self.quoted(&called),
            called.sequence,
            context / 2,
            self.rank_on_host(peer),
        );
        self.tell(Fault::Mismatch { detail });
    }

    // ---- the end -------------------------------------------------------------------------------------

    /// When this rank has made its last call: whatever lies here of collectives that it has not called, it never will.
    pub(crate) fn look_once_more(&mut self) {
        self.progress();
        self.runs.uncalled_shown(&mut self.router);
        if let Some(trouble) = self.runs.take_trouble() {
            self.seen(trouble);
        }
        if let Some((source, context, disagreement)) = self.runs.uncalled()
            && self.fault.is_none()
        {
            self.disagree(source, context, &disagreement);
        }
    }

    /// The same before the transports tell the others that this rank leaves: they may have to be told something else,
    /// and whoever learns that it has left can ask what it has called.
    pub(crate) fn look_before_leaving(&mut self) {
        self.look_once_more();
        if self.fault.is_none() {
            self.control.leave_behind(self.runs.last_calls());
        }
    }

    // ---- words ---------------------------------------------------------------------------------------

    /// A peer's call, and where it stands.
    fn described(&self, signature: &SignatureBytes) -> String {
        format!("{} at {}", Signature::describe(*signature), describe_site(signature, self.runs.callers()))
    }

    /// A call of this rank, and where it stands.
    fn quoted(&self, called: &Called) -> String {
        format!(
            "{} at {}:{}",
            Signature::describe(called.signature),
            called.caller.file(),
            called.caller.line()
        )
    }

    pub(super) fn disagree(&mut self, source: usize, context: u64, what: &Disagreement) {
        let here = match &what.mine {
            Mine::Finished => "finished that one long ago".into(),
            Mine::NeverCalled => "is leaving the world and has never called it".into(),
            Mine::Dropped => "has dropped the communicator and has never called it".into(),
            Mine::Called(called) => {
                let more = Signature::compare(what.theirs, called.signature);
                format!("called {}{more}", self.quoted(called))
            }
        };
        // Every rank reads this text, so it says nobody is "this rank".
        let detail = format!(
            "ranks disagree about collective #{} of communicator {}: {} called {}, but {} {here}",
            what.sequence,
            context / 2,
            self.rank_on_host(source),
            self.described(&what.theirs),
            self.rank_on_host(self.rank),
        );
        self.tell(Fault::Mismatch { detail });
    }

    /// Whether a request belongs to a call.
    pub(super) fn is_of(&self, call: CallId, owner: Owner) -> bool {
        match owner {
            Owner::Call(other) => other == call,
            Owner::Step { run, .. } => self.runs.call(run) == Some(call),
        }
    }

    /// Whom a call waits for, in words.
    pub(crate) fn waiting_for(&self, call: CallId) -> String {
        let requests = self.owners.iter().filter(|(_, owner)| self.is_of(call, *owner));
        let mut peers: Vec<Option<usize>> =
            requests.filter_map(|(request, _)| Some(self.machine.describe(*request)?.peer)).collect();
        peers.sort_unstable();
        peers.dedup();
        let name = |peer: &Option<usize>| {
            peer.map_or_else(|| "a message of any rank".into(), |rank| self.rank_on_host(rank))
        };
        if peers.is_empty() {
            return "nobody".into();
        }
        peers.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// A call has waited for too long: ends the world for every rank. `calls`: what it waits for, where it waits for
    /// the end of operations.
    pub(crate) fn time_out(&mut self, calls: &[CallId], after: Duration, waiting_for: String) {
        let here = self.rank_on_host(self.rank);
        let calls: Vec<String> = calls.iter().filter_map(|call| self.description_of(*call)).collect();
        let waiter = if calls.is_empty() { here } else { format!("{here}, in {}", calls.join(", or ")) };
        let waiting_for = match self.inbox.take_story() {
            Some(story) if !story.is_empty() => format!("{waiting_for} ({story})"),
            _ => waiting_for,
        };
        self.tell(Fault::TimedOut { waiter, after, waiting_for });
    }
}
