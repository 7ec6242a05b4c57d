//! Loans of the caller's memory to operations, in two shapes that are safe to use.
//!
//! *Blocking*: the memory is borrowed for the call, and the call does not return before the operation
//! has ended, or both operations of a pair. *Owned*: a [`Loan`] owns the memory next to the operation; it gives it back when the
//! operation has ended, and when dropped before that it leaves the memory to the engine. Leaking a loan
//! leaks the memory, which is safe.

use std::sync::Arc;

use bytemuck::Pod;
use ringworld_protocol::BufferId;

use crate::engine::{Core, Ending, Engine, SlotId};

/// The memory of one blocking call.
pub(crate) struct Lend<'a> {
    pub(crate) input: Option<&'a [u8]>,
    pub(crate) output: Option<&'a mut [u8]>,
}

/// Ends the process if an operation on borrowed memory is left by a panic: the transports may still
/// write to memory that is about to be something else. Only a bug in the engine gets here.
struct NoUnwinding;

impl Drop for NoUnwinding {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Begins an operation on borrowed memory and waits for its end.
///
/// `begin` gets the names of the input and the output, and must give both to the slot it returns.
pub(crate) fn blocking(
    engine: &Engine,
    lend: Lend<'_>,
    begin: impl FnOnce(&mut Core, Option<BufferId>, Option<BufferId>) -> SlotId,
) -> Ending {
    let guard = NoUnwinding;
    let slot = {
        let mut core = engine.lock();
        // SAFETY: both borrows outlive this function, which returns only after the slot has ended; the
        // slot reclaims the names when it ends; unwinding ends the process.
        let input = lend.input.map(|bytes| unsafe { core.buffers.lend(bytes) });
        // SAFETY: as above.
        let output = lend.output.map(|bytes| unsafe { core.buffers.lend_mut(bytes) });
        let slot = begin(&mut core, input, output);
        if let Some(ending) = core.slots.take(slot) {
            drop(core);
            drop(guard);
            return ending;
        }
        slot
    };
    let ending = engine.wait(slot);
    drop(guard);
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
/// `begin` gets the name of each memory that is given, and must give it to the slot of that half.
pub(crate) fn blocking_pair(
    engine: &Engine,
    lend: Lend<'_>,
    begin: impl FnOnce(&mut Core, Pair<BufferId>) -> Pair<SlotId>,
) -> Pair<Ending> {
    let guard = NoUnwinding;
    let slots = {
        let mut core = engine.lock();
        // SAFETY: both borrows outlive this function, which returns only after both slots have ended; each
        // slot reclaims its name when it ends; unwinding ends the process.
        let send = lend.input.map(|bytes| unsafe { core.buffers.lend(bytes) });
        // SAFETY: as above; a shared and an exclusive borrow never overlap.
        let recv = lend.output.map(|bytes| unsafe { core.buffers.lend_mut(bytes) });
        begin(&mut core, Pair { send, recv })
    };
    let endings = wait_for(engine, slots);
    drop(guard);
    endings
}

/// Like [`blocking_pair`], for a send and a receive of the same memory: what is sent is staged in memory
/// of the engine first, and what comes replaces it.
pub(crate) fn blocking_replace(
    engine: &Engine,
    data: &mut [u8],
    begin: impl FnOnce(&mut Core, Pair<BufferId>) -> Pair<SlotId>,
) -> Pair<Ending> {
    let guard = NoUnwinding;
    let mut staged = engine.lock().buffers.block(data.len());
    // Not under the lock: a long copy would hold up everybody else.
    staged.bytes_mut()[..data.len()].copy_from_slice(data);
    let slots = {
        let mut core = engine.lock();
        let send = core.buffers.lend_block(&mut staged);
        // SAFETY: the borrow outlives this function, which returns only after the slot has ended; the slot
        // reclaims the name when it ends; unwinding ends the process.
        let recv = unsafe { core.buffers.lend_mut(data) };
        begin(&mut core, Pair { send: Some(send), recv: Some(recv) })
    };
    let endings = wait_for(engine, slots);
    // The send has ended, and has reclaimed the block's name.
    engine.lock().buffers.recycle(staged);
    drop(guard);
    endings
}

fn wait_for(engine: &Engine, slots: Pair<SlotId>) -> Pair<Ending> {
    // Either order will do: whoever waits drives both.
    let recv = slots.recv.map(|slot| engine.wait(slot));
    let send = slots.send.map(|slot| engine.wait(slot));
    Pair { send, recv }
}

/// A buffer together with the operation that uses it.
pub(crate) struct Loan<T: Pod + Send> {
    engine: Arc<Engine>,
    slot: SlotId,
    /// `None` once the operation has ended and the buffer has been given back.
    data: Option<Vec<T>>,
}

impl<T: Pod + Send> Loan<T> {
    /// Begins an operation that reads and writes `data`.
    pub(crate) fn begin(
        engine: &Arc<Engine>,
        mut data: Vec<T>,
        begin: impl FnOnce(&mut Core, BufferId, usize) -> SlotId,
    ) -> Self {
        let slot = {
            let mut core = engine.lock();
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
            let length = bytes.len();
            // SAFETY: the vector's heap memory stays where it is while the loan is moved about; nobody
            // touches it before the slot has ended (`finish`), and a dropped loan leaves it to the slot.
            let buffer = unsafe { core.buffers.lend_mut(bytes) };
            begin(&mut core, buffer, length)
        };
        engine.help();
        Self { engine: Arc::clone(engine), slot, data: Some(data) }
    }

    /// Waits for the end, and gives the buffer back.
    pub(crate) fn finish(mut self) -> (Ending, Vec<T>) {
        let ending = self.engine.wait(self.slot);
        // Taken only here and in `poll`, both of which end the loan.
        (ending, self.data.take().unwrap_or_default())
    }

    /// Makes progress, and gives the buffer back if the operation has ended.
    pub(crate) fn poll(&mut self, waker: Option<&std::task::Waker>) -> Option<(Ending, Vec<T>)> {
        let mut core = self.engine.lock();
        core.progress();
        match core.slots.take(self.slot) {
            Some(ending) => {
                drop(core);
                Some((ending, self.data.take().unwrap_or_default()))
            }
            None => {
                if let Some(waker) = waker {
                    core.slots.wake_task(self.slot, waker.clone());
                }
                None
            }
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        let mut core = self.engine.lock();
        core.progress();
        core.slots.is_done(self.slot)
    }

    pub(crate) fn cancel(&self) -> bool {
        self.engine.lock().cancel(self.slot)
    }

    pub(crate) fn is_live(&self) -> bool {
        self.data.is_some()
    }
}

impl<T: Pod + Send> Drop for Loan<T> {
    fn drop(&mut self) {
        if let Some(data) = self.data.take() {
            self.engine.lock().slots.detach(self.slot, Box::new(data));
        }
    }
}
