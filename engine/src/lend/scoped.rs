//! Memory that is borrowed for a scope, which does not end before the operations on it have.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use ringworld_protocol::{Failure, Span};
use smallvec::SmallVec;

use super::guard::NoUnwinding;
use crate::calls::{CallId, Ending};
use crate::engine::Engine;
use crate::panics;
use crate::startable::{Spans, Startable};

/// Operations on memory that is borrowed for `'scope`.
///
/// The owner of this value must be a function that keeps it on its stack and hands out nothing but shared
/// references to it: then its drop, which waits for every operation, cannot be forgotten. `L` is what its owner calls
/// each operation by.
pub struct Borrowed<'scope, L> {
    under_way: UnderWay<L>,
    /// Invariant in `'scope`, like the scope of scoped threads.
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// The operations of a scope that nobody has waited for yet. It knows nothing of `'scope`, so that the scope
/// itself needs no drop that looks at borrows which end with it.
struct UnderWay<L> {
    engine: Arc<Engine>,
    list: Mutex<Listed<L>>,
}

/// Those without a name have not begun: see [`Engine::enter`]. Short scopes, which loops repeat, allocate nothing.
type Listed<L> = SmallVec<[(Option<CallId>, L); 8]>;

/// One operation in a scope: its name, and the memory it writes.
pub struct Borrow<'scope, T> {
    /// `None`: all of it has left, and well, or it has not begun.
    call: Option<CallId>,
    refused: bool,
    /// As a pointer, because the operation writes there while this handle exists.
    pointer: NonNull<T>,
    length: usize,
    memory: PhantomData<&'scope mut [T]>,
}

// SAFETY: it stands for the exclusive borrow of a slice, which may move to another thread.
unsafe impl<T: Send> Send for Borrow<'_, T> {}

impl<T> Borrow<'_, T> {
    /// The operation, if it is under way, or may be.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        self.call
    }
}

impl<'scope, L: Copy> Borrowed<'scope, L> {
    /// Without any operation.
    #[must_use]
    pub fn new(engine: &Arc<Engine>) -> Self {
        let under_way = UnderWay { engine: Arc::clone(engine), list: Mutex::default() };
        Self { under_way, scope: PhantomData }
    }

    /// Starts an operation. `label` says what its owner calls it by, once its number is known.
    pub fn start<T: Pod, S: Startable>(
        &self,
        input: Option<&'scope [T]>,
        output: Option<&'scope mut [T]>,
        what: S,
        label: impl FnOnce(S::Number) -> L,
    ) -> (Borrow<'scope, T>, L) {
        let mut pointer = NonNull::dangling();
        let mut length = 0;
        let Some(mut core) = self.under_way.engine.enter() else {
            let label = label(S::Number::default());
            self.under_way.list().push((None, label));
            // What would be written is given back as it is.
            let (pointer, length) =
                output.map_or((pointer, 0), |data| (NonNull::from(&mut *data).cast(), data.len()));
            return (Borrow { call: None, refused: true, pointer, length, memory: PhantomData }, label);
        };
        let guard = NoUnwinding;
        let (call, number) = {
            if let (Some(data), None) = (input, &output)
                && let Some(number) = what.leaves(&mut core, bytemuck::cast_slice(data))
            {
                self.under_way.engine.go_without_polling(core);
                guard.passed();
                return (
                    Borrow { call: None, refused: false, pointer, length, memory: PhantomData },
                    label(number),
                );
            }
            // SAFETY: the borrow lasts for `'scope`, which does not end before this value has been
            // dropped; the drop waits for every call that has not been waited for, and calls reclaim the
            // names when they end.
            let input =
                input.map_or(Span::EMPTY, |data| unsafe { core.buffers.lend(bytemuck::cast_slice(data)) });
            let output = output.map_or(Span::EMPTY, |data| {
                length = data.len();
                // The one pointer that all who use the memory derive theirs from.
                let whole = NonNull::from(data);
                pointer = whole.cast();
                // SAFETY: as above.
                unsafe { core.buffers.lend_raw(whole.cast(), length * size_of::<T>()) }
            });
            core.observed.begins(what.told(), input.len + output.len);
            let begun = what.start(&mut core, Spans { input, output });
            drop(core);
            begun
        };
        let label = label(number);
        self.under_way.list().push((Some(call), label));
        guard.passed();
        self.under_way.engine.help();
        (Borrow { call: Some(call), refused: false, pointer, length, memory: PhantomData }, label)
    }

    /// Waits for the end of one operation, and gives the memory back that it wrote.
    pub fn wait<T>(&self, borrow: Borrow<'scope, T>) -> (Ending, &'scope mut [T]) {
        let Borrow { call, refused, pointer, length, .. } = borrow;
        let ending = match call {
            None if refused => {
                // Any of those that were refused: their failures are alike.
                let mut list = self.under_way.list();
                if let Some(at) = list.iter().position(|(other, _)| other.is_none()) {
                    list.remove(at);
                }
                Err(Failure::Aborted)
            }
            None => Ok(None),
            Some(call) => {
                let core = self.under_way.engine.lock();
                let guard = NoUnwinding;
                // First, because the name is free for others as soon as the wait is over.
                self.under_way.list().retain(|(other, _)| *other != Some(call));
                let ending = self.under_way.engine.wait_from(core, call);
                guard.passed();
                ending
            }
        };
        // SAFETY: pointer and length are those of the slice that `start` was given for all of `'scope`, or of none;
        // the operation on it has ended, and this handle, of which there was one, is gone.
        (ending, unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr(), length) })
    }

    /// Makes progress, and says whether an operation has ended.
    pub fn is_done<T>(&self, borrow: &Borrow<'scope, T>) -> bool {
        if borrow.refused {
            return true;
        }
        let mut core = self.under_way.engine.lock();
        core.progress();
        borrow.call.is_none_or(|call| core.is_done(call))
    }

    /// Withdraws a receive that no message has matched; whether that was so.
    pub fn cancel<T>(&self, borrow: &Borrow<'scope, T>) -> bool {
        borrow.call.is_some_and(|call| self.under_way.engine.lock().cancel(call))
    }

    /// Waits for all operations that nobody has waited for; the first failure among them.
    pub fn wait_all(&self) -> Option<(Failure, L)> {
        self.under_way.wait_all()
    }
}

impl<L> UnderWay<L> {
    fn wait_all(&self) -> Option<(Failure, L)> {
        let guard = NoUnwinding;
        let mut first = None;
        for (call, operation) in std::mem::take(&mut *self.list()) {
            if let Err(failure) = call.map_or(Err(Failure::Aborted), |call| self.engine.wait(call)) {
                first.get_or_insert((failure, operation));
            }
        }
        guard.passed();
        first
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Listed<L>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L> Drop for UnderWay<L> {
    fn drop(&mut self) {
        if std::thread::panicking() && self.list().iter().any(|(call, _)| call.is_some()) {
            // Nobody will make the calls that these operations may be waiting for: end them now, so that
            // the panic is not held up for ever.
            let said = panics::last().map(|said| format!(": {said}")).unwrap_or_default();
            self.engine.lock().give_up(&format!("a panic left a scope with operations under way{said}"));
        }
        // Only after a panic is there anything left to wait for.
        let _unheard = self.wait_all();
    }
}
