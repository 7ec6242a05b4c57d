//! How connections end: in good order, by loss, or by decision of the runtime.
//!
//! The orderly end is that of [`lifecycle`](ringworld_transport::lifecycle), on every established lane, so that nothing
//! on any of them is overtaken. So neither side ever resets bytes that the other has not read. Neighbours: `fins.rs`
//! knows what has been read, `peer.rs` has the state, `transport.rs` calls in.

use std::net::Shutdown;
use std::time::{Duration, Instant};

use ringworld_transport::lifecycle::{Control, Step};
use ringworld_transport::puts::{Exposures, PutQueue};
use ringworld_transport::{Cause, Event, Rank};

use crate::framing::Prelude;
use crate::lane::{Ended, Lane, Outgoing};
use crate::peer::{Peer, State};
use crate::pending::{Pending, Role};
use crate::transport::Tcp;

/// How long a rank that has nothing else to do before it ends waits for first connections that others make. It takes
/// them a trip or two: who is later finds nobody, and knows that it was not heard.
const LAST_CALL: Duration = Duration::from_secs(1);

impl Tcp {
    /// A lane has ended, as its socket says.
    pub(crate) fn lane_ended(&mut self, rank: Rank, lane: usize, ended: Ended) {
        let peer = &mut self.peers[rank];
        if !matches!(ended, Ended::Protocol(_)) {
            if peer.fins.fin_ack.on(lane) {
                // It has acknowledged and left; other lanes may still have to be read.
                self.drop_lane(rank, lane);
                if self.peers[rank].ready_lanes() == 0 {
                    return self.conclude(rank);
                }
                return self.advance_shutdown(rank);
            }
            if peer.shutdown.is_peer_closed() && peer.is_idle() {
                return self.conclude(rank);
            }
        }
        if matches!(ended, Ended::Silent(_)) {
            self.set_aside(rank);
        }
        self.fail(rank, ended.cause(lane));
    }

    /// Keeps the sockets of a peer open, unwatched, until everything ends. Where only one direction is silent, it
    /// would read their end before anybody can tell it why, and take this process for dead.
    fn set_aside(&mut self, rank: Rank) {
        for lane in 0..self.peers[rank].lanes.len() {
            if let Some(connection) = self.take_lane(rank, lane) {
                connection.socket.forget();
                self.set_aside.push(connection.socket);
            }
        }
    }

    /// Moves the orderly end of one connection on, as far as it goes.
    pub(crate) fn advance_shutdown(&mut self, rank: Rank) {
        loop {
            let peer = &mut self.peers[rank];
            if !matches!(peer.state, State::Open) {
                return;
            }
            let lanes = peer.ready_lanes();
            match peer.shutdown.next(rank, peer.progress(), &mut self.life) {
                None => return,
                Some(Step::Send(control)) => {
                    peer.shutdown.sent(control);
                    let prelude = match control {
                        Control::Fin => Prelude::fin(lanes),
                        Control::FinAck => Prelude::fin_ack(lanes),
                    };
                    self.send_on_all_lanes(rank, prelude);
                }
                Some(Step::Release) => self.conclude(rank),
                Some(Step::Fail(cause)) => self.fail(rank, cause),
            }
        }
    }

    fn send_on_all_lanes(&mut self, rank: Rank, prelude: Prelude) {
        for lane in 0..self.identity.lanes {
            if let Some(Some(connection)) = self.peers[rank].lanes.get_mut(lane) {
                connection.queue.push_back(Outgoing::control(prelude));
                self.flush(rank, lane);
            }
        }
    }

    /// While closing: moves every connection on, and ends when there is none left.
    pub(crate) fn advance_shutdowns(&mut self) {
        let mut left = false;
        for rank in 0..self.peers.len() {
            self.advance_shutdown(rank);
            left |= match self.peers[rank].state {
                State::Open => true,
                // Operations are waiting for the connection: they were accepted.
                State::Dialing(_) => true,
                State::Idle | State::Gone(_) => false,
            };
        }
        // Whoever has begun a connection has something to say, which is to be read before this rank leaves. Who comes
        // later finds nobody, and knows that it was not heard.
        if !left && !self.is_awaited() {
            self.end_everything();
            self.life.closed();
        }
    }

    /// Whether a peer makes its first connection to this rank, or has come to make it. Not for
    /// long: somebody may repeat recorded Hellos, and is not to keep a rank from its end.
    fn is_awaited(&mut self) -> bool {
        let is_late = self.last_call.get_or_insert_with(Instant::now).elapsed() >= LAST_CALL;
        if is_late {
            return false;
        }
        for index in 0..self.listeners.len() {
            self.accept(index);
        }
        let peers = &self.peers;
        let awaits = |pending: &Pending| match &pending.role {
            Role::Challenged(responder) => {
                responder.lane == 0 && matches!(peers[responder.from].state, State::Idle)
            }
            _ => false,
        };
        self.handshakes.any(awaits) || peers.iter().any(|peer| matches!(peer.state, State::Open))
    }

    /// The orderly end of a connection is over.
    fn conclude(&mut self, rank: Rank) {
        for connection in self.peers[rank].lanes.iter().flatten() {
            // Errors do not matter: everything has been acknowledged.
            let _ = connection.socket.shutdown(Shutdown::Write);
        }
        self.release(rank, Cause::Finished);
    }

    /// The peer is down: drops everything of it, and reports that once.
    pub(crate) fn fail(&mut self, rank: Rank, cause: Cause) {
        let Some(peer) = self.peers.get_mut(rank) else { return };
        if peer.waiting.keeps_any() {
            self.life.defer(Event::Undelivered { peer: rank });
        }
        if peer.shutdown.fail(rank, &cause, &mut self.life) {
            self.release(rank, cause);
        }
    }

    /// Drops everything of a peer.
    fn release(&mut self, rank: Rank, cause: Cause) {
        self.end_attempt(rank);
        for lane in 0..self.peers[rank].lanes.len() {
            self.drop_lane(rank, lane);
        }
        let outbound = self.handshakes.select(|pending| pending.is_for(rank));
        for slot in outbound {
            self.handshakes.remove(slot);
        }
        self.lane_retries.retain(|(other, ..)| *other != rank);
        let Peer { state, waiting, puts, exposures, .. } = &mut self.peers[rank];
        *state = State::Gone(cause);
        waiting.clear();
        *puts = PutQueue::default();
        *exposures = Exposures::default();
    }

    fn drop_lane(&mut self, rank: Rank, lane: usize) {
        self.take_lane(rank, lane);
    }

    fn take_lane(&mut self, rank: Rank, lane: usize) -> Option<Lane> {
        self.troubled.retain(|other| *other != (rank, lane));
        let connection = self.peers[rank].lanes.get_mut(lane).and_then(Option::take)?;
        self.blocked -= usize::from(connection.wants_write);
        Some(connection)
    }

    /// Drops all memory and all connections; nothing is sent and nothing is reported.
    pub(crate) fn end_everything(&mut self) {
        for rank in 0..self.peers.len() {
            if !matches!(self.peers[rank].state, State::Gone(_)) {
                self.release(rank, Cause::Finished);
            }
        }
        self.handshakes.clear();
        self.listeners.clear();
        self.set_aside.clear();
        self.run_timer(false);
        self.run_silence_timer(false);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use ringworld_transport::{
        Header, Operation, Placement, Placer, RecvMemory, SendMemory, Token, Transport as _,
    };
    use rustix::event::{PollFd, PollFlags, Timespec};

    use super::*;
    use crate::Config;

    /// Takes messages that consist of nothing but a header.
    struct Inbox;

    impl Placer for Inbox {
        fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Result<Placement, String> {
            Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
        }
    }

    fn pair() -> (Tcp, Tcp) {
        let bind = |rank| Tcp::bind(Config::new(rank, 2, 3, vec![Ipv4Addr::LOCALHOST.into()])).unwrap();
        let (mut one, mut other) = (bind(0), bind(1));
        one.connect(1, &other.address()).unwrap();
        other.connect(0, &one.address()).unwrap();
        (one, other)
    }

    /// Polls both until something holds.
    fn until(one: &mut Tcp, other: &mut Tcp, holds: impl Fn(&Tcp, &Tcp) -> bool) {
        let begin = Instant::now();
        while !holds(one, other) {
            one.poll(&mut Inbox, &mut Vec::new());
            other.poll(&mut Inbox, &mut Vec::new());
            assert!(begin.elapsed() < Duration::from_secs(30));
        }
    }

    /// Whether a rank comes to where it may sleep, and nothing wakes it: not before timers have run out.
    fn sleeps(tcp: &mut Tcp) -> bool {
        (0..20).any(|_| {
            tcp.poll(&mut Inbox, &mut Vec::new());
            let mut watched = [PollFd::new(&tcp.epoll, PollFlags::IN)];
            let moment = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            let woken = rustix::event::poll(&mut watched, Some(&moment)).unwrap() > 0;
            tcp.arm() && !woken
        })
    }

    /// As a child has it that this process has forked.
    #[test]
    fn an_end_wakes_nobody_for_ever_though_somebody_has_a_copy_of_the_socket() {
        for in_order in [true, false] {
            let (mut one, mut other) = pair();
            let (header, payload) = (Header::new(b"h").unwrap(), SendMemory::empty());
            let message = Operation::Message { peer: 1, header, payload, token: Token(0) };
            assert!(one.post(message).is_ok());
            until(&mut one, &mut other, |one, other| one.is_connected(1) && other.is_connected(0));
            let copy = rustix::io::dup(&one.peers[1].lanes[0].as_ref().unwrap().socket).unwrap();
            if in_order {
                other.close();
            } else {
                other.abort();
            }
            until(&mut one, &mut other, |one, _| !one.is_connected(1));
            drop(other);
            assert!(sleeps(&mut one), "in order: {in_order}");
            drop(copy);
        }
    }

    /// Its first message was good, and may be one that somebody has recorded.
    #[test]
    fn who_never_proves_who_it_is_does_not_keep_a_rank_from_its_end_for_ever() {
        let (mut one, mut other) = pair();
        let (header, payload) = (Header::new(b"h").unwrap(), SendMemory::empty());
        let message = Operation::Message { peer: 0, header, payload, token: Token(0) };
        assert!(other.post(message).is_ok());
        let is_challenged = |one: &Tcp| one.handshakes.any(|it| matches!(it.role, Role::Challenged(_)));
        let begin = Instant::now();
        while !is_challenged(&one) {
            // Only until it has sent its first message.
            if one.handshakes.is_empty() || !one.handshakes.any(|it| matches!(it.role, Role::Unauthenticated))
            {
                other.poll(&mut Inbox, &mut Vec::new());
            }
            one.poll(&mut Inbox, &mut Vec::new());
            assert!(begin.elapsed() < Duration::from_secs(30));
        }
        let mut events = Vec::new();
        one.close();
        (0..50).for_each(|_| _ = one.poll(&mut Inbox, &mut events));
        let has_closed = |events: &[Event]| events.iter().any(|event| matches!(event, Event::Closed));
        assert!(!has_closed(&events), "it waits for whoever may have something to say");
        one.last_call = Instant::now().checked_sub(LAST_CALL);
        one.poll(&mut Inbox, &mut events);
        assert!(has_closed(&events), "{events:?}");
    }

    #[test]
    fn a_stranger_that_has_left_wakes_nobody_though_somebody_has_a_copy_of_the_socket() {
        let (mut one, mut other) = pair();
        let stranger = std::net::TcpStream::connect(one.listeners[0].address).unwrap();
        until(&mut one, &mut other, |one, _| !one.handshakes.is_empty());
        let copy = rustix::io::dup(&one.handshakes.find(0).unwrap().socket).unwrap();
        drop(stranger);
        until(&mut one, &mut other, |one, _| one.handshakes.is_empty());
        assert!(sleeps(&mut one));
        drop(copy);
    }
}
