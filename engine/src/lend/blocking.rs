//! Memory that is borrowed for one call, which does not return before its operations have ended.

#![allow(unsafe_code)]

use std::sync::Arc;

use ringworld_protocol::{Failure, Span};
use ringworld_transport::copying::copy;

use super::guard::NoUnwinding;
use crate::calls::Ending;
use crate::core::Begun;
use crate::engine::{Engine, Locked};
use crate::startable::{ReceiveCall, SendCall, Spans, Startable};

/// The memory of one blocking call.
pub struct Lend<'a> {
    /// What is read.
    pub input: Option<&'a [u8]>,
    /// What is written, and may be read.
    pub output: Option<&'a mut [u8]>,
}

/// Starts an operation on borrowed memory and waits for its end.
pub fn blocking<S: Startable>(engine: &Arc<Engine>, lend: Lend<'_>, what: S) -> (Ending, S::Number) {
    blocking_here(engine, lend, what)
}

/// The same as a part of the function that calls it: an end is larger than what most callers make of it.
#[inline(always)]
pub(super) fn blocking_here<S: Startable>(
    engine: &Arc<Engine>,
    lend: Lend<'_>,
    what: S,
) -> (Ending, S::Number) {
    let Some(mut core) = engine.enter() else { return (Err(Failure::Aborted), S::Number::default()) };
    let guard = NoUnwinding;
    let mut lend = lend;
    let bytes = lend.input.map_or(0, <[u8]>::len) + lend.output.as_ref().map_or(0, |output| output.len());
    core.observed.begins(what.told(), bytes);
    if let Some(done) = what.at_once(engine, &mut core, lend.input, lend.output.as_deref_mut()) {
        engine.go(core);
        guard.passed();
        return done;
    }
    // SAFETY: both borrows outlive this function, which returns only after the call has ended; the
    // call reclaims the names when it ends; unwinding ends the process.
    let input = lend.input.map_or(Span::EMPTY, |bytes| unsafe { core.buffers.lend(bytes) });
    // SAFETY: as above.
    let output = lend.output.map_or(Span::EMPTY, |bytes| unsafe { core.buffers.lend_mut(bytes) });
    let (begun, number) = what.start_and_wait(engine, &mut core, Spans { input, output });
    let ending = match begun {
        Begun::Ended => {
            engine.go(core);
            Ok(None)
        }
        Begun::Waits(call) => engine.go_on_to_wait(core, call),
    };
    guard.passed();
    (ending, number)
}

/// How the send and the receive of one call have ended. `None`: there is no such half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endings {
    /// Of the send.
    pub send: Option<Ending>,
    /// Of the receive.
    pub recv: Option<Ending>,
}

impl Endings {
    /// Of halves that have not begun: see [`Engine::enter`].
    fn refused(send: bool, recv: bool) -> Self {
        let half = |asked: bool| asked.then_some(Err(Failure::Aborted));
        Self { send: half(send), recv: half(recv) }
    }
}

/// Starts a send and a receive on borrowed memory, both under one lock, and waits for the end of both, however the
/// first to end has ended.
pub fn blocking_pair(
    engine: &Arc<Engine>,
    send: Option<(&SendCall, &[u8])>,
    recv: Option<(&ReceiveCall, &mut [u8])>,
) -> Endings {
    let Some(mut core) = engine.enter() else { return Endings::refused(send.is_some(), recv.is_some()) };
    let guard = NoUnwinding;
    let (mut send, mut recv) = (send, recv);
    if let Some((call, data)) = &send {
        core.observed.begins(call.told(), data.len());
    }
    if let Some((call, data)) = &recv {
        core.observed.begins(call.told(), data.len());
    }
    let mut done = Endings { send: None, recv: None };
    if let Some((call, data)) = send
        && let Some((ending, ())) = call.at_once(engine, &mut core, Some(data), None)
    {
        (send, done.send) = (None, Some(ending));
    }
    // Not before what is sent has left: its answer may be what is received.
    if send.is_none()
        && let Some((call, data)) = &mut recv
        && let Some((ending, ())) = call.at_once(engine, &mut core, None, Some(data))
    {
        (recv, done.recv) = (None, Some(ending));
    }
    if send.is_none() && recv.is_none() {
        engine.go(core);
        guard.passed();
        return done;
    }
    // SAFETY: both borrows outlive this function, which returns only after both calls have ended; each
    // call reclaims its name when it ends; unwinding ends the process.
    let send = send.map(|(send, data)| (send, unsafe { core.buffers.lend(data) }));
    // SAFETY: as above; a shared and an exclusive borrow never overlap.
    let recv = recv.map(|(recv, data)| (recv, unsafe { core.buffers.lend_mut(data) }));
    let Endings { send, recv } = exchange(engine, core, send, recv);
    guard.passed();
    Endings { send: done.send.or(send), recv: done.recv.or(recv) }
}

/// Like [`blocking_pair`], for a send and a receive of the same memory: what is sent is staged in memory
/// of the engine first, and what comes replaces it.
pub fn blocking_replace(
    engine: &Arc<Engine>,
    data: &mut [u8],
    send: &SendCall,
    recv: &ReceiveCall,
) -> Endings {
    let Some(mut core) = engine.enter() else { return Endings::refused(true, true) };
    let guard = NoUnwinding;
    let mut staged = core.buffers.block(data.len());
    drop(core);
    // Not under the lock: a long copy would hold up everybody else.
    copy(data, &mut staged.bytes_mut()[..data.len()]);
    let mut core = engine.lock();
    core.observed.begins(send.told(), data.len());
    core.observed.begins(recv.told(), data.len());
    let sent = core.buffers.lend_block(&mut staged).cut(data.len());
    // SAFETY: the borrow outlives this function, which returns only after the call has ended; the call
    // reclaims the name when it ends; unwinding ends the process.
    let received = unsafe { core.buffers.lend_mut(data) };
    let endings = exchange(engine, core, Some((send, sent)), Some((recv, received)));
    // The send has ended, and has reclaimed the block's name.
    engine.lock().buffers.recycle(staged);
    guard.passed();
    endings
}

fn exchange(
    engine: &Arc<Engine>,
    mut core: Locked<'_>,
    send: Option<(&SendCall, Span)>,
    recv: Option<(&ReceiveCall, Span)>,
) -> Endings {
    // The receive first, so that what is sent to oneself, or has come already, needs no detour.
    let recv = recv
        .map(|(recv, output)| recv.start_and_wait(engine, &mut core, Spans { input: Span::EMPTY, output }).0);
    let send = send
        .map(|(send, input)| send.start_and_wait(engine, &mut core, Spans { input, output: Span::EMPTY }).0);
    let mut held = Some(core);
    // Either order will do: whoever waits drives both.
    let [recv, send] = [recv, send].map(|half| {
        Some(match half? {
            Begun::Ended => Ok(None),
            Begun::Waits(call) => engine.go_on_to_wait(held.take().unwrap_or_else(|| engine.lock()), call),
        })
    });
    if let Some(core) = held {
        engine.go(core);
    }
    Endings { send, recv }
}
