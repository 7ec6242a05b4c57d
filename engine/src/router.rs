//! The router: all transports of this process behind one face, and the queue for those that are busy.
//!
//! Each peer is reached by exactly one transport, decided before the engine is made; this rank itself
//! is reached by the loopback. Operations that a transport hands back as busy wait here, per peer and in
//! order, and are offered again at every poll.

use std::collections::VecDeque;

use ringworld_protocol::Envelope;
use ringworld_transport::loopback::Loopback;
use ringworld_transport::{
    Cause, Event, Label, Operation, Placer, Posted, RecvMemory, Refused, Region, RegionId, RemoteKey,
    Showing, Shown, Token, Transport,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What transports have registered of memory: which transport, and its name for it. Mostly nothing.
pub(crate) type Registrations = SmallVec<[(usize, RegionId); 2]>;

/// Up to so many bytes a message mostly comes whole by any transport that lets messages be injected.
const DELIVERED: usize = 4 << 10;

/// Latencies below this, in nanoseconds, are brief: a look at the clock takes some tens.
const BRIEF: u64 = 1_000;

pub(crate) struct Router {
    loopback: Loopback,
    transports: Vec<Box<dyn Transport>>,
    routes: Vec<Option<usize>>,
    /// The longest payload that may be injected, by peer.
    inject: Vec<usize>,
    /// Whether messages that nobody waits for are better coalesced than injected, by peer.
    coalesces: Vec<bool>,
    /// Receives with less room than this get messages that are delivered whole, by peer, and of every peer.
    whole: Vec<usize>,
    whole_of_all: usize,
    /// The transport that can show things, and the longest of them.
    shows: Option<(usize, usize)>,
    stalled: Vec<VecDeque<Operation>>,
    stalled_peers: Vec<usize>,
    /// Peers with which a connection has been seen to stand: what was accepted for them arrives, or its loss is seen.
    met: Vec<bool>,
    /// Of the others, the first that a collective has sent there. It may be complete for its sender and never leave.
    first_sent: FxHashMap<usize, Envelope>,
}

/// When an operation is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posting {
    Now,
    /// There will be a poll soon: small messages may wait for one another until then.
    Coalesced,
}

/// What became of an operation.
pub(crate) enum Fate {
    Done(Token),
    Pending,
    /// The transport has refused it, and keeps nothing of it.
    Lost(Token, Cause),
}

impl Router {
    pub(crate) fn new(rank: usize, transports: Vec<Box<dyn Transport>>, routes: Vec<Option<usize>>) -> Self {
        let stalled = routes.iter().map(|_| VecDeque::new()).collect();
        let loopback = Loopback::new(rank);
        let longest = |route: &Option<usize>| match route {
            Some(index) => transports[*index].capabilities().inject,
            None => loopback.capabilities().inject,
        };
        let inject: Vec<usize> = routes.iter().map(longest).collect();
        let coalesces =
            |route: &Option<usize>| route.is_some_and(|index| transports[index].capabilities().coalesces);
        let coalesces = routes.iter().map(coalesces).collect();
        let below = |longest: &usize| if *longest > 0 { 1 + DELIVERED.max(*longest) } else { 0 };
        let whole: Vec<usize> = inject.iter().map(below).collect();
        let whole_of_all = whole.iter().copied().min().unwrap_or(0);
        let longest = transports.iter().map(|transport| transport.capabilities().show);
        let shows = longest.enumerate().find(|(_, longest)| *longest > 0);
        let stalled_peers = Vec::new();
        // This rank needs no connection to itself.
        let met = routes.iter().map(Option::is_none).collect();
        let first_sent = FxHashMap::default();
        Self {
            loopback,
            transports,
            routes,
            inject,
            coalesces,
            whole,
            whole_of_all,
            shows,
            stalled,
            stalled_peers,
            met,
            first_sent,
        }
    }

    /// Whether a message of a rank, or of any, is delivered whole if a receive has room for it. Others would be placed
    /// in bounce memory on their way to a receive that is not posted.
    #[inline]
    pub(crate) fn delivers(&self, source: Option<usize>, room: usize) -> bool {
        room < source.map_or(self.whole_of_all, |peer| self.whole.get(peer).copied().unwrap_or(0))
    }

    /// Whether a message to `peer` with so long a payload may be injected: see [`Transport::inject`].
    #[inline]
    pub(crate) fn may_inject(&self, peer: usize, length: usize) -> bool {
        length <= self.inject[peer] && self.stalled[peer].is_empty()
    }

    /// By peer, whether a message there takes no longer than some looks at the clock.
    pub(crate) fn brief(&self) -> Vec<bool> {
        let latency = |route: &Option<usize>| match route {
            Some(index) => self.transports[*index].capabilities().latency_ns,
            None => 0,
        };
        self.routes.iter().map(|route| latency(route) < BRIEF).collect()
    }

    /// Whether messages to `peer` that nobody waits for are better coalesced than injected.
    #[inline]
    pub(crate) fn coalesces(&self, peer: usize) -> bool {
        self.coalesces[peer]
    }

    /// Injects a message that [may be](Router::may_inject), and says whether it has left.
    #[inline]
    pub(crate) fn inject(&mut self, peer: usize, header: &[u8], payload: &[u8]) -> bool {
        self.transport(peer).inject(peer, header, payload)
    }

    /// Whether anything can be shown to anybody.
    #[inline]
    pub(crate) fn can_show(&self) -> bool {
        self.shows.is_some()
    }

    /// Whether a peer can be shown things, and shows things.
    #[inline]
    pub(crate) fn shows(&self, peer: usize) -> bool {
        self.shows.is_some_and(|(index, _)| self.routes[peer] == Some(index))
    }

    /// See [`Transport::show`]; to peers of other transports nothing can be shown.
    #[inline]
    pub(crate) fn show(
        &mut self,
        to: &[usize],
        (channel, number): (u64, u32),
        label: &Label,
        payload: &[u8],
    ) -> Showing {
        match self.shows {
            Some((index, longest))
                if payload.len() <= longest && to.iter().all(|peer| self.routes[*peer] == Some(index)) =>
            {
                self.transports[index].show(to, channel, number, label, payload)
            }
            _ => Showing::Not,
        }
    }

    /// See [`Transport::shown`].
    #[inline]
    pub(crate) fn shown(&mut self, from: usize, channel: u64, number: u32) -> Option<Shown> {
        let (index, _) = self.shows.filter(|(index, _)| self.routes[from] == Some(*index))?;
        self.transports[index].shown(from, channel, number)
    }

    /// See [`Transport::copy_shown`].
    #[inline]
    pub(crate) fn copy_shown(
        &mut self,
        from: usize,
        (channel, number): (u64, u32),
        offset: usize,
        into: &mut [u8],
    ) {
        self.transport(from).copy_shown(from, channel, number, offset, into);
    }

    /// See [`Transport::pass`].
    pub(crate) fn pass(&mut self, channel: u64, number: u32) -> bool {
        self.shows.is_some_and(|(index, _)| self.transports[index].pass(channel, number))
    }

    /// See [`Transport::leave`].
    pub(crate) fn leave(&mut self, channel: u64) {
        if let Some((index, _)) = self.shows {
            self.transports[index].leave(channel);
        }
    }

    fn transport(&mut self, peer: usize) -> &mut dyn Transport {
        match self.routes[peer] {
            Some(index) => self.transports[index].as_mut(),
            None => &mut self.loopback,
        }
    }

    pub(crate) fn post(&mut self, operation: Operation, posting: Posting) -> Fate {
        let peer = operation.peer();
        if !self.stalled[peer].is_empty() {
            self.stalled[peer].push_back(operation);
            return Fate::Pending;
        }
        let token = token_of(&operation);
        let transport = self.transport(peer);
        let posted = match posting {
            Posting::Now => transport.post(operation),
            Posting::Coalesced => transport.post_coalesced(operation),
        };
        match posted {
            Ok(Posted::Complete) => Fate::Done(token),
            Ok(Posted::Pending) => Fate::Pending,
            Err(Refused::Busy(operation)) => {
                self.stalled[peer].push_back(operation);
                self.stalled_peers.push(peer);
                Fate::Pending
            }
            Err(Refused::PeerDown(_, cause)) => Fate::Lost(token, cause),
            Err(Refused::Unknown(_)) => {
                Fate::Lost(token, Cause::Unreachable("its address is not known".into()))
            }
            Err(Refused::Invalid(_, why)) => Fate::Lost(token, Cause::Protocol(why.into())),
            Err(_) => Fate::Lost(token, Cause::Protocol("the transport refused an operation".into())),
        }
    }

    pub(crate) fn expose(
        &mut self,
        peer: usize,
        memory: RecvMemory,
        token: Token,
    ) -> Result<RemoteKey, Cause> {
        self.transport(peer).expose(peer, memory, token)
    }

    /// Has every transport register a region that gains by it; what they have registered goes to `into`, also when one
    /// of them refuses. `region` names the same memory each time.
    pub(crate) fn register(
        &mut self,
        region: impl Fn() -> Region,
        into: &mut Registrations,
    ) -> Result<(), Cause> {
        for (index, transport) in self.transports.iter_mut().enumerate() {
            if transport.capabilities().costly_exposure
                && let Some(registered) = transport.register(region())?
            {
                into.push((index, registered));
            }
        }
        Ok(())
    }

    pub(crate) fn deregister(&mut self, registrations: Registrations) {
        for (index, region) in registrations {
            self.transports[index].deregister(region);
        }
    }

    /// Polls every transport once. Fates of operations that had been stalled go to `fates`.
    pub(crate) fn poll(
        &mut self,
        placer: &mut dyn Placer,
        events: &mut Vec<Event>,
        fates: &mut Vec<(usize, Fate)>,
    ) -> bool {
        let mut moved = self.loopback.poll(placer, events);
        for transport in &mut self.transports {
            moved |= transport.poll(placer, events);
        }
        if !self.stalled_peers.is_empty() {
            moved |= self.offer_again(fates);
        }
        moved
    }

    fn offer_again(&mut self, fates: &mut Vec<(usize, Fate)>) -> bool {
        let mut moved = false;
        for peer in std::mem::take(&mut self.stalled_peers) {
            let mut waiting = std::mem::take(&mut self.stalled[peer]);
            while let Some(operation) = waiting.pop_front() {
                let fate = self.post(operation, Posting::Now);
                if let Some(operation) = self.stalled[peer].pop_front() {
                    waiting.push_front(operation);
                    break;
                }
                moved = true;
                fates.push((peer, fate));
            }
            self.stalled[peer] = waiting;
        }
        moved
    }

    /// Whether everything may sleep: nothing lies in the loopback, and each transport is armed.
    pub(crate) fn arm(&mut self) -> bool {
        // Not `all`: a transport that is skipped would not be armed.
        let mut armed = self.loopback.arm() && self.stalled_peers.is_empty();
        for transport in &mut self.transports {
            armed &= transport.arm();
        }
        armed
    }

    /// Whether anything that has been posted needs polls to leave.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        !self.stalled_peers.is_empty() || self.transports.iter().any(|transport| transport.owes())
    }

    /// Whether no operation waits for a busy transport.
    pub(crate) fn is_flowing(&self) -> bool {
        self.stalled_peers.is_empty()
    }

    /// Whether a connection to the peer stands, which will say itself when the peer ends.
    pub(crate) fn is_linked(&self, peer: usize) -> bool {
        self.routes
            .get(peer)
            .copied()
            .flatten()
            .is_some_and(|index| self.transports[index].is_connected(peer))
    }

    /// A collective is about to send this to a peer, and not by [`Router::inject`].
    #[inline]
    pub(crate) fn note_first(&mut self, peer: usize, envelope: &Envelope) {
        if !self.met[peer] {
            self.note_unmet(peer, envelope);
        }
    }

    #[cold]
    fn note_unmet(&mut self, peer: usize, envelope: &Envelope) {
        if self.is_linked(peer) {
            self.met[peer] = true;
            self.first_sent.remove(&peer);
        } else {
            self.first_sent.entry(peer).or_insert(*envelope);
        }
    }

    /// The first that a collective has sent to a peer, as long as no connection to it has been seen.
    pub(crate) fn take_first(&mut self, peer: usize) -> Option<Envelope> {
        self.first_sent.remove(&peer)
    }

    pub(crate) fn close(&mut self) -> usize {
        self.transports.iter_mut().for_each(|transport| transport.close());
        self.transports.len()
    }

    /// Drops everything: afterwards no transport holds any memory.
    pub(crate) fn abort(&mut self) {
        self.stalled.iter_mut().for_each(VecDeque::clear);
        self.stalled_peers.clear();
        self.loopback.abort();
        self.transports.iter_mut().for_each(|transport| transport.abort());
    }
}

fn token_of(operation: &Operation) -> Token {
    match operation {
        Operation::Message { token, .. } | Operation::Put { token, .. } => *token,
    }
}
