//! How connections come to be: dialling, accepting, and which of two counts when both sides dial at once.
//!
//! The attempt of the lower rank has precedence. So a rank that is dialled by a higher one while it dials that one
//! itself lets the other attempt wait, and drops it when its own has come to an end; the higher rank answers in any
//! case, and drops its own attempt when the other is established. A rank that has answered does not dial before that
//! has come to an end. So no two handshakes between the same ranks are ever past their first packet, but for one that
//! its own side has given up.
//!
//! Where this process lacks descriptors or memory, nobody else is blamed: see `shortage.rs` of the transport interface.
//! Neighbours: `handshake.rs` has the messages, `pending.rs` the sockets.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use ringworld_transport::shortage::{self, Meaning};
use ringworld_transport::watched::Watched;
use ringworld_transport::{Cause, Event, Rank, warn};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tracing::debug;

use crate::address::Purpose;
use crate::bell::TheirBell;
use crate::channels::TheirBoard;
use crate::handshake::{self, Initiator, Responder, Trouble, Verdict};
use crate::link::{self, Link, PROOF, Parts};
use crate::memory::{MapError, Mapping, Writers};
use crate::outbox::TheirOutbox;
use crate::packet::{self, Received};
use crate::peer::{Attempt, State};
use crate::pending::{MAX_UNAUTHENTICATED, Pending, Role};
use crate::transport::{Listeners, Shm, Watch};

/// The most connections that one poll accepts.
const ACCEPTS: usize = 64;

/// Why a connection in its handshake goes no further.
enum Stop {
    /// Nothing is to be done about it but to close it.
    Close,
    /// The same, with a line in the log.
    Tell(String),
    /// The peer can never be reached.
    Fail(Cause),
    /// This process lacks something.
    Lack(MapError),
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Self {
        // All else says that the peer has hung up.
        if shortage::is_shortage(error) { Self::Lack(error.into()) } else { Self::Close }
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Tell(trouble.to_string())
    }
}

impl From<MapError> for Stop {
    fn from(error: MapError) -> Self {
        match error {
            MapError::System(errno) => errno.into(),
            limit @ MapError::Limit { .. } => Self::Lack(limit),
            other => Self::Tell(format!("the memory that it offers cannot be mapped: {other}")),
        }
    }
}

impl Shm {
    /// Begins a connection to a peer with which there is none.
    pub(crate) fn dial(&mut self, rank: Rank) {
        if matches!(self.peers[rank].state, State::Idle) {
            self.peers[rank].state = State::Dialing(Attempt::new(Instant::now()));
            self.dialing.push(rank);
            self.dial_if_due(rank);
        }
    }

    /// Dials again where there was no room in the peer's queue or in this process, or the peer has hung up.
    pub(crate) fn dial_again(&mut self) {
        for index in 0..self.dialing.len() {
            let Some(&rank) = self.dialing.get(index) else { return };
            self.dial_if_due(rank);
        }
    }

    /// Whether somebody is to be dialled, now or soon.
    pub(crate) fn is_to_dial(&self) -> bool {
        self.dialing.iter().any(|rank| self.is_to_be_dialled(*rank))
    }

    fn is_to_be_dialled(&self, rank: Rank) -> bool {
        // What the peer has begun, and this side has answered, comes first.
        matches!(&self.peers[rank].state, State::Dialing(attempt) if !attempt.under_way)
            && !self.pending.is_answered(rank)
    }

    fn dial_if_due(&mut self, rank: Rank) {
        let now = Instant::now();
        if self.is_to_be_dialled(rank)
            && let State::Dialing(attempt) = &mut self.peers[rank].state
            && attempt.is_due(now)
        {
            attempt.put_off(now);
            self.try_to_dial(rank, now);
        }
    }

    fn try_to_dial(&mut self, rank: Rank, now: Instant) {
        let Some(place) = self.peers[rank].place else { return };
        // What the system refuses, such as by a filter of system calls, it may refuse for ever.
        let refused = |what: &str, error: Errno| {
            let is_lack = shortage::is_shortage(error);
            if is_lack { Stop::Lack(error.into()) } else { Stop::Tell(format!("{what}: {error}")) }
        };
        let begin = || -> Result<(OwnedFd, Initiator), Stop> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
            rustix::net::connect(&socket, &place.socket(self.folder(), Purpose::Talk)?).map_err(|error| {
                match error {
                    // Its queue is full: it has not looked for a long time.
                    Errno::AGAIN => Stop::Close,
                    Errno::CONNREFUSED | Errno::NOENT => Stop::Fail(Cause::Lost(
                        "nobody listens at its socket any more: the process is gone".into(),
                    )),
                    error => refused("its socket cannot be connected to", error),
                }
            })?;
            let (initiator, hello) = Initiator::new(&self.identity, rank)?;
            packet::send(&socket, &hello, &[])
                .map_err(|error| refused("nothing can be sent to it", error))?;
            Ok((socket, initiator))
        };
        let begun = begin().and_then(|(socket, initiator)| {
            let watch =
                |socket: &Watched<OwnedFd>, slot| Self::watch(&self.epoll, socket, Watch::Pending(slot));
            let socket = Watched::new(socket, &self.epoll);
            Ok(self.pending.insert(socket, Role::Greeting(rank, initiator), watch)?)
        });
        match begun {
            Ok(_) => {
                if let State::Dialing(attempt) = &mut self.peers[rank].state {
                    attempt.under_way = true;
                }
            }
            Err(Stop::Close) => {}
            Err(Stop::Lack(error)) => self.lack(error, now),
            Err(Stop::Fail(cause)) => self.fail(rank, cause),
            Err(Stop::Tell(why)) => self.hung_up(rank, Some(why)),
        }
    }

    /// Accepts whoever has come, up to a bound; whether anybody has.
    pub(crate) fn accept(&mut self) -> bool {
        let mut moved = false;
        for _ in 0..ACCEPTS {
            let Some(Listeners { talk, .. }) = &self.listeners else { return moved };
            let now = Instant::now();
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = match rustix::net::accept_with(talk, flags) {
                Ok(socket) => socket,
                Err(error) if shortage::is_shortage(error) => {
                    // Those who belong here are not silent.
                    if self.pending.drop_oldest_unauthenticated() {
                        continue;
                    }
                    self.lack(error.into(), now);
                    return moved;
                }
                Err(_) => return moved,
            };
            moved = true;
            self.pending.make_room(shortage::share(4).min(MAX_UNAUTHENTICATED));
            let watch =
                |socket: &Watched<OwnedFd>, slot| Self::watch(&self.epoll, socket, Watch::Pending(slot));
            let socket = Watched::new(socket, &self.epoll);
            match self.pending.insert(socket, Role::Unauthenticated { since: now }, watch) {
                // Whoever belongs here has spoken already.
                Ok(slot) => _ = self.drive(slot),
                Err(error) => self.lack(error.into(), now),
            }
        }
        // There may be more.
        self.force_look = true;
        moved
    }

    /// Goes on with a handshake, if a packet has come; whether one has.
    pub(crate) fn drive(&mut self, slot: usize) -> bool {
        let Some(pending) = self.pending.get(slot) else { return false };
        let received = match &pending.role {
            // Whoever has sent it takes the connection as made, and may have written already: it must not be lost.
            Role::Offering(..) => match packet::receive_or_leave(&pending.socket) {
                Err(error) if shortage::is_shortage(error) => {
                    self.lack(error.into(), Instant::now());
                    return false;
                }
                other => other,
            },
            _ => packet::receive(&pending.socket),
        };
        let received = match received {
            Ok(Received::Nothing) => return false,
            Ok(Received::Packet(bytes, fds)) => Ok((bytes, fds)),
            Ok(Received::End) => Err(Stop::Close),
            Err(error) => Err(error.into()),
        };
        let Some(pending) = self.pending.take(slot) else { return false };
        let dialled = match pending.role {
            Role::Greeting(peer, _) | Role::Offering(peer, ..) => Some(peer),
            _ => None,
        };
        let stopped = received.and_then(|(bytes, fds)| self.proceed(pending, &bytes, fds));
        match (stopped, dialled) {
            (Ok(()), _) => {}
            (Err(Stop::Lack(error)), dialled) => {
                let now = Instant::now();
                self.lack(error, now);
                if let Some(State::Dialing(attempt)) = dialled.map(|rank| &mut self.peers[rank].state) {
                    attempt.put_off(now);
                }
            }
            (Err(Stop::Close), None) => {}
            (Err(Stop::Tell(why)), None) => match self.strangers.note(Instant::now()) {
                Some(more) => warn!(more, "dropped a connection for shared memory: {why}"),
                None => debug!("dropped a connection for shared memory: {why}"),
            },
            (Err(Stop::Fail(cause)), Some(rank)) => self.fail(rank, cause),
            (Err(Stop::Fail(_)), None) => {}
            (Err(Stop::Tell(why)), Some(rank)) => self.hung_up(rank, Some(why)),
            (Err(Stop::Close), Some(rank)) => self.hung_up(rank, None),
        }
        true
    }

    /// An attempt of this side has come to nothing: another will be begun, but not for ever.
    fn hung_up(&mut self, rank: Rank, why: Option<String>) {
        let State::Dialing(attempt) = &mut self.peers[rank].state else { return };
        if !attempt.hung_up(Instant::now()) {
            let why = why.unwrap_or_else(|| "it hung up".to_owned());
            let cause = format!("every attempt at shared memory came to nothing, the last because {why}");
            self.fail(rank, Cause::Unreachable(cause));
        }
    }

    /// Digests a packet. The connection has been taken out of its slot, and is put back where it goes on.
    fn proceed(&mut self, pending: Pending, bytes: &[u8], fds: Vec<OwnedFd>) -> Result<(), Stop> {
        let Pending { socket, role, .. } = pending;
        match role {
            Role::Unauthenticated { .. } => {
                let responder = Responder::new(&self.identity, bytes)?;
                self.greeted(socket, responder)
            }
            Role::Parked(_) => Err(Stop::Tell("it spoke before it was answered".into())),
            Role::Answered(rank, session) => self.offered(rank, socket, session, bytes, fds),
            Role::Greeting(rank, initiator) => self.welcomed(rank, socket, initiator, bytes),
            Role::Offering(rank, mut session, memory, proof, room) => {
                let answer = handshake::open(&mut session, bytes)?;
                if answer != handshake::answer_to(proof) || memory.load(PROOF) != answer {
                    return Err(Trouble::OtherMemory.into());
                }
                let mut fds = fds.into_iter();
                let (Some(outbox), Some(bell), process, None) =
                    (fds.next(), fds.next(), fds.next(), fds.next())
                else {
                    return Err(Trouble::Nonsense.into());
                };
                let bell = TheirBell::new(bell).map_err(Trouble::OtherBell)?;
                // Makes room for what has the same size. Only another thread of this process could take it.
                drop(room);
                let theirs = Arc::new(TheirOutbox::open(&outbox)?);
                self.establish(
                    rank,
                    Parts { socket, memory, theirs, bell, process: self.watched(process), first: true },
                )
            }
        }
    }

    /// Somebody who knows the secret wants a connection.
    fn greeted(&mut self, socket: Watched<OwnedFd>, responder: Responder) -> Result<(), Stop> {
        let Some(rank) = responder.claimed else {
            return Self::turn_away(&socket, responder, Verdict::Wrong, "it looks for another job or rank");
        };
        match &self.peers[rank].state {
            State::Gone(Cause::Finished) => {
                Self::turn_away(&socket, responder, Verdict::Finished, "its connection has ended")
            }
            State::Gone(_) => Self::turn_away(&socket, responder, Verdict::Down, "it is taken for down"),
            // It had dialled before this side's attempt reached it, and has given that up.
            State::Open(_) => Err(Stop::Close),
            State::Dialing(attempt) if attempt.under_way && self.identity.rank < rank => {
                self.pending.drop_accepted_from(rank);
                self.put_back(socket, Role::Parked(rank))
            }
            State::Idle | State::Dialing(_) => {
                self.pending.drop_accepted_from(rank);
                let (session, welcome) = responder.answer(Verdict::Ready)?;
                packet::send(&socket, &welcome, &[])?;
                self.put_back(socket, Role::Answered(rank, session))
            }
        }
    }

    fn turn_away(socket: &OwnedFd, responder: Responder, verdict: Verdict, why: &str) -> Result<(), Stop> {
        let (_, welcome) = responder.answer(verdict)?;
        packet::send(socket, &welcome, &[])?;
        Err(Stop::Tell(why.to_owned()))
    }

    fn watched(&self, process: Option<OwnedFd>) -> Option<Watched<OwnedFd>> {
        process.map(|process| Watched::new(process, &self.epoll))
    }

    fn put_back(&mut self, socket: Watched<OwnedFd>, role: Role) -> Result<(), Stop> {
        let epoll = &self.epoll;
        self.pending
            .insert(socket, role, |socket, slot| Self::rewatch(epoll, socket, Watch::Pending(slot)))?;
        Ok(())
    }

    /// The peer has answered an attempt of this side.
    fn welcomed(
        &mut self,
        rank: Rank,
        socket: Watched<OwnedFd>,
        initiator: Initiator,
        bytes: &[u8],
    ) -> Result<(), Stop> {
        let (mut session, verdict) = initiator.welcomed(bytes)?;
        match verdict {
            Verdict::Ready => {}
            Verdict::Wrong => {
                return Err(Stop::Fail(Cause::Rejected(
                    "it is of another job, or counts ranks otherwise; start all ranks of a job alike".into(),
                )));
            }
            Verdict::Down => return Err(Stop::Fail(Cause::Rejected("it takes this rank for down".into()))),
            Verdict::Finished => return Err(Stop::Fail(Cause::Finished)),
        }
        let (memory, fd) = Mapping::create(link::SIZE, Writers::Both)?;
        // The peer may write as soon as it has accepted, and nothing may be lacking here then.
        let room = self.outbox.map_again()?;
        let mut proof = [0; 8];
        getrandom::fill(&mut proof).map_err(|error| Stop::Tell(format!("no random numbers: {error}")))?;
        let proof = u64::from_ne_bytes(proof);
        memory.store(PROOF, proof);
        let offer = handshake::seal(&mut session, proof)?;
        let fds: Vec<_> = std::iter::once(fd.as_fd()).chain(self.handed()).collect();
        packet::send(&socket, &offer, &fds)?;
        self.put_back(socket, Role::Offering(rank, session, memory, proof, room))?;
        Ok(())
    }

    /// The peer has handed over what a link is made of.
    fn offered(
        &mut self,
        rank: Rank,
        socket: Watched<OwnedFd>,
        mut session: ringworld_auth::Session,
        bytes: &[u8],
        fds: Vec<OwnedFd>,
    ) -> Result<(), Stop> {
        let proof = handshake::open(&mut session, bytes)?;
        let mut fds = fds.into_iter();
        let (Some(memory), Some(outbox), Some(bell), process, None) =
            (fds.next(), fds.next(), fds.next(), fds.next(), fds.next())
        else {
            return Err(Trouble::Nonsense.into());
        };
        if !matches!(self.peers[rank].state, State::Idle | State::Dialing(_)) {
            return Err(Stop::Close);
        }
        let memory = Mapping::open(&memory, link::SIZE, Writers::Both)?;
        if memory.load(PROOF) != proof {
            return Err(Trouble::OtherMemory.into());
        }
        let bell = TheirBell::new(bell).map_err(Trouble::OtherBell)?;
        let theirs = Arc::new(TheirOutbox::open(&outbox)?);
        let answer = handshake::answer_to(proof);
        memory.store(PROOF, answer);
        let accept = handshake::seal(&mut session, answer)?;
        packet::send(&socket, &accept, &self.handed().collect::<Vec<_>>())?;
        self.establish(
            rank,
            Parts { socket, memory, theirs, bell, process: self.watched(process), first: false },
        )
    }

    /// A connection stands.
    fn establish(&mut self, rank: Rank, parts: Parts) -> Result<(), Stop> {
        Self::rewatch(&self.epoll, &parts.socket, Watch::Link(rank))?;
        // Whatever was lacking for it is there: to have a socket was not enough.
        self.shortage.opened(Instant::now());
        // Attempts that have become needless, from either side.
        self.pending.drop_all_of(rank);
        self.dialing.retain(|other| *other != rank);
        if let Some(process) = &parts.process {
            // Without it (no room for another watch) the end of the socket tells, unless a child has a copy of that.
            let _ = Self::watch(&self.epoll, process, Watch::Process(rank));
        }
        self.peers[rank].board = Some(TheirBoard::new(Arc::clone(&parts.theirs)));
        self.peers[rank].state = State::Open(Box::new(Link::new(parts)));
        self.open.push(rank);
        self.outbox.serves(self.open.len());
        debug!(rank, "shares memory");
        self.flush(rank);
        // Something may have been written before this side looked.
        self.life.call_for_poll();
        Ok(())
    }

    /// This process lacks descriptors or memory, or may not have so much, whoever it was for: what needs it will be
    /// tried again, for a while.
    fn lack(&mut self, error: MapError, now: Instant) {
        // An old one may have ended while this process was asleep.
        self.shortage.lasts(now);
        match self.shortage.refused(now) {
            Meaning::Begins => {
                warn!(%error, "no connection for shared memory can be made or accepted for now")
            }
            Meaning::Lasts => {}
            Meaning::TooLong => {
                let cause = match error {
                    MapError::System(errno) => shortage::explain(errno, self.identity.size),
                    other => format!("no connection for shared memory can be made any more: {other}"),
                };
                self.life.defer(Event::Broken { cause });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ringworld_transport::{
        Header, Operation, Placement, Placer, Posted, RecvMemory, SendMemory, Token, Transport as _,
    };

    use std::os::fd::AsRawFd;

    use rustix::event::{PollFd, PollFlags, Timespec};

    use super::*;
    use crate::Config;
    use crate::transport::LOOK_EVERY;

    /// How many messages have come.
    struct Inbox(usize);

    impl Placer for Inbox {
        fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Result<Placement, String> {
            self.0 += 1;
            Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
        }
    }

    fn send(shm: &mut Shm, peer: Rank) {
        let (header, payload) = (Header::new(b"h").unwrap(), SendMemory::empty());
        let message = Operation::Message { peer, header, payload, token: Token(0) };
        assert_eq!(shm.post(message).unwrap(), Posted::Complete);
    }

    fn pair() -> (Shm, Shm) {
        let bind = |rank| Shm::bind(Config::new(rank, 2, 3)).unwrap();
        let (mut one, mut other) = (bind(0), bind(1));
        one.connect(1, &other.address()).unwrap();
        other.connect(0, &one.address()).unwrap();
        (one, other)
    }

    /// Whether a rank may sleep, and nothing wakes it.
    fn sleeps(shm: &mut Shm) -> bool {
        let mut watched = [PollFd::new(&shm.epoll, PollFlags::IN)];
        let moment = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let woken = rustix::event::poll(&mut watched, Some(&moment)).unwrap() > 0;
        shm.arm() && !woken
    }

    /// As a child has it that this process has forked.
    fn copy(socket: &OwnedFd) -> OwnedFd {
        rustix::io::dup(socket).unwrap()
    }

    #[test]
    fn an_end_wakes_nobody_for_ever_though_somebody_has_a_copy_of_the_socket() {
        for in_order in [true, false] {
            let (mut one, mut other) = pair();
            let (mut inbox, mut events) = (Inbox(0), Vec::new());
            send(&mut other, 0);
            while one.peers[1].link().is_none() || other.peers[0].link().is_none() {
                other.poll(&mut inbox, &mut events);
                one.poll(&mut inbox, &mut events);
            }
            let copy = copy(&one.peers[1].link().unwrap().socket);
            if in_order {
                other.close();
            } else {
                other.abort();
            }
            for _ in 0..3 * LOOK_EVERY {
                other.poll(&mut inbox, &mut events);
                one.poll(&mut inbox, &mut events);
            }
            assert!(matches!(one.peers[1].state, State::Gone(_)), "{events:?}");
            assert!(sleeps(&mut one), "in order: {in_order}");
            drop(copy);
        }
    }

    #[test]
    fn a_stranger_that_has_left_wakes_nobody_though_somebody_has_a_copy_of_the_socket() {
        let (mut one, _other) = pair();
        let (mut inbox, mut events) = (Inbox(0), Vec::new());
        let stranger =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let stranger = stranger.unwrap();
        rustix::net::connect(&stranger, &one.place.socket(None, Purpose::Talk).unwrap()).unwrap();
        one.poll(&mut inbox, &mut events);
        let copy = copy(&one.pending.get(0).unwrap().socket);
        drop(stranger);
        one.poll(&mut inbox, &mut events);
        assert!(one.pending.get(0).is_none() && sleeps(&mut one));
        drop(copy);
    }

    /// It would otherwise end the world for want of descriptors if that went on for some seconds.
    #[test]
    fn whoever_hands_over_too_many_descriptors_is_the_one_to_blame() {
        let (mut one, _other) = pair();
        let (stranger, end) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None)
                .unwrap();
        let end = Watched::new(end, &one.epoll);
        let watch = |socket: &Watched<OwnedFd>, slot| Shm::watch(&one.epoll, socket, Watch::Pending(slot));
        let since = Instant::now();
        let slot = one.pending.insert(end, Role::Unauthenticated { since }, watch).unwrap();
        for _ in 0..2 {
            packet::send_many(&stranger, b"?", &[stranger.as_fd(); 2 * packet::FDS]).unwrap();
        }
        assert!(one.drive(slot) && one.pending.get(slot).is_none());
        assert!(!one.shortage.is_noted());
    }

    /// Who goes on connecting would otherwise keep a rank from everything else.
    #[test]
    fn a_poll_lets_in_no_more_than_so_many() {
        let (mut one, _other) = pair();
        let knock = |_| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
            rustix::net::connect(&socket, &one.place.socket(None, Purpose::Talk).unwrap()).unwrap();
            socket
        };
        let _strangers: Vec<OwnedFd> = (0..ACCEPTS + 1).map(knock).collect();
        let (mut inbox, mut events) = (Inbox(0), Vec::new());
        for let_in in [ACCEPTS, ACCEPTS + 1] {
            one.poll(&mut inbox, &mut events);
            assert!(one.pending.get(let_in - 1).is_some() && one.pending.get(let_in).is_none());
        }
    }

    /// By which it would otherwise take all descriptors of this process, and that would be to blame for it.
    #[test]
    fn a_peer_has_one_connection_in_the_handshake_however_often_it_dials() {
        for dials in [false, true] {
            let (mut one, other) = pair();
            if dials {
                // Then those of the peer are parked.
                send(&mut one, 1);
            }
            let (mut inbox, mut events) = (Inbox(0), Vec::new());
            let dial = || {
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                let socket =
                    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
                        .unwrap();
                rustix::net::connect(&socket, &one.place.socket(None, Purpose::Talk).unwrap()).unwrap();
                let (_, hello) = Initiator::new(&other.identity, 0).unwrap();
                packet::send(&socket, &hello, &[]).unwrap();
                socket
            };
            let sockets: Vec<OwnedFd> = (0..20).map(|_| dial()).collect();
            one.poll(&mut inbox, &mut events);
            // The last one counts: whoever dials again has given up what it had dialled before.
            let is_open = |socket: &&OwnedFd| loop {
                match packet::receive(socket) {
                    Ok(Received::Packet(..)) => {}
                    other => return matches!(other, Ok(Received::Nothing)),
                }
            };
            let open: Vec<_> = sockets.iter().filter(is_open).map(AsRawFd::as_raw_fd).collect();
            assert_eq!(open, [sockets[19].as_raw_fd()], "{dials}");
        }
    }

    /// Were it otherwise, each side could take another one of two connections for the one that counts, and give up the
    /// other's.
    #[test]
    fn a_rank_that_has_answered_does_not_dial_as_well() {
        let (mut one, mut other) = pair();
        let (mut inbox, mut events) = (Inbox(0), Vec::new());
        send(&mut other, 0);
        one.poll(&mut inbox, &mut events);
        assert!(one.pending.is_answered(1));
        send(&mut one, 1);
        assert!(matches!(&one.peers[1].state, State::Dialing(attempt) if !attempt.under_way));
        assert!(one.arm(), "it waits for the other, and may sleep");
        for _ in 0..10 {
            other.poll(&mut inbox, &mut events);
            one.poll(&mut inbox, &mut events);
        }
        assert_eq!(inbox.0, 2, "{events:?}");
    }

    /// As where a filter of system calls, or a policy of the system's, does not let it talk to others.
    #[test]
    fn what_the_system_refuses_for_ever_is_given_up_and_why_is_said() {
        let path = std::env::temp_dir().join(format!("shm-connect-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        let bind = |rank| Shm::bind(Config { socket_dir: Some(path.clone()), ..Config::new(rank, 2, 3) });
        let (mut one, other) = (bind(0).unwrap(), bind(1).unwrap());
        one.connect(1, &other.address()).unwrap();
        // A socket of another kind than it takes: neither nobody, nor a full queue.
        let talk = path.join(other.place.file(Purpose::Talk));
        std::fs::remove_file(&talk).unwrap();
        let _wrong = std::os::unix::net::UnixDatagram::bind(&talk).unwrap();
        send(&mut one, 1);
        let (mut inbox, mut events, begin) = (Inbox(0), Vec::new(), Instant::now());
        while events.is_empty() && begin.elapsed().as_secs() < 30 {
            one.poll(&mut inbox, &mut events);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop((one, other));
        std::fs::remove_dir_all(&path).unwrap();
        let Some(Event::PeerDown { peer: 1, cause: Cause::Unreachable(why) }) = events.last() else {
            panic!("{events:?}");
        };
        assert!(why.contains("cannot be connected to: Protocol wrong type"), "{why}");
    }
}
