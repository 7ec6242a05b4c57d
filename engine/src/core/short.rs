//! The short path: a small message that leaves at once, and a receive whose message is there or comes at once.
//!
//! This file decides whether it may be taken; the ordinary path lies beneath it unchanged, and takes whatever this one
//! declines. On the short path nothing is entered anywhere: no name for the memory, no request, no call, no lease and no
//! event. That is possible because the lock is held from the beginning to the end, and because the caller's memory is
//! read or written within one call of a transport, as an ordinary slice.
//!
//! ```text
//! send     nothing waits for that peer, there is credit, all of it leaves now   depart ─▶ inject ─▶ left
//! receive  nothing has come for it, and a poll brings all of its message       deliver ─▶ take_expected
//! ```
//!
//! Order: a receive of the short path comes after all that are posted, so whatever one of those accepts is not for it;
//! and it takes no message while an earlier one that it accepts lies here.

use ringworld_protocol::{Envelope, Header, Mode, Selector};

use super::super::calls::Ending;
use super::Core;
use super::placing::Expecting;

/// Receives of more bytes wait for their messages on the ordinary path: those may come in pieces, which the short path
/// would take for messages that nobody has asked for, and copy once more.
const LONGEST: usize = 4 << 10;

impl Core {
    /// Sends a message on the short path, and says whether it has left; `false`: nothing has happened.
    #[inline]
    pub(crate) fn send_short(&mut self, to: usize, envelope: &Envelope, mode: Mode, payload: &[u8]) -> bool {
        if mode != Mode::Standard || self.fault.is_some() || !self.router.may_inject(to, payload.len()) {
            return false;
        }
        let Some(departure) = self.machine.depart(to, envelope, payload.len()) else { return false };
        let mut room = [0; Header::MAX];
        let left = self.router.inject(to, departure.header.encode(&mut room), payload);
        if left {
            departure.left();
        }
        left
    }

    /// Whether a receive may wait on the short path.
    #[inline]
    pub(crate) fn may_expect(&mut self, selector: &Selector, room: usize) -> bool {
        if room > LONGEST || self.fault.is_some() || !self.router.delivers(selector.source) {
            return false;
        }
        self.hear_first();
        self.machine.may_expect(selector)
    }

    /// Polls once for a receive on the short path.
    #[inline]
    pub(crate) fn poll_for(&mut self, expecting: &mut Expecting<'_>) -> Option<Ending> {
        self.poll(Some(expecting));
        expecting.ending.take()
    }
}
