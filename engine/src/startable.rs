//! What can be started on memory that is lent: sends, receives and collectives, as plain values.
//!
//! The loans of `lend` take such a value, and no closure: so it is for this crate alone to give the names of the memory
//! to the call that gives them back.

use std::ops::ControlFlow;

use ringworld_protocol::{Element, Envelope, Expected, MatchedId, Mode, Selector, Span};

use super::calls::{CallId, Ending};
use super::core::{Begun, Core, Entered, Expecting};
use super::observe::{Told, Verb};
use super::router::Posting;
use super::runs::CollectiveCall;
use super::shell::Shell;

/// The memory of one call, by name; [`Span::EMPTY`] where there is none.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    pub(crate) input: Span,
    pub(crate) output: Span,
}

/// A send, a receive or a collective, to be started by a loan of the memory it works on. Sealed.
pub trait Startable: sealed::Sealed {
    /// What is known only when it has started: of a collective, its number in the communicator.
    type Number: Copy + Default;

    /// Which call it is, and where it stands.
    #[doc(hidden)]
    fn told(&self) -> Told;

    /// Starts it for a caller who will do other things meanwhile. The call gives back what is lent.
    #[doc(hidden)]
    fn start(self, core: &mut Core, spans: Spans) -> (CallId, Self::Number);

    /// Does all of it at once on the memory that would be lent, on the short path, if that can be; `None`: nothing has
    /// happened.
    #[doc(hidden)]
    #[inline]
    fn at_once(
        &self,
        engine: &Shell<Core>,
        core: &mut Core,
        input: Option<&[u8]>,
        output: Option<&mut [u8]>,
    ) -> Option<(Ending, Self::Number)> {
        let _ordinary = (engine, core, input, output);
        None
    }

    /// Does all of it at once for a caller who does not wait, if the input can leave now and nothing need be remembered
    /// of it; `None`: nothing has happened.
    #[doc(hidden)]
    #[inline]
    fn leaves(&self, core: &mut Core, input: &[u8]) -> Option<Self::Number> {
        let _ordinary = (core, input);
        None
    }

    /// Starts it for a caller who waits. What is lent is given back already if it has ended.
    #[doc(hidden)]
    #[inline]
    fn start_and_wait(self, engine: &Shell<Core>, core: &mut Core, spans: Spans) -> (Begun, Self::Number)
    where
        Self: Sized,
    {
        let _ordinary = engine;
        let (call, number) = self.start(core, spans);
        (Begun::Waits(call), number)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A send of the input.
#[derive(Clone, Copy, Debug)]
pub struct SendCall {
    /// The receiver, by its rank in the world.
    pub to: usize,
    /// What is written on the message.
    pub envelope: Envelope,
    /// When it is complete.
    pub mode: Mode,
    /// Where the call stands.
    pub told: Told,
}

impl sealed::Sealed for SendCall {}
impl Startable for SendCall {
    type Number = ();

    #[inline]
    fn told(&self) -> Told {
        self.told
    }

    #[inline]
    fn start(self, core: &mut Core, spans: Spans) -> (CallId, ()) {
        let Self { to, envelope, mode, told } = self;
        let call = core.send(to, envelope, spans.input, mode, Posting::Coalesced);
        core.calls.tell(call, told);
        (call, ())
    }

    #[inline(always)]
    fn at_once(
        &self,
        _: &Shell<Core>,
        core: &mut Core,
        input: Option<&[u8]>,
        _: Option<&mut [u8]>,
    ) -> Option<(Ending, ())> {
        let left = core.send_short(self.to, &self.envelope, self.mode, input.unwrap_or(&[]), &self.told);
        left.then_some((Ok(None), ()))
    }

    #[inline]
    fn leaves(&self, core: &mut Core, input: &[u8]) -> Option<()> {
        core.send_unawaited(self.to, &self.envelope, self.mode, input, &self.told).then_some(())
    }

    #[inline]
    fn start_and_wait(self, _: &Shell<Core>, core: &mut Core, spans: Spans) -> (Begun, ()) {
        let Self { to, envelope, mode, told } = self;
        let begun = core.send_now(to, envelope, spans.input, mode);
        if let Begun::Waits(call) = begun {
            core.calls.tell(call, told);
        }
        (begun, ())
    }
}

/// A receive into the output of the first message that is selected.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveCall {
    /// Which messages.
    pub selector: Selector,
    /// What their elements must be.
    pub element: Element,
    /// Where the call stands.
    pub told: Told,
}

impl sealed::Sealed for ReceiveCall {}
impl Startable for ReceiveCall {
    type Number = ();

    #[inline]
    fn told(&self) -> Told {
        self.told
    }

    #[inline]
    fn start(self, core: &mut Core, spans: Spans) -> (CallId, ()) {
        let call = core.receive(self.selector, self.element, spans.output);
        core.calls.tell(call, self.told);
        (call, ())
    }

    #[inline]
    fn at_once(
        &self,
        engine: &Shell<Core>,
        core: &mut Core,
        _: Option<&[u8]>,
        output: Option<&mut [u8]>,
    ) -> Option<(Ending, ())> {
        let Self { selector, element, told } = *self;
        let into = output.unwrap_or(&mut []);
        let expected = Expected { selector, element, room: into.len() };
        if !core.may_expect(&selector, into.len(), &told) {
            return core.take_arrived(&expected, into).map(|ending| (ending, ()));
        }
        let mut expecting = Expecting::receive(expected, into);
        let ending = engine.poll_briefly(core, |core| match core.poll_for(&mut expecting) {
            Some(ending) => ControlFlow::Break(Some(ending)),
            None if core.may_go_on_expecting(&selector) => ControlFlow::Continue(()),
            None => ControlFlow::Break(None),
        });
        ending.map(|ending| (ending, ()))
    }
}

/// A receive into the output of the message that a matched probe has set aside.
#[derive(Debug)]
pub struct MatchedReceiveCall {
    /// Which message.
    pub matched: MatchedId,
    /// What its elements must be.
    pub element: Element,
    /// Where the call stands.
    pub told: Told,
}

impl sealed::Sealed for MatchedReceiveCall {}
impl Startable for MatchedReceiveCall {
    type Number = ();

    #[inline]
    fn told(&self) -> Told {
        self.told
    }

    #[inline]
    fn start(self, core: &mut Core, spans: Spans) -> (CallId, ()) {
        let call = core.receive_matched(self.matched, self.element, spans.output);
        core.calls.tell(call, self.told);
        (call, ())
    }
}

impl sealed::Sealed for CollectiveCall {}
impl Startable for CollectiveCall {
    type Number = u32;

    #[inline]
    fn told(&self) -> Told {
        Told { verb: Verb::collective(self.what.signature.call), place: Some(self.caller) }
    }

    #[inline]
    fn start(self, core: &mut Core, spans: Spans) -> (CallId, u32) {
        let told = self.told();
        let (call, number) = core.start_collective(self, [spans.input.buffer, spans.output.buffer]);
        core.calls.tell(call, told);
        (call, number)
    }

    #[inline]
    fn start_and_wait(self, engine: &Shell<Core>, core: &mut Core, spans: Spans) -> (Begun, u32) {
        let lent = [spans.input.buffer, spans.output.buffer];
        let told = self.told();
        let Entered { sequence, run } =
            core.begin_polling(self, lent, engine.looks(), engine.nobody_else_waits());
        if let Some(run) = run.filter(|run| core.is_awaiting(*run)) {
            engine.poll_briefly(core, |core| {
                if core.poll_for_steps(run) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(Some(()))
                }
            });
        }
        let begun = core.stop_polling(run, lent);
        if let Begun::Waits(call) = begun {
            core.calls.tell(call, told);
        }
        (begun, sequence)
    }
}
