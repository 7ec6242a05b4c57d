//! A network of machines in memory: the caller's part of the bargain, played in safe code.
//!
//! Buffers are byte vectors; everything under way waits in a queue, and a seeded generator decides what
//! moves next. Within the contract anything goes: messages are first-in-first-out per ordered pair of
//! ranks, but payloads may complete after later headers have arrived, puts overtake anything, and
//! `sent` comes late. Every header and every post is also told to the `oracle`, which matches naively.
//! Neighbours: the test files use this; `oracle.rs` judges.
// Each test binary uses its part of this.
#![allow(dead_code)]

pub(crate) mod oracle;

use oracle::{Oracle, Room};
use ringworld_protocol::{
    Action, BufferId, Completion, Config, Done, Element, Envelope, Failure, Header, Key, Machine, Matched,
    Mode, OVERHEAD, Place, Rank, RequestId, Selector, Span, TagSelector,
};
use std::collections::{BTreeMap, VecDeque};

/// Draws the same for the same seed.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound.max(1))
    }
}

struct Flying {
    header: Header,
    payload: Vec<u8>,
}

/// Something that may happen to a rank in any order relative to other such things.
enum Loose {
    Delivered { rank: Rank, from: Rank, token: u64, place: Place, payload: Vec<u8>, eager: Option<u64> },
    Sent { rank: Rank, to: Rank, token: u64 },
    Put { from: Rank, to: Rank, key: Key, payload: Vec<u8> },
    Expose { rank: Rank, peer: Rank, into: Span, token: u64 },
}

impl Loose {
    fn concerns(&self, a: Rank, b: Rank) -> bool {
        let (x, y) = match self {
            Self::Delivered { rank, from, .. } => (*rank, *from),
            Self::Sent { rank, to, .. } => (*rank, *to),
            Self::Put { from, to, .. } => (*from, *to),
            Self::Expose { rank, peer, .. } => (*rank, *peer),
        };
        (x, y) == (a, b) || (x, y) == (b, a)
    }
}

struct Exposure {
    peer: Rank,
    into: Span,
    token: u64,
}

/// How a request ended, with the bytes in its span at that moment.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: Result<Done, Failure>,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Net {
    pub(crate) machines: Vec<Machine>,
    pub(crate) buffers: Vec<Vec<Vec<u8>>>,
    pub(crate) ended: Vec<BTreeMap<RequestId, Ended>>,
    pub(crate) oracle: Oracle,
    pub(crate) random: Random,
    /// Bytes of bounce memory in use: `[rank][peer]`.
    pub(crate) bounced: Vec<Vec<usize>>,
    /// The largest sum of bounce memory plus overhead ever seen for a pair.
    pub(crate) peak: usize,
    /// Headers that have been handed out, by their kind, per sender; requests that ask are requests.
    pub(crate) kinds: Vec<[usize; 9]>,
    pub(crate) fail_exposures: bool,
    spans: Vec<BTreeMap<RequestId, Span>>,
    wires: Vec<Vec<VecDeque<Flying>>>,
    loose: Vec<Loose>,
    bounces: BTreeMap<(Rank, u64), (Rank, Vec<u8>)>,
    exposures: BTreeMap<(Rank, u64), Exposure>,
    cut: Vec<Vec<bool>>,
    next_key: u64,
    next_message: u64,
    config: Config,
    seed: u64,
}

impl Drop for Net {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the network of the failing run had seed {}", self.seed);
        }
    }
}

/// The bytes of message `number`: different for every message and position.
pub(crate) fn content(number: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (number.wrapping_mul(31).wrapping_add(at.wrapping_mul(7)) % 251) as u8).collect()
}

fn kind(header: &Header) -> usize {
    match header.encode(&mut [0; Header::MAX])[0] {
        9 => 2,
        kind => usize::from(kind),
    }
}

/// The number that the signature of a message carries.
pub(crate) fn number(signature: &[u8; 24]) -> u64 {
    u64::from_le_bytes(signature[..8].try_into().unwrap())
}

pub(crate) fn selector(context: u64, source: Option<Rank>, tag: Option<u64>) -> Selector {
    Selector { context, source, tag: tag.map_or(TagSelector::Any, TagSelector::Exact) }
}

impl Net {
    pub(crate) fn new(size: usize, eager_limit: usize, window: usize, seed: u64) -> Self {
        Self::with(Config::new(0, size, eager_limit, window).unwrap(), seed)
    }

    /// A network of ranks with these settings, whatever rank they name.
    pub(crate) fn with(config: Config, seed: u64) -> Self {
        let size = config.size;
        let config = |rank| Config { rank, ..config };
        Self {
            machines: (0..size).map(|rank| Machine::new(config(rank))).collect(),
            buffers: vec![Vec::new(); size],
            ended: vec![BTreeMap::new(); size],
            oracle: Oracle::new(size),
            random: Random::new(seed),
            bounced: vec![vec![0; size]; size],
            peak: 0,
            kinds: vec![[0; 9]; size],
            fail_exposures: false,
            spans: vec![BTreeMap::new(); size],
            wires: (0..size).map(|_| (0..size).map(|_| VecDeque::new()).collect()).collect(),
            loose: Vec::new(),
            bounces: BTreeMap::new(),
            exposures: BTreeMap::new(),
            cut: vec![vec![false; size]; size],
            next_key: 0,
            next_message: 0,
            config: config(0),
            seed,
        }
    }

    fn buffer(&mut self, rank: Rank, bytes: Vec<u8>) -> Span {
        let len = bytes.len();
        self.buffers[rank].push(bytes);
        let number = u32::try_from(self.buffers[rank].len()).unwrap();
        Span::of(BufferId(number.try_into().unwrap()), len)
    }

    fn slice(&mut self, rank: Rank, span: Span) -> &mut [u8] {
        let number = span.buffer.unwrap().0.get() as usize;
        &mut self.buffers[rank][number - 1][span.offset..span.offset + span.len]
    }

    /// Sends message number `next`, with its number in the signature and its content after it.
    pub(crate) fn send(
        &mut self,
        from: Rank,
        to: Rank,
        context: u64,
        tag: u64,
        len: usize,
        mode: Mode,
    ) -> RequestId {
        self.send_as(Element::RAW, from, to, context, tag, len, mode)
    }

    /// Like [`Net::send`], with elements of a kind.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn send_as(
        &mut self,
        element: Element,
        from: Rank,
        to: Rank,
        context: u64,
        tag: u64,
        len: usize,
        mode: Mode,
    ) -> RequestId {
        let (number, envelope) = self.next_envelope(element, context, tag, len);
        let data = self.buffer(from, content(number, len));
        let request = self.machines[from].send(to, envelope, data, mode);
        self.spans[from].insert(request, data);
        self.oracle.sent(from, to, context, number);
        self.drain(from);
        request
    }

    fn next_envelope(&mut self, element: Element, context: u64, tag: u64, len: usize) -> (u64, Envelope) {
        let number = self.next_message;
        self.next_message += 1;
        let mut signature = [0; 24];
        signature[..8].copy_from_slice(&number.to_le_bytes());
        signature[8..16].copy_from_slice(&(len as u64).to_le_bytes());
        // A signature of zeros does not travel, and the oracle reads signatures on the wire.
        signature[23] = 1;
        (number, Envelope { context, element, tag, signature })
    }

    /// Sends a message by `depart`: it leaves nothing behind (`None`) or becomes a request. When it cannot
    /// leave at once it goes by `send`.
    pub(crate) fn send_at_once(
        &mut self,
        element: Element,
        from: Rank,
        to: Rank,
        context: u64,
        tag: u64,
        len: usize,
    ) -> Option<RequestId> {
        let (number, envelope) = self.next_envelope(element, context, tag, len);
        let data = self.buffer(from, content(number, len));
        let payload = self.slice(from, data).to_vec();
        let request = match self.machines[from].depart(to, &envelope, len) {
            Some(departure) => {
                let (header, token) = (departure.header(), departure.token());
                self.kinds[from][kind(&header)] += 1;
                self.wires[from][to].push_back(Flying { header, payload });
                if self.random.below(2) == 0 {
                    departure.left();
                    None
                } else {
                    self.loose.push(Loose::Sent { rank: from, to, token });
                    Some(departure.keep(data))
                }
            }
            None => Some(self.machines[from].send(to, envelope, data, Mode::Standard)),
        };
        self.spans[from].extend(request.map(|request| (request, data)));
        self.oracle.sent(from, to, context, number);
        self.drain(from);
        request
    }

    pub(crate) fn receive(&mut self, rank: Rank, selector: Selector, room: usize) -> RequestId {
        self.receive_as(Element::RAW, rank, selector, room)
    }

    /// Like [`Net::receive`], for elements of a kind.
    pub(crate) fn receive_as(
        &mut self,
        element: Element,
        rank: Rank,
        selector: Selector,
        room: usize,
    ) -> RequestId {
        let into = self.buffer(rank, vec![0xee; room]);
        let request = self.machines[rank].receive(selector, into, element);
        self.spans[rank].insert(request, into);
        self.oracle.post(rank, request, selector, Room { len: room, element });
        self.drain(rank);
        request
    }

    pub(crate) fn take(&mut self, rank: Rank, selector: Selector) -> Option<Matched> {
        let taken = self.machines[rank].take_matched(&selector);
        let expected = self.oracle.take(rank, &selector);
        assert_eq!(taken.as_ref().map(|m| number(&m.incoming.envelope.signature)), expected, "matched probe");
        taken
    }

    pub(crate) fn probe(&mut self, rank: Rank, selector: Selector) -> Option<u64> {
        let found = self.machines[rank].probe(&selector).map(|i| number(&i.envelope.signature));
        assert_eq!(found, self.oracle.peek(rank, &selector), "probe");
        found
    }

    pub(crate) fn receive_matched(&mut self, rank: Rank, matched: Matched, room: usize) -> RequestId {
        self.receive_matched_as(Element::RAW, rank, matched, room)
    }

    /// Like [`Net::receive_matched`], for elements of a kind.
    pub(crate) fn receive_matched_as(
        &mut self,
        element: Element,
        rank: Rank,
        matched: Matched,
        room: usize,
    ) -> RequestId {
        let into = self.buffer(rank, vec![0xee; room]);
        let number = number(&matched.incoming.envelope.signature);
        let request = self.machines[rank].receive_matched(matched.handle, into, element);
        self.spans[rank].insert(request, into);
        self.oracle.matched(rank, request, number, Room { len: room, element });
        self.drain(rank);
        request
    }

    pub(crate) fn release(&mut self, rank: Rank, matched: Matched) {
        self.machines[rank].release(matched.handle);
        self.drain(rank);
    }

    pub(crate) fn cancel(&mut self, rank: Rank, request: RequestId) -> bool {
        let cancelled = self.machines[rank].cancel(request);
        assert_eq!(cancelled, self.oracle.cancel(rank, request), "cancel");
        self.drain(rank);
        cancelled
    }

    /// The transport of every rank reports `peer` as down; nothing between them moves any more.
    pub(crate) fn kill(&mut self, dead: Rank) {
        for rank in 0..self.machines.len() {
            self.cut[rank][dead] = true;
            self.cut[dead][rank] = true;
            self.wires[rank][dead].clear();
            self.wires[dead][rank].clear();
            self.loose.retain(|thing| !thing.concerns(rank, dead));
            self.exposures.retain(|(owner, _), e| !(*owner == rank && e.peer == dead));
            if rank != dead {
                self.oracle.died(rank, dead);
                self.machines[rank].peer_down(dead);
                self.drain(rank);
            }
        }
    }

    /// The transport of every rank reports, after all that `gone` sent, that it has closed.
    pub(crate) fn close(&mut self, gone: Rank) {
        while self.step_where(|from, _| from == gone) {}
        for rank in (0..self.machines.len()).filter(|rank| *rank != gone) {
            self.machines[rank].peer_closed(gone);
            self.drain(rank);
        }
    }

    /// Performs all actions of a rank and takes its completions.
    pub(crate) fn drain(&mut self, rank: Rank) {
        while let Some(action) = self.machines[rank].next_action() {
            match action {
                Action::Message { peer, header, payload, token } => {
                    assert!(header.encode(&mut [0; Header::MAX]).len() <= Header::MAX);
                    self.kinds[rank][kind(&header)] += 1;
                    let payload = payload.map(|span| self.slice(rank, span).to_vec()).unwrap_or_default();
                    self.wires[rank][peer].push_back(Flying { header, payload });
                    if let Some(token) = token {
                        self.sent_now_or_later(rank, peer, token);
                    }
                }
                Action::Expose { peer, into, token } => {
                    assert!(into.len > 0, "an empty exposure");
                    self.loose.push(Loose::Expose { rank, peer, into, token });
                }
                Action::Put { peer, key, offset, payload, token } => {
                    assert!(offset == 0 && payload.len > 0);
                    let payload = self.slice(rank, payload).to_vec();
                    self.loose.push(Loose::Put { from: rank, to: peer, key, payload });
                    self.sent_now_or_later(rank, peer, token);
                }
                Action::Copy { bounce, into } => {
                    let bytes = self.bounces[&(rank, bounce)].1[..into.len].to_vec();
                    self.slice(rank, into).copy_from_slice(&bytes);
                }
                Action::Release { bounce } => {
                    let (peer, memory) = self.bounces.remove(&(rank, bounce)).expect("released once");
                    self.bounced[rank][peer] -= memory.len() + OVERHEAD;
                }
            }
        }
        self.collect(rank);
    }

    fn sent_now_or_later(&mut self, rank: Rank, to: Rank, token: u64) {
        if self.random.below(2) == 0 {
            self.machines[rank].sent(token);
        } else {
            self.loose.push(Loose::Sent { rank, to, token });
        }
    }

    fn complete(&mut self, rank: Rank, Completion { request, outcome }: Completion) {
        let span = self.spans[rank].remove(&request).expect("each request ends once");
        let bytes = self.slice(rank, span).to_vec();
        self.oracle.ended(rank, request, &outcome, &bytes);
        let before = self.ended[rank].insert(request, Ended { outcome, bytes });
        assert!(before.is_none(), "a request's name was used twice");
    }

    fn collect(&mut self, rank: Rank) {
        while let Some(completion) = self.machines[rank].next_completion() {
            self.complete(rank, completion);
        }
    }

    /// Lets one thing happen; `false` when nothing is under way.
    pub(crate) fn step(&mut self) -> bool {
        self.step_where(|_, _| true)
    }

    /// Lets one thing happen among what goes from one rank to another that `wanted` accepts.
    fn step_where(&mut self, wanted: impl Fn(Rank, Rank) -> bool) -> bool {
        let mut choices = Vec::new();
        for (from, row) in self.wires.iter().enumerate() {
            for (to, wire) in row.iter().enumerate() {
                if !wire.is_empty() && wanted(from, to) {
                    choices.push(Ok((from, to)));
                }
            }
        }
        for (at, thing) in self.loose.iter().enumerate() {
            let (from, to) = match thing {
                Loose::Delivered { rank, from, .. } => (*from, *rank),
                Loose::Sent { rank, to, .. } => (*rank, *to),
                Loose::Put { from, to, .. } => (*from, *to),
                Loose::Expose { rank, peer, .. } => (*rank, *peer),
            };
            if wanted(from, to) {
                choices.push(Err(at));
            }
        }
        if choices.is_empty() {
            return false;
        }
        match choices[self.random.below(choices.len())] {
            Ok((from, to)) => self.arrive(from, to),
            Err(at) => self.happen(at),
        }
        true
    }

    fn arrive(&mut self, from: Rank, to: Rank) {
        let Flying { header, payload } = self.wires[from][to].pop_front().unwrap();
        self.oracle.header(to, from, header.encode(&mut [0; Header::MAX]));
        let target =
            self.machines[to].header(from, header.encode(&mut [0; Header::MAX]), payload.len()).unwrap();
        if let Place::Bounce { len } = target.place {
            assert!(len == payload.len() && len > 0);
            let old = self.bounces.insert((to, target.token), (from, vec![0xbb; len]));
            assert!(old.is_none(), "a token was used twice at a time");
            self.bounced[to][from] += len + OVERHEAD;
            self.peak = self.peak.max(self.bounced[to][from]);
            assert!(self.bounced[to][from] <= self.config.window, "more bounce memory than the window");
        }
        let (token, place) = (target.token, target.place);
        let signature = || number(header.encode(&mut [0; Header::MAX])[24..48].try_into().unwrap());
        let eager = (header.encode(&mut [0; Header::MAX])[0] == 1).then(signature);
        self.loose.push(Loose::Delivered { rank: to, from, token, place, payload, eager });
        self.drain(to);
    }

    fn happen(&mut self, at: usize) {
        match self.loose.swap_remove(at) {
            Loose::Delivered { rank, token, place, payload, eager, .. } => {
                if let Some(number) = eager {
                    self.oracle.delivered(rank, number);
                }
                match place {
                    Place::Span(span) => self.slice(rank, span).copy_from_slice(&payload[..span.len]),
                    Place::Bounce { len } => {
                        let (_, memory) =
                            self.bounces.get_mut(&(rank, token)).expect("kept until it has arrived");
                        memory.copy_from_slice(&payload[..len]);
                    }
                    Place::Nothing => {}
                }
                if self.random.below(2) == 0 {
                    self.machines[rank].delivered(token);
                } else if let Some(completion) = self.machines[rank].conclude(token) {
                    self.complete(rank, completion);
                }
                self.drain(rank);
            }
            Loose::Sent { rank, token, .. } => {
                self.machines[rank].sent(token);
                self.drain(rank);
            }
            Loose::Put { to, key, payload, .. } => {
                let name = u64::from_le_bytes(key.as_bytes().try_into().unwrap());
                let Exposure { into, token, .. } =
                    self.exposures.remove(&(to, name)).expect("put into an exposure");
                assert_eq!(into.len, payload.len(), "a put fills its exposure");
                self.slice(to, into).copy_from_slice(&payload);
                self.machines[to].filled(token);
                self.drain(to);
            }
            Loose::Expose { rank, peer, into, token } => {
                if self.fail_exposures {
                    self.oracle.expose_failed(rank);
                    self.machines[rank].expose_failed(token);
                } else {
                    self.next_key += 1;
                    self.exposures.insert((rank, self.next_key), Exposure { peer, into, token });
                    let key = Key::new(&self.next_key.to_le_bytes()).unwrap();
                    self.machines[rank].exposed(token, key);
                }
                self.drain(rank);
            }
        }
    }

    /// Runs until nothing moves.
    pub(crate) fn settle(&mut self) {
        while self.step() {}
    }

    pub(crate) fn outcome(&self, rank: Rank, request: RequestId) -> Option<Result<Done, Failure>> {
        self.ended[rank].get(&request).map(|ended| ended.outcome)
    }

    /// What a successful receive got: the number of the message.
    pub(crate) fn got(&self, rank: Rank, request: RequestId) -> u64 {
        match self.outcome(rank, request) {
            Some(Ok(done)) => number(&done.envelope.signature),
            other => panic!("the receive should have succeeded: {other:?}"),
        }
    }

    pub(crate) fn pending(&self) -> usize {
        self.machines.iter().map(Machine::pending).sum()
    }

    /// No bounce memory, no exposure, nothing pending, nothing unexpected in these contexts.
    pub(crate) fn assert_empty(&self, contexts: std::ops::Range<u64>) {
        assert_eq!(self.pending(), 0, "requests are pending");
        assert!(self.bounces.is_empty(), "bounce memory was not released");
        assert!(self.exposures.is_empty(), "an exposure was not filled");
        for machine in &self.machines {
            for context in contexts.clone() {
                assert_eq!(machine.unexpected(context).count(), 0);
            }
        }
    }
}
