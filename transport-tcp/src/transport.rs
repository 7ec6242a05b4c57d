//! [`Tcp`]: what the runtime calls. Posting, exposing, polling and sleeping; the hot path is here.
//!
//! Invariants: a lane with anything left to write has its socket watched for room, so the descriptor of
//! [`Transport::wait_fd`] is readable whenever a poll would move something; what happens outside of a
//! poll is deferred to the next. Neighbours: `connect.rs` (connections come to be), `shutdown.rs`
//! (connections end), `lane.rs` (bytes).

use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use ringworld_auth::Tally;
use ringworld_transport::descriptor::Descriptor;
use ringworld_transport::lifecycle::Lifecycle;
use ringworld_transport::puts::exposure_of;
use ringworld_transport::shortage::Shortage;
use ringworld_transport::watched::{EpollSet, Watched};
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Operation, Placer, Posted, Rank, RecvMemory, Refused,
    RemoteKey, SendMemory, Token, Transport, warn,
};
use rustix::event::epoll;
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
use socket2::Socket;

use crate::config::{BindError, Config};
use crate::framing::Prelude;
use crate::handshake::Identity;
use crate::hot::HotLanes;
use crate::lane::{FRAGMENT, Inward, Outgoing, Payload, SMALL};
use crate::listener::{self, Options};
use crate::peer::{Peer, State};
use crate::pending::PendingHandshakes;
use crate::staging::Staging;

/// First bytes of every key, so that the key of another transport is noticed.
const KEY: [u8; 4] = *b"TCP\x01";
/// While a lane is read directly, how often epoll looks after everything else, in polls.
const EPOLL_EVERY: u64 = 16;
/// Events taken from epoll at a time.
const EVENTS: usize = 64;

/// What an epoll event is about, packed into its 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    Lane(Rank, usize),
    Pending(usize),
    Listener(usize),
    Timer,
    Silence,
}

impl Watch {
    pub(crate) fn data(self) -> epoll::EventData {
        epoll::EventData::new_u64(match self {
            Self::Lane(rank, lane) => (rank as u64) << 8 | lane as u64,
            Self::Pending(slot) => 1 << 62 | slot as u64,
            Self::Listener(index) => 2 << 62 | index as u64,
            Self::Timer => 3 << 62,
            Self::Silence => 3 << 62 | 1,
        })
    }

    fn from_data(data: u64) -> Self {
        let low = data & (u64::MAX >> 2);
        match data >> 62 {
            0 => Self::Lane((low >> 8) as usize, (low & 0xff) as usize),
            1 => Self::Pending(low as usize),
            2 => Self::Listener(low as usize),
            _ if low == 0 => Self::Timer,
            _ => Self::Silence,
        }
    }
}

pub(crate) struct Listener {
    pub(crate) socket: Watched<Socket>,
    pub(crate) address: SocketAddr,
    /// Not watched for a moment, because the process lacks descriptors.
    pub(crate) paused: bool,
}

/// The TCP transport of one rank.
///
/// Dropping it is the same as [`Transport::abort`]: peers see the connection lost.
pub struct Tcp {
    pub(crate) identity: Identity,
    pub(crate) options: Options,
    /// Lanes run over all networks, and all of them carry puts in both directions.
    pub(crate) spread: bool,
    pub(crate) epoll: EpollSet,
    pub(crate) timer: Descriptor<OwnedFd>,
    pub(crate) timer_runs: bool,
    pub(crate) silence_timer: Descriptor<OwnedFd>,
    pub(crate) silence_timer_runs: bool,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) handshakes: PendingHandshakes,
    /// Peers with an [`Attempt`](crate::peer::Attempt).
    pub(crate) dialing: Vec<Rank>,
    /// Descriptors, or memory for sockets, that this process lacks.
    pub(crate) shortage: Shortage,
    /// Connections that came to nothing, of which not each is told.
    pub(crate) unauthenticated: Tally,
    /// Further lanes to be tried again, and when.
    pub(crate) lane_retries: Vec<(Rank, usize, Instant)>,
    pub(crate) life: Lifecycle,
    /// Since when nothing keeps a rank that closes but first connections that others make.
    pub(crate) last_call: Option<Instant>,
    /// Connections to peers whose network is silent.
    pub(crate) set_aside: Vec<Watched<Socket>>,
    /// Lanes with a failed write, to be read out and given up at the next poll.
    pub(crate) troubled: Vec<(Rank, usize)>,
    /// Lanes watched for room to write.
    pub(crate) blocked: usize,
    /// Peers with messages that are coalesced until the next poll.
    coalescing: Vec<Rank>,
    capabilities: Capabilities,
    address: Address,
    hot: HotLanes,
    /// What all lanes read into in turn.
    staging: Staging,
    polls: u64,
    force_epoll: bool,
}

impl std::fmt::Debug for Tcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let addresses: Vec<SocketAddr> = self.listeners.iter().map(|l| l.address).collect();
        f.debug_struct("Tcp")
            .field("rank", &self.identity.rank)
            .field("size", &self.identity.size)
            .field("listens", &addresses)
            .field("phase", &self.life.phase())
            .finish_non_exhaustive()
    }
}

impl Tcp {
    /// Listens; from here on peers can connect.
    ///
    /// # Errors
    ///
    /// [`BindError`] says what is wrong with the settings or what the system refused.
    pub fn bind(config: Config) -> Result<Self, BindError> {
        config.check()?;
        let system = |what| move |errno: rustix::io::Errno| BindError::System { what, source: errno.into() };
        let options = Options::probe(&config)?;
        let epoll = EpollSet::new().map_err(system("make an epoll set"))?;
        let timer = || {
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
                .map(Descriptor::new)
                .map_err(system("make a timer"))
        };
        let (timer, silence_timer) = (timer()?, timer()?);
        let watch = |fd: BorrowedFd<'_>, what: Watch| {
            epoll::add(&epoll, fd, what.data(), epoll::EventFlags::IN).map_err(system("watch a descriptor"))
        };
        watch(timer.as_fd(), Watch::Timer)?;
        watch(silence_timer.as_fd(), Watch::Silence)?;
        let mut listeners = Vec::new();
        let mut absent = Vec::new();
        for ip in &config.listen {
            let (socket, address) = match options.listen(*ip, config.ports.as_ref()) {
                Ok(listening) => listening,
                Err(BindError::Listen { source, .. }) if listener::is_absent(&source) => {
                    warn!(%ip, error = %source, "cannot listen at an address of this host, and do without it");
                    absent.push(format!("{ip}: {source}"));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let socket = Watched::new(socket, &epoll);
            watch(socket.as_fd(), Watch::Listener(listeners.len()))?;
            listeners.push(Listener { socket, address, paused: false });
        }
        if listeners.is_empty() {
            return Err(BindError::NoneLeft(absent.join("; ")));
        }
        let addresses =
            listener::advertised(listeners.iter().map(|l| l.address).collect(), &config.advertise)?;
        let mut capabilities = Capabilities::new("tcp");
        capabilities.inject = SMALL;
        capabilities.coalesces = true;
        capabilities.latency_ns = 12_000;
        capabilities.bytes_per_us = 3_000;
        Ok(Self {
            identity: Identity {
                rank: config.rank,
                size: config.size,
                job: config.job,
                lanes: config.lanes,
                secret: config.secret,
                encrypt: config.encrypt,
            },
            options,
            spread: config.spread,
            epoll,
            timer,
            timer_runs: false,
            silence_timer,
            silence_timer_runs: false,
            listeners,
            peers: std::iter::repeat_with(Peer::new).take(config.size).collect(),
            handshakes: PendingHandshakes::default(),
            dialing: Vec::new(),
            shortage: Shortage::default(),
            unauthenticated: Tally::default(),
            lane_retries: Vec::new(),
            life: Lifecycle::default(),
            set_aside: Vec::new(),
            last_call: None,
            troubled: Vec::new(),
            blocked: 0,
            coalescing: Vec::new(),
            capabilities,
            address: listener::encode(&addresses),
            hot: HotLanes::default(),
            staging: Staging::new(),
            polls: 0,
            force_epoll: false,
        })
    }

    /// The same listeners as rank `rank` of `size`: a process has to say where it listens before it is
    /// told who it is. To be called before the first `connect`; connections that come meanwhile wait in
    /// the kernel.
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

    /// The lanes meant for puts to `peer`, as bits.
    fn put_lanes(&self, peer: Rank) -> u64 {
        match self.identity.lanes {
            1 => 0b1,
            lanes if self.spread => u64::MAX >> (64 - lanes),
            // One lane per direction; both sides agree by comparing ranks.
            2 if self.identity.rank < peer => 0b01,
            2 => 0b10,
            lanes => u64::MAX >> (64 - lanes),
        }
    }

    /// Writes what a lane has to write, reporting at the next poll.
    pub(crate) fn flush(&mut self, rank: Rank, lane: usize) -> bool {
        let preferred = self.put_lanes(rank);
        let Some(peer) = self.peers.get_mut(rank) else { return false };
        let may_pull = peer.may_pull(lane, preferred);
        let Peer { lanes, puts, exposures, .. } = peer;
        let Some(Some(connection)) = lanes.get_mut(lane) else { return false };
        let moved = connection.flush(puts, may_pull, exposures.is_empty(), self.life.deferred());
        self.watch_writes(rank, lane);
        moved
    }

    /// Has epoll report room to write exactly while something is left to write.
    pub(crate) fn watch_writes(&mut self, rank: Rank, lane: usize) {
        let preferred = self.put_lanes(rank);
        let Some(peer) = self.peers.get_mut(rank) else { return };
        let more = peer.puts.has_more() && peer.may_pull(lane, preferred);
        let Some(Some(connection)) = peer.lanes.get_mut(lane) else { return };
        let wants = connection.broken.is_none() && (more || !connection.is_idle());
        if wants != connection.wants_write {
            connection.wants_write = wants;
            let (flags, blocked) = if wants {
                (epoll::EventFlags::IN | epoll::EventFlags::OUT, self.blocked + 1)
            } else {
                (epoll::EventFlags::IN, self.blocked - 1)
            };
            self.blocked = blocked;
            if let Err(errno) =
                epoll::modify(&self.epoll, &connection.socket, Watch::Lane(rank, lane).data(), flags)
            {
                connection.broken = connection.broken.or(Some(errno));
            }
        }
        if connection.broken.is_some() && !self.troubled.contains(&(rank, lane)) {
            self.troubled.push((rank, lane));
        }
    }

    fn post_message(&mut self, rank: Rank, prelude: Prelude, memory: SendMemory, token: Token) -> Posted {
        let peer = &mut self.peers[rank];
        let Some(Some(_)) = peer.lanes.first() else {
            let posted = peer.waiting.push(prelude, memory, token);
            self.dial(rank);
            return posted;
        };
        let payload = Payload::Owned { memory, token };
        self.post_on(rank, 0, Outgoing { prelude, payload, sent: 0 })
    }

    fn post_put(&mut self, rank: Rank, key: u64, offset: u64, memory: SendMemory, token: Token) -> Posted {
        self.open_lanes(rank);
        let preferred = self.put_lanes(rank);
        let peer = &mut self.peers[rank];
        if matches!(peer.state, State::Open) && !peer.puts.has_more() && memory.len() <= FRAGMENT {
            let free = peer.lanes.iter().enumerate().position(|(lane, connection)| {
                peer.may_pull(lane, preferred)
                    && connection.as_ref().is_some_and(|connection| connection.is_free())
            });
            if let Some(lane) = free {
                let prelude = Prelude::put(key, offset, memory.len());
                let payload = Payload::Owned { memory, token };
                return self.post_on(rank, lane, Outgoing { prelude, payload, sent: 0 });
            }
        }
        peer.puts.push(key, offset, memory, token);
        if !matches!(peer.state, State::Open) {
            self.dial(rank);
            return Posted::Pending;
        }
        for lane in 0..self.identity.lanes {
            let connection = self.peers[rank].lanes.get(lane);
            if connection
                .is_some_and(|connection| connection.as_ref().is_some_and(|connection| connection.is_free()))
            {
                self.flush(rank, lane);
            }
        }
        Posted::Pending
    }

    /// Writes a frame at once if the lane is free, and queues what is left of it.
    fn post_on(&mut self, rank: Rank, lane: usize, mut outgoing: Outgoing) -> Posted {
        let Some(Some(connection)) = self.peers[rank].lanes.get_mut(lane) else { return Posted::Pending };
        if !connection.is_free() {
            connection.queue.push_back(outgoing);
            return Posted::Pending;
        }
        let Payload::Owned { memory, .. } = &outgoing.payload else { return Posted::Pending };
        outgoing.sent = connection.write_now(&outgoing.prelude, memory.as_slice());
        if outgoing.sent == outgoing.prelude.as_bytes().len() + memory.len() {
            if connection.owes_records() {
                self.watch_writes(rank, lane);
            }
            return Posted::Complete;
        }
        connection.queue.push_back(outgoing);
        self.watch_writes(rank, lane);
        Posted::Pending
    }

    fn flush_coalesced(&mut self) -> bool {
        let mut moved = false;
        while let Some(rank) = self.coalescing.pop() {
            moved |= self.flush(rank, 0);
        }
        moved
    }

    /// Reads what a lane has.
    fn receive(&mut self, rank: Rank, lane: usize, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let Some(peer) = self.peers.get_mut(rank) else { return false };
        let Peer { lanes, exposures, fins, .. } = peer;
        let Some(Some(connection)) = lanes.get_mut(lane) else { return false };
        let before = events.len();
        let mut inward = Inward { rank, lane, exposures, fins, placer, events };
        let result = connection.receive(&mut self.staging, &mut inward);
        let ending = fins.fin.any() || fins.fin_ack.any();
        let moved = match result {
            Ok(moved) => moved,
            Err(ended) => {
                self.lane_ended(rank, lane, ended);
                true
            }
        };
        if ending {
            self.advance_shutdown(rank);
        }
        moved || events.len() > before
    }

    /// Notes that a lane has traffic.
    pub(crate) fn heat(&mut self, rank: Rank, lane: usize) {
        self.hot.heat(rank, lane, self.polls);
    }

    /// Whether the lanes with recent traffic are few enough to be read one by one, and nothing else is
    /// due that only epoll would tell.
    fn reads_directly(&mut self) -> bool {
        if self.force_epoll || self.blocked > 0 || !self.hot.are_few() {
            return false;
        }
        !self.polls.is_multiple_of(EPOLL_EVERY)
    }

    fn poll_hot(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let mut moved = false;
        for (rank, lane) in self.hot.lanes() {
            if self.receive(rank, lane, placer, events) {
                moved = true;
                // Receiving may have ended the lane.
                self.heat_if_open(rank, lane);
            }
        }
        moved
    }

    fn heat_if_open(&mut self, rank: Rank, lane: usize) {
        let open = self.peers.get(rank).and_then(|peer| peer.lanes.get(lane)).is_some_and(Option::is_some);
        if open {
            self.heat(rank, lane);
        }
    }

    fn poll_epoll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        self.force_epoll = false;
        let (peers, polls) = (&self.peers, self.polls);
        self.hot.cool(polls, |rank, lane| {
            peers.get(rank).and_then(|peer| peer.lanes.get(lane)).is_some_and(Option::is_some)
        });
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        // The only error is an interruption: nothing is lost, the next poll looks again.
        let Ok((ready, _)) = epoll::wait(&self.epoll, &mut room[..], Some(&now)) else { return false };
        let mut moved = false;
        for event in ready.iter() {
            let flags = event.flags;
            match Watch::from_data(event.data.u64()) {
                Watch::Lane(rank, lane) => {
                    if flags.contains(epoll::EventFlags::OUT) && self.flush(rank, lane) {
                        moved = true;
                        if self.peers.get(rank).is_some_and(|peer| peer.shutdown.is_peer_closed()) {
                            self.advance_shutdown(rank);
                        }
                    }
                    if flags != epoll::EventFlags::OUT && self.receive(rank, lane, placer, events) {
                        moved = true;
                        self.heat_if_open(rank, lane);
                    }
                }
                Watch::Pending(slot) => moved |= self.drive_handshake(slot),
                Watch::Listener(index) => moved |= self.accept(index),
                Watch::Timer => self.tick(),
                Watch::Silence => self.look_for_silence(),
            }
        }
        moved
    }
}

impl Transport for Tcp {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        self.address.clone()
    }

    fn connect(&mut self, peer: Rank, address: &Address) -> Result<(), ConnectError> {
        let error = |reason| ConnectError { peer, transport: "tcp", reason, nobody: false };
        if peer == self.identity.rank {
            return Err(error("it is this process's own rank".to_owned()));
        }
        let size = self.identity.size;
        let Some(entry) = self.peers.get_mut(peer) else {
            return Err(error(format!("there is no such rank in a world of {size}")));
        };
        entry.addresses = listener::decode(address).map_err(error)?;
        Ok(())
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        let rank = operation.peer();
        if !self.life.is_live() {
            return Err(Refused::PeerDown(operation, Cause::Finished));
        }
        let Some(peer) = self.peers.get(rank) else { return Err(Refused::Unknown(operation)) };
        match &peer.state {
            State::Open if peer.shutdown.is_peer_closed() => {
                return Err(Refused::PeerDown(operation, Cause::Finished));
            }
            State::Open => {}
            State::Gone(cause) => return Err(Refused::PeerDown(operation, cause.clone())),
            _ if peer.addresses.is_empty() => return Err(Refused::Unknown(operation)),
            _ => {}
        }
        match operation {
            Operation::Message { header, payload, token, .. } => {
                let prelude = Prelude::message(&header, payload.len());
                Ok(self.post_message(rank, prelude, payload, token))
            }
            Operation::Put { key, offset, payload, token, .. } if !payload.is_empty() => {
                match exposure_of(&key, KEY) {
                    Some(key) => Ok(self.post_put(rank, key, offset as u64, payload, token)),
                    None => {
                        let operation = Operation::Put { peer: rank, key, offset, payload, token };
                        Err(Refused::Invalid(operation, "the key was not made by the TCP transport"))
                    }
                }
            }
            empty => Err(Refused::Invalid(empty, "a put must not be empty")),
        }
    }

    fn post_coalesced(&mut self, operation: Operation) -> Result<Posted, Refused> {
        let polls = self.polls;
        let Operation::Message { peer, header, payload, token } = operation else {
            return self.post(operation);
        };
        if self.life.is_live()
            && let Some(Peer { state: State::Open, shutdown, lanes, .. }) = self.peers.get_mut(peer)
            && !shutdown.is_peer_closed()
            && let Some(Some(connection)) = lanes.first_mut()
            && connection.may_coalesce(payload.len(), polls)
        {
            let begins = connection.queue.is_empty();
            let posted = connection.coalesce(Prelude::message(&header, payload.len()), payload, token);
            let due = connection.is_due();
            if begins {
                self.coalescing.push(peer);
            }
            if due {
                self.flush(peer, 0);
            }
            return Ok(posted);
        }
        let operation = Operation::Message { peer, header, payload, token };
        self.post(operation)
    }

    fn inject(&mut self, rank: Rank, header: &[u8], payload: &[u8]) -> bool {
        if self.life.is_live()
            && payload.len() <= SMALL
            && let Some(Peer { state: State::Open, shutdown, lanes, .. }) = self.peers.get_mut(rank)
            && !shutdown.is_peer_closed()
            && let Some(Some(connection)) = lanes.first_mut()
            && connection.is_free()
        {
            let taken = connection.inject(header, payload);
            if !connection.is_idle() || connection.broken.is_some() {
                self.watch_writes(rank, 0);
            }
            return taken;
        }
        false
    }

    fn expose(&mut self, peer: Rank, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        if !self.life.is_live() {
            return Err(Cause::Finished);
        }
        let unknown = || Cause::Unreachable(format!("no address of rank {peer} is known"));
        let entry = self.peers.get_mut(peer).ok_or_else(unknown)?;
        match &entry.state {
            State::Open if entry.shutdown.is_peer_closed() => return Err(Cause::Finished),
            State::Gone(cause) => return Err(cause.clone()),
            State::Idle if entry.addresses.is_empty() => return Err(unknown()),
            _ => {}
        }
        let key = entry.exposures.expose(KEY, memory, token)?;
        self.open_lanes(peer);
        Ok(key)
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let before = events.len();
        self.life.report(events);
        if self.life.is_over() {
            return events.len() > before;
        }
        self.polls += 1;
        let mut moved = self.flush_coalesced();
        moved |= if self.reads_directly() {
            self.poll_hot(placer, events)
        } else {
            self.poll_epoll(placer, events)
        };
        if !self.troubled.is_empty() {
            for (rank, lane) in std::mem::take(&mut self.troubled) {
                moved |= self.receive(rank, lane, placer, events);
                // Not read out yet: it is seen to again at the next poll.
                self.watch_writes(rank, lane);
            }
        }
        self.life.begin_poll();
        if self.life.is_closing() {
            self.advance_shutdowns();
        }
        self.life.report(events);
        moved || events.len() > before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.epoll.as_fd())
    }

    fn arm(&mut self) -> bool {
        if self.life.forbids_sleep() || !self.coalescing.is_empty() || !self.troubled.is_empty() {
            return false;
        }
        // Whatever wakes the sleeper is not necessarily a lane with recent traffic.
        self.force_epoll = true;
        true
    }

    fn is_connected(&self, peer: Rank) -> bool {
        self.peers.get(peer).is_some_and(|peer| matches!(peer.state, State::Open))
    }

    fn owes(&self) -> bool {
        // A connection is made from here only because something waits for it.
        self.blocked > 0
            || !self.dialing.is_empty()
            || !self.coalescing.is_empty()
            || !self.troubled.is_empty()
    }

    fn disconnect(&mut self, peer: Rank, cause: Cause) {
        if !self.life.is_over() && peer != self.identity.rank {
            self.fail(peer, cause);
        }
    }

    fn close(&mut self) {
        if self.life.is_live() {
            self.flush_coalesced();
            self.life.close();
        }
    }

    fn abort(&mut self) {
        self.life.abort();
        self.troubled.clear();
        self.coalescing.clear();
        self.end_everything();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_epoll_reports_is_what_was_watched() {
        for watch in
            [Watch::Lane(70_000, 63), Watch::Pending(9), Watch::Listener(1), Watch::Timer, Watch::Silence]
        {
            assert_eq!(Watch::from_data(watch.data().u64()), watch);
        }
    }
}
