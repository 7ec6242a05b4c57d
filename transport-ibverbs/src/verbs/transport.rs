//! [`Ibverbs`]: what the runtime calls. Posting, exposing, registering, polling and sleeping.
//!
//! Polling looks at the completion queue each time, which costs no system call, and at everything else (out-of-band
//! channel, device, clock) when it has slept, while a queue pair is being made, and now and then. Invariant: what
//! happens outside of a poll is deferred to the next. Neighbours: see `verbs/mod.rs`.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use ringworld_transport::lifecycle::Lifecycle;
use ringworld_transport::{
    Address, Capabilities, Cause, ConnectError, Event, Operation, Placer, Posted, Rank, RecvMemory, Refused,
    Region as MemoryRegion, RegionId, RemoteKey, SendMemory, Token, Transport,
};
use rustix::event::epoll;
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};

use super::device::{Channel, Completion, Context, Cq, Limits, Pd, Region, Registered};
use super::devices;
use super::lane::Place;
use super::link::Shared;
use super::memlock::{advice, is_out_of_memory};
use super::oob::OobChannel;
use super::peer::{Opened, Outgoing, Peer, Put, Source, State};
use crate::blob::{PortAddress, PortInfo};
use crate::choice::DeviceReport;
use crate::config::{Config, OpenError, SHARED_SLOTS, SLOT, SLOTS};
use crate::exposures::Key;
use crate::regions::Regions;

/// How often a poll looks beyond the completion queue although nothing asks for it, in polls. That is a system
/// call, and a poll is none. With 512 ping-pong on Soft-RoCE was slower (16 to 18 us instead of 13 to 14), for the
/// kernel does its part of the work there when a spinning processor enters it.
const LOOK_EVERY: u64 = 64;

/// Read slots may wait for the next poll, which comes when the program calls again, to be posted again: no more than so
/// many, or a peer that has sent much would wait for credits while this rank computes.
const FEW_SPENT: usize = 4;

/// What the outer epoll set watches.
pub(super) enum Watch {
    Channel = 1,
    Device = 2,
    Oob = 3,
    Timer = 4,
}

/// The verbs transport of one rank.
///
/// Dropping it is the same as [`Transport::abort`]: peers see the connection lost.
pub struct Ibverbs {
    // Peers go first, with their queue pairs, then what these use.
    pub(super) peers: Vec<Peer>,
    pub(super) shared: Option<Shared>,
    /// Memory that its owner has registered for many operations, each of which holds the registration it uses.
    pub(super) regions: Regions<Arc<Region>>,
    /// Made with the first queue pair, when the size of the world is known.
    pub(super) cq: Option<Arc<Cq>>,
    pub(super) channel: Arc<Channel>,
    pub(super) domain: Arc<Pd>,
    pub(super) context: Arc<Context>,
    pub(super) limits: Limits,
    pub(super) oob: OobChannel,
    pub(super) epoll: OwnedFd,
    pub(super) timer: OwnedFd,
    pub(super) timer_runs: bool,
    pub(super) config: Config,
    pub(super) port: DeviceReport,
    pub(super) gid_index: u8,
    /// Links made so far, of which each needs room in the completion queue.
    pub(super) links: usize,
    /// Links that are being connected.
    pub(super) connecting: usize,
    /// Messages and puts that have not been handed to the device completely.
    pub(super) waiting: usize,
    /// Ranks by the numbers of their queue pairs.
    pub(super) pairs: BTreeMap<u32, Rank>,
    pub(super) life: Lifecycle,
    /// Completions that have been polled and not been looked at.
    pub(super) stash: VecDeque<Completion>,
    /// Receive slots that have been read, to be posted again at the next poll.
    pub(super) spent: Vec<(Rank, Place)>,
    /// Peers to be sent to, if possible, at the end of the poll.
    pub(super) ready: Vec<Rank>,
    /// Peers with a queue pair that refuses work; given up at the next poll if nothing better explains it.
    pub(super) troubled: Vec<(Rank, Cause)>,
    /// The channel has been told to report the next completion.
    pub(super) armed: bool,
    /// The channel has reported something that has not been taken from it.
    pub(super) rung: bool,
    /// Memory could not be registered, which has been said once.
    pub(super) warned: bool,
    polls: u64,
    capabilities: Capabilities,
}

impl std::fmt::Debug for Ibverbs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ibverbs")
            .field("rank", &self.config.rank)
            .field("size", &self.config.size)
            .field("port", &format_args!("{}:{}", self.port.device, self.port.port))
            .field("phase", &self.life.phase())
            .finish_non_exhaustive()
    }
}

impl Ibverbs {
    /// Opens the best device that the settings allow, and the out-of-band channel; from here on peers can connect.
    ///
    /// # Errors
    ///
    /// [`OpenError`] says what is missing or impossible; [`OpenError::is_absence`] tells whether there is
    /// simply no RDMA here.
    pub fn open(config: Config) -> Result<Self, OpenError> {
        config.check()?;
        let (context, port) = devices::select(&config)?;
        let refused = |what| {
            let device = port.device.clone();
            move |source: std::io::Error| OpenError::Device { device, what, source }
        };
        let gid = port.gid().copied();
        let Some(gid_index) = gid.and_then(|gid| u8::try_from(gid.index).ok()) else {
            let text = format!("{}:{} has no GID with an index up to 255", port.device, port.port);
            return Err(OpenError::Impossible(text));
        };
        let limits = context.limits().map_err(refused("say what it can do"))?;
        let domain = Pd::new(&context).map_err(refused("make a protection domain"))?;
        let channel = Channel::new(&context).map_err(refused("make a completion channel"))?;
        let oob = OobChannel::open(&config)?;
        let system = |errno: rustix::io::Errno| std::io::Error::from(errno);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC);
        let epoll = epoll.map_err(system).map_err(refused("be watched"))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK);
        let timer = timer.map_err(system).map_err(refused("be watched"))?;
        let watch = |fd: BorrowedFd<'_>, what: Watch| {
            let data = epoll::EventData::new_u64(what as u64);
            epoll::add(&epoll, fd, data, epoll::EventFlags::IN).map_err(system).map_err(refused("be watched"))
        };
        watch(channel.fd(), Watch::Channel)?;
        watch(context.async_fd(), Watch::Device)?;
        watch(timer.as_fd(), Watch::Timer)?;
        if let Some(fd) = oob.fd() {
            watch(fd, Watch::Oob)?;
        }
        let mut capabilities = Capabilities::new("ibverbs");
        // One copy into a slot on each side is cheaper than pinning, up to several slots.
        capabilities.costly_exposure = true;
        capabilities.latency_ns = 2_500;
        capabilities.bytes_per_us = (u64::from(port.speed) * 125).max(1_000);
        Ok(Self {
            peers: std::iter::repeat_with(Peer::new).take(config.size).collect(),
            shared: None,
            regions: Regions::default(),
            cq: None,
            channel,
            domain,
            context,
            limits,
            oob,
            epoll,
            timer,
            timer_runs: false,
            config,
            port,
            gid_index,
            links: 0,
            connecting: 0,
            waiting: 0,
            pairs: BTreeMap::new(),
            life: Lifecycle::default(),
            stash: VecDeque::new(),
            spent: Vec::new(),
            ready: Vec::new(),
            troubled: Vec::new(),
            armed: false,
            rung: false,
            warned: false,
            polls: 0,
            capabilities,
        })
    }

    /// The same device and out-of-band channel as rank `rank` of `size`: a process has to say where it is reached
    /// before it is told who it is. To be called before the first `connect`.
    ///
    /// # Errors
    ///
    /// [`OpenError::Rank`] when there is no such rank.
    pub fn with_rank(mut self, rank: Rank, size: usize) -> Result<Self, OpenError> {
        if rank >= size {
            return Err(OpenError::Rank { rank, size });
        }
        (self.config.rank, self.config.size) = (rank, size);
        self.peers.resize_with(size, Peer::new);
        self.oob = self.oob.with_rank(rank, size)?;
        Ok(self)
    }

    /// The port that is used, with its GIDs.
    #[must_use]
    pub fn port(&self) -> &DeviceReport {
        &self.port
    }

    /// Whether receive slots are in one queue for all peers.
    pub(super) fn shares_receives(&self) -> bool {
        self.config.size.saturating_sub(1) > self.config.shared_above
    }

    /// What others must know of this port.
    pub(super) fn here(&self) -> PortInfo {
        let mtu = self.port.mtu.max(256).ilog2() - 7;
        PortInfo {
            link_layer: self.port.link_layer,
            lid: self.port.lid,
            gid: self.port.gid().map(|gid| gid.gid).unwrap_or_default(),
            mtu: mtu.clamp(1, 5) as u8,
            slots: if self.shares_receives() { SHARED_SLOTS as u16 } else { SLOTS as u16 },
            slot_size: SLOT as u32,
            max_message: self.port.max_message,
            pairs: self.config.queue_pairs as u8,
        }
    }

    /// Why `rank` accepts nothing more, if it does not.
    fn closed(&self, rank: Rank) -> Option<Cause> {
        if !self.life.is_live() {
            return Some(Cause::Finished);
        }
        match self.peers.get(rank) {
            Some(Peer { state: State::Gone(cause), .. }) => Some(cause.clone()),
            Some(peer) if peer.shutdown.is_peer_closed() => Some(Cause::Finished),
            _ => None,
        }
    }

    fn post_message(&mut self, rank: Rank, mut outgoing: Outgoing) -> Posted {
        let peer = &mut self.peers[rank];
        if let State::Linked(link) = &mut peer.state
            && peer.queue.is_empty()
        {
            match outgoing.advance(link) {
                Ok(true) => return Posted::Complete,
                Ok(false) => {}
                Err(error) => self.trouble(rank, &error),
            }
        }
        // How long it takes to make a link is up to the other rank's program.
        let peer = &mut self.peers[rank];
        let posted = if peer.keep(&mut outgoing) { Posted::Complete } else { Posted::Pending };
        peer.queue.push_back(outgoing);
        self.waiting += 1;
        self.dial(rank);
        posted
    }

    fn post_put(&mut self, rank: Rank, key: Key, offset: usize, memory: SendMemory, token: Token) -> Posted {
        let put = Put { key, offset, source: Source::Plain(memory), token, posted: 0 };
        let peer = &mut self.peers[rank];
        let alone = peer.is_idle();
        peer.puts.push_back(put);
        self.waiting += 1;
        self.dial(rank);
        self.pump(rank);
        // A short one has been copied and is done; then the caller need not wait for the event.
        let peer = &self.peers[rank];
        let copied = alone && peer.puts.is_empty() && peer.flying.is_empty();
        let sent = |event: &mut Event| matches!(event, Event::Sent { token: done } if *done == token);
        if copied && self.life.deferred().pop_if(sent).is_some() { Posted::Complete } else { Posted::Pending }
    }

    /// Sends to those that have become able to take more, and moves their ends on.
    fn serve_ready(&mut self) {
        while let Some(rank) = self.ready.pop() {
            self.peers[rank].listed = false;
            self.pump(rank);
            self.advance_shutdown(rank);
        }
    }

    /// A queue pair has refused work.
    pub(super) fn trouble(&mut self, rank: Rank, error: &std::io::Error) {
        let cause = Cause::Lost(format!("the queue pair takes no more work ({error})"));
        self.troubled.push((rank, cause));
        self.life.call_for_poll();
    }
}

impl Transport for Ibverbs {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        let (port, device) = (self.here(), self.port.device.clone());
        PortAddress { port, device, oob: self.oob.address() }.encode()
    }

    fn connect(&mut self, peer: Rank, address: &Address) -> Result<(), ConnectError> {
        let error = |reason| ConnectError { peer, transport: "ibverbs", reason, nobody: false };
        let there = PortAddress::decode(address).map_err(error)?;
        let here = self.here();
        here.reaches(&there.port).map_err(|why| error(format!("{why} (its device is {})", there.device)))?;
        self.oob.connect(peer, &there.oob).map_err(|refused| error(refused.reason))?;
        if let Some(peer) = self.peers.get_mut(peer) {
            (peer.known, peer.pairs) = (true, here.agreed_pairs(&there.port));
        }
        Ok(())
    }

    fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
        let rank = operation.peer();
        if let Some(cause) = self.closed(rank) {
            return Err(Refused::PeerDown(operation, cause));
        }
        match self.peers.get(rank) {
            Some(peer) if peer.known || matches!(peer.state, State::Linked(_)) => {}
            _ => return Err(Refused::Unknown(operation)),
        }
        match operation {
            Operation::Message { header, payload, token, .. } => {
                Ok(self.post_message(rank, Outgoing::new(header, payload, token)))
            }
            Operation::Put { key, offset, payload, token, .. } => {
                let decoded = Key::decode(&key);
                let fits = |key: &Key| {
                    let end = (offset as u64).checked_add(payload.len() as u64);
                    end.is_some_and(|end| end <= key.length)
                };
                let why = match &decoded {
                    _ if payload.is_empty() => "a put must not be empty",
                    None => "the key was not made by the ibverbs transport",
                    Some(key) if !fits(key) => "the put does not fit into the exposed memory",
                    Some(key) => return Ok(self.post_put(rank, *key, offset, payload, token)),
                };
                Err(Refused::Invalid(Operation::Put { peer: rank, key, offset, payload, token }, why))
            }
        }
    }

    fn expose(&mut self, peer: Rank, mut memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
        if let Some(cause) = self.closed(peer) {
            return Err(cause);
        }
        let unknown = || Cause::Unreachable(format!("no address of rank {peer} is known"));
        let entry = self.peers.get(peer).ok_or_else(unknown)?;
        if !entry.known && !matches!(entry.state, State::Linked(_)) {
            return Err(unknown());
        }
        if memory.is_empty() {
            return Err(Cause::Memory("there is none; expose at least one byte".to_owned()));
        }
        let length = memory.len();
        let around = self.regions.covering(memory.as_mut_ptr() as usize, length);
        let (opened, address, rkey, staged) = match Registered::to_write(&self.domain, around, memory) {
            Ok(registered) => {
                let (address, rkey) = registered.remote();
                (Opened::Registered { _memory: registered }, address, rkey, false)
            }
            Err((memory, error)) if is_out_of_memory(&error) => {
                self.warn_of_memory(&error, length);
                (Opened::Copied(memory), 0, 0, true)
            }
            Err((_, error)) => return Err(Cause::Memory(advice(&error, length))),
        };
        let id = self.peers[peer].exposures.open(opened, length, token);
        let key = Key { id, address, length: length as u64, rkey, staged };
        key.encode().ok_or_else(|| Cause::Memory("the key does not fit".to_owned()))
    }

    fn register(&mut self, memory: MemoryRegion) -> Result<Option<RegionId>, Cause> {
        if !self.life.is_live() || memory.is_empty() {
            return Ok(None);
        }
        let (start, length) = (memory.as_mut_ptr() as usize, memory.len());
        match Region::keep(&self.domain, memory) {
            Ok(region) => Ok(Some(self.regions.insert(start, length, Arc::new(region)))),
            Err(error) if is_out_of_memory(&error) => {
                self.warn_of_memory(&error, length);
                Ok(None)
            }
            Err(error) => Err(Cause::Memory(advice(&error, length))),
        }
    }

    fn deregister(&mut self, region: RegionId) {
        // Operations under way on it hold it too, and the last of them ends it.
        drop(self.regions.remove(region));
    }

    fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let before = events.len();
        self.life.report(events);
        if self.life.is_over() {
            return events.len() > before;
        }
        self.polls += 1;
        self.post_spent();
        let mut moved = self.poll_completions(placer, events);
        let look = self.armed || self.life.is_due() || self.connecting > 0 || self.life.is_closing();
        if look || self.polls.is_multiple_of(LOOK_EVERY) {
            self.life.begin_poll();
            moved |= self.look_around(placer, events);
        }
        if self.spent.len() > FEW_SPENT {
            self.post_spent();
        }
        self.serve_ready();
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
        // The peer may be waiting for the credits of these.
        self.post_spent();
        self.serve_ready();
        if self.life.forbids_sleep() || !self.stash.is_empty() || self.oob.is_due() {
            return false;
        }
        let Some(cq) = &self.cq else {
            self.armed = true;
            return true;
        };
        if std::mem::replace(&mut self.rung, false) {
            cq.drain_events();
        }
        // In this order: what completes before the queue is armed would wake nobody.
        let looked = cq.arm().and_then(|()| cq.poll(&mut self.stash));
        self.armed = true;
        looked.is_ok() && self.stash.is_empty()
    }

    fn owes(&self) -> bool {
        self.waiting > 0 || self.oob.owes()
    }

    fn is_connected(&self, peer: Rank) -> bool {
        let state = self.peers.get(peer).map(|peer| &peer.state);
        matches!(state, Some(State::Linked(link)) if link.is_connected())
    }

    fn disconnect(&mut self, peer: Rank, cause: Cause) {
        if !self.life.is_over() && peer != self.config.rank {
            self.fail(peer, cause);
        }
    }

    fn close(&mut self) {
        self.life.close();
    }

    fn abort(&mut self) {
        self.end_everything();
        self.life.abort();
    }
}
