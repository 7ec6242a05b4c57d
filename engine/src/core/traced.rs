//! The ways apart: what a call does in place of the ordinary when the world is over, or when this rank is traced.
//!
//! The ordinary ways ask for [`Core::apart`] where they would have to ask whether the world is over, and for
//! [`Core::afterwards`] where they would ask whether anything was deferred: so a rank that is not traced does not one
//! instruction more. Nothing here is inlined, and each way ends in what the ordinary one does. Neighbour: `tracer`
//! notes.

use std::panic::Location;

use ringworld_protocol::{Envelope, Failure, Mode, Selector, Span};

use super::super::calls::CallId;
use super::super::observe::{Told, Verb};
use super::super::reduce::{Reducer, Timed};
use super::super::router::Posting;
use super::super::runs::Planned;
use super::{Begun, Core, TRACED};

/// Reductions of vectors below this, in bytes, take less time than it takes to time them.
const TIMED: usize = 16 << 10;

impl Core {
    /// See [`Core::send_short`].
    #[cold]
    #[inline(never)]
    pub(super) fn send_short_apart(
        &mut self,
        to: usize,
        envelope: &Envelope,
        mode: Mode,
        payload: &[u8],
        told: &Told,
    ) -> bool {
        let Some(tracer) = self.observed.tracer() else { return false };
        let begin = tracer.begins_send(to);
        let left = mode == Mode::Standard
            && self.fault.is_none()
            && self.router.may_inject(to, payload.len())
            && self.leaves_now(to, envelope, payload);
        if let Some(tracer) = self.observed.tracer() {
            if left {
                tracer.sent_at_once(*told, begin, to, payload.len());
            } else {
                tracer.opens(*told, begin, payload.len());
            }
        }
        left
    }

    /// See [`Core::send_now`].
    #[cold]
    #[inline(never)]
    pub(super) fn send_apart(&mut self, to: usize, envelope: Envelope, data: Span, mode: Mode) -> Begun {
        if mode != Mode::Standard || self.fault.is_some() {
            return Begun::Waits(self.send(to, envelope, data, mode, Posting::Now));
        }
        self.depart(to, envelope, data)
    }

    /// See [`Core::may_expect`].
    #[cold]
    #[inline(never)]
    pub(super) fn may_expect_apart(&mut self, selector: &Selector, room: usize, told: &Told) -> bool {
        let may = self.fault.is_none() && self.router.delivers(selector.source, room);
        if let Some(tracer) = self.observed.tracer() {
            if may {
                tracer.expects(*told, room);
            } else {
                tracer.opens(*told, None, room);
            }
        }
        may && self.may_still_expect(selector)
    }

    /// See [`Core::may_go_on_expecting`].
    #[cold]
    #[inline(never)]
    pub(super) fn may_go_on_expecting_apart(&mut self, selector: &Selector) -> bool {
        if self.fault.is_some() {
            return false;
        }
        if let Some(tracer) = self.observed.tracer() {
            tracer.still_expects();
        }
        self.may_still_expect(selector)
    }

    /// A collective begins, of a caller who `polls` for it; whether it is refused, because the world is over.
    #[cold]
    #[inline(never)]
    pub(super) fn enters_apart(
        &mut self,
        what: &Planned,
        reducer: &mut Reducer,
        caller: &'static Location<'static>,
        polls: bool,
    ) -> bool {
        let (context, schedule) = (what.context, &what.schedule);
        let (layout, algorithm) = (schedule.layout(), schedule.name());
        let bytes = layout.input.max(layout.output) * what.element;
        let told = Told { verb: Verb::collective(what.signature.call), place: Some(caller) };
        let number = self.runs.next(context);
        if let Some(tracer) = self.observed.tracer() {
            if polls {
                let reduces = what.result > 0 && bytes >= TIMED;
                let timed = reduces.then(|| Timed::around(&mut reducer.kernel));
                tracer.opens_collective(told, bytes, context / 2, number, algorithm, timed);
            } else {
                tracer.starts(Some(told));
            }
        }
        self.fault.is_some()
    }

    /// See [`Core::refuses`].
    #[cold]
    #[inline(never)]
    pub(super) fn refuses_apart(&mut self, call: CallId) -> bool {
        let told = self.observed.last();
        if let Some(tracer) = self.observed.tracer() {
            tracer.starts(told);
        }
        let refused = self.fault.is_some();
        if refused {
            self.calls.end(call, Err(Failure::Aborted), &mut self.buffers);
        }
        refused
    }

    /// See [`Core::catch_up`].
    #[cold]
    #[inline(never)]
    pub(super) fn catch_up_apart(&mut self) {
        if self.is_deferred() {
            self.progress();
        }
        if self.afterwards & TRACED != 0 {
            self.closes_apart();
        }
    }

    /// This thread's call is over.
    #[cold]
    #[inline(never)]
    pub(super) fn closes_apart(&mut self) {
        if let Some(tracer) = self.observed.tracer() {
            tracer.closes();
        }
    }

    /// This thread waits for the end of an operation that it, or another, has begun before.
    #[cold]
    #[inline(never)]
    pub(crate) fn opens_wait(&mut self, call: CallId) {
        let told = self.calls.told(call);
        if let (Some(tracer), Some(told)) = (self.observed.tracer(), told) {
            tracer.opens(told, None, 0);
        }
    }

    /// Whether this rank is traced, or the world is over.
    #[inline]
    pub(crate) fn is_apart(&self) -> bool {
        self.apart
    }
}
