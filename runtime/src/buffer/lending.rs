//! Loans of the caller's memory to operations, in three shapes that are safe to use.
//!
//! * *Blocking* ([`blocking`]): the memory is borrowed for the call, and the call does not return before
//!   the operation has ended, or both operations of a pair ([`blocking_pair`]).
//! * *Owned* ([`Loan`]): the memory is owned next to the operation. It is given back when the operation has
//!   ended; a loan dropped before that leaves it to the engine, and a leaked one leaks it, which is safe.
//! * *Scoped* ([`Borrowed`]): the memory is borrowed for a scope that does not end before its operations
//!   have, whatever happens to the handles.
//!
//! All three are built on the same two calls of [`super::Buffers`], and on one rule of the engine: when a
//! slot has ended, nobody uses the memory that was given to it any more.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use ringworld_protocol::BufferId;
use ringworld_transport::{Cause, Region};
use smallvec::SmallVec;

use crate::engine::{Begun, Core, Ending, Engine, Kept, Left, Locked, Registrations, SlotId};
use crate::operation::Operation;

/// The memory of one blocking call.
pub(crate) struct Lend<'a> {
    pub(crate) input: Option<&'a [u8]>,
    pub(crate) output: Option<&'a mut [u8]>,
}

/// Ends the process if an operation on borrowed memory is left by a panic: the transports may still
/// write to memory that is about to be something else. Only a bug in the engine gets here.
struct NoUnwinding;

impl NoUnwinding {
    fn passed(self) {
        std::mem::forget(self);
    }
}

impl Drop for NoUnwinding {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Begins an operation on borrowed memory and waits for its end.
///
/// `begin` gets the names of the input and the output, and must give both to the slot it returns, or have
/// reclaimed them when it returns [`Begun::Ended`].
pub(crate) fn blocking<B: Into<Begun>>(
    engine: &Arc<Engine>,
    lend: Lend<'_>,
    begin: impl FnOnce(&mut Core, Option<BufferId>, Option<BufferId>) -> B,
) -> Ending {
    let guard = NoUnwinding;
    let mut core = engine.lock();
    // SAFETY: both borrows outlive this function, which returns only after the slot has ended; the
    // slot reclaims the names when it ends; unwinding ends the process.
    let input = lend.input.map(|bytes| unsafe { core.buffers.lend(bytes) });
    // SAFETY: as above.
    let output = lend.output.map(|bytes| unsafe { core.buffers.lend_mut(bytes) });
    let ending = match begin(&mut core, input, output).into() {
        Begun::Ended => {
            engine.go(core);
            Ok(None)
        }
        Begun::Waits(slot) => engine.go_on_to_wait(core, slot),
    };
    guard.passed();
    ending
}

/// The slots, and then the endings, of a send and a receive that belong to one call. `None`: there is no
/// such half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair<X> {
    pub(crate) send: Option<X>,
    pub(crate) recv: Option<X>,
}

/// Begins a send from `lend.input` and a receive into `lend.output`, both under one lock, and waits for
/// the end of both, however the first to end has ended.
///
/// `begin` gets the name of each memory that is given, and must give it to the slot of that half, or have
/// reclaimed it when that half has ended already.
pub(crate) fn blocking_pair(
    engine: &Arc<Engine>,
    lend: Lend<'_>,
    begin: impl FnOnce(&mut Core, Pair<BufferId>) -> Pair<Begun>,
) -> Pair<Ending> {
    let guard = NoUnwinding;
    let mut core = engine.lock();
    // SAFETY: both borrows outlive this function, which returns only after both slots have ended; each
    // slot reclaims its name when it ends; unwinding ends the process.
    let send = lend.input.map(|bytes| unsafe { core.buffers.lend(bytes) });
    // SAFETY: as above; a shared and an exclusive borrow never overlap.
    let recv = lend.output.map(|bytes| unsafe { core.buffers.lend_mut(bytes) });
    let begun = begin(&mut core, Pair { send, recv });
    let endings = wait_for(engine, core, begun);
    guard.passed();
    endings
}

/// Like [`blocking_pair`], for a send and a receive of the same memory: what is sent is staged in memory
/// of the engine first, and what comes replaces it.
pub(crate) fn blocking_replace(
    engine: &Arc<Engine>,
    data: &mut [u8],
    begin: impl FnOnce(&mut Core, Pair<BufferId>) -> Pair<Begun>,
) -> Pair<Ending> {
    let guard = NoUnwinding;
    let mut staged = engine.lock().buffers.block(data.len());
    // Not under the lock: a long copy would hold up everybody else.
    staged.bytes_mut()[..data.len()].copy_from_slice(data);
    let mut core = engine.lock();
    let send = core.buffers.lend_block(&mut staged);
    // SAFETY: the borrow outlives this function, which returns only after the slot has ended; the slot
    // reclaims the name when it ends; unwinding ends the process.
    let recv = unsafe { core.buffers.lend_mut(data) };
    let begun = begin(&mut core, Pair { send: Some(send), recv: Some(recv) });
    let endings = wait_for(engine, core, begun);
    // The send has ended, and has reclaimed the block's name.
    engine.lock().buffers.recycle(staged);
    guard.passed();
    endings
}

fn wait_for(engine: &Arc<Engine>, core: Locked<'_>, begun: Pair<Begun>) -> Pair<Ending> {
    let mut held = Some(core);
    // Either order will do: whoever waits drives both.
    let [recv, send] = [begun.recv, begun.send].map(|half| {
        Some(match half? {
            Begun::Ended => Ok(None),
            Begun::Waits(slot) => engine.go_on_to_wait(held.take().unwrap_or_else(|| engine.lock()), slot),
        })
    });
    Pair { send, recv }
}

/// Buffers of the caller's, one to read and one to write or only one of them, and the operation that uses
/// them: one after the other, any number of times. Where there will be many, transports may register the buffers.
pub(crate) struct Loan<T: Pod + Send> {
    engine: Arc<Engine>,
    /// The operation under way; while there is one, nobody touches the buffers.
    slot: Option<SlotId>,
    input: Option<Vec<T>>,
    output: Option<Vec<T>>,
    /// Of either buffer, which therefore is not freed, nor given to anybody who could free it, before these have ended.
    registrations: Registrations,
}

impl<T: Pod + Send> Loan<T> {
    pub(crate) fn new(engine: &Arc<Engine>, input: Option<Vec<T>>, output: Option<Vec<T>>) -> Self {
        Self { engine: Arc::clone(engine), slot: None, input, output, registrations: Registrations::new() }
    }

    /// Has the transports register both buffers, for as long as the loan has them.
    pub(crate) fn register(&mut self) -> Result<(), Cause> {
        self.register_if(|_| [true, true])
    }

    /// Like [`Loan::register`], but leaves out a buffer (input, output) of which no message is longer than the eager limit,
    /// the longest being given in bytes: for others the receiver exposes nothing, and nothing is put.
    pub(crate) fn register_for(&mut self, longest: [usize; 2]) -> Result<(), Cause> {
        self.register_if(|core| longest.map(|longest| longest > core.machine.config().eager_limit))
    }

    fn register_if(&mut self, wanted: impl Fn(&Core) -> [bool; 2]) -> Result<(), Cause> {
        let mut core = self.engine.lock();
        let wanted = wanted(&core);
        let buffers = [&mut self.input, &mut self.output].into_iter().zip(wanted);
        for data in buffers.filter(|(_, wanted)| *wanted).filter_map(|(data, _)| data.as_mut()) {
            let (pointer, length) = (data.as_mut_ptr().cast(), size_of_val(data.as_slice()));
            // SAFETY: the vector's heap memory stays allocated where it is until it is deregistered and no operation
            // uses it: the loan gives it back after both (`take`), and when dropped leaves it to the slot that uses
            // it or to the engine, which deregisters it first (`let_go`). A leaked loan leaks it.
            core.register(|| unsafe { Region::new(pointer, length) }, &mut self.registrations)?;
        }
        Ok(())
    }

    /// Whether a transport has registered any of the buffers.
    pub(crate) fn is_registered(&self) -> bool {
        !self.registrations.is_empty()
    }

    /// What is in the buffer that operations would write; nothing while one is under way.
    pub(crate) fn at_rest(&self) -> &[T] {
        match self.slot {
            None => self.output.as_deref().unwrap_or_default(),
            Some(_) => &[],
        }
    }

    /// Begins an operation that reads `input`, and reads and writes `output`. One that is still under way
    /// is waited for first.
    ///
    /// `begin` gets the names of both, and must give them to the slot it returns.
    pub(crate) fn begin(
        &mut self,
        begin: impl FnOnce(&mut Core, Option<BufferId>, Option<BufferId>) -> SlotId,
    ) {
        // Its ending has nobody left to hear of it: its handle was leaked.
        let _unheard = self.wait();
        let guard = NoUnwinding;
        let slot = {
            let mut core = self.engine.lock();
            // SAFETY: the vectors' heap memory stays where it is while the loan is moved about; nobody
            // touches it before the slot has ended (`wait`, `poll`), and a dropped loan leaves it to the
            // slot.
            let lend =
                |data: &Vec<T>, core: &mut Core| unsafe { core.buffers.lend(bytemuck::cast_slice(data)) };
            let input = self.input.as_ref().map(|data| lend(data, &mut core));
            let lend = |data: &mut Vec<T>, core: &mut Core| {
                // SAFETY: as above.
                unsafe { core.buffers.lend_mut(bytemuck::cast_slice_mut(data)) }
            };
            let output = self.output.as_mut().map(|data| lend(data, &mut core));
            begin(&mut core, input, output)
        };
        self.slot = Some(slot);
        guard.passed();
    }

    /// Sees to it that the operation advances although nobody waits for it yet.
    pub(crate) fn help(&self) {
        self.engine.help();
    }

    /// Waits for the end of the operation; `None` when there is none.
    pub(crate) fn wait(&mut self) -> Option<Ending> {
        // It belongs to others as soon as its ending is taken, whatever unwinds from here.
        let slot = self.slot.take()?;
        let guard = NoUnwinding;
        let ending = self.engine.wait(slot);
        guard.passed();
        Some(ending)
    }

    /// Makes progress; the ending, if the operation has ended. If not, `waker` is woken when it does.
    pub(crate) fn poll(&mut self, waker: &std::task::Waker) -> Option<Ending> {
        let slot = self.slot?;
        let register = |core: &mut Core, waker| core.slots.wake_task(slot, waker);
        let ending = self.engine.poll(waker, |core| core.slots.take(slot), register);
        if ending.is_some() {
            self.slot = None;
        }
        ending
    }

    /// Makes progress, and says whether there is no operation, or one that has ended.
    pub(crate) fn is_done(&self) -> bool {
        let mut core = self.engine.lock();
        core.progress();
        self.slot.is_none_or(|slot| core.slots.is_done(slot))
    }

    pub(crate) fn cancel(&self) -> bool {
        self.slot.is_some_and(|slot| self.engine.lock().cancel(slot))
    }

    pub(crate) fn slot(&self) -> Option<SlotId> {
        self.slot
    }

    /// What is in the buffers, after the end of the operation under way, if there is one.
    pub(crate) fn buffers(&mut self) -> (Option<&mut [T]>, Option<&mut [T]>) {
        let _unheard = self.wait();
        (self.input.as_deref_mut(), self.output.as_deref_mut())
    }

    /// The lengths of input and output in bytes.
    pub(crate) fn lengths(&self) -> (usize, usize) {
        // Not by way of slices: an operation may be writing there.
        let length = |buffer: &Option<Vec<T>>| buffer.as_ref().map_or(0, |data| data.len() * size_of::<T>());
        (length(&self.input), length(&self.output))
    }

    /// Gives the buffers back, after the end of the operation under way, if there is one.
    pub(crate) fn take(&mut self) -> (Option<Vec<T>>, Option<Vec<T>>) {
        let _unheard = self.wait();
        if self.is_registered() {
            self.engine.lock().deregister(std::mem::take(&mut self.registrations));
        }
        (self.input.take(), self.output.take())
    }
}

impl<T: Pod + Send> Drop for Loan<T> {
    fn drop(&mut self) {
        if self.slot.is_none() && self.registrations.is_empty() {
            return;
        }
        let registrations = std::mem::take(&mut self.registrations);
        let memory = Box::new(Memory { input: self.input.take(), output: self.output.take() });
        self.engine.let_go(Left { slot: self.slot, registrations, memory });
    }
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

/// Operations on memory that is borrowed for `'scope`.
///
/// The owner of this value must be a function that keeps it on its stack and hands out nothing but shared
/// references to it: then its drop, which waits for every operation, cannot be forgotten.
pub(crate) struct Borrowed<'scope> {
    under_way: UnderWay,
    /// Invariant in `'scope`, like the scope of scoped threads.
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// The operations of a scope that nobody has waited for yet. It knows nothing of `'scope`, so that the scope
/// itself needs no drop that looks at borrows which end with it.
struct UnderWay {
    engine: Arc<Engine>,
    list: Mutex<Listed>,
}

/// Short scopes, which loops repeat, allocate nothing.
type Listed = SmallVec<[(SlotId, Operation); 8]>;

/// One operation in a scope: its name, and the memory it writes.
pub(crate) struct Borrow<'scope, T> {
    slot: SlotId,
    /// As a pointer, because the operation writes there while this handle exists.
    pointer: NonNull<T>,
    length: usize,
    memory: PhantomData<&'scope mut [T]>,
}

// SAFETY: it stands for the exclusive borrow of a slice, which may move to another thread.
unsafe impl<T: Send> Send for Borrow<'_, T> {}

impl<T> Borrow<'_, T> {
    pub(crate) fn slot(&self) -> SlotId {
        self.slot
    }
}

impl<'scope> Borrowed<'scope> {
    pub(crate) fn new(engine: &Arc<Engine>) -> Self {
        let under_way = UnderWay { engine: Arc::clone(engine), list: Mutex::default() };
        Self { under_way, scope: PhantomData }
    }

    /// Begins an operation. `begin` gets the names of the input and the output, and must give both to the
    /// slot it returns.
    pub(crate) fn begin<T: Pod>(
        &self,
        input: Option<&'scope [T]>,
        output: Option<&'scope mut [T]>,
        begin: impl FnOnce(&mut Core, Option<BufferId>, Option<BufferId>) -> (SlotId, Operation),
    ) -> Borrow<'scope, T> {
        let mut pointer = NonNull::dangling();
        let mut length = 0;
        let guard = NoUnwinding;
        let (slot, operation) = {
            let mut core = self.under_way.engine.lock();
            // SAFETY: the borrow lasts for `'scope`, which does not end before this value has been
            // dropped; the drop waits for every slot that has not been waited for, and slots reclaim the
            // names when they end.
            let input = input.map(|data| unsafe { core.buffers.lend(bytemuck::cast_slice(data)) });
            let output = output.map(|data| {
                length = data.len();
                // The one pointer that all who use the memory derive theirs from.
                let whole = NonNull::from(data);
                pointer = whole.cast();
                // SAFETY: as above.
                unsafe { core.buffers.lend_raw(whole.cast(), length * size_of::<T>()) }
            });
            begin(&mut core, input, output)
        };
        self.under_way.list().push((slot, operation));
        guard.passed();
        self.under_way.engine.help();
        Borrow { slot, pointer, length, memory: PhantomData }
    }

    /// Waits for the end of one operation, and gives the memory back that it wrote.
    pub(crate) fn wait<T>(&self, borrow: Borrow<'scope, T>) -> (Ending, &'scope mut [T]) {
        let Borrow { slot, pointer, length, .. } = borrow;
        let guard = NoUnwinding;
        // First, because the name is free for others as soon as the wait is over.
        self.under_way.list().retain(|(other, _)| *other != slot);
        let ending = self.under_way.engine.wait(slot);
        guard.passed();
        // SAFETY: pointer and length are those of the slice that `begin` was given for all of `'scope`;
        // the operation on it has ended, and this handle, of which there was one, is gone.
        (ending, unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr(), length) })
    }

    /// Makes progress, and says whether an operation has ended.
    pub(crate) fn is_done<T>(&self, borrow: &Borrow<'scope, T>) -> bool {
        let mut core = self.under_way.engine.lock();
        core.progress();
        core.slots.is_done(borrow.slot)
    }

    pub(crate) fn cancel<T>(&self, borrow: &Borrow<'scope, T>) -> bool {
        self.under_way.engine.lock().cancel(borrow.slot)
    }

    /// Waits for all operations that nobody has waited for; the first failure among them.
    pub(crate) fn finish(&self) -> Option<(ringworld_protocol::Failure, Operation)> {
        self.under_way.finish()
    }
}

impl UnderWay {
    fn finish(&self) -> Option<(ringworld_protocol::Failure, Operation)> {
        let guard = NoUnwinding;
        let mut first = None;
        for (slot, operation) in std::mem::take(&mut *self.list()) {
            if let Err(failure) = self.engine.wait(slot) {
                first.get_or_insert((failure, operation));
            }
        }
        guard.passed();
        first
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Listed> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.list().is_empty() {
            // Nobody will make the calls that these operations may be waiting for: end them now, so that
            // the panic is not held up for ever.
            let said = crate::panics::last().map(|said| format!(": {said}")).unwrap_or_default();
            self.engine.lock().give_up(&format!("a panic left a scope with operations under way{said}"));
        }
        // Only after a panic is there anything left to wait for.
        let _unheard = self.finish();
    }
}
