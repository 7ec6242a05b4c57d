//! What the life of a transport and the end of a connection have in common, whatever the wire. Pure.
//!
//! A transport owns one [`Lifecycle`]: its phase, and the events that the next poll reports. Each connection owns one
//! [`Shutdown`], which decides what is said in which order, and when the connection may be dropped. The transport says
//! what its wire has done ([`Progress`]) and performs the answer ([`Step`]):
//!
//! ```text
//! closer   everything accepted … FIN   ->   peer reads everything before it, reports PeerClosed,
//! closer   reads the rest          <-   … FIN-ACK   sends what it had accepted itself, then acknowledges
//! closer   drops the connection
//! ```
//!
//! Both may send FIN at once; each then acknowledges the other's. FIN and FIN-ACK are messages of the transport, and
//! travel as messages do, behind everything that was sent before. Where a connection has several streams, a FIN counts
//! as read when it has been read on all of them, or when all that it has overtaken has come.
//!
//! Invariants: a connection is dropped in good order only by a side that has read all that the peer had to say and
//! whose own last word has arrived, or that has heard that the peer is gone and lacks nothing; `PeerClosed` comes once,
//! after everything that the peer has sent; `PeerDown` comes once, and nothing of that peer after it.
//!
//! Neighbours: `transport-tcp` and `transport-ibverbs` use it; the conformance kit checks the outcome on real wires.

use crate::{Cause, Event, Rank};

/// How far the life of a transport has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Operations are accepted.
    #[default]
    Live,
    /// [`Transport::close`](crate::Transport::close) has been called.
    Closing,
    /// [`Event::Closed`] has been reported, or [`Transport::abort`](crate::Transport::abort) has been called.
    Over,
}

/// The phase of a transport, and what its next poll has to report.
///
/// ```
/// use ringworld_transport::Event;
/// use ringworld_transport::lifecycle::Lifecycle;
/// let (mut life, mut events) = (Lifecycle::default(), Vec::new());
/// assert!(life.close() && !life.close(), "only the first call begins the end");
/// life.closed();
/// life.report(&mut events);
/// assert!(life.is_over() && matches!(events[..], [Event::Closed]));
/// ```
#[derive(Debug, Default)]
pub struct Lifecycle {
    phase: Phase,
    deferred: Vec<Event>,
    /// Something has to be done at the next poll that no descriptor will announce.
    due: bool,
}

impl Lifecycle {
    /// The phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether operations are accepted.
    #[must_use]
    #[inline]
    pub fn is_live(&self) -> bool {
        self.phase == Phase::Live
    }

    /// Whether connections are being shut down.
    #[must_use]
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.phase == Phase::Closing
    }

    /// Whether nothing is left to do but to report.
    #[must_use]
    #[inline]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Keeps an event that happened outside of a poll, or that must come after those of the poll.
    pub fn defer(&mut self, event: Event) {
        self.deferred.push(event);
    }

    /// The events that wait to be reported, for those who add several or take one back.
    #[inline]
    pub fn deferred(&mut self) -> &mut Vec<Event> {
        &mut self.deferred
    }

    /// Hands on all that was deferred.
    #[inline]
    pub fn report(&mut self, events: &mut Vec<Event>) {
        // Asked first: most polls find nothing.
        if !self.deferred.is_empty() {
            events.append(&mut self.deferred);
        }
    }

    /// Has the next poll look after everything, though no descriptor asks for it.
    pub fn call_for_poll(&mut self) {
        self.due = true;
    }

    /// Whether [`Lifecycle::call_for_poll`] was called since the last [`Lifecycle::begin_poll`].
    #[must_use]
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// A poll looks after everything.
    #[inline]
    pub fn begin_poll(&mut self) {
        self.due = false;
    }

    /// Whether nobody may sleep before the next poll.
    #[must_use]
    #[inline]
    pub fn forbids_sleep(&self) -> bool {
        self.due || !self.deferred.is_empty()
    }

    /// Begins the orderly end; `false` when it has begun already, or everything is over.
    pub fn close(&mut self) -> bool {
        if self.phase != Phase::Live {
            return false;
        }
        (self.phase, self.due) = (Phase::Closing, true);
        true
    }

    /// The last connection has been shut down.
    pub fn closed(&mut self) {
        self.phase = Phase::Over;
        self.deferred.push(Event::Closed);
    }

    /// Ends everything at once; nothing that was deferred is reported.
    pub fn abort(&mut self) {
        (self.phase, self.due) = (Phase::Over, false);
        self.deferred.clear();
    }
}

/// A message of the transport itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// Nothing more will come from the side that sends it, but for its FIN-ACK.
    Fin,
    /// Everything before the other side's FIN has been read, and nothing more will come from here.
    FinAck,
}

/// What the wire has done for one connection so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Nothing that was accepted is left to be sent.
    pub idle: bool,
    /// The peer may still fill memory that is exposed to it.
    pub exposed: bool,
    /// The peer's FIN has been read, and everything before it.
    pub fin_read: bool,
    /// The peer's FIN-ACK has been read, and everything before it.
    pub fin_ack_read: bool,
    /// Our FIN-ACK cannot be lost any more by dropping the connection.
    pub fin_ack_delivered: bool,
}

/// What a transport has to do next for a connection that is shut down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this, and say so by [`Shutdown::sent`]. Where there is no room now, it is asked for again later.
    Send(Control),
    /// Drop the connection: both sides have said and read everything.
    Release,
    /// Fail the connection for this cause: something here waits for what will not come.
    Fail(Cause),
}

/// The end of one connection, by agreement or by loss.
///
/// ```
/// use ringworld_transport::lifecycle::{Control, Lifecycle, Progress, Shutdown, Step};
/// let (mut life, mut shutdown) = (Lifecycle::default(), Shutdown::default());
/// let mut progress = Progress { idle: true, fin_ack_delivered: true, ..Progress::default() };
/// assert_eq!(shutdown.next(1, progress, &mut life), None, "nobody wants to end it");
/// life.close();
/// assert_eq!(shutdown.next(1, progress, &mut life), Some(Step::Send(Control::Fin)));
/// shutdown.sent(Control::Fin);
/// assert_eq!(shutdown.next(1, progress, &mut life), None, "the peer has not answered");
/// progress.fin_ack_read = true;
/// assert_eq!(shutdown.next(1, progress, &mut life), Some(Step::Release));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shutdown {
    fin_sent: bool,
    fin_ack_sent: bool,
    peer_closed: bool,
    down: bool,
}

impl Shutdown {
    /// The next step of the orderly end, if there is one now; to be asked again after each step, and whenever
    /// `progress` may have changed. Defers [`Event::PeerClosed`] when the peer's FIN has been read.
    pub fn next(&mut self, peer: Rank, progress: Progress, life: &mut Lifecycle) -> Option<Step> {
        let Progress { idle, exposed, fin_read, fin_ack_read, fin_ack_delivered } = progress;
        if fin_read && !self.peer_closed {
            self.peer_closed = true;
            life.defer(Event::PeerClosed { peer });
            if exposed {
                // Nobody will fill it any more.
                return Some(Step::Fail(Cause::Finished));
            }
        }
        if !idle {
            return None;
        }
        if self.peer_closed && !self.fin_ack_sent {
            return Some(Step::Send(Control::FinAck));
        }
        if !life.is_closing() {
            return None;
        }
        if !self.peer_closed && !self.fin_sent {
            return Some(Step::Send(Control::Fin));
        }
        // A side that has answered the other's FIN before it sent its own need not send one.
        let answered = fin_ack_read || (self.peer_closed && !self.fin_sent);
        let answer_arrived = !self.peer_closed || fin_ack_delivered;
        (answered && answer_arrived).then_some(Step::Release)
    }

    /// What [`Step::Send`] asked for is on its way.
    pub fn sent(&mut self, control: Control) {
        match control {
            Control::Fin => self.fin_sent = true,
            Control::FinAck => self.fin_ack_sent = true,
        }
    }

    /// Whether [`Event::PeerClosed`] has been deferred: the peer accepts nothing more.
    #[must_use]
    #[inline]
    pub fn is_peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Whether nothing is missing if the connection ends by itself now: the peer has left in good order.
    #[must_use]
    pub fn may_end(&self, progress: Progress) -> bool {
        // An answer that nobody has asked for says nothing.
        (self.fin_sent && progress.fin_ack_read) || (self.peer_closed && progress.idle)
    }

    /// The connection is lost or given up: defers [`Event::PeerDown`], once; `false` when that has been done before.
    /// The transport then lets go of all memory of the peer, before its next poll reports.
    #[must_use]
    pub fn fail(&mut self, peer: Rank, cause: &Cause, life: &mut Lifecycle) -> bool {
        let first = !std::mem::replace(&mut self.down, true);
        if first {
            life.defer(Event::PeerDown { peer, cause: cause.clone() });
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};

    use super::*;

    #[test]
    fn a_peer_is_down_once() {
        let (mut life, mut shutdown, mut events) = (Lifecycle::default(), Shutdown::default(), Vec::new());
        let cause = Cause::Lost("gone".to_owned());
        assert!(shutdown.fail(3, &cause, &mut life) && !shutdown.fail(3, &Cause::Finished, &mut life));
        assert!(life.forbids_sleep(), "somebody slept although there is something to report");
        life.report(&mut events);
        assert!(
            matches!(&events[..], [Event::PeerDown { peer: 3, cause: why }] if *why == cause),
            "{events:?}"
        );
        assert!(!life.forbids_sleep());
    }

    #[test]
    fn an_abort_reports_nothing() {
        let (mut life, mut events) = (Lifecycle::default(), Vec::new());
        life.defer(Event::PeerClosed { peer: 0 });
        life.abort();
        life.report(&mut events);
        assert!(events.is_empty() && life.is_over() && !life.close());
    }

    #[test]
    fn an_answer_without_a_question_excuses_no_end() {
        let (mut shutdown, answered) =
            (Shutdown::default(), Progress { fin_ack_read: true, ..Progress::default() });
        assert!(!shutdown.may_end(answered));
        shutdown.sent(Control::Fin);
        assert!(shutdown.may_end(answered));
    }

    #[test]
    fn memory_that_a_leaving_peer_did_not_fill_fails_its_connection() {
        let (mut life, mut shutdown, mut events) = (Lifecycle::default(), Shutdown::default(), Vec::new());
        let progress = Progress { idle: true, exposed: true, fin_read: true, ..Progress::default() };
        assert_eq!(shutdown.next(2, progress, &mut life), Some(Step::Fail(Cause::Finished)));
        life.report(&mut events);
        assert!(matches!(events[..], [Event::PeerClosed { peer: 2 }]), "{events:?}");
    }

    /// One side of a connection over a perfect wire.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Side {
        /// Messages accepted and not sent.
        unsent: u8,
        /// Messages that the program will post if it still may.
        unposted: u8,
        /// Messages that were accepted here, ever.
        accepted: u8,
        read: u8,
        /// How often it has reported that the peer has left.
        told: u8,
        fin_read: bool,
        fin_ack_read: bool,
        /// Its program ends some time, and so closes.
        ends: bool,
        closing: bool,
        shutdown: Shutdown,
        /// Whether it has dropped the connection.
        gone: bool,
    }

    /// Both sides, and what is on its way to each; `None` is a message.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct World {
        sides: [Side; 2],
        wires: [VecDeque<Option<Control>>; 2],
        /// Whether what a side has sent and the other has not read is lost when it drops the connection, as with
        /// verbs. Of TCP the kernel sends the rest.
        drops: bool,
    }

    impl World {
        fn new(messages: [u8; 2], ends: [bool; 2], drops: bool) -> Self {
            let side = |me: usize| Side {
                unsent: 0,
                unposted: messages[me],
                accepted: 0,
                read: 0,
                told: 0,
                fin_read: false,
                fin_ack_read: false,
                ends: ends[me],
                closing: false,
                shutdown: Shutdown::default(),
                gone: false,
            };
            Self { sides: [side(0), side(1)], wires: [VecDeque::new(), VecDeque::new()], drops }
        }

        /// Everything that can happen next, and what the world is like then.
        fn successors(&self) -> Vec<Self> {
            let mut all = Vec::new();
            for me in 0..2 {
                let side = &self.sides[me];
                let mut with = |change: &dyn Fn(&mut Self)| {
                    let mut next = self.clone();
                    change(&mut next);
                    all.push(next);
                };
                if side.gone {
                    continue;
                }
                if side.unposted > 0 && !side.closing && !side.shutdown.is_peer_closed() {
                    with(&|next| {
                        let side = &mut next.sides[me];
                        (side.unposted, side.unsent, side.accepted) =
                            (side.unposted - 1, side.unsent + 1, side.accepted + 1);
                    });
                }
                if side.ends && !side.closing {
                    with(&|next| next.sides[me].closing = true);
                }
                if side.unsent > 0 {
                    with(&|next| {
                        next.sides[me].unsent -= 1;
                        next.send(me, None);
                    });
                }
                if !self.wires[me].is_empty() {
                    with(&|next| next.read(me));
                }
                with(&|next| next.step(me));
            }
            all
        }

        fn progress(&self, me: usize) -> Progress {
            let side = &self.sides[me];
            Progress {
                idle: side.unsent == 0,
                exposed: false,
                fin_read: side.fin_read,
                fin_ack_read: side.fin_ack_read,
                // As a card reports it; of TCP, what the kernel has taken arrives.
                fin_ack_delivered: !self.drops || !self.wires[1 - me].contains(&Some(Control::FinAck)),
            }
        }

        /// What reaches a side that has dropped the connection resets it, and what the sender has not read is lost.
        fn send(&mut self, me: usize, what: Option<Control>) {
            if self.sides[1 - me].gone {
                self.wires[me].clear();
            } else {
                self.wires[1 - me].push_back(what);
            }
        }

        fn read(&mut self, me: usize) {
            let side = &mut self.sides[me];
            match self.wires[me].pop_front() {
                Some(Some(Control::Fin)) => side.fin_read = true,
                Some(Some(Control::FinAck)) => side.fin_ack_read = true,
                Some(None) => {
                    assert!(!side.fin_ack_read, "a message after a FIN-ACK");
                    side.read += 1;
                }
                None => {}
            }
        }

        fn step(&mut self, me: usize) {
            let progress = self.progress(me);
            let mut life = Lifecycle::default();
            if self.sides[me].closing {
                life.close();
            }
            let step = self.sides[me].shutdown.next(1 - me, progress, &mut life);
            let mut events = Vec::new();
            life.report(&mut events);
            if !events.is_empty() {
                assert!(matches!(events[..], [Event::PeerClosed { peer }] if peer == 1 - me), "{events:?}");
                self.sides[me].told += 1;
                assert_eq!(self.sides[me].told, 1, "told twice that the peer has left");
                let (read, accepted) = (self.sides[me].read, self.sides[1 - me].accepted);
                assert_eq!(read, accepted, "told that the peer has left before its last message");
            }
            match step {
                Some(Step::Send(control)) => {
                    self.sides[me].shutdown.sent(control);
                    self.send(me, Some(control));
                }
                Some(Step::Release) => self.release(me),
                Some(Step::Fail(cause)) => panic!("{cause}"),
                // The peer has gone, and everything that it sent has been read.
                None if self.sides[1 - me].gone && self.wires[me].is_empty() => {
                    assert!(self.sides[me].shutdown.may_end(progress), "a side was left alone");
                    self.release(me);
                }
                None => {}
            }
        }

        fn release(&mut self, me: usize) {
            assert!(self.sides[me].unsent == 0, "a message was dropped");
            assert_eq!(self.sides[me].read, self.sides[1 - me].accepted, "the peer had more to say");
            if self.sides[me].shutdown.fin_sent && !self.sides[1 - me].gone {
                let (accepted, read) = (self.sides[me].accepted, self.sides[1 - me].read);
                assert_eq!(accepted, read, "closed, and the peer has not read everything");
            }
            self.sides[me].gone = true;
            if self.drops || !self.wires[me].is_empty() {
                // As a queue pair that is destroyed, or a socket that is closed with something to be read.
                self.wires[1 - me].clear();
            }
        }
    }

    #[test]
    fn in_whatever_order_it_happens_nothing_is_lost_and_both_sides_end() {
        let cases = [[0, 0], [1, 0], [2, 1], [2, 2]]
            .map(|messages| [(messages, [true, false]), (messages, [true; 2])]);
        for ((messages, ends), drops) in
            cases.into_iter().flatten().flat_map(|case| [(case, false), (case, true)])
        {
            let (mut seen, mut open) = (HashSet::new(), vec![World::new(messages, ends, drops)]);
            let (mut ended, mut told) = (0, 0);
            while let Some(world) = open.pop() {
                if !seen.insert(world.clone()) {
                    continue;
                }
                let next: Vec<World> = world.successors().into_iter().filter(|next| *next != world).collect();
                if next.is_empty() {
                    assert!(world.sides.iter().all(|side| side.gone), "a side waits for ever");
                    ended += 1;
                    told += world.sides.iter().map(|side| usize::from(side.told)).sum::<usize>();
                }
                open.extend(next);
            }
            assert!(
                ended > 0 && told > 0 && seen.len() >= 8,
                "{} states, {ended} ends, {told} told",
                seen.len()
            );
        }
    }
}
