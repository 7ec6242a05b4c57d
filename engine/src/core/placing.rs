//! Where the payload of a message goes.

use ringworld_protocol::{Completion, Done, Envelope, Expected, Failure, Machine, Place};
use ringworld_transport::{Event, Placement, Placer, RecvMemory, Token};

use super::super::buffer::{Buffers, Copier};
use super::super::calls::{Calls, Ending};
use super::super::observe::Observed;
use super::super::owners::{Owner, Owners, RunId};
use super::super::runs::{Disagreement, Runs, is_reminder};
use super::line::{Got, Line};

/// What a caller polls for.
pub(crate) enum Expecting<'a> {
    /// On the short path, under the lock.
    Receive(ExpectedReceive<'a>),
    /// Likewise.
    Steps(AwaitedSteps),
    /// The ends of calls.
    Calls,
}

/// A receive that is not posted.
pub(crate) struct ExpectedReceive<'a> {
    pub(super) what: Expected,
    pub(super) into: &'a mut [u8],
    pub(super) ending: Option<Ending>,
}

/// The awaited receives of a run.
pub(crate) struct AwaitedSteps {
    pub(super) run: RunId,
    /// At least one has ended in this poll.
    pub(super) taken: bool,
    /// A message of one goes the ordinary way, so it has to be posted.
    pub(super) missed: bool,
}

impl<'a> Expecting<'a> {
    #[inline]
    pub(crate) fn receive(what: Expected, into: &'a mut [u8]) -> Self {
        Self::Receive(ExpectedReceive { what, into, ending: None })
    }

    #[inline]
    pub(crate) fn steps(run: RunId) -> Self {
        Self::Steps(AwaitedSteps { run, taken: false, missed: false })
    }
}

/// A receive that has ended within a poll, whose it was, and how.
pub(super) type Completed = (Owner, Result<Done, Failure>);

/// Answers the transports' one question, and compares signatures on the way.
pub(super) struct Placing<'a, 'm> {
    pub(super) machine: &'a mut Machine,
    pub(super) buffers: &'a mut Buffers,
    pub(super) runs: &'a mut Runs,
    pub(super) clash: Option<(usize, u64, Disagreement)>,
    /// How many reminders came, and those that the protocol still has.
    pub(super) reminders: usize,
    pub(super) reminded: Vec<(usize, Envelope)>,
    pub(super) announced: Announced,
    /// How many messages were delivered whole, and the posted receives that have ended so.
    pub(super) delivered: usize,
    pub(super) completed: &'a mut Vec<Completed>,
    pub(super) owners: &'a mut Owners,
    pub(super) calls: &'a mut Calls,
    pub(super) line: &'a mut Line,
    pub(super) observed: &'a mut Observed,
    pub(super) expecting: Option<&'a mut Expecting<'m>>,
    /// What comes behind may be left lying: nobody but the caller waits for anything.
    pub(super) may_leave: bool,
    /// What the caller polls for has come.
    pub(super) has_enough: bool,
}

impl Placing<'_, '_> {
    /// Notes that a message has come, and compares its signature.
    #[inline]
    fn announce(&mut self, peer: usize, envelope: Envelope) {
        if !is_collective(envelope.context) {
            self.announced.add(envelope.context);
            return;
        }
        if is_reminder(envelope.tag) {
            self.reminders += 1;
            self.reminded.push((peer, envelope));
        } else if let Some(Expecting::Steps(steps)) = &mut self.expecting {
            steps.missed |= self.runs.awaits(steps.run, peer, &envelope);
        }
        if let Some(disagreement) = self.runs.arrive(peer, &envelope) {
            self.clash.get_or_insert((peer, envelope.context, disagreement));
        }
    }
}

/// In which contexts of users messages have come, well enough to wake those who wait for one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Announced {
    #[default]
    None,
    In(u64),
    Several,
}

impl Announced {
    fn add(&mut self, context: u64) {
        *self = match *self {
            Self::None => Self::In(context),
            Self::In(other) if other == context => Self::In(context),
            Self::In(_) | Self::Several => Self::Several,
        };
    }

    pub(super) fn has(self, context: u64) -> bool {
        match self {
            Self::None => false,
            Self::In(other) => other == context,
            Self::Several => true,
        }
    }
}

impl Placing<'_, '_> {
    /// Gives a message to a receive in line, if it is for one; otherwise nothing has happened.
    fn deliver_in_line(&mut self, peer: usize, header: &[u8], length: usize, copy: Copier<'_>) -> bool {
        let where_from = (&mut *self.machine, &mut *self.owners, &mut *self.calls);
        let Some(Got { call, into, ending }) = self.line.offer(where_from, peer, header, length) else {
            return false;
        };
        if into.len > 0 {
            self.buffers.fill(into, copy);
        }
        // No run has to go on because of it, so the end of the poll is not waited for.
        self.calls.end(call, ending.map(Some), self.buffers);
        self.has_ended_one();
        true
    }

    /// All of a message is where it belongs.
    #[inline]
    fn conclude(&mut self, token: u64) {
        if let Some(Completion { request, outcome }) = self.machine.conclude(token)
            // Now: the next request may have the same number.
            && let Some(owner) = self.owners.remove(request)
        {
            self.completed.push((owner, outcome));
            self.has_ended_one();
        }
    }

    /// A receive has ended. If nothing else is waited for, that is enough.
    #[inline]
    fn has_ended_one(&mut self) {
        let waits_for_calls = matches!(self.expecting, Some(Expecting::Calls));
        let all = self.line.is_empty() && self.machine.pending() == 0;
        // Other links are asked as well: what is enough stays so.
        self.has_enough |= self.may_leave && waits_for_calls && all;
    }
}

impl Placer for Placing<'_, '_> {
    fn place(&mut self, peer: usize, header: &[u8], length: usize) -> Result<Placement, String> {
        // It comes in pieces, which go where it is told before they have come.
        if !self.line.is_empty() {
            self.line.post(self.machine, self.owners, self.calls);
        }
        let target = self.machine.header(peer, header, length).map_err(|malformed| malformed.to_string())?;
        if let Some(envelope) = target.announces {
            self.announce(peer, envelope);
        }
        self.observed.expects(peer, length);
        let memory = match target.place {
            Place::Span(span) => self.buffers.to_receive(span),
            Place::Bounce { len } => self.buffers.bounce(target.token, len),
            Place::Nothing => RecvMemory::empty(),
        };
        Ok(Placement { token: Token(target.token), memory })
    }

    /// In one go, without a lease of the memory and an event: of the instructions that it takes to receive 8 bytes that
    /// is a fifth.
    fn deliver_from(
        &mut self,
        peer: usize,
        header: &[u8],
        length: usize,
        copy: Copier<'_>,
        _events: &mut Vec<Event>,
    ) -> Result<(), String> {
        self.delivered += 1;
        self.observed.received(peer, length);
        match &mut self.expecting {
            Some(Expecting::Receive(expected)) if expected.ending.is_none() => {
                let taken = self.machine.take_expected(peer, header, length, &expected.what);
                if let Some((bytes, ending)) = taken {
                    copy(&mut expected.into[..bytes]);
                    expected.ending = Some(ending.map(Some));
                    self.has_enough = self.may_leave;
                    return Ok(());
                }
            }
            Some(Expecting::Steps(steps)) => {
                let (machine, buffers) = (&mut *self.machine, &*self.buffers);
                if self.runs.take_awaited(steps.run, machine, buffers, peer, header, (length, copy)) {
                    steps.taken = true;
                    self.has_enough = self.may_leave && !self.runs.is_awaiting(steps.run);
                    return Ok(());
                }
            }
            _ => {}
        }
        if !self.line.is_empty() && self.deliver_in_line(peer, header, length, copy) {
            return Ok(());
        }
        let target = self.machine.header(peer, header, length).map_err(|malformed| malformed.to_string())?;
        if let Some(envelope) = target.announces {
            self.announce(peer, envelope);
        }
        match target.place {
            Place::Span(span) => self.buffers.fill(span, copy),
            Place::Bounce { .. } => self.buffers.keep(target.token, length, copy),
            Place::Nothing => {}
        }
        self.conclude(target.token);
        Ok(())
    }

    /// While the poll goes on: behind it may lie the next message, which is better left there than taken in before
    /// somebody asks for it. An exchange of 64 KiB each way copied every other message once more than it had to.
    ///
    /// Not of one that has come before somebody asked for it: its payload is copied when that is settled, at the end of
    /// the poll, and until then nobody may be told that it is there.
    fn arrived(&mut self, peer: usize, token: Token, events: &mut Vec<Event>) {
        if self.buffers.is_bouncing(token.0) {
            events.push(Event::Received { peer, token });
            return;
        }
        self.delivered += 1;
        self.observed.received(peer, 0);
        self.conclude(token.0);
    }

    #[inline]
    fn has_enough(&self) -> bool {
        self.has_enough
    }
}

/// Each communicator has two contexts: even for messages of the user, odd for collectives.
pub(crate) fn is_collective(context: u64) -> bool {
    context % 2 == 1
}

#[cfg(test)]
mod tests {
    use ringworld_protocol::{Config, Element, Header, Selector, TagSelector};

    use super::*;

    /// A message of 100 bytes, and a receive for it with room for so many: what is done with it before or after that is
    /// posted, by somebody who waits for the ends of calls; and what is in the receive's memory in the end.
    fn arrives<T>(
        room: usize,
        posted_before: bool,
        come: impl FnOnce(&mut Placing<'_, '_>, &[u8], &dyn Fn(&mut Placing<'_, '_>)) -> T,
    ) -> (T, Vec<u8>) {
        let [mut here, mut there] =
            [0, 1].map(|rank| Machine::new(Config::new(rank, 2, 1024, 8192).unwrap()));
        let (mut buffers, mut runs, mut completed) = (Buffers::new(), Runs::default(), Vec::new());
        let (mut owners, mut calls, mut line) = (Owners::default(), Calls::default(), Line::default());
        let mut observed = Observed::new(2, None);
        let mut block = buffers.block(100);
        let into = buffers.lend_block(&mut block).cut(room);
        let post = |placing: &mut Placing<'_, '_>| {
            let selector = Selector { context: 0, source: Some(1), tag: TagSelector::Exact(7) };
            let request = placing.machine.receive(selector, into, Element::RAW);
            placing.owners.insert(request, Owner::Step { run: 0, step: 0 });
        };
        let envelope = Envelope { context: 0, element: Element::RAW, tag: 7, signature: [0; 24] };
        let departure = there.depart(0, &envelope, 100).unwrap();
        let mut expecting = Expecting::Calls;
        let mut placing = Placing {
            machine: &mut here,
            buffers: &mut buffers,
            runs: &mut runs,
            clash: None,
            reminders: 0,
            reminded: Vec::new(),
            announced: Announced::default(),
            delivered: 0,
            completed: &mut completed,
            owners: &mut owners,
            calls: &mut calls,
            line: &mut line,
            observed: &mut observed,
            expecting: Some(&mut expecting),
            may_leave: true,
            has_enough: false,
        };
        if posted_before {
            post(&mut placing);
        }
        let mut header = [0; Header::MAX];
        let done = come(&mut placing, departure.encode(&mut header), &post);
        (done, block.bytes()[..room].to_vec())
    }

    /// In pieces, whose receive is posted before or while it comes: what its end brings within the poll.
    fn ends_within_the_poll(posted_before: bool) -> (usize, usize, bool) {
        let ended = arrives(100, posted_before, |placing, header, post| {
            let Placement { token, memory } = placing.place(1, header, 100).unwrap();
            drop(memory);
            if !posted_before {
                post(placing);
            }
            let mut events = Vec::new();
            placing.arrived(1, token, &mut events);
            (placing.completed.len(), events.len(), placing.has_enough())
        });
        ended.0
    }

    /// It is copied once, and no more of it than there is room for, or all of it for whoever asks later.
    #[test]
    fn what_lies_elsewhere_is_copied_to_where_it_belongs() {
        for (room, posted_before, copied) in [(100, true, 100), (40, true, 40), (100, false, 100)] {
            let (copies, bytes) = arrives(room, posted_before, |placing, header, _| {
                let (mut copies, mut events) = (Vec::new(), Vec::new());
                let copy = &mut |into: &mut [u8]| {
                    into.fill(7);
                    copies.push(into.len());
                };
                placing.deliver_from(1, header, 100, copy, &mut events).unwrap();
                assert!(events.is_empty() && placing.delivered == 1);
                assert_eq!(placing.completed.len(), usize::from(posted_before));
                copies
            });
            assert_eq!(copies, [copied], "{room} {posted_before}");
            assert_eq!(bytes, vec![if posted_before { 7 } else { 0 }; room]);
        }
    }

    #[test]
    fn a_message_that_is_where_it_belongs_ends_its_receive_and_perhaps_the_poll() {
        assert_eq!(ends_within_the_poll(true), (1, 0, true));
    }

    /// It has yet to be copied, and if this rank fails before that, nobody may have been told that it is there.
    #[test]
    fn a_message_that_bounces_ends_its_receive_after_the_poll() {
        assert_eq!(ends_within_the_poll(false), (0, 1, false));
    }
}
