//! Memory that Rust knows nothing of, such as that of a program in C: whoever names it vouches for it.
//!
//! The same calls as for borrowed and for owned memory, with the promise in place of a borrow: the name of the memory
//! is made by one unsafe function, [`Foreign::new`], and everything after that is safe.

#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use ringworld_protocol::{Failure, Span};

use super::blocking::{Endings, Lend, blocking_here, blocking_pair};
use super::guard::NoUnwinding;
use super::home::{Borrower, Home};
use crate::buffer::Kept;
use crate::calls::{CallId, Ending};
use crate::core::Core;
use crate::engine::Engine;
use crate::inbox::Left;
use crate::router::Registrations;
use crate::startable::{ReceiveCall, SendCall, Spans, Startable};

/// Bytes that somebody else owns, for operations to read or write.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    pointer: NonNull<u8>,
    length: usize,
}

// SAFETY: it is a name; the promise of `Foreign::new` is for all threads.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

impl Foreign {
    /// No bytes at all.
    pub const EMPTY: Self = Self { pointer: NonNull::dangling(), length: 0 };

    /// The `length` bytes from `pointer` on. Without bytes, any pointer will do, a null one too.
    ///
    /// # Safety
    ///
    /// From the start of any operation that is given this memory until that operation has ended (however it ends, and
    /// also if its handle is dropped or leaked), from any thread: the bytes are one allocation and valid for reads,
    /// nobody writes them, and if it is given them as output, they are valid for writes and nobody else reads them.
    #[inline]
    #[must_use]
    pub unsafe fn new(pointer: *mut u8, length: usize) -> Self {
        match NonNull::new(pointer) {
            Some(pointer) if length > 0 => Self { pointer, length },
            _ => Self::EMPTY,
        }
    }

    /// How many bytes there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether the first byte is aligned as an element must be: to a power of two, as that of every type is.
    #[inline]
    #[must_use]
    pub fn is_aligned_to(&self, alignment: usize) -> bool {
        debug_assert!(alignment <= 1 || alignment.is_power_of_two(), "an alignment of {alignment} bytes");
        // Not by a division, which takes as long as twenty other instructions; asked of each message.
        self.length == 0 || self.pointer.as_ptr().addr() & alignment.saturating_sub(1) == 0
    }
}

/// Like [`super::blocking`], on foreign memory.
#[inline(always)]
pub fn blocking_foreign<S: Startable>(
    engine: &Arc<Engine>,
    input: Option<Foreign>,
    output: Option<Foreign>,
    what: S,
) -> (Ending, S::Number) {
    // SAFETY: the promise of `Foreign::new`, until the operation has ended, which is when this function returns.
    let input = input.map(|data| unsafe { std::slice::from_raw_parts(data.pointer.as_ptr(), data.length) });
    let output = output.map(|data| {
        // SAFETY: as above, for what is written.
        unsafe { std::slice::from_raw_parts_mut(data.pointer.as_ptr(), data.length) }
    });
    blocking_here(engine, Lend { input, output }, what)
}

/// Like [`blocking_pair`], on foreign memory.
#[inline]
pub fn blocking_pair_foreign(
    engine: &Arc<Engine>,
    (send, input): (&SendCall, Foreign),
    (recv, output): (&ReceiveCall, Foreign),
) -> Endings {
    // SAFETY: the promise of `Foreign::new`, until both operations have ended, which is when this function returns.
    let input = unsafe { std::slice::from_raw_parts(input.pointer.as_ptr(), input.length) };
    // SAFETY: as above, for what is written.
    let output = unsafe { std::slice::from_raw_parts_mut(output.pointer.as_ptr(), output.length) };
    blocking_pair(engine, Some((send, input)), Some((recv, output)))
}

/// Sends a message that nobody will wait for, if all of it can leave at once; `false`: nothing has happened, and it is
/// to be [started](ForeignLoan::start). Nothing of it is left to be named, so there is no loan.
#[inline]
pub fn leave_at_once(engine: &Arc<Engine>, input: Foreign, what: &SendCall) -> bool {
    // To be started, it is refused again, and that can be told.
    let Some(mut core) = engine.enter() else { return false };
    let guard = NoUnwinding;
    // SAFETY: the promise of `Foreign::new`, until the operation has ended, which is when this function returns.
    let payload = unsafe { std::slice::from_raw_parts(input.pointer.as_ptr(), input.length) };
    let left = what.leaves(&mut core, payload).is_some();
    if left {
        engine.go_without_polling(core);
    }
    guard.passed();
    left
}

/// An operation under way on foreign memory.
pub struct ForeignLoan<B: Borrower> {
    /// `None`: it has passed the loan on.
    home: Option<Home<B>>,
    /// The operation, until its ending is taken.
    call: Option<CallId>,
    /// It has not begun, see [`Engine::enter`], and its ending has not been taken.
    refused: bool,
}

impl<B: Borrower> ForeignLoan<B> {
    /// Starts an operation that reads `input`, and reads and writes `output`.
    #[inline]
    pub fn start<S: Startable>(
        borrower: B,
        input: Option<Foreign>,
        output: Option<Foreign>,
        what: S,
    ) -> (Self, S::Number) {
        let home = Home::new(borrower);
        let engine = home.engine();
        let Some(mut core) = engine.enter() else {
            return (Self { home: Some(home), call: None, refused: true }, S::Number::default());
        };
        let guard = NoUnwinding;
        let (call, number) = {
            let input = input.map_or(Span::EMPTY, |data| {
                // SAFETY: the promise of `Foreign::new`, until the operation has ended; its call reclaims the name
                // then.
                let bytes = unsafe { std::slice::from_raw_parts(data.pointer.as_ptr(), data.length) };
                // SAFETY: as above.
                unsafe { core.buffers.lend(bytes) }
            });
            let output = output.map_or(Span::EMPTY, |data| {
                // SAFETY: as above.
                unsafe { core.buffers.lend_raw(data.pointer, data.length) }
            });
            core.observed.begins(what.told(), input.len + output.len);
            let begun = what.start(&mut core, Spans { input, output });
            drop(core);
            begun
        };
        guard.passed();
        engine.help();
        (Self { home: Some(home), call: Some(call), refused: false }, number)
    }

    /// The same loan, held otherwise; whatever `hold` makes must lead to the same engine.
    pub fn passed_on<C: Borrower>(mut self, hold: impl FnOnce(B) -> C) -> ForeignLoan<C> {
        let (home, call) = (self.home.take().map(|home| home.passed_on(hold)), self.call.take());
        ForeignLoan { home, call, refused: self.refused }
    }

    /// Who holds it.
    pub fn borrower(&self) -> &B {
        &self.home().borrower
    }

    #[inline]
    #[expect(clippy::expect_used, reason = "it is there until the loan is passed on, which consumes it")]
    fn home(&self) -> &Home<B> {
        self.home.as_ref().expect("held")
    }

    /// Waits for its end; `None` when that has been taken.
    #[inline]
    #[expect(clippy::expect_used, reason = "as above")]
    pub fn wait(&mut self) -> Option<Ending> {
        if std::mem::take(&mut self.refused) {
            return Some(Err(Failure::Aborted));
        }
        let call = self.call?;
        let engine = self.home.as_ref().expect("held").engine();
        // Within an operation: it is under way as before, and the world is to end.
        let Some(core) = engine.enter() else { return Some(Err(Failure::Aborted)) };
        // It belongs to others as soon as its ending is taken, whatever unwinds from here.
        self.call = None;
        Some(engine.wait_from(core, call))
    }

    /// Makes progress, and says whether it has ended. Also where a wait would be refused, which says so then.
    pub fn is_done(&self) -> bool {
        self.look(Core::is_done)
    }

    /// The same, for whoever does not wait for it: see [`Core::has_ended`].
    pub fn has_ended(&self) -> bool {
        self.look(Core::has_ended)
    }

    #[inline]
    fn look(&self, has_ended: impl FnOnce(&Core, CallId) -> bool) -> bool {
        if self.refused {
            return true;
        }
        let Some(mut core) = self.home().engine().enter() else { return true };
        core.progress();
        self.call.is_none_or(|call| has_ended(&core, call))
    }

    /// Withdraws a receive that no message has matched; whether that was so.
    pub fn cancel(&self) -> bool {
        self.call.is_some_and(|call| self.home().engine().cancel(call))
    }

    /// The operation under way.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        self.call
    }
}

impl<B: Borrower> Drop for ForeignLoan<B> {
    /// It goes on to its end, a receive as well, which nobody hears of.
    #[inline]
    fn drop(&mut self) {
        if let (Some(call), Some(home)) = (self.call.take(), &self.home) {
            let left =
                Left { call: Some(call), registrations: Registrations::new(), memory: Box::new(Nobodys) };
            home.engine().let_go(left);
        }
    }
}

/// What is left with the engine by a loan that was dropped: nothing, for the memory is not ours to free.
struct Nobodys;

impl Kept for Nobodys {
    fn received(&self) -> Option<&[u8]> {
        None
    }
}
