//! [`Shm`]: what the runtime calls. Posting, exposing, polling and sleeping; the hot path is here.
//!
//! A poll looks at the next word of each ring that is open, which costs a few nanoseconds each and no system call; the
//! descriptors, by which peers come and go and wake this process, are looked at now and then, and always after a sleep.
//! Neighbours: `connect.rs` (connections come to be), `shutdown.rs` (connections end), `peer.rs` and `link.rs` (bytes).

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use ringworld_auth::Tally;
use ringworld_transport::descriptor::Descriptor;
use ringworld_transport::lifecycle::Lifecycle;
use ringworld_transport::puts::exposure_of;
use ringworld_transport::shortage::{Shortage, advice};
use ringworld_transport::watched::{EpollSet, Watched};
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Label, Operation, Placer, Posted, Rank, RecvMemory,
    Refused, RemoteKey, Showing, Shown, Token, Transport,
};
use rustix::event::epoll;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::address::{Place, Purpose};
use crate::bell;
use crate::board;
use crate::channels::Channel;
use crate::config::{BindError, Config};
use crate::folder::{Files, Folder, Missed};
use crate::handshake::Identity;
use crate::link::{self, Inward, Link};
use crate::memory::{self, MapError};
use crate::outbox::{self, Outbox};
use crate::packet::{self, Received};
use crate::peer::{Peer, State};
use crate::pending::PendingHandshakes;

/// First bytes of every key, so that the key of another transport is noticed.
const KEY: [u8; 4] = *b"SHM\x01";
/// While rings are read, how often descriptors are looked at, in polls.
pub(crate) const LOOK_EVERY: u64 = 64;
/// Events taken from epoll at a time.
const EVENTS: usize = 64;

/// What an epoll event is about, packed into its 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    Link(Rank),
    /// The process at the other end of a link.
    Process(Rank),
    Pending(usize),
    Listener,
    Bell,
}

impl Watch {
    fn data(self) -> epoll::EventData {
        epoll::EventData::new_u64(match self {
            Self::Link(rank) => rank as u64,
            Self::Process(rank) => 1 << 61 | rank as u64,
            Self::Pending(slot) => 1 << 62 | slot as u64,
            Self::Listener => 2 << 62,
            Self::Bell => 3 << 62,
        })
    }

    fn from_data(data: u64) -> Self {
        let low = (data & (u64::MAX >> 3)) as usize;
        match data >> 61 {
            0 => Self::Link(low),
            1 => Self::Process(low),
            2 => Self::Pending(low),
            4 => Self::Listener,
            _ => Self::Bell,
        }
    }
}

/// Where this rank is reached.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// By connections.
    pub(crate) talk: Watched<OwnedFd>,
    /// By those who want to know whether it can be reached; nobody sends anything there.
    _probe: Descriptor<OwnedFd>,
    /// What both are in a file system.
    files: Option<Files>,
}

impl Listeners {
    fn new(place: &Place, folder: Option<Folder>, epoll: &EpollSet) -> Result<Self, String> {
        let named = |kind, purpose| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
            if folder.is_some() {
                // The file is made with the mode of the socket.
                rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
            }
            rustix::net::bind(&socket, &place.socket(folder.as_ref(), purpose)?)?;
            Ok(socket)
        };
        let listen = || -> Result<(OwnedFd, OwnedFd), Errno> {
            let talk = named(SocketType::SEQPACKET, Purpose::Talk)?;
            // More than any host has ranks; the system bounds it.
            rustix::net::listen(&talk, 4096)?;
            Ok((talk, named(SocketType::DGRAM, Purpose::Probe)?))
        };
        let cannot = |error: Errno| match &folder {
            Some(folder) => {
                format!("cannot listen at a Unix socket in {}: {}", folder.path().display(), advised(error))
            }
            None => format!("cannot listen at a Unix socket: {}", advised(error)),
        };
        let (talk, probe) = match &folder {
            Some(folder) => folder.alone(&place.host(), || listen().map_err(cannot))?,
            None => listen().map_err(cannot)?,
        };
        let names = [place.file(Purpose::Talk), place.file(Purpose::Probe)];
        let talk = Watched::new(talk, epoll);
        Ok(Self {
            talk,
            _probe: Descriptor::new(probe),
            files: folder.map(|folder| Files::new(folder, names)),
        })
    }

    fn folder(&self) -> Option<&Folder> {
        self.files.as_ref().map(Files::folder)
    }
}

/// The shared-memory transport of one rank.
///
/// Dropping it is the same as [`Transport::abort`]: peers see the connection lost.
#[derive(Debug)]
pub struct Shm {
    pub(crate) identity: Identity,
    pub(crate) epoll: EpollSet,
    /// What peers write to, to wake this rank.
    pub(crate) bell: Descriptor<OwnedFd>,
    /// Tells peers when this process has ended; `None` where the system knows no such descriptors (before Linux 5.3).
    process: Option<Descriptor<OwnedFd>>,
    pub(crate) listeners: Option<Listeners>,
    pub(crate) outbox: Outbox,
    pub(crate) peers: Vec<Peer>,
    /// Where messages are copied out of rings.
    room: Box<[u8]>,
    /// What this rank shows, by channel.
    pub(crate) channels: Vec<Channel>,
    /// Peers with a link.
    pub(crate) open: Vec<Rank>,
    /// Peers that are being dialled.
    pub(crate) dialing: Vec<Rank>,
    pub(crate) pending: PendingHandshakes,
    /// Connections that came to nothing, of which not each is told.
    pub(crate) strangers: Tally,
    pub(crate) life: Lifecycle,
    /// This process lacks descriptors or memory.
    pub(crate) shortage: Shortage,
    pub(crate) place: Place,
    capabilities: Capabilities,
    /// Peers to which something is to be sent.
    owed: usize,
    /// Links have been told that this side waits for room.
    wants: bool,
    polls: u64,
    pub(crate) force_look: bool,
}

/// What the system refuses, and what to do about it.
fn advised(error: impl Into<MapError>) -> String {
    let error = error.into();
    let advice = match error {
        MapError::System(errno) => advice(&errno.into()),
        _ => String::new(),
    };
    format!("{error}{advice}")
}

impl Shm {
    /// Makes this rank's part of the memory; from here on peers can connect.
    ///
    /// # Errors
    ///
    /// [`BindError`] says what is wrong with the settings or what the system refused.
    pub fn bind(config: Config) -> Result<Self, BindError> {
        let Config { rank, size, job, secret, socket_dir } = config;
        if rank >= size {
            return Err(BindError::Rank { rank, size });
        }
        let system = |what: &'static str| {
            move |error: Errno| BindError::System(format!("cannot {what}: {}", advised(error)))
        };
        let folder = socket_dir.map(|path| Folder::open(&path)).transpose().map_err(BindError::System)?;
        let place = Place::new(folder.is_some()).map_err(BindError::System)?;
        // What connections will take is asked for now, when another transport can still be chosen.
        let outbox = memory::may_have(outbox::SIZE.max(link::SIZE))
            .and_then(|()| Outbox::new())
            .map_err(|error| BindError::System(format!("cannot map shared memory: {}", advised(error))))?;
        let epoll = EpollSet::new().map_err(system("make an epoll set"))?;
        let bell = bell::own().map_err(system("make an event descriptor"))?;
        let listeners = Listeners::new(&place, folder, &epoll).map_err(BindError::System)?;
        Self::watch(&epoll, &listeners.talk, Watch::Listener).map_err(system("watch a descriptor"))?;
        Self::watch(&epoll, &bell, Watch::Bell).map_err(system("watch a descriptor"))?;
        let mut capabilities = Capabilities::new("shm");
        capabilities.latency_ns = 500;
        capabilities.bytes_per_us = 8_000;
        capabilities.inject = link::WHOLE;
        capabilities.show = board::LONGEST;
        Ok(Self {
            identity: Identity { rank, size, job, secret },
            epoll,
            bell,
            process: pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok().map(Descriptor::new),
            listeners: Some(listeners),
            outbox,
            peers: std::iter::repeat_with(Peer::new).take(size).collect(),
            room: vec![0; link::ROOM].into(),
            channels: Vec::new(),
            open: Vec::new(),
            dialing: Vec::new(),
            pending: PendingHandshakes::default(),
            strangers: Tally::default(),
            life: Lifecycle::default(),
            shortage: Shortage::default(),
            place,
            capabilities,
            owed: 0,
            wants: false,
            polls: 0,
            force_look: false,
        })
    }

    /// The sizes by which it works, a line each, for people.
    #[must_use]
    pub fn layout() -> Vec<String> {
        link::layout()
    }

    /// The same as rank `rank` of `size`: a process has to say where it is reached before it is told who it is. To be
    /// called before the first `connect`; connections that come meanwhile wait in the kernel.
    ///
    /// # Errors
    ///
    /// [`BindError::Rank`] when there is no such rank.
    pub fn with_rank(mut self, rank: Rank, size: usize) -> Result<Self, BindError> {
        if rank >= size {
            return Err(BindError::Rank { rank, size });
        }
        (self.identity.rank, self.identity.size) = (rank, size);
        self.peers.resize_with(size, Peer::new);
        Ok(self)
    }

    /// Where sockets are files, if they are.
    pub(crate) fn folder(&self) -> Option<&Folder> {
        self.listeners.as_ref().and_then(Listeners::folder)
    }

    /// What peers are handed: the outbox, the bell, and by what they know the end of this process.
    pub(crate) fn handed(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.outbox.fd(), self.bell.as_fd()].into_iter().chain(self.process.as_ref().map(AsFd::as_fd))
    }

    pub(crate) fn watch(epoll: &EpollSet, fd: impl AsFd, what: Watch) -> Result<(), Errno> {
        epoll::add(epoll, fd, what.data(), epoll::EventFlags::IN)
    }

    pub(crate) fn rewatch(epoll: &EpollSet, fd: impl AsFd, what: Watch) -> Result<(), Errno> {
        epoll::modify(epoll, fd, what.data(), epoll::EventFlags::IN)
    }

    /// Sends what there is room for, reporting at the next poll.
    pub(crate) fn flush(&mut self, rank: Rank) -> bool {
        let puts_first = self.polls % 2 == 1;
        let moved = self.peers[rank].flush(&mut self.outbox, puts_first, self.life.deferred());
        self.note(rank);
        moved
    }

    /// Takes back the slots of what a peer has read, to whom nothing more is to be sent: somebody else waits for them.
    fn reclaim(&mut self, rank: Rank) -> bool {
        let Self { peers, outbox, .. } = self;
        peers[rank].link().is_some_and(|link| link.holds_slots() && link.reclaim(outbox))
    }

    /// Counts a peer among those to which something is to be sent, or no more.
    #[inline]
    pub(crate) fn note(&mut self, rank: Rank) {
        let peer = &mut self.peers[rank];
        let owed = !peer.is_idle() || peer.unsaid;
        if owed != peer.owed {
            peer.owed = owed;
            if owed { self.owed += 1 } else { self.owed -= 1 }
        }
    }

    /// Takes in what a peer has sent.
    fn receive(&mut self, rank: Rank, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let Peer { state: State::Open(link), exposures, ends, .. } = &mut self.peers[rank] else {
            return false;
        };
        let received = match link.next() {
            Ok(None) => {
                link.rest();
                return false;
            }
            Ok(Some(record)) => {
                let room = &mut self.room;
                link.receive(record, &mut Inward { rank, exposures, ends, room, placer, events })
            }
            Err(why) => Err(why),
        };
        if let Err(why) = received {
            self.fail(rank, Cause::Protocol(why));
        }
        true
    }

    /// Nobody needs to wake this process: it looks by itself.
    #[inline]
    fn awake(&mut self) {
        if self.outbox.is_asleep() {
            self.outbox.sleeps(false);
            if std::mem::take(&mut self.wants) {
                for index in 0..self.open.len() {
                    if let Some(link) = self.peers[self.open[index]].link() {
                        link.want_no_more();
                    }
                }
            }
        }
    }

    /// Looks after the descriptors.
    fn look(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        self.force_look = false;
        self.dial_again();
        if self.pending.has_unauthenticated() || self.shortage.is_noted() {
            let now = Instant::now();
            self.pending.drop_silent(now);
            self.shortage.lasts(now);
        }
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        // The only error is an interruption: nothing is lost, the next poll looks again.
        let Ok((ready, _)) = epoll::wait(&self.epoll, &mut room[..], Some(&now)) else {
            self.life.call_for_poll();
            return false;
        };
        let mut moved = false;
        for event in ready.iter() {
            match Watch::from_data(event.data.u64()) {
                Watch::Bell => {
                    // Whatever it is for is found in the rings.
                    let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
                }
                Watch::Listener => moved |= self.accept(),
                Watch::Pending(slot) => moved |= self.drive(slot),
                Watch::Link(rank) => moved |= self.hear(rank, placer, events),
                Watch::Process(rank) => moved |= self.end_of(rank, placer, events),
            }
        }
        moved
    }

    /// Before this rank sleeps: whether it can still wake the others, of whom some may sleep until it does.
    fn look_for_the_deaf(&mut self) {
        let Self { open, peers, life, .. } = self;
        for rank in open {
            if let Some(error) = peers[*rank].link().and_then(Link::deaf) {
                life.defer(Event::Broken {
                    cause: format!(
                        "rank {rank} cannot be woken any more: {error}; the descriptor for that was closed, by a \
                         program that closes files which it has not opened"
                    ),
                });
            }
        }
    }

    /// Something has come by the socket of a link: its end.
    fn hear(&mut self, rank: Rank, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let Some(link) = self.peers.get_mut(rank).and_then(Peer::link) else { return false };
        match packet::receive(&link.socket) {
            Ok(Received::Nothing) => false,
            Ok(Received::Packet(..)) => {
                self.fail(rank, Cause::Protocol("a packet on a connection that stands".into()));
                true
            }
            Ok(Received::End) | Err(_) => self.end_of(rank, placer, events),
        }
    }

    /// The process at the other end of a link is gone.
    fn end_of(&mut self, rank: Rank, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        // Reported twice: by its process and by its socket.
        let Some(end) = self.peers[rank].link().map(|link| link.farthest()) else { return false };
        // What it had written is whole. Nothing should follow; but whoever has its memory, such as a child that it has
        // forked, could go on and on.
        let is_read = |peer: &mut Peer| peer.link().is_none_or(|link| link.is_behind(end));
        while !is_read(&mut self.peers[rank]) && self.receive(rank, placer, events) {}
        self.link_ended(rank);
        true
    }
}

impl Transport for Shm {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        self.place.address()
    }

    fn connect(&mut self, peer: Rank, address: &Address) -> Result<(), ConnectError> {
        let error = |reason| ConnectError { peer, transport: "shm", reason, nobody: false };
        if peer == self.identity.rank {
            return Err(error("it is this process's own rank".to_owned()));
        }
        let size = self.identity.size;
        let folder = self.listeners.as_ref().and_then(Listeners::folder);
        let Some(entry) = self.peers.get_mut(peer) else {
            return Err(error(format!("there is no such rank in a world of {size}")));
        };
        let place = Place::parse(address).map_err(error)?;
        self.place.reaches(&place, folder).map_err(|missed| match missed {
            Missed::Apart(reason) => error(reason),
            Missed::Nobody(reason) => ConnectError { nobody: true, ..error(reason) },
        })?;
        entry.place = Some(place);
        Ok(())
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        let rank = operation.peer();
        if !self.life.is_live() {
            return Err(Refused::PeerDown(operation, Cause::Finished));
        }
        let Some(peer) = self.peers.get_mut(rank) else { return Err(Refused::Unknown(operation)) };
        match &peer.state {
            State::Open(_) if peer.shutdown.is_peer_closed() => {
                return Err(Refused::PeerDown(operation, Cause::Finished));
            }
            State::Open(_) => {}
            State::Gone(cause) => return Err(Refused::PeerDown(operation, cause.clone())),
            _ if peer.place.is_none() => return Err(Refused::Unknown(operation)),
            _ => {}
        }
        match operation {
            Operation::Message { header, payload, token, .. } => {
                let posted = peer.send(header, payload, token, &mut self.outbox);
                if posted == Posted::Pending || !matches!(peer.state, State::Open(_)) {
                    self.note(rank);
                    self.dial(rank);
                }
                Ok(posted)
            }
            Operation::Put { key, offset, payload, token, .. } if !payload.is_empty() => {
                let Some(word) = exposure_of(&key, KEY) else {
                    let operation = Operation::Put { peer: rank, key, offset, payload, token };
                    return Err(Refused::Invalid(operation, "the key was not made by shared memory"));
                };
                peer.puts.push(word, offset as u64, payload, token);
                self.flush(rank);
                self.dial(rank);
                Ok(Posted::Pending)
            }
            empty => Err(Refused::Invalid(empty, "a put must not be empty")),
        }
    }

    fn inject(&mut self, rank: Rank, header: &[u8], payload: &[u8]) -> bool {
        if self.life.is_live()
            && let Some(Peer { state: State::Open(link), shutdown, queue, .. }) = self.peers.get_mut(rank)
            && !shutdown.is_peer_closed()
            && queue.is_empty()
        {
            return link.send_now(header, payload, &mut self.outbox);
        }
        false
    }

    #[inline]
    fn show(&mut self, to: &[Rank], channel: u64, number: u32, label: &Label, payload: &[u8]) -> Showing {
        self.show_to(to, channel, number, label, payload)
    }

    #[inline]
    fn shown(&mut self, from: Rank, channel: u64, number: u32) -> Option<Shown> {
        self.shown_by(from, channel, number)
    }

    #[inline]
    fn copy_shown(&mut self, from: Rank, channel: u64, number: u32, offset: usize, into: &mut [u8]) {
        self.copy_shown_by(from, channel, number, offset, into);
    }

    fn pass(&mut self, channel: u64, number: u32) -> bool {
        self.pass_channel(channel, number)
    }

    fn leave(&mut self, channel: u64) {
        self.leave_channel(channel);
    }

    fn expose(&mut self, peer: Rank, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        if !self.life.is_live() {
            return Err(Cause::Finished);
        }
        let unknown = || Cause::Unreachable(format!("no address of rank {peer} is known"));
        let entry = self.peers.get_mut(peer).ok_or_else(unknown)?;
        match &entry.state {
            State::Open(_) if entry.shutdown.is_peer_closed() => return Err(Cause::Finished),
            State::Gone(cause) => return Err(cause.clone()),
            State::Idle if entry.place.is_none() => return Err(unknown()),
            _ => {}
        }
        entry.exposures.expose(KEY, memory, token)
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let before = events.len();
        self.life.report(events);
        if self.life.is_over() {
            return events.len() > before;
        }
        self.polls += 1;
        self.awake();
        self.life.begin_poll();
        let mut moved = false;
        // Backwards: a peer that fails is taken out.
        for index in (0..self.open.len()).rev() {
            let Some(&rank) = self.open.get(index) else { continue };
            moved |= self.receive(rank, placer, events);
            let peer = &self.peers[rank];
            if peer.owed {
                moved |= self.flush(rank);
            } else if self.owed > 0 {
                moved |= self.reclaim(rank);
            }
            if self.peers[rank].ends.fin {
                self.advance_shutdown(rank);
            }
        }
        let handshakes = !self.dialing.is_empty() || self.pending.has_known();
        if self.force_look || handshakes || self.polls.is_multiple_of(LOOK_EVERY) || self.open.is_empty() {
            moved |= self.look(placer, events);
        }
        if self.life.is_closing() {
            self.advance_shutdowns();
        }
        // Whoever waits for slots has been asked before those came back, or may not have used them.
        moved |= self.owed > 0 && self.outbox.has_got_back();
        self.life.report(events);
        moved || events.len() > before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.epoll.as_fd())
    }

    fn arm(&mut self) -> bool {
        self.look_for_the_deaf();
        if self.life.forbids_sleep() || self.is_to_dial() {
            return false;
        }
        // Whatever wakes the sleeper is to be looked at.
        self.force_look = true;
        self.outbox.sleeps(true);
        // An end waits until slots have been read, too.
        if self.owed > 0 || self.life.is_closing() {
            self.wants = true;
            for index in 0..self.open.len() {
                let peer = &mut self.peers[self.open[index]];
                let owed = peer.owed;
                if let Some(link) = peer.link().filter(|link| owed || link.holds_slots()) {
                    link.want();
                }
            }
        }
        fence(Ordering::SeqCst);
        let wants = self.wants;
        let found = self.open.iter().any(|rank| match &self.peers[*rank] {
            // Of a link that waits for nothing, nobody looks at how far it has been read.
            Peer { state: State::Open(link), owed, .. } => {
                link.has_come() || (wants && (*owed || link.holds_slots()) && link.has_been_read())
            }
            _ => false,
        });
        if found {
            self.awake();
        }
        !found
    }

    fn is_connected(&self, peer: Rank) -> bool {
        self.peers.get(peer).is_some_and(|peer| matches!(peer.state, State::Open(_)))
    }

    fn owes(&self) -> bool {
        self.owed > 0
    }

    fn disconnect(&mut self, peer: Rank, cause: Cause) {
        if !self.life.is_over() && peer != self.identity.rank {
            self.fail(peer, cause);
        }
    }

    fn close(&mut self) {
        self.life.close();
    }

    fn abort(&mut self) {
        self.life.abort();
        self.end_everything();
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use ringworld_transport::{Header, Placement, SendMemory};
    use rustix::event::{PollFd, PollFlags, Timespec};
    use rustix::process::Pid;

    use super::*;

    #[test]
    fn what_epoll_reports_is_what_was_watched() {
        for watch in [Watch::Link(70_000), Watch::Pending(9), Watch::Listener, Watch::Bell] {
            assert_eq!(Watch::from_data(watch.data().u64()), watch);
        }
    }

    /// Takes messages that consist of nothing but a header.
    struct Inbox;

    impl Placer for Inbox {
        fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Result<Placement, String> {
            Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
        }
    }

    /// Takes messages, and has a rank send another one as soon as it has begun to take one.
    struct Busy<'a> {
        sender: &'a mut Shm,
        to: Rank,
        came: usize,
    }

    impl Placer for Busy<'_> {
        fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Result<Placement, String> {
            self.came += 1;
            assert!(self.came < 100_000, "it does nothing else any more");
            self.sender.inject(self.to, b"h", b"");
            Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
        }
    }

    /// As where a child of the peer has its memory, too.
    #[test]
    fn an_end_comes_though_somebody_goes_on_writing() {
        let [mut one, mut other] = [0, 1].map(|rank| Shm::bind(Config::new(rank, 2, 3)).unwrap());
        one.connect(1, &other.address()).unwrap();
        other.connect(0, &one.address()).unwrap();
        let mut events = Vec::new();
        while !one.is_connected(1) || !other.is_connected(0) {
            let (header, payload) = (Header::new(b"h").unwrap(), SendMemory::empty());
            let message = Operation::Message { peer: 0, header, payload, token: Token(0) };
            let _posted = other.post(message).unwrap();
            other.poll(&mut Inbox, &mut events);
            one.poll(&mut Inbox, &mut events);
        }
        let socket = &other.peers[0].link().unwrap().socket;
        rustix::net::shutdown(socket, rustix::net::Shutdown::Both).unwrap();
        assert!(other.inject(0, b"h", b""));
        let mut busy = Busy { sender: &mut other, to: 0, came: 0 };
        one.force_look = true;
        one.poll(&mut busy, &mut events);
        one.poll(&mut busy, &mut events);
        let lost = |event: &Event| matches!(event, Event::PeerDown { peer: 1, cause: Cause::Lost(_) });
        assert!(events.iter().any(lost), "{events:?}");
        assert!(busy.came > 0, "what it had written was read");
    }

    /// All ranks are handed the same descriptor of a process, and some may keep it for longer than others.
    #[test]
    fn the_end_of_a_process_wakes_nobody_for_ever_though_somebody_else_watches_it() {
        let bind = |rank| Shm::bind(Config::new(rank, 2, 3)).unwrap();
        let (mut one, mut other) = (bind(0), bind(1));
        let mut process = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let watched = pidfd_open(Pid::from_child(&process), PidfdFlags::empty()).unwrap();
        let third = rustix::io::dup(&watched).unwrap();
        other.process = Some(Descriptor::new(watched));
        one.connect(1, &other.address()).unwrap();
        let (header, payload) = (Header::new(b"h").unwrap(), SendMemory::empty());
        let message = Operation::Message { peer: 1, header, payload, token: Token(0) };
        assert_eq!(one.post(message).unwrap(), Posted::Complete);
        let mut events = Vec::new();
        while !one.is_connected(1) || !other.is_connected(0) {
            one.poll(&mut Inbox, &mut events);
            other.poll(&mut Inbox, &mut events);
        }
        other.close();
        while one.is_connected(1) {
            other.poll(&mut Inbox, &mut events);
            one.poll(&mut Inbox, &mut events);
        }
        drop(other);
        // What it has to report.
        one.poll(&mut Inbox, &mut events);
        process.kill().unwrap();
        process.wait().unwrap();
        let moved = (0..3 * LOOK_EVERY).filter(|_| one.poll(&mut Inbox, &mut events)).count();
        assert_eq!(moved, 0, "something is said to have happened though nothing has");
        let mut watched = [PollFd::new(&one.epoll, PollFlags::IN)];
        let moment = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        assert_eq!(rustix::event::poll(&mut watched, Some(&moment)).unwrap(), 0, "it is woken");
        assert!(one.arm());
        drop(third);
    }
}
