//! Memory that is owned beside the operations on it.

#![allow(unsafe_code)]

use bytemuck::Pod;
use ringworld_protocol::{Failure, Span};
use ringworld_transport::{Cause, Region};

use super::guard::NoUnwinding;
use super::home::{Borrower, Home};
use crate::buffer::Kept;
use crate::calls::{CallId, Ending};
use crate::core::Core;
use crate::inbox::Left;
use crate::router::Registrations;
use crate::startable::{Spans, Startable};

/// Where the operation of a loan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is none, or its ending has been taken.
    Rest,
    /// It uses the buffers.
    UnderWay(CallId),
    /// It has left at once, and well; its ending has not been taken.
    Left,
    /// It has not begun: see [`Engine::enter`]; its ending has not been taken.
    Refused,
}

/// Buffers of the caller's, one to read and one to write or only one of them, and the operation that uses
/// them: one after the other, any number of times. Where there will be many, transports may register the buffers.
///
/// The engine is found by the borrower: to count it for each loan takes a fifteenth of a short message.
pub struct Loan<T: Pod + Send, B: Borrower> {
    home: Home<B>,
    /// While an operation is under way, nobody touches the buffers.
    phase: Phase,
    input: Option<Vec<T>>,
    output: Option<Vec<T>>,
    /// Of either buffer, which therefore is not freed, nor given to anybody who could free it, before these have ended.
    /// Few loans have any, and all are moved about: with room for two, a window of short messages takes a twentieth
    /// longer.
    registrations: Option<Box<Registrations>>,
}

impl<T: Pod + Send, B: Borrower> Loan<T, B> {
    /// Without an operation.
    #[must_use]
    pub fn new(borrower: B, input: Option<Vec<T>>, output: Option<Vec<T>>) -> Self {
        Self { home: Home::new(borrower), phase: Phase::Rest, input, output, registrations: None }
    }

    /// Who borrows the buffers.
    #[inline]
    pub fn borrower(&self) -> &B {
        &self.home.borrower
    }

    /// Has the transports register both buffers, for as long as the loan has them.
    pub fn register(&mut self) -> Result<(), Cause> {
        self.register_if(|_| [true, true])
    }

    /// Like [`Loan::register`], but leaves out a buffer (input, output) of which no message is longer than the eager
    /// limit, the longest being given in bytes: for others the receiver exposes nothing, and nothing is put.
    pub fn register_for(&mut self, longest: [usize; 2]) -> Result<(), Cause> {
        self.register_if(|core| longest.map(|longest| longest > core.machine.config().eager_limit))
    }

    fn register_if(&mut self, wanted: impl Fn(&Core) -> [bool; 2]) -> Result<(), Cause> {
        // What is for speed alone need not be; the operation is refused in its turn.
        let Some(mut core) = self.home.engine().enter() else { return Ok(()) };
        let wanted = wanted(&core);
        let buffers = [&mut self.input, &mut self.output].into_iter().zip(wanted);
        for data in buffers.filter(|(_, wanted)| *wanted).filter_map(|(data, _)| data.as_mut()) {
            let (pointer, length) = (data.as_mut_ptr().cast(), size_of_val(data.as_slice()));
            // SAFETY: the vector's heap memory stays allocated where it is until it is deregistered and no operation
            // uses it: the loan gives it back after both (`take_buffers`), and when dropped leaves it to the call that
            // uses it or to the engine, which deregisters it first (`let_go`). A leaked loan leaks it.
            let region = || unsafe { Region::new(pointer, length) };
            core.register(region, self.registrations.get_or_insert_default())?;
        }
        Ok(())
    }

    /// Whether a transport has registered any of the buffers.
    pub fn is_registered(&self) -> bool {
        self.registrations.as_ref().is_some_and(|registrations| !registrations.is_empty())
    }

    /// What is in the buffer that operations would write; nothing while one is under way.
    pub fn at_rest(&self) -> &[T] {
        match self.call() {
            None => self.output.as_deref().unwrap_or_default(),
            Some(_) => &[],
        }
    }

    /// Starts an operation that reads `input`, and reads and writes `output`. One that is still under way
    /// is waited for first.
    pub fn start<S: Startable>(&mut self, what: S) -> S::Number {
        // Its ending has nobody left to hear of it: its handle was leaked.
        let _unheard = self.wait();
        let Some(mut core) = self.home.engine().enter() else {
            self.phase = Phase::Refused;
            return S::Number::default();
        };
        let guard = NoUnwinding;
        let (call, number) = {
            if let (Some(data), None) = (&self.input, &self.output)
                && let Some(number) = what.leaves(&mut core, bytemuck::cast_slice(data))
            {
                self.home.engine().go_without_polling(core);
                self.phase = Phase::Left;
                guard.passed();
                return number;
            }
            // SAFETY: the vectors' heap memory stays where it is while the loan is moved about; nobody
            // touches it before the call has ended (`wait`, `poll`), and a dropped loan leaves it to the
            // call.
            let lend =
                |data: &Vec<T>, core: &mut Core| unsafe { core.buffers.lend(bytemuck::cast_slice(data)) };
            let input = self.input.as_ref().map_or(Span::EMPTY, |data| lend(data, &mut core));
            let lend = |data: &mut Vec<T>, core: &mut Core| {
                // SAFETY: as above.
                unsafe { core.buffers.lend_mut(bytemuck::cast_slice_mut(data)) }
            };
            let output = self.output.as_mut().map_or(Span::EMPTY, |data| lend(data, &mut core));
            core.observed.begins(what.told(), input.len + output.len);
            let begun = what.start(&mut core, Spans { input, output });
            drop(core);
            begun
        };
        self.phase = Phase::UnderWay(call);
        guard.passed();
        number
    }

    /// Sees to it that the operation advances although nobody waits for it yet.
    pub fn help(&self) {
        if self.call().is_some() {
            self.home.engine().help();
        }
    }

    /// Waits for the end of the operation; `None` when there is none.
    pub fn wait(&mut self) -> Option<Ending> {
        let call = match self.phase {
            Phase::Rest => return None,
            Phase::Left | Phase::Refused => {
                let left = std::mem::replace(&mut self.phase, Phase::Rest) == Phase::Left;
                return Some(if left { Ok(None) } else { Err(Failure::Aborted) });
            }
            Phase::UnderWay(call) => call,
        };
        let engine = self.home.engine();
        let core = engine.lock();
        // It belongs to others as soon as its ending is taken, whatever unwinds from here.
        self.phase = Phase::Rest;
        let guard = NoUnwinding;
        let ending = engine.wait_from(core, call);
        guard.passed();
        Some(ending)
    }

    /// Makes progress; the ending, if the operation has ended. If not, `waker` is woken when it does.
    pub fn poll(&mut self, waker: &std::task::Waker) -> Option<Ending> {
        let Phase::UnderWay(call) = self.phase else { return self.wait() };
        let register = |core: &mut Core, waker| core.calls.wake_task(call, waker);
        let ending = self.home.engine().poll(waker, |core| core.take_ending(call), register);
        if ending.is_some() {
            self.phase = Phase::Rest;
        }
        ending
    }

    /// Makes progress, and says whether there is no operation, or one that has ended.
    pub fn is_done(&self) -> bool {
        if self.phase == Phase::Refused {
            return true;
        }
        let mut core = self.home.engine().lock();
        core.progress();
        self.call().is_none_or(|call| core.is_done(call))
    }

    /// Withdraws a receive that no message has matched; whether that was so.
    pub fn cancel(&self) -> bool {
        self.call().is_some_and(|call| self.home.engine().cancel(call))
    }

    /// The operation under way.
    #[must_use]
    #[inline]
    pub fn call(&self) -> Option<CallId> {
        match self.phase {
            Phase::UnderWay(call) => Some(call),
            Phase::Rest | Phase::Left | Phase::Refused => None,
        }
    }

    /// Whether there is no operation whose ending could be taken.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.phase == Phase::Rest
    }

    /// What is in the buffers, after the end of the operation under way, if there is one.
    pub fn buffers(&mut self) -> (Option<&mut [T]>, Option<&mut [T]>) {
        let _unheard = self.wait();
        (self.input.as_deref_mut(), self.output.as_deref_mut())
    }

    /// The lengths of input and output in bytes.
    pub fn lengths(&self) -> (usize, usize) {
        // Not by way of slices: an operation may be writing there.
        let length = |buffer: &Option<Vec<T>>| buffer.as_ref().map_or(0, |data| data.len() * size_of::<T>());
        (length(&self.input), length(&self.output))
    }

    /// Gives the buffers back, after the end of the operation under way, if there is one.
    pub fn take_buffers(&mut self) -> (Option<Vec<T>>, Option<Vec<T>>) {
        let _unheard = self.wait();
        if self.registrations.is_some() {
            let mut core = self.home.engine().lock();
            core.deregister(taken(&mut self.registrations));
        }
        (self.input.take(), self.output.take())
    }
}

impl<T: Pod + Send, B: Borrower> Drop for Loan<T, B> {
    fn drop(&mut self) {
        if self.call().is_none() && self.registrations.is_none() {
            return;
        }
        let registrations = taken(&mut self.registrations);
        let memory = Box::new(Memory { input: self.input.take(), output: self.output.take() });
        self.home.engine().let_go(Left { call: self.call(), registrations, memory });
    }
}

fn taken(registrations: &mut Option<Box<Registrations>>) -> Registrations {
    registrations.take().map(|taken| *taken).unwrap_or_default()
}

/// The buffers of a loan that was dropped.
struct Memory<T> {
    input: Option<Vec<T>>,
    output: Option<Vec<T>>,
}

impl<T: Pod + Send> Kept for Memory<T> {
    fn received(&self) -> Option<&[u8]> {
        let alone = self.input.is_none();
        self.output.as_deref().filter(|_| alone).map(bytemuck::cast_slice)
    }
}
