//! The core: joins protocol, runs, buffers and transports. One thread at a time, under the engine's lock.
//!
//! Invariant: when a public method returns, every action of the protocol has been carried out and every
//! completion handed on, so the protocol's queues are empty. `mismatch` has what happens when ranks do not call the same.

mod mismatch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringworld_protocol::{
    Action, BufferId, Completion, Config, Element, Envelope, Failure, Incoming, Key, Kind, Machine, Matched,
    MatchedId, Mode, Place, RequestId, Selector, Span,
};
use ringworld_transport::{
    Cause, Event, Header, Operation, Placement, Placer, RecvMemory, Region, RemoteKey, SendMemory, Token,
};

use super::inbox::{Inbox, Left, Notice};
use super::router::{Fate, Registrations, Router};
use super::runs::{Disagreement, Made, RunId, Runs, Start, is_reminder};
use super::shell::Drive;
use super::slots::{Returned, SlotId, Slots};
use super::wait::For;
use super::waiters::{Topic, Watchers};
use super::{Control, Parts};
use crate::buffer::Buffers;
use crate::error::Fault;
use crate::reduce::Panicked;
use mismatch::{Desertion, Doubts};

/// The data plane often hears of a death before the control plane has told who died first: a survivor
/// that gives up closes its connections too. So a lost connection is only a suspicion for this long, in
/// which the control plane's verdict wins. Well inside the promised second.
const VERDICT: Duration = Duration::from_millis(300);

/// Collectives that only send poll at most so often. To poll at each costs a system call beside the one that sends: a
/// twelfth of a loop of short broadcasts between two ranks.
const UNSEEN: Duration = Duration::from_micros(50);

/// The token of messages that nobody waits for.
const NOBODY: Token = Token(u64::MAX);

/// Who waits for a request of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Slot(SlotId),
    Step { run: RunId, step: u32 },
}

/// How far a call has come when it begins to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It is over already, and all is well.
    Ended,
    /// Its ending will be there.
    Waits(SlotId),
}

impl From<SlotId> for Begun {
    fn from(slot: SlotId) -> Self {
        Self::Waits(slot)
    }
}

struct Suspect {
    rank: usize,
    cause: String,
    until: Instant,
}

pub(crate) struct Core {
    // First, so that it goes first: transports hold what the others own.
    router: Router,
    pub(crate) machine: Machine,
    pub(crate) buffers: Buffers,
    pub(crate) slots: Slots,
    pub(crate) watchers: Watchers,
    runs: Runs,
    owners: Vec<Option<(RequestId, Owner)>>,
    events: Vec<Event>,
    fates: Vec<(usize, Fate)>,
    fault: Option<Fault>,
    suspect: Option<Suspect>,
    desertion: Option<Desertion>,
    doubts: Doubts,
    /// Ranks that have left in good order, by the word of the control plane or of a transport.
    finished: Vec<bool>,
    /// Peers that have finished and whose transport has let go of everything, until the rest of the poll that said so
    /// has been heard.
    farewells: Vec<usize>,
    /// Transports that have not finished closing; `None` before the end begins.
    closing: Option<usize>,
    /// The call under way is a non-blocking send: there will be another call, or the helper.
    soon: bool,
    /// Messages may have been put off until the next poll.
    put_off: bool,
    /// How often [`Core::progress`] has been called.
    polls: u64,
    /// When a collective that only sends has polled last.
    looked: Option<Instant>,
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
        Ok(Self {
            machine: Machine::new(config),
            buffers: Buffers::new(),
            slots: Slots::default(),
            watchers: Watchers::default(),
            runs: Runs::default(),
            router: Router::new(parts.rank, parts.transports, parts.routes),
            owners: Vec::new(),
            events: Vec::new(),
            fates: Vec::new(),
            fault: None,
            suspect: None,
            desertion: None,
            doubts: Doubts::default(),
            finished: vec![false; size],
            farewells: Vec::new(),
            closing: None,
            soon: false,
            put_off: false,
            polls: 0,
            looked: None,
            control: parts.control,
            inbox: parts.inbox,
            hosts: parts.hosts,
            rank: parts.rank,
        })
    }

    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    // ---- calls from above ------------------------------------------------------------------------

    /// Begins a send from lent memory.
    pub(crate) fn send(
        &mut self,
        to: usize,
        envelope: Envelope,
        buffer: BufferId,
        len: usize,
        mode: Mode,
    ) -> SlotId {
        let slot = self.slots.insert([Some(buffer), None]);
        if self.refuses(slot) {
            return slot;
        }
        let request = self.machine.send(to, envelope, Span { buffer, offset: 0, len }, mode);
        self.own(request, Owner::Slot(slot));
        self.slots.name(slot, request);
        self.settle();
        slot
    }

    /// Sends from lent memory, from a call that waits: most small messages leave at once, and then there is
    /// nothing to remember. That saves a third of the instructions of a send.
    pub(crate) fn send_now(
        &mut self,
        to: usize,
        envelope: Envelope,
        buffer: BufferId,
        len: usize,
        mode: Mode,
    ) -> Begun {
        if mode != Mode::Standard || self.fault.is_some() {
            return Begun::Waits(self.send(to, envelope, buffer, len, mode));
        }
        let Some(departure) = self.machine.depart(to, &envelope, len) else {
            return Begun::Waits(self.send(to, envelope, buffer, len, mode));
        };
        let data = Span { buffer, offset: 0, len };
        let (header, token) = (wire_header(&departure.header), Token(departure.token));
        let message = Operation::Message { peer: to, header, payload: self.buffers.to_send(data), token };
        let fate = self.router.post(message, false);
        if let Fate::Done(_) = fate {
            self.buffers.reclaim(buffer);
            return Begun::Ended;
        }
        let request = self.machine.adopt(to, &envelope, data);
        let slot = self.slots.insert([Some(buffer), None]);
        self.own(request, Owner::Slot(slot));
        self.slots.name(slot, request);
        self.meet(to, fate);
        self.settle();
        Begun::Waits(slot)
    }

    /// Begins a send like [`Core::send`], from a call that does not wait: messages that are not long may leave together
    /// with others in a row to one peer, at the next poll. Measured, 64 messages of 8 bytes take 1.1 us each instead of 6.
    pub(crate) fn send_soon(
        &mut self,
        to: usize,
        envelope: Envelope,
        buffer: BufferId,
        len: usize,
        mode: Mode,
    ) -> SlotId {
        self.soon = true;
        let slot = self.send(to, envelope, buffer, len, mode);
        self.soon = false;
        slot
    }

    /// Whether anything has to be driven although nobody waits for it.
    pub(crate) fn has_work(&self) -> bool {
        // After the end nothing moves any more, whatever is left: a helper that drove on would keep the engine alive.
        self.fault.is_none()
            && (self.slots.under_way() > 0 || self.put_off || self.watchers.tasks() > 0 || self.owes())
    }

    /// Begins a receive into lent memory.
    pub(crate) fn receive(
        &mut self,
        selector: Selector,
        element: Element,
        buffer: BufferId,
        len: usize,
    ) -> SlotId {
        self.hear_first();
        let slot = self.slots.insert([Some(buffer), None]);
        if self.refuses(slot) {
            return slot;
        }
        let request = self.machine.receive(selector, Span { buffer, offset: 0, len }, element);
        self.own(request, Owner::Slot(slot));
        self.slots.name(slot, request);
        self.settle();
        slot
    }

    /// Begins the receive of a message that a matched probe has set aside.
    pub(crate) fn receive_matched(
        &mut self,
        matched: MatchedId,
        element: Element,
        buffer: BufferId,
        len: usize,
    ) -> SlotId {
        let slot = self.slots.insert([Some(buffer), None]);
        if self.refuses(slot) {
            return slot;
        }
        let request = self.machine.receive_matched(matched, Span { buffer, offset: 0, len }, element);
        self.own(request, Owner::Slot(slot));
        self.slots.name(slot, request);
        self.settle();
        slot
    }

    /// Begins a collective. The lent buffers are in `start`. Says its number in the communicator as well.
    pub(crate) fn run(&mut self, start: Start) -> (SlotId, u32) {
        let slot = self.slots.insert([start.input, start.output]);
        let context = start.context;
        // Who only sends does not wait, and would not see that others call something else.
        if start.schedule.receives() == 0 && !self.is_alone() {
            let now = Instant::now();
            if self.looked.is_none_or(|looked| now - looked >= UNSEEN) {
                self.looked = Some(now);
                self.progress();
            }
        }
        if self.refuses(slot) {
            return (slot, self.runs.next(context));
        }
        let Made { run, sequence, clash } = self.runs.insert(start, slot, &mut self.buffers);
        if let Some((source, disagreement)) = clash {
            self.disagree(source, context, &disagreement);
            return (slot, sequence);
        }
        self.advance(run);
        self.settle();
        (slot, sequence)
    }

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

    /// Frees memory that has been left, now or when the operation on it has ended.
    fn let_go(&mut self, left: Left) {
        let Left { slot, registrations, memory } = left;
        // First: without an operation, or if it has ended already, the memory goes at once.
        self.deregister(registrations);
        let Some(slot) = slot else { return };
        let receives = memory.received().is_some();
        self.slots.detach(slot, memory);
        // Everything but receives goes on to its end. A message on its way comes to its end, too, but for others.
        if let Some(request) = self.slots.request(slot)
            && receives
            && !self.machine.cancel(request)
            && let Some(name) = self.machine.abandon(request)
        {
            self.slots.returns_to(slot, name);
            self.watchers.ring_if(|topic| topic != Topic::End);
        }
    }

    /// Gives messages back that receives have got which nobody waits for any more: a dropped receive loses nothing.
    #[cold]
    fn give_back(&mut self) {
        for Returned { done, kept, to } in self.slots.returned() {
            let Some(bytes) = kept.received().and_then(|received| received.get(..done.len)) else { continue };
            let Some(name) = to.or_else(|| self.machine.give_back(&done)) else { continue };
            if !bytes.is_empty() {
                self.buffers.keep(name, bytes);
            }
            if to.is_some() {
                self.machine.delivered(name);
            }
            if !self.watchers.is_empty() {
                self.watchers.ring(Topic::Message(done.envelope.context));
            }
        }
    }

    /// See [`Runs::forget`].
    pub(crate) fn forget(&mut self, context: u64) -> bool {
        self.runs.forget(context)
    }

    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.runs.remembered()
    }

    pub(crate) fn probe(&mut self, selector: &Selector) -> Option<Incoming> {
        self.hear_first();
        self.machine.probe(selector)
    }

    pub(crate) fn take(&mut self, selector: &Selector) -> Option<Matched> {
        self.hear_first();
        self.machine.take(selector)
    }

    /// Before a message is looked for: this thread may have dropped a receive while another had the lock, whose message is to
    /// be given back first.
    #[inline]
    fn hear_first(&mut self) {
        if self.inbox.is_full() {
            self.read_inbox();
        }
    }

    /// Withdraws a receive; `false` when it has matched already.
    pub(crate) fn cancel(&mut self, slot: SlotId) -> bool {
        let cancelled = self.slots.request(slot).is_some_and(|request| self.machine.cancel(request));
        self.settle();
        cancelled
    }

    /// After a fault every new call ends at once.
    fn refuses(&mut self, slot: SlotId) -> bool {
        let refused = self.fault.is_some();
        if refused {
            self.slots.end(slot, Err(Failure::Aborted), &mut self.buffers);
        }
        refused
    }

    // ---- progress ----------------------------------------------------------------------------------

    /// Moves whatever can be moved without waiting; whether anything did.
    pub(crate) fn progress(&mut self) -> bool {
        self.polls += 1;
        self.put_off = false;
        if self.inbox.is_full() {
            self.read_inbox();
        }
        if self.fault.is_some() {
            return false;
        }
        let mut placing = Placing {
            machine: &mut self.machine,
            buffers: &mut self.buffers,
            runs: &mut self.runs,
            clash: None,
            reminders: 0,
            reminded: Vec::new(),
            announced: Announced::default(),
        };
        let moved = self.router.poll(&mut placing, &mut self.events, &mut self.fates);
        let Placing { clash, reminders, reminded, announced, .. } = placing;
        // A peer that says it is waiting has brought nothing forward.
        let moved = moved && (reminders == 0 || self.events.len() > reminders);
        if let Some((source, context, disagreement)) = clash {
            self.disagree(source, context, &disagreement);
        }
        // Asked first: most polls find nothing.
        if !self.fates.is_empty() {
            let mut fates = std::mem::take(&mut self.fates);
            fates.drain(..).for_each(|(peer, fate)| self.meet(peer, fate));
            self.fates = fates;
        }
        if !self.events.is_empty() {
            let mut events = std::mem::take(&mut self.events);
            events.drain(..).for_each(|event| self.hear(event));
            self.events = events;
        }
        if !self.farewells.is_empty() {
            for peer in std::mem::take(&mut self.farewells) {
                self.peer_finished(peer);
                self.machine.peer_down(peer);
            }
        }
        self.drop_reminders(reminded);
        self.judge_desertion();
        if let Some(suspect) = self.suspect.take_if(|suspect| Instant::now() >= suspect.until) {
            self.fail(Fault::Peer { rank: suspect.rank, cause: suspect.cause });
        }
        self.settle();
        if !self.watchers.is_empty() {
            self.tell_watchers(announced, moved);
        }
        if self.slots.has_held() || self.buffers.has_held() {
            self.slots.end_held(&mut self.buffers);
            self.buffers.retire_held();
            self.settle();
        }
        moved
    }

    /// Wakes those who wait for what a poll may have brought: a message that nobody has asked for, a step to the end.
    #[cold]
    fn tell_watchers(&mut self, announced: Announced, moved: bool) {
        self.watchers.ring_if(|topic| match topic {
            Topic::Message(context) => announced.has(context),
            Topic::End => moved,
        });
    }

    /// Whether it is safe to sleep until a transport or the inbox has news, and for how long at most.
    pub(crate) fn arm(&mut self) -> Option<Option<Duration>> {
        if self.inbox.is_full() || !self.router.arm() {
            return None;
        }
        let desertion = self.desertion.as_ref().map(Desertion::until);
        let verdicts = [self.suspect.as_ref().map(|s| s.until), desertion, self.doubts.until()];
        Some(verdicts.into_iter().flatten().min().map(|at| at.saturating_duration_since(Instant::now())))
    }

    /// Writes what was put off, if anything was.
    pub(crate) fn catch_up(&mut self) {
        if self.put_off {
            self.progress();
        }
    }

    fn hear(&mut self, event: Event) {
        if self.fault.is_some() {
            return;
        }
        match event {
            Event::Sent { token } if token == NOBODY => {}
            Event::Sent { token } => self.machine.sent(token.0),
            Event::Received { token, .. } => {
                if let Some(completion) = self.machine.conclude(token.0) {
                    self.complete(completion);
                }
            }
            Event::Filled { token } => self.machine.filled(token.0),
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
        if self.machine.has_news() || self.slots.has_returned() {
            self.carry_out();
        }
    }

    fn carry_out(&mut self) {
        loop {
            while let Some(action) = self.machine.next_action() {
                self.act(action);
            }
            if let Some(completion) = self.machine.next_completion() {
                self.complete(completion);
            } else if self.slots.has_returned() {
                self.give_back();
            } else {
                break;
            }
        }
        if !self.watchers.is_empty() {
            self.watchers.ring(Topic::End);
        }
    }

    fn complete(&mut self, completion: Completion) {
        match self.owners.get_mut(completion.request.index()).and_then(Option::take) {
            None => {}
            Some((_, Owner::Slot(slot))) => {
                self.slots.end(slot, completion.outcome.map(Some), &mut self.buffers);
            }
            Some((_, Owner::Step { run, step })) => match completion.outcome {
                Ok(done) => match self.runs.step_done(run, step, done.len) {
                    Ok(()) => self.advance(run),
                    Err(detail) => self.step_wrong(detail),
                },
                Err(failure) => self.step_failed(run, step, failure),
            },
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Message { peer, header, payload, token } => {
                let header = wire_header(&header);
                let payload = payload.map_or_else(SendMemory::empty, |span| self.buffers.to_send(span));
                let token = token.map_or(NOBODY, Token);
                let message = Operation::Message { peer, header, payload, token };
                let fate = self.router.post(message, self.soon);
                self.put_off |= self.soon;
                self.meet(peer, fate);
            }
            Action::Put { peer, key, offset, payload, token } => {
                let Some(key) = RemoteKey::new(key.as_bytes()) else { return };
                let payload = self.buffers.to_send(payload);
                let put = Operation::Put { peer, key, offset, payload, token: Token(token) };
                let fate = self.router.post(put, false);
                self.meet(peer, fate);
            }
            Action::Expose { peer, into, token } => {
                let memory = self.buffers.to_receive(into);
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

    fn meet(&mut self, peer: usize, fate: Fate) {
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

    fn advance(&mut self, run: RunId) {
        let owners = &mut self.owners;
        let done = self.runs.advance(run, &mut self.machine, &mut self.buffers, |issued| {
            own(owners, issued.request, Owner::Step { run, step: issued.step });
        });
        match done {
            Ok(None) => {}
            Ok(Some(slot)) => self.slots.end(slot, Ok(None), &mut self.buffers),
            Err(panicked) => self.operation_panicked(&panicked),
        }
    }

    fn own(&mut self, request: RequestId, owner: Owner) {
        own(&mut self.owners, request, owner);
    }

    // ---- failure -------------------------------------------------------------------------------------

    /// The control plane says that a rank has left in good order. It knows nothing of what that rank has sent before: the
    /// connection to it, where there is one, has that to say, and its end in its turn.
    fn has_left(&mut self, rank: usize) {
        if self.router.is_linked(rank) {
            if let Some(finished) = self.finished.get_mut(rank) {
                *finished = true;
            }
        } else {
            self.peer_finished(rank);
        }
        // The connection may have been lost a moment before.
        if self.suspect.take_if(|suspect| suspect.rank == rank).is_some() {
            self.peer_finished(rank);
            self.machine.peer_down(rank);
            self.settle();
        }
    }

    /// Everything that a peer has sent has been heard of, and it has left in good order.
    fn peer_finished(&mut self, rank: usize) {
        if self.fault.is_some() {
            return;
        }
        if let Some(finished) = self.finished.get_mut(rank) {
            *finished = true;
        }
        self.machine.peer_closed(rank);
        self.settle();
        // Those who wait for a message of that rank, too.
        self.watchers.ring_if(|_| true);
    }

    /// A transport has lost a peer, and let go of everything that had to do with it.
    fn down(&mut self, rank: usize, cause: Cause) {
        let has_left = self.finished.get(rank).copied().unwrap_or(true);
        if cause != Cause::Finished && (has_left || self.closing.is_some()) {
            self.doubt(rank);
        }
        if cause == Cause::Finished || has_left {
            // Messages of that peer may still lie among the events of this poll.
            self.farewells.push(rank);
        } else {
            self.lost(rank, cause);
        }
    }

    /// A connection has been lost, which may be the death of that peer or the echo of another's.
    fn lost(&mut self, rank: usize, cause: Cause) {
        if self.fault.is_some() || self.finished.get(rank).copied().unwrap_or(true) {
            return;
        }
        self.control.peer_lost(rank, &cause.to_string());
        if self.suspect.is_none() {
            let until = Instant::now() + VERDICT;
            self.suspect = Some(Suspect { rank, cause: cause.to_string(), until });
        }
    }

    /// A user's operation panicked: its result is lost, and with it what the other ranks wait for.
    fn operation_panicked(&mut self, what: &Panicked) {
        let host = self.hosts.get(self.rank).map_or("an unknown host", String::as_str);
        let Panicked { op, message } = what;
        let rank = self.rank;
        let detail =
            format!("the user-defined operation {op:?} panicked on rank {rank} on {host}: {message}");
        self.tell(Fault::Panicked { detail });
    }

    /// A transport cannot go on, and nobody but this process is to blame.
    fn broken(&mut self, cause: String) {
        self.tell(Fault::System {
            detail: format!("{} cannot go on: {cause}", self.rank_on_host(self.rank)),
        });
    }

    /// Ends the world for all ranks because this one has panicked where it cannot go on.
    pub(crate) fn give_up(&mut self, cause: &str) {
        if self.fault.is_none() {
            let detail = format!("rank {} gave up: {cause}", self.rank);
            self.tell(Fault::Panicked { detail });
        }
    }

    /// Ends the world here: first the transports let go of all memory, then every call ends.
    pub(crate) fn fail(&mut self, fault: Fault) {
        if self.fault.is_some() {
            return;
        }
        self.fault = Some(fault);
        (self.suspect, self.desertion) = (None, None);
        self.doubts = Doubts::default();
        self.closing = Some(0);
        self.router.abort();
        self.machine.fail_all();
        self.settle();
        for slot in self.runs.remove_all(&mut self.buffers) {
            self.slots.end(slot, Err(Failure::Aborted), &mut self.buffers);
        }
        self.buffers.release_all();
        self.slots.end_held(&mut self.buffers);
        self.buffers.retire_held();
        self.watchers.ring_if(|_| true);
    }

    /// Why no message for `selector` can come any more, if that is so.
    pub(crate) fn ended(&self, selector: &Selector) -> Option<Failure> {
        self.machine.ended(selector.source)
    }

    // ---- the end ---------------------------------------------------------------------------------------

    /// From here on nobody asks for messages any more that nobody has asked for yet: their senders hear of it, instead of
    /// waiting for a receiver that waits, in its own end, for somebody else.
    pub(super) fn leave(&mut self) {
        self.machine.leave();
        self.settle();
    }

    /// Whether nothing that has been begun keeps this rank: no collective, nothing to send, no doubt about a peer.
    pub(super) fn owes_nothing(&self) -> bool {
        self.suspect.is_none() && self.runs.slots().next().is_none() && self.has_sent_all()
    }

    /// Begins the orderly end: everything sent is still delivered.
    pub(crate) fn close(&mut self) {
        if self.closing.is_none() {
            self.closing = Some(self.router.close());
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closing == Some(0) && self.doubts.is_empty()
    }

    /// Whether everything that was sent has left, or has at least been handed to a transport that will
    /// deliver it before it closes.
    pub(crate) fn has_sent_all(&self) -> bool {
        let sending = |request: RequestId| {
            self.machine.describe(request).is_some_and(|description| description.kind != Kind::Receive)
        };
        self.router.is_flowing() && !self.owners.iter().flatten().any(|(request, _)| sending(*request))
    }
}

impl Drive for Core {
    /// The hosts, by rank.
    type Known = Arc<[String]>;

    fn progress(&mut self) -> bool {
        Self::progress(self)
    }

    fn polls(&self) -> u64 {
        self.polls
    }

    fn has_work(&self) -> bool {
        Self::has_work(self)
    }

    fn owes(&self) -> bool {
        self.router.owes()
    }

    fn catch_up(&mut self) {
        Self::catch_up(self);
    }

    fn arm(&mut self) -> Option<Option<Duration>> {
        Self::arm(self)
    }

    fn has_sleepers(&self) -> bool {
        self.inbox.has_sleepers()
    }

    #[cold]
    fn wake_sleepers(&mut self) {
        // A time until which to sleep is one that they do not know.
        if self.fault.is_some() || self.arm() != Some(None) {
            self.inbox.wake();
        }
    }

    fn read_inbox(&mut self) {
        while let Some(notice) = self.inbox.take() {
            self.notice(notice);
        }
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Fault(fault) => self.fail(fault),
            Notice::Finished { rank } => self.has_left(rank),
            Notice::LastCalls { rank, calls } => self.heard_last_calls(rank, &calls),
            Notice::Left(left) => self.let_go(left),
            Notice::Released(matched) => self.machine.release(matched),
            Notice::Unwatched(watch) => self.watchers.remove(watch),
        }
        self.settle();
        if !self.watchers.is_empty() {
            self.watchers.ring(Topic::End);
        }
    }

    fn remind(&mut self, what: For<'_>) {
        match what {
            For::Slots(slots) => Self::remind(self, slots),
            For::Topic(_) => {
                let running: Vec<SlotId> = self.runs.slots().collect();
                Self::remind(self, &running);
            }
        }
    }

    fn time_out(&mut self, what: For<'_>, after: Duration, waiting_for: String) {
        let slots = if let For::Slots(slots) = what { slots } else { &[] };
        Self::time_out(self, slots, after, waiting_for);
    }

    fn slots(&mut self) -> &mut Slots {
        &mut self.slots
    }

    fn watchers(&mut self) -> &mut Watchers {
        &mut self.watchers
    }

    fn awaited(&self) -> usize {
        self.slots.awaited() + self.watchers.tasks()
    }

    #[inline]
    fn has_leaving(&self) -> bool {
        !(self.slots.leaving.is_empty() && self.watchers.leaving.is_empty())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.fail(Fault::Finalized);
    }
}

/// The protocol's header as the transports know headers.
fn wire_header(header: &ringworld_protocol::Header) -> Header {
    let (bytes, length) = header.with_room();
    Header::of(bytes, length)
}

fn own(owners: &mut Vec<Option<(RequestId, Owner)>>, request: RequestId, owner: Owner) {
    let index = request.index();
    if owners.len() <= index {
        owners.resize(index + 1, None);
    }
    owners[index] = Some((request, owner));
}

/// Answers the transports' one question, and compares stamps on the way.
struct Placing<'a> {
    machine: &'a mut Machine,
    buffers: &'a mut Buffers,
    runs: &'a mut Runs,
    clash: Option<(usize, u64, Disagreement)>,
    /// How many reminders came, and those that the protocol still has.
    reminders: usize,
    reminded: Vec<(usize, Envelope)>,
    announced: Announced,
}

/// In which contexts of users messages have come, well enough to wake those who wait for one.
#[derive(Clone, Copy, Debug, Default)]
enum Announced {
    #[default]
    None,
    In(u64),
    Several,
}

impl Announced {
    fn add(&mut self, context: u64) {
        *self = match *self {
            Self::None => Self::In(context),
            Self::In(other) if other == context => Self::In(context),
            Self::In(_) | Self::Several => Self::Several,
        };
    }

    fn has(self, context: u64) -> bool {
        match self {
            Self::None => false,
            Self::In(other) => other == context,
            Self::Several => true,
        }
    }
}

impl Placer for Placing<'_> {
    fn place(&mut self, peer: usize, header: &[u8], length: usize) -> Result<Placement, String> {
        let target = self.machine.header(peer, header, length).map_err(|malformed| malformed.to_string())?;
        if let Some(envelope) = target.announces
            && !is_collective(envelope.context)
        {
            self.announced.add(envelope.context);
        } else if let Some(envelope) = target.announces {
            if is_reminder(envelope.tag) {
                self.reminders += 1;
                self.reminded.push((peer, envelope));
            }
            if let Some(disagreement) = self.runs.arrive(peer, &envelope) {
                self.clash.get_or_insert((peer, envelope.context, disagreement));
            }
        }
        let memory = match target.place {
            Place::Span(span) => self.buffers.to_receive(span),
            Place::Bounce { len } => self.buffers.bounce(target.token, len),
            Place::Nothing => RecvMemory::empty(),
        };
        Ok(Placement { token: Token(target.token), memory })
    }
}

/// Each communicator has two contexts: even for messages of the user, odd for collectives.
pub(crate) fn is_collective(context: u64) -> bool {
    context % 2 == 1
}
