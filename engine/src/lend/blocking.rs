//! Memory that is borrowed for one call, which does not return before its operations have ended.

#![allow(unsafe_code)]

use std::sync::Arc;

use ringworld_protocol::BufferId;

use super::guard::NoUnwinding;
use crate::core::{Begun, Core};
use crate::engine::{Engine, Locked};
use crate::slots::Ending;

/// The memory of one blocking call.
pub struct Lend<'a> {
    /// What is read.
    pub input: Option<&'a [u8]>,
    /// What is written, and may be read.
    pub output: Option<&'a mut [u8]>,
}

/// Begins an operation on borrowed memory and waits for its end.
///
/// `begin` gets the names of the input and the output, and must give both to the slot it returns, or have
/// reclaimed them when it returns [`Begun::Ended`].
pub fn blocking<B: Into<Begun>>(
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
pub struct Pair<X> {
    /// Of the send.
    pub send: Option<X>,
    /// Of the receive.
    pub recv: Option<X>,
}

/// Begins a send from `lend.input` and a receive into `lend.output`, both under one lock, and waits for
/// the end of both, however the first to end has ended.
///
/// `begin` gets the name of each memory that is given, and must give it to the slot of that half, or have
/// reclaimed it when that half has ended already.
pub fn blocking_pair(
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
pub fn blocking_replace(
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

/// The name of a buffer that has been lent for certain.
pub fn name_of(lent: Option<BufferId>) -> BufferId {
    lent.unwrap_or(BufferId::NONE)
}
