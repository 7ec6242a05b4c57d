//! Receives in line: begun, and not posted with the protocol.
//!
//! Most programs begin short receives shortly before their messages come, and in the order in which those come. To
//! enter such a receive with the protocol, and to take it out again, costs more than all else that is done for it; so
//! it waits here, and a message that has arrived whole is offered to the line first.
//!
//! Invariants: whatever is posted of the user's receives was begun before whatever is in line; nothing that lies here
//! unreceived is accepted by anything in line. So to be posted later changes nothing: a receive gets the message that
//! it would have got. Whoever is about to change what is posted has the line posted first, as does a call that is about
//! to sleep, of which others may ask whom it waits for; when the world is over it is empty.

use std::collections::VecDeque;

use ringworld_protocol::{Element, Expected, Machine, Offer, Selector, Span};

use super::super::calls::{CallId, Calls};
use super::super::owners::{Owner, Owners};

/// A message is offered to so many, from the front on. If it is for none of them and there are more, all are posted:
/// the protocol finds its receive, if it has one, by its sender.
const OFFERED: usize = 16;

/// More are posted: to let them go through here would cost more than it saves.
const LONGEST_LINE: usize = 1024;

/// A receive in line.
struct Waiting {
    call: CallId,
    into: Span,
    what: Expected,
}

#[derive(Default)]
pub(super) struct Line(VecDeque<Waiting>);

/// A message that a receive in line has got.
pub(super) struct Got {
    pub(super) call: CallId,
    /// As much of the memory as it fills.
    pub(super) into: Span,
    pub(super) ending: Result<ringworld_protocol::Done, ringworld_protocol::Failure>,
}

impl Line {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is room for one more.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.0.len() < LONGEST_LINE
    }

    /// Puts a receive behind the others. Nothing that lies here may be accepted by it.
    #[inline]
    pub(super) fn push(&mut self, call: CallId, selector: Selector, element: Element, into: Span) {
        self.0.push_back(Waiting { call, into, what: Expected { selector, element, room: into.len } });
    }

    /// Offers a message of which all has arrived. `None`: it is for none of these, or it could not be said, and then
    /// all are posted.
    #[inline]
    pub(super) fn offer(
        &mut self,
        (machine, owners, calls): (&mut Machine, &mut Owners, &mut Calls),
        peer: usize,
        header: &[u8],
        length: usize,
    ) -> Option<Got> {
        let offered = self.0.iter().take(OFFERED).map(|waiting| &waiting.what);
        match machine.offer(peer, header, length, offered) {
            Offer::Taken { place, bytes, ending } => {
                // Mostly it is the first.
                let got = if place == 0 { self.0.pop_front() } else { self.0.remove(place) };
                let Waiting { call, into, .. } = got?;
                Some(Got { call, into: into.cut(bytes), ending })
            }
            Offer::Elsewhere => None,
            Offer::Refused if self.0.len() <= OFFERED => None,
            Offer::Refused | Offer::Unclear => {
                self.post(machine, owners, calls);
                None
            }
        }
    }

    /// Posts all, in order.
    #[cold]
    pub(super) fn post(&mut self, machine: &mut Machine, owners: &mut Owners, calls: &mut Calls) {
        for Waiting { call, into, what } in self.0.drain(..) {
            let request = machine.receive(what.selector, into, what.element);
            owners.insert(request, Owner::Call(call));
            calls.name(call, request);
        }
    }
}
