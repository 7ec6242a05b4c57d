//! The core: joins protocol, runs, buffers and transports. One thread at a time, under the engine's lock.
//!
//! Invariant: when a public method returns, every action of the protocol has been carried out and every
//! completion handed on, so the protocol's queues are empty.
//!
//! ```text
//! core.rs        calls from above, progress, and what the protocol asks for
//! drive.rs       the core as its shell sees it
//! exchange.rs    what ranks show one another instead of messages
//! failure.rs     peers that are lost or leave, and the end of the world by a fault
//! line.rs        short receives that are not posted yet
//! mismatch.rs    when ranks do not call the same
//! placing.rs     where the payload of a message goes
//! short.rs       the short path of small messages
//! shutdown.rs    the end in good order
//! suspicion.rs   what is not certain yet
//! traced.rs      the ways apart of a rank that is traced
//! whereabouts.rs what this rank is doing, for those who ask from outside
//! ```

mod drive;
mod exchange;
mod failure;
mod letting_go;
mod line;
mod mismatch;
mod placing;
mod short;
mod shutdown;
mod suspicion;
mod traced;
mod whereabouts;

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use ringworld_protocol::{
    Action, BufferId, Completion, Config, Done, Element, Envelope, Expected, Failure, Incoming, Key, Machine,
    Matched, MatchedId, Mode, RequestId, Selector, Span,
};
use ringworld_transport::{Cause, Event, Header, Operation, Region, RemoteKey, SendMemory, Token};

use self::line::Line;
pub(crate) use self::placing::Expecting;
use self::placing::{Announced, Completed, Placing};
use self::suspicion::{Desertion, Doubts, Suspects};
use super::buffer::Buffers;
use super::calls::{CallId, Calls, Ending};
use super::fault::Fault;
use super::inbox::Inbox;
use super::observe::Observed;
use super::owners::{Owner, Owners, RunId};
use super::parts::{Control, Parts};
use super::router::{Fate, Posting, Registrations, Router};
use super::runs::{CollectiveCall, Made, Patience, Runs, Wires};
use super::shell::Drive;
use super::sleepers::Sleepers;
use super::tracer::Tracer;
use super::waiters::{Topic, WatchId, Watchers};

/// Collectives that only send poll at most so often. To poll at each costs a system call beside the one that sends: a
/// twelfth of a loop of short broadcasts between two ranks.
const UNSEEN: Duration = Duration::from_micros(50);

/// How many times as long as for what is shown a caller who looks waits for room to show something: those who are
/// behind make some for a few collectives together.
const ROOM: usize = 4;

/// The token of messages that nobody waits for.
const NOBODY: Token = Token(u64::MAX);

/// Messages may have been deferred until the next poll.
const DEFERRED: u8 = 1;

/// That the call is over is to be noted.
const TRACED: u8 = 2;

/// How far a call has come when it begins to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is over already, and all is well.
    Ended,
    /// Its ending will be there.
    Waits(CallId),
}

/// A collective that has begun.
pub(crate) struct Entered {
    /// Its number in the communicator.
    pub(crate) sequence: u32,
    /// `None`: nothing is under way, because the world is over, or the collective is.
    pub(crate) run: Option<RunId>,
}

/// What an engine moves, all of it under one lock: see the contract of this crate.
pub struct Core {
    // First, so that it goes first: transports hold what the others own.
    router: Router,
    pub(crate) machine: Machine,
    pub(crate) buffers: Buffers,
    pub(crate) calls: Calls,
    pub(crate) watchers: Watchers,
    runs: Runs,
    owners: Owners,
    line: Line,
    pub(crate) observed: Observed,
    sleepers: Sleepers,
    events: Vec<Event>,
    /// Receives that have ended within a poll.
    completed: Vec<Completed>,
    fates: Vec<(usize, Fate)>,
    fault: Option<Fault>,
    /// The world is over, or this rank is traced: calls go apart from the ordinary way, which asks for this alone.
    apart: bool,
    suspects: Suspects,
    desertion: Option<Desertion>,
    doubts: Doubts,
    /// Ranks that have left in good order, by the word of the control plane or of a transport.
    finished: Vec<bool>,
    /// Peers that have finished and whose transport has let go of everything, until the rest of the poll that said so
    /// has been heard.
    departed: Vec<usize>,
    /// Transports that have not finished closing; `None` before the end begins.
    closing: Option<usize>,
    /// What is to be done when a call ends: [`DEFERRED`], [`TRACED`].
    afterwards: u8,
    /// How often [`Core::progress`] has been called.
    polls: u64,
    /// When a collective that only sends has polled last.
    looked: Option<Instant>,
    /// How many that may be over at once have not polled since one did.
    unheard: u32,
    /// The system's clock when one of them that only sends has last looked at it: seconds and nanoseconds.
    tick: (i64, i64),
    control: Arc<dyn Control>,
    inbox: Arc<Inbox>,
    hosts: Arc<[String]>,
    /// This process's own, in the world.
    rank: usize,
}

impl Core {
    pub(crate) fn new(parts: Parts) -> Result<Self, String> {
        let size = parts.routes.len();
        let mut config = Config::new(parts.rank, size, parts.limits.eager, parts.limits.window)
            .map_err(|error| error.to_string())?;
        if let Some(requests) = parts.limits.requests {
            config = config.with_requests(requests);
        }
        let router = Router::new(parts.rank, parts.transports, parts.routes);
        let traced = parts.trace.is_some();
        let tracer = parts.trace.map(|recorder| Box::new(Tracer::new(recorder, router.brief())));
        Ok(Self {
            machine: Machine::new(config),
            buffers: Buffers::new(),
            calls: Calls::default(),
            watchers: Watchers::default(),
            runs: Runs::default(),
            router,
            owners: Owners::default(),
            line: Line::default(),
            observed: Observed::new(size, tracer),
            sleepers: Sleepers::default(),
            events: Vec::new(),
            completed: Vec::new(),
            fates: Vec::new(),
            fault: None,
            apart: traced,
            suspects: Suspects::default(),
            desertion: None,
            doubts: Doubts::default(),
            finished: vec![false; size],
            departed: Vec::new(),
            closing: None,
            afterwards: if traced { TRACED } else { 0 },
            polls: 0,
            looked: None,
            unheard: 0,
            tick: (0, 0),
            control: parts.control,
            inbox: parts.inbox,
            hosts: parts.hosts,
            rank: parts.rank,
        })
    }

    /// Why the world is over, if it is.
    #[must_use]
    #[inline]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    // ---- calls from above ------------------------------------------------------------------------

    /// Begins a send of lent memory. From a call that does not wait it is coalesced: messages that are not long may
    /// leave together with others in a row to one peer, at the next poll. Measured, 64 messages of 8 bytes take 1.1 us
    /// each instead of 6.
    pub(crate) fn send(
        &mut self,
        to: usize,
        envelope: Envelope,
        data: Span,
        mode: Mode,
        posting: Posting,
    ) -> CallId {
        let call = self.calls.insert([data.buffer, None]);
        if self.refuses(call) {
            return call;
        }
        if mode == Mode::Standard && !self.router.coalesces(to) && self.inject(to, &envelope, data) {
            self.calls.end(call, Ok(None), &mut self.buffers);
            return call;
        }
        let request = self.machine.send(to, envelope, data, mode);
        self.give_to(call, request);
        self.settle_posting(posting);
        call
    }

    /// Sends lent memory, from a call that waits: most small messages leave at once, and then there is
    /// nothing to remember. That saves a third of the instructions of a send.
    #[inline]
    pub(crate) fn send_now(&mut self, to: usize, envelope: Envelope, data: Span, mode: Mode) -> Begun {
        if mode != Mode::Standard || self.apart {
            return self.send_apart(to, envelope, data, mode);
        }
        self.depart(to, envelope, data)
    }

    #[inline(always)]
    fn depart(&mut self, to: usize, envelope: Envelope, data: Span) -> Begun {
        let Some(departure) = self.machine.depart(to, &envelope, data.len) else {
            return Begun::Waits(self.send(to, envelope, data, Mode::Standard, Posting::Now));
        };
        let header = Header::written(|room| departure.encode(room).len());
        let token = Token(departure.token());
        let message = Operation::Message { peer: to, header, payload: self.buffers.to_send(data), token };
        let fate = self.router.post(message, Posting::Now);
        self.observed.sent(to, data.len);
        if let Fate::Done(_) = fate {
            departure.left();
            if let Some(lent) = data.buffer {
                self.buffers.reclaim(lent);
            }
            return Begun::Ended;
        }
        let request = departure.keep(data);
        let call = self.calls.insert([data.buffer, None]);
        self.give_to(call, request);
        self.posted(to, fate);
        self.settle();
        Begun::Waits(call)
    }

    /// Whether anything has to be driven although nobody waits for it.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        // After the end nothing moves any more, whatever is left: a helper that drove on would keep the engine alive.
        self.fault.is_none()
            && (self.calls.under_way() > 0 || self.is_deferred() || self.watchers.tasks() > 0 || self.owes())
    }

    /// Begins a receive into lent memory.
    #[inline]
    pub(crate) fn receive(&mut self, selector: Selector, element: Element, into: Span) -> CallId {
        self.hear_first();
        let call = self.calls.insert([into.buffer, None]);
        if self.machine.has_unexpected()
            && let Some(ending) = self.receive_arrived(&Expected { selector, element, room: into.len }, into)
        {
            self.calls.end(call, ending, &mut self.buffers);
            return call;
        }
        if !self.lines_up(call, selector, element, into) && !self.refuses(call) {
            let request = self.machine.receive(selector, into, element);
            self.give_to(call, request);
            self.settle();
        }
        call
    }

    /// Begins the receive of a message that a matched probe has set aside.
    #[inline]
    pub(crate) fn receive_matched(&mut self, matched: MatchedId, element: Element, into: Span) -> CallId {
        let call = self.calls.insert([into.buffer, None]);
        if !self.refuses(call) {
            let request = self.machine.receive_matched(matched, into, element);
            self.give_to(call, request);
            self.settle();
        }
        call
    }

    /// From here on the call ends with the request.
    #[inline]
    fn give_to(&mut self, call: CallId, request: RequestId) {
        self.owners.insert(request, Owner::Call(call));
        self.calls.name(call, request);
    }

    /// Begins a collective on lent memory, input and output, for a caller who does other things meanwhile; its number
    /// in the communicator, too.
    pub(crate) fn start_collective(
        &mut self,
        what: CollectiveCall,
        lent: [Option<BufferId>; 2],
    ) -> (CallId, u32) {
        let call = self.calls.insert(lent);
        let Entered { sequence, run } = self.enter(what, lent, Some(call), 1, false);
        if run.is_none() {
            let refused = self.refuses(call);
            debug_assert!(refused, "it was not begun");
        }
        (call, sequence)
    }

    /// Begins a collective that ends with `call`; without one, for a caller who polls for it under the lock. What is
    /// shown is looked for so often before it is entered; where nobody else waits for anything, the core may be left to
    /// others.
    #[inline]
    fn enter(
        &mut self,
        what: CollectiveCall,
        lent: [Option<BufferId>; 2],
        call: Option<CallId>,
        looks: usize,
        nobody_waits: bool,
    ) -> Entered {
        let context = what.what.context;
        // Who only sends does not wait, and would not see that others call something else.
        let only_sends = what.what.schedule.receives() == 0 && !self.is_alone();
        let may_be_over = call.is_none() && self.router.can_show() && what.what.exchange.is_some();
        let is_due = match (may_be_over, only_sends) {
            (true, _) => self.has_to_listen(only_sends),
            (false, true) => self.has_not_looked(),
            (false, false) => false,
        };
        if is_due {
            self.progress();
        }
        // In parts, or all of them would be moved once more for the sake of a rank that is traced.
        let CollectiveCall { what, mut reducer, caller, site } = what;
        if self.apart && self.enters_apart(&what, &mut reducer, caller, call.is_none()) {
            if let Some(operation) = reducer.kernel.take_last() {
                self.calls.leaving.drop(operation);
            }
            return Entered { sequence: self.runs.next(context), run: None };
        }
        let what = CollectiveCall { what, reducer, caller, site };
        let Made { run, sequence, clash } = self.runs.make(what, lent, call, &mut self.buffers);
        if let Some((source, disagreement)) = clash {
            // It ends with the world.
            self.runs.keep(run);
            self.disagree(source, context, &disagreement);
            return Entered { sequence, run: Some(run) };
        }
        if self.router.can_show() {
            let patience = match (&call, looks) {
                (Some(_), _) => Patience::None,
                (None, 1) if nobody_waits => Patience::Offers,
                (None, looks) => Patience::Looks(ROOM * (looks - 1)),
            };
            self.show(run, patience);
            if call.is_none() {
                match self.try_at_once(run, looks) {
                    Ok(true) => return Entered { sequence, run: None },
                    Ok(false) => {}
                    Err(panicked) => {
                        self.runs.keep(run);
                        self.operation_panicked(&panicked);
                        return Entered { sequence, run: Some(run) };
                    }
                }
            }
        }
        self.runs.keep(run);
        if call.is_none() {
            self.advance_polling(run);
        } else {
            self.advance(run);
        }
        self.settle();
        Entered { sequence, run: Some(run) }
    }

    /// Whether a collective that only sends is to poll before.
    fn has_not_looked(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.looked.is_none_or(|looked| now - looked >= UNSEEN);
        if is_due {
            self.looked = Some(now);
        }
        is_due
    }

    #[inline]
    fn is_alone(&self) -> bool {
        self.hosts.len() < 2
    }

    /// Has the transports register memory for many operations; see [`Router::register`]. Nothing is registered once the
    /// world is over.
    pub(crate) fn register(
        &mut self,
        region: impl Fn() -> Region,
        into: &mut Registrations,
    ) -> Result<(), Cause> {
        self.router.register(region, into)
    }

    /// Operations that are under way in the memory end as they would have.
    pub(crate) fn deregister(&mut self, registrations: Registrations) {
        self.router.deregister(registrations);
    }

    /// A message that a receive by `selector` would take, which stays where it is.
    pub fn probe(&mut self, selector: &Selector) -> Option<Incoming> {
        self.hear_first();
        self.machine.probe(selector)
    }

    /// The same, set aside for one receiver: a matched receive, or `Engine::release`.
    pub fn take_matched(&mut self, selector: &Selector) -> Option<Matched> {
        self.hear_first();
        self.machine.take_matched(selector)
    }

    /// Before a message is looked for: this thread may have dropped a receive while another had the lock, whose message
    /// is to be given back first.
    #[inline]
    fn hear_first(&mut self) {
        if self.inbox.is_full() {
            self.read_inbox();
        }
    }

    /// The ending of a call that is waited for, once there is one; the call is free for others then.
    #[inline]
    pub(crate) fn take_ending(&mut self, call: CallId) -> Option<Ending> {
        let ended = self.calls.take_ending(call);
        if ended.is_none() && self.is_forsaken(call) {
            self.forsake(call);
            return self.calls.take_ending(call);
        }
        ended
    }

    /// Whether an operation has ended, and its ending is to be taken.
    #[must_use]
    #[inline]
    pub fn is_done(&self, call: CallId) -> bool {
        self.has_ended(call) || self.is_forsaken(call)
    }

    /// The same, for whoever does not wait for the operation: a receive for which only this rank itself could still
    /// send is under way.
    #[must_use]
    #[inline]
    pub fn has_ended(&self, call: CallId) -> bool {
        self.calls.is_done(call)
    }

    /// A task waits for news of `topic`. The entry goes with the news, or by [`Core::unwatch`].
    pub fn watch(&mut self, topic: Topic, waker: Waker) -> WatchId {
        self.watchers.add_task(topic, waker)
    }

    /// A task waits no more, if it still did.
    pub fn unwatch(&mut self, watch: WatchId) {
        self.watchers.remove(watch);
    }

    /// After a fault every new call ends at once.
    #[inline]
    fn refuses(&mut self, call: CallId) -> bool {
        self.apart && self.refuses_apart(call)
    }

    #[inline]
    fn is_deferred(&self) -> bool {
        self.afterwards & DEFERRED != 0
    }

    // ---- progress ----------------------------------------------------------------------------------

    /// Moves whatever can be moved without waiting; whether anything did.
    pub fn progress(&mut self) -> bool {
        self.poll(None)
    }

    /// The same, on behalf of a caller who waits for something.
    fn poll(&mut self, expecting: Option<&mut Expecting<'_>>) -> bool {
        self.polls += 1;
        self.afterwards &= !DEFERRED;
        if self.inbox.is_full() {
            self.read_inbox();
        }
        if self.fault.is_some() {
            return false;
        }
        // Others would have to be woken for what is left.
        let may_leave = self.watchers.is_empty() && !self.inbox.has_sleepers();
        let mut placing = Placing {
            machine: &mut self.machine,
            buffers: &mut self.buffers,
            runs: &mut self.runs,
            clash: None,
            reminders: 0,
            reminded: Vec::new(),
            announced: Announced::default(),
            delivered: 0,
            completed: &mut self.completed,
            owners: &mut self.owners,
            calls: &mut self.calls,
            line: &mut self.line,
            observed: &mut self.observed,
            expecting,
            may_leave,
            has_enough: false,
        };
        let mut moved = self.router.poll(&mut placing, &mut self.events, &mut self.fates);
        let Placing { clash, reminders, reminded, announced, delivered, .. } = placing;
        // A peer that says it is waiting has brought nothing forward.
        moved = moved && (reminders == 0 || self.events.len() + delivered > reminders);
        if let Some((source, context, disagreement)) = clash {
            self.disagree(source, context, &disagreement);
        }
        // Asked first: most polls find nothing.
        if !self.fates.is_empty() {
            let mut fates = std::mem::take(&mut self.fates);
            fates.drain(..).for_each(|(peer, fate)| self.posted(peer, fate));
            self.fates = fates;
        }
        if !self.completed.is_empty() {
            let mut completed = std::mem::take(&mut self.completed);
            completed.drain(..).for_each(|(owner, outcome)| {
                // The fault has not found it among the pending ones.
                let outcome = if self.fault.is_none() { outcome } else { Err(Failure::Aborted) };
                self.end(owner, outcome);
            });
            self.completed = completed;
        }
        if !self.events.is_empty() {
            let mut events = std::mem::take(&mut self.events);
            events.drain(..).for_each(|event| self.hear(event));
            self.events = events;
        }
        if !self.departed.is_empty() {
            for peer in std::mem::take(&mut self.departed) {
                self.peer_finished(peer);
                self.machine.peer_down(peer);
            }
        }
        if self.runs.is_looking() {
            moved |= self.look();
        }
        self.drop_reminders(reminded);
        self.judge_desertion();
        // Asked first: mostly there are none.
        if !self.suspects.is_empty() {
            self.judge_suspects();
        }
        self.settle();
        if !self.watchers.is_empty() {
            self.tell_watchers(announced, moved);
        }
        if self.calls.has_held() || self.buffers.has_held() {
            self.calls.end_held(&mut self.buffers);
            self.buffers.retire_held();
            self.settle();
        }
        moved
    }

    /// Wakes those who wait for what a poll may have brought: a message that nobody has asked for, a step to the end.
    #[cold]
    fn tell_watchers(&mut self, announced: Announced, moved: bool) {
        self.watchers.notify_if(|topic| match topic {
            Topic::Message(context) => announced.has(context),
            Topic::End => moved,
        });
    }

    /// Whether it is safe to sleep until a transport or the inbox has news, and for how long at most.
    pub(crate) fn arm(&mut self) -> Option<Option<Duration>> {
        // Looked for once more after the transports have said that this rank sleeps.
        if self.inbox.is_full() || !self.router.arm() || self.runs.sees_anything(&mut self.router) {
            return None;
        }
        let desertion = self.desertion.as_ref().map(Desertion::until);
        let verdicts = [self.suspects.until(), desertion, self.doubts.until()];
        Some(verdicts.into_iter().flatten().min().map(|at| at.saturating_duration_since(Instant::now())))
    }

    /// Does what a call has left for its end, if anything: writes what was deferred.
    #[inline]
    pub(crate) fn catch_up(&mut self) {
        if self.afterwards != 0 {
            self.catch_up_apart();
        }
    }

    fn hear(&mut self, event: Event) {
        if self.fault.is_some() {
            return;
        }
        match event {
            Event::Sent { token } if token == NOBODY => {}
            Event::Sent { token } => self.machine.sent(token.0),
            Event::Received { token, peer } => {
                self.observed.received(peer, 0);
                if let Some(completion) = self.machine.conclude(token.0) {
                    self.complete(completion);
                }
            }
            Event::Filled { token } => self.machine.filled(token.0),
            Event::Undelivered { peer } => self.undelivered(peer),
            Event::PeerDown { peer, cause } => self.down(peer, cause),
            Event::PeerClosed { peer } => self.peer_finished(peer),
            Event::Broken { cause } => self.broken(cause),
            Event::Closed => self.closing = self.closing.map(|left| left.saturating_sub(1)),
            _ => {}
        }
        self.settle();
    }

    /// Carries out the protocol's actions and hands its completions on, until there are none.
    #[inline]
    fn settle(&mut self) {
        self.settle_posting(Posting::Now);
    }

    /// The same, with messages that are posted so.
    #[inline]
    fn settle_posting(&mut self, posting: Posting) {
        if self.machine.has_news() || self.calls.has_returned() {
            self.carry_out(posting);
        }
    }

    fn carry_out(&mut self, posting: Posting) {
        loop {
            while let Some(action) = self.machine.next_action() {
                self.act(action, posting);
            }
            if let Some(completion) = self.machine.next_completion() {
                self.complete(completion);
            } else if self.calls.has_returned() {
                self.give_back();
            } else {
                break;
            }
        }
        if !self.watchers.is_empty() {
            self.watchers.notify(Topic::End);
        }
    }

    fn complete(&mut self, completion: Completion) {
        if let Some(owner) = self.owners.remove(completion.request) {
            self.end(owner, completion.outcome);
        }
    }

    /// Tells whose request it was how it has ended.
    fn end(&mut self, owner: Owner, outcome: Result<Done, Failure>) {
        match owner {
            Owner::Call(call) => self.calls.end(call, outcome.map(Some), &mut self.buffers),
            Owner::Step { run, step } => match outcome {
                Ok(done) => match self.runs.step_done(run, step, done.len) {
                    Ok(()) => self.advance(run),
                    Err(detail) => self.step_wrong(detail),
                },
                Err(failure) => self.step_failed(run, step, failure),
            },
        }
    }

    fn act(&mut self, action: Action, posting: Posting) {
        match action {
            Action::Message { peer, header, payload, token } => {
                let header = wire_header(&header);
                self.observed.sent(peer, payload.map_or(0, |span| span.len));
                let payload = payload.map_or_else(SendMemory::empty, |span| self.buffers.to_send(span));
                let token = token.map_or(NOBODY, Token);
                let message = Operation::Message { peer, header, payload, token };
                let fate = self.router.post(message, posting);
                self.afterwards |= if posting == Posting::Coalesced { DEFERRED } else { 0 };
                self.posted(peer, fate);
            }
            Action::Put { peer, key, offset, payload, token } => {
                let Some(key) = RemoteKey::new(key.as_bytes()) else { return };
                self.observed.put(peer, payload.len);
                let payload = self.buffers.to_send(payload);
                let put = Operation::Put { peer, key, offset, payload, token: Token(token) };
                let fate = self.router.post(put, Posting::Now);
                self.posted(peer, fate);
            }
            Action::Expose { peer, into, token } => {
                let memory = self.buffers.to_receive(into);
                self.observed.expects(peer, into.len);
                match self.router.expose(peer, memory, Token(token)) {
                    Ok(key) => match Key::new(key.as_bytes()) {
                        Some(key) => self.machine.exposed(token, key),
                        None => self.machine.expose_failed(token),
                    },
                    // This rank's own trouble: its receive fails, and the sender hears of it.
                    Err(Cause::Memory(_)) => self.machine.expose_failed(token),
                    Err(Cause::Finished) => self.machine.refused(token),
                    // It goes on to wait, for the verdict on the peer.
                    Err(cause) => self.lost(peer, cause),
                }
            }
            Action::Copy { bounce, into } => self.buffers.unbounce(bounce, into),
            Action::Release { bounce } => self.buffers.release(bounce),
        }
    }

    fn posted(&mut self, peer: usize, fate: Fate) {
        match fate {
            Fate::Done(token) if token == NOBODY => {}
            Fate::Done(token) => self.machine.sent(token.0),
            Fate::Pending => {}
            // One operation comes too late. What the transport has accepted before, it still holds.
            Fate::Lost(token, Cause::Finished) if token == NOBODY => {}
            Fate::Lost(token, Cause::Finished) => self.machine.refused(token.0),
            Fate::Lost(_, cause) => self.lost(peer, cause),
        }
    }

    #[inline]
    fn advance(&mut self, run: RunId) {
        self.advance_run(run, false);
    }

    /// The same, for a caller who polls for its messages under the lock.
    #[inline]
    fn advance_polling(&mut self, run: RunId) {
        self.advance_run(run, true);
    }

    /// Operations that nobody has any more are dropped when the lock is given back.
    #[cold]
    fn leave_operations(&mut self) {
        self.runs.left().for_each(|operation| self.calls.leaving.drop(operation));
    }

    /// Sends a short message of lent memory of which all leaves now; `false`: nothing has happened.
    #[inline]
    fn inject(&mut self, to: usize, envelope: &Envelope, data: Span) -> bool {
        let Self { machine, router, buffers, owners, observed, .. } = self;
        Wires { machine, router, buffers, owners, observed }.send_at_once(to, envelope, data)
    }

    #[inline]
    fn advance_run(&mut self, run: RunId, polls: bool) {
        let Self { machine, router, buffers, owners, observed, .. } = self;
        let mut wires = Wires { machine, router, buffers, owners, observed };
        let advanced = self.runs.advance(run, &mut wires, polls);
        let trouble = self.runs.take_trouble();
        let outcome = if trouble.is_some() { Err(Failure::Aborted) } else { Ok(None) };
        // First: what ends the world ends this call, too.
        if let Some(trouble) = trouble {
            self.seen(trouble);
        }
        match advanced {
            Ok(None) => {}
            Ok(Some(call)) => self.calls.end(call, outcome, &mut self.buffers),
            Err(panicked) => self.operation_panicked(&panicked),
        }
        if self.runs.has_left() {
            self.leave_operations();
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.fail(Fault::Finalized);
    }
}

/// The protocol's header as the transports know headers.
#[inline]
fn wire_header(header: &ringworld_protocol::Header) -> Header {
    Header::written(|room| header.encode(room).len())
}
