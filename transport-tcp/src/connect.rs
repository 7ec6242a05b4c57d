//! How connections come to be: dialling, accepting, and the tie-break when both happen at once.
//!
//! All addresses of a peer are tried, best first; the next joins in when one fails or takes long, and the
//! first on which the peer proves itself wins. When two ranks connect to each other at the same time, the
//! *lower* rank decides: if it has sent its proof on its own connection, which the higher rank may hence
//! take as made already, it holds the other back (parked) until its own is settled; if not, it drops its
//! own. The higher rank always takes what the lower one offers. So both keep the same connection, nobody who has not
//! proved who it is can influence which, and a peer that can be reached from one side only is reached.
//!
//! Neighbours: `pending.rs` drives the handshakes, `peer.rs` has the state, `shutdown.rs` ends things.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ringworld_auth::Session;
use ringworld_transport::shortage::{Meaning, explain, is_room_for, is_shortage, share};
use ringworld_transport::warn;
use ringworld_transport::watched::Watched;
use ringworld_transport::{Cause, Event, Rank};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
use tracing::debug;

use crate::handshake::{Initiator, Rejection};
use crate::lane::Lane;
use crate::listener::source;
use crate::peer::{Attempt, State};
use crate::pending::{
    Failure, HURRY, MAX_UNAUTHENTICATED, PATIENCE, Pending, Progress, Role, VOUCHED_PATIENCE,
};
use crate::spread::routes;
use crate::transport::{Tcp, Watch};

/// How long an address may take to connect before the next is tried beside it.
const CONNECT_PATIENCE: Duration = Duration::from_millis(300);
/// How long whoever was connected may take to answer before the next address is tried beside it.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// Pause before everything is tried again because somebody hung up without an answer.
const RETRY: Duration = Duration::from_millis(200);
/// How often everything is tried again: for longer than a peer that lacks descriptors takes to say so.
const ROUNDS: u32 = 20;
/// How often a further lane is tried again.
const LANE_TRIES: u32 = 5;
/// Where to look when nobody answers.
const UNANSWERED: &str = "; look for a firewall between the hosts, which must let connections between ranks pass \
     (RINGWORLD_TCP_PORTS says at which ports), and for addresses that lead elsewhere (RINGWORLD_IF_INCLUDE, \
     RINGWORLD_ADVERTISE)";
/// Granularity of all of these.
const TICK: Duration = Duration::from_millis(100);
/// Connections accepted per poll and listener.
const ACCEPTS: usize = 64;

impl Tcp {
    /// Starts to connect to `rank`, unless that is under way or done.
    pub(crate) fn dial(&mut self, rank: Rank) {
        if !matches!(self.peers[rank].state, State::Idle) {
            return;
        }
        self.peers[rank].state = State::Dialing(Attempt::new(Instant::now()));
        self.dialing.push(rank);
        self.dial_next(rank);
    }

    /// Tries the next address, or ends the attempt when there is none and nothing is under way.
    fn dial_next(&mut self, rank: Rank) {
        self.run_timer(true);
        let now = Instant::now();
        loop {
            let peer = &mut self.peers[rank];
            let State::Dialing(attempt) = &mut peer.state else { return };
            let Some(&address) = peer.addresses.get(attempt.next) else { break };
            attempt.next += 1;
            attempt.next_at = now + CONNECT_PATIENCE;
            match self.start_handshake(rank, 0, address, now) {
                Ok(slot) => {
                    self.shortage.opened(now);
                    if let State::Dialing(attempt) = &mut self.peers[rank].state {
                        attempt.live.push(slot);
                    }
                    return;
                }
                Err(error) => {
                    let shortage = Errno::from_io_error(&error).filter(|errno| is_shortage(*errno));
                    let State::Dialing(attempt) = &mut self.peers[rank].state else { return };
                    if let Some(errno) = shortage {
                        // That is not the peer's fault; the same address is tried again.
                        attempt.next -= 1;
                        attempt.next_at = now + RETRY;
                        return self.fall_short(errno, now);
                    }
                    attempt.failures.push(format!("{address}: {error}"));
                }
            }
        }
        let State::Dialing(attempt) = &mut self.peers[rank].state else { return };
        if !attempt.live.is_empty() {
            return;
        }
        if attempt.hung_up && attempt.rounds < ROUNDS && now - attempt.since < self.options.connect_timeout {
            let (rounds, since) = (attempt.rounds + 1, attempt.since);
            *attempt = Attempt { rounds, since, ..Attempt::new(now + RETRY) };
            return;
        }
        let mut all = attempt.failures.join("; ");
        if attempt.unanswered {
            all += UNANSWERED;
        }
        let cause = if attempt.rejected { Cause::Rejected(all) } else { Cause::Unreachable(all) };
        self.fail(rank, cause);
    }

    /// The system has refused to open something, whoever it was for: it will be tried again, for a while.
    fn fall_short(&mut self, errno: Errno, now: Instant) {
        self.run_timer(true);
        match self.shortage.refused(now) {
            Meaning::Begins => warn!(error = %errno, "no connection can be made or accepted for now"),
            Meaning::Lasts => {}
            Meaning::TooLong => {
                let cause = explain(errno, self.identity.size);
                self.life.defer(Event::Broken { cause });
            }
        }
    }

    /// Begins one connection; returns its slot among the pending handshakes.
    fn start_handshake(
        &mut self,
        rank: Rank,
        lane: usize,
        address: SocketAddr,
        now: Instant,
    ) -> std::io::Result<usize> {
        let begun = Initiator::new(&self.identity, rank, lane).map_err(std::io::Error::other);
        let (initiator, hello) = begun?;
        let socket = Watched::new(self.options.connect(address)?, &self.epoll);
        let role = Role::Outbound { initiator, hello, peer: rank, lane, connected: false };
        self.insert_handshake(Pending::new(socket, address, now, role))
    }

    /// Adds a connection to the pending handshakes and watches it.
    fn insert_handshake(&mut self, pending: Pending) -> std::io::Result<usize> {
        let slot = self.handshakes.insert(pending);
        let Some(pending) = self.handshakes.find(slot) else { return Ok(slot) };
        pending.wants_write = pending.needs_write();
        let flags = interest(pending.wants_write);
        if let Err(errno) = epoll::add(&self.epoll, &pending.socket, Watch::Pending(slot).data(), flags) {
            self.handshakes.remove(slot);
            return Err(errno.into());
        }
        self.run_timer(true);
        Ok(slot)
    }

    /// Takes what a listener has.
    pub(crate) fn accept(&mut self, index: usize) -> bool {
        let mut moved = false;
        for _ in 0..ACCEPTS {
            let Some(listener) = self.listeners.get_mut(index) else { break };
            let now = Instant::now();
            match self.options.accept(&listener.socket) {
                Ok((socket, from)) => {
                    moved = true;
                    self.shortage.opened(now);
                    let socket = Watched::new(socket, &self.epoll);
                    match self.insert_handshake(Pending::new(socket, from, now, Role::Unauthenticated)) {
                        Ok(slot) => {
                            self.drive_handshake(slot);
                            let dropped = self.handshakes.make_room(share(4).min(MAX_UNAUTHENTICATED));
                            for _ in 0..dropped {
                                self.log_unauthenticated(
                                    from,
                                    "more connections waited than there is room for",
                                );
                            }
                        }
                        Err(error) => warn!(address = %from, %error, "dropped a connection"),
                    }
                }
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => break,
                    Some(errno) if is_shortage(errno) => {
                        // Make room at the expense of the connection that has been silent longest.
                        if let Some((oldest, born)) = self.handshakes.oldest_unauthenticated()
                            && now - born >= HURRY
                        {
                            self.handshakes.remove(oldest);
                            continue;
                        }
                        listener.paused = true;
                        listener.socket.forget();
                        self.fall_short(errno, now);
                        break;
                    }
                    // One connection is gone before it could be accepted; others may wait.
                    _ => moved = true,
                },
            }
        }
        moved
    }

    /// Lets a pending handshake go on as far as it can.
    pub(crate) fn drive_handshake(&mut self, slot: usize) -> bool {
        let mut moved = false;
        loop {
            let Some(pending) = self.handshakes.find(slot) else { return moved };
            let progress = pending.drive(&self.identity, Instant::now());
            let wants_write = pending.needs_write();
            if wants_write != pending.wants_write {
                pending.wants_write = wants_write;
                let data = Watch::Pending(slot).data();
                // If this fails the connection hangs, and the timer sees to it.
                let _ = epoll::modify(&self.epoll, &pending.socket, data, interest(wants_write));
            }
            match progress {
                Progress::Wait => return moved,
                Progress::Connected => self.connected(slot),
                Progress::Committed => self.committed(slot),
                Progress::Established(session) => {
                    self.establish(slot, Some(session));
                    return true;
                }
                Progress::Verified => {
                    self.admit(slot);
                    return true;
                }
                Progress::Failed(failure) => {
                    self.failed(slot, failure);
                    return true;
                }
                Progress::TurnedAway(rejection) => {
                    self.log_rejection(slot, rejection);
                    return true;
                }
                Progress::Gone => {
                    self.forget(slot);
                    return true;
                }
            }
            moved = true;
        }
    }

    fn log_rejection(&mut self, slot: usize, rejection: Rejection) {
        let Some(pending) = self.handshakes.find(slot) else { return };
        if matches!(rejection, Rejection::Duplicate | Rejection::Finished) {
            // Both sides connected at once, and the other connection was faster; or somebody of this job was
            // late, and its own call says so. Nothing to worry about.
            debug!(address = %pending.remote, "dropped a connection: {}", rejection.reason());
        } else {
            let remote = pending.remote;
            self.log_unauthenticated(remote, rejection.reason());
        }
        if self.handshakes.find(slot).is_some_and(|pending| !matches!(pending.role, Role::Leaving { .. })) {
            self.handshakes.remove(slot);
        }
    }

    /// Says that a connection was dropped; of many, how many.
    fn log_unauthenticated(&mut self, address: SocketAddr, reason: &str) {
        match self.unauthenticated.note(Instant::now()) {
            Some(0) => warn!(%address, "dropped a connection: {reason}"),
            Some(more) => warn!(
                %address,
                "dropped a connection: {reason}; and {more} others since the last time that this was said"
            ),
            None => debug!(%address, "dropped a connection: {reason}"),
        }
    }

    /// An inbound connection has ended by itself.
    fn forget(&mut self, slot: usize) {
        let Some(pending) = self.handshakes.remove(slot) else { return };
        if let Role::Verified(responder) = &pending.role {
            let peer = &mut self.peers[responder.from];
            peer.parked = peer.parked.filter(|parked| *parked != slot);
        }
        debug!(address = %pending.remote, "a connection ended during its handshake");
    }

    fn connected(&mut self, slot: usize) {
        let Some(Pending { role: Role::Outbound { peer, .. }, .. }) = self.handshakes.find(slot) else {
            return;
        };
        if let State::Dialing(attempt) = &mut self.peers[*peer].state {
            attempt.next_at = Instant::now() + ANSWER_PATIENCE;
        }
        self.run_silence_timer(true);
    }

    /// The peer has proved itself on this connection: the other candidates are not needed.
    fn committed(&mut self, slot: usize) {
        let Some(Pending { role: Role::Outbound { peer, lane: 0, .. }, .. }) = self.handshakes.find(slot)
        else {
            return;
        };
        let State::Dialing(attempt) = &mut self.peers[*peer].state else { return };
        attempt.committed = Some(slot);
        for other in std::mem::replace(&mut attempt.live, vec![slot]) {
            if other != slot {
                self.handshakes.remove(other);
            }
        }
    }

    /// An outbound connection has failed.
    pub(crate) fn failed(&mut self, slot: usize, failure: Failure) {
        let Some(pending) = self.handshakes.remove(slot) else { return };
        let Role::Outbound { peer: rank, lane, .. } = pending.role else { return };
        if lane > 0 {
            return self.lane_failed(rank, lane, &failure);
        }
        let State::Dialing(attempt) = &mut self.peers[rank].state else { return };
        attempt.live.retain(|other| *other != slot);
        attempt.committed = attempt.committed.filter(|committed| *committed != slot);
        let text = match failure {
            Failure::Finished => return self.fail(rank, Cause::Finished),
            Failure::Unreachable(text) => text,
            Failure::Unanswered(text) => {
                attempt.unanswered = true;
                text
            }
            Failure::HungUp(text) => {
                attempt.hung_up = true;
                text
            }
            Failure::Rejected(text) => {
                attempt.rejected = true;
                text
            }
        };
        attempt.failures.push(format!("{}: {text}", pending.remote));
        let none_committed = attempt.committed.is_none();
        match self.peers[rank].parked.take_if(|_| none_committed) {
            Some(parked) => self.establish(parked, None),
            None => self.dial_next(rank),
        }
    }

    /// A lane other than 0 could not be made: puts use those that are there, so this is no error.
    fn lane_failed(&mut self, rank: Rank, lane: usize, failure: &Failure) {
        let peer = &mut self.peers[rank];
        if !matches!(peer.state, State::Open) || peer.shutdown.is_peer_closed() || !self.life.is_live() {
            return;
        }
        peer.lane_tries += 1;
        if peer.lane_tries <= LANE_TRIES {
            self.lane_retries.push((rank, lane, Instant::now() + RETRY));
            self.run_timer(true);
        } else {
            warn!(rank, lane, ?failure, "a further connection to a peer failed; going on with fewer lanes");
        }
    }

    /// An inbound connection is verified: decides whether it becomes *the* connection.
    fn admit(&mut self, slot: usize) {
        let Some(Pending { role: Role::Verified(responder), .. }) = self.handshakes.find(slot) else {
            return;
        };
        let (from, lane) = (responder.from, responder.lane);
        let me = self.identity.rank;
        let peer = &mut self.peers[from];
        let wanted = match &peer.state {
            State::Idle => lane == 0,
            State::Dialing(attempt) if lane == 0 && me < from && attempt.committed.is_some() => {
                if let Some(older) = peer.parked.replace(slot) {
                    self.handshakes.remove(older);
                }
                return;
            }
            State::Dialing(_) => lane == 0,
            State::Open => lane > 0 && peer.lanes.get(lane).is_some_and(Option::is_none),
            State::Gone(_) => false,
        };
        if wanted {
            return self.establish(slot, None);
        }
        let rejection = match &peer.state {
            State::Gone(Cause::Finished) => Rejection::Finished,
            State::Gone(_) => Rejection::Down,
            _ => Rejection::Duplicate,
        };
        if let Some(pending) = self.handshakes.find(slot) {
            pending.turn_away(rejection, Instant::now());
            self.log_rejection(slot, rejection);
        }
    }

    /// A connection becomes a lane; the keys are `keys` of one that was made from here.
    fn establish(&mut self, slot: usize, keys: Option<Box<Session>>) {
        let Some(pending) = self.handshakes.remove(slot) else { return };
        let Pending { socket, role, remote, .. } = *pending;
        let (rank, lane, keys, ready) = match role {
            Role::Outbound { peer, lane, .. } => (peer, lane, keys, None),
            Role::Verified(mut responder) => {
                let Ok(ready) = responder.verdict(None) else { return };
                (responder.from, responder.lane, Some(Box::new(responder.session)), Some(ready))
            }
            _ => return,
        };
        let initiated = ready.is_none();
        if let Err(error) = self.options.once_established(&socket) {
            debug!(rank, lane, %error, "a socket option was refused");
        }
        let data = Watch::Lane(rank, lane).data();
        let watched = epoll::modify(&self.epoll, &socket, data, epoll::EventFlags::IN);
        let mut connection = Lane::new(socket, VecDeque::new());
        connection.broken = watched.err();
        if let Some(ready) = ready {
            // The first bytes in this direction on a fresh socket: they fit, or the connection is gone.
            connection.write_raw(&ready);
        }
        if self.identity.encrypt
            && let Some(session) = keys
        {
            connection.encrypt(*session);
        }
        if lane == 0 {
            self.end_attempt(rank);
            let lanes = self.identity.lanes;
            let peer = &mut self.peers[rank];
            connection.queue = peer.waiting.take_frames();
            peer.state = State::Open;
            peer.lanes.resize_with(lanes, || None);
            peer.reached = initiated.then_some(remote);
        } else if !matches!(self.peers[rank].state, State::Open) {
            return;
        }
        self.peers[rank].lanes[lane] = Some(connection);
        self.run_silence_timer(true);
        debug!(rank, lane, address = %remote, "connected");
        let peer = &self.peers[rank];
        if lane == 0 && !(peer.puts.is_empty() && peer.exposures.is_empty()) {
            self.open_lanes(rank);
        }
        self.flush(rank, lane);
        self.heat(rank, lane);
    }

    /// Dials the further lanes, if this side has dialled the first one. To be called when puts are to be
    /// expected: a world in which only small messages travel is formed with half as many connections, and
    /// the first fragments of the first put need not wait, since lane 0 stands in.
    pub(crate) fn open_lanes(&mut self, rank: Rank) {
        let peer = &mut self.peers[rank];
        if peer.lanes_begun || peer.reached.is_none() || !matches!(peer.state, State::Open) {
            return;
        }
        peer.lanes_begun = true;
        if !is_room_for(self.identity.lanes * self.identity.size.saturating_sub(1)) {
            debug!(rank, "no further connections: there may be too few descriptors for those of all ranks");
            return;
        }
        for lane in 1..self.identity.lanes {
            self.start_lane(rank, lane);
        }
    }

    /// Where a further lane goes. Once one has failed, only where the peer is known to be reached.
    fn lane_address(&self, rank: Rank, lane: usize) -> Option<SocketAddr> {
        let peer = &self.peers[rank];
        let reached = peer.reached?;
        if !self.spread || peer.lane_tries > 0 {
            return Some(reached);
        }
        let routes = routes(reached, &peer.addresses, source);
        routes.get(lane % routes.len()).copied()
    }

    fn start_lane(&mut self, rank: Rank, lane: usize) {
        let Some(address) = self.lane_address(rank, lane) else { return };
        if let Err(error) = self.start_handshake(rank, lane, address, Instant::now()) {
            self.lane_failed(rank, lane, &Failure::Unreachable(error.to_string()));
        }
    }

    /// Drops everything that was tried in order to reach `rank`.
    pub(crate) fn end_attempt(&mut self, rank: Rank) {
        let peer = &mut self.peers[rank];
        if let State::Dialing(attempt) = &mut peer.state {
            for slot in std::mem::take(&mut attempt.live) {
                self.handshakes.remove(slot);
            }
            self.dialing.retain(|other| *other != rank);
        }
        if let Some(parked) = self.peers[rank].parked.take() {
            self.handshakes.remove(parked);
        }
    }

    /// Time has passed: whoever has waited long enough is seen to.
    pub(crate) fn tick(&mut self) {
        // Only makes the timer unreadable; the count of expirations does not matter.
        let _ = rustix::io::read(&self.timer, &mut [0; 8][..]);
        let now = Instant::now();
        let late = self.handshakes.select(|pending| match pending.role {
            Role::Unauthenticated | Role::Leaving { .. } => now - pending.born >= PATIENCE,
            Role::Challenged(_) => now - pending.born >= VOUCHED_PATIENCE,
            _ => false,
        });
        for slot in late {
            let Some(pending) = self.handshakes.remove(slot) else { continue };
            match pending.role {
                Role::Unauthenticated => self.log_unauthenticated(pending.remote, "it did not say who it is"),
                Role::Challenged(_) => self.log_unauthenticated(pending.remote, "it did not prove who it is"),
                _ => {}
            }
        }
        self.tick_unanswered(now);
        for rank in self.dialing.clone() {
            let due = match &self.peers[rank].state {
                State::Dialing(attempt) => attempt.committed.is_none() && attempt.next_at <= now,
                _ => false,
            };
            if due {
                self.dial_next(rank);
            }
        }
        let retries = std::mem::take(&mut self.lane_retries);
        let (due, later) = retries.into_iter().partition(|(_, _, at)| *at <= now);
        self.lane_retries = later;
        for (rank, lane, _) in Vec::from_iter::<Vec<_>>(due) {
            self.start_lane(rank, lane);
        }
        for (index, listener) in self.listeners.iter_mut().enumerate().filter(|(_, l)| l.paused) {
            let watch = Watch::Listener(index).data();
            listener.paused =
                epoll::add(&self.epoll, &listener.socket, watch, epoll::EventFlags::IN).is_err();
        }
        let short = self.shortage.lasts(now);
        let idle =
            self.handshakes.is_empty() && self.dialing.is_empty() && self.lane_retries.is_empty() && !short;
        self.run_timer(!idle || self.listeners.iter().any(|listener| listener.paused));
    }

    /// Gives up where the peer's system does not answer, and says so where its program does not.
    fn tick_unanswered(&mut self, now: Instant) {
        let limit = self.options.connect_timeout;
        let late = self.handshakes.select(|pending| pending.is_connecting() && now - pending.born >= limit);
        for slot in late {
            let text = format!("no answer for {} s (RINGWORLD_TIMEOUT)", limit.as_secs_f64());
            self.failed(slot, Failure::Unanswered(text));
        }
        let late = self
            .handshakes
            .select(|pending| pending.has_connected() && !pending.mentioned && now - pending.born >= limit);
        for slot in late {
            let Some(pending) = self.handshakes.find(slot) else { continue };
            pending.mentioned = true;
            if let Role::Outbound { peer, .. } = pending.role {
                warn!(
                    rank = peer,
                    address = %pending.remote,
                    "somebody has accepted a connection and not said who it is for {} s: that rank computes, or its \
                     address leads to somebody else",
                    limit.as_secs_f64()
                );
            }
        }
    }

    /// Has [`Tcp::tick`] called while there is something to wait for.
    pub(crate) fn run_timer(&mut self, runs: bool) {
        if runs == self.timer_runs {
            return;
        }
        let nanoseconds = if runs { TICK.as_nanos() as i64 } else { 0 };
        let period = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
        let period = Itimerspec { it_interval: period, it_value: period };
        match timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &period) {
            Ok(_) => self.timer_runs = runs,
            Err(error) => warn!(%error, "cannot set a timer"),
        }
    }
}

fn interest(writes: bool) -> epoll::EventFlags {
    if writes { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN }
}
