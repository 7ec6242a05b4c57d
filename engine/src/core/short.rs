//! The short path: a small message that leaves at once, and a receive whose message is there or comes at once.
//!
//! This file decides whether it may be taken; the ordinary path lies beneath it unchanged, and takes whatever this one
//! declines. On the short path nothing is entered anywhere: no name for the memory, no request, no call, no lease and
//! no event. That is possible because the lock is held from the beginning to the end, and because the caller's memory
//! is read or written within one call of a transport, as an ordinary slice.
//!
//! ```text
//! send        nothing waits for that peer, there is credit, all of it leaves now   depart ─▶ inject ─▶ left
//!             the same of one that is not waited for, if its transport does not coalesce
//! receive     nothing has come for it, and a poll brings all of its message       deliver ─▶ take_expected
//!             all of its message has come already                                take_arrived
//!             the same of one that is not waited for: it ends as it begins
//! collective  its sends as above; its receives are awaited, not posted            deliver ─▶ take_awaited
//!             all of one whose ranks show what they give, if it is there by now   show ─▶ look
//! ```
//!
//! Order: a receive of the short path that polls comes after all that are posted, and has those in line posted before
//! it; so whatever one of those accepts is not for it; and it takes no message while an earlier one that it accepts
//! lies here. One that takes what has come already passes nobody: what lies here is accepted by no receive that was
//! begun before. Messages of collectives have names of their own, and cannot be taken for one another. A collective is
//! a run as ever; but neither its messages are entered, nor its call, until its caller stops to poll, nor the run
//! itself before the first poll, which may bring a message for it.

use rustix::time::{ClockId, clock_gettime};

use ringworld_protocol::{Arrived, BufferId, Element, Envelope, Expected, Header, Mode, Selector, Span};

use super::super::calls::{CallId, Ending};
use super::super::observe::Told;
use super::super::owners::RunId;
use super::super::reduce::Panicked;
use super::super::runs::{CollectiveCall, Wires};
use super::placing::{AwaitedSteps, Expecting};
use super::{Begun, Core, Entered};

/// How often what is shown is looked for before a poll, which takes several times as long.
const LOOKS: usize = 4;

/// How many collectives in a row may be over at once without a poll, which takes as long as half of one.
const UNHEARD: u32 = 32;

impl Core {
    /// Sends a message on the short path, and says whether it has left; `false`: nothing has happened.
    #[inline(always)]
    pub(crate) fn send_short(
        &mut self,
        to: usize,
        envelope: &Envelope,
        mode: Mode,
        payload: &[u8],
        told: &Told,
    ) -> bool {
        if mode != Mode::Standard || self.apart || !self.router.may_inject(to, payload.len()) {
            return self.send_short_apart(to, envelope, mode, payload, told);
        }
        let left = self.leaves_now(to, envelope, payload);
        if left {
            self.observed.sent(to, payload.len());
        }
        left
    }

    /// The same, for a caller who does not wait. What is better coalesced, or traced, goes the ordinary way.
    #[inline]
    pub(crate) fn send_unawaited(
        &mut self,
        to: usize,
        envelope: &Envelope,
        mode: Mode,
        payload: &[u8],
        told: &Told,
    ) -> bool {
        let left = mode == Mode::Standard
            && !self.apart
            && !self.router.coalesces(to)
            && self.router.may_inject(to, payload.len())
            && self.leaves_now(to, envelope, payload);
        if left {
            self.observed.begins(*told, payload.len());
            self.observed.sent(to, payload.len());
        }
        left
    }

    /// Injects a message that may be.
    #[inline(always)]
    pub(super) fn leaves_now(&mut self, to: usize, envelope: &Envelope, payload: &[u8]) -> bool {
        let Some(departure) = self.machine.depart(to, envelope, payload.len()) else { return false };
        let mut room = [0; Header::MAX];
        let left = self.router.inject(to, departure.encode(&mut room), payload);
        if left {
            departure.left();
        }
        left
    }

    /// Whether a receive may wait on the short path.
    #[inline]
    pub(crate) fn may_expect(&mut self, selector: &Selector, room: usize, told: &Told) -> bool {
        if self.apart || !self.router.delivers(selector.source, room) {
            return self.may_expect_apart(selector, room, told);
        }
        self.may_still_expect(selector)
    }

    /// The same, of one that waits there and has polled in vain.
    #[inline]
    pub(crate) fn may_go_on_expecting(&mut self, selector: &Selector) -> bool {
        if self.apart {
            return self.may_go_on_expecting_apart(selector);
        }
        self.may_still_expect(selector)
    }

    /// Receives a message that has come before it was asked for, if all of it is here.
    #[inline(never)]
    pub(crate) fn take_arrived(&mut self, expected: &Expected, into: &mut [u8]) -> Option<Ending> {
        if self.apart {
            return None;
        }
        self.hear_first();
        let Arrived { bounce, bytes, ending } = self.machine.take_arrived(expected)?;
        if let Some(bounce) = bounce {
            self.buffers.take(bounce, &mut into[..bytes]);
        }
        self.settle();
        Some(ending.map(Some))
    }

    /// The same into lent memory.
    pub(super) fn receive_arrived(&mut self, expected: &Expected, into: Span) -> Option<Ending> {
        if self.apart {
            return None;
        }
        let Arrived { bounce, bytes, ending } = self.machine.take_arrived(expected)?;
        if let Some(bounce) = bounce {
            if bytes > 0 {
                self.buffers.unbounce(bounce, into.cut(bytes));
            }
            self.buffers.release(bounce);
        }
        self.settle();
        Some(ending.map(Some))
    }

    #[inline]
    pub(super) fn may_still_expect(&mut self, selector: &Selector) -> bool {
        self.hear_first();
        self.post_line();
        self.machine.may_expect(selector)
    }

    /// Puts a receive in line, if it may be; `false`: it is to be posted, and so have been those in line.
    #[inline]
    pub(super) fn lines_up(
        &mut self,
        call: CallId,
        selector: Selector,
        element: Element,
        into: Span,
    ) -> bool {
        let may = !self.apart
            && self.line.has_room()
            && self.router.delivers(selector.source, into.len)
            && self.machine.may_expect(&selector);
        if may {
            self.line.push(call, selector, element, into);
        } else {
            self.post_line();
        }
        may
    }

    /// Posts what is in line: before anything else is, and before anybody looks at what is posted.
    #[inline]
    pub(super) fn post_line(&mut self) {
        if !self.line.is_empty() {
            self.line.post(&mut self.machine, &mut self.owners, &mut self.calls);
        }
    }

    /// Polls once for a receive on the short path.
    #[inline]
    pub(crate) fn poll_for(&mut self, expecting: &mut Expecting<'_>) -> Option<Ending> {
        self.poll(Some(expecting));
        match expecting {
            Expecting::Receive(expected) => expected.ending.take(),
            Expecting::Steps(_) | Expecting::Calls => None,
        }
    }

    /// Begins a collective for a caller who polls for it under the lock, see [`Core::poll_for_steps`], and then
    /// [stops](Core::stop_polling). Until then no call is entered.
    #[inline]
    pub(crate) fn begin_polling(
        &mut self,
        what: CollectiveCall,
        lent: [Option<BufferId>; 2],
        looks: usize,
        nobody_waits: bool,
    ) -> Entered {
        self.enter(what, lent, None, looks, nobody_waits)
    }

    /// Does all of a collective that has just been made, if what it wants is shown by the time it has been looked for
    /// so often; whether it is over.
    ///
    /// # Errors
    ///
    /// When a user's operation panics.
    #[inline]
    pub(super) fn try_at_once(&mut self, run: RunId, looks: usize) -> Result<bool, Panicked> {
        let Self { machine, router, buffers, owners, observed, .. } = self;
        let mut wires = Wires { machine, router, buffers, owners, observed };
        let over = self.runs.try_at_once(run, looks, &mut wires)?;
        // Not before it is kept if it is not over: until then nothing else may move.
        if over {
            if let Some(trouble) = self.runs.take_trouble() {
                self.seen(trouble);
            }
            self.settle();
        }
        Ok(over)
    }

    /// Whether a collective that may be over at once is to poll before: now and then, or nothing would be heard in a
    /// loop of them, neither of a fault nor of who calls something else; and always for what is under way besides. Who
    /// only sends does so as soon as the system's clock has ticked, too: in a loop of other things, that is each time.
    #[inline]
    pub(super) fn has_to_listen(&mut self, only_sends: bool) -> bool {
        self.unheard += 1;
        let has_to = self.unheard >= UNHEARD
            || self.inbox.is_full()
            || self.calls.under_way() > 0
            || only_sends && self.has_ticked();
        if has_to {
            self.unheard = 0;
        }
        has_to
    }

    /// Whether the system's clock has ticked since this was asked last, which it does every few milliseconds. To read a
    /// finer one takes a tenth of a short broadcast.
    #[inline]
    fn has_ticked(&mut self) -> bool {
        let now = clock_gettime(ClockId::MonotonicCoarse);
        let now = (now.tv_sec, now.tv_nsec);
        std::mem::replace(&mut self.tick, now) != now
    }

    /// Polls once for the awaited receives of a run, and goes on with it; whether there is anything left to poll for
    /// so.
    #[inline]
    pub(crate) fn poll_for_steps(&mut self, run: RunId) -> bool {
        if self.runs.is_looking() {
            for _ in 0..LOOKS {
                if self.look_for(run, true) {
                    self.settle();
                    return self.runs.is_awaiting(run);
                }
            }
        }
        let mut expecting = Expecting::steps(run);
        self.poll(Some(&mut expecting));
        let Expecting::Steps(AwaitedSteps { taken, missed, .. }) = expecting else { return false };
        if taken && self.fault.is_none() {
            self.advance_polling(run);
            self.settle();
        }
        !missed && self.runs.is_awaiting(run)
    }

    /// Whether a run is to be polled for: otherwise it is over, or its messages come the ordinary way.
    #[inline]
    pub(crate) fn is_awaiting(&self, run: RunId) -> bool {
        self.runs.is_awaiting(run)
    }

    /// The end of a collective whose caller has polled for it, or its call: from here on it is like any other, and what
    /// is still awaited is posted.
    #[inline]
    pub(crate) fn stop_polling(&mut self, run: Option<RunId>, lent: [Option<BufferId>; 2]) -> Begun {
        let under_way = run.filter(|run| self.runs.has(*run));
        if under_way.is_none() && self.fault.is_none() && !self.are_out(lent) {
            lent.into_iter().flatten().for_each(|name| self.buffers.reclaim(name));
            return Begun::Ended;
        }
        let call = self.calls.insert(lent);
        match under_way {
            Some(run) => {
                self.runs.give_to(run, call);
                self.runs.post_awaited(run, &mut self.machine, &mut self.owners);
                self.settle();
            }
            None if self.refuses(call) => {}
            // As soon as the transports have let go of its memory.
            None => self.calls.end(call, Ok(None), &mut self.buffers),
        }
        Begun::Waits(call)
    }

    #[inline]
    fn are_out(&mut self, lent: [Option<BufferId>; 2]) -> bool {
        lent.into_iter().flatten().any(|name| self.buffers.is_out(name))
    }
}
